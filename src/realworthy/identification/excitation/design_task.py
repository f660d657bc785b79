"""How a motion is designed.

What an excitation is about: a twin, the numbers wanted, and where it may move.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.identification.excitation.information import Criterion
from realworthy.identification.excitation.twin_limits import (
    LimitSettings,
    check_joints,
    find_home,
    find_limits,
    stand,
    tighten,
)
from realworthy.identification.problem.coordinates import FitCoordinates
from realworthy.parameters import ParameterSpace
from realworthy.robots.limits import Limits
from realworthy.twins import Twin, bind
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]


@dataclass(kw_only=True, slots=True)
class ExcitationSettings:
    """How a motion is designed."""

    seconds: float = 20.0
    criterion: Criterion = Criterion.D
    noise: float = 1e-3
    """[rad] sd of measured positions, white."""
    period: float = 10.0
    """[s] after which the motion repeats itself; at most `seconds`."""
    harmonic_count: int = 8
    highest_frequency: float = 3.0
    """[Hz]; faster motions shake what is flexible."""
    fade: float = 1.0
    """[s] from rest to full motion, and back."""
    first_count: int | None = None
    """Random motions to begin with; None: six, and more where few joints move."""
    child_count: int | None = None
    """New motions in each generation, beside the mixture; None: four, or more."""
    generation_count: int = 8
    sample_count: int = 2
    """Draws of e over which the criterion is averaged, the likeliest among them."""
    check_count: int = 8
    """Draws of e with which the limits of the result are checked."""
    coarse: int = 4
    """Time steps of the search over the twin's; the result is checked with its own."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= 600:
            raise RealworthyError(
                f"A motion of {self.seconds:g} s cannot be designed.",
                hint="Choose from 1 to 600 s.",
            )
        if not 0 < self.noise < np.inf:
            raise RealworthyError(f"noise is {self.noise:g} rad; it must be above 0.")
        for name in ("first_count", "generation_count", "sample_count", "check_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise RealworthyError(f"{name} is {value}; it must be 1 or more.")


_KINDS = ("armature", "damping", "coulomb_friction", "kp", "resistance")
"""What a drive is usually wrong about and a motion can tell."""
_GAINS = ("kp", "kd", "torque_constant", "gear")
_WIDE_DRAWS, _RARE_SHARE = 1024, 0.005
"""Draws by which the ends of a belief are found, and the share beyond each end."""
_MIN_ROOM = 0.05
"""Share of its range between a joint's home and the nearer end: what a design keeps
free there (`LimitSettings.position_margin`), so that less leaves nothing."""
_TOLERANCE = 0.1
"""Share of a number's size that its sd may have where nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExcitationSubject:
    """A twin as it will be excited."""

    twin: Twin
    """Hanging, where it would else have to balance."""
    space: ParameterSpace
    joints: tuple[str, ...]
    home: Floats
    limits: Limits
    """Of the design, within those of the hardware."""
    clearance: float
    """[m]"""
    wanted: Floats
    """(d,) sd that is asked for, in each parameter's unit."""
    rate: float
    """[Hz] of commands."""
    hangs: bool
    """Whether a floating base is held still."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Driven joint → why it stays at home, where nobody named the joints."""

    @property
    def timestep(self) -> float:
        return float(self.twin.compiled.model.opt.timestep)

    def sample(self, count: int, *, seed: int) -> Floats:
        """(count, d) e: what is believed most likely, then draws of the belief.

        A parameter that the belief lacks stays at its nominal value.
        """
        belief, space = self.twin.belief, self.space
        shared = [name for name in space.names if name in belief.space]
        e = np.tile(space.nominal, (count, 1))
        if shared:
            own = belief.marginal(shared)
            columns = [space.index(name) for name in shared]
            e[:, columns] = own.sample(count, seed=seed)
            e[0, columns] = [own.mean[name] for name in shared]
        return np.clip(e, space.lower, space.upper)

    def sample_widely(self, count: int, *, seed: int) -> Floats:
        """(count, d) e as `sample` gives it, four of them at the belief's corners.

        All numbers high, all low, and servo gains against all others: what is hardest
        on torques, and on speeds. Fewer corners where `count` is small.
        """
        e = self.sample(count, seed=seed)
        low, high = np.quantile(
            self.sample(_WIDE_DRAWS, seed=seed + 1),
            [_RARE_SHARE, 1 - _RARE_SHARE],
            axis=0,
        )
        gains = np.array([p.kind in _GAINS for p in self.space])
        corners = [
            high,
            np.where(gains, high, low),
            np.where(gains, low, high),
            low,
        ][: max(0, count - 1)]
        e[len(e) - len(corners) :] = np.reshape(corners, (-1, len(self.space)))
        return e


def find_subject(
    twin: Twin,
    parameters: ParameterSpace | Sequence[str] | None = None,
    *,
    sd: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
    limits: LimitSettings | None = None,
    rate: float | None = None,
) -> ExcitationSubject:
    """Checks what was asked for, and finds limits; raises for what does not exist."""
    settings = limits or LimitSettings()
    floats, twin = twin.base is not None, stand(twin)
    layout = Layout(bind(twin))
    moved = check_joints(twin, layout, joints)
    left_out = {} if joints is not None else _find_cramped(twin, layout, moved)
    moved = tuple(joint for joint in moved if joint not in left_out)
    if not moved:
        raise RealworthyError(
            f"No joint of {twin.owner} has room to move: "
            f"{'; '.join(f'{joint}: {why}' for joint, why in left_out.items())}.",
            hint="Give the twin a home pose, keyframe 'home', away from these ends.",
        )
    space = _choose_space(twin, layout, parameters, sd or {}, moved)
    home = find_home(layout, moved)
    timestep = float(twin.compiled.model.opt.timestep)
    rate = 1 / (4 * timestep) if rate is None else rate
    if not 1 <= rate <= 1.01 / timestep:
        raise RealworthyError(
            f"Commands cannot be sent at {rate:g} Hz to a twin whose time step is "
            f"{timestep:g} s.",
            hint=f"Choose from 1 to {1 / timestep:g} Hz.",
        )
    return ExcitationSubject(
        twin=twin,
        space=space,
        joints=moved,
        home=home,
        limits=tighten(find_limits(twin, moved), home, settings),
        clearance=settings.clearance,
        wanted=_find_wanted(space, sd or {}),
        hangs=floats and twin.base is None,
        left_out=left_out,
        rate=1 / (timestep * max(1, round(1 / (rate * timestep)))),
    )


def _find_cramped(twin: Twin, layout: Layout, joints: Sequence[str]) -> dict[str, str]:
    """Joints whose home lies at an end of their range, such as a closed gripper's.

    A motion around home would lead them, or their servo's sag, beyond it.
    """
    hard, home = find_limits(twin, joints), find_home(layout, joints)
    room = np.minimum(hard.upper - home, home - hard.lower)
    least = _MIN_ROOM * (hard.upper - hard.lower)
    return {
        joint: f"its home pose, {home[j]:.3g}, is at an end of its range, "
        f"{hard.lower[j]:.3g} to {hard.upper[j]:.3g}"
        for j, joint in enumerate(joints)
        if room[j] < least[j]
    }


def _choose_space(
    twin: Twin,
    layout: Layout,
    asked: ParameterSpace | Sequence[str] | None,
    sd: Mapping[str, float],
    joints: Sequence[str],
) -> ParameterSpace:
    """Those asked for, else those of a calibration, else the usual ones of drives."""
    if isinstance(asked, ParameterSpace):
        return asked
    if asked is not None:
        names = list(dict.fromkeys((*asked, *sd)))
    elif twin.belief_text is not None:
        names = list(dict.fromkeys((*twin.belief.space.names, *sd)))
    else:
        names = list(dict.fromkeys((*_usual(twin, layout, joints), *sd)))
    if not names:
        raise RealworthyError(
            f"Nothing that is usually unknown about drives exists in {twin.owner}.",
            hint=f"Name parameters. All: {twin.listing or 'twin.space.names'}",
        )
    return twin.space.select(names)


def _usual(twin: Twin, layout: Layout, joints: Sequence[str]) -> list[str]:
    drives = {layout.actuators[layout.actuator(joint)] for joint in joints}
    chosen = []
    for parameter in twin.space:
        own = parameter.element in joints or parameter.element in drives
        if own and parameter.kind in _KINDS and parameter.nominal > 0:
            chosen.append(parameter.name)
    for joint in joints:  # a velocity loop's gain, where no damping could stand for it
        name = f"{layout.actuators[layout.actuator(joint)]}.kd"
        if name in twin.space and f"{joint}.damping" not in chosen:
            chosen.append(name)
    if "all.delay" in twin.space:
        chosen.append("all.delay")
    return chosen


def _find_wanted(space: ParameterSpace, sd: Mapping[str, float]) -> Floats:
    bounds = FitCoordinates(space)
    wanted = bounds.tolerance(bounds.to_z(space.nominal), _TOLERANCE)
    for name, value in sd.items():
        if not 0 < value < np.inf:
            raise RealworthyError(
                f"An sd of {value:g} cannot be asked for of '{name}'.",
                hint="Give a number above 0, in the parameter's unit.",
            )
        wanted[space.index(name)] = value
    return np.where(wanted > 0, wanted, np.abs(space.nominal) * _TOLERANCE + 1e-12)
