"""Everything that bounds a command, per number of it, in the robot's own order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.policies import Contract
from realworthy.recordings.sidecar import CommandKind
from realworthy.robots import RobotInfo
from realworthy.robots.limits import Limits

Floats = NDArray[np.float64]
_UNSTATED_SPEED = 2 * np.pi
"""[rad/s] of position drives whose contract states no speed."""
_BRAKING = 10.0
"""[1/s] acceleration with which a joint can brake, per its speed, where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drives:
    """One entry per number of a command; arrays are (commands,), ±inf: no limit.

    Position, speed, acceleration and torque are those of the driven joint.
    """

    commands: tuple[str, ...]
    kind: CommandKind | None
    """Of all commands; None where they differ."""
    joints: tuple[int, ...]
    """Place of the driven joint among the robot's; −1 where none is known."""
    command_lower: Floats
    command_upper: Floats
    """What the robot takes."""
    lower: Floats
    upper: Floats
    """[rad or m]"""
    speed: Floats
    """[rad/s or m/s]"""
    acceleration: Floats
    """[rad/s² or m/s²] with which it can brake."""
    torque: Floats
    """[N·m or N]"""
    kp: Floats
    kd: Floats
    """Gains of a position drive [N·m/rad, N·m·s/rad]; 0 where nobody knows."""
    kinds: tuple[CommandKind, ...] = ()
    """Of each command, where they differ."""
    rest: Floats | float = np.nan
    """Where a position drive rests that nothing moves, such as a gripper's at the end
    of its range; NaN where nobody says."""
    is_position: NDArray[np.bool_] = field(init=False)
    """Which commands are positions."""
    is_driven: NDArray[np.bool_] = field(init=False)
    """Which commands drive a joint that is known."""

    def __post_init__(self) -> None:
        kinds = (self.kind,) * len(self.commands) if self.kind else self.kinds
        if len(kinds) != len(self.commands):
            raise RealworthyError("Every command needs a kind.")
        object.__setattr__(self, "kinds", kinds)
        positions = np.array([kind == "position" for kind in kinds])
        object.__setattr__(self, "is_position", positions)
        object.__setattr__(self, "is_driven", np.array(self.joints) >= 0)
        for name in ("speed", "acceleration", "torque"):
            if not (getattr(self, name) > 0).all():
                raise RealworthyError(f"A limit of {name} must be above 0.")
        for name in ("kp", "kd"):
            values = getattr(self, name)
            if not (np.isfinite(values) & (values >= 0)).all():
                raise RealworthyError(f"Gains must be finite and 0 or more: {name}.")
        for low, high in ((self.lower, self.upper), self._range):
            if not (low < high).all():
                raise RealworthyError("A lower limit lies above its upper limit.")

    @property
    def width(self) -> int:
        return len(self.commands)

    @property
    def _range(self) -> tuple[Floats, Floats]:
        return self.command_lower, self.command_upper

    @property
    def can_hold(self) -> bool:
        """Whether no drive is one of torque or voltage: those follow no place."""
        return not {"torque", "voltage"} & set(self.kinds)

    def of_joints(self, values: Floats) -> Floats:
        """(commands,) of (joints,) measurements; 0 where no joint is driven."""
        return np.append(values, 0.0)[list(self.joints)]

    def limits(self, info: RobotInfo) -> Limits:
        """Of the driven joints, for the guards that watch measurements."""
        driven = [i for i, joint in enumerate(self.joints) if joint >= 0]
        return Limits(
            joints=tuple(info.joints[self.joints[i]] for i in driven),
            lower=self.lower[driven],
            upper=self.upper[driven],
            speed=self.speed[driven],
            acceleration=self.acceleration[driven],
            torque=self.torque[driven],
        )


