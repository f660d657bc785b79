"""A lift whose load and motor are hidden: the recipe's task, in a file of its own."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from realworthy.adaptation import AdaptSettings
from realworthy.adaptation.conditioned import AdaptProblem
from realworthy.realities import RealityFile, RealityNoise, save_reality
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.definition import TaskDefinition

RECIPE = Path(__file__).parents[2] / "recipes" / "adapt_lift.py"
UNKNOWN = {"carriage.mass": (0.5, 2.5), "motor.gear": (0.6, 1.2)}


@pytest.fixture(scope="session")
def lift_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe with its model and a hidden truth beside it."""
    path = tmp_path_factory.mktemp("lift") / RECIPE.name
    shutil.copy(RECIPE, path)
    model = RECIPE.read_text().split('MODEL = """')[1].split('"""')[0]
    path.with_name("lift.xml").write_text(model)
    hidden = RealityFile(
        schema=1,
        twin="lift.xml",
        parameters={"carriage.mass": 2.0, "motor.gear": 0.7},
        noise=RealityNoise(position=0.001, velocity=0.01),
    )
    save_reality(hidden, path.with_name("hidden.reality.yaml"))
    return path


@pytest.fixture(scope="session")
def lift(lift_file: Path) -> TaskDefinition:
    return find_task(f"{lift_file}:Lift")


@pytest.fixture
def settings(lift_file: Path) -> Callable[..., AdaptSettings]:
    """Hardly any learning."""

    def build(**more: object) -> AdaptSettings:
        few = {"steps": 64, "student_steps": 640, "world_count": 8}
        return AdaptSettings(
            twin=str(lift_file.with_name("lift.xml")),
            **{"unknown": UNKNOWN, "evaluation_episodes": 16, **few, **more},  # pyright: ignore
        )

    return build


@pytest.fixture
def problem(
    lift: TaskDefinition, settings: Callable[..., AdaptSettings]
) -> AdaptProblem:
    return AdaptProblem.of(lift, settings(history=0.2))
