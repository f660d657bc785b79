"""Motion that forgets its start: pieces find what one long simulation cannot."""

import mujoco
import numpy as np
import pytest

from realworthy.identification import Problem, fit_least_squares
from realworthy.identification.problem.pieces import Piece, equalise_lengths
from realworthy.recordings import Recording
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind

DOUBLE = """
<mujoco model="double">
  <option timestep="0.004" integrator="RK4"/>
  <worldbody>
    <body name="upper">
      <joint name="upper" axis="0 1 0" damping="0.02"/>
      <inertial pos="0 0 -0.25" mass="1" diaginertia="0.02 0.02 0.001"/>
      <body name="lower" pos="0 0 -0.5">
        <joint name="lower" axis="0 1 0" damping="0.01"/>
        <inertial pos="0 0 -0.25" mass="0.6" diaginertia="0.012 0.012 0.001"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="upper" joint="upper"/></actuator>
</mujoco>
"""
NAMES = (
    "upper.damping",
    "lower.damping",
    "lower.mass",
    "lower.centre_of_mass.z",
)
WITHIN = np.array([0.08, 0.02, 0.01, 0.005])


@pytest.fixture(scope="module")
def double() -> Twin:
    spec = mujoco.MjSpec.from_string(DOUBLE)
    return Twin(name="double", base_spec=spec, model="double.xml")


def drop(twin: Twin, seed: int) -> tuple[np.ndarray, Recording]:
    """True e, and 6 s of free fall from 2.6 rad with 0.01 rad of noise."""
    draw = np.random.default_rng(seed)
    space = twin.space.select(NAMES)
    e = space.nominal * np.exp(draw.uniform(-0.2, 0.2, 4))
    simulator = MujocoCpu(bind(twin, space), 1, substeps=1)
    simulator.write(e)
    simulator.reset(qpos=[2.6, 2.6])
    fall = record(simulator, np.zeros((1500, 1)))[0]
    noisy = {
        f"{joint}.position": fall.signals[f"{joint}.position"]
        + 0.01 * draw.standard_normal(1500)
        for joint in ("upper", "lower")
    }
    return e, Recording(fall.time, {**noisy, "upper.command": np.zeros(1500)})


def errors_after(
    twin: Twin, seed: int, horizon: float | None
) -> tuple[np.ndarray, Problem]:
    e, recording = drop(twin, seed)
    problem = Problem(twin, recording, NAMES, noise=0.01, horizon=horizon)
    off = 1 + 0.3 * np.random.default_rng([seed, 1]).choice([-1, 1], 4)
    fit = fit_least_squares(problem, dict(zip(NAMES, e * off, strict=True)))
    return np.abs(np.array(list(fit.e.values())) / e - 1), problem


def test_pieces_find_what_a_whole_simulation_misses(double: Twin):
    in_pieces, problem = errors_after(double, 2, None)
    as_a_whole, _ = errors_after(double, 2, np.inf)
    assert problem.horizon.grows
    assert "grows e-fold" in problem.horizon.why
    assert len(problem.pieces) > 6
    assert (in_pieces < WITHIN).all()
    assert as_a_whole.max() > 0.1


@pytest.mark.parametrize("seconds", [2.0, 3.0, 4.0])
def test_short_recordings_of_chaos_are_cut_too(double: Twin, seconds: float):
    _, recording = drop(double, 1)
    short = recording.crop(recording.time[0], recording.time[0] + seconds)
    problem = Problem(double, short, NAMES, noise=0.01)
    assert problem.horizon.grows
    assert 0.2 < problem.horizon.seconds < 1.0


@pytest.mark.slow
def test_four_seconds_of_chaos_are_enough(double: Twin):
    found = []
    for seed in range(5):
        e, recording = drop(double, seed)
        short = recording.crop(recording.time[0], recording.time[0] + 4)
        problem = Problem(double, short, NAMES, noise=0.01)
        off = 1 + 0.3 * np.random.default_rng([seed, 1]).choice([-1, 1], 4)
        fit = fit_least_squares(problem, dict(zip(NAMES, e * off, strict=True)))
        found.append(np.abs(np.array(list(fit.e.values())) / e - 1))
    assert sum((errors < 2 * WITHIN).all() for errors in found) >= 4


@pytest.mark.slow
def test_pieces_hold_over_ten_seeds(double: Twin):
    found = [errors_after(double, seed, None)[0] for seed in range(10)]
    whole = [errors_after(double, seed, np.inf)[0].max() for seed in range(10)]
    assert sum((errors < WITHIN).all() for errors in found) >= 9
    assert sum(error > 0.1 for error in whole) >= 7


def test_pieces_of_nearly_one_length_are_made_equal():
    lengths = {0: 1116, 1: 1124, 2: 1510, 3: 1100}
    pieces = [Piece(recording, 0, rows) for recording, rows in lengths.items()]
    made = equalise_lengths(pieces, crowds=[7, 7, 7, 8])
    assert [(p.recording, p.row_count) for p in made] == [
        (0, 1116), (1, 1116), (2, 1510), (3, 1100),
    ]  # fmt: skip


def test_a_glimpse_is_where_joints_move(double: Twin):
    _, recording = drop(double, 1)
    still = recording.signals["upper.position"].copy()
    moving = slice(700, 1100)
    flat = {n: np.full(1500, q[0]) for n, q in recording.signals.items()}
    flat["upper.position"][moving] = still[moving]
    problem = Problem(
        double, recording.with_signals(flat), NAMES, noise=0.01, horizon=np.inf
    )
    (piece,) = problem.glimpsed(1.6).pieces
    assert piece.row_count == 400
    assert piece.first == pytest.approx(700, abs=100)  # looked for in quarters
    assert problem.glimpsed(20.0).pieces == problem.pieces


def test_fronts_begin_where_their_pieces_do(double: Twin):
    _, recording = drop(double, 1)
    problem = Problem(double, recording, NAMES, noise=0.01, horizon=0.6)
    fronts = problem.fronts(0.5)
    assert [p.first for p in fronts.pieces] == [p.first for p in problem.pieces]
    assert {p.row_count for p in fronts.pieces} == {problem.pieces[0].row_count // 2}
    turned = fronts.of_pieces(range(len(fronts.pieces))[::-1])
    starts = np.arange(len(turned.pieces))[:, None] * np.ones(problem.start_count)
    assert (problem.sort_starts(starts, turned) == starts[::-1]).all()
