"""Every example of docs/actuators.md parses, builds and runs."""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml

from realworthy.actuators import Actuator, build_law

from .conftest import PROJECT

PAGE = (PROJECT / "docs" / "actuators.md").read_text(encoding="utf-8")
TREES = [yaml.safe_load(b) for b in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def test_the_page_has_examples():
    assert len(TREES) == 4


@pytest.mark.parametrize("tree", [tree for tree in TREES if "joint" in tree])
def test_actuators_of_the_page_run(tree: dict, data_folder: Path):
    actuator = msgspec.convert(tree, Actuator)
    law = build_law(actuator, timestep=0.001, folder=data_folder / "actuator_nets")
    still = np.zeros(2)
    command = np.full((2, len(law.inputs)), 0.1)
    out = law.step(command, still, still, still, {}, law.initial_state(2, still))
    assert np.isfinite(out.torque).all()


def test_the_page_names_every_kind_of_stage():
    hints = msgspec.structs.fields(Actuator)
    kinds = {
        stage.__struct_config__.tag
        for field in hints
        if field.name in ("controller", "motor", "friction")
        for stage in field.type.__args__
        if stage is not type(None)
    }
    assert len(kinds) == 17
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in PAGE] == []
