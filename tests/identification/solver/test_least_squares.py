"""Five numbers of a joint from hidden truth: every arm of the protocol."""

import time
from pathlib import Path

import numpy as np
import pytest

from realworthy.identification import Problem, fit_least_squares
from realworthy.parameters import GaussianBelief
from realworthy.recordings import Recording
from realworthy.simulators.replay import Replayer, lay_out
from realworthy.twins import Twin, load_twin
from tests.identification.conftest import (
    FIVE,
    draw_truth,
    multisine,
    play_hidden,
    start_off,
)

SEEDS = range(5)


def record_two(file: Path, seed: int) -> list[Recording]:
    commands = [multisine(10 * seed + k, 6.0) for k in range(2)]
    return play_hidden(file, draw_truth(seed), commands, seed=seed)


def replay_error(twin: Twin, recording: Recording) -> float:
    """[rad] root mean square of an open-loop replay against what was measured."""
    track = lay_out(twin, recording)
    played = Replayer(track, 1).play(velocity=np.zeros((1, 1)))
    return float(np.sqrt(np.mean((played.position[0] - track.position) ** 2)))


@pytest.mark.parametrize("seed", SEEDS)
def test_five_numbers_of_a_joint_are_found_within_three_percent(
    joint: Twin, joint_file: Path, seed: int, capsys: pytest.CaptureFixture[str]
):
    recordings = record_two(joint_file, seed)
    start = start_off(draw_truth(seed), seed)
    begun = time.process_time()  # of all threads: neighbours do not count
    fit = fit_least_squares(Problem(joint, recordings, FIVE), start)
    taken = time.process_time() - begun
    truth = draw_truth(seed)  # read only now
    errors = {name: fit.e[name] / truth[name] - 1 for name in FIVE}
    with capsys.disabled():
        shown = ", ".join(
            f"{n.split('.')[1]} {100 * x:+.2f}%" for n, x in errors.items()
        )
        spent = f"{taken:.2f} s of CPU, {fit.evaluation_count} worlds"
        print(f"\n  seed {seed}, {spent}: {shown}")
    assert max(map(abs, errors.values())) < 0.03
    assert fit.converged
    assert not fit.warnings
    assert fit.reduced_chi2 == pytest.approx(1.0, abs=0.1)
    off = [(fit.e[n] - truth[n]) / fit.sd[n] for n in FIVE]
    assert max(map(abs, off)) < 4
    assert taken < 6  # 1.3 s by the clock on two idle cores


def test_a_fitted_joint_predicts_a_motion_it_has_not_seen(
    joint: Twin, joint_file: Path
):
    truth = draw_truth(7)
    seen, unseen = play_hidden(
        joint_file, truth, [multisine(71, 6.0), multisine(72, 4.0)], seed=7
    )
    fit = fit_least_squares(Problem(joint, seen, FIVE), start_off(truth, 7))
    before = replay_error(joint.with_values(start_off(truth, 7)), unseen)
    after = replay_error(joint.with_values(fit.e), unseen)
    assert before > 0.02
    assert after < 0.0012  # noise alone is 0.001


@pytest.mark.parametrize("seed", [1, 5])
def test_a_start_sixty_times_off_is_left_behind(
    tmp_path: Path, joint_file: Path, seed: int
):
    """A gain so high that its torque limit makes it a switch, as published ones are."""
    file = tmp_path / "limited.xml"
    limited = joint_file.read_text().replace('kp="15"', 'kp="15" forcerange="-3 3"')
    file.write_text(limited)
    truth = draw_truth(seed)
    recordings = play_hidden(file, truth, [multisine(seed, 6.0)], seed=seed)
    start = truth | {
        "joint.kp": 60 * truth["joint.kp"],
        "joint.damping": 0.05 * truth["joint.damping"],
        "joint.coulomb_friction": 0.2 * truth["joint.coulomb_friction"],
        "joint.delay": 0.0,
    }
    fit = fit_least_squares(Problem(load_twin(file), recordings, FIVE), start)
    assert max(abs(fit.e[name] / truth[name] - 1) for name in FIVE) < 0.03
    assert fit.reduced_chi2 == pytest.approx(1.0, abs=0.1)


def test_shuffled_commands_fit_nothing(joint: Twin, joint_file: Path):
    truth = draw_truth(3)
    first, second = record_two(joint_file, 3)
    swapped = first.with_signals({"joint.command": second.signals["joint.command"]})
    fit = fit_least_squares(Problem(joint, swapped, FIVE), start_off(truth, 3))
    assert fit.reduced_chi2 > 1000
    assert any("times the noise" in warning for warning in fit.warnings)
    assert max(abs(fit.e[name] / truth[name] - 1) for name in FIVE) > 0.1


def test_a_twin_that_is_right_already_stays(joint: Twin, joint_file: Path):
    """The null arm: a robot that is its twin moves no number beyond its interval."""
    nominal = {name: joint.space[name].nominal for name in FIVE} | {"joint.delay": 0.01}
    recordings = play_hidden(joint_file, nominal, [multisine(1, 6.0)], seed=1)
    fit = fit_least_squares(Problem(joint, recordings, FIVE), nominal)
    for name, (low, high) in fit.interval(0.9999).items():
        assert low < nominal[name] < high
    assert fit.evaluation_count < 150


def test_the_belief_carries_the_correlations_of_the_fit(joint: Twin, joint_file: Path):
    truth = draw_truth(2)
    recordings = play_hidden(joint_file, truth, [multisine(5, 4.0)], seed=2)
    fit = fit_least_squares(Problem(joint, recordings, FIVE), truth)
    correlation = fit.belief.correlation()
    assert correlation[0, 4] > 0.9  # armature and kp
    samples = fit.belief.sample(2000, seed=0)
    assert np.corrcoef(np.log(samples[:, [0, 4]]).T)[0, 1] > 0.9
    assert fit.belief.mean["joint.kp"] == pytest.approx(fit.e["joint.kp"], rel=0.01)
    assert "joint.kp" in fit.to_words()


def test_a_belief_from_elsewhere_holds_what_the_data_do_not_tell(
    joint: Twin, joint_file: Path
):
    truth = draw_truth(4)
    recordings = play_hidden(joint_file, truth, [multisine(8, 2.0)], seed=4)
    names = (*FIVE, "joint.stiffness")
    # a spring that is nothing beside gravity: no data, all belief
    springy = joint.with_values({"joint.stiffness": 1e-5})
    space = springy.space.select(names)
    mean = space.to_z([*truth.values(), 3e-5])
    prior = GaussianBelief(space, mean, np.diag([1.0] * 5 + [0.01]))
    fit = fit_least_squares(Problem(springy, recordings, space), truth, prior=prior)
    assert fit.e["joint.stiffness"] == pytest.approx(3e-5, rel=0.01)
    assert fit.sd["joint.stiffness"] == pytest.approx(0.1 * 3e-5, rel=0.1)


def test_a_number_on_its_bound_is_named(joint: Twin, joint_file: Path):
    truth = draw_truth(6) | {"joint.delay": 0.0}
    recordings = play_hidden(joint_file, truth, [multisine(9, 4.0)], seed=6)
    late = recordings[0].with_signals(
        {"joint.command": np.roll(recordings[0].signals["joint.command"], 3)}
    )  # the robot answers before it is asked
    fit = fit_least_squares(Problem(joint, late, FIVE), draw_truth(6))
    assert fit.e["joint.delay"] == 0.0
    assert any("joint.delay ran to its lower bound" in w for w in fit.warnings)
    assert fit.interval()["joint.delay"][0] == 0.0