def make_drives(
    info: RobotInfo,
    limits: Limits | None = None,
    *,
    kp: Mapping[str, float] | None = None,
    kd: Mapping[str, float] | None = None,
    kind: CommandKind | None = None,
    driven: Mapping[str, str] | None = None,
    rest: Mapping[str, float] | None = None,
    resting: Collection[str] = (),
) -> Drives:
    """The drives of a robot with some limits and gains by joint; no limit where none.

    A command `knee.command` drives the joint `knee`; `driven` names the joints of
    others. `rest` is by command; of commands that are `resting`, which nothing moves,
    the joint need not be known.
    """
    kind = kind or info.command_kind
    if kind is None:
        raise RealworthyError(
            f"Robot '{info.name}' takes commands of several kinds.",
            hint="Guards need one kind: position, velocity, torque or voltage.",
        )
    names = tuple(
        (driven or {}).get(signal) or find_joint(signal, info.joints)
        for signal in info.commands
    )
    for signal, name in zip(info.commands, names, strict=True):
        if name in info.joints or signal in resting or kind != "position":
            continue
        raise RealworthyError(
            f"Robot '{info.name}' has no joint '{name or signal.partition('.')[0]}', "
            f"which '{signal}' drives; guards must know where a drive of positions is.",
            hint="Say it in the policy's contract, under drives, such as "
            f"{signal}: {info.joints[0]}.",
        )
    kinds = (kind,) * len(names)
    return assign_drives(
        info, names, kinds, limits, kp=kp or {}, kd=kd or {}, rest=rest
    )


def assign_drives(
    info: RobotInfo,
    joints: Sequence[str],
    kinds: Sequence[CommandKind],
    limits: Limits | None,
    *,
    kp: Mapping[str, float],
    kd: Mapping[str, float],
    rest: Mapping[str, float] | None = None,
) -> Drives:
    """Drives of commands of given kinds, each of a joint by name; empty: of none known.

    Nothing but the robot's own range bounds a drive whose joint is not known.
    """
    known = () if limits is None else limits.joints

    def pick(what: str, default: float) -> Floats:
        values = None if limits is None else getattr(limits, what)
        return np.array(
            [
                values[known.index(name)]
                if values is not None and name in known
                else default
                for name in joints
            ]
        )

    return Drives(
        commands=info.commands,
        kind=kinds[0] if len(set(kinds)) == 1 else None,
        kinds=tuple(kinds),
        joints=tuple(info.joints.index(n) if n else -1 for n in joints),
        command_lower=info.command_lower,
        command_upper=info.command_upper,
        lower=pick("lower", -np.inf),
        upper=pick("upper", np.inf),
        speed=pick("speed", np.inf),
        acceleration=pick("acceleration", np.inf),
        torque=pick("torque", np.inf),
        kp=np.array([kp.get(name, 0.0) for name in joints]),
        kd=np.array([kd.get(name, 0.0) for name in joints]),
        rest=np.array([(rest or {}).get(name, np.nan) for name in info.commands]),
    )


def find_joint(signal: str, joints: Sequence[str]) -> str:
    """The joint that a command names; empty where it names none."""
    name = signal.partition(".command")[0]
    return name if name in joints else ""


def build_drives(
    contract: Contract, info: RobotInfo, *, speed: float | None = None
) -> Drives:
    """What bounds commands: the contract's limits, within what the robot takes."""
    limits = find_limits(contract, speed=speed)
    joints = {o: contract.drives.get(f"{o}.command", o) for o in contract.gains}
    kp = {joints[owner]: gains.kp for owner, gains in contract.gains.items()}
    kd = {joints[owner]: gains.kd for owner, gains in contract.gains.items()}
    return make_drives(
        info,
        limits,
        kp=kp,
        kd=kd,
        kind=contract.command_kind,
        driven=contract.drives,
        rest=contract.rest_commands,
        resting=contract.resting,
    )


def find_limits(contract: Contract, *, speed: float | None = None) -> Limits:
    """What training assumed of the joints; ±inf where it knew no limit.

    Position drives without a speed get one turn a second: a rate has to be limited.
    """

    def pick(what: str, unstated: float) -> np.ndarray:
        found = [getattr(contract.limits.get(j), what, None) for j in contract.joints]
        return np.array([unstated if v is None else v for v in found], dtype=float)

    is_servo = contract.command_kind == "position"
    fastest = pick("velocity", _UNSTATED_SPEED if is_servo else np.inf)
    fastest = np.minimum(fastest, np.inf if speed is None else speed)
    return Limits(
        joints=contract.joints,
        lower=pick("lower", -np.inf),
        upper=pick("upper", np.inf),
        speed=fastest,
        acceleration=_BRAKING * fastest,
        torque=pick("effort", np.inf),
    )
