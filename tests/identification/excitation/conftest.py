"""Quick settings, and refits of hidden joints."""

from pathlib import Path

import numpy as np

from realworthy.identification import Problem, fit_least_squares
from realworthy.identification.excitation import (
    Excitation,
    ExcitationSettings,
    record,
)
from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.recordings import Recording, Sidecar, SignalNoise
from realworthy.recordings.motion import Motion
from realworthy.twins import Twin

from ..conftest import FIVE, SIGMA, add_noise, draw_truth


def quick(seed: int = 0, *, generations: int = 6) -> ExcitationSettings:
    """Three seconds of one joint, as in the recipe."""
    return ExcitationSettings(
        seconds=3.0,
        period=3.0,
        fade=0.5,
        highest_frequency=4.0,
        generation_count=generations,
        seed=seed,
    )


def typical_sd(found: Excitation) -> float:
    """Geometric mean of predicted sd over those wanted."""
    return float(np.exp(np.mean([np.log(f.sd / f.wanted) for f in found.forecasts])))


def play_hidden_motion(file: Path, twin: Twin, motion: Motion, seed: int) -> Recording:
    """What a hidden joint without noise does."""
    truth = RealityFile(
        schema=1, twin=file.name, seed=seed, parameters=draw_truth(seed)
    )
    robot = StandIn(make_reality("hidden", truth, folder=file.parent))
    sidecar = Sidecar(command_kind="position", noise=SignalNoise(position=SIGMA))
    done = record(motion, robot, twin, sidecar=sidecar)
    assert done.reason == ""
    return done.recording


def refit(twin: Twin, clean: Recording, *, seed: int, count: int) -> np.ndarray:
    """(count, 5) log of estimates, each with noise of its own."""
    found = []
    for k in range(count):
        draw = np.random.default_rng([seed, k, 9])
        noisy = add_noise(clean, SIGMA * draw.standard_normal(len(clean.time)))
        fit = fit_least_squares(Problem(twin, noisy, FIVE, noise=SIGMA))
        found.append([np.log(fit.e[name]) for name in FIVE])
    return np.array(found)
