"""Plays commands on a robot and keeps what it measured."""

from collections.abc import Mapping

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
    that the robot did not send, or sent twice, are left out. The robot brakes at the
    end, also when something goes wrong. Nothing here guards it: `deployment` does.
    """
    info = robot.info
    rate = rate or info.rate
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
        or Sidecar(twin=info.name, rate=rate, command_kind=info.command_kind),  # type: ignore[arg-type]
    )


def _check_commands(
    info: RobotInfo, commands: ArrayLike | Mapping[str, ArrayLike]
) -> Floats:
    if isinstance(commands, Mapping):
        for name in commands:
            if name not in info.commands:
                owner = f"robot '{info.name}'"
                raise UnknownName("command", name, info.commands, owner=owner, hint="")
        columns = {name: np.asarray(value) for name, value in commands.items()}
        steps = max(len(column) for column in columns.values())
        commands = np.stack(
            [columns.get(name, np.zeros(steps)) for name in info.commands], axis=-1
        )
    values = np.asarray(commands, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(info.commands):
        raise RealworthyError(
            f"Robot '{info.name}' takes (steps, {len(info.commands)}) commands, not "
            f"{values.shape}.",
            hint=f"In order: {', '.join(info.commands)}.",
        )
    if not np.isfinite(values).all():
        raise RealworthyError("A command is not a finite number.")
    return values
