"""A hidden truth: drawn from a seed, known to the stand-in alone until the end."""

import numpy as np

from realworthy.deployment import play
from realworthy.parameters.draws import Draws
from realworthy.realities import Reality, RealityFile, StandIn, make_reality
from realworthy.recordings import Recording
from realworthy.tours.robots import TourRobot
from realworthy.twins import Twin, bind

_FADE = 0.5
"""[s] from no command to the whole wave."""


def draw_truth(robot: TourRobot, twin: Twin, *, seed: int) -> dict[str, float]:
    """True values of what is not known."""
    u = Draws(seed, "tour").uniform([0], len(robot.unknowns))[0]
    truth = {}
    for x, (name, unknown) in zip(u, robot.unknowns.items(), strict=True):
        low, high = unknown.lower, unknown.upper
        if unknown.is_factor:
            truth[name] = float(twin.space[name].nominal * low * (high / low) ** x)
        else:
            truth[name] = float(low + x * (high - low))
    return truth


def hide(robot: TourRobot, twin: Twin, *, seed: int) -> Reality:
    """The robot as it really is."""
    file = RealityFile(
        schema=1,
        twin=twin.reference or twin.name,
        seed=seed,
        parameters=draw_truth(robot, twin, seed=seed),
        noise=robot.noise,
    )
    return make_reality("hidden", file)


def record_sines(
    robot: TourRobot, reality: Reality, *, count: int, seconds: float, first: int = 0
) -> list[Recording]:
    """What the robot measured under sums of sines, each a little faster.

    They begin softly, where the robot rests: a replay takes the first command for one
    that was held before, which a robot that delays commands would make wrong.
    """
    stand_in = StandIn(reality)
    info = stand_in.info
    time = np.arange(round(seconds * info.rate)) / info.rate
    rest = bind(reality.twin).compiled.own["own.initial_ctrl"]
    named = zip(info.commands, rest, strict=True)
    away = [robot.centre.get(name, still) - still for name, still in named]
    fade = np.minimum(time / _FADE, 1.0)[:, None]
    found = []
    for k in range(first, first + count):
        rates = np.array(robot.waves) * (1 + 0.13 * k)
        shifts = k + np.arange(len(info.commands))
        phase = 2 * np.pi * np.outer(time, rates)
        wave = np.stack([np.sin(phase + s).mean(axis=1) for s in shifts], axis=1)
        wave = rest + fade * (away + robot.push * wave)
        command = np.clip(wave, info.command_lower, info.command_upper)
        found.append(play(stand_in, command))
    return found
