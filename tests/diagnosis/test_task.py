"""Causes by what they cost a task, on a cart-pole that a linear controller balances."""

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.diagnosis import Cause, CauseKind, Diagnosis, Estimate, Shares, Verdict
from realworthy.diagnosis.task import Trials, to_reality, weigh
from realworthy.gap import measure
from realworthy.realities import StandIn
from realworthy.twins import load_twin

GAINS = np.array([-31.6, -49.7, -309.0, -48.4])
"""LQR of the linearised twin: cart position, cart speed, pole angle, its speed."""


def parametric(name, joint, value, nominal, share):
    parameter = f"{joint}.{name}"
    estimate = Estimate(
        name=parameter, value=value, nominal=nominal, interval=(value, value), unit=""
    )
    return Cause(
        name=name,
        kind=CauseKind.PARAMETRIC,
        joints=(joint,),
        share=share,
        interval=(share, share),
        evidence="",
        next_step="",
        estimates=(estimate,),
    )


def balance(state):
    x = np.array([state.position[0], state.velocity[0]])
    pole = np.array([state.position[1], state.velocity[1]])
    return [float(-GAINS @ np.concatenate([x, pole]))]


def stays_up(recording):
    return float(np.abs(recording.signals["pole.position"]).max() < 0.3)


@pytest.fixture(scope="module")
def cartpole():
    return load_twin("cartpole")


@pytest.fixture(scope="module")
def diagnosis(cartpole):
    recording = play(StandIn(to_reality(cartpole, ())), np.zeros((100, 1)))
    return Diagnosis(
        twin="cartpole",
        verdict=Verdict.EXPLAINED,
        summary="",
        causes=(
            parametric("damping", "cart", 3.0, 0.5, share=0.9),
            parametric("delay", "cart", 0.08, 0.0, share=0.1),
        ),
        shares=Shares(interface=0, parametric=1, missing=0, unexplained=0),
        detection_limit="",
        gap=measure(cartpole, recording),
    )


def test_the_largest_residual_is_not_the_one_that_hurts(cartpole, diagnosis):
    trials = Trials(
        policy=balance, score=stays_up, measure="success", seconds=3.0, count=6
    )
    weighed = weigh(cartpole, diagnosis, trials)
    first, second = weighed.causes
    assert (first.name, second.name) == ("delay", "damping")
    assert first.task_loss is not None
    assert second.task_loss is not None
    assert first.task_loss.mean == 1.0
    assert second.task_loss.mean == 0.0
    assert first.task_loss.measure == "success"


def test_a_stand_in_has_the_causes_and_nothing_else(cartpole, diagnosis):
    truth = to_reality(cartpole, diagnosis.causes).file
    assert truth.parameters == {"cart.damping": 3.0, "cart.delay": 0.08}
    assert not truth.effects
