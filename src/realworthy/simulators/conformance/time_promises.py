"""Promises about time: states, histories, delays, sensors, and what is handed out."""

import copy

import mujoco
import numpy as np

from realworthy.errors import RealworthyError, UnknownName
from realworthy.simulators.conformance.robot import (
    LONGEST_DELAY,
    START_QVEL,
    SUBSTEPS,
    Floats,
    make_commands,
    play,
    start,
)
from realworthy.simulators.conformance.subject import (
    STEPS,
    Broken,
    ConformanceSubject,
    check_same,
    check_within,
    pick_steps,
    pick_worlds,
    read_array,
)
from realworthy.simulators.simulator import Outcome, to_numpy
from realworthy.twins import BoundTwin


def check_restart(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(3), make_commands(STEPS)
    half = STEPS // 2 + 1  # just after a jump: the histories are full of it
    simulator = subject.begin(samples, commands[0])
    play(simulator, commands[:half])
    state = np.array(simulator.state())
    expected = play(simulator, commands[half:])
    simulator.restore(state)
    check_same(play(simulator, commands[half:]), expected, "restoring a state")
    other = subject.build(subject.bound, 3, SUBSTEPS)
    other.write(samples)
    other.restore(state[1:2], [1])
    moved = pick_worlds(play(other, commands[half:]), [1])
    check_same(moved, pick_worlds(expected, [1]), "restoring it into another simulator")
    return "mid-motion with full delay buffers, also elsewhere: equal bits"


def check_masked_reset(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(3), make_commands(STEPS)
    expected = play(subject.begin(samples, commands[0]), commands)
    simulator = subject.begin(samples, commands[0])
    half = STEPS // 2
    play(simulator, commands[:half])
    states, sensors = simulator.state(), read_array(simulator, "sensordata")
    mask, rows = np.array([False, True, False]), np.tile(START_QVEL, (3, 1))
    simulator.reset(mask, qvel=rows, command=commands[0])
    others = [0, 2]
    if not np.array_equal(simulator.state()[others], states[others]):
        raise Broken("resetting world 1 changed the state of others")
    if not np.array_equal(read_array(simulator, "sensordata")[others], sensors[others]):
        raise Broken("resetting world 1 changed what others measure")
    if read_array(simulator, "time")[1] != 0.0:
        raise Broken("time does not restart at zero")
    second_half = np.stack([commands[half:], commands[:half], commands[half:]], axis=1)
    after = play(simulator, second_half)
    halves = slice(half, None), slice(0, half)
    for world, part in ((0, halves[0]), (1, halves[1]), (2, halves[0])):
        check_same(
            pick_worlds(after, [world]),
            pick_worlds(pick_steps(expected, part), [world]),
            f"world {world} after world 1 was reset",
        )
    return "world 1 starts again, 0 and 2 go on: equal bits"


def check_sensors(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(2), make_commands(12)
    simulator = subject.begin(samples, commands[0])
    model, data = _sampled(subject.bound, samples[0], commands[0])
    torque = [i for i, name in enumerate(simulator.signals) if name.endswith("torque")]
    worst = 0.0
    for command in commands:
        now = play(simulator, command[None])
        data.ctrl[:] = command
        for _ in range(SUBSTEPS):
            mujoco.mj_step(model, data)
        of_substep = data.sensordata[torque]
        state = copy.copy(data)
        mujoco.mj_forward(model, state)
        expected = state.sensordata.copy()
        expected[torque] = of_substep
        gap = np.abs(now.sensordata[0, 0] - expected) / np.maximum(1, np.abs(expected))
        worst = max(worst, float(gap.max()))
        stale = simulator.signals[int(gap.argmax())]
        allowed = 50 * subject.tolerance
        check_within(worst, allowed, f"'{stale}' is not that of the present state")
    return "position and velocity are current, torques of the last substep"


def check_command_delay(subject: ConformanceSubject) -> str:
    space, steps = subject.bound.space, (0, 1, 3, 10)
    dt = subject.bound.model.opt.timestep
    samples = np.array([space.vector({"elbow.delay": k * dt}) for k in steps])
    simulator = subject.build(subject.bound, len(steps), 1)
    held, target = np.array([0.3, -0.4]), np.array([0.3, 1.1])
    start(simulator, samples, held)
    column = simulator.signals.index("elbow.torque")
    before = play(simulator, np.repeat(held[None], 5, axis=0)).sensordata[..., column]
    spring = 20.0 * held[1] - 0.5 * START_QVEL[1]  # kp (command − 0) − kv velocity
    if np.abs(before[0] - spring).max() > 50 * subject.tolerance * abs(spring):
        raise Broken(
            f"the first torque is {before[0]}, not {spring:.3f}: buffers are not primed"
        )
    after = play(simulator, np.repeat(target[None], 12, axis=0)).sensordata[..., column]
    jumps = np.abs(np.diff(np.vstack([before[-1:], after]), axis=0)) > 10.0
    found = [int(np.argmax(jumps[:, w])) if jumps[:, w].any() else -1 for w in range(4)]
    if tuple(found) != steps:
        raise Broken(f"delays of {steps} substeps take effect after {found}")
    return f"delays of {steps} substeps are exact and begin primed"


def check_sensor_delay(subject: ConformanceSubject) -> str:
    space, steps = subject.bound.space, (0, 1, 4, 10)
    dt, name = subject.bound.model.opt.timestep, "elbow.position"
    samples = [space.vector({f"{name}.sensor_delay": k * dt}) for k in steps]
    simulator = subject.build(subject.bound, len(steps), 1)
    commands = make_commands(24)
    start(simulator, np.array(samples), commands[0])
    place = subject.bound.model.joint("elbow").qposadr[0]
    begin = read_array(simulator, "qpos")[:, place]
    column = simulator.signals.index(name)
    first = read_array(simulator, "sensordata")[:, column]
    trace = play(simulator, commands)
    true = np.vstack([begin[None], trace.qpos[..., place]])
    seen = np.vstack([first[None], trace.sensordata[..., column]])
    for world, late in enumerate(steps):
        shifted = true[np.maximum(np.arange(len(true)) - late, 0), world]
        error = float(np.abs(seen[:, world] - shifted).max())
        check_within(error, subject.tolerance, f"a sensor {late} substeps late")
    return f"measurements {steps} substeps late are exact and begin primed"


def check_delay_limit(subject: ConformanceSubject) -> str:
    space = subject.bound.space
    simulator = subject.begin(np.array([space.nominal] * 2), np.zeros(2))
    too_long = space.vector({"elbow.delay": LONGEST_DELAY + 0.01})
    try:
        simulator.write(too_long, [1])
    except RealworthyError:
        pass
    else:
        raise Broken(f"a delay beyond the {LONGEST_DELAY} s of the buffer is accepted")
    if simulator.field("actuator_delay").any():
        raise Broken("a refused sample was written in part")
    return f"more than {LONGEST_DELAY} s is refused"


def check_quarantine(subject: ConformanceSubject) -> str:
    samples, commands = subject.vary(3), make_commands(STEPS)
    expected = play(subject.begin(samples, commands[0]), commands)
    simulator = subject.begin(samples, commands[0])
    poisoned = np.repeat(commands[:, None], 3, axis=1)
    poisoned[STEPS // 4, 1] = np.nan
    found = play(simulator, poisoned)
    outcomes = simulator.outcomes().tolist()
    if outcomes != [Outcome.OK, Outcome.DIVERGED, Outcome.OK]:
        raise Broken(f"outcomes are {outcomes} after world 1 got a NaN command")
    others = [0, 2]
    unharmed = pick_worlds(found, others), pick_worlds(expected, others)
    check_same(*unharmed, "a NaN in world 1")
    if not np.isfinite(found.qpos).all():
        raise Broken("world 1 shows values that are not numbers")
    if not np.array_equal(found.qpos[-1, 1], found.qpos[-4, 1]):
        raise Broken("world 1 goes on moving after it diverged")
    simulator.reset([1], qvel=START_QVEL, command=commands[0])
    again = pick_worlds(play(simulator, commands), [1])
    check_same(again, pick_worlds(expected, [1]), "the reset of a diverged world")
    if simulator.outcomes().any():
        raise Broken("a reset does not clear the outcome")
    return "world 1 diverged, stood still and was reset; 0 and 2: equal bits"


def check_names(subject: ConformanceSubject) -> str:
    simulator = subject.begin(subject.vary(2), np.zeros(2))
    data, commands = read_array(simulator, "sensordata"), simulator.commands
    if len(simulator.signals) != data.shape[1]:
        raise Broken(f"{len(simulator.signals)} names for {data.shape[1]} signals")
    if commands != ["shoulder.command", "elbow.command"]:
        raise Broken(f"commands are called {commands}")
    for name, width in (("elbow.position", 1), ("puck.orientation", 4)):
        values = to_numpy(simulator.sensor(name))
        first = simulator.signals.index(name if width == 1 else f"{name}.w")
        if not np.array_equal(values, data[:, first : first + width]):
            raise Broken(f"sensor('{name}') is not its columns of sensordata")
    try:
        simulator.sensor("elbow.positoin")
    except UnknownName as error:
        if "elbow.position" not in error.nearest:
            raise Broken("a misspelt sensor does not suggest the right one") from None
    else:
        raise Broken("a sensor that does not exist is answered")
    return f"{data.shape[1]} signals and {len(commands)} commands by name"


def check_arrays(subject: ConformanceSubject) -> str:
    simulator = subject.begin(subject.vary(2), np.zeros(2))
    held = {name: simulator.array(name) for name in ("qpos", "qvel", "time")}
    views = {name: _share(array) for name, array in held.items()}
    play(simulator, make_commands(2))
    for name, array in held.items():
        now = read_array(simulator, name)
        if not np.array_equal(to_numpy(array), now):
            raise Broken(f"array('{name}') from before a step is not live")
        if not np.array_equal(to_numpy(views[name]), now):
            raise Broken(f"array('{name}') is copied on its way through DLPack")
    return "live, and shared through DLPack without copies"


def _sampled(
    bound: BoundTwin, sample: Floats, command: Floats
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = bound.sample_model(sample)
    data = mujoco.MjData(model)
    data.qvel[:] = START_QVEL
    for actuator, count in enumerate(model.actuator_history[:, 0].tolist()):
        held = np.full(count, command[actuator])
        mujoco.mj_initCtrlHistory(model, data, actuator, None, held)
    return model, data


def _share(array: object) -> object:
    """The array as another library sees it."""
    try:
        import torch
    except ImportError:
        return np.from_dlpack(array)  # pyright: ignore[reportArgumentType]
    return torch.from_dlpack(array)
