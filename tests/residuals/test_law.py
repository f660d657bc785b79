"""Residual forces against hand arithmetic, in numpy and in torch."""

import msgspec
import numpy as np
import pytest

from realworthy.residuals import BadResidual, Residual, build_law

from .examples import damper


def force_at(residual: Residual, velocity: float) -> float:
    law = build_law(residual, timestep=0.005)
    signals = np.array([[[0.0, velocity]]])
    return float(law.step(signals, law.start(signals)).force[0, 0])


def test_the_force_is_that_of_the_head_within_the_limit():
    assert force_at(damper(), 1.0) == pytest.approx(-0.5)
    assert force_at(damper(), 3.0) == pytest.approx(-0.8)  # limited


def test_far_outside_the_envelope_there_is_no_force():
    assert abs(force_at(damper(), 12.0)) < 1e-5


def test_members_that_disagree_are_not_believed():
    # spread 0.2 |v| against 0.1: whole at 0.5 rad/s, e⁻⁶ at 1 rad/s
    doubtful = damper(disagree=0.2)
    assert force_at(doubtful, 0.5) == pytest.approx(-0.25)
    assert force_at(doubtful, 1.0) == pytest.approx(-0.5 * np.exp(-6.0))


def test_the_gain_scales_the_force_and_zero_silences_it():
    for gain in (0.0, 0.5):
        description = msgspec.structs.replace(damper().description, gain=gain)
        scaled = Residual(description=description, ensemble=damper().ensemble)
        assert force_at(scaled, 1.0) == pytest.approx(-0.5 * gain)


def test_every_joint_of_every_world_sees_itself_alone():
    law = build_law(damper(joints=("a", "b")), timestep=0.01)
    velocity = np.array([[0.2, -1.0], [0.4, 20.0]])
    signals = np.stack([0.0 * velocity, velocity], axis=-1)
    out = law.step(signals, law.start(signals))
    assert out.force[:, 0] == pytest.approx([-0.1, -0.2])
    assert out.force[0, 1] == pytest.approx(0.5)
    assert out.gate == pytest.approx(np.array([[1, 1], [1, 0]]), abs=1e-6)


def test_errors_are_weighed_by_the_stiffness_of_each_joint():
    known = damper(joints=("a", "b"))
    description = msgspec.structs.replace(
        known.description, signals=("velocity", "error"), stiffness=(2.0, 0.5)
    )
    law = build_law(
        Residual(description=description, ensemble=known.ensemble), timestep=0.01
    )
    signals = np.array([[[0.0, 0.3], [0.0, 0.3]]])  # the head is on the second
    out = law.step(signals, law.start(signals))
    assert out.force[0] == pytest.approx([-0.5 * 2.0 * 0.3, -0.5 * 0.5 * 0.3])
    assert out.history[0, :, 0, 1] == pytest.approx([0.3, 0.3])  # kept in rad


def test_history_is_kept_at_the_residuals_own_period():
    law = build_law(damper(history=3), timestep=0.005)
    signals = np.zeros((1, 1, 2))
    history = law.start(signals)
    assert history.shape == (1, 1, 5, 2)  # two periods of two timesteps, and now
    for n in range(1, 6):
        signals = np.full((1, 1, 2), 0.1 * n)
        history = law.step(signals, history).history
    assert history[0, 0, ::2, 0] == pytest.approx([0.5, 0.3, 0.1])


def test_a_start_looks_back_along_the_velocity():
    law = build_law(damper(history=2), timestep=0.01)
    history = law.start(np.array([[[1.0, 2.0]]]))  # at 1 rad, 2 rad/s
    assert history[0, 0].tolist() == [[1.0, 2.0], [0.98, 2.0]]


def test_a_timestep_that_does_not_divide_the_period_is_refused():
    with pytest.raises(BadResidual, match=r"0.01 s is not a whole number of timesteps"):
        build_law(damper(history=2), timestep=0.003)
    build_law(damper(history=1), timestep=0.003)  # it remembers nothing


def test_torch_gives_what_numpy_gives():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    law = build_law(damper(history=3, disagree=0.1), timestep=0.01)
    signals = np.random.default_rng(0).normal(size=(50, 1, 2))
    ours = law.step(signals, law.start(signals))
    tensor = torch.from_numpy(signals)
    theirs = law.step(tensor, law.start(tensor))
    assert theirs.force.numpy() == pytest.approx(ours.force)
    assert theirs.gate.numpy() == pytest.approx(ours.gate)
