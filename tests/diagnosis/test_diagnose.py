"""From recordings of stand-ins to the faults that were planted in them."""

import pytest

from realworthy.diagnosis import CauseKind, Verdict, diagnose
from realworthy.errors import BadRecording
from realworthy.recordings import Recording
from realworthy.twins import load_twin
from tests.diagnosis.planted import record


@pytest.fixture(scope="module")
def pendulum():
    return load_twin("pendulum")


@pytest.mark.parametrize("told", [{}, {"timestep_factor": 0.5}])
def test_a_healthy_twin_is_not_accused(pendulum, told):
    found = diagnose(pendulum, record("pendulum", **told))
    assert found.verdict is Verdict.HEALTHY
    assert found.causes == ()
    assert found.shares.unexplained == 0.0


def test_a_planted_number_is_named_with_its_value(pendulum):
    found = diagnose(pendulum, record("pendulum", parameters={"joint.damping": 0.1}))
    assert found.verdict is Verdict.EXPLAINED
    cause = found.causes[0]
    assert (cause.name, cause.joints) == ("damping", ("joint",))
    assert cause.kind is CauseKind.PARAMETRIC
    assert cause.share > 0.95
    (estimate,) = cause.estimates
    assert estimate.nominal == pytest.approx(0.04707, rel=1e-3)
    assert estimate.value == pytest.approx(0.1, rel=0.03)
    assert estimate.interval[0] < 0.1 < estimate.interval[1]
    assert "joint.damping" in cause.evidence
    assert found.after is not None
    assert found.after.replay.position_rmse < 0.2 * found.gap.replay.position_rmse


def test_a_planted_effect_is_missing_from_the_twin(pendulum):
    drag = {"kind": "drag", "joint": "joint", "coefficient": 0.03}
    found = diagnose(pendulum, record("pendulum", effects=[drag]))
    assert found.verdict is Verdict.MISSING_EFFECT
    assert found.causes[0].name == "drag"
    assert found.shares.missing > 0.9


def test_what_cannot_be_told_apart_is_said(pendulum):
    recording = record("pendulum", interface={"encoder_offset": {"joint": 0.1}})
    cause = diagnose(pendulum, recording).causes[0]
    named = {cause.name, *cause.indistinguishable_from}
    assert {"encoder_offset", "gravity_tilt"} <= named


def test_a_clock_and_a_delay_cannot_be_told_apart(pendulum):
    found = diagnose(pendulum, record("pendulum", interface={"clock_offset": 0.024}))
    assert found.causes[0].name == "delay"
    assert "clock_offset" in found.causes[0].indistinguishable_from


def test_too_little_data_is_said(pendulum):
    whole = record("pendulum", seconds=1.0)
    few = {name: values[:40] for name, values in whole.signals.items()}
    found = diagnose(pendulum, Recording(whole.time[:40], few, whole.sidecar))
    assert found.verdict is Verdict.CANNOT_TELL
    assert "Too little data" in found.warnings[0]


def test_without_recordings_there_is_nothing_to_say(pendulum):
    with pytest.raises(BadRecording, match="No recordings"):
        diagnose(pendulum, [])


def test_an_interrupted_diagnosis_keeps_what_it_has(pendulum):
    def stop(done, what):
        if done > 0.1:
            raise KeyboardInterrupt

    recording = record("pendulum", parameters={"joint.damping": 0.1})
    found = diagnose(pendulum, recording, progress=stop)
    assert found.is_partial
    assert found.gap.replay.position_rmse > 0
