"""A learned drive as files, and who is heard inside and outside its envelope."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.actuators import MotorNetwork, build_law
from realworthy.errors import BadFile, Unwritable
from realworthy.identification.networks import LearnedDrive, load_drive
from realworthy.residuals.envelope import surround
from realworthy.twins.drives.fallback import LawWithFallback

from .drives import PLAIN

KP, KD = 30.0, 1.0


def linear_drive(*, error_scale: float = 1.0) -> LearnedDrive:
    """A network that is exactly 30 e − v, seen for errors and velocities up to one."""
    seen = np.random.default_rng(0).uniform(-1.0, 1.0, (4000, 2))
    return LearnedDrive(
        motor=MotorNetwork(
            file="",
            form="mlp",
            period=0.002,
            error="goal_minus_position",
            history=1,
            error_scale=error_scale,
        ),
        weights={
            "0.weight": np.array([[KP / error_scale, -KD]]),
            "0.bias": np.zeros(1),
        },
        envelope=surround(seen),
        torque_limit=100.0,
        validation_error=0.1,
        run_names=("one", "two"),
    )


def torque(
    law: LawWithFallback, error: float, velocity: float, **options: object
) -> float:
    zero = np.zeros(1)
    state = law.initial_state(1, zero)
    goal = np.array([[error]])
    state = law.prime(state, goal, position=zero, velocity=zero + velocity)
    out = law.step(goal, zero, zero + velocity, zero, {}, state, **options)
    return float(out.torque[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "knee.drive.yaml"
    linear_drive().save(path, PLAIN)
    return path


def test_inside_the_network_is_heard_and_outside_the_physics(path: Path):
    law = load_drive(path, timestep=0.002)
    assert torque(law, 0.1, 0.2) == pytest.approx(KP * 0.1 - KD * 0.2)
    # 15 × 0.1 − 0.3 × 5, at five times the velocity that was seen
    assert torque(law, 0.1, 5.0) == pytest.approx(15 * 0.1 - 0.3 * 5.0, abs=1e-6)


def test_between_them_both_are_heard(path: Path):
    law = load_drive(path, timestep=0.002)
    share = float(law.gate(np.array([0.0]), np.zeros(1), np.array([1.2]))[0])
    assert 0.2 < share < 0.4  # exp(−6 × 0.2) is 0.30
    expected = -share * KD * 1.2 - (1 - share) * 0.3 * 1.2
    assert torque(law, 0.0, 1.2) == pytest.approx(expected)


def test_a_firmware_gain_scales_the_error_and_the_envelope(path: Path):
    law = load_drive(path, timestep=0.002, gain=2.0, gain_kind="kp")
    assert torque(law, 0.1, 0.0) == pytest.approx(2 * KP * 0.1)
    far = np.array([0.9]), np.zeros(1), np.zeros(1)
    assert law.gate(*far)[0] < 0.02  # 1.8 as the network sees it
    assert torque(law, 0.1, 9.0) == pytest.approx(30 * 0.1 - 0.3 * 9.0, abs=1e-6)


def test_without_power_the_network_is_silent(path: Path):
    law = load_drive(path, timestep=0.002)
    assert torque(law, 0.1, 0.2, powered=np.array([False])) == 0.0


def test_the_network_alone_is_an_actuator_for_a_twin(path: Path):
    described = linear_drive().save(path, PLAIN, overwrite=True)
    law = build_law(described.network, timestep=0.002, folder=path.parent)
    zero = np.zeros(1)
    out = law.step(np.array([[0.1]]), zero, zero, zero, {}, law.initial_state(1, zero))
    assert out.torque[0] == pytest.approx(KP * 0.1)


def test_files_are_plain_and_never_overwritten_silently(path: Path):
    with np.load(path.with_name("knee.drive.npz"), allow_pickle=False) as file:
        assert {"0.weight", "envelope.lower", "envelope.reach"} <= set(file.files)
    with pytest.raises(Unwritable, match=r"exists already"):
        linear_drive().save(path, PLAIN)


def test_a_network_without_an_envelope_is_refused(path: Path):
    arrays = path.with_name("knee.drive.npz")
    kept = {k: v for k, v in np.load(arrays).items() if "reach" not in k}
    np.savez(arrays, **kept)
    with pytest.raises(BadFile, match=r"no array 'envelope.reach'"):
        load_drive(path, timestep=0.002)
