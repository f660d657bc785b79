"""Every writer against a model that was edited as text and compiled afresh."""

import mujoco
import numpy as np
import pytest

from realworthy.errors import RealworthyError, UnknownName
from realworthy.parameters import Binding, Operation, Parameter, ParameterSpace
from realworthy.parameters.inertia import from_theta, rotation
from realworthy.twins import Twin, bind, load_twin
from realworthy.twins.bind import model_fields
from realworthy.twins.writers import WRITERS
from realworthy.twins.writers.contacts import bounce, damping_ratio

DERIVED = (
    *("body_mass", "body_ipos", "body_subtreemass", "body_invweight0"),
    *("dof_invweight0", "dof_M0", "dof_armature", "dof_damping", "dof_frictionloss"),
    *("actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "actuator_acc0"),
    *("geom_size", "geom_rbound", "geom_aabb", "geom_pos", "geom_friction", "body_pos"),
    *("site_pos", "light_pos", "light_diffuse", "cam_fovy", "cam_pos", "jnt_stiffness"),
)


def write(twin: Twin, values: dict[str, float]) -> mujoco.MjModel:
    bound = bind(twin, twin.space.select(list(values)))
    return bound.sample_model(list(values.values()))


def assert_same_model(model: mujoco.MjModel, fresh: mujoco.MjModel) -> None:
    for name in DERIVED:
        np.testing.assert_allclose(
            getattr(model, name),
            getattr(fresh, name),
            rtol=1e-6,
            atol=1e-9,
            err_msg=name,
        )
    np.testing.assert_allclose(model.opt.gravity, fresh.opt.gravity, atol=1e-12)
    np.testing.assert_allclose(inertias(model), inertias(fresh), rtol=1e-6, atol=1e-12)


def inertias(model: mujoco.MjModel) -> np.ndarray:
    """Tensors, since the same one may have its axes listed in another order."""
    axes = rotation(model.body_iquat)
    return np.einsum("bij,bj,bkj->bik", axes, model.body_inertia, axes)


def compile_edited(twin: Twin, edit) -> mujoco.MjModel:
    """What a user gets who changes the file instead."""
    return bind(twin.edited(edit)).model


def set_inertial(spec, name: str, change) -> None:
    """Rewrites a body's mass, centre and inertia as a user would in the file."""
    model = spec.copy().compile()
    i = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    body = spec.body(name)
    body.explicitinertial = True
    body.mass = float(model.body_mass[i])
    body.ipos = model.body_ipos[i].copy()
    body.iquat = model.body_iquat[i].copy()
    body.inertia = model.body_inertia[i].copy()
    change(body)


def heavier(body):
    body.inertia = body.inertia * (0.6 / body.mass)
    body.mass = 0.6


def shifted(body):
    body.ipos = body.ipos + np.array([0.01, -0.02, 0.03])


CASES = {
    "mass": (
        {"lower.mass": 0.6},
        lambda s: set_inertial(s, "lower", heavier),
    ),
    "mass of a free body": (
        {"ball.mass": 0.6},
        lambda s: set_inertial(s, "ball", heavier),
    ),
    "armature": (
        {"elbow.armature": 0.03},
        lambda s: setattr(s.joint("elbow"), "armature", 0.03),
    ),
    "damping": (
        {"elbow.damping": 0.7},
        lambda s: setattr(s.joint("elbow"), "damping", [0.7, 0, 0]),
    ),
    "coulomb_friction": (
        {"elbow.coulomb_friction": 0.4},
        lambda s: setattr(s.joint("elbow"), "frictionloss", 0.4),
    ),
    "stiffness": (
        {"elbow.stiffness": 1.5},
        lambda s: setattr(s.joint("elbow"), "stiffness", [1.5, 0, 0]),
    ),
    "kp and kd": (
        {"shoulder.kp": 50.0, "shoulder.kd": 3.0},
        lambda s: s.actuator("shoulder").set_to_position(kp=50.0, kv=3.0),
    ),
    "torque_limit": (
        {"elbow.torque_limit": 2.5},
        lambda s: setattr(s.actuator("elbow"), "forcerange", [-2.5, 2.5]),
    ),
    "gravity": (
        {"world.gravity": 3.71},
        lambda s: setattr(s.option, "gravity", [0, 0, -3.71]),
    ),
    "camera_field_of_view": (
        {"eye.camera_field_of_view": 70.0},
        lambda s: setattr(s.camera("eye"), "fovy", 70.0),
    ),
    "light_position": (
        {"sun.light_position.x": 2.0},
        lambda s: setattr(s.light("sun"), "pos", [2.0, 0, 3]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_writing_equals_editing_the_file(case: str, arm: Twin):
    values, edit = CASES[case]
    assert_same_model(write(arm, values), compile_edited(arm, edit))


def test_a_free_body_may_have_its_centre_of_mass_moved(arm: Twin):
    """MuJoCo compiles it as simple, with no room in its mass matrix; we make room."""
    axes = dict(zip("xyz", (0.01, -0.02, 0.03), strict=True))
    values = {f"crate.centre_of_mass.{axis}": value for axis, value in axes.items()}
    model = write(arm, values)
    fresh = compile_edited(arm, lambda s: set_inertial(s, "crate", shifted))
    assert_same_model(model, fresh)
    np.testing.assert_allclose(run(model), run(fresh), atol=1e-9)


def run(model: mujoco.MjModel, steps: int = 300) -> np.ndarray:
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    data.qvel[:] = np.linspace(-1, 1, model.nv)
    data.ctrl[:] = 0.3
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return data.qpos.copy()


def test_making_room_changes_no_motion(arm: Twin):
    """Bound to everything but written with nominals, the model moves as before."""
    names = [
        p.name for p in arm.space if p.kind in ("inertia", "centre_of_mass", "delay")
    ]
    bound = bind(arm, arm.space.select([n for n in names if not n.startswith("all")]))
    np.testing.assert_allclose(run(bound.model), run(bind(arm).model), atol=1e-6)


def test_the_inertia_block_writes_any_physical_body(arm: Twin):
    names = [f"lower.inertia.{c}" for c in WRITERS["inertia"].components]
    space = arm.space.select(names)
    moved = space.nominal + np.random.default_rng(1).normal(size=10) * 0.1
    model = bind(arm, space).sample_model(moved)

    def edit(spec):
        def change(body):
            rigid = from_theta(moved)
            i = rigid.inertia
            body.mass, body.ipos = float(rigid.mass), rigid.centre
            body.iquat, body.inertia = np.array([1.0, 0, 0, 0]), np.zeros(3)
            body.fullinertia = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]

        set_inertial(spec, "lower", change)

    fresh = compile_edited(arm, edit)
    assert_same_model(model, fresh)
    np.testing.assert_allclose(run(model), run(fresh), atol=1e-7)


def test_a_longer_link_equals_a_longer_model(arm: Twin):
    model = write(arm, {"upper.link_length": 1.2})

    def edit(spec):
        rod = spec.geom("rod")
        rod.fromto = [0, 0, 0, 0, 0, -0.36]
        spec.body("lower").pos = [0, 0, -0.36]

    fresh = compile_edited(arm, edit)
    np.testing.assert_allclose(model.body_pos, fresh.body_pos, atol=1e-9)
    np.testing.assert_allclose(model.geom_size, fresh.geom_size, atol=1e-9)
    np.testing.assert_allclose(model.geom_rbound, fresh.geom_rbound, atol=1e-6)
    np.testing.assert_allclose(model.body_ipos, fresh.body_ipos, atol=1e-9)
    upper = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "upper")
    # a stretched capsule is not quite a longer capsule: its round ends stretch as well
    np.testing.assert_allclose(
        model.body_inertia[upper], fresh.body_inertia[upper], rtol=0.05
    )


def test_a_larger_object_equals_a_larger_model(arm: Twin):
    model = write(arm, {"crate.object_size": 1.5})
    fresh = compile_edited(
        arm, lambda s: setattr(s.geom("crate"), "size", [0.15, 0.075, 0.06])
    )
    assert_same_model(model, fresh)
    np.testing.assert_allclose(run(model), run(fresh), atol=1e-9)


def test_friction_is_written_to_every_surface(arm: Twin):
    model = write(arm, {"all.contact_friction": 0.37})
    np.testing.assert_array_equal(model.geom_friction[:, 0], 0.37)
    assert (model.geom_friction[:, 1] != 0.37).all()


def test_tilting_gravity_by_hand_arithmetic(arm: Twin):
    model = write(arm, {"world.gravity_tilt.x": 0.1, "world.gravity_tilt.y": -0.2})
    g = 9.81
    about_x = np.array([0, g * np.sin(0.1), -g * np.cos(0.1)])
    c, s = np.cos(-0.2), np.sin(-0.2)
    expected = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ about_x
    np.testing.assert_allclose(model.opt.gravity, expected)


@pytest.mark.parametrize("restitution", [0.05, 0.3, 0.6, 0.85])
def test_a_ball_bounces_with_its_restitution(restitution: float, arm: Twin):
    spec = arm.spec()
    spec.option.timestep = 2e-5
    fine = arm.edited(lambda s: setattr(s.option, "timestep", 2e-5))
    model = write(fine, {"all.restitution": restitution})
    model.opt.gravity[:] = 0
    data = mujoco.MjData(model)
    place = model.joint("ball_free").qposadr[0]
    dof = model.joint("ball_free").dofadr[0]
    data.qpos[place : place + 3] = [1.0, 0.0, 0.06]
    data.qvel[dof + 2] = -1.0
    for _ in range(20_000):
        mujoco.mj_step(model, data)
    assert data.qvel[dof + 2] == pytest.approx(restitution, abs=0.05)


@pytest.mark.parametrize("restitution", [0.05, 0.3])
@pytest.mark.parametrize("softness", [0.01, 0.02])
def test_a_ball_sinks_by_its_softness_whatever_its_restitution(
    softness: float, restitution: float, arm: Twin
):
    """At rest MuJoCo's constraint of impedance d has d ω² r = (1 − d) g d."""
    fine = arm.edited(lambda s: setattr(s.option, "timestep", 5e-4))
    model = write(fine, {"all.softness": softness, "all.restitution": restitution})
    impedance = 0.9
    model.geom_solimp[:] = (impedance, impedance, 0.001, 0.5, 2)
    data = mujoco.MjData(model)
    place = model.joint("ball_free").qposadr[0]
    data.qpos[place : place + 3] = [1.0, 0.0, 0.05]
    for _ in range(4_000):
        mujoco.mj_step(model, data)
    depth = 0.05 - data.qpos[place + 2]
    assert depth == pytest.approx((1 - impedance) * 9.81 * softness**2, rel=0.02)


def test_restitution_and_damping_ratio_are_inverse():
    r = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(bounce(damping_ratio(r)), r, atol=1e-3)


def test_a_stuck_joint_does_not_creep(arm: Twin):
    """Below its dry friction, a loaded joint stays; soft default friction drifts."""

    def creep(model: mujoco.MjModel) -> float:
        model.opt.gravity[:] = 0
        data = mujoco.MjData(model)
        data.qfrc_applied[1] = 0.35
        for _ in range(1000):
            mujoco.mj_step(model, data)
        return abs(float(data.qpos[1]))

    assert creep(write(arm, {"elbow.coulomb_friction": 1.0})) < 1e-4
    soft = bind(arm).model
    soft.dof_frictionloss[1] = 1.0
    assert creep(soft) > 1e-3


def test_a_sample_written_100_times_is_written_once(arm: Twin):
    space = arm.belief.space
    bound = bind(arm, space)
    first, second = arm.belief.sample(2, seed=3)
    once = bound.sample_model(second)
    model = bind(arm, space).model
    own = {name: value.copy() for name, value in bound.compiled.own.items()}
    fields = model_fields(model, own, bound.fields)
    for _ in range(50):
        bound.write(fields, slice(None), first)
        bound.write(fields, slice(None), second)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    for name in DERIVED:
        np.testing.assert_array_equal(getattr(model, name), getattr(once, name), name)


def test_factors_apply_after_values_and_reach_every_element(arm: Twin):
    values = {"upper.mass": 1.0, "all.mass": 1.5, "all.damping": 2.0}
    model = write(arm, values)
    assert model.body("upper").mass == pytest.approx(1.5)
    assert model.body("lower").mass == pytest.approx(0.6)
    np.testing.assert_allclose(model.dof_damping[:2], 0.2)


def test_a_parameter_may_move_several_elements_by_an_offset(arm: Twin):
    shared = Parameter(
        name="links.damping",
        kind="damping",
        unit="N·m·s/rad",
        nominal=0.0,
        binding=Binding(("shoulder", "elbow"), Operation.ADD),
    )
    model = bind(arm, ParameterSpace([shared])).sample_model([0.05])
    np.testing.assert_allclose(model.dof_damping[:2], 0.15)


def test_delay_makes_room_up_to_its_upper_bound(arm: Twin):
    space = arm.space.select(["elbow.delay"])
    bound = bind(arm, space)
    assert bound.model.actuator_history[1, 0] * 0.002 >= space.upper[0]
    with pytest.raises(RealworthyError) as caught:
        bound.sample_model([0.11])
    assert str(caught.value) == (
        "Sample 0: 'elbow.delay' is 0.11 s, outside [0, 0.1].\n"
        "  Sample from a belief within the bounds, or bind a wider space."
    )


def test_two_parameters_for_one_number_are_refused(arm: Twin):
    with pytest.raises(RealworthyError, match=r"Two parameters move 'elbow\.delay'"):
        bind(arm, arm.space.select(["elbow.delay", "all.delay"]))


def test_every_writer_has_an_element_somewhere_and_reads_back_its_nominal(arm: Twin):
    for parameter in arm.space:
        assert np.isfinite(parameter.nominal), parameter.name
    kinds = {parameter.kind for parameter in arm.space}
    only_elsewhere = {
        "resistance",
        "torque_constant",
        "height",
        "terrain_height",
        "material_colour",
    }
    assert set(WRITERS) - kinds == only_elsewhere


def test_an_unknown_joint_is_answered_with_the_nearest(arm: Twin):
    with pytest.raises(UnknownName, match="Nearest: 'elbow'"):
        bind(arm).compiled.id(mujoco.mjtObj.mjOBJ_JOINT, "elbov")


def test_numbers_of_joints_that_slide_have_units_of_their_own():
    space = load_twin("cartpole").space
    slides = {"armature": "kg", "damping": "N·s/m", "coulomb_friction": "N"}
    turns = {"armature": "kg·m²", "damping": "N·m·s/rad", "coulomb_friction": "N·m"}
    for kind in slides:
        assert space[f"cart.{kind}"].unit == slides[kind]
        assert space[f"pole.{kind}"].unit == turns[kind]
    assert space["cart.stiffness"].unit == "N/m"
    assert space["cart.torque_limit"].unit == "N"
