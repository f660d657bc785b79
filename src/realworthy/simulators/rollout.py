"""From commands to recordings: worlds as if they were robots."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from realworthy.errors import UnknownName
from realworthy.parameters import Draws
from realworthy.recordings import Recording, Sidecar
from realworthy.recordings.sidecar import CommandKind
from realworthy.simulators.simulator import Outcome, Simulator, to_numpy
from realworthy.twins.commands import describe_commands


def record(
    simulator: Simulator,
    commands: ArrayLike | Mapping[str, ArrayLike],
    *,
    seed: int = 0,
) -> list[Recording]:
    """Plays commands from the present state and returns one recording per world.

    `commands` is (steps, inputs) for all worlds, (worlds, steps, inputs), or signal
    name → (steps,). Row k holds what was measured before command k was sent. Sensor
    scale, bias and noise and command noise of each world's e apply; noise follows
    `seed`. A world that diverges ends its recording there.
    """
    played = _check_commands(simulator, commands)
    step_count = played.shape[1]
    data = np.empty((step_count, *simulator.array("sensordata").shape))
    time = np.empty((step_count, simulator.world_count))
    lasted = np.full(simulator.world_count, step_count)
    noise = simulator.field("own.action_noise")
    jitter = Draws(seed, "action noise") if noise.any() else None
    worlds = np.arange(simulator.world_count)
    for k in range(step_count):
        time[k] = to_numpy(simulator.array("time"))
        data[k] = to_numpy(simulator.array("sensordata"))
        command = played[:, k]
        if jitter is not None:
            command = command + noise * jitter.normal(
                worlds, command.shape[1], episode=k
            )
        simulator.step(command)
        diverged = simulator.outcomes() == Outcome.DIVERGED
        lasted[diverged] = np.minimum(lasted[diverged], k + 1)
    measured = _measure(simulator, data, seed)
    twin = simulator.bound.twin
    kinds: set[CommandKind] = {line.kind for line in describe_commands(simulator.bound)}
    sidecar = Sidecar(
        twin=twin.reference or twin.name,
        command_kind=kinds.pop() if len(kinds) == 1 else None,
        rate=1 / simulator.period,
    )
    names = (*simulator.signals, *simulator.commands)
    return [
        Recording(
            time=time[: lasted[w], w],
            signals=dict(
                zip(
                    names,
                    (*measured[: lasted[w], w].T, *played[w, : lasted[w]].T),
                    strict=True,
                )
            ),
            sidecar=sidecar,
        )
        for w in range(simulator.world_count)
    ]


def _measure(simulator: Simulator, data: np.ndarray, seed: int) -> np.ndarray:
    """measured = scale · true + bias + noise, per world and signal."""
    scale, bias, sd = (
        simulator.field(f"own.sensor_{name}") for name in ("scale", "bias", "noise")
    )
    measured = scale * data + bias
    if sd.any():
        worlds = np.arange(simulator.world_count)
        draws = Draws(seed, "sensor noise")
        for k in range(len(data)):
            measured[k] += sd * draws.normal(worlds, data.shape[2], episode=k)
    return measured


def _check_commands(
    simulator: Simulator, commands: ArrayLike | Mapping[str, ArrayLike]
) -> np.ndarray:
    """(worlds, steps, inputs)."""
    if isinstance(commands, Mapping):
        names = simulator.commands
        for name in commands:
            if name not in names:
                owner = f"twin '{simulator.bound.twin.name}'"
                raise UnknownName("command", name, names, owner=owner, hint="")
        columns = {name: np.asarray(values) for name, values in commands.items()}
        steps = max(len(column) for column in columns.values())
        commands = np.stack([columns.get(n, np.zeros(steps)) for n in names], axis=-1)
    played = np.asarray(commands, dtype=np.float64)
    shape = (simulator.world_count, *played.shape[-2:])
    return np.broadcast_to(played, shape)
