"""What a calibration has done comes back as it was left."""

from pathlib import Path

from realworthy.identification.calibration.checkpoint import (
    Checkpoint,
    ChoicePart,
    RoughPart,
)
from realworthy.identification.calibration.servo_forms import ServoForm


def test_what_is_chosen_anew_keeps_what_led_there(tmp_path: Path):
    path = tmp_path / "x.partial"
    work = Checkpoint(path, "key")
    work.done.rough = RoughPart(
        {"a": 1.0, "b": 3.0}, 9.0, form=ServoForm(friction="m4"), said=["x"]
    )
    work.done.choice = ChoicePart(["a"], [])
    work.choose_anew({"a": 2.0}, 1.5, offsets={"c": 0.1}, cut=["d"])
    assert not work.may_cut
    work.choose_anew({}, 1.5, offsets={"c": 0.1})
    done = Checkpoint(path, "key").done
    assert done.choice is None
    rough = done.rough
    assert rough is not None
    assert (rough.values, rough.weight) == ({"a": 2.0, "b": 3.0}, 1.5)
    assert rough.is_fitted
    assert (rough.offsets, rough.cut) == ({"c": 0.1}, ["d"])
    assert (rough.form, rough.said) == (ServoForm(friction="m4"), ["x"])


def test_looking_ahead_begins_anew(tmp_path: Path):
    path = tmp_path / "x.partial"
    work = Checkpoint(path, "key")
    work.done.rough = RoughPart({"a": 1.0}, 9.0)
    work.look_ahead()
    done = Checkpoint(path, "key").done
    assert done.is_ahead
    assert done.rough is None
