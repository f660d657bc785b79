"""Position commands that are logged as something else: errors, increments, speeds.

A tracking error, command - position, carries the noise of the very encoder reading that
it was computed from; no command does. Increments and speeds are the command only once
they are added up.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.fix import CommandForm, Fix, Rebuilt, rebuild_command
from realworthy.diagnosis.log.alike import FEW_ROWS
from realworthy.diagnosis.log.drives import Limits, find_command
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.recordings import Recording

Floats = NDArray[np.float64]

COPIED = 0.5
"""Roughness of command + position over that of the command, below which the command
holds the position's noise. By chance it would be √2; a plain command gives about 1."""
SAME = (0.5, 2.0)
"""Roughness of an error over that of its position; equal but for the command's own."""
FOLLOWED = 0.95
"""Correlation over shared lags of a position with commands that were added up,"""
UNLIKE = 0.7
"""where with the commands as they are it is below this,"""
AS_FAR = (0.6, 1.5)
"""and the joint moves about as far as the sum."""
SHARE = 0.7
"""Share of the joints that can tell which must agree: commands have one form."""
MAX_LAG = 0.3
"""[s]"""


def inspect_command_form(
    recordings: Sequence[Recording], limits: Limits
) -> list[Finding]:
    """`command_kind` of position commands; `size` is the share of joints that show it.

    Asked only of joints that the twin drives by positions.
    """
    names = {
        joint: drive
        for joint, drive in limits.drives.items()
        if drive.kind == "position"
    }
    votes: dict[CommandForm, set[str]] = {form: set() for form in CommandForm}
    asked: dict[CommandForm, set[str]] = {form: set() for form in CommandForm}
    numbers: dict[CommandForm, list[float]] = {form: [] for form in CommandForm}
    commands: dict[str, Rebuilt] = {}
    for recording in recordings:
        if len(recording.time) < FEW_ROWS:
            continue
        for joint, drive in names.items():
            name = find_command(recording, joint, drive)
            if name is None or f"{joint}.position" not in recording.signals:
                continue
            commands[joint] = Rebuilt(joint, name, drive.kp, drive.kd)
            for form, answer in _ask(recording, joint, name).items():
                asked[form].add(joint)
                numbers[form].append(answer[1])
                if answer[0]:
                    votes[form].add(joint)
    for form, found in votes.items():
        if found and len(found) >= SHARE * len(asked[form]):
            return [_tell(form, commands, found, asked[form], numbers[form])]
    return []


def _ask(
    recording: Recording, joint: str, name: str
) -> dict[CommandForm, tuple[bool, float]]:
    """Form → whether this joint shows it, and the number that says so."""
    position = recording.signals[f"{joint}.position"]
    command = recording.signals[name]
    if np.ptp(command) < 1e-12:
        return {}
    rough, own = _roughness(command), _roughness(position)
    answers: dict[CommandForm, tuple[bool, float]] = {}
    if own > 0 and rough > 0:
        copied = _roughness(command + position) / rough
        same = SAME[0] < rough / own < SAME[1]
        answers[CommandForm.ERROR] = (copied < COPIED and same, copied)
    if np.std(position) < 5 * own or np.std(position) < 1e-6:
        return answers
    plain = _correlate(command, position, recording.rate)
    for form in (CommandForm.INCREMENT, CommandForm.SPEED):
        added = rebuild_command(recording, Rebuilt(joint, name), form)
        likeness = _correlate(added, position, recording.rate)
        far = float(np.std(position) / max(np.std(added), 1e-12))
        is_so = likeness > FOLLOWED and plain < UNLIKE and AS_FAR[0] < far < AS_FAR[1]
        answers[form] = (is_so, likeness)
    return answers


def _roughness(values: Floats) -> float:
    """Typical size of fourth differences: white noise of σ gives σ, motion hardly any.

    (1, -4, 6, -4, 1) has the squares' sum 70.
    """
    return float(np.median(np.abs(np.diff(values, 4)))) / 0.6745 / np.sqrt(70)


def _correlate(command: Floats, position: Floats, rate: float) -> float:
    best = 0.0
    for lag in np.unique(np.linspace(0, MAX_LAG * rate, 13).astype(int)):
        x, y = command[: len(command) - lag], position[lag:]
        if np.std(x) > 1e-12 and np.std(y) > 1e-12:
            best = max(best, float(np.corrcoef(x, y)[0, 1]))
    return best


def _tell(
    form: CommandForm,
    commands: dict[str, Rebuilt],
    found: set[str],
    asked: set[str],
    numbers: Sequence[float],
) -> Finding:
    number = float(np.median(numbers))
    evidence = {
        CommandForm.ERROR: "commands are tracking errors, command minus position: they "
        f"carry the noise of the encoders (position added, {number:.2g} of their "
        "roughness is left)",
        CommandForm.INCREMENT: "commands are increments from row to row: added up, "
        f"positions follow them (correlation {number:.3f})",
        CommandForm.SPEED: "commands are velocities: integrated, positions follow them "
        f"(correlation {number:.3f})",
    }[form]
    return Finding(
        name="command_kind",
        answer=Answer.FAULT,
        joints=tuple(joint for joint in commands if joint in found),
        size=len(found) / len(asked),
        evidence=f"{evidence}, on {len(found)} of {len(asked)} joints.",
        next_step="Log the position commands themselves, as the drives get them.",
        fix=Fix(
            summary=f"commands rebuilt from {form}s",
            command_form=form,
            rebuilt=tuple(commands.values()),
        ),
    )
