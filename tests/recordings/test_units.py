"""A wrong unit leaves its own number in ∫velocity over Δposition."""

import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.recordings import Recording, Sidecar, SignalSource, suspicions
from realworthy.recordings.suspicions import check_units
from realworthy.recordings.units import compute_ratio

DEGREES = 180 / np.pi


def spoil(recording: Recording, **factors: float) -> Recording:
    """The recording with signals multiplied; `elbow_position` is `elbow.position`."""
    named = {name.replace("_", "."): factor for name, factor in factors.items()}
    changed = {name: f * recording.signals[name] for name, f in named.items()}
    return recording.with_signals(changed)


def with_clock(recording: Recording, factor: float) -> Recording:
    return Recording(
        factor * recording.time, recording.signals, recording.sidecar, recording.source
    )


def proposals(recording: Recording) -> dict[str, SignalSource]:
    return {k: v for s in suspicions(recording) for k, v in s.mapping.items()}


def test_correct_units_raise_no_suspicion(swing: Recording):
    assert suspicions(swing) == []
    ratio = compute_ratio(swing, "elbow")
    assert ratio is not None
    assert ratio == pytest.approx((1.0, 1.0), abs=1e-3)


def test_degrees_stop_the_loading_with_a_mapping_to_paste(swing: Recording):
    wrong = spoil(swing, elbow_position=DEGREES, elbow_command=DEGREES)
    with pytest.raises(BadRecording) as caught:
        check_units(wrong)
    assert str(caught.value) == (
        "recording 'swing': 'elbow.position' is in degrees: 'elbow.velocity' is "
        "0.01745 × the derivative of 'elbow.position' (correlation 1.000).\n"
        "  Put into its sidecar:  mapping: "
        "{elbow.position: {scale: 0.017453292519943295}, "
        "elbow.command: {scale: 0.017453292519943295}}"
    )


def test_every_joint_in_degrees_is_named(swing: Recording):
    wrong = spoil(swing, elbow_position=DEGREES, wrist_position=DEGREES)
    with pytest.raises(BadRecording, match=r"The same holds for 'wrist\.position'"):
        check_units(wrong)


@pytest.mark.parametrize(
    ("signal", "factor", "said"),
    [
        ("elbow_velocity", DEGREES, "is in degrees per second"),
        ("elbow_position", 1 / (2 * np.pi), "may be in turns"),
        ("elbow_velocity", 1 / (2 * np.pi), "may be in turns per second"),
        ("elbow_velocity", 30 / np.pi, "may be in rounds per minute"),
    ],
)
def test_other_units_are_told_apart(
    swing: Recording, signal: str, factor: float, said: str
):
    found = suspicions(spoil(swing, **{signal: factor}))[0]
    assert f"{said}:" in found.text
    assert found.certain == ("is in" in said)
    (name, entry), *_ = found.mapping.items()
    assert name == signal.replace("_", ".")
    assert entry.scale == pytest.approx(1 / factor)


def test_the_far_side_of_a_gear_is_suspected(swing: Recording):
    (found,) = suspicions(spoil(swing, elbow_velocity=100))
    assert found.text == (
        "'elbow.velocity' is 99.97 × the derivative of 'elbow.position' "
        "(correlation 1.000); is there a gear between them?"
    )
    assert not found.certain


def test_noise_and_a_coarse_encoder_do_not_hide_degrees(swing: Recording):
    rng = np.random.default_rng(0)
    step = 2 * np.pi / 4096
    position = np.round(swing.signals["elbow.position"] / step) * step
    velocity = swing.signals["elbow.velocity"] + rng.normal(0, 0.3, 400)
    noisy = swing.with_signals({"elbow.position": position, "elbow.velocity": velocity})
    assert suspicions(noisy) == []
    assert "elbow.position" in proposals(spoil(noisy, elbow_position=DEGREES))


def test_commands_in_degrees_for_joints_in_radians(swing: Recording):
    wrong = spoil(swing, elbow_command=DEGREES)
    assert not suspicions(wrong)[0].certain
    said = wrong.with_sidecar(Sidecar(command_kind="position"))
    with pytest.raises(BadRecording, match=r"'elbow\.command' is in degrees"):
        check_units(said)
    assert suspicions(wrong.with_sidecar(Sidecar(command_kind="torque"))) == []


def test_a_velocity_turned_round_is_suspected_not_refused(swing: Recording):
    wrong = spoil(swing, elbow_velocity=-1)
    assert proposals(wrong) == {"elbow.velocity": SignalSource(sign=-1)}
    check_units(wrong)


def test_degrees_in_everything_are_suspected(swing: Recording):
    names = {name.replace(".", "_"): DEGREES for name in swing.signals}
    found = suspicions(spoil(swing, **names))
    assert [s.text for s in found] == [
        "'elbow.position' may be in degrees: it reaches 57.3.",
        "'wrist.position' may be in degrees: it reaches 28.59.",
    ]
    assert not found[0].certain
    assert set(found[0].mapping) == {
        "elbow.position",
        "elbow.velocity",
        "elbow.command",
    }


def test_a_pendulum_that_turns_nine_times_is_not_suspected():
    time = np.arange(2000) / 100
    turning = {"joint.position": 3 * time, "joint.velocity": np.full(2000, 3.0)}
    pushed = {"joint.command": np.sin(time)}
    assert suspicions(Recording(time, turning | pushed)) == []


@pytest.mark.parametrize(
    ("factor", "unit"),
    [(1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds")],
)
def test_a_clock_in_other_units_is_told_by_the_motion(
    swing: Recording, factor: float, unit: str
):
    with pytest.raises(BadRecording, match=f"'time' is in {unit}, not seconds"):
        check_units(with_clock(swing, factor))


def test_a_clock_in_milliseconds_is_told_by_the_sidecar():
    recording = Recording(np.arange(10) * 20.06, {"a.x": np.zeros(10)})
    said = recording.with_sidecar(Sidecar(rate=50.0))
    with pytest.raises(BadRecording) as caught:
        check_units(said)
    assert str(caught.value) == (
        "recording: 'time' is in milliseconds, not seconds: rows are 20.06 apart, the "
        "sidecar says 50 Hz.\n"
        "  Put into its sidecar:  mapping: {time: {scale: 0.001}}"
    )


def test_rows_seconds_apart_are_suspected_without_evidence():
    recording = Recording(np.arange(10) * 20.0, {"a.x": np.zeros(10)})
    (found,) = suspicions(recording)
    assert (
        found.text == "'time' may be in milliseconds, not seconds: rows are 20 apart."
    )
    assert not found.certain


def test_absurd_numbers_do_no_harm():
    huge = np.array([1e308, -1e308, 1e308, -1e308, 0.0])
    recording = Recording(np.arange(5.0) / 10, {"a.position": huge, "a.velocity": huge})
    assert suspicions(recording) == []
