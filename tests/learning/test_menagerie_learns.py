"""An arm and a quadruped of the Menagerie learn as their models are, nothing chosen.

`python benchmarks/menagerie.py --learn TASK:ROBOT` measures others.
"""

from pathlib import Path

import pytest
import torch

import realworthy

pytestmark = pytest.mark.slow
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize(
    ("task", "robot", "steps", "device"),
    [
        ("reach", "trossen_wx250s", 2_000_000, "cpu"),
        ("quadruped", "unitree_go2", 15_000_000, DEVICE),
    ],
)
def test_a_robot_of_the_menagerie_learns(
    task: str,
    robot: str,
    steps: int,
    device: str,
    menagerie_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """0.988 and 0.945 with one seed on 2026-11-19."""
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    training = realworthy.train(
        task,
        twin=f"menagerie:{robot}",
        steps=steps,
        device=device,
        output=tmp_path / "run",
    )
    assert training.evaluation.success >= 0.9
