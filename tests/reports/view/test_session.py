"""What happens behind the page: dragged numbers act, policies fail, ghosts are true."""

import re
import threading
from pathlib import Path

import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.recordings import Recording
from realworthy.reports.view.policy_play import PolicyPlay
from realworthy.reports.view.replay_play import ReplayPlay
from realworthy.reports.view.session import WINDOW, Session, build_session
from realworthy.reports.view.task_play import TaskPlay
from realworthy.simulators import MujocoCpu, record
from realworthy.simulators.replay import replay
from realworthy.tasks.arm.reach import Reach
from realworthy.twins import load_twin

from .conftest import Play
from .examples import write_still


def swing_out(session: Session, **values: float) -> np.ndarray:
    """Positions of a pendulum that falls from the side, with numbers of e dragged."""
    for name, value in values.items():
        session.set_value(name.replace("__", "."), value)
    session.advance(0.0)
    session.restart()
    session.play.world.simulator.reset(qpos=[1.5])
    for _ in range(200):
        session.step()
    return np.array([reading.position[0] for reading in session.history])


@pytest.mark.parametrize("name", ["joint__coulomb_friction", "joint__damping"])
def test_more_friction_swings_less(name: str):
    session = build_session(load_twin("pendulum"))
    free = swing_out(session)
    knob = session.knobs[name.replace("__", ".")]
    slowed = swing_out(session, **{name: knob.upper})
    assert np.abs(slowed[-50:]).max() < 0.8 * np.abs(free[-50:]).max()
    session.set_values({})
    assert swing_out(session) == pytest.approx(free)


def test_a_policy_that_balances_fails_when_commands_are_late(
    balancer: Path, play: Play
):
    session = build_session(load_twin("cartpole"), policy=balancer)
    assert isinstance(session.play, TaskPlay)
    play(session, 11.0)
    assert session.verdict is not None
    assert session.verdict.text == "succeeded after 10.0 s"
    session.set_value("all.delay", 0.1)
    play(session, 11.0)
    assert session.verdict is not None
    assert session.verdict.text.startswith("ran into the end of a joint after ")
    assert (session.good_count, session.bad_count) == (0, 1)
    session.step()
    assert session.play.time == pytest.approx(session.play.period)  # it tries again


def test_what_was_dragged_holds_in_later_episodes(balancer: Path, play: Play):
    session = build_session(load_twin("cartpole"), policy=balancer)
    session.set_value("all.delay", 0.1)
    play(session, 11.0)
    found = session.play.world.simulator.field("actuator_delay")
    assert found[0] == pytest.approx(0.1)


def test_a_push_moves_at_once(balancer: Path):
    session = build_session(load_twin("cartpole"), policy=balancer)
    before = session.play.world.simulator.array("qvel")[0].copy()
    session.push(0.7)
    after = session.play.world.simulator.array("qvel")[0]
    assert np.abs(after - before) == pytest.approx([0.7, 0.7])


def test_a_push_moves_a_floating_base_along_the_ground():
    session = build_session(load_twin("quadruped"))
    qvel = session.play.world.simulator.array("qvel")[0]
    before = qvel.copy()
    session.push(0.7)
    change = qvel - before
    assert np.hypot(*change[:2]) == pytest.approx(0.7)
    assert not change[2:].any()


def test_a_push_of_a_fixed_robot_leaves_objects_alone():
    session = build_session(load_twin("bimanual"))
    qvel = session.play.world.simulator.array("qvel")[0]
    before = qvel.copy()
    session.push(0.7)
    change = np.abs(qvel - before)
    assert not change[:6].any()  # the box's
    assert change[6:] == pytest.approx(0.7)


def test_the_ghost_is_the_recording(swing: Recording):
    session = build_session(load_twin("pendulum"), recordings=[swing])
    play = session.play
    assert isinstance(play, ReplayPlay)
    for _ in range(60):
        session.step()
    angle = swing.signals["joint.position"][play.row]
    assert play.time == pytest.approx(swing.time[play.row] - swing.time[0])
    assert play.read().recorded == pytest.approx([angle])
    # the pendulum turns about y: its body's quaternion says by how much
    w, x, y, z = play.find_ghost().quaternion[1]
    assert abs(angle) > 0.1
    assert 2 * np.arctan2(np.linalg.norm((x, y, z)), w) == pytest.approx(abs(angle))


