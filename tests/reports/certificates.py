"""A certificate with something of everything, and the recording of its failure."""

from pathlib import Path

import msgspec
import numpy as np

from realworthy.certification.certificate.certificate import Bounds, Certificate
from realworthy.certification.certificate.results import (
    CellResult,
    Divergence,
    FailureCase,
    Level,
    MarginResult,
    ParameterEffect,
    Regression,
    Share,
    Validity,
    ValidityRange,
    ValidityResult,
    WorstResult,
)
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.contract.finding import Aspect, ContractFinding, Mark
from realworthy.gap.intervals import compute_wilson_interval
from realworthy.recordings import Recording, save_recording
from realworthy.tasks.failures import Failure


def to_share(successes: int, count: int) -> Share:
    low, high = compute_wilson_interval(successes, count)
    mean = successes / count
    return Share(successes=successes, count=count, lower=low, mean=mean, upper=high)


def play(name: str, group: str, successes: int, count: int, **other) -> CellResult:
    share = to_share(successes, count)
    verdict = CertificateVerdict.PASS if share.lower >= 0.8 else CertificateVerdict.FAIL
    known = {
        "name": name,
        "group": group,
        "required": True,
        "verdict": verdict,
        "about": f"{verdict.capitalize()}: {successes} of {count}, required 80 %.",
        "share": share,
        **other,
    }
    return msgspec.convert(known, CellResult, from_attributes=True)


FALL = FailureCase(
    code=int(Failure.TRACKING_LOST),
    name="tracking_lost",
    cell="worst case",
    e={"joint.damping": 0.0731, "pendulum.mass": 1.183},
    seed=7919,
    number=3,
    seconds=1.62,
    replay="replays/worst_case_tracking_lost_3.npz",
)
LATE = FailureCase(
    code=int(Failure.NO_PROGRESS),
    name="no_progress",
    cell="commands one step late",
    e={},
    seed=0,
    number=12,
    seconds=10.0,
)
VALIDITY = Validity(
    scale=0.5,
    parameters={
        "pendulum.mass": ValidityRange(lower=0.92, upper=1.11, nominal=1.0, unit="kg"),
        "joint.damping": ValidityRange(
            lower=0.031, upper=0.057, nominal=0.04, unit="N·m·s/rad"
        ),
    },
    noise={"position": 0.0021, "velocity": 0.053},
    rate=50.0,
    inputs={"target": ValidityRange(lower=-1.2, upper=1.3, nominal=0.0, unit="rad")},
    lower=0.87,
    content=0.9,
    confidence=0.95,
    reality_count=64,
    episode_count=2048,
    mean=0.9667,
    worst=0.78125,
    worst_tenth=0.8203,
)
CELLS = (
    play(
        "everyday",
        "everyday",
        127,
        128,
        budgets={"action_rate": 3.21, "mean_power": 0.81, "peak_power": 4.4},
        seen={"torque_saturation": 9},
        codes={"no_progress": 1},
    ),
    play("integrator euler", "numerics", 62, 64),
    play("half the time step", "numerics", 64, 64, invalid=2),
    play(
        "engine drake",
        "engine",
        8,
        8,
        verdict=CertificateVerdict.PASS,
        about="8 of 8 succeed in drake, 8 in MuJoCo from the same starts.",
        divergence=Divergence(
            signal="joint.velocity", seconds=2.34, ours=1.017, theirs=1.193
        ),
    ),
    CellResult(
        name="engine warp",
        group="engine",
        required=False,
        verdict=CertificateVerdict.INSUFFICIENT,
        about="Skipped: there is no CUDA device.",
        skipped="there is no CUDA device.",
    ),
    play(
        "commands one step late",
        "actuator",
        40,
        64,
        required=False,
        codes={"no_progress": 24},
        failures=(LATE,),
    ),
    play("5 % of measurements missing", "sensor", 61, 64),
    play("5 % of commands lost", "link", 60, 64),
    play("mass × 1.15", "stress", 0, 64, required=False, codes={"tracking_lost": 64}),
    CellResult(
        name="ground friction × 0.5",
        group="stress",
        required=False,
        verdict=CertificateVerdict.INSUFFICIENT,
        about="Skipped: the twin touches no ground.",
        skipped="the twin touches no ground.",
    ),
)
MARGINS = (
    MarginResult(
        name="delay",
        unit="s",
        largest=0.02,
        failing=0.03,
        levels=tuple(
            Level(value=value, share=to_share(successes, 64))
            for value, successes in ((0.005, 64), (0.01, 63), (0.02, 58), (0.03, 31))
        ),
    ),
    MarginResult(
        name="noise",
        unit="×",
        largest=8.0,
        failing=None,
        levels=tuple(
            Level(value=value, share=to_share(successes, 64))
            for value, successes in ((2.0, 64), (4.0, 62), (8.0, 59))
        ),
    ),
    MarginResult(
        name="action repeat",
        unit="",
        largest=None,
        failing=2.0,
        levels=(Level(value=2.0, share=to_share(12, 64)),),
    ),
    MarginResult(
        name="payload",
        unit="× mass",
        largest=None,
        failing=None,
        skipped="the twin has no payload.",
    ),
)
WORST = WorstResult(
    about="Found within 200 tries. 'joint.damping' = 0.0731 matters most. With fresh "
    "starts 21 of 64 succeed. 62 % of the way there is safe.",
    margin=-0.4231,
    evaluations=200,
    is_failure=True,
    e={"pendulum.mass": 1.183, "joint.damping": 0.0731},
    safe_fraction=0.624,
    nearest={"pendulum.mass": 1.12, "joint.damping": 0.061},
    repeated=to_share(21, 64),
    turns=(
        ParameterEffect(name="joint.damping", worst=0.0731, effect=0.551),
        ParameterEffect(name="pendulum.mass", worst=1.183, effect=0.203),
    ),
    failures=(FALL,),
)
FINDINGS = (
    ContractFinding(name=Aspect.JOINTS, mark=Mark.OK, about="1 joint, as in the twin."),
    ContractFinding(
        name=Aspect.RANGE,
        mark=Mark.WARNING,
        about="The last action reaches 61 % of its range.",
        remedy="Look at the scale of actions.",
    ),
    ContractFinding(
        name=Aspect.SIGNS,
        mark=Mark.FAILED,
        about="'joint.velocity' has another sign than its position's change.",
        remedy="Turn it round in the contract.",
    ),
)
REASONS = (
    "contract, signs: 'joint.velocity' has another sign than its position's change.",
    "mass × 1.15: Fail: 0 of 64 (0.0 to 5.7 %), required 80 %.",
)


