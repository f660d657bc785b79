"""Worlds on the CPU: threads, outcomes, drives with laws, pushes."""

import mujoco
import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    ControllerPosition,
    ControllerTorque,
    ControllerVelocity,
    ControllerVoltage,
    FrictionM1,
    MotorDc,
)
from realworthy.errors import RealworthyError, UnknownName
from realworthy.simulators import MujocoCpu, Outcome, describe_outcomes
from realworthy.simulators.conformance.robot import (
    bind_twin,
    make_commands,
    play,
    single_changes,
    start,
)
from realworthy.twins import bind, load_twin
from tests.simulators.robots import FALLING_BOX, PENDULUM, make_twin

FORCED = 1.0000001
"""A strength that only an explicit law can have, and that changes nothing else."""
SERVO = ControllerPosition(kp=40.0, kd=0.8)
DC = MotorDc(torque_constant=0.4, resistance=1.2, supply_voltage=12.0)


def swing(drive: Actuator, *, targets=0.6, step_count=200, substeps=2) -> np.ndarray:
    """(steps,) positions of the pendulum behind a drive, from rest at command zero."""
    twin = make_twin(PENDULUM).with_actuators({"hinge": drive})
    simulator = MujocoCpu(twin, 1, substeps=substeps)
    commands = np.broadcast_to(targets, step_count)
    return play(simulator, commands[:, None, None]).qpos[:, 0, 0]


def test_worlds_are_the_same_at_any_thread_count():
    bound = bind_twin()
    samples, commands = single_changes(bound.space), make_commands(30)
    traces = []
    for threads in (1, 2):
        simulator = MujocoCpu(bound, len(samples), thread_count=threads)
        assert simulator.thread_count == threads
        start(simulator, samples, commands[0])
        traces.append(play(simulator, commands))
    for name in ("qpos", "qvel", "sensordata"):
        assert np.array_equal(getattr(traces[0], name), getattr(traces[1], name))


def test_a_walking_robot_moves_as_in_mujoco_itself():
    """Searches that are spared change nothing: contacts, friction, limits."""
    bound = bind(load_twin("quadruped"))
    simulator = MujocoCpu(bound, 2, substeps=2, thread_count=1)
    generator = np.random.default_rng(0)
    home = simulator.array("ctrl").copy()
    commands = home + 0.5 * generator.standard_normal((100, *home.shape))
    data = mujoco.MjData(bound.model)
    data.qpos, data.ctrl = bound.compiled.own["own.initial_qpos"], home[1]
    mujoco.mj_forward(bound.model, data)  # as a reset does
    contacts = 0
    for command in commands:
        simulator.step(command)
        data.ctrl = command[1]
        for _ in range(2):
            mujoco.mj_step(bound.model, data)
            contacts += data.ncon
    assert contacts > 100
    assert np.array_equal(simulator.array("qpos")[1], data.qpos)
    assert np.array_equal(simulator.array("qvel")[1], data.qvel)


@pytest.mark.parametrize(
    "drive",
    [
        Actuator(joint="hinge", controller=ControllerTorque()),
        Actuator(joint="hinge", controller=ControllerPosition(kp=40.0)),
        Actuator(joint="hinge", controller=SERVO, torque_limit=6.0),
        Actuator(joint="hinge", controller=ControllerVelocity(kd=2.0)),
        Actuator(joint="hinge", controller=ControllerVoltage(), motor=DC),
        Actuator(joint="hinge", controller=SERVO, delay=0.007),
        Actuator(joint="hinge", controller=SERVO, delay=0.0073),
        Actuator(joint="hinge", controller=SERVO, delay=0.007, interpolation="hold"),
    ],
    ids=["torque", "spring", "servo", "velocity", "dc", "delay", "part delay", "hold"],
)
def test_a_native_drive_moves_as_its_explicit_law_does(drive):
    explicit = Actuator(
        **{f: getattr(drive, f) for f in drive.__struct_fields__} | {"strength": FORCED}
    )
    assert not bind(make_twin(PENDULUM).with_actuators({"hinge": drive})).drives
    assert bind(make_twin(PENDULUM).with_actuators({"hinge": explicit})).drives
    native, law = swing(drive), swing(explicit)
    assert np.ptp(native) > 0.05
    # MuJoCo takes the native velocity gain implicitly, which is worth half a time step
    assert np.abs(native - law).max() < 0.01 * np.ptp(native)


