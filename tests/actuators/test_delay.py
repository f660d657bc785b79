"""Delays: exact in time, continuous when linear, never shorter than asked."""

import math

import mujoco
import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    ControllerTorque,
    DelayBeyondLimit,
    DelayLine,
    build_law,
)

TIMESTEP = 0.001


def send(line: DelayLine, commands: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """Delayed commands (steps, worlds), after rest at zero."""
    zero = np.zeros((delay.size, 1), dtype=delay.dtype)
    history, answers = line.fill(zero), []
    for command in commands:
        answer, history = line.step(zero + command, delay, history)
        answers.append(answer[:, 0])
    return np.array(answers)


def test_linear_delay_yields_the_command_of_that_moment():
    line = DelayLine(limit=0.01, timestep=TIMESTEP)
    delay = np.array([0.0, 0.001, 0.0025, 0.00375, 0.01])
    ramp = 3.0 * TIMESTEP * np.arange(40)
    answers = send(line, ramp, delay)
    assert answers[-1] == pytest.approx(ramp[-1] - 3.0 * delay, abs=1e-12)


def test_hold_yields_the_newest_command_that_is_old_enough():
    line = DelayLine(limit=0.004, timestep=TIMESTEP, interpolation="hold")
    delay = np.array([0.0, 0.0004, 0.001, 0.0011, 0.002, 0.004])
    answers = send(line, np.arange(10.0), delay)
    assert answers[-1].tolist() == [9, 8, 8, 7, 7, 5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_twelve_milliseconds_are_twelve_steps_in_floats(dtype: type):
    line = DelayLine(limit=0.02, timestep=TIMESTEP, interpolation="hold")
    answers = send(
        line, np.arange(30, dtype=dtype), np.array([0.012, 0.017], dtype=dtype)
    )
    assert answers[-1].tolist() == [29 - 12, 29 - 17]
    assert answers.dtype == dtype


@pytest.mark.parametrize(
    ("interpolation", "interp"), [("linear", "linear"), ("hold", "zoh")]
)
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.0015, 0.0024, 0.003, 0.0071])
def test_delay_agrees_with_the_buffers_of_mujoco(interpolation, interp, delay, random):
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{TIMESTEP}"/>
        <worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
        <actuator><motor joint="j" delay="{delay}" nsample="10" interp="{interp}"/>
        </actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    commands, forces = random.normal(size=30), []
    for command in commands:
        data.ctrl[0] = command
        mujoco.mj_step(model, data)
        forces.append(data.actuator_force[0])
    line = DelayLine(limit=0.01, timestep=TIMESTEP, interpolation=interpolation)
    answers = send(line, commands, np.array([delay]))[:, 0]
    assert answers[10:] == pytest.approx(np.array(forces)[10:], abs=1e-9)


def test_response_is_smooth_in_a_linear_delay_and_a_staircase_in_a_held_one():
    delays = np.linspace(0.002, 0.008, 601)
    wave = np.sin(2 * math.pi * 8 * TIMESTEP * np.arange(60))
    slope = 2 * math.pi * 8  # steepest change of the wave per second of delay
    linear = send(DelayLine(limit=0.01, timestep=TIMESTEP), wave, delays)[-1]
    jumps = np.abs(np.diff(linear))
    assert jumps.max() <= 1.01 * slope * (delays[1] - delays[0])
    exact = np.sin(2 * math.pi * 8 * (59 * TIMESTEP - delays))
    assert np.gradient(linear, delays) == pytest.approx(
        np.gradient(exact, delays), abs=2.0
    )
    hold = DelayLine(limit=0.01, timestep=TIMESTEP, interpolation="hold")
    assert len(np.unique(send(hold, wave, delays)[-1])) == 7  # 2 … 8 steps


def test_a_delay_beyond_the_limit_is_refused():
    with pytest.raises(DelayBeyondLimit) as refusal:
        Actuator(
            joint="knee", controller=ControllerTorque(), delay=0.03, delay_limit=0.02
        )
    assert str(refusal.value) == (
        "actuator of 'knee': delay 0.03 s is beyond its delay_limit of 0.02 s.\n"
        "  Set delay_limit: 0.03 or more (it sizes the command buffer), or a shorter"
        " delay."
    )
    law = build_law(
        Actuator(joint="knee", controller=ControllerTorque(), delay_limit=0.02),
        timestep=TIMESTEP,
    )
    law.check_parameters({"delay": np.array([0.0, 0.02])})
    with pytest.raises(DelayBeyondLimit, match=r"delay 0.021 s is beyond"):
        law.check_parameters({"delay": np.array([0.0, 0.021])})


@pytest.mark.parametrize("limit", [0.0, 0.005])
def test_a_delay_beyond_the_limit_is_never_silently_shortened(limit: float):
    line = DelayLine(limit=limit, timestep=TIMESTEP)
    answers = send(line, np.arange(20.0), np.array([limit, limit + 0.001, -0.001]))
    assert np.isnan(answers[-1]).tolist() == [False, True, True]