def test_the_ghost_of_a_walking_robot_goes_where_its_base_went():
    twin = load_twin("quadruped")
    simulator = MujocoCpu(twin, 1, thread_count=1)
    home = simulator.array("qpos")[0, 7:].copy()
    simulator.array("qvel")[0, :2] = (0.4, -0.3)
    simulator.refresh()
    (recording,) = record(simulator, np.tile(home, (40, 1)))
    session = build_session(twin, recordings=[recording])
    play = session.play
    assert isinstance(play, ReplayPlay)
    for _ in range(30):
        session.step()
    base = play.world.base
    assert base is not None
    place = [recording.signals[f"base.position.{axis}"][play.row] for axis in "xyz"]
    assert np.hypot(place[0], place[1]) > 0.02
    assert play.find_ghost().position[base] == pytest.approx(place)
    assert play.world.poses().position[base] == pytest.approx(place, abs=1e-6)


def test_the_replay_meets_the_ghost_where_friction_is_the_true_one(swing: Recording):
    session = build_session(load_twin("pendulum"), recordings=[swing])
    play = session.play
    for _ in range(100):
        session.step()
    reading = play.read()
    assert abs(reading.position[0] - reading.recorded[0]) > 0.02
    session.set_value("joint.coulomb_friction", 0.5)
    session.advance(0.0)  # replays anew up to the same moment
    reading = play.read()
    assert reading.position == pytest.approx(reading.recorded, abs=1e-9)
    assert play.time == pytest.approx(reading.time)
    session.step()
    reading = play.read()
    assert reading.position == pytest.approx(reading.recorded, abs=1e-9)


def test_a_recording_ends_with_its_error_and_begins_anew(swing: Recording, play: Play):
    session = build_session(load_twin("pendulum"), recordings=[swing])
    play(session, 10.0)
    assert session.verdict is not None
    found = re.fullmatch(r"ended after 3\.0 s, (0\.\d+) rad off", session.verdict.text)
    assert found is not None
    track, played = replay(load_twin("pendulum"), swing)
    error = np.sqrt(np.mean((played.position[0] - track.position) ** 2))
    assert float(found[1]) == pytest.approx(error, rel=0.02)
    assert session.verdict.is_good is None
    assert session.play.time == 0.0


def test_a_policy_is_watched_without_a_judge_where_the_task_does_not_fit(
    balancer: Path,
):
    slow = load_twin("cartpole").edited(
        lambda spec: setattr(spec.option, "timestep", 0.003)
    )  # of which the task's period is no multiple
    session = build_session(slow, policy=balancer)
    assert isinstance(session.play, PolicyPlay)
    for _ in range(50):
        session.step()
    assert session.play.time == pytest.approx(50 * session.play.period)


def test_a_task_that_a_twin_cannot_do_is_refused_when_asked_for():
    with pytest.raises(RealworthyError, match="reference controller"):
        build_session(load_twin("quadruped"), task="quadruped")
    with pytest.raises(RealworthyError, match="no task 'walk'"):
        build_session(load_twin("quadruped"), task="walk")


def test_commands_are_dragged_by_hand():
    session = build_session(load_twin("arm"))
    joint = session.play.world.joints[0]
    name = f"{joint}.command"
    session.tell(name, 0.5)
    for _ in range(150):
        session.step()
    assert session.play.read().position[0] == pytest.approx(0.5, abs=0.05)
    session.let_go()
    for _ in range(150):
        session.step()
    assert session.play.read().position[0] == pytest.approx(0.0, abs=0.05)


def test_a_policy_is_told_the_tasks_goals_until_somebody_drags_one(tmp_path: Path):
    policy = write_still(tmp_path / "still.onnx", Reach())
    session = build_session(load_twin("arm"), policy=policy)
    assert isinstance(session.play, TaskPlay)

    def find_goal() -> np.ndarray:
        goal = session.play.find_goal()
        assert goal is not None
        return goal

    drawn = find_goal()
    session.restart()
    assert not np.array_equal(find_goal(), drawn)  # another episode
    session.tell("goal.x", 0.2)
    session.restart()
    assert find_goal()[0] == 0.2
    session.let_go()
    assert find_goal()[0] != 0.2
    while session.verdict is None:
        session.step()
    assert session.verdict.text == "did not reach its goal in time after 2.0 s"


