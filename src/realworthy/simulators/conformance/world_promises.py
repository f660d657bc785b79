"""Promises about worlds: each moves by its own e, as plain MuJoCo would."""

import copy

import mujoco
import numpy as np

from realworthy.actuators import Actuator, ControllerPosition, FrictionM1
from realworthy.errors import RealworthyError
from realworthy.simulators.conformance.robot import (
    CHANGES,
    START_QVEL,
    SUBSTEPS,
    Floats,
    ReferenceWorld,
    build_twin,
    edit_model,
    make_commands,
    play,
    single_changes,
    start,
)
from realworthy.simulators.conformance.subject import (
    STEPS,
    Broken,
    ConformanceSubject,
    check_same,
    check_within,
    pick_worlds,
)
from realworthy.twins import bind


def check_determinism(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(3), make_commands(STEPS)
    first, second = (play(subject.begin(samples, commands[0]), commands) for _ in "ab")
    check_same(first, second, "the second run")
    return f"{STEPS} steps twice: equal bits"


def check_batch_independence(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(7), make_commands(STEPS)
    many = play(subject.begin(samples, commands[0]), commands)
    few = play(subject.begin(samples[:3], commands[0]), commands)
    check_same(pick_worlds(many, slice(3)), few, "a batch of another size")
    return "world i of 3 is world i of 7: equal bits"


def check_trace(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(3), make_commands(2 * STEPS)
    path = play(subject.begin(samples, commands[0]), commands).qpos
    names = subject.bound.space.names
    expected = [
        play_reference(
            {n: v for n, v in zip(names, s, strict=True) if n in CHANGES}, commands
        )
        for s in samples
    ]
    error = float(np.abs(path - np.stack(expected, axis=1)).max())
    check_within(error, subject.tolerance, "positions differ from plain mj_step")
    return f"within {error:.1e} of plain mj_step over {2 * STEPS} steps"


def check_parameters(subject: ConformanceSubject) -> str:
    commands = make_commands(STEPS)
    samples = single_changes(subject.bound.space)
    path = play(subject.begin(samples, commands[0]), commands).qpos
    nominal = play_reference({}, commands)
    worst = 0.0
    for world, (name, value) in enumerate(CHANGES.items()):
        expected = play_reference({name: value}, commands)
        effect = np.abs(expected - nominal).max()
        error = float(np.abs(path[:, world] - expected).max())
        worst = max(worst, error)
        allowed = min(subject.tolerance, 0.05 * effect)
        check_within(
            error, allowed, f"'{name}' = {value:g} has not its effect ({effect:.2g})"
        )
    return f"{len(CHANGES)} parameters, each in a world of its own, within {worst:.1e}"


def check_constants(subject: ConformanceSubject) -> str:
    samples = single_changes(subject.bound.space)
    simulator = subject.begin(samples, np.zeros(2))
    kept = ["dof_invweight0", "body_subtreemass", "body_invweight0"]
    try:
        simulator.field("dof_M0")
        kept.append("dof_M0")
    except RealworthyError:
        pass  # an engine may do without it
    for world, change in enumerate([*({n: v} for n, v in CHANGES.items()), CHANGES]):
        fresh = edit_model(change)
        for name in kept:
            expected = getattr(fresh, name)
            error = np.abs(simulator.field(name)[world] - expected)
            relative = float((error / np.maximum(np.abs(expected), 1e-9)).max())
            allowed = max(subject.tolerance, 1e-6)
            check_within(relative, allowed, f"world {world}: {name} is not its own")
    return ", ".join(kept) + " as compiled afresh"


def check_rewriting(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(3), make_commands(STEPS)
    once = subject.begin(samples, commands[0])
    often = subject.build(subject.bound, 3, SUBSTEPS)
    for k in range(99):
        often.write(np.roll(samples, k, axis=0))
    start(often, samples, commands[0])
    for name in subject.bound.fields:
        if not np.array_equal(once.field(name), often.field(name)):
            raise Broken(f"{name} differs after a hundred samples: it does not restart")
    check_same(play(once, commands), play(often, commands), "a hundred samples")
    return "the hundredth sample is like the first: equal bits"


def check_writing_midway(subject: ConformanceSubject) -> str:
    commands, change = make_commands(STEPS), {"world.gravity": 4.0, "elbow.kp": 30.0}
    space = subject.bound.space
    simulator = subject.begin(np.array([space.nominal] * 2), commands[0])
    half = STEPS // 2
    play(simulator, commands[:half])
    simulator.write(space.vector(change), [1])
    path = play(simulator, commands[half:]).qpos
    old, new = ReferenceWorld({}), ReferenceWorld(change)
    old.start(commands[0])
    old.play(commands[:half])
    _hand_over(old, new)
    for world, reference in enumerate((old, new)):
        error = float(np.abs(path[:, world] - reference.play(commands[half:])).max())
        world_name = f"world {world} after world 1 got another e at step {half}"
        check_within(error, subject.tolerance, world_name)
    return "takes effect from the next step, in its world alone"


def check_pushes(subject: ConformanceSubject) -> str:
    period = SUBSTEPS * float(subject.bound.model.opt.timestep)
    force, mass = np.array([1.5, -0.5, 0.25]), 0.4
    push = dict(zip(("x", "y", "z"), force, strict=True))
    push |= {"start": 2 * period, "duration": 3 * period}
    values = {f"puck.push.{part}": value for part, value in push.items()}
    space = subject.bound.space
    pushed = space.vector({**values, "world.gravity": 0.0})
    quiet = space.vector({"world.gravity": 0.0})
    simulator = subject.build(subject.bound, 2, SUBSTEPS)
    simulator.write(np.array([pushed, quiet]))
    qpos = subject.bound.model.qpos0.copy()
    qpos[4] = 1.0  # above the floor
    simulator.reset(qpos=qpos)
    speed = play(simulator, np.zeros((7, 2))).qvel[:, :, 2:5]
    gained = np.clip(np.arange(7) - 1, 0, 3)[:, None] * period * force / mass
    error = max(np.abs(speed[:, 0] - gained).max(), np.abs(speed[:, 1]).max())
    check_within(float(error), subject.tolerance, "momentum is not force × time")
    return "momentum gained is force × time, in its world alone"


def check_laws(subject: ConformanceSubject) -> str:
    kp, kd, strength, late, rub, drag = 25.0, 0.8, 0.9, 3, 0.2, 0.05
    dt = float(subject.bound.model.opt.timestep)
    drive = Actuator(
        joint="elbow",
        controller=ControllerPosition(kp=kp, kd=kd),
        strength=strength,
        delay=late * dt,
        friction=FrictionM1(coulomb_friction=rub, damping=drag),
    )
    bound = bind(build_twin({"elbow": drive}))
    commands = make_commands(STEPS)
    simulator = subject.build(bound, 2, SUBSTEPS)
    simulator.reset(qvel=START_QVEL, command=commands[0])
    path = play(simulator, commands).qpos
    model, data = copy.copy(bound.model), mujoco.MjData(bound.model)
    data.qvel[:] = START_QVEL
    sent, expected = [commands[0]] * late, []
    for command in commands:
        for _ in range(SUBSTEPS):
            sent.append(command)
            goal, velocity = sent[-1 - late][1], data.qvel[1]
            torque = strength * (kp * (goal - data.qpos[1]) - kd * velocity)
            place = bound.model.actuator("elbow").id
            data.ctrl[:] = command
            data.ctrl[place] = torque
            model.dof_frictionloss[1] = rub + drag * abs(velocity)
            mujoco.mj_step(model, data)
        expected.append(data.qpos.copy())
    error = float(np.abs(path - np.array(expected)[:, None]).max())
    check_within(
        error, subject.tolerance, "a drive with a law differs from its arithmetic"
    )
    return f"a drive with delay and friction of its own within {error:.1e}"


def play_reference(values: dict[str, float], commands: Floats) -> Floats:
    reference = ReferenceWorld(values)
    reference.start(commands[0])
    return reference.play(commands)


def _hand_over(old: ReferenceWorld, new: ReferenceWorld) -> None:
    everything = mujoco.mjtState.mjSTATE_INTEGRATION
    size = mujoco.mj_stateSize(old.model, everything)
    state = np.empty(size)
    mujoco.mj_getState(old.model, old.data, state, everything)
    mujoco.mj_setState(new.model, new.data, state, everything)
