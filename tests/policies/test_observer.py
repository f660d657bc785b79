"""Observations by hand; numpy and torch alike; histories of many worlds."""

import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError, UnknownName
from realworthy.policies import Goal, Linear, Observer, SineCosine, Term, list_measured
from tests.policies.examples import ACTION, ORIENTATION, TERMS, WIDTH, robot

NAMES = (*list_measured(robot()), *ACTION.names, "command.forward", "goal.x", "goal.y")
EVERY: tuple[Term, ...] = (
    *TERMS,
    SineCosine(
        name="turn", signals=("hip.position", "foot.position"), history=2, clip=0.5
    ),
    Goal(
        name="goal",
        signals=("hip.position", "knee.position", *ORIENTATION, "goal.x", "goal.y"),
        history=2,
    ),
)


def rows(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(*shape, len(NAMES)))


def compute_by_hand(terms: tuple[Term, ...], past: list[np.ndarray]) -> np.ndarray:
    """One world's observation of its rows since it began, term by term."""
    parts = []
    for term in terms:
        columns = [NAMES.index(name) for name in term.signals]
        for age in range(term.history - 1, -1, -1):
            row = past[max(len(past) - 1 - age, 0)]
            parts.append(term.compute(row[columns]))
    return np.concatenate(parts)


def test_a_history_is_oldest_first_within_its_term():
    terms = (
        Linear(name="a", signals=("x", "y"), history=3),
        Linear(name="b", signals=("y",), scale=(10.0,)),
        Linear(name="c", signals=("x",), history=2),
    )
    observer = Observer(terms, ACTION, ("y", "x"))
    assert observer.observe(np.array([2.0, 1.0])).tolist() == [
        *[1, 2, 1, 2, 1, 2],
        *[20],
        *[1, 1],
    ]
    observer.observe(np.array([4.0, 3.0]))
    assert observer.observe(np.array([6.0, 5.0])).tolist() == [
        *[1, 2, 3, 4, 5, 6],
        *[60],
        *[3, 5],
    ]
    assert observer.observe(np.array([8.0, 7.0])).tolist() == [
        *[3, 4, 5, 6, 7, 8],
        *[80],
        *[5, 7],
    ]


def test_every_kind_of_term_agrees_with_hand_arithmetic_over_time():
    observer = Observer(EVERY, ACTION, NAMES)
    steps = list(rows(6))
    for count in range(1, len(steps) + 1):
        found = observer.observe(steps[count - 1])
        assert found == pytest.approx(compute_by_hand(EVERY, steps[:count]))


def test_numpy_and_torch_agree_with_worlds_that_begin_anew():
    steps = rows(8, 5)
    ends = np.random.default_rng(1).random((8, 5)) < 0.3
    ours, theirs = (Observer(EVERY, ACTION, NAMES) for _ in range(2))
    pasts: list[list[np.ndarray]] = [[] for _ in range(5)]
    for row, done in zip(steps, ends, strict=True):
        ours.reset(done)
        theirs.reset(torch.from_numpy(done))
        found = ours.observe(row)
        tensor = theirs.observe(torch.from_numpy(row))
        assert tensor.numpy() == pytest.approx(found, abs=1e-12)
        for world, past in enumerate(pasts):
            past[:] = [*([] if done[world] else past), row[world]]
            by_hand = compute_by_hand(EVERY, past)
            assert found[world] == pytest.approx(by_hand, abs=1e-12)


def test_two_resets_before_a_row_count_both():
    observer = Observer(TERMS, ACTION, NAMES)
    observer.observe(rows(3))
    observer.reset(np.array([True, False, False]))
    observer.reset(np.array([False, False, True]))
    found = observer.observe(rows(3, seed=1))
    fresh = Observer(TERMS, ACTION, NAMES).observe(rows(3, seed=1))
    same = (found == fresh).all(axis=1)
    assert same.tolist() == [True, False, True]


def test_restart_leaves_other_worlds_and_their_histories_alone():
    observer, plain = (Observer(TERMS, ACTION, NAMES) for _ in range(2))
    done = np.array([False, True])
    before = observer.observe(rows(2))
    plain.observe(rows(2))
    found = observer.restart(rows(2, seed=1), done)
    assert (found[0] == before[0]).all()
    assert found[1] == pytest.approx(compute_by_hand(TERMS, [rows(2, seed=1)[1]]))
    after = observer.observe(rows(2, seed=2))
    assert (after[0] == plain.observe(rows(2, seed=2))[0]).all()
    past = [rows(2, seed=1)[1], rows(2, seed=2)[1]]
    assert after[1] == pytest.approx(compute_by_hand(TERMS, past))


def test_what_is_remembered_can_be_taken_up_again():
    first, second = (Observer(TERMS, ACTION, NAMES) for _ in range(2))
    first.observe(rows(2))
    second.last = first.last
    assert (first.observe(rows(2, seed=1)) == second.observe(rows(2, seed=1))).all()


def test_floats_of_32_bits_stay_floats_of_32_bits():
    row = torch.from_numpy(rows(2)).float()
    assert Observer(EVERY, ACTION, NAMES).observe(row).dtype == torch.float32


def test_nothing_waits_for_the_device():
    """Meta tensors have no numbers: whatever looks at one raises."""
    observer = Observer(EVERY, ACTION, NAMES)
    row = torch.empty(4, len(NAMES), device="meta")
    worlds = torch.empty(4, dtype=torch.bool, device="meta")
    observer.observe(row)
    observer.reset(worlds)
    seen = observer.observe(row)
    again = observer.restart(row, worlds)
    used = ACTION.smooth(row[:, :3], row[:, 3:6])
    assert seen.shape == again.shape == (4, observer.width)
    assert seen.device.type == ACTION.compute(used).device.type == "meta"


def test_nan_is_seen_and_not_cut_away():
    row = rows()
    row[NAMES.index("knee.velocity")] = np.nan
    assert np.isnan(Observer(TERMS, ACTION, NAMES).observe(row)).sum() == 1


def test_the_width_counts_histories():
    assert Observer(TERMS, ACTION, NAMES).width == WIDTH


def test_a_signal_that_is_not_in_the_row_is_named():
    terms = (Linear(name="a", signals=("knee.positon",)),)
    with pytest.raises(UnknownName, match=r"no signal 'knee\.positon'") as caught:
        Observer(terms, ACTION, NAMES)
    assert caught.value.nearest[0] == "knee.position"


def test_the_last_action_of_another_policy_is_named():
    terms = (Linear(name="a", signals=("arm.command.action",)),)
    with pytest.raises(UnknownName, match=r"last action 'arm\.command\.action'"):
        Observer(terms, ACTION, NAMES)


def test_a_row_of_another_length_is_refused():
    with pytest.raises(RealworthyError, match="A row of 2 signals"):
        Observer(TERMS, ACTION, NAMES).observe(np.zeros(2))
