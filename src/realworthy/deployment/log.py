"""Everything that happened in a trial, step by step: a recording, and the rest.

The recording is what a fit needs: measurements and the commands sent then. The rest,
what the policy saw and said, what the guards did and when, lies beside it in a plain
`.npz`.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import writing
from realworthy.deployment.decision import Verdict
from realworthy.deployment.state_machine import Phase
from realworthy.recordings import Recording, Sidecar
from realworthy.robots import RobotInfo, State

Floats = NDArray[np.float64]
_PHASES = tuple(Phase)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """One step in which a command was sent; times [s] on the loop's clock."""

    read: float
    sent: float
    late: float
    phase: Phase
    state: State
    target: Floats
    command: Floats
    acted: tuple[str, ...]
    verdict: Verdict


@dataclass(slots=True)
class Log:
    """Entries in order, and beside those of a policy what it saw and said."""

    entries: list[Entry] = field(default_factory=list)
    observations: list[Floats] = field(default_factory=list)
    actions: list[Floats] = field(default_factory=list)
    """One for each entry in phase RUN that the policy was asked in."""

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)

    def to_recording(self, info: RobotInfo, sidecar: Sidecar) -> Recording | None:
        """Rows of new measurements, each with the command sent then; None: too few.

        Where the robot sent nothing new between two commands, the first of them is
        the row's.
        """
        rows: list[Entry] = []
        for entry in self.entries:
            if not rows or entry.state.time > rows[-1].state.time:
                rows.append(entry)
        if len(rows) < 2:
            return None
        signals: dict[str, Floats] = {}
        for name in ("position", "velocity", "torque"):
            values = np.array([getattr(row.state, name) for row in rows])
            signals |= {f"{j}.{name}": values[:, i] for i, j in enumerate(info.joints)}
        others = np.array([row.state.others for row in rows])
        signals |= {s: others[:, i] for i, s in enumerate(info.other_signals)}
        commands = np.array([row.command for row in rows])
        signals |= {s: commands[:, i] for i, s in enumerate(info.commands)}
        time = np.array([row.state.time for row in rows])
        return Recording(time=time, signals=signals, sidecar=sidecar)

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Arrays by name; docs/deploy.md lists them."""
        entries = self.entries
        stages = sorted({stage for entry in entries for stage in entry.acted})
        arrays = {
            "read": np.array([e.read for e in entries]),
            "sent": np.array([e.sent for e in entries]),
            "late": np.array([e.late for e in entries]),
            "state_time": np.array([e.state.time for e in entries]),
            "state_sequence": np.array([e.state.sequence for e in entries]),
            "phase": np.array([e.phase.value for e in entries], dtype="U16"),
            "verdict": np.array([e.verdict.name for e in entries], dtype="U8"),
            "position": np.array([e.state.position for e in entries]),
            "velocity": np.array([e.state.velocity for e in entries]),
            "torque": np.array([e.state.torque for e in entries]),
            "others": np.array([e.state.others for e in entries]),
            "target": np.array([e.target for e in entries]),
            "command": np.array([e.command for e in entries]),
            "observation": np.array(self.observations),
            "action": np.array(self.actions),
        }
        for stage in stages:
            arrays[f"acted.{stage}"] = np.array([stage in e.acted for e in entries])
        with writing(path, overwrite=overwrite) as part, open(part, "wb") as file:
            np.savez_compressed(file, **arrays)  # pyright: ignore
