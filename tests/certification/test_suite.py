"""Suites: what a team keeps is read strictly and comes back the same."""

from pathlib import Path

import pytest

from realworthy.certification.suite.suite import (
    SUITES,
    Coverage,
    default_suite,
    load_suite,
    quick_suite,
    save_suite,
)
from realworthy.errors import BadFile, RealworthyError


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_comes_back_as_it_was_saved(name: str, tmp_path: Path):
    suite = SUITES[name]()
    save_suite(suite, tmp_path / "our.suite.yaml")
    assert load_suite(tmp_path / "our.suite.yaml") == suite


def test_names_of_cells_are_unique():
    for build in SUITES.values():
        names = [cell.name for cell in build().cells]
        assert len(set(names)) == len(names)


def test_the_default_suite_asks_for_all_that_the_quick_one_does():
    names = {cell.name for cell in default_suite().cells}
    assert {cell.name for cell in quick_suite().cells} <= names


def test_a_costly_task_has_the_same_parts():
    plain, costly = default_suite(), default_suite(is_costly=True)
    cells = [[(c.name, c.condition) for c in suite.cells] for suite in (plain, costly)]
    assert cells[0] == cells[1]
    steps = [[(m.name, m.steps) for m in suite.margins] for suite in (plain, costly)]
    assert steps[0] == steps[1]
    assert costly.search is not None
    assert plain.search is not None
    assert costly.search.evaluations < plain.search.evaluations


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema: 1\nbarr: 0.9\n", "barr"),
        ("schema: 1\nbar: 1.5\n", "bar"),
        ("schema: 1\ncells: [{name: a, group: elsewhere}]\n", "elsewhere"),
        ("schema: 1\ncoverage: {realities: 20}\n", "realities"),
        ("schema: 2\n", "schema"),
    ],
)
def test_a_mistake_is_named(text: str, said: str, tmp_path: Path):
    path = tmp_path / "our.suite.yaml"
    path.write_text(text)
    with pytest.raises(BadFile) as raised:
        load_suite(path)
    assert said in str(raised.value)


def test_too_few_realities_are_refused_before_any_work():
    assert Coverage(realities=29, scales=(1.0,)).fewest == 29  # 0.9^29 < 5 %
    assert Coverage().fewest == 42  # 0.9^42 < 5 % / 4
    with pytest.raises(RealworthyError, match="Draw 42 or more"):
        Coverage(realities=41)
