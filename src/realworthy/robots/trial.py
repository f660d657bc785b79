"""Plays commands on a robot and keeps what it measured."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings import Recording, Sidecar
from realworthy.robots.robot import Command, Robot, RobotInfo, State

Floats = NDArray[np.float64]


def play(
    robot: Robot,
    commands: ArrayLike | Mapping[str, ArrayLike],
    *,
    rate: float | None = None,
    sidecar: Sidecar | None = None,
) -> Recording:
    """Sends (steps, inputs) commands, or signal name → (steps,), at `rate` [Hz].

    Row k of the recording holds what was measured just before command k was sent. Rows
    that the robot did not send, or sent twice, are left out, and what was commanded
    then with them. The robot brakes at the end, also when something goes wrong. Nothing
    here guards it: `deployment` does.
    """
    info = robot.info
    rate = info.rate if rate is None else rate
    if not 0 < rate < math.inf:
        raise RealworthyError(f"Commands cannot be sent at {rate:g} Hz.")
    values = _check_commands(info, commands)
    states: list[State] = []
    sent: list[Floats] = []
    with robot:
        for k, value in enumerate(values):
            state = robot.read()
            if not states or state.time > states[-1].time:
                states.append(state)
                sent.append(value)
            robot.write(Command(sequence=k, values=value))
            robot.wait(1 / rate)
    return _recording(info, states, np.array(sent), sidecar, rate)


def drive(
    robot: Robot,
    policy: Callable[[State], ArrayLike],
    *,
    seconds: float,
    rate: float | None = None,
    sidecar: Sidecar | None = None,
) -> Recording:
    """Lets a policy answer what the robot measures, in closed loop at `rate` [Hz].

    Row k of the recording holds what the policy saw and the command that it sent. The
    robot brakes at the end, also when something goes wrong. Nothing here guards it.
    """
    info = robot.info
    rate = info.rate if rate is None else rate
    states: list[State] = []
    sent: list[Floats] = []
    with robot:
        for k in range(max(2, round(seconds * rate))):
            state = robot.read()
            values = np.atleast_1d(np.asarray(policy(state), dtype=np.float64))
            if not states or state.time > states[-1].time:
                states.append(state)
                sent.append(values)
            robot.write(Command(sequence=k, values=values))
            robot.wait(1 / rate)
    return _recording(info, states, np.array(sent), sidecar, rate)


def _recording(
    info: RobotInfo,
    states: list[State],
    sent: Floats,
    sidecar: Sidecar | None,
    rate: float,
) -> Recording:
    signals: dict[str, Floats] = {}
    for name in ("position", "velocity", "torque"):
        rows = np.array([getattr(state, name) for state in states])
        signals |= {f"{j}.{name}": rows[:, i] for i, j in enumerate(info.joints)}
    others = np.array([state.others for state in states])
    signals |= {name: others[:, i] for i, name in enumerate(info.other_signals)}
    signals |= {name: sent[:, i] for i, name in enumerate(info.commands)}
    return Recording(
        time=np.array([state.time for state in states]),
        signals=signals,
        sidecar=sidecar
        or Sidecar(twin=info.name, rate=rate, command_kind=info.command_kind),
    )


def _check_commands(
    info: RobotInfo, commands: ArrayLike | Mapping[str, ArrayLike]
) -> Floats:
    if isinstance(commands, Mapping):
        commands = _stack(info, commands)
    values = np.asarray(commands, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(info.commands):
        raise RealworthyError(
            f"Robot '{info.name}' takes (steps, {len(info.commands)}) commands, not "
            f"{values.shape}.",
            hint=f"In order: {', '.join(info.commands)}.",
        )
    if len(values) < 2:
        raise RealworthyError(
            f"A recording needs two commands or more, not {len(values)}."
        )
    if not np.isfinite(values).all():
        step, place = np.argwhere(~np.isfinite(values))[0]
        raise RealworthyError(
            f"'{info.commands[place]}' is not a finite number at step {step}."
        )
    return values


def _stack(info: RobotInfo, commands: Mapping[str, ArrayLike]) -> Floats:
    """(steps, inputs) in the robot's order; nothing is made up for a missing one."""
    owner = f"robot '{info.name}'"
    for name in commands:
        if name not in info.commands:
            raise UnknownName("command", name, info.commands, owner=owner, hint="")
    missing = [name for name in info.commands if name not in commands]
    if missing:
        raise RealworthyError(
            f"Robot '{info.name}' needs all of its commands; missing: "
            f"{', '.join(missing)}.",
            hint="Say what it shall do there: its measured position, say, or zeros.",
        )
    columns = [np.asarray(commands[name], dtype=np.float64) for name in info.commands]
    lengths = {column.shape for column in columns}
    if len(lengths) > 1 or columns[0].ndim != 1:
        found = ", ".join(
            f"{name} {column.shape}"
            for name, column in zip(info.commands, columns, strict=True)
        )
        raise RealworthyError(
            f"Commands of robot '{info.name}' must be equally many: {found}."
        )
    return np.stack(columns, axis=-1)
