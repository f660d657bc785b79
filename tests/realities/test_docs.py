"""Every example of docs/realities.md loads and runs; every key has one."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from realworthy.realities import (
    EFFECTS,
    Interface,
    RealityFile,
    RealityNoise,
    StandIn,
    load_reality,
    reality_names,
)
from realworthy.robots import Command

PAGE = (Path(__file__).parents[2] / "docs" / "realities.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
TREES = [yaml.safe_load(block) for block in BLOCKS]


def name_of(tree: dict) -> str:
    parts = [effect["kind"] for effect in tree.get("effects", ())]
    return "-".join([tree["twin"], *parts, *tree.get("interface", ())])


@pytest.mark.parametrize("block", BLOCKS, ids=[name_of(tree) for tree in TREES])
def test_an_example_of_the_page_runs(block: str, tmp_path: Path):
    path = tmp_path / "example.reality.yaml"
    path.write_text(block, encoding="utf-8")
    reality = load_reality(path)
    robot = StandIn(reality)
    home = reality.twin.compiled.own["own.initial_ctrl"]
    robot.connect()
    for k in range(round(0.2 * robot.info.rate)):
        robot.write(Command(sequence=k, values=home + 0.05))
        robot.wait(1 / robot.info.rate)
        state = robot.read()
        for values in (state.position, state.velocity, state.torque, state.others):
            assert np.isfinite(values).all()
    assert robot.read().time > 0.1


def test_every_effect_has_one_example_of_its_own():
    alone = [t["effects"][0]["kind"] for t in TREES if len(t.get("effects", ())) == 1]
    assert sorted(alone) == sorted(EFFECTS)


def test_every_fault_has_one_example_of_its_own():
    alone = [
        next(iter(t["interface"])) for t in TREES if len(t.get("interface", ())) == 1
    ]
    assert sorted(alone) == sorted(Interface.__struct_fields__)


def test_every_key_is_on_the_page():
    keys = set().union(*TREES)
    assert keys == set(RealityFile.__struct_fields__)
    noise = set().union(*(tree.get("noise", {}) for tree in TREES))
    assert noise == set(RealityNoise.__struct_fields__)


def test_every_shipped_reality_is_on_the_page():
    assert [name for name in reality_names() if f"`{name}`" not in PAGE] == []
