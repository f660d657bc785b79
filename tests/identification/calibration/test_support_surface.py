"""A table that was planted is found, and none where there is none."""

from pathlib import Path

import pytest

from realworthy.identification.calibration.support_surface import find_support_surface
from realworthy.twins import Twin, load_twin, save_twin
from tests.identification.two_joints import JOINTS, TRUTH, find, move, pose


def test_a_planted_table_is_found_at_its_height(published: Twin):
    true = published.with_values(TRUTH)
    recordings = move(true.with_table(0.12), (0.35, 0.25))
    servos = find(true)
    found = find_support_surface(
        true, pose(true, recordings, list(TRUTH)), servos, JOINTS
    )
    assert found is not None
    assert found.height == pytest.approx(0.12, abs=0.004)
    assert found.with_it < 0.5 * found.without


def test_nothing_is_found_where_there_is_no_table(published: Twin):
    """The null arm: the same motions through the air."""
    true = published.with_values(TRUTH)
    recordings = move(true, (0.35, 0.25))
    servos = find(true)
    problem = pose(true, recordings, list(TRUTH))
    assert find_support_surface(true, problem, servos, JOINTS) is None


def test_a_table_comes_back_from_a_file(published: Twin, tmp_path: Path):
    above = published.with_table(0.1).with_values({"table.height": 0.12})
    save_twin(above, tmp_path / "x.twin.yaml")
    again = load_twin(tmp_path / "x.twin.yaml")
    assert again.space["table.height"].nominal == 0.12
    assert again.compiled.model.geom("table").pos[2] == 0.12
    assert "table.height" not in published.space
