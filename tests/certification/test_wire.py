"""A wire delays, holds, loses and lags exactly as hand arithmetic says."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.certification.rollouts.disturbed_link import DisturbedLink
from realworthy.certification.suite.condition import Condition
from realworthy.policies import load_policy
from tests.certification.linear import write_linear
from tests.policies.examples import WIDTH, contract

PERIOD = 0.02
PASSES_ON = np.eye(WIDTH, 3, dtype=np.float32)
"""Actions that are the first three numbers of the observation."""
Build = Callable[..., DisturbedLink]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    told = msgspec.structs.replace(contract(), parity=None)
    write_linear(tmp_path / "same.onnx", PASSES_ON)

    def build(worlds: int = 1, seed: int = 0, **condition: object) -> DisturbedLink:
        policy = load_policy(
            tmp_path / "same.onnx", worlds=worlds, infer=lambda *_: told
        )
        made = msgspec.convert(condition, Condition)
        return DisturbedLink(policy, made, period=PERIOD, seed=seed)

    return build


def send(wire: DisturbedLink, values: Sequence[float], worlds: int = 1) -> np.ndarray:
    """(steps, worlds) first action that arrives for each first number observed."""
    rows = np.zeros((worlds, WIDTH), np.float32)
    sent = []
    for value in values:
        rows[:] = value
        sent.append(wire.act(rows)[:, 0])
    return np.array(sent)


def test_without_faults_everything_arrives_at_once(build: Build):
    assert send(build(), [1, 2, 3])[:, 0].tolist() == [1, 2, 3]


def test_late_commands_are_zero_at_first(build: Build):
    assert send(build(delay_steps=2), [1, 2, 3, 4])[:, 0].tolist() == [0, 0, 1, 2]


def test_held_commands_stay_for_their_steps(build: Build):
    found = send(build(hold_steps=3), [1, 2, 3, 4, 5, 6, 7])[:, 0]
    assert found.tolist() == [1, 1, 1, 4, 4, 4, 7]


def test_a_lag_is_an_exponential(build: Build):
    lag = 0.05
    found = send(build(lag=lag), [1.0] * 10)[:, 0]
    times = PERIOD * np.arange(1, 11)
    assert found == pytest.approx(1 - np.exp(-times / lag), rel=1e-5)
    assert found[2] == pytest.approx(1 - math.exp(-0.06 / 0.05), rel=1e-5)


def test_delay_comes_before_lag(build: Build):
    found = send(build(delay_steps=1, lag=PERIOD), [1.0, 1.0, 1.0])[:, 0]
    assert found == pytest.approx([0, 1 - math.exp(-1), 1 - math.exp(-2)], rel=1e-5)


@pytest.mark.parametrize("fault", ["loss", "dropout"])
def test_lost_samples_repeat_the_last_one(build: Build, fault: str):
    worlds, steps, share = 400, 60, 0.3
    found = send(build(worlds, **{fault: share}), list(range(steps)), worlds)
    assert (found[0] == 0).all()  # the first one always arrives
    fresh = found[1:] == np.arange(1, steps)[:, None]
    again = found[1:] == found[:-1]
    assert (fresh | again).all()
    count = fresh.size
    slack = 4 * math.sqrt(share * (1 - share) / count)
    assert 1 - fresh.mean() == pytest.approx(share, abs=slack)


def test_jitter_shows_every_age_alike(build: Build):
    worlds, steps = 400, 60
    found = send(build(worlds, jitter_steps=2), list(range(steps)), worlds)
    age = np.arange(steps)[:, None] - found
    assert set(np.unique(age[2:])) == {0, 1, 2}
    shares = [(age[2:] == k).mean() for k in range(3)]
    assert shares == pytest.approx([1 / 3] * 3, abs=4 * math.sqrt(2 / 9 / age.size))


def test_the_same_seed_loses_the_same(build: Build):
    values = list(range(30))
    first, same, other = (
        send(build(20, seed=seed, loss=0.3), values, 20) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_what_is_no_number_is_noticed_and_does_not_pass(build: Build):
    wire = build(2)
    rows = np.zeros((2, WIDTH), np.float32)
    rows[1, 0] = np.nan
    assert np.isfinite(wire.act(rows)).all()
    rows[1, 0] = 0.0
    wire.act(rows)
    assert wire.is_number.tolist() == [True, False]


def test_a_fresh_episode_forgets(build: Build):
    wire = build(delay_steps=1)
    send(wire, [5, 6])
    wire.begin()
    assert send(wire, [7, 8])[:, 0].tolist() == [0, 7]
