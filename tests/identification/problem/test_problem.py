"""Recordings as residuals: what enters, in which order, and in which pieces."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.identification import Problem, fit_least_squares
from realworthy.identification.problem.batch import DIVERGED
from realworthy.recordings import Recording, Sidecar
from realworthy.recordings import SignalNoise as DeclaredNoise
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind
from tests.identification.conftest import FIVE, draw_truth, multisine, play_hidden


@pytest.fixture(scope="module")
def truth() -> dict[str, float]:
    return draw_truth(11)


@pytest.fixture(scope="module")
def recordings(joint_file: Path, truth: dict[str, float]) -> list[Recording]:
    commands = [multisine(1, 4.0), multisine(2, 3.0)]
    return play_hidden(joint_file, truth, commands, seed=11)


def to_z(problem: Problem, e: dict[str, float]) -> np.ndarray:
    return problem.coordinates.to_z(problem.space.vector(e))


def test_at_the_truth_residuals_are_unit_noise(
    joint: Twin, recordings: list[Recording], truth: dict[str, float]
):
    problem = Problem(joint, recordings, FIVE)
    found = problem.residuals(to_z(problem, truth)).values[0]
    assert len(found) == 1000 + 750 - 2  # the first row of each is its start
    assert np.std(found) == pytest.approx(1.0, abs=0.1)
    rmse = problem.rmse(found)
    assert set(rmse) == set(problem.names)
    assert all(r["joint"] == pytest.approx(1e-3, rel=0.1) for r in rmse.values())


def test_an_encoder_that_rests_between_two_steps_has_the_noise_of_its_steps(
    joint: Twin,
):
    """Steps of 1.5 mrad: noise of step / √12 where it moves, and none to be seen where
    it rests. A declared noise stands."""
    step = 2 * np.pi / 4096
    t = np.arange(500) / 250.0
    moving = 0.3 * np.sin(2 * t)

    def read(position: np.ndarray, sidecar: Sidecar) -> Recording:
        steps = step * np.round(position / step)
        signals = {"joint.position": steps, "joint.command": position}
        return Recording(t, signals, sidecar)

    silent = Sidecar(command_kind="position", rate=250.0)
    declared = Sidecar(
        command_kind="position", rate=250.0, noise=DeclaredNoise(position=1e-6)
    )
    given = [
        read(moving, silent),
        read(np.full_like(t, 0.1), silent),
        read(np.full_like(t, 0.1), declared),
    ]
    problem = Problem(joint, given, FIVE, horizon=np.inf)
    moves, rests, told = (float(source.noise[0]) for source in problem.sources)
    assert moves == pytest.approx(step / np.sqrt(12), rel=0.3)
    assert rests == pytest.approx(0.5 * moves, rel=0.01)
    assert told == 1e-6


def test_a_batch_gives_each_candidate_what_it_gets_alone(
    joint: Twin, recordings: list[Recording], truth: dict[str, float]
):
    problem = Problem(joint, recordings, FIVE, horizon=1.0)
    draw = np.random.default_rng(0)
    z = (
        to_z(problem, truth)
        + 0.1 * draw.normal(size=(7, 5)) * problem.coordinates.scale
    )
    z = np.clip(z, problem.coordinates.lower, problem.coordinates.upper)
    starts = draw.normal(size=(7, len(problem.pieces), 2))
    together = problem.residuals(z, starts).values
    for k in (0, 3, 6):
        alone = problem.residuals(z[k], starts[k][None]).values[0]
        assert np.array_equal(alone, together[k])


def test_pieces_that_start_midway_still_carry_delayed_commands(
    joint: Twin, recordings: list[Recording], truth: dict[str, float]
):
    late = truth | {"joint.delay": 0.05}
    names = list(late)
    bound = bind(joint, joint.space.select(names))
    simulator = MujocoCpu(bound, 1, substeps=2)
    simulator.write(list(late.values()))
    simulator.reset()
    clean = record(simulator, multisine(3, 4.0)[:, None])[0]
    problem = Problem(joint, clean, FIVE, horizon=0.4, noise=1e-3)
    assert len(problem.pieces) == 10
    found = problem.residuals(to_z(problem, late)).values[0]
    unprimed = problem.residuals(to_z(problem, late | {"joint.delay": 0.03})).values[0]
    assert np.abs(found).max() < 0.5
    assert np.abs(unprimed).max() > 5


def test_recordings_of_different_rates_share_a_problem(
    joint: Twin, recordings: list[Recording], truth: dict[str, float]
):
    slower = recordings[1].resample(125.0)
    problem = Problem(joint, [recordings[0], slower], FIVE)
    found = problem.residuals(to_z(problem, truth)).values[0]
    assert len(found) == 999 + len(slower.time) - 1


def test_worlds_that_blow_up_are_large_finite_and_counted(
    joint: Twin, recordings: list[Recording]
):
    problem = Problem(joint, recordings, ["joint.kp", "joint.gear"])
    good = problem.start_z
    bad = good + np.array([0.0, 1e9])
    found = problem.residuals(np.stack([good, bad]))
    assert found.diverged.tolist() == [False, True]
    assert np.isfinite(found.values).all()
    assert np.abs(found.values[1]).max() == DIVERGED
    assert problem.diverged_count == 1


def test_a_short_calm_recording_is_simulated_as_a_whole(
    joint: Twin, recordings: list[Recording]
):
    problem = Problem(joint, recordings, FIVE)
    assert len(problem.pieces) == 2
    assert "as a whole" in problem.horizon.why


def test_a_long_recording_is_cut(joint: Twin):
    simulator = MujocoCpu(bind(joint), 1, substeps=10)
    long = record(simulator, np.tile(multisine(1, 1.0), 5)[:, None])[0]
    assert long.duration == pytest.approx(25, abs=0.1)
    problem = Problem(joint, long, FIVE)
    assert 2 <= len(problem.pieces) <= 3
    assert "pieces of 10 s" in problem.horizon.why


def test_recorded_velocities_count_where_they_are_asked_for(
    joint: Twin, recordings: list[Recording], truth: dict[str, float]
):
    problem = Problem(joint, recordings[:1], FIVE, velocities=True)
    found = problem.residuals(to_z(problem, truth)).values[0]
    assert len(found) == 2 * 999
    assert np.std(found[999:]) == pytest.approx(1.0, abs=0.15)


def test_a_velocity_that_is_no_derivative_is_left_out(
    joint: Twin, recordings: list[Recording]
):
    strange = recordings[0].with_signals(
        {"joint.velocity": 3 * recordings[0].signals["joint.velocity"]}
    )
    problem = Problem(joint, strange, FIVE, velocities=True)
    assert len(problem.series) == 1


def test_the_encoder_of_a_servo_is_found_by_gravity(joint: Twin, joint_file: Path):
    """A servo follows its own encoder: only gravity shows that it is off."""
    from realworthy.deployment import play
    from realworthy.realities import Interface, RealityNoise, StandIn
    from realworthy.realities.reality import RealityFile, make_reality

    file = RealityFile(
        schema=1,
        twin=joint_file.name,
        seed=2,
        interface=Interface(encoder_offset={"joint": 0.08}),
        noise=RealityNoise(position=1e-3),
        rate=250.0,
    )
    robot = StandIn(make_reality("off", file, folder=joint_file.parent))
    recording = play(robot, multisine(4, 4.0)[:, None] + 0.08, rate=250.0)
    names = ["joint.position.sensor_bias", "joint.coulomb_friction"]
    fit = fit_least_squares(Problem(joint, recording, names, noise=1e-3))
    assert fit.e["joint.position.sensor_bias"] == pytest.approx(0.08, abs=0.003)
    assert fit.e["joint.coulomb_friction"] == pytest.approx(0.1, rel=0.03)


def test_declared_noise_goes_before_estimated_noise(
    joint: Twin, recordings: list[Recording], truth: dict[str, float]
):
    declared = Problem(joint, recordings, FIVE)
    told = Problem(joint, recordings, FIVE, noise=2e-3)
    z = to_z(declared, truth)
    ratio = declared.residuals(z).values / told.residuals(z).values
    assert ratio == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"space": []}, "nothing to fit"),
        ({"joints": ["elbow"]}, "no joint 'elbow'"),
        ({"recordings": []}, "No recordings"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    joint: Twin, recordings: list[Recording], arguments: dict, said: str
):
    given = {"recordings": recordings, "space": FIVE, **arguments}
    with pytest.raises(RealworthyError, match=said):
        Problem(joint, given.pop("recordings"), given.pop("space"), **given)
