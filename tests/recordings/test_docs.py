"""The page about recordings, run from top to bottom in an empty folder."""

import re
from pathlib import Path

import pytest

from realworthy.recordings import FORMATS, IMPORTERS, Sidecar, load_sidecar

PAGE = (Path(__file__).parents[2] / "docs" / "recordings.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_python_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert len(blocks("python")) == 5
    for block in blocks("python"):
        exec(compile(block, "docs/recordings.md", "exec"), {})
    assert (tmp_path / "converted" / "bench.parquet").is_file()


def test_the_sidecar_on_the_page_has_every_key(tmp_path: Path):
    (block,) = blocks("yaml")
    (tmp_path / "run.yaml").write_text(block)
    load_sidecar(tmp_path / "run.yaml")
    keys = set(re.findall(r"^(\w+):", block, re.MULTILINE))
    assert keys == set(Sidecar.__struct_fields__)


def test_every_importer_and_format_is_on_the_page():
    for name in (*IMPORTERS, *FORMATS):
        assert f"`{name}`" in PAGE or f"`{name.removesuffix('.gz')}`" in PAGE
