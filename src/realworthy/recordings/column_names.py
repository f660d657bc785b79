"""What the name of a foreign column says: quantity, joint or number, unit.

`goalPos3 [deg]` is a command of joint 3 in degrees. Words are those that loggers of
labs, ROS, vendors' kits and data sets were seen to use (2026-11-19).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_QUANTITIES = {
    "position": "pos position positions q qpos angle angles ang theta encoder enc state"
    " actual present measured meas",
    "velocity": "vel velocity velocities dq qvel qdot speed omega",
    "torque": "tau torque torques effort efforts trq",
    "current": "current currents cur curr amps",
}
_COMMANDS = (
    "cmd command commanded commands goal target des desired ref reference "
    "setpoint sp sent action ctrl control qdes qref qcmd tgt"
)
_DESIRED_OR_SPEED = ("qd", "dotq")
_CLOCKS = "time t stamp timestamp clock sec secs seconds usec msec"
_UNITS = {
    "deg": "deg degs degree degrees °",
    "rad": "rad radian radians",
    "mrad": "mrad",
    "turn": "turn turns rev revs",
    "rpm": "rpm",
    "deg/s": "dps degps",
    "rad/s": "rads radps",
    "s": "s sec secs seconds",
    "ms": "ms msec millis",
    "us": "us usec micros µs",
    "ns": "ns nsec nanos",
    "A": "a amp amps ampere",
    "mA": "ma milliamps",
    "Nm": "nm",
    "mNm": "mnm",
    "ticks": "ticks tick raw counts count steps",
}
_UNIT_OF_WORD = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_QUANTITY_OF_WORD = {
    word: quantity for quantity, words in _QUANTITIES.items() for word in words.split()
}


@dataclass(frozen=True, slots=True)
class ColumnName:
    """What a column's name says; empty where it does not."""

    column: str
    quantity: str
    """position, velocity, torque or current."""
    is_command: bool
    is_clock: bool
    unit: str
    joint: str
    """The twin's joint that it names."""
    number: int | None
    """Its place, where it is numbered."""
    is_ambiguous: bool = False
    """Speed or goal, as `qd` may be either."""

    @property
    def template(self) -> str:
        """The name with what differs from joint to joint marked: `q_{i}`, `*_deg`."""
        if self.joint and self.joint in self.column:
            return self.column.replace(self.joint, "*", 1)
        if self.number is not None and not self.joint:
            last = re.compile(rf"^(.*?)(?<!\d)0*{self.number}(?!\d)(?!.*\d)(.*)$")
            if found := last.match(self.column):
                return f"{found[1]}{{i}}{found[2]}"
        return ""


def read_column(column: str, joints: Sequence[str]) -> ColumnName:
    """What the name of a column says of a robot with these joints."""
    rest, joint = _take_joint(column, joints)
    rest, unit = _take_bracket(rest)
    words = _split(rest)
    is_clock = bool(words) and words[0] in _CLOCKS.split()
    if not unit:
        words, unit = _take_unit(words, is_clock)
    ambiguous = any(word in _DESIRED_OR_SPEED for word in words)
    numbers = [int(word) for word in words if word.isdigit()]
    said = [_QUANTITY_OF_WORD[word] for word in words if word in _QUANTITY_OF_WORD]
    command = any(word in _COMMANDS.split() for word in words)
    quantity = next((q for q in said if q != "position"), said[0] if said else "")
    if ambiguous and not command:
        quantity = "velocity"
    return ColumnName(
        column=column,
        quantity=quantity,
        is_command=command,
        is_clock=is_clock and not command,
        unit=unit,
        joint=joint,
        number=numbers[-1] if numbers else None,
        is_ambiguous=ambiguous and not command,
    )


def find_other_words(name: ColumnName) -> str:
    """The name without its quantity and unit: what may be a lab's name of a joint."""
    rest, _ = _take_bracket(name.column)
    known = {*_QUANTITY_OF_WORD, *_COMMANDS.split(), *_DESIRED_OR_SPEED, *_UNIT_OF_WORD}
    return "_".join(word for word in _split(rest) if word not in known)


def _split(text: str) -> list[str]:
    """Words in small letters: at signs, at capitals and between letters and digits."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return re.findall(r"[a-zµ°]+|\d+", text.lower())


def _take_joint(column: str, joints: Sequence[str]) -> tuple[str, str]:
    """The column without the longest name of a joint in it, and that joint."""
    for joint in sorted(joints, key=len, reverse=True):
        short = joint.rpartition("/")[2]
        for name in dict.fromkeys((joint, short, _without_ending(short))):
            parts = [part for part in re.split(r"[^A-Za-z0-9]+", name) if part]
            if not parts or name.isdigit():
                continue
            wanted = r"[^A-Za-z0-9]*".join(map(re.escape, parts))
            found = re.search(
                rf"(?<![A-Za-z]){wanted}(?![A-Za-z0-9])", column, re.IGNORECASE
            )
            if found:
                return column[: found.start()] + " " + column[found.end() :], joint
    return column, ""


def _without_ending(joint: str) -> str:
    return re.sub(r"[_-]?joint$", "", joint, flags=re.IGNORECASE)


def _take_bracket(text: str) -> tuple[str, str]:
    """The text without `[deg/s]` or `(rad)`, and the unit in it."""
    found = re.search(r"[\[(]\s*([^\])]+?)\s*[\])]", text)
    if not found:
        return text, ""
    unit = _name_unit(found[1])
    return (
        (text[: found.start()] + " " + text[found.end() :], unit)
        if unit
        else (
            text,
            "",
        )
    )


def _name_unit(text: str) -> str:
    base, _, rate = text.strip().partition("/")
    unit = _UNIT_OF_WORD.get(base.strip().lower(), "")
    if base.strip() == "mA":
        unit = "mA"
    if rate.strip() in ("s", "sec") and unit:
        return f"{unit}/s"
    return "" if rate else unit


def _take_unit(words: list[str], is_clock: bool) -> tuple[list[str], str]:
    """Words without a unit at their end: `deg`, `deg s`, `us`."""
    if len(words) < 2 and not is_clock:
        return words, ""
    if len(words) > 2 and words[-1] == "s" and words[-2] in _UNIT_OF_WORD:
        return words[:-2], f"{_UNIT_OF_WORD[words[-2]]}/s"
    if len(words) > 1 and (unit := _UNIT_OF_WORD.get(words[-1])):
        return words[:-1], unit
    for i, word in enumerate(words[1:], 1):  # `q_deg_3`: the number may come last
        if word in ("deg", "rad", "mrad", "rpm", "ticks") and words[i + 1 :]:
            return words[:i] + words[i + 1 :], _UNIT_OF_WORD[word]
    return words, ""
