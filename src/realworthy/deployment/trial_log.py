"""Everything that happened in a trial, step by step, on the disk while it happens.

A journal (`recordings.journal`) takes one row for each step. From it come the
recording, which is what a fit needs, and a plain `.npz` with the rest: what the policy
saw and said, what the guards did and when.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.artefacts import writing
from realworthy.deployment.decision import GuardVerdict
from realworthy.deployment.filter import STAGES
from realworthy.deployment.state_machine import Phase
from realworthy.recordings import Recording, Sidecar
from realworthy.recordings.formats.journal import build_table, make_about
from realworthy.recordings.journal import Journal
from realworthy.robots import RobotInfo, State

Floats = NDArray[np.float64]
_PHASES = tuple(Phase)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogEntry:
    """One step; times [s] on the loop's clock."""

    read: float
    sent: float
    late: float
    phase: Phase
    state: State
    target: Floats
    command: Floats | None
    """None where the target was refused and the robot was braked instead."""
    acted: tuple[str, ...]
    verdict: GuardVerdict
    braking: bool = False
    """Whether the robot braked by itself though it was commanded."""


class TrialLog:
    """Entries in order, and beside those of a policy what it saw and said."""

    def __init__(
        self,
        info: RobotInfo,
        journal: Path | None = None,
        *,
        sidecar: Sidecar | None = None,
        observation: int = 0,
        action: int = 0,
    ) -> None:
        """Without a path for the journal everything stays in memory.

        `observation` and `action` are how many numbers a policy sees and says.
        """
        joints, commands = len(info.joints), len(info.commands)
        columns = {
            **dict.fromkeys(("read", "sent", "late", "state_time"), 1),
            **dict.fromkeys(("state_sequence", "phase", "verdict", "braking"), 1),
            **dict.fromkeys(("position", "velocity", "torque"), joints),
            "others": len(info.other_signals),
            **dict.fromkeys(("target", "command"), commands),
            **{f"acted.{stage}": 1 for stage in STAGES},
            "asked": 1,
            "observation": observation,
            "action": action,
        }
        about = make_about(
            info.joints, info.other_signals, info.commands, sidecar or Sidecar()
        )
        self.journal = Journal(journal, columns, about)
        self.last: LogEntry | None = None
        """The newest step in which a command was sent."""
        self.count = 0
        """Steps in which one was sent."""
        self.run_from: float | None = None
        """[s, robot's clock] when the policy took over."""
        self._keeps_policy, self._target_shape = observation > 0, (commands,)
        self._seen: tuple[Floats, Floats] | None = None

    def note_policy(self, observation: Floats, action: Floats) -> None:
        """What the policy saw and said in the step that is under way."""
        if self._keeps_policy:
            self._seen = np.array(observation), np.array(action)

    def append(self, entry: LogEntry) -> None:
        state, seen, self._seen = entry.state, self._seen, None
        if entry.command is not None:
            self.last, self.count = entry, self.count + 1
            if self.run_from is None and entry.phase is Phase.RUN:
                self.run_from = state.time
        fits = entry.target.shape == self._target_shape
        more: dict[str, ArrayLike] = {f"acted.{stage}": 1 for stage in entry.acted}
        if seen is not None:
            more |= {"asked": 1, "observation": seen[0], "action": seen[1]}
        self.journal.append(
            read=entry.read,
            sent=entry.sent,
            late=entry.late,
            state_time=state.time,
            state_sequence=state.sequence,
            phase=_PHASES.index(entry.phase),
            verdict=entry.verdict,
            braking=entry.braking,
            position=state.position,
            velocity=state.velocity,
            torque=state.torque,
            others=state.others,
            target=entry.target if fits else np.nan,
            command=np.nan if entry.command is None else entry.command,
            **more,
        )

    def to_recording(
        self, sidecar: Sidecar, phase: Phase | None = None
    ) -> Recording | None:
        """Rows of new measurements, each with the command sent then; None: too few.

        Of all phases, or of one.
        """
        rows = self.journal.read()
        if phase is not None:
            kept = rows["phase"][:, 0] == _PHASES.index(phase)
            rows = {name: values[kept] for name, values in rows.items()}
        table = build_table(self.journal.about, rows)
        if table is None:
            return None
        time = table.pop("time")
        return Recording(time=time, signals=table, sidecar=sidecar)

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Arrays by name; docs/deploy.md lists them."""
        rows = self.journal.read()
        sent = np.isfinite(rows["command"]).all(axis=1)
        asked = rows["asked"][:, 0] == 1
        plain = ("read", "sent", "late", "state_time", "state_sequence")
        vectors = ("position", "velocity", "torque", "others", "target", "command")
        phases, verdicts = rows["phase"][sent, 0], rows["verdict"][sent, 0]
        arrays = {
            **{name: rows[name][sent, 0] for name in plain},
            "phase": np.array([_PHASES[int(k)].value for k in phases], dtype="U16"),
            "verdict": np.array(
                [GuardVerdict(int(k)).name for k in verdicts], dtype="U8"
            ),
            "braking": rows["braking"][sent, 0] == 1,
            **{name: rows[name][sent] for name in vectors},
            **{name: rows[name][asked] for name in ("observation", "action")},
        }
        for stage in STAGES:
            acted = rows[f"acted.{stage}"][sent, 0] == 1
            if acted.any():
                arrays[f"acted.{stage}"] = acted
        arrays["state_sequence"] = arrays["state_sequence"].astype(np.int64)
        with writing(path, overwrite=overwrite) as part, open(part, "wb") as file:
            np.savez_compressed(file, **arrays)  # pyright: ignore
