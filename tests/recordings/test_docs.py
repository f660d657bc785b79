"""The page about recordings, and what it promises."""

import re
from pathlib import Path

from realworthy.recordings import FORMATS, IMPORTERS, Sidecar, load_sidecar

PAGE = (Path(__file__).parents[2] / "docs" / "recordings.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_sidecar_on_the_page_has_every_key(tmp_path: Path):
    (block,) = blocks("yaml")
    (tmp_path / "run.yaml").write_text(block)
    load_sidecar(tmp_path / "run.yaml")
    keys = set(re.findall(r"^(\w+):", block, re.MULTILINE))
    assert keys == set(Sidecar.__struct_fields__)


def test_every_importer_and_format_is_on_the_page():
    for name in (*IMPORTERS, *FORMATS):
        assert f"`{name}`" in PAGE or f"`{name.removesuffix('.gz')}`" in PAGE
