"""A hidden drive on a bench, and what is recorded of it."""

import numpy as np

from realworthy.actuators import (
    Actuator,
    BenchLoad,
    ControllerPosition,
    FrictionM4,
    build_law,
    simulate_bench,
)
from realworthy.identification.networks import DriveRun

TIMESTEP = 0.002
ROWS = 2
"""Timesteps from row to row."""
BENCH = BenchLoad(mass=0.5, length=0.25, inertia=0.005)
HIDDEN = Actuator(
    joint="j",
    controller=ControllerPosition(kp=20.0, kd=0.5),
    delay=0.008,
    torque_limit=3.0,
    armature=0.02,
    friction=FrictionM4(
        coulomb_friction=0.15,
        damping=0.05,
        stribeck_friction=0.12,
        stribeck_velocity=0.3,
        stribeck_exponent=1.5,
        load_friction=0.1,
        stribeck_load_friction=0.1,
    ),
)
"""8 ms late, friction M4, saturating: recipe A3."""
PLAIN = Actuator(
    joint="j",
    controller=ControllerPosition(kp=15.0, kd=0.3),
    delay=0.004,
    torque_limit=4.0,
    armature=0.02,
)
"""A drive with a delay whose numbers are not those of the hidden one."""


def draw_goals(seed: int, count: int, seconds: float) -> np.ndarray:
    """(steps, runs) sums of sines; every third run has steps as well."""
    random = np.random.default_rng(seed)
    t = TIMESTEP * np.arange(round(seconds / TIMESTEP))
    goals = []
    for run in range(count):
        frequency = np.exp(random.uniform(np.log(0.2), np.log(4.0), 4))
        size = 2 * random.uniform(0.1, 0.6) * random.dirichlet(np.ones(4))
        phase = random.uniform(0, 2 * np.pi, 4)
        waves = size * np.sin(2 * np.pi * frequency * t[:, None] + phase)
        levels = random.uniform(-0.6, 0.6, int(seconds) + 1)
        steps = np.repeat(levels, round(1 / TIMESTEP))[: len(t)]
        goals.append(waves.sum(1) + (steps if run % 3 == 2 else 0.0))
    held = np.stack(goals, axis=1)[::ROWS]
    return np.repeat(held, ROWS, axis=0)[: len(t)]


def record(
    actuator: Actuator,
    seed: int,
    *,
    count: int,
    seconds: float = 5.0,
    noise: float = 1.0,
) -> list[DriveRun]:
    """Runs with a torque sensor behind the gearbox; noise 0.02 N·m, 0.01 rad/s."""
    random = np.random.default_rng([seed, 1])
    goal = draw_goals(seed, count, seconds)
    law = build_law(actuator, timestep=TIMESTEP)
    trace = simulate_bench(law, BENCH, goal[:, :, None])
    torque = trace.torque + trace.friction
    runs = []
    for i in range(count):
        rows = len(goal[::ROWS])
        runs.append(
            DriveRun(
                name=f"{seed}.{i}",
                timestep=TIMESTEP * ROWS,
                goal=goal[::ROWS, i],
                position=trace.position[::ROWS, i],
                velocity=trace.velocity[::ROWS, i]
                + noise * random.normal(0, 0.01, rows),
                torque=torque[::ROWS, i] + noise * random.normal(0, 0.02, rows),
            )
        )
    return runs
