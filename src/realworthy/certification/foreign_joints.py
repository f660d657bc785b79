"""Which joints of a file are which of a twin, and which of them an action moves."""

from collections.abc import Mapping, Sequence

from realworthy.certification.foreign_notes import ExporterNotes, Notes
from realworthy.policies import Contract
from realworthy.policies.runner import Ports


def match_joints(
    joints: Sequence[str], notes: Notes, expected: Contract | None
) -> dict[str, str]:
    """The twin's joints by the file's, as far as they are found."""
    if expected is None:
        notes.assume("joints", "The twin's names are taken to be the file's.")
        return {joint: joint for joint in joints}
    plain = {_strip(joint): joint for joint in expected.joints}
    found = {}
    for joint in joints:
        if joint in expected.joints:
            found[joint] = joint
        elif _strip(joint) in plain:
            found[joint] = plain[_strip(joint)]
    if renamed := [f"{a} → {b}" for a, b in found.items() if a != b]:
        notes.assume(
            "joints", f"Names of the twin for the file's: {', '.join(renamed)}."
        )
    if lost := [joint for joint in joints if joint not in found]:
        notes.miss(
            "joints",
            f"The task has no joint {', '.join(map(repr, lost))}; it has"
            f" {', '.join(expected.joints)}. Say which is which, in the file's order.",
        )
    return found


def _strip(joint: str) -> str:
    return joint.lower().rpartition("/")[2].removesuffix("_joint").strip("_")


def find_driven(
    said: ExporterNotes,
    names: Mapping[str, str],
    ports: Ports,
    notes: Notes,
    expected: Contract | None,
) -> dict[str, str]:
    """The file's joints that an action moves → owners of their commands, in order."""
    count = ports.action.shape[1]
    if expected is None:
        owners = {joint: joint for joint in said.joints}
    else:
        known = expected.command_owners
        owners = {joint: name for joint, name in names.items() if name in known}
    if len(owners) == count:
        return owners
    notes.miss(
        "action",
        f"The graph gives {count} actions, and of {len(said.joints)} joints in the file"
        f" {len(owners)} are known to be driven: say which command each action is.",
    )
    notes.miss("gains", "Say kp and kd of each drive.")
    notes.miss("command_kind", "Say what commands are: position, velocity, torque.")
    return {}
