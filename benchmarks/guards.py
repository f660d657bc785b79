"""What guards make of a robot that fails while it moves: every path, fault and twin.

    python benchmarks/guards.py                    # some minutes; results/guards.json
    python benchmarks/guards.py --only record deploy --twins pendulum

Each cell is one run on a stand-in that fails 0.8 s after it first follows a command:

    frozen    measurements repeat themselves, with new stamps
    nan       one joint's position is not a number
    delayed   measurements come later and later, by 20 ms more with each period
    dropped   no new measurement comes any more
    killed    no new measurement comes and commands do not arrive; the robot brakes by
              itself 0.1 s after the last, as its own end promises
    stuck     a drive stops following: it holds where it is, or gives nothing

The table counts true samples beyond the robot's limits (position, speed, torque), says
how long after the fault the robot braked and whether what was recorded until then was
kept. `-` is a path that the robot's drives do not have.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from realworthy.deployment import (
    DeploySettings,
    GuardStop,
    TrialSettings,
    deploy,
)
from realworthy.errors import RealworthyError
from realworthy.identification.excitation import (
    ExcitationSettings,
    LimitSettings,
    find_limits,
    identify,
    record,
)
from realworthy.identification.excitation.twin_limits import stand
from realworthy.identification.experiments import (
    DelaySettings,
    FrictionCurveSettings,
    InertiaSettings,
    JointBench,
    record_delay,
    record_friction_curve,
    record_holds,
    record_inertia,
)
from realworthy.policies import Contract, load_policy
from realworthy.realities import RealityFile, StandIn, make_reality
from realworthy.recordings import load_recording
from realworthy.recordings.motion import Motion
from realworthy.robots import Command, Limits, Mode, Robot, RobotInfo, State
from realworthy.twins import load_twin

HERE = Path(__file__).parent
TWINS = ("pendulum", "cartpole", "arm", "servo_bench", "diffdrive")
FAULTS = ("frozen", "nan", "delayed", "dropped", "killed", "stuck")
_AFTER = 0.8
"""[s] after which it fails."""
_DEADLINE = 0.1
"""[s] after which a robot without commands brakes by itself."""
_PATIENCE = 0.25
"""[s] for which a robot may repeat itself while nothing moves (`Frozen`)."""
_PROMISES = {"nan": 1, "dropped": 5, "killed": 5, "delayed": 6}
"""Periods within which a fault is noticed. A frozen robot: as soon as it would have
gone 0.01 rad, and at the latest after 0.25 s of changing commands. A stuck one need not
be."""


class Failing(Robot):
    """A stand-in that fails, and an onlooker who sees what is true."""

    def __init__(self, twin: str, fault: str, limits: Limits) -> None:
        self._robot = StandIn(make_reality(twin, RealityFile(schema=1, twin=twin)))
        self.fault, self._limits = fault, limits
        places = [self._robot.info.joints.index(joint) for joint in limits.joints]
        self._places = places
        self._fail_at = np.inf
        self.failed_at: float | None = None
        self.braked_at: float | None = None
        self.beyond = 0
        self.samples = 0
        self._shown = self._robot.read()
        self._queue: list[State] = []
        self._written = 0.0
        self._held: np.ndarray | None = None

    @property
    def info(self) -> RobotInfo:
        return self._robot.info

    @property
    def steps_time(self) -> bool:
        return True

    def connect(self) -> None:
        self._robot.connect()
        self._shown, self._queue = self._robot.read(), []

    def read(self) -> State:
        return self._shown

    def write(self, command: Command) -> None:
        now = self._now
        if self._fail_at == np.inf:
            self._fail_at = now + _AFTER
        if self._has_failed:
            if self.fault == "killed":
                return
            if self.fault == "stuck":
                if self._held is None:
                    self._held = self._hold()
                values = np.array(command.values)
                values[0] = self._held[0]
                command = replace(command, values=values)
        self._written = now
        self._robot.write(command)

    def wait(self, seconds: float) -> None:
        self._robot.wait(seconds)
        true = self._robot.read()
        if self._has_failed and self.failed_at is None:
            self.failed_at = self._now
        if true.mode is Mode.RUN and self._now - self._written > _DEADLINE:
            self.damp()
        self._watch(true)
        self._show(true)

    def damp(self) -> None:
        self._robot.damp()
        if self.failed_at is not None and self.braked_at is None:
            self.braked_at = self._now

    def stop(self) -> None:
        self._robot.stop()

    @property
    def _now(self) -> float:
        return float(self._robot.read().time)

    @property
    def _has_failed(self) -> bool:
        return self._now >= self._fail_at

    def _hold(self) -> np.ndarray:
        info, state = self.info, self._robot.read()
        if info.command_kind == "position":
            joint = info.commands[0].partition(".command")[0]
            return np.full(1, state.position[info.joints.index(joint)])
        return np.zeros(1)

    def _watch(self, true: State) -> None:
        limits, places = self._limits, self._places
        q, v, tau = (
            getattr(true, name)[places] for name in ("position", "velocity", "torque")
        )
        self.samples += 1
        self.beyond += bool(
            (q < limits.lower - 1e-3).any()
            or (q > limits.upper + 1e-3).any()
            or (np.abs(v) > limits.speed * (1 + 1e-6)).any()
            or (np.abs(tau) > limits.torque * (1 + 1e-6)).any()
        )

    def _show(self, true: State) -> None:
        before = self._shown
        if not self._has_failed or self.fault == "stuck":
            self._shown = true
        elif self.fault == "frozen":
            self._shown = replace(
                before, time=true.time, sequence=true.sequence, mode=true.mode
            )
        elif self.fault == "nan":
            position = np.array(true.position)
            position[0] = np.nan
            self._shown = replace(true, position=position)
        elif self.fault == "delayed":
            self._queue.append(true)
            late = 0.02 * len(self._queue)
            while self._queue and self._now - self._queue[0].time >= late:
                self._shown = self._queue.pop(0)


def sway(robot: Robot, twin: str) -> Motion:
    """Every driven joint from where it is, smoothly, towards the middle of its
    range."""
    limits, state = find_limits(stand(load_twin(twin))), robot.read()
    seconds = np.arange(401) / 100
    places = [robot.info.joints.index(joint) for joint in limits.joints]
    start, middle = state.position[places], (limits.lower + limits.upper) / 2
    size = np.minimum(0.6, 0.15 * (limits.upper - limits.lower))
    wave = 0.5 * (1 - np.cos(np.pi * seconds))[:, None]
    side = np.where(start > middle, -1.0, 1.0)
    return Motion(seconds, limits.joints, start + side * size * wave)


def run_record(robot: Robot, twin: str, folder: Path) -> str:
    done = record(
        sway(robot, twin), robot, load_twin(twin), output=folder / "recording.npz"
    )
    return done.reason


def run_active(robot: Robot, twin: str, folder: Path) -> str:
    name = {"arm": "elbow_flex.damping"}.get(twin)
    space = load_twin(twin).space
    name = name or next(n for n in space.names if n.endswith(".damping"))
    done = identify(
        load_twin(twin),
        robot,
        [name],
        sd={name: max(space[name].nominal, 0.05)},  # in reach: the robot must move
        rounds=1,
        limits=LimitSettings(speed=2.0),
        settings=ExcitationSettings(
            seconds=4.0, period=4.0, generation_count=2, check_count=2
        ),
        folder=folder,
    )
    return done.reasons.get("robot", "")


def run_experiment(robot: Robot, twin: str, folder: Path) -> str:
    """Every experiment that its drives allow; all must leave it within limits."""
    limits = find_limits(stand(load_twin(twin)))
    kind, joint = robot.info.command_kind, robot.info.commands[0].partition(".")[0]
    bench = JointBench(limits=limits, output=folder / "recording.npz")
    if kind == "torque":
        weak = 0.2 * float(limits.torque[0])
        pulses = InertiaSettings(torques=(weak,), repeats=4)
        record_inertia(robot, joint, pulses, bench)
    elif kind == "position":
        experiment = {
            "frozen": lambda: record_friction_curve(
                robot, joint, FrictionCurveSettings(speeds=(0.2, 0.4)), bench
            ),
            "delayed": lambda: record_holds(robot, joint, 0.3, bench=bench),
        }.get(
            getattr(robot, "fault", ""),
            lambda: record_delay(robot, joint, DelaySettings(sizes=(0.1,)), bench),
        )
        experiment()
    else:
        raise Unfit
    return ""


def run_deploy(robot: Robot, twin: str, folder: Path) -> str:
    policy = load_policy(make_policy(folder / "policy.onnx", twin))
    trial = TrialSettings(seconds=3.0, move_seconds=0.2, hold_seconds=0.1)
    settings = DeploySettings(trial=trial, wiggles=False)
    found = deploy(policy, robot, folder, settings=settings)
    if not found.trials:
        return "; ".join(check.text for check in found.checks if not check.passed)
    return found.trials[0].reason


def make_policy(path: Path, twin: str) -> Path:
    """A policy that waves each command: x'' = −ω² (x − b), of its last two actions."""
    import msgspec
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    from realworthy.policies import ActionMap, Linear
    from realworthy.policies.contract import (
        Conventions,
        Delays,
        DriveGains,
        JointLimits,
        NormaliserRecord,
        Parity,
        PolicyProvenance,
        TwinReference,
    )
    from realworthy.policies.metadata import write_metadata

    stand_in = StandIn(make_reality(twin, RealityFile(schema=1, twin=twin)))
    info, limits = stand_in.info, find_limits(stand(load_twin(twin)))
    joints, count = info.joints, len(info.commands)
    start = stand_in.read().position
    is_servo = info.command_kind == "position"
    rest = [
        float(start[joints.index(name.partition(".command")[0])]) if is_servo else 0.0
        for name in info.commands
    ]
    action = ActionMap(commands=info.commands, offset=tuple(rest), scale=(1.0,) * count)
    terms = (
        Linear(name="angles", signals=tuple(f"{j}.position" for j in joints)),
        Linear(name="last", signals=action.names, history=2),
    )
    width = len(joints) + 2 * count
    contract = Contract(
        task="sway",
        twin=TwinReference(name=twin, reference=twin),
        joints=joints,
        terms=terms,
        action=action,
        history_layout="term_major_oldest_first",
        period=0.02,
        substeps=1,
        command_kind=info.command_kind or "torque",
        gains={j: DriveGains(kp=13.0, kd=0.4) for j in joints} if is_servo else {},
        limits={
            joint: JointLimits(
                lower=float(limits.lower[i]),
                upper=float(limits.upper[i]),
                velocity=float(limits.speed[i]),
                effort=float(limits.torque[i]),
            )
            for i, joint in enumerate(limits.joints)
        },
        inputs={},
        delays=Delays(observation=(0.0, 0.0), action=(0.0, 0.0)),
        conventions=Conventions(
            quaternion="wxyz", gyro_frame="base", gravity="down", action_feedback="used"
        ),
        normaliser=NormaliserRecord(mean=(0.0,) * width, sd=(100.0,) * width),
        provenance=PolicyProvenance(
            created="2026-11-18T12:00:00Z", versions={}, settings_hash="0", git=""
        ),
    )
    # a_k = b (2 − 2 cos ωT) + 2 cos ωT a_{k−1} − a_{k−2} swings about b with ω.
    size = {"position": 0.1, "velocity": 1.0, "torque": 0.5, "voltage": 1.0}
    cosine = np.cos(2 * np.pi * 0.5 * contract.period)
    weights = np.zeros((count, width), dtype=np.float32)
    for i in range(count):
        older, newer = len(joints) + i, len(joints) + count + i
        weights[i, older], weights[i, newer] = -1.0, 2 * cosine
    level = size[contract.command_kind]
    bias = np.full(count, level * (2 - 2 * cosine), dtype=np.float32)
    seen = np.random.default_rng(0).normal(size=(16, width)).astype(np.float32)
    said = seen @ weights.T + bias
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["obs", "W", "b"], ["action"], transB=1)],
        "linear",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, width])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, [1, count])],
        [numpy_helper.from_array(weights, "W"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    parity = Parity(
        observations=tuple(map(tuple, seen.tolist())),
        actions=tuple(map(tuple, said.tolist())),
    )
    whole = msgspec.structs.replace(contract, parity=parity)
    helper.set_model_props(model, write_metadata(whole))
    onnx.save(model, str(path))
    return path


class Unfit(Exception):
    """A path that this robot's drives do not have."""


