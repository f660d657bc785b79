"""The page of a gap says what the gap holds."""

import base64
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from realworthy.gap import Gap, RecordingGap, measure
from realworthy.recordings import Recording, Sidecar
from realworthy.reports import write_gap
from realworthy.reports.measure.view import GapView, compute_noise
from realworthy.twins import Twin, load_twin

from .conftest import read_page, with_recordings


def test_numbers_are_those_of_the_gap(gap: Gap, tmp_path: Path):
    write_gap(gap, tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    expected = [
        gap.replay.position_rmse,
        gap.one_step.error,
        *gap.replay.per_joint.values(),
        *gap.noise_floor.values(),
        *gap.horizons,
        *gap.horizons.values(),
        *gap.horizon_floor.values(),
        *(one.replay.position_rmse for one in gap.recordings),
        *(one.track.recording.duration for one in gap.recordings),
        *(one.track.recording.rate for one in gap.recordings),
        np.mean([one.forces.rms["joint"] for one in gap.recordings]),
        np.mean([one.forces.floor["joint"] for one in gap.recordings]),
        compute_noise(gap),
    ]
    assert set(map(float, expected)) <= set(page.values)
    assert f"{gap.replay.position_rmse:.3g} rad" in page.text
    assert f"{gap.one_step.floor:.3g} from noise alone" in page.text
    assert all(one.name in page.text for one in gap.recordings)


def test_what_was_assumed_is_said(gap: Gap, tmp_path: Path):
    one = replace(gap.recordings[0], assumptions=("The moon was full.",))
    write_gap(with_recordings(gap, [one, gap.recordings[1]]), tmp_path / "page.html")
    assert "swing_1: The moon was full." in read_page(tmp_path / "page.html").text


def test_lines_are_the_signals(gap: Gap, tmp_path: Path):
    one = gap.recordings[0]
    write_gap(with_recordings(gap, [one]), tmp_path / "page.html")
    overlay, horizons, bars = read_page(tmp_path / "page.html").figures
    real, twin = (decode(trace["y"]) for trace in overlay["data"])
    assert [trace["meta"] for trace in overlay["data"]] == ["real", "twin"]
    assert real == pytest.approx(one.track.position[:, 0], abs=1e-6)
    assert twin == pytest.approx(one.simulated[:, 0], abs=1e-6)
    assert [trace["meta"] for trace in horizons["data"]] == ["twin", "noise"]
    shown = with_recordings(gap, [one])
    assert horizons["data"][0]["y"] == list(shown.horizons.values())
    assert horizons["data"][1]["y"] == list(shown.horizon_floor.values())
    assert bars["data"][0]["x"] == list(shown.replay.per_joint.values())


def decode(array: object) -> np.ndarray:
    assert isinstance(array, dict)
    assert array["dtype"] == "f4"
    return np.frombuffer(base64.b64decode(array["bdata"]), np.float32)


def test_many_recordings_are_listed_and_the_worst_are_drawn(gap: Gap, tmp_path: Path):
    one = gap.recordings[0]
    many = []
    for i in range(12):
        gapped = replace(one.replay, position_rmse=0.1 + 0.01 * i)
        many.append(replace(one, name=f"run_{i:02d}", replay=gapped))
    write_gap(with_recordings(gap, many), tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert len(page.figures) == 4 + 2
    assert "The 4 of 12 recordings with the largest error" in page.text
    assert [one.name for one in GapView(with_recordings(gap, many)).shown] == [
        "run_11",
        "run_10",
        "run_09",
        "run_08",
    ]
    assert "(95 %, mean of 12 recordings)" in page.text
    assert "0.155 rad" in page.text  # by hand: the mean of 0.10, 0.11, …, 0.21


def test_a_replay_that_blew_up_is_said_first(gap: Gap, tmp_path: Path):
    one = gap.recordings[0]
    simulated = one.simulated.copy()
    simulated[100:150] = 1e300
    simulated[150:] = math.nan
    transition = one.transition
    nothing = np.full_like(transition.position, np.nan)
    lost = replace(
        one,
        simulated=simulated,
        transition=replace(
            transition, position=nothing, diverged=3, normalised=math.nan
        ),
        replay=replace(
            one.replay,
            position_rmse=math.inf,
            position_mae=math.nan,
            per_joint={"joint": math.inf},
            diverged=True,
        ),
    )
    write_gap(with_recordings(gap, [lost]), tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    warning = page.text.index("The simulation diverged while replaying swing_1")
    assert warning < page.text.index("there is no error to state")
    assert "3 of" in page.text
    assert all(map(math.isfinite, page.values))
    assert page.figures[1]["data"][0]["y"] == []  # no error at any horizon
    shown = decode(page.figures[0]["data"][1]["y"])
    assert np.isnan(shown[150:]).all()
    assert np.nanmax(np.abs(shown)) < 1e3


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (1.0, "1 times the sensor noise"),
        (250.0, "250 times the sensor noise"),
        (2e3, "far above the"),
    ],
)
def test_the_error_is_set_beside_the_noise(
    gap: Gap, tmp_path: Path, times: float, words: str
):
    one = gap.recordings[0]
    error = times * one.noise.position["joint"]
    off = replace(one, replay=replace(one.replay, position_rmse=error))
    write_gap(with_recordings(gap, [off]), tmp_path / "page.html")
    assert words in read_page(tmp_path / "page.html").text


def test_left_out_recordings_are_said(gap: Gap, tmp_path: Path):
    write_gap(gap, tmp_path / "page.html", left_out=["recording 'mute' is empty."])
    page = read_page(tmp_path / "page.html")
    assert "Excluded: recording 'mute' is empty." in page.text


HOSTILE = '</script><script>alert("1 & 2")</script>'
CHAIN = '<body pos="0 0 -0.1"><joint name="{}" axis="0 1 0" damping="0.5"/>'
CHAIN += '<geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.1" mass="0.1"/>'


def build_chain(names: list[str], path: Path) -> Twin:
    escaped = [
        n.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        for n in names
    ]
    bodies = "".join(CHAIN.format(name) for name in escaped) + "</body>" * len(names)
    motors = "".join(
        f'<position name="{name}" joint="{name}" kp="2"/>' for name in escaped
    )
    path.write_text(
        '<mujoco><option timestep="0.002" integrator="implicitfast"/>'
        '<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"
    )
    return load_twin(path)


def wave(names: list[str], rows: int) -> Recording:
    time = np.arange(rows) / 50
    signals = {}
    for i, name in enumerate(names):
        signals[f"{name}.position"] = 0.1 * np.sin((1 + 0.1 * i) * time)
        signals[f"{name}.command"] = 0.1 * np.sin((1 + 0.1 * i) * time + 0.1)
    return Recording(time, signals, Sidecar(command_kind="position", rate=50.0))


def test_hostile_names_stay_names(tmp_path: Path):
    twin = build_chain([HOSTILE, "<b>"], tmp_path / "chain.xml")
    found = measure(twin, wave([HOSTILE, "<b>"], 100))
    (one,) = found.recordings
    named = replace(found, twin=HOSTILE, recordings=(replace(one, name=HOSTILE),))
    write_gap(named, tmp_path / "page.html", left_out=[HOSTILE])
    page = read_page(tmp_path / "page.html")
    assert page.text.count(HOSTILE) >= 5
    assert len(page.scripts) == 2  # plotly and ours
    assert not any("alert(" in script for script in page.scripts)
    titles = [note["text"] for note in page.figures[0]["layout"]["annotations"]]  # type: ignore[call-overload]
    assert titles[1] == "&lt;b&gt; [rad]"


def test_twenty_four_joints(tmp_path: Path):
    names = [f"joint_{i:02d}" for i in range(24)]
    twin = build_chain(names, tmp_path / "chain.xml")
    found = measure(twin, wave(names, 150))
    runs = [replace(found.recordings[0], name=f"run_{i}") for i in range(6)]
    path = tmp_path / "page.html"
    gap = with_recordings(found, runs)
    write_gap(gap, path)
    assert path.stat().st_size < 6e6
    page = read_page(path)
    assert "6 recordings, 17.9 s, 24 joints" in page.text
    assert len(page.figures[0]["data"]) == 48
    assert set(gap.replay.per_joint.values()) <= set(page.values)


def test_a_slide_is_in_metres(tmp_path: Path):
    twin = load_twin("cartpole")
    time = np.arange(200) / 100
    signals = {"cart.position": 0.1 * np.sin(time), "pole.position": 0.1 * np.cos(time)}
    signals["cart.command"] = np.cos(time)
    recording = Recording(time, signals, Sidecar(command_kind="torque", rate=100.0))
    found = measure(twin, recording)
    write_gap(found, tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    per_joint = found.replay.per_joint
    assert f"cart {per_joint['cart']:.3g} m " in page.text
    assert f"pole {per_joint['pole']:.3g} rad " in page.text


def test_a_long_recording_is_also_shown_close_up(
    gap: Gap, long: RecordingGap, tmp_path: Path
):
    off = replace(long, simulated=long.simulated + 0.1)
    write_gap(with_recordings(gap, [off]), tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert "where the error is large" in page.text
    assert "The whole recording" in page.text
    assert len(page.figures) == 4