def make_failed() -> Certificate:
    return Certificate(
        verdict=CertificateVerdict.FAIL,
        reasons=REASONS,
        warnings=("worst case: Found within 200 tries.", "validity: only half."),
        policy="runs/pendulum/policy.onnx",
        policy_hash="9f" * 32,
        task="pendulum",
        twin="pendulum",
        suite="default",
        bar=0.8,
        seed=5,
        success=Bounds(lower=0.87, mean=0.9667, upper=0.9737),
        validity=VALIDITY,
        failures=(FALL, LATE),
        interface=FINDINGS,
        cells=CELLS,
        coverage=ValidityResult(
            verdict=CertificateVerdict.PASS,
            about="In 50 % of the believed ranges 96.7 % of episodes succeed.",
            validity=VALIDITY,
            tried=((1.0, 0.61), (0.5, 0.87)),
        ),
        margins=MARGINS,
        worst=WORST,
        regression=Regression(
            against="runs/last/policy.onnx",
            change="equal",
            difference=0.0117,
            lower=-0.0213,
            upper=0.0442,
            count=256,
            about="It is as good as policy.onnx: 96.9 % against 95.7 %.",
            verdict=CertificateVerdict.PASS,
        ),
        versions={"realworthy": "0.4.0", "mujoco": "3.9.0"},
        created="2026-11-15T12:00:00+00:00",
        seconds=83.4,
    )


def save_replay(place: Path) -> None:
    """The recording of the first failure, where the certificate names it."""
    time = np.arange(80, dtype=np.float64) / 50
    columns = {
        "joint.position": np.sin(3 * time),
        "joint.velocity": 3 * np.cos(3 * time),
        "joint.command": np.sign(np.sin(5 * time)),
    }
    (place / "replays").mkdir()
    save_recording(Recording(time, columns), place / str(FALL.replay))
