"""Worlds as robots: what `record` measures, with each world's own sensors."""

import numpy as np
import pytest

from realworthy.errors import UnknownName
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import bind
from tests.simulators.robots import PENDULUM, make_twin

SENSOR = "hinge.position"


def make_simulator(*names: str, worlds: int = 3) -> MujocoCpu:
    twin = make_twin(PENDULUM)
    return MujocoCpu(bind(twin, twin.space.select(list(names))), worlds)


def test_a_recording_has_every_signal_and_command_by_name():
    recordings = record(make_simulator(), np.full((50, 1), 0.4))
    assert len(recordings) == 3
    signals = recordings[0].signals
    assert list(signals) == [
        *("hinge.position", "hinge.velocity", "hinge.torque"),
        "hinge.command",
    ]
    assert all(values.shape == (50,) for values in signals.values())
    assert recordings[0].time == pytest.approx(np.arange(50) * 0.004)
    assert recordings[0].sidecar.rate == pytest.approx(250.0)


def test_a_row_holds_what_was_measured_before_its_command():
    simulator = make_simulator(worlds=1)
    simulator.reset(qpos=[0.2])
    recording = record(simulator, np.full((10, 1), 0.4))[0]
    assert recording.signals[SENSOR][0] == 0.2
    assert recording.signals[SENSOR][-1] != simulator.sensor(SENSOR)[0, 0]


def test_commands_by_name_are_those_by_column():
    sent = np.sin(np.arange(20) / 5)
    by_name = record(make_simulator(), {"hinge.command": sent})
    by_column = record(make_simulator(), np.repeat(sent[None, :, None], 3, axis=0))
    for one, other in zip(by_name, by_column, strict=True):
        assert np.array_equal(one.signals[SENSOR], other.signals[SENSOR])
    with pytest.raises(UnknownName, match=r"Nearest: 'hinge\.command'"):
        record(make_simulator(), {"hinge.comand": sent})


def test_bias_and_scale_are_those_of_each_world():
    simulator = make_simulator(f"{SENSOR}.sensor_bias", f"{SENSOR}.sensor_scale")
    simulator.write([[0.0, 1.0], [0.05, 1.0], [0.01, -2.0]])
    true, biased, turned = (
        r.signals[SENSOR] for r in record(simulator, np.full((30, 1), 0.4))
    )
    assert np.allclose(biased, true + 0.05)
    assert np.allclose(turned, 0.01 - 2.0 * true)


def test_noise_has_its_size_and_follows_the_seed():
    def measure(seed: int) -> np.ndarray:
        simulator = make_simulator(f"{SENSOR}.sensor_noise", worlds=2)
        simulator.write([[0.0], [0.01]])
        recordings = record(simulator, np.zeros((4000, 1)), seed=seed)
        return np.array([r.signals[SENSOR] for r in recordings])

    first, again, other = measure(1), measure(1), measure(2)
    assert np.array_equal(first, again)
    assert not first[0].any()
    noise = first[1] - first[0]
    assert noise.std() == pytest.approx(0.01, rel=0.05)
    assert abs(noise.mean()) < 3 * 0.01 / np.sqrt(4000)
    assert abs(np.corrcoef(noise, other[1])[0, 1]) < 0.06


def test_command_noise_moves_the_robot_and_not_the_recorded_command():
    simulator = make_simulator("hinge.action_noise", worlds=2)
    simulator.write([[0.0], [0.5]])
    quiet, shaken = record(simulator, np.zeros((100, 1)))
    assert not quiet.signals[SENSOR].any()
    assert shaken.signals[SENSOR].any()
    assert not shaken.signals["hinge.command"].any()


def test_a_world_that_diverges_ends_its_recording():
    commands = np.zeros((3, 40, 1))
    commands[1, 25] = 1e12
    lengths = [len(r.time) for r in record(make_simulator(), commands)]
    assert lengths == [40, 26, 40]
