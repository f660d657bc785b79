"""The order of work in one substep of MuJoCo Warp, and how it is launched.

`mjw.step` measures first and moves then, so that after it every sensor is one substep
old. Here the same calls are made in rotated order, beginning in the middle: forces,
motion, then position, velocity and their sensors. After the last substep all that
depends on position and velocity is current, bit for bit what `mjw.step` would compute
next, and nothing is computed twice.
"""

from collections.abc import Callable

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp

_ROTATES = {
    int(mujoco.mjtIntegrator.mjINT_EULER): mjw.euler,
    int(mujoco.mjtIntegrator.mjINT_IMPLICIT): mjw.implicit,
    int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST): mjw.implicit,
}
"""Integrators that need nothing between forces and motion."""
_WHOLE_STEP = mujoco.mjtEnableBit.mjENBL_SLEEP | mujoco.mjtEnableBit.mjENBL_ENERGY
_CONTACT_POINTS = {
    int(mujoco.mjtGeom.mjGEOM_SPHERE): 1,
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): 1,
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): 2,
}


class Routine:
    """Work on the device that is recorded once, as a graph, and launched again.

    It also runs once before, outside the graph, to load its kernels.
    """

    def __init__(self, work: Callable[[], None], device: wp.Device) -> None:
        work()
        with wp.ScopedCapture(device) as capture:
            work()
        self._graph = capture.graph

    def __call__(self, stream: wp.Stream | None = None) -> None:
        wp.capture_launch(self._graph, stream=stream)


def build_substep(
    host: mujoco.MjModel,
    model: mjw.Model,
    data: mjw.Data,
    *,
    before: Callable[[], None],
    after: Callable[[], None],
    constraints_moved: bool,
) -> Callable[[], None]:
    """One substep; `after` runs when the state has moved and nothing follows it yet.

    `constraints_moved` says that friction budgets change between substeps, after the
    constraints were built.
    """
    integrate = _ROTATES.get(int(host.opt.integrator))
    if integrate is None or host.opt.enableflags & _WHOLE_STEP:

        def whole_step() -> None:
            before()
            mjw.step(model, data)
            after()
            measure(model, data)

        return whole_step

    def substep() -> None:
        before()
        data.sensordata.zero_()
        if constraints_moved:
            mjw.make_constraint(model, data)
        mjw.fwd_actuation(model, data)
        mjw.fwd_acceleration(model, data, factorize=True)
        mjw.solve(model, data)
        mjw.sensor_acc(model, data)
        integrate(model, data)
        after()
        measure(model, data)

    return substep


def measure(model: mjw.Model, data: mjw.Data) -> None:
    """All that depends on position and velocity, sensors included."""
    mjw.fwd_position(model, data, factorize=False)
    mjw.sensor_pos(model, data)
    mjw.fwd_velocity(model, data)
    mjw.sensor_vel(model, data)


def estimate_contacts(model: mujoco.MjModel) -> int:
    """Contacts in one world when every moving shape rests on something."""
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    moves = model.body_weldid[model.geom_bodyid] != 0
    kinds = model.geom_type[collides & moves].tolist()
    points = sum(_CONTACT_POINTS.get(kind, 4) for kind in kinds) + model.npair
    return int(np.clip(points, 32, 256))


def estimate_constraints(
    model: mujoco.MjModel, contact_count: int, *, friction_moves: bool
) -> int:
    """Rows in one world: half of the contacts, every limit, friction and equality."""
    widest = max((int(d) for d in (*model.geom_condim, *model.pair_dim)), default=1)
    pyramidal = model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    per_contact = max(2 * (widest - 1), 1) if pyramidal else widest
    limits = int(model.jnt_limited.sum()) + int(model.tendon_limited.sum())
    rubbing = model.nv if friction_moves else int((model.dof_frictionloss > 0).sum())
    rubbing += int((model.tendon_frictionloss > 0).sum())
    rows = contact_count // 2 * per_contact + limits + rubbing + 6 * model.neq
    return 8 * -(-rows // 8)
