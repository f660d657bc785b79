"""Every Python block of the README and the pages, run as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SHORT = {
    "README.md": """
import functools
import realworthy as rw
from realworthy.certification.suite.suite import Cell, Suite
from realworthy.identification.excitation import ExcitationSettings

suite = Suite(cells=(Cell(name="everyday", group="everyday"),), coverage=None)
motion = ExcitationSettings(seconds=5, period=5, generation_count=1)
for name, less in {
    "excite": {"settings": motion},
    "certify": {"settings": rw.CertifySettings(suite=suite)},
}.items():
    setattr(rw, name, functools.partial(getattr(rw, name), **less))
train = rw.train
rw.train = lambda *what, minutes, **how: train(
    *what, steps=2000, evaluation_episodes=16, **how
)
"""
}
"""What makes the code of a page short: less of the same."""

EXPECTED = {"README.md": "<deployment of 1 trials: done>"}
"""What the code of a page prints, among the rest."""


def scripts() -> list[tuple[str, str]]:
    """Name of each page with code, and all its blocks in order as one script."""
    found = [(page.name, BLOCK.findall(page.read_text("utf-8"))) for page in PAGES]
    return [
        (name, SHORT.get(name, "") + "\n".join(blocks))
        for name, blocks in found
        if blocks
    ]


@pytest.mark.parametrize(
    ("name", "script"), scripts(), ids=lambda value: str(value)[:30]
)
def test_the_code_of_a_page_runs_in_an_empty_folder(
    name: str, script: str, tmp_path: Path, data_folder: Path, menagerie_root: Path
):
    places = {
        "REALWORTHY_DATA": str(data_folder),
        "MENAGERIE_ROOT": str(menagerie_root),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        timeout=600,  # ends what hangs; python.md takes 30 s of processor time
    )
    assert done.returncode == 0, f"{name}: {done.stderr[-2000:]}"
    assert EXPECTED.get(name, "") in done.stdout


def test_pages_link_only_to_what_exists():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


def test_the_readme_is_about_every_page():
    readme = PAGES[0].read_text("utf-8")
    for page in PAGES[1:]:
        assert f"docs/{page.name}" in readme, page.name


def test_the_site_leads_to_every_page():
    """Names in mkdocs.yml that do not exist are found by `make docs`."""
    tree = (PROJECT / "mkdocs.yml").read_text("utf-8")
    missing = [page.name for page in PAGES[1:] if page.name not in tree]
    assert not missing