def test_it_goes_as_fast_as_the_clock_and_no_faster():
    session = build_session(load_twin("pendulum"))
    done = sum(session.advance(0.033) for _ in range(100))
    assert done == pytest.approx(3.3, abs=session.play.period)
    session.speed = 0.25
    done = sum(session.advance(0.033) for _ in range(100))
    assert done == pytest.approx(3.3 / 4, abs=session.play.period)
    most = 0.1 + session.play.period
    assert session.advance(5.0) <= most + 1e-9  # what was missed is not made up for
    session.is_playing = False
    assert session.advance(1.0) == 0.0


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("rate", [100.0, 5.0])
def test_any_speed_is_held_with_steps_of_any_length(speed: float, rate: float):
    """Pictures come 30 times a second; at 4 ×, one covers 0.13 s of simulation."""
    time = np.arange(0, 60, 1 / rate)
    slow = Recording(
        time=time,
        signals={
            "joint.position": np.zeros(len(time)),
            "joint.command": np.zeros(len(time)),
        },
    )
    session = build_session(load_twin("pendulum"), recordings=[slow])
    session.speed = speed
    frames = 240
    done = sum(session.advance(1 / 30) for _ in range(frames))
    assert done == pytest.approx(speed * frames / 30, abs=session.play.period)
    assert session.clock == pytest.approx(done)


def test_the_end_of_an_episode_stays_in_view(swing: Recording, play: Play):
    session = build_session(load_twin("pendulum"), recordings=[swing])
    play(session, 10.0)
    assert session.lingers
    assert session.advance(0.5) == 0.0
    assert session.advance(1.0) == 0.0
    assert not session.lingers
    assert session.advance(0.05) > 0


def test_only_the_last_seconds_are_kept():
    session = build_session(load_twin("pendulum"))
    for _ in range(1000):
        session.step()
    times = [reading.time for reading in session.history]
    assert session.clock - times[0] <= WINDOW + 1e-6
    assert len(times) <= 210
    assert times == sorted(times)


def test_many_may_ask_at_once():
    session = build_session(load_twin("pendulum"))
    names = [knob.name for knob in session.knobs.shown[:4]]

    def drag(name: str) -> None:
        for share in np.linspace(0, 1, 200):
            knob = session.knobs[name]
            value = knob.lower + share * (knob.upper - knob.lower)
            session.ask(lambda v=value: session.set_value(name, v))

    threads = [threading.Thread(target=drag, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        session.advance(0.01)
    session.advance(0.01)
    wanted = {name: session.knobs[name].upper for name in names}
    assert session.values == pytest.approx(
        {n: v for n, v in wanted.items() if v != session.knobs[n].nominal}
    )


def test_choosing_another_play_keeps_e(swing: Recording):
    session = build_session(load_twin("pendulum"), recordings=[swing, swing])
    assert [play.name for play in session.plays] == [
        "recording (1)",
        "recording (2)",
        "by hand",
    ]
    session.set_value("joint.coulomb_friction", 0.5)
    session.ask(lambda: session.choose("by hand"))
    session.advance(0.0)
    field = session.play.world.simulator.field("dof_frictionloss")
    assert field[0, 0] == pytest.approx(0.5)


def test_nonsense_from_the_wire_changes_nothing():
    session = build_session(load_twin("arm"))
    name = session.play.world.lines[0].signal
    session.set_value("no.such", 1.0)
    session.set_value("all.delay", np.nan)
    session.tell("no.such", 1.0)
    session.tell(name, np.inf)
    session.push(np.nan)
    session.choose("no such")
    assert (session.values, session.told) == ({}, {})
    session.set_value("all.delay", 99.0)
    session.tell(name, 99.0)
    assert session.values == {"all.delay": 0.1}
    assert session.told == {name: session.play.inputs[name].upper}
    session.advance(0.05)
    assert session.clock > 0


def test_a_model_without_motors_is_watched_too(tmp_path: Path):
    path = tmp_path / "swing.xml"
    path.write_text(
        "<mujoco><worldbody><body name='rod'><joint name='hip' axis='0 1 0'/>"
        "<geom type='capsule' size='.02' fromto='0 0 0 .3 0 0'/></body></worldbody>"
        "</mujoco>"
    )
    session = build_session(load_twin(str(path)))
    for _ in range(10):
        session.step()
    assert abs(session.play.read().position[0]) > 0.1  # it falls
    assert np.isnan(session.play.read().command).all()
