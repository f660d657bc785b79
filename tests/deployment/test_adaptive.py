"""Goals that are adapted to a load, inside the guards."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from realworthy.deployment import (
    AdaptiveSettings,
    Deployment,
    DeploySettings,
    TrialOutcome,
    TrialSettings,
    deploy,
)
from realworthy.errors import RealworthyError
from realworthy.policies import Policy
from realworthy.policies.contract import DriveGains, JointLimits
from realworthy.realities import RealityFile, RealityNoise, StandIn, make_reality
from realworthy.recordings import Recording, load_recording
from realworthy.robots import Mode
from realworthy.robots.clock import SteppedClock

from . import examples
from .conftest import make_policy

LINK = """
<mujoco model="link">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="0.05" frictionloss="0.02"
             armature="0.01"/>
      <inertial pos="0 0 -0.2" mass="0.4" diaginertia="0.0028 0.0028 0.0005"/>
    </body>
  </worldbody>
  <actuator>
    <position name="joint" joint="joint" kp="13" kv="0.8" forcerange="-12 12"/>
  </actuator>
</mujoco>
"""
INERTIA = 0.01 + 0.0028 + 0.4 * 0.2**2
"""[kg·m²] by hand."""
KP, KD, PERIOD, SPEED, TORQUE = 13.0, 0.8, 0.01, 6.0, 4.0
LOAD = {"link.mass": 0.9, "joint.kp": 9.0}
"""Half a kilogram more, and a servo that lost a third of its torque."""


def sway(step: int) -> float:
    time = step * PERIOD
    return 0.5 * (1 - np.cos(1.5 * time)) + 0.15 * (1 - np.cos(3.1 * time))


def make(folder: Path) -> Policy:
    contract = examples.contract(
        "link",
        ("joint",),
        "position",
        period=PERIOD,
        gains={"joint": DriveGains(kp=KP, kd=KD)},
        limits={
            "joint": JointLimits(lower=-2.0, upper=2.0, velocity=SPEED, effort=TORQUE)
        },
    )
    return make_policy(folder / "sway.onnx", contract, lambda k, _: sway(k))


def run(
    folder: Path, seed: int, adaptive: AdaptiveSettings | None
) -> tuple[Deployment, Recording, StandIn]:
    folder.mkdir()
    (folder / "link.xml").write_text(LINK)
    described = RealityFile(
        schema=1,
        twin="link.xml",
        seed=seed,
        parameters=LOAD,
        noise=RealityNoise(position=0.0005, velocity=0.01, torque=0.02),
        rate=1 / PERIOD,
    )
    robot = StandIn(make_reality("loaded", described, folder=folder))
    settings = DeploySettings(
        trial=TrialSettings(seconds=8.0, move_seconds=0.5, hold_seconds=0.1),
        wiggles=False,
        adaptive=adaptive,
    )
    done = deploy(
        make(folder),
        robot,
        folder / "t",
        settings=settings,
        clock=SteppedClock(robot),
    )
    recording = load_recording(folder / "t" / "trial_1.npz")
    return done, recording, robot


def find_run(recording: Recording) -> slice:
    """Rows in which the policy ran."""
    begin = float(recording.sidecar.notes["run_from"])  # pyright: ignore
    first = int(np.searchsorted(recording.time, begin - 1e-9))
    return slice(first, first + 800)


def find_error(recording: Recording) -> float:
    """[rad] root mean square distance from the policy's goals, once it has begun."""
    rows = find_run(recording)
    q = recording.signals["joint.position"][rows]
    goals = np.array([sway(k) for k in range(len(q))])
    return float(np.sqrt(np.mean((q - goals)[200:] ** 2)))


def count_beyond(recording: Recording) -> int:
    """Commands and measurements beyond what the contract allows."""
    q, v, tau, y = (
        recording.signals[f"joint.{name}"]
        for name in ("position", "velocity", "torque", "command")
    )
    noise = 5 * np.array([0.0005, 0.01, 0.02])
    beyond = np.abs(y) > 2.0 * 0.95 + 1e-9
    beyond |= np.abs(np.diff(y, prepend=y[0])) > SPEED * PERIOD + 1e-9
    beyond |= np.abs(KP * (y - q) - KD * v) > TORQUE + 1e-9
    beyond |= np.abs(q) > 2.0 + noise[0]
    beyond |= np.abs(v) > SPEED + noise[1]
    beyond |= np.abs(tau) > TORQUE + noise[2]
    return int(beyond.sum())


