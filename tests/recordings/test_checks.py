import numpy as np
import pytest

from realworthy.errors import BadRecording
from realworthy.recordings import Recording

TIME = np.arange(5) / 10


def catch(time: np.ndarray, **signals: np.ndarray) -> str:
    named = {name.replace("_", "."): values for name, values in signals.items()}
    with pytest.raises(BadRecording) as caught:
        Recording(time, named)
    return str(caught.value)


def test_nan_is_named_with_place_and_count():
    position = np.array([0.0, 1.0, np.nan, np.inf, 2.0])
    assert catch(TIME, elbow_position=position) == (
        "recording: 'elbow.position' has 2 of 5 values that are not numbers; the "
        "first, nan, at 0.2 s.\n"
        "  Drop those rows or that column; gaps are never filled silently."
    )


def test_nan_in_the_clock_is_named_by_its_row():
    time = np.array([0.0, 0.1, np.nan])
    assert (
        "'time' has 1 of 3 values that are not numbers; the first, nan, in row 3."
        in (catch(time))
    )


def test_time_running_backwards_is_named_with_its_row():
    time = np.array([0.0, 0.1, 0.2, 0.15, 0.14])
    assert catch(time) == (
        "recording: time runs backwards in row 4: 0.15 s after 0.2 s "
        "(2 such places).\n"
        "  Sort the rows, drop repeated ones, or split the file where the clock was "
        "set."
    )


def test_time_standing_still_is_named_with_its_row():
    time = np.array([0.0, 0.1, 0.1, 0.2])
    assert "time stands still in row 3: 0.1 s after 0.1 s." in catch(time)


def test_lengths_must_agree():
    assert "'a' has 3 values, time has 5." in catch(TIME, a=np.zeros(3))


def test_a_signal_is_one_number_per_row():
    assert "'a' has shape (5, 2), not one number per row." in catch(
        TIME, a=np.zeros((5, 2))
    )


@pytest.mark.parametrize(("rows", "said"), [(0, "no rows"), (1, "1 row")])
def test_two_rows_are_needed(rows: int, said: str):
    assert f"recording has {said}." in catch(TIME[:rows])


def test_a_name_without_parts_is_refused():
    with pytest.raises(BadRecording, match=r"'elbow\.' cannot name a signal"):
        Recording(TIME, {"elbow.": TIME})
