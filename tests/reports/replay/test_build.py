"""Replays show the motions that gaps were measured on."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.gap import Gap
from realworthy.recordings import Recording
from realworthy.reports.elements.plots import LineRole
from realworthy.reports.replay import build_episode, build_replay
from realworthy.reports.replay.build import build_comparison, choose_rows, find_worst
from realworthy.reports.replay.motion import Take, read_measured, replay_from_start
from realworthy.simulators.replay import lay_out
from realworthy.twins import Twin, load_twin

from ..conftest import soften


def take(gap: Gap) -> Take:
    one = gap.recordings[0]
    return Take(one.track, one.states.position[:1], one.states.velocity[:1])


def unpack(text: str, kind: str = "<i2") -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind).astype(float)


def test_frames_are_the_measured_and_the_replayed_rows(gap: Gap):
    one = gap.recordings[0]
    rows = np.array([0, 7, 100, 239])
    assert read_measured(one.track, rows) == pytest.approx(one.track.position[rows])
    replayed, sound = replay_from_start(take(gap), rows)
    assert sound == 4
    assert replayed == pytest.approx(one.simulated[rows], abs=1e-9)


def test_a_lost_simulation_stays_as_it_was(gap: Gap):
    lost = replace(take(gap), velocity=np.array([[1e12]]))
    replay = build_comparison({LineRole.TWIN: lost}, title="wild", worst=0)
    assert replay is not None
    _, twin = replay.motions
    assert twin.diverged_at is not None
    assert np.isfinite(twin.position).all()
    assert any("diverged at" in words for words in replay.words)
    json.loads(replay.data)


def test_frame_times():
    time = np.arange(0, 300, 0.01)
    rows = choose_rows(time[:1001], 0, 6)
    assert time[rows] == pytest.approx(np.arange(0, 10.001, 0.04))
    rows = choose_rows(time, 20_000, 6)  # a long one around its worst row
    assert time[rows[0]] == pytest.approx(190)
    assert time[rows[-1]] == pytest.approx(210)
    rows = choose_rows(time, len(time) - 1, 6)
    assert rows[-1] == len(time) - 1
    many = choose_rows(time, 0, 90)  # a humanoid, three times
    assert len(many) * 90 <= 11_000
    assert np.diff(time[many]).max() <= 1 / 12.5 + 0.02
    slow = choose_rows(np.arange(0, 20, 0.25), 0, 6)
    assert slow.tolist() == list(range(80))


def test_poses_survive_the_packing(gap: Gap):
    one = gap.recordings[0]
    replay = build_replay(one)
    assert replay is not None
    scene = json.loads(replay.data)
    assert [robot["role"] for robot in scene["robots"]] == ["real", "twin"]
    assert scene["time"] == pytest.approx(replay.time, abs=1e-3)
    for robot, motion in zip(scene["robots"], replay.motions, strict=True):
        places = unpack(robot["position"]).reshape(-1, 3) * scene["unit"]
        expected = motion.position.reshape(-1, 3)
        assert places + scene["centre"] == pytest.approx(expected, abs=1e-4)
        turns = unpack(robot["quaternion"]).reshape(-1, 4) / 32767
        assert turns == pytest.approx(motion.quaternion.reshape(-1, 4), abs=2e-5)
    for packed, shape in zip(scene["shapes"], replay.shapes, strict=True):
        corners = unpack(packed["vertices"]).reshape(-1, 3) * packed["unit"]
        assert corners == pytest.approx(shape.mesh.vertices, abs=1e-4)
        triangles = unpack(packed["triangles"], "<u2").reshape(-1, 3)
        assert np.array_equal(triangles, shape.mesh.triangles)


def test_the_farthest_moment_is_said(gap: Gap):
    """A point at distance L from the axis is 2 L sin(Δ / 2) away."""
    one = gap.recordings[0]
    replay = build_replay(one)
    assert replay is not None
    (shape,) = replay.shapes
    model = one.track.bound.model
    axis = model.jnt_axis[0]
    along = np.outer(shape.mesh.vertices @ axis, axis)
    length = np.linalg.norm(shape.mesh.vertices - along, axis=1).max()
    rows = np.searchsorted(one.track.time, replay.time - 1e-6)
    off = np.abs(one.simulated - one.track.position)[rows, 0]
    (found,) = replay.farthest
    assert found.frame == np.argmax(np.sin(off / 2)) == replay.moment
    expected = 2 * length * np.sin(off / 2).max()
    assert found.distance == pytest.approx(expected, rel=0.02)
    assert f"at {found.seconds:.3g}\u00a0s: a point of pendulum" in replay.words[0]


def test_before_and_after_are_three_robots(gap: Gap):
    one = gap.recordings[0]
    replay = build_replay(one, soften(one, 0.25))
    assert replay is not None
    roles = [motion.role for motion in replay.motions]
    assert roles == [LineRole.REAL, LineRole.TWIN, LineRole.CORRECTED]
    assert "robot, twin, corrected twin" in replay.caption
    mended = replace(one.track, position=-one.track.position)
    replay = build_replay(one, replace(one, track=mended))
    assert replay is not None
    assert replay.motions[0].role is LineRole.CORRECTED_LOG


def test_the_worst_row_is_found_even_if_lost(gap: Gap):
    one = gap.recordings[0]
    simulated = one.track.position.copy()
    simulated[100] += 0.3
    assert find_worst(replace(one, simulated=simulated)) == 100
    simulated[200] = np.nan
    assert find_worst(replace(one, simulated=simulated)) == 200


def stand(twin: Twin, rows: int, *, with_base: bool) -> Recording:
    """A quadruped that walks off while its legs stay as they are."""
    model = twin.compiled.model
    home = twin.compiled.own["own.initial_qpos"]
    time = np.arange(rows) / 50
    signals = {}
    for i in range(1, model.njnt):
        joint = model.joint(i)
        value = np.full(rows, home[joint.qposadr[0]])
        signals[f"{joint.name}.position"] = value
        signals[f"{joint.name}.command"] = 0 * value
    if with_base:
        pose = dict(zip("xyz", home[:3], strict=True))
        signals |= {f"base.position.{k}": np.full(rows, v) for k, v in pose.items()}
        signals["base.position.x"] = 0.5 * time
        turn = dict(zip("wxyz", home[3:7], strict=True))
        signals |= {f"base.orientation.{k}": np.full(rows, v) for k, v in turn.items()}
    return Recording(time, signals)


@pytest.fixture(scope="module")
def go2(menagerie_root: Path) -> Twin:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(menagerie_root))
        twin = load_twin("menagerie:unitree_go2")
        assert twin.compiled.model.njnt == 13
        return twin


def test_a_recorded_base_moves(go2: Twin):
    replay = build_episode(
        go2, stand(go2, 100, with_base=True), title="walk", label="robot"
    )
    assert replay is not None
    assert replay.base is not None
    place = replay.motions[0].position[:, replay.base, 0]
    assert place == pytest.approx(0.5 * replay.time)
    assert len(replay.floors) == 1
    assert not any("held" in words for words in replay.words)


def test_a_base_that_was_not_recorded_is_held(go2: Twin):
    replay = build_episode(
        go2, stand(go2, 20, with_base=False), title="walk", label="robot"
    )
    assert replay is not None
    assert replay.base is None
    assert "The base is held still: its motion was not recorded." in replay.words


def test_a_long_episode_is_shown_to_its_end(pendulum: Twin):
    time = np.arange(1500) / 50
    signals = {"joint.position": np.sin(time), "joint.command": np.zeros(1500)}
    replay = build_episode(
        pendulum,
        Recording(time, signals),
        title="long",
        label="it",
        remark="So it was.",
    )
    assert replay is not None
    assert replay.time[-1] == pytest.approx(time[-1])
    shown = "20\u00a0s of 30\u00a0s are shown, the last."
    assert replay.words == ("So it was.", shown)


def test_a_quadruped_three_times_is_small(go2: Twin):
    track = lay_out(go2, stand(go2, 1000, with_base=True))
    one = Take(track, track.position[:1], track.velocity[:1])
    takes = {LineRole.TWIN: one, LineRole.CORRECTED: one}
    replay = build_comparison(takes, title="walk", worst=0)
    assert replay is not None
    assert len(replay.motions) == 3
    assert len(replay.data) < 450_000
