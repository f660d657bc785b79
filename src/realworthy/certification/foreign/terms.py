"""Terms of mjlab's and Isaac Lab's observations, by the names they go by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from realworthy.certification.foreign.exporter_metadata import ExporterNotes
from realworthy.policies import Contract, Gravity, Linear, Term
from realworthy.policies.contract import InputRange

GYRO = ("base_ang_vel", "imu_ang_vel", "ang_vel", "gyro")
GRAVITY = ("projected_gravity", "gravity", "gravity_vec")
POSITIONS = ("joint_pos", "joint_pos_rel", "dof_pos")
VELOCITIES = ("joint_vel", "joint_vel_rel", "dof_vel")
ACTIONS = ("actions", "last_action", "last_actions", "prev_actions")
COMMANDS = ("command", "commands", "velocity_commands", "generated_commands")
_SPEED = ("base_lin_vel", "imu_lin_vel", "lin_vel")


@dataclass(slots=True, kw_only=True)
class TermsDraft:
    """Terms as far as names tell them."""

    terms: list[Term | str] = field(default_factory=list)
    """A name where nothing is known of it."""
    inputs: dict[str, InputRange] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def known(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if not isinstance(term, str))


def draft_terms(
    notes: ExporterNotes,
    *,
    width: int,
    names: Mapping[str, str],
    commands: Sequence[str],
    expected: Contract | None,
) -> TermsDraft:
    """Terms of the notes, for an observation of `width` numbers.

    `names` are the twin's joints by the file's; `expected` tells what its gyro,
    orientation and inputs are called.
    """
    draft = TermsDraft()
    joints = [names[joint] for joint in notes.joints]
    for place, name in enumerate(notes.terms):
        term = _make(name, joints, commands, notes, expected)
        if term is not None:
            term = _dress(term, place, notes, draft)
        draft.terms.append(name if term is None else term)
    _fill_command(draft, notes, width, expected)
    _check_sum(draft, width)
    if expected is None:
        draft.assumed.append("The base's sensors are taken to be called base.….")
    if not notes.scales:
        draft.assumed.append("The file does not say how terms are scaled; 1 is taken.")
    if not notes.histories:
        draft.assumed.append("The file does not mention histories; none are assumed.")
    return draft


def _make(
    name: str,
    joints: Sequence[str],
    commands: Sequence[str],
    notes: ExporterNotes,
    expected: Contract | None,
) -> Term | None:
    terms = () if expected is None else expected.terms
    if name in GYRO:
        gyros = [t.signals for t in terms if _is_gyro(t)]
        signals = gyros[0] if gyros else tuple(f"base.gyro.{axis}" for axis in "xyz")
        return Linear(name=name, signals=signals)
    if name in GRAVITY:
        gyros = [t.signals for t in terms if isinstance(t, Gravity)]
        base = tuple(f"base.orientation.{axis}" for axis in "wxyz")
        return Gravity(name=name, signals=gyros[0] if gyros else base)
    if name in POSITIONS:
        offset = notes.default if len(notes.default) == len(joints) else ()
        signals = tuple(f"{joint}.position" for joint in joints)
        return Linear(name=name, signals=signals, offset=offset)
    if name in VELOCITIES:
        return Linear(name=name, signals=tuple(f"{joint}.velocity" for joint in joints))
    if name in ACTIONS:
        return Linear(name=name, signals=tuple(f"{each}.action" for each in commands))
    return None


def _is_gyro(term: Term) -> bool:
    return len(term.signals) == 3 and all("gyro." in name for name in term.signals)


def _dress(
    term: Term, place: int, notes: ExporterNotes, draft: TermsDraft
) -> Term | None:
    """A term with its history, scale and clip."""
    changes: dict[str, object] = {}
    if place < len(notes.histories):
        changes["history"] = max(1, notes.histories[place])
    scale = notes.scales[place] if place < len(notes.scales) else ()
    if scale and any(factor != 1 for factor in scale):
        if not isinstance(term, Linear) or len(scale) not in (1, len(term.signals)):
            draft.missing.append(
                f"'{term.name}' is scaled by {scale}, which it cannot."
            )
            return None
        changes["scale"] = scale
    clip = notes.clips[place] if place < len(notes.clips) else ()
    if len(clip) == 2 and np.isfinite(clip).any():
        factors = {abs(factor) for factor in scale or (1.0,)}
        if clip[0] != -clip[1] or len(factors) > 1:
            draft.missing.append(
                f"'{term.name}' is cut to {clip[0]:g} … {clip[1]:g} before its scale;"
                " a term here is cut to ± one number after it."
            )
            return None
        changes["clip"] = clip[1] * factors.pop()
    return msgspec.structs.replace(term, **changes)


def _fill_command(
    draft: TermsDraft, notes: ExporterNotes, width: int, expected: Contract | None
) -> None:
    """What a person tells the policy: inputs of the task, if so many are left."""
    names = {*COMMANDS, *notes.commands}
    places = [i for i, term in enumerate(draft.terms) if term in names]
    if len(places) != 1 or expected is None:
        return
    others = [
        t for i, t in enumerate(draft.terms) if isinstance(t, str) and i != places[0]
    ]
    left = width - sum(term.width * term.history for term in draft.known)
    history = max(1, notes.histories[places[0]]) if notes.histories else 1
    inputs = tuple(expected.inputs)
    if others or left != len(inputs) * history:
        return
    name = notes.terms[places[0]]
    term = Linear(name=name, signals=inputs)
    dressed = _dress(term, places[0], notes, draft)
    if dressed is not None:
        draft.terms[places[0]] = dressed
        draft.inputs = dict(expected.inputs)
        draft.assumed.append(
            f"'{name}' is taken to be {', '.join(inputs)}, in this order."
        )


def _check_sum(draft: TermsDraft, width: int) -> None:
    known_width = sum(term.width * term.history for term in draft.known)
    unknown = [term for term in draft.terms if isinstance(term, str)]
    for name in unknown:
        room = f" ({width - known_width} numbers)" if len(unknown) == 1 else ""
        draft.missing.append(
            f"Say which signals '{name}'{room} is made of. {_why(name)}"
        )
    if not unknown and known_width != width:
        draft.missing.append(
            f"The terms add up to {known_width} numbers and the graph takes {width}:"
            " correct a width or a history."
        )


def _why(name: str) -> str:
    if name in _SPEED:
        return (
            "Robots seldom measure the speed of their base: name an estimate that the"
            " robot gives, or train without it."
        )
    if name in COMMANDS:
        return "Inputs that a person gives are listed under `inputs` too."
    return "A signal that the robot does not measure cannot be used."
