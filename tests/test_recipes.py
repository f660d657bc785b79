"""Recipes run, small, as a reader would run them."""

import subprocess
import sys
from pathlib import Path

import pytest

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.py"))
SMALL = {
    "adapt_lift": ["--glance"],
    "circle": ["--worlds", "32"],
    "loop": ["--glance"],
    "own_driver": ["--repeats", "1"],
    "own_learner": ["--glance"],
    "own_task": ["--glance"],
    "prompting": ["--glance"],
}
"""Options that make a recipe short."""
EXPECTED = {"loop": "<deployment of 1 trials: done>"}
EXPECTED["adapt_lift"] = "<adaptation 'rma' of task '"
EXPECTED["own_driver"] = "21 of 21 promises kept"
EXPECTED["own_learner"] = "<training of task 'cartpole_balance': success"
EXPECTED["own_task"] = "own_task.py:DoublePole': fail, success 0% to 6%"
"""What a recipe prints, beside the truth."""


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_runs(recipe: Path, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(recipe), *SMALL.get(recipe.stem, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,  # ends what hangs, also on a busy machine
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "truth" in done.stdout or recipe.stem == "own_learner"  # it knows no e
    assert EXPECTED.get(recipe.stem, "") in done.stdout
    assert not list(tmp_path.iterdir())
