"""What is no change, by chance alone."""

import numpy as np
import pytest

from realworthy.diagnosis.changes.scatter import (
    LEVEL,
    Family,
    Pattern,
    find_shifts,
    leave_one_out,
)


def draw_family(
    seed: int, count: int, *, factor: float = 1.0, shift: float = 0.0
) -> Family:
    """Four numbers of an unchanged machine, which scatter `factor` × as assumed."""
    chance = np.random.default_rng(seed)
    values = factor * chance.normal(size=(count + 1, 4))
    values[-1, 2] += shift
    patterns = [Pattern(f"n{i}", row) for i, row in enumerate(np.eye(4))]
    patterns.append(Pattern("all", np.ones(4)))
    return Family(
        names=("n0", "n1", "n2", "n3"),
        before=values[:-1],
        now=values[-1:],
        assumed=np.eye(4),
        patterns=tuple(patterns),
    )


def count_alarms(count: int, factor: float) -> float:
    """Share of 400 unchanged machines on which something is named."""
    families = (draw_family(seed, count, factor=factor) for seed in range(400))
    return float(np.mean([bool(find_shifts([family])) for family in families]))


@pytest.mark.parametrize("factor", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("count", [4, 8])
def test_unchanged_machines_raise_alarms_no_more_often_than_stated(
    factor: float, count: int
):
    by_chance = 2.5 * np.sqrt(LEVEL * (1 - LEVEL) / 400)
    assert count_alarms(count, factor) <= LEVEL + by_chance


def test_two_recordings_suffice_where_a_machine_scatters_as_assumed():
    by_chance = 2.5 * np.sqrt(LEVEL * (1 - LEVEL) / 400)
    assert count_alarms(2, 1.0) <= LEVEL + by_chance
    assert count_alarms(2, 3.0) <= 0.15  # else they hardly tell; the docs say so


@pytest.mark.parametrize("seed", range(5))
def test_a_large_shift_is_placed_and_sized(seed: int):
    shift = find_shifts([draw_family(seed, 6, shift=30.0)])[0]
    assert shift.pattern.name == "n2"
    assert shift.size == pytest.approx(30.0, abs=4 * shift.sd)
    assert shift.rate < 1e-3


def test_a_single_number_follows_students_t_by_hand():
    """With before 0 and 2, assumed variance 1: C = (4·1 + 2)/5 · 1.5, on 5 degrees."""
    from scipy.stats import t

    family = Family(
        names=("n",),
        before=np.array([[0.0], [2.0]]),
        now=np.array([[21.0]]),
        assumed=np.eye(1),
        patterns=(Pattern("n", np.ones(1)),),
    )
    factor = (4 + 2) / (4 + 1)  # scatters more than was assumed
    variance = (4 * factor + 2) / 5 * 1.5
    (shift,) = find_shifts([family])
    assert shift.t == pytest.approx(20 / np.sqrt(variance))
    assert shift.rate == pytest.approx(2 * t.sf(shift.t, 5))


def test_a_baseline_that_cries_wolf_raises_the_stated_rate():
    """One recording from before that stands out as far as the one from now."""
    before = np.zeros((6, 1))
    before[0] = 400.0
    family = Family(
        names=("n",),
        before=before,
        now=np.array([[400.0]]),
        assumed=np.eye(1),
        patterns=(Pattern("n", np.ones(1)),),
    )
    assert min(leave_one_out([family])) < 1e-6
    assert find_shifts([family]) == []