PATHS: dict[str, Callable[[Robot, str, Path], str]] = {
    "record": run_record,
    "active": run_active,
    "experiment": run_experiment,
    "deploy": run_deploy,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run."""

    path: str
    twin: str
    fault: str
    samples: int
    beyond: int
    """True samples beyond the robot's limits."""
    braked_after: float | None
    """[s] after the fault; None: it went on to the end, within its limits."""
    promised: float | None
    """[s]; None: nobody promises to notice."""
    kept: bool
    """Whether a recording was left."""
    reason: str

    @property
    def holds(self) -> bool:
        in_time = self.promised is None or (
            self.braked_after is not None and self.braked_after <= self.promised + 1e-6
        )
        return not self.beyond and in_time and self.kept


def run_cell(path: str, twin: str, fault: str) -> Cell | None:
    limits = find_limits(stand(load_twin(twin)))
    robot = Failing(twin, fault, limits)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            reason = PATHS[path](robot, twin, folder)
        except Unfit:
            return None
        except (GuardStop, RealworthyError) as error:
            reason = getattr(error, "reason", str(error))
        kept = [load_recording(p) for p in _list_recordings(folder)]
    period = 0.02 if path == "deploy" else 1 / robot.info.rate
    promised = _PROMISES[fault] * period if fault in _PROMISES else None
    if fault == "frozen":
        promised = _PATIENCE + 3 * period
    after = None
    if robot.failed_at is not None and robot.braked_at is not None:
        after = robot.braked_at - robot.failed_at
    return Cell(
        path=path,
        twin=twin,
        fault=fault,
        samples=robot.samples,
        beyond=robot.beyond,
        braked_after=after,
        promised=promised,
        kept=bool(kept),
        reason=reason,
    )


def _list_recordings(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.npz") if not path.match("*.log.npz")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PATHS, nargs="*", default=list(PATHS))
    parser.add_argument("--twins", nargs="*", default=list(TWINS))
    parser.add_argument("--faults", choices=FAULTS, nargs="*", default=list(FAULTS))
    parser.add_argument("--output", type=Path, default=HERE / "results/guards.json")
    arguments = parser.parse_args()
    console, cells = Console(width=150), []
    table = Table("path", "twin", *FAULTS, title="Braked after [ms] of promised [ms]")
    for path in arguments.only:
        for twin in arguments.twins:
            row = []
            for fault in FAULTS:
                if fault not in arguments.faults:
                    row.append("")
                    continue
                begin = time.perf_counter()
                cell = run_cell(path, twin, fault)
                if cell is None:
                    row.append("-")
                    continue
                cells.append(cell)
                row.append(describe(cell))
                spent = time.perf_counter() - begin
                console.print(f"{path} {twin} {fault} {spent:.1f} s: {cell}")
            table.add_row(path, twin, *row)
    console.print(table)
    held = sum(cell.holds for cell in cells)
    beyond = sum(cell.beyond for cell in cells)
    console.print(f"{held} of {len(cells)} hold; {beyond} samples beyond limits.")
    save(arguments.output, cells)


def describe(cell: Cell) -> str:
    after = "went on" if cell.braked_after is None else f"{1e3 * cell.braked_after:.0f}"
    of = "" if cell.promised is None else f" of {1e3 * cell.promised:.0f}"
    wrong = f", {cell.beyond} beyond" if cell.beyond else ""
    lost = "" if cell.kept else ", not kept"
    return f"{after}{of}{wrong}{lost}"


ABOUT = {
    "nan": "a measurement that is not a number",
    "dropped": "no new measurement",
    "killed": "the robot's process is killed",
    "delayed": "measurements later and later",
    "frozen": "old measurements with new stamps",
    "stuck": "a drive that no longer follows",
}


def tabulate(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """For each fault, over every path and twin: when it braked, beside the bound."""
    found = []
    for fault, about in ABOUT.items():
        cells = [row for row in rows if row["fault"] == fault]
        braked = sorted(
            c["braked_after"] for c in cells if c["braked_after"] is not None
        )
        promised = [c["promised"] for c in cells if c["promised"] is not None]
        if cells:
            found.append(
                [
                    about,
                    round(1e3 * max(promised)) if promised else "none",
                    round(1e3 * braked[len(braked) // 2]) if braked else None,
                    round(1e3 * braked[-1]) if braked else None,
                    len(braked),
                    len(cells),
                    sum(c["beyond"] for c in cells),
                ]
            )
    return {
        "columns": [
            "fault",
            "bound, slowest robot [ms]",
            "braked after, median [ms]",
            "braked after, worst [ms]",
            "braked",
            "cases",
            "samples beyond limits",
        ],
        "rows": found,
        "command": "python benchmarks/guards.py",
    }


def save(path: Path, cells: list[Cell]) -> None:
    import platform
    import subprocess

    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=HERE
    ).stdout.strip()
    path.parent.mkdir(exist_ok=True)
    rows = [{name: getattr(c, name) for name in Cell.__slots__} for c in cells]
    tree: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {platform.python_version()}",
        "commit": commit,
        "cells": rows,
    }
    table = tabulate(rows)
    table |= {name: tree[name] for name in ("date", "machine", "commit")}
    tree["tables"] = {"faults": table}
    path.write_text(json.dumps(tree, indent=1) + "\n")


if __name__ == "__main__":
    main()
