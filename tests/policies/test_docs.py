"""The page about policies: its contract can be read, its list of keys is complete."""

import re
from pathlib import Path

import pytest

from realworthy.policies import Contract
from realworthy.policies.metadata import read_sidecar

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text("utf-8")


def test_the_contract_on_the_page_is_one(tmp_path: Path):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "walk.contract.yaml"
    path.write_text(text)
    found = read_sidecar(path)
    assert found.width == 7
    assert found.action.clip == 100


@pytest.mark.parametrize("key", Contract.__struct_fields__)
def test_every_key_is_explained(key: str):
    table = PAGE.partition("## Contract")[2].partition("##")[0]
    assert f"`{key}`" in table