def test_a_load_that_the_policy_never_met_is_followed_better(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    settings = AdaptiveSettings(inertia={"joint": INERTIA})
    errors, beyond = [], 0
    for seed in range(4):
        row = []
        for name, adaptive in (("plain", None), ("adaptive", settings)):
            done, recording, _ = run(tmp_path / f"{name}_{seed}", seed, adaptive)
            assert done.trials[0].outcome is TrialOutcome.DONE, done.trials[0].reason
            row.append(find_error(recording))
            beyond += count_beyond(recording)
        errors.append(row)
    plain, adapted = np.array(errors).T
    gain = plain - adapted
    half = student.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
    with capsys.disabled():
        print(
            f"\n  error without {plain.mean():.4f} rad, adaptive {adapted.mean():.4f}; "
            f"less by {gain.mean():.4f} ± {half:.4f} (95 %, {len(gain)} seeds); "
            f"{beyond} samples beyond limits"
        )
    assert gain.mean() - half > 0.3 * plain.mean()
    assert beyond == 0


def test_adaptation_that_diverges_is_held_by_the_filter(tmp_path: Path):
    wild = AdaptiveSettings(
        inertia={"joint": INERTIA},
        rate=1e9,
        dead_zone=0.0,
        leak=0.0,
        gain_ratio=1e9,
        term_bound=1e15,
    )
    done, recording, robot = run(tmp_path / "wild", 0, wild)
    trial = done.trials[0]
    assert trial.outcome is TrialOutcome.FAULT
    assert any(name.startswith("filter.") for name in trial.interventions)
    assert count_beyond(recording) == 0
    robot.wait(0.1)
    assert robot.read().mode is Mode.DAMP


def test_without_a_load_hardly_anything_changes_and_nothing_is_learned_when_cut():
    from realworthy.deployment.adaptive import AdaptiveGoals
    from realworthy.deployment.drives import make_drives
    from realworthy.robots import RobotInfo, State

    info = RobotInfo(
        name="link",
        joints=("joint",),
        commands=("joint.command",),
        command_kind="position",
        rate=100.0,
        command_lower=np.array([-2.0]),
        command_upper=np.array([2.0]),
    )
    drives = make_drives(info, kp={"joint": KP}, kd={"joint": KD})
    settings = AdaptiveSettings(inertia={"joint": INERTIA})

    def state(position: float) -> State:
        zero = np.zeros(1)
        at = np.array([position])
        return State(
            time=0.0, sequence=0, position=at, velocity=zero, torque=zero, others=zero
        )

    loop = AdaptiveGoals(drives, info.joints, settings)
    loop.begin(state(0.3))
    goal = np.array([0.5])
    assert loop.adapt(goal, state(0.3), PERIOD) == pytest.approx(goal, abs=1e-12)
    free, cut = (AdaptiveGoals(drives, info.joints, settings) for _ in range(2))
    for one in (free, cut):
        one.begin(state(0.3))
        for _ in range(20):
            sent = one.adapt(goal, state(0.3), PERIOD)
            one.settle(sent, sent - 0.1 * (one is cut))
    assert np.abs(free.shift).max() > 1e-3  # the joint stands where it should move
    assert cut.shift == pytest.approx(np.zeros(1), abs=1e-9)


def test_what_has_no_goals_or_no_gains_is_refused_before_anything_moves(
    tmp_path: Path,
):
    robot = StandIn(make_reality("it", RealityFile(schema=1, twin="pendulum")))
    policy = examples.load(examples.swinging(tmp_path / "p.onnx"))
    settings = DeploySettings(adaptive=AdaptiveSettings(inertia={"joint": 0.15}))
    with pytest.raises(RealworthyError, match="moves goals of position drives"):
        deploy(policy, robot, tmp_path / "t", settings=settings)
    arm = StandIn(make_reality("it", RealityFile(schema=1, twin="arm")))
    policy = examples.load(examples.reaching(tmp_path / "r.onnx"))
    for inertia, match in (
        ({"knee": 0.1}, "No inertia is known"),
        ({"elbow_flex": 1e-6}, "too fast for a loop"),
        ({"elbow_flex": -1.0}, "is -1"),
    ):
        settings = DeploySettings(adaptive=AdaptiveSettings(inertia=inertia))
        with pytest.raises(RealworthyError, match=match):
            deploy(policy, arm, tmp_path / "t", settings=settings)
    assert not (tmp_path / "t").exists()
    assert arm.read().time == 0.0
