"""A measured gap, a diagnosis made of it, and pages taken apart."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from realworthy.deployment import play
from realworthy.diagnosis.diagnosis import (
    Alternative,
    Cause,
    CauseKind,
    Change,
    Diagnosis,
    Estimate,
    Shares,
    TaskLoss,
    Verdict,
)
from realworthy.gap import Gap, RecordingGap, measure
from realworthy.realities import StandIn, load_reality
from realworthy.recordings import Recording
from realworthy.twins import Twin, load_twin

from .published import Publish, Published, publish

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = (
    "--no-sandbox",
    "--use-angle=swiftshader",  # draws without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
)
_VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
FIX = 'mapping:\n  joint.position: {source: "joint.position", sign: -1}\n'


@dataclass
class Parsed(HTMLParser):
    """A page taken apart; raises where its tags do not close in order."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    """Of `<data>`, in order."""
    figures: list[dict[str, list[dict[str, object]]]] = field(default_factory=list)
    """Of plots, in order."""
    scenes: list[dict[str, object]] = field(default_factory=list)
    """Of replays in three dimensions."""
    scripts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    """What stands in `<pre>`."""
    words: list[str] = field(default_factory=list)
    """What people read."""
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        assert len(known) == len(attrs), f"<{tag}> has an attribute twice"
        self.tags.append((tag, known))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "data":
            self.values.append(float(known["value"] or "nan"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            is_figure = self.tags[-1][1].get("type") == "application/json"
            if self.tags[-1][1].get("class") == "scene":
                self.scenes.append(json.loads(data))
            elif is_figure:
                self.figures.append(json.loads(data))
            else:
                self.scripts.append(data)
        elif inside == "style":
            self.styles.append(data)
        else:
            self.words.append(data)
            if "pre" in self.open:
                self.blocks.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).replace("\u00a0", " ").split())


def read_page(path: Path) -> Parsed:
    parsed = Parsed()
    parsed.feed(path.read_text("utf-8"))
    parsed.close()
    assert not parsed.open
    return parsed


def swing(number: int, rows: int = 240) -> Recording:
    """What a pendulum with a fifth more friction than its twin records."""
    robot = StandIn(load_reality("pendulum_1_easy"))
    time = np.arange(rows) / robot.info.rate
    torque = 1.5 * np.sin(2 * np.pi * (0.6 + 0.1 * number) * time)
    recorded = play(robot, {"joint.command": torque})
    return replace(recorded, source=Path(f"swing_{number}.csv"))


@pytest.fixture(scope="session")
def pendulum() -> Twin:
    return load_twin("pendulum")


@pytest.fixture(scope="session")
def gap(pendulum: Twin) -> Gap:
    return measure(pendulum, [swing(1), swing(2)])


@pytest.fixture(scope="session")
def long(gap: Gap) -> RecordingGap:
    """A minute at 100 Hz that the twin follows to the bit."""
    one = gap.recordings[0]
    step = round(0.01 / one.track.timestep)
    rows = step * np.arange(6001)
    position = np.sin(rows * one.track.timestep)[:, None]
    track = replace(one.track, rows=rows, position=position)
    return replace(one, track=track, simulated=position.copy())


def soften(one: RecordingGap, factor: float) -> RecordingGap:
    """The gap on a recording as if the twin were off by a part of it only."""
    real, replay = one.track.position, one.replay
    return replace(
        one,
        simulated=real + factor * (one.simulated - real),
        replay=replace(
            replay,
            position_rmse=factor * replay.position_rmse,
            per_joint={joint: factor * e for joint, e in replay.per_joint.items()},
        ),
    )


def with_recordings(gap: Gap, recordings: Sequence[RecordingGap]) -> Gap:
    return replace(gap, recordings=tuple(recordings))


@pytest.fixture(scope="session")
def diagnosis(gap: Gap) -> Diagnosis:
    return Diagnosis(
        twin=gap.twin,
        verdict=Verdict.MISSING_EFFECT,
        summary="A sign and friction explain 81 % of the gap, play another 13 %.",
        causes=(
            Cause(
                name="joint_sign",
                kind=CauseKind.INTERFACE,
                joints=("joint",),
                share=0.513,
                interval=(0.472, 0.561),
                evidence="Turned round, the error falls from 0.41 rad to 0.02 rad.",
                next_step="Put the sign into the sidecar.",
                fix=FIX,
            ),
            Cause(
                name="coulomb_friction",
                kind=CauseKind.PARAMETRIC,
                joints=("joint",),
                share=0.297,
                interval=(0.253, 0.338),
                evidence="With 0.345 N·m the error after 1 s falls by 71 %.",
                next_step="Run calibrate.",
                estimates=(
                    Estimate(
                        name="joint.coulomb_friction",
                        value=0.3451,
                        nominal=0.2872,
                        interval=(0.3312, 0.3598),
                        unit="N·m",
                    ),
                ),
                alternatives=(Alternative(name="stribeck", joints=("joint",)),),
                task_loss=TaskLoss(
                    mean=0.121, interval=(0.052, 0.203), measure="success"
                ),
            ),
            Cause(
                name="backlash",
                kind=CauseKind.MISSING,
                joints=(),
                share=0.13,
                interval=(-0.02, 0.19),
                evidence="After each reversal the joint rests for 21 ms.",
                next_step="Hold the motor and turn the link by hand.",
            ),
        ),
        shares=Shares(
            interface=0.513, parametric=0.297, missing=0.13, unexplained=0.06
        ),
        detection_limit="Delays below 4 ms would not have shown.",
        gap=gap,
        after=with_recordings(gap, [soften(one, 0.25) for one in gap.recordings]),
        changes=(
            Change(
                name="torque_limit",
                joints=("joint",),
                size="-0.4 N·m (-0.5 … -0.3)",
                evidence="It never exceeded 2.1 N·m.",
                next_step="Let the motor cool down.",
                false_alarm_rate=0.004,
            ),
        ),
        interactions=("Friction and play cost more together.",),
        warnings=("The joint hardly moves in 1 of 2 recordings.",),
        next_experiment="Ten slow reversals at 0.1 rad/s (20 s).",
        seconds=12.5,
        notes={"clock": "no gaps in 800 rows"},
    )


@pytest.fixture(scope="session")
def published(
    diagnosis: Diagnosis, tmp_path_factory: pytest.TempPathFactory
) -> Publish:
    """The page of a command, and its `--json`; each is made once."""

    @cache
    def published(command: str) -> Published:
        return publish(command, tmp_path_factory.mktemp(command), diagnosis)

    return published


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()
