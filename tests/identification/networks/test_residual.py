"""Forces that a twin lacks: recovered, useful when running freely, harmless outside."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.errors import BadRecording, UnknownName
from realworthy.identification.networks import (
    ResidualSettings,
    RidgeSettings,
    compare_residual,
    fit_residual,
    residual_dynamics,
    residual_torque,
)
from realworthy.identification.networks.missing import add_stiffness, label_forces
from realworthy.realities.effects import Effect
from realworthy.recordings import Recording
from realworthy.residuals import Residual, load_residual, save_residual
from realworthy.twins import load_twin

from .robots import DRAG, HARMONIC, play_hidden, write_models

QUICK = ResidualSettings(
    horizon=0.2, fold_count=2, ridge=RidgeSettings(member_count=3, feature_count=40)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("residuals")
    write_models(folder)
    return folder


def size(residual: Residual, twin: Path, recordings: list[Recording]) -> float:
    """Root mean square force that it gives along recordings [N·m]."""
    described = residual.description
    squares = []
    for item in label_forces(load_twin(twin), recordings, described):
        rows = item.inputs.reshape(len(item.inputs), -1)
        if described.scope == "joint":
            rows = item.inputs.reshape(-1, rows.shape[1] // len(described.joints))
        squares.append((described.gain * residual.ensemble.step(rows)[0]) ** 2)
    return float(np.sqrt(np.mean(np.concatenate(squares))))


def shuffle(recording: Recording, seed: int) -> Recording:
    """The same motion under the commands of other times."""
    names = [name for name in recording.signals if name.endswith(".command")]
    pieces = np.array_split(np.arange(len(recording.time)), 20)
    order = np.random.default_rng(seed).permutation(20)
    rows = np.concatenate([pieces[i] for i in order])
    return recording.with_signals({n: recording.signals[n][rows] for n in names})


def test_missing_forces_are_those_that_were_planted(folder: Path):
    recording = play_hidden(folder / "two.xml", 0, DRAG, seconds=3.0, sigma=2e-5)
    twin, described = load_twin(folder / "two.xml"), residual_dynamics(["a", "b"])
    (item,) = label_forces(twin, [recording], described)
    velocity = item.inputs[:, :, 0, 1]
    drag = -np.array([0.15, 0.1]) * velocity * np.abs(velocity)
    assert np.corrcoef(drag[:, 0], item.force[:, 0])[0, 1] > 0.95
    slope = np.sum(drag * item.force) / np.sum(drag**2)
    assert slope == pytest.approx(1.0, abs=0.1)


def test_a_residual_helps_unseen_motions_and_is_saved(folder: Path, tmp_path: Path):
    twin = load_twin(folder / "two.xml")
    hidden = folder / "two.xml"
    train = [play_hidden(hidden, s, DRAG, seconds=4.0) for s in range(3)]
    residual = fit_residual(twin, train, residual_dynamics(["a", "b"]), QUICK)
    save_residual(tmp_path / "two.residual.yaml", residual)
    read = load_residual(tmp_path / "two.residual.yaml")
    evidence = read.description.evidence
    assert evidence is not None
    assert evidence.with_residual < 0.7 * evidence.without
    assert evidence.recordings == tuple(r.sha256() for r in train)
    unseen = [play_hidden(hidden, 40, DRAG, seconds=3.0)]
    found = compare_residual(twin, unseen, read, horizon=0.3)
    assert found.with_residual < 0.6 * found.without


def test_servos_of_unlike_gains_share_a_function_of_their_torque(folder: Path):
    twin = load_twin(folder / "servos.xml")
    described = add_stiffness(twin, residual_torque(["b", "a"], period=0.004))
    assert described.stiffness == pytest.approx((6.0, 12.0))
    kept = add_stiffness(twin, msgspec.structs.replace(described, stiffness=(1.0, 1.0)))
    assert kept.stiffness == (1.0, 1.0)
    motors = load_twin(folder / "two.xml")
    assert add_stiffness(motors, residual_torque(["a", "b"])).stiffness == ()


def test_an_exact_twin_gets_no_residual(folder: Path):
    file = folder / "two.xml"
    train = [play_hidden(file, s, (), seconds=3.0) for s in range(3)]
    residual = fit_residual(
        load_twin(file), train, residual_dynamics(["a", "b"]), QUICK
    )
    assert residual.description.gain == 0.0
    assert size(residual, file, train) == 0.0


def test_recordings_and_joints_that_cannot_serve_are_refused(folder: Path):
    file = folder / "two.xml"
    twin, recording = load_twin(file), play_hidden(file, 0, (), seconds=1.0)
    with pytest.raises(BadRecording, match=r"two recordings or more, not 1"):
        fit_residual(twin, [recording], residual_dynamics(["a"]))
    with pytest.raises(UnknownName, match=r"no joint 'elbow'"):
        fit_residual(twin, [recording] * 2, residual_dynamics(["elbow"]))
    short = recording.crop(0.0, 0.05)
    with pytest.raises(BadRecording, match=r"too short"):
        fit_residual(twin, [short, short], residual_dynamics(["a"]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_hidden_drag_and_spring_are_made_up_for(folder: Path, seed: int):
    """§4.1: −60 % at 0.5 s on unseen motions, never worse by a tenth outside."""
    twin, hidden = load_twin(folder / "two.xml"), folder / "coupled.xml"
    described = residual_dynamics(["a", "b"])
    first = 100 * seed
    train = [play_hidden(hidden, first + s, DRAG) for s in range(8)]
    residual = fit_residual(twin, train, described)
    unseen = [play_hidden(hidden, first + s, DRAG) for s in (50, 51)]
    found = compare_residual(twin, unseen, residual)
    print(seed, "inside", found.to_words())
    assert found.with_residual <= 0.4 * found.without
    beyond = [play_hidden(hidden, first + 60, DRAG, amplitude=3.0)]
    outside = compare_residual(twin, beyond, residual)
    print(seed, "outside", outside.to_words())
    assert outside.with_residual <= 1.1 * outside.without
    shuffled = [shuffle(recording, s) for s, recording in enumerate(train)]
    fooled = fit_residual(twin, shuffled, described)
    worse = compare_residual(twin, unseen, fooled)
    print(seed, "shuffled", worse.to_words())
    assert worse.with_residual > 0.8 * worse.without


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_hidden_friction_is_made_up_for_without_torque_labels(folder: Path, seed: int):
    """§3.5: −60 % at 0.5 s on unseen motions; nothing where the twin is exact."""
    file = folder / "servos.xml"
    twin, first = load_twin(file), 100 * seed
    described = residual_torque(["a", "b"], period=0.004, history=6)

    def motions(seeds: range, effects: Sequence[Effect]) -> list[Recording]:
        return [
            play_hidden(file, first + s, effects, amplitude=0.5, kind="position")
            for s in seeds
        ]

    residual = fit_residual(twin, motions(range(8), HARMONIC), described)
    unseen = motions(range(50, 52), HARMONIC)
    found = compare_residual(twin, unseen, residual)
    print(seed, found.to_words())
    assert found.with_residual <= 0.4 * found.without
    exact = fit_residual(twin, motions(range(8), ()), described)
    assert size(exact, file, unseen) < 0.02 * size(residual, file, unseen)