def test_native_and_explicit_drives_meet_as_the_time_step_shrinks():
    drive = Actuator(joint="hinge", controller=SERVO)
    explicit = Actuator(joint="hinge", controller=SERVO, strength=FORCED)
    gaps = []
    for timestep, substeps in ((0.001, 4), (0.00025, 16)):
        xml = PENDULUM.replace('timestep="0.001"', f'timestep="{timestep}"')
        traces = []
        for described in (drive, explicit):
            twin = make_twin(xml).with_actuators({"hinge": described})
            simulator = MujocoCpu(twin, 1, substeps=substeps)
            traces.append(play(simulator, np.full((100, 1, 1), 0.6)).qpos)
        gaps.append(np.abs(traces[0] - traces[1]).max())
    assert gaps[1] < 0.3 * gaps[0]


def test_native_and_explicit_dry_friction_agree():
    def drive(**more) -> Actuator:
        friction = FrictionM1(coulomb_friction=0.8)
        controller = ControllerPosition(kp=8.0)
        return Actuator(joint="hinge", controller=controller, friction=friction, **more)

    native, law = (swing(d, step_count=600) for d in (drive(), drive(strength=FORCED)))
    assert np.ptp(native[-50:]) < 1e-5  # it has stuck, short of where it would hang
    assert np.abs(native - law).max() < 1e-5


def test_twelve_drives_alike_run_as_one_group():
    links = "".join(
        f'<body name="b{i}" pos="{i} 0 0"><joint name="j{i}" axis="0 1 0"/>'
        '<inertial pos="0 0 -.1" mass="1" diaginertia=".01 .01 .01"/></body>'
        for i in range(12)
    )
    twin = make_twin(f'<mujoco model="row"><worldbody>{links}</worldbody></mujoco>')
    drives = {
        f"j{i}": Actuator(
            joint=f"j{i}",
            controller=ControllerPosition(kp=10.0 + i, kd=0.5),
            strength=0.9,
        )
        for i in range(12)
    }
    simulator = MujocoCpu(twin.with_actuators(drives), 2, substeps=1)
    assert len(simulator._laws._groups) == 1
    simulator.step(np.full((2, 12), 0.3))
    torque = simulator.array("sensordata")[:, 2::3]
    assert np.allclose(torque, 0.9 * (10.0 + np.arange(12)) * 0.3)


def test_each_world_has_its_own_numbers_of_a_law():
    drive = Actuator(joint="hinge", controller=SERVO, strength=0.9)
    twin = make_twin(PENDULUM).with_actuators({"hinge": drive})
    bound = bind(twin, twin.space.select(["hinge.kp", "hinge.strength"]))
    simulator = MujocoCpu(bound, 3, substeps=1)
    simulator.write([[10.0, 0.5], [20.0, 0.5], [20.0, 1.0]])
    simulator.reset()
    simulator.step(np.full((3, 1), 0.5))
    assert simulator.sensor("hinge.torque")[:, 0] == pytest.approx([2.5, 5.0, 10.0])


def test_a_twin_value_of_a_law_is_used():
    drive = Actuator(joint="hinge", controller=SERVO, strength=0.9)
    twin = make_twin(PENDULUM).with_actuators({"hinge": drive})
    simulator = MujocoCpu(twin.with_values({"hinge.kp": 10.0}), 1, substeps=1)
    simulator.step([[1.0]])
    assert simulator.sensor("hinge.torque")[0, 0] == pytest.approx(9.0)


def test_state_holds_what_laws_remember():
    drive = Actuator(
        joint="hinge", controller=SERVO, delay=0.01, slew_rate=3.0, strength=0.9
    )
    twin = make_twin(PENDULUM).with_actuators({"hinge": drive})
    simulator = MujocoCpu(twin, 2, substeps=2)
    play(simulator, np.full((5, 1, 1), 0.8))
    state = simulator.state()
    expected = play(simulator, np.full((10, 1, 1), -0.5)).qpos
    simulator.restore(state)
    assert np.array_equal(play(simulator, np.full((10, 1, 1), -0.5)).qpos, expected)
    simulator.reset()
    assert not np.array_equal(play(simulator, np.full((10, 1, 1), -0.5)).qpos, expected)


def test_a_law_begins_with_the_torque_of_its_command():
    drive = Actuator(joint="hinge", controller=SERVO, delay=0.01, strength=0.9)
    simulator = MujocoCpu(make_twin(PENDULUM).with_actuators({"hinge": drive}), 2)
    simulator.reset([1], command=[0.5])
    torque = simulator.sensor("hinge.torque")[:, 0]
    assert torque == pytest.approx([0.0, 0.9 * 40.0 * 0.5])


def test_a_push_is_force_times_duration():
    twin = make_twin(FALLING_BOX)
    names = [f"box.push.{part}" for part in ("x", "y", "z", "start", "duration")]
    bound = bind(twin, twin.space.select([*names, "world.gravity"]))
    simulator = MujocoCpu(bound, 2, substeps=5)
    simulator.write([[4.0, -2.0, 1.0, 0.05, 0.1, 0.0], [0.0] * 6])
    simulator.reset()
    play(simulator, np.zeros((30, 2, 0)))
    momentum = 2.0 * simulator.array("qvel")[:, :3]
    assert momentum[0] == pytest.approx([0.4, -0.2, 0.1], rel=1e-9)
    assert not momentum[1].any()


