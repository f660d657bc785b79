"""One joint on a test bench: an arm with a weight, integrated without an engine.

For checking laws against hand arithmetic, real bench recordings, and an engine's own
actuators. Arm angle 0 hangs down. Semi-implicit Euler at the law's timestep; friction
is the torque that stops the joint, clipped to the budget, so a stuck joint does not
creep.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from realworthy.actuators.friction import apply_friction
from realworthy.actuators.kinds import BadActuator
from realworthy.actuators.law import ActuatorLaw


@dataclass(kw_only=True, frozen=True, slots=True)
class BenchLoad:
    """What the actuator turns."""

    mass: float = 0.0
    """[kg] at the end of the arm."""
    length: float = 0.0
    """[m] of the arm."""
    inertia: float = 0.0
    """[kg·m²] beside that weight and the actuator's armature."""
    gravity: float = 9.81
    zero: float = 0.0
    """[rad] true angle of the arm when the encoder reads 0."""


@dataclass(frozen=True, slots=True)
class BenchTrace:
    """What the bench saw, one row per timestep, at its start: (steps, worlds)."""

    position: np.ndarray
    velocity: np.ndarray
    torque: np.ndarray
    """Of the motor, before friction [N·m]."""
    friction: np.ndarray
    """As applied [N·m]."""


def simulate_bench(
    law: ActuatorLaw,
    bench: BenchLoad,
    command: np.ndarray,
    *,
    position: np.ndarray | float = 0.0,
    velocity: np.ndarray | float = 0.0,
    parameters: Mapping[str, np.ndarray] | None = None,
    powered: np.ndarray | None = None,
    load: np.ndarray | float = 0.0,
) -> BenchTrace:
    """Runs the joint through `command` (steps, worlds, inputs).

    The law is primed with the first command. `powered` is (steps, worlds) of bool,
    `load` (steps, worlds) torque beside gravity; `parameters` may also hold `armature`.
    """
    if law.actuator.backlash:
        raise BadActuator(
            f"actuator of '{law.actuator.joint}': the bench has no backlash.",
            hint="Use a twin: there play is a second hinge.",
        )
    step_count, world_count, _ = command.shape
    numbers = dict(parameters or {})
    armature = numbers.pop("armature", law.actuator.armature or 0.0)
    law.check_parameters(numbers)
    inertia = bench.inertia + bench.mass * bench.length**2 + armature
    weight = bench.mass * bench.gravity * bench.length
    shape = (step_count, world_count)
    loads = np.broadcast_to(np.asarray(load, dtype=float), shape)
    trace = BenchTrace(*(np.empty(shape) for _ in range(4)))
    q = np.broadcast_to(np.asarray(position, dtype=float), world_count)
    v = np.broadcast_to(np.asarray(velocity, dtype=float), world_count)
    state = law.initial_state(world_count, q)
    state = law.prime(state, command[0], position=q, velocity=v)
    dt = law.timestep
    for row in range(step_count):
        external = loads[row] - weight * np.sin(q + bench.zero)
        out = law.step(
            command[row],
            q,
            v,
            external,
            numbers,
            state,
            powered=None if powered is None else powered[row],
        )
        state = out.state
        free = out.torque + external
        stopping = -(inertia / dt * v + free)
        friction = apply_friction(out.friction, stopping)
        trace.position[row], trace.velocity[row] = q, v
        trace.torque[row], trace.friction[row] = out.torque, friction
        v = v + dt / inertia * (free + friction)
        q = q + dt * v
    return trace
