"""Worlds whose e moves while they run."""

import numpy as np
import pytest

from realworthy.parameters import Uniform
from realworthy.parameters.processes import Jump, Sag
from realworthy.simulators import MujocoCpu
from realworthy.simulators.changing_parameters import ChangingParameters
from realworthy.twins import bind, load_twin


@pytest.fixture
def worlds() -> ChangingParameters:
    twin = load_twin("pendulum")
    space = twin.space.select(["pendulum.mass", "all.torque_limit"])
    simulator = MujocoCpu(bind(twin, space), 50)
    processes = [
        Jump("pendulum.mass", 5.0, Uniform(1.0, 2.0)),
        Sag("all.torque_limit", 0.5, 0.1),
    ]
    return ChangingParameters(simulator, processes, seed=3)


def test_a_payload_that_jumps_reaches_the_model_and_its_constants(
    worlds: ChangingParameters,
):
    worlds.write([0.676, 1.0])
    worlds.reset()
    for _ in range(50):
        worlds.step(np.zeros((50, 1)))
    mass = worlds.field("body_mass")[:, 1]
    jumped = mass != 0.676
    assert 0.7 < jumped.mean() < 1.0  # 1 − exp(−5 · 0.4) = 0.86
    assert (mass[jumped] >= 1.0).all()
    np.testing.assert_allclose(worlds.field("body_subtreemass")[:, 1], mass)


def test_a_sagging_supply_weakens_every_motor(worlds: ChangingParameters):
    worlds.write([0.676, 1.0])
    worlds.reset()
    for _ in range(50):
        worlds.step(np.zeros((50, 1)))
    left = 1 - 0.5 * (1 - np.exp(-0.4 / 0.1))
    limit = worlds.field("actuator_forcerange")[:, 0, 1]
    np.testing.assert_allclose(limit, 12 * left, rtol=1e-9)


def test_a_reset_begins_again_at_the_sample_of_the_episode(worlds: ChangingParameters):
    worlds.write([0.7, 1.0])
    for _ in range(50):
        worlds.step(np.zeros((50, 1)))
    worlds.reset([7])
    assert worlds.field("body_mass")[7, 1] == pytest.approx(0.7)
    assert worlds.field("actuator_forcerange")[7, 0, 1] == pytest.approx(12.0)
    assert (worlds.field("actuator_forcerange")[:7, 0, 1] < 12.0).all()


def test_command_noise_is_each_worlds_own_and_repeats_by_seed():
    twin = load_twin("pendulum")
    bound = bind(twin, twin.space.select(["all.action_noise"]))

    def run() -> np.ndarray:
        worlds = ChangingParameters(MujocoCpu(bound, 200), [], seed=5)
        worlds.write(np.repeat([[0.0], [0.5]], 100, axis=0))
        worlds.reset()
        worlds.step(np.full((200, 1), 1.0))
        return np.array(worlds.array("ctrl"))[:, 0]

    sent = run()
    np.testing.assert_array_equal(sent[:100], 1.0)
    assert np.std(sent[100:]) == pytest.approx(0.5, rel=0.2)
    np.testing.assert_array_equal(sent, run())
