"""The protocol of a stand-in: what it answers, when time passes, how it repeats."""

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.errors import RealworthyError
from realworthy.realities import Interface, Reality, RealityNoise, StandIn
from realworthy.realities.effects import Stribeck, SupplySag, ThermalFade
from realworthy.recordings import Recording
from realworthy.robots import Command, Mode, Robot

from .conftest import PERIOD, SERVO, MakeReality, listen, rotor, stacked


def command(*values: float) -> Command:
    return Command(sequence=0, values=np.array(values))


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_it_answers_only_what_a_robot_answers(make: MakeReality):
    robot = StandIn(make(rotor()))
    datasheet = {"twin"}  # what its makers publish; nothing of the truth
    assert public(StandIn) == public(Robot) | datasheet
    assert public(robot) == public(Robot) | datasheet


def test_its_datasheet_is_the_twin_s(make: MakeReality):
    """Nothing in it follows from what is hidden."""
    hidden = make(
        rotor(SERVO),
        Stribeck(joint="hinge", static=0.1),
        parameters={"hinge.kp": 20.0},
        interface=Interface(unit_scale={"hinge": 57.3}, joint_sign=["hinge"]),
        timestep_factor=0.5,
    )
    told, plain = StandIn(hidden).info, StandIn(make(rotor(SERVO))).info
    assert (told.name, told.joints, told.commands) == (
        "test",
        ("hinge",),
        ("hinge.command",),
    )
    assert (told.command_kind, told.rate) == ("position", pytest.approx(1 / PERIOD))
    assert told.command_lower == plain.command_lower == [-3]
    assert told.command_upper == plain.command_upper == [3]


def noisy(make: MakeReality, **parts: object) -> Reality:
    return make(
        rotor(SERVO, 'frictionloss="0.1"'),
        Stribeck(joint="hinge", static=0.1),
        ThermalFade(joint="hinge", time_constant=0.2, loss=0.3),
        SupplySag(loss=0.2),
        noise=RealityNoise(position=0.01, velocity=0.1, torque=0.1, process=0.2),
        interface=Interface(jitter=0.001, loss=0.1, stale_samples=0.1),
        parameters={"all.delay": 0.006, "hinge.action_noise": 0.01},
        **parts,
    )


WAVE = 0.8 * np.sin(0.1 * np.arange(100))[:, None]


def equal(first: Recording, second: Recording) -> bool:
    return first.sha256() == second.sha256()


def test_equal_seeds_give_equal_trials_and_trials_differ(make: MakeReality):
    reality = noisy(make)
    robots = StandIn(reality), StandIn(reality)
    first = [play(robot, WAVE) for robot in robots]
    second = [play(robot, WAVE) for robot in robots]
    assert equal(*first)
    assert equal(*second)
    assert not equal(first[0], second[0])


def test_a_trial_does_not_depend_on_the_one_before(make: MakeReality):
    """What was commanded, heated or worn in trial one is gone in trial two."""
    reality = noisy(make)
    gentle, rough = StandIn(reality), StandIn(reality)
    play(gentle, 0.1 * WAVE)
    play(rough, 3.0 * WAVE)
    rough.stop()
    assert equal(play(gentle, WAVE), play(rough, WAVE))


def test_another_seed_is_other_noise(make: MakeReality):
    reality = noisy(make)
    assert not equal(play(StandIn(reality), WAVE), play(StandIn(reality, seed=9), WAVE))


def test_reading_does_not_change_anything(make: MakeReality):
    reality = noisy(make)
    shy, curious = StandIn(reality), StandIn(reality)
    shy.connect()
    curious.connect()
    for _ in range(5):
        shy.wait(PERIOD)
        curious.wait(PERIOD)
        for _ in range(3):
            curious.read()
    np.testing.assert_array_equal(shy.read().position, curious.read().position)


def test_time_passes_in_whole_substeps_and_nothing_is_lost(make: MakeReality):
    robot = StandIn(make(rotor()))
    robot.connect()
    for _ in range(1000):
        robot.wait(0.0023)
    assert robot.read().time == pytest.approx(2.3, abs=0.001)
    for _ in range(1000):
        robot.wait(0.0001)  # a tenth of a substep
    assert robot.read().time == pytest.approx(2.4, abs=0.001)
    now = robot.read()
    robot.wait(0.0)
    assert robot.read() is now


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_it_cannot_wait_for_what_is_no_time(make: MakeReality, seconds: float):
    with pytest.raises(RealworthyError, match="cannot wait"):
        StandIn(make(rotor())).wait(seconds)


def test_modes(make: MakeReality):
    robot = StandIn(make(rotor(SERVO)))

    def then() -> Mode:
        robot.wait(PERIOD)
        return robot.read().mode

    robot.connect()
    assert then() is Mode.DAMP
    robot.write(command(0.5))
    assert then() is Mode.RUN
    robot.damp()
    assert then() is Mode.DAMP
    robot.write(command(0.5))
    assert then() is Mode.RUN
    robot.stop()
    robot.write(command(0.5))
    robot.damp()
    assert then() is Mode.STOPPED
    robot.connect()
    robot.write(command(0.5))
    assert then() is Mode.RUN


def test_a_stopped_robot_follows_nothing(make: MakeReality):
    robot = StandIn(make(rotor(SERVO)))
    robot.connect()
    robot.stop()
    robot.write(command(1.0))
    robot.wait(1.0)
    assert robot.read().position[0] == 0.0


def test_a_command_that_is_no_number_is_ignored(make: MakeReality):
    robot = StandIn(make(rotor(SERVO)))
    robot.connect()
    robot.write(command(0.5))
    robot.write(command(float("nan")))
    robot.wait(2.0)
    assert robot.read().position[0] == pytest.approx(0.5, abs=1e-3)


def test_a_command_of_the_wrong_length_is_refused(make: MakeReality):
    with pytest.raises(RealworthyError) as caught:
        StandIn(make(rotor(SERVO))).write(command(0.5, 0.5))
    assert str(caught.value) == (
        "Robot 'test' takes 1 numbers in a command, not (2,).\n"
        "  In order: hinge.command."
    )


def test_commands_are_copied(make: MakeReality):
    robot = StandIn(make(rotor(SERVO)))
    robot.connect()
    values = np.array([0.5])
    robot.write(Command(sequence=0, values=values))
    values[:] = -0.5
    robot.wait(2.0)
    assert robot.read().position[0] == pytest.approx(0.5, abs=1e-3)


def test_physics_that_diverges_says_so(make: MakeReality):
    """A spring that pushes away: 5000 N·m/rad on 0.05 kg·m² runs off as exp(316 t)."""
    runaway = (
        '<general name="hinge" joint="hinge" biastype="affine" biasprm="0 5000 0"/>'
    )
    robot = StandIn(make(rotor(runaway)))
    robot.connect()
    robot.write(command(1.0))
    with pytest.raises(RealworthyError, match="Reality 'test' diverged at 0") as caught:
        robot.wait(1.0)
    assert "connect() starts anew" in caught.value.hint
    with pytest.raises(RealworthyError, match="diverged"):
        robot.wait(PERIOD)
    robot.connect()
    robot.wait(PERIOD)
    assert robot.read().position[0] == 0.0


def test_measured_at_the_start_is_the_initial_pose(make: MakeReality):
    reality = make(rotor(SERVO), parameters={"hinge.initial_position": 0.7})
    states = listen(StandIn(reality), np.zeros((1, 1)))
    assert stacked(states, "position")[0] == 0.7
    assert states[0].time == 0.0
    assert states[0].sequence == 0
