"""Networks trained on runs: the truth is a drive that is known."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import BadRecording, MissingExtra
from realworthy.identification.networks import (
    DriveRun,
    NetworkSettings,
    fit_network,
    follow,
    load_drive,
)

from .drives import BENCH, PLAIN, TIMESTEP


def linear_runs(count: int, rows: int = 400, seed: int = 0) -> list[DriveRun]:
    """Torque 10 e(t − 12 ms) − 0.5 v(t): needs memory of three steps."""
    random = np.random.default_rng(seed)
    runs = []
    for i in range(count):
        phase = random.uniform(0, 6, (2, 3))
        t = 0.004 * np.arange(rows)[:, None]
        waves = np.sin(2 * np.pi * np.array([0.7, 3.0, 8.0]) * t + phase[0])
        goal, q = waves.sum(1) / 3, np.sin(3 * t + phase[1]).sum(1) / 3
        v = np.gradient(q, 0.004)
        late = np.pad(goal - q, (3, 0), mode="edge")[:-3]
        torque = 10 * late - 0.5 * v
        runs.append(
            DriveRun(
                name=str(i),
                timestep=0.004,
                goal=goal,
                position=q,
                velocity=v,
                torque=torque,
            )
        )
    return runs


@pytest.mark.parametrize("form", ["mlp", "lstm"])
def test_a_drive_with_memory_is_learned_and_runs_without_torch(
    form: str, tmp_path: Path
):
    pytest.importorskip("torch", reason="training needs torch")
    settings = NetworkSettings(
        form="lstm" if form == "lstm" else "mlp",
        period=0.004,
        history=4,
        hidden=(16,),
        lstm_layers=1,
        window=50,
        epochs=40,
        batch=256,
        learning_rate=2e-2,
    )
    learned = fit_network(linear_runs(6), settings)
    learned.save(tmp_path / "drive.drive.yaml", PLAIN)
    law = load_drive(tmp_path / "drive.drive.yaml", timestep=0.004).network
    (unseen,) = linear_runs(1, seed=9)
    (torque,) = follow(law, BENCH, [unseen])
    error = (torque - unseen.torque)[20:]
    share = np.sqrt(np.mean(error**2)) / np.std(unseen.torque)
    memoryless = 10 * (unseen.goal - unseen.position) - 0.5 * unseen.velocity
    without_memory = np.std(memoryless - unseen.torque) / np.std(unseen.torque)
    assert share < 0.5 * without_memory
    assert learned.validation_error == pytest.approx(
        np.sqrt(np.mean(error**2)), rel=1.0
    )


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"realworthy\[train\]"):
        fit_network(linear_runs(2))


def test_runs_that_cannot_be_learned_from_are_refused():
    pytest.importorskip("torch", reason="training needs torch")
    with pytest.raises(BadRecording, match=r"two runs or more, not 1"):
        fit_network(linear_runs(1))
    with pytest.raises(BadRecording, match=r"not a whole number of rows"):
        fit_network(linear_runs(2), NetworkSettings(period=0.005))
    with pytest.raises(BadRecording, match=r"shorter than a window"):
        fit_network(
            linear_runs(2, rows=20), NetworkSettings(form="lstm", period=TIMESTEP * 2)
        )
