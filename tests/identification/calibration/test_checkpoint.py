"""What a calibration has done comes back as it was left, and is not done again."""

from pathlib import Path

import pytest

from realworthy.identification import ParameterVerdict
from realworthy.identification.calibration.checkpoint import (
    Checkpoint,
    FitPart,
    FoldsPart,
    StartPart,
)
from realworthy.identification.calibration.parameter_choice import (
    ParameterChoice,
    UnfittedParameter,
)
from realworthy.identification.calibration.servo_forms import ServoForm

STEPS = {
    "start": StartPart(
        values={"a": 1.0, "b": 3.0},
        misfit=9.0,
        surface_height=0.02,
        notes=("x",),
        outlying=(3,),
        form=ServoForm(friction="m4"),
    ),
    "choice": ParameterChoice(
        names=("a",),
        left_out=(
            UnfittedParameter("b", ParameterVerdict.ONLY_IN_COMBINATION, 0.1, ("a",)),
        ),
        shift_sd_z=(0.25,),
        partners=(("b",),),
        misfit=9.0,
    ),
    "fit": FitPart(
        z=[0.5],
        covariance_z=[[1e-4]],
        reduced_chi2=2.0,
        inflation=3.0,
        outlier_share=0.0,
        warnings=["w"],
        evaluation_count=7,
        is_minimum=True,
        folds=FoldsPart(z=[[0.4], [0.6]], rmse=0.01, by_experiment=True),
    ),
    "folds": FoldsPart(z=[[0.4]], rmse=None, by_experiment=False),
}


def test_every_step_comes_back_as_it_was_left(tmp_path: Path):
    path = tmp_path / "x.partial"
    work = Checkpoint(path, "key")
    for name, part in STEPS.items():
        assert work.once(name, type(part), lambda part=part: part) == part
    again = Checkpoint(path, "key")
    for name, part in STEPS.items():
        assert again.once(name, type(part), fail) == part


def test_a_step_that_fails_is_done_next_time(tmp_path: Path):
    path = tmp_path / "x.partial"
    with pytest.raises(AssertionError):
        Checkpoint(path, "key").once("start", StartPart, fail)
    assert not path.exists()
    made = Checkpoint(path, "key").once("start", StartPart, lambda: STEPS["start"])
    assert made == STEPS["start"]


def test_another_step_of_the_same_kind_is_done(tmp_path: Path):
    work = Checkpoint(tmp_path / "x.partial", "key")
    work.once("start", StartPart, lambda: STEPS["start"])
    other = StartPart(values={"a": 2.0})
    assert work.once("ahead: start", StartPart, lambda: other) == other
    assert work.once("start", StartPart, fail) == STEPS["start"]


def test_without_a_file_steps_are_done_once_too():
    work = Checkpoint(None, "key")
    work.once("fit", FitPart, lambda: STEPS["fit"])
    assert work.once("fit", FitPart, fail) == STEPS["fit"]


def fail() -> None:
    raise AssertionError("This step was done before.")