def test_a_world_that_diverges_stands_still_and_says_so():
    simulator = MujocoCpu(make_twin(PENDULUM), 4)
    simulator.step([[0.0], [np.nan], [0.0], [1e30]])
    for _ in range(3):
        simulator.step(np.zeros((4, 1)))
    assert simulator.outcomes().tolist() == [0, 1, 0, 1]
    assert simulator.array("outcome").tolist() == [0, 1, 0, 1]
    assert np.isfinite(simulator.array("qpos")).all()
    words = describe_outcomes(simulator.outcomes(), substeps=4)
    assert words.startswith("2 of 4 worlds: diverged (first: world 1); try substeps=8")
    simulator.reset([1, 3])
    assert not simulator.outcomes().any()


def test_outcomes_leave_no_log_file(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    simulator = MujocoCpu(make_twin(PENDULUM), 2)
    simulator.step([[np.nan], [0.0]])
    assert simulator.outcomes()[0] == Outcome.DIVERGED
    assert list(tmp_path.iterdir()) == []
    assert "NaN" not in capfd.readouterr().err


def test_too_little_room_for_contacts_is_an_outcome():
    xml = FALLING_BOX.replace("<option", '<size memory="4000"/><option')
    simulator = MujocoCpu(make_twin(xml), 2)
    play(simulator, np.zeros((20, 2, 0)))
    assert not simulator.outcomes().any()  # still in the air
    play(simulator, np.zeros((40, 2, 0)))
    assert simulator.outcomes().tolist() == [Outcome.CONTACT_OVERFLOW] * 2
    words = describe_outcomes(simulator.outcomes(), substeps=4)
    assert "2 of 2 worlds: contact overflow" in words


def test_an_array_bound_late_changes_no_other():
    simulator = MujocoCpu(make_twin(PENDULUM), 2)
    simulator.step([[0.5], [-0.5]])
    torque = simulator.array("sensordata").copy()
    assert simulator.array("xipos").shape == (2, 2, 3)
    assert simulator.array("xipos")[0, 1].any()
    assert np.array_equal(simulator.array("sensordata"), torque)


def test_positions_set_by_hand_are_followed_after_refresh():
    simulator = MujocoCpu(make_twin(PENDULUM), 2)
    simulator.array("qpos")[:, 0] = [0.3, -0.2]
    simulator.refresh()
    assert simulator.sensor("hinge.position")[:, 0].tolist() == [0.3, -0.2]


def test_reset_takes_rows_for_its_worlds_or_for_all():
    simulator = MujocoCpu(make_twin(PENDULUM), 3)
    simulator.reset([2, 0], qpos=[[0.2], [0.1]])
    assert simulator.array("qpos")[:, 0].tolist() == [0.1, 0.0, 0.2]
    simulator.reset(np.array([False, True, True]), qpos=[[0.7], [0.8], [0.9]])
    assert simulator.array("qpos")[:, 0].tolist() == [0.1, 0.8, 0.9]


def test_a_world_that_is_not_there_is_refused():
    simulator = MujocoCpu(make_twin(PENDULUM), 3)
    with pytest.raises(RealworthyError, match=r"no world 3; there are 3, from 0"):
        simulator.reset([1, 3])
    with pytest.raises(RealworthyError, match="no world -1"):
        simulator.reset([-1])


def test_a_misspelt_sensor_suggests_the_right_one():
    simulator = MujocoCpu(make_twin(PENDULUM), 1)
    with pytest.raises(UnknownName, match=r"Nearest: 'hinge\.torque'"):
        simulator.sensor("hinge.torqe")


def test_model_and_data_of_one_world_are_its_own():
    twin = make_twin(PENDULUM)
    bound = bind(twin, twin.space.select(["rod.mass"]))
    simulator = MujocoCpu(bound, 2)
    simulator.write([[0.8], [1.6]])
    simulator.reset(qpos=[[0.1], [0.2]])
    assert simulator.model(1).body("rod").mass[0] == pytest.approx(1.6)
    data = simulator.data(1)
    assert isinstance(data, mujoco.MjData)
    assert data.qpos[0] == 0.2


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REALWORTHY_THREADS", "1")
    assert MujocoCpu(make_twin(PENDULUM), 8).thread_count == 1
    assert MujocoCpu(make_twin(PENDULUM), 8, thread_count=2).thread_count == 2
    monkeypatch.setenv("REALWORTHY_THREADS", "many")
    with pytest.raises(RealworthyError, match="REALWORTHY_THREADS is 'many'"):
        MujocoCpu(make_twin(PENDULUM), 8)
