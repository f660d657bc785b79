import hashlib
import pickle
import struct

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from realworthy.errors import BadRecording, UnknownName
from realworthy.recordings import Recording, Sidecar, SignalSource


def test_facts_of_a_known_recording(swing: Recording):
    assert swing.name == "swing"
    assert swing.joints == ("elbow", "wrist")
    assert swing.duration == pytest.approx(3.99)
    assert swing.rate == pytest.approx(100)
    assert swing.is_regular
    assert repr(swing) == ("<recording 'swing': 400 rows, 3.99 s at 100 Hz, 6 signals>")


def test_stack_puts_joints_in_columns(swing: Recording):
    stacked = swing.stack("position", ["wrist", "elbow"])
    assert stacked.shape == (400, 2)
    assert_array_equal(stacked[:, 0], swing.signals["wrist.position"])
    assert_array_equal(swing.stack("position"), stacked[:, ::-1])


def test_a_missing_joint_is_answered_with_the_nearest(swing: Recording):
    with pytest.raises(UnknownName) as caught:
        swing.stack("position", ["elbo"])
    assert str(caught.value) == (
        "recording 'swing' has no joint 'elbo'.\n"
        "  Nearest: 'elbow'. All 6 signals: realworthy show swing.csv"
    )


def test_a_joint_without_that_signal_says_which(swing: Recording):
    with pytest.raises(UnknownName) as caught:
        swing.stack("torque")
    assert caught.value.problem == "recording 'swing' has no signal 'elbow.torque'."


def test_a_lost_row_is_irregular_but_does_not_move_the_rate(swing: Recording):
    keep = np.arange(400) != 200
    signals = {name: values[keep] for name, values in swing.signals.items()}
    lost = Recording(swing.time[keep], signals)
    assert not lost.is_regular
    assert lost.rate == pytest.approx(100)


def test_recordings_cannot_be_written_to_nor_changed_from_outside():
    time, position = np.arange(3.0), np.arange(3.0)
    recording = Recording(time, {"elbow.position": position})
    position[0] = 99.0
    assert recording.signals["elbow.position"][0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        recording.signals["elbow.position"][0] = 1.0


def test_crop_keeps_both_ends(swing: Recording):
    cut = swing.crop(1.0, 2.0)
    assert (cut.time[0], cut.time[-1], len(cut.time)) == (1.0, 2.0, 101)
    with pytest.raises(BadRecording, match="fewer than two rows from 9 to 10 s"):
        swing.crop(9, 10)


def test_signals_are_added_or_replaced(swing: Recording):
    zero = np.zeros(400)
    more = swing.with_signals({"elbow.torque": zero, "elbow.position": zero})
    assert_array_equal(more.stack("torque", ["elbow"])[:, 0], zero)
    assert_array_equal(more.signals["elbow.position"], zero)
    assert "elbow.torque" not in swing.signals


def test_the_hash_is_that_of_names_and_numbers(swing: Recording):
    turned = Recording(swing.time, dict(reversed(list(swing.signals.items()))))
    noted = swing.with_sidecar(Sidecar(twin="arm"))
    assert swing.sha256() == turned.sha256() == noted.sha256()
    nudged = swing.signals["elbow.position"] + 1e-16
    nudged[0] = 5e-324
    assert swing.with_signals({"elbow.position": nudged}).sha256() != swing.sha256()


def test_the_hash_can_be_made_by_hand():
    recording = Recording(np.array([0.0, 1.0]), {"a.b": np.array([2.0, 3.0])})
    column = b"a.b\n2\n" + struct.pack("<2d", 2.0, 3.0)
    clock = b"time\n2\n" + struct.pack("<2d", 0.0, 1.0)
    assert recording.sha256() == hashlib.sha256(column + clock).hexdigest()


def test_recordings_can_be_sent_to_other_processes(swing: Recording):
    again = pickle.loads(pickle.dumps(swing))
    assert again.sha256() == swing.sha256()
    assert again.source == swing.source


def test_an_unapplied_mapping_is_refused(swing: Recording):
    with pytest.raises(BadRecording, match="a mapping that was not applied"):
        swing.with_sidecar(Sidecar(mapping={"a": SignalSource()}))
