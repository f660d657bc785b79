"""Which numbers of a robot to fit, where nobody has said.

First by what drives are usually wrong about, in order of importance; then by what the
recordings tell: a number is fitted only where it, and all that matter more, would be
known well enough with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.gap.measure import is_finger
from realworthy.identification.covariance import eliminate_starts
from realworthy.identification.differences import differentiate
from realworthy.identification.inertials import list_inertials
from realworthy.identification.linearised import begin
from realworthy.identification.problem import Problem
from realworthy.identification.verdicts import Verdict
from realworthy.parameters import Parameter
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands

Floats = NDArray[np.float64]
_OF_DRIVES = {
    "position": ("kp", "kd", "damping"),
    "velocity": ("kd", "damping"),
    "voltage": ("resistance", "damping"),
    "torque": ("damping",),
}
"""Kind of command → numbers of its drive, the more important first.

A drive's `kd` brakes as the joint's `damping` does: the first that is there counts.
"""
_ONE_LINK = 2
"""Inertial numbers of a single link, centre and mass: they tell all that its rotor
could, which only adds to its inertia."""
_WORTH = 0.5
"""Share of its size up to which a number's sd makes it worth fitting."""
_OFFSET, _BELIEVED = 0.15, 9.0
"""[rad] up to which recordings must tell an encoder's offset, and what is believed of
it before, as information in that unit: fits hold offsets within 0.05 rad."""


def choose_parameters(
    twin: Twin, joints: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Names of parameters that may be worth fitting, the most important first.

    Of `joints` (all but fingers): drives' gains, dry friction, one delay, then rotors,
    centres of mass and masses where commands are forces (a rotor is guessed more often
    than a link is weighed), encoder offsets, and rotors otherwise.
    """
    lines = describe_commands(bind(twin))
    recorded = None if joints is None else set(joints)
    driven = {
        line.joint: (line.signal.partition(".command")[0], line.kind)
        for line in lines
        if line.joint is not None and not is_finger(line.joint)
    }
    driven = {j: d for j, d in driven.items() if recorded is None or j in recorded}
    others = [j for j in joints or () if j not in driven and not is_finger(j)]
    first: list[str] = []
    for kind in ("kp", "resistance"):
        first += [f"{d}.{kind}" for d, k in driven.values() if kind in _OF_DRIVES[k]]
    for joint, (drive, kind) in driven.items():
        brakes = [f"{drive}.kd", f"{joint}.damping"]
        usable = [n for n in brakes if n.rpartition(".")[2] in _OF_DRIVES[kind]]
        first += [n for n in usable if n in twin.space and twin.space[n].nominal > 0][
            :1
        ]
    first += [f"{joint}.damping" for joint in others]
    first += [f"{joint}.coulomb_friction" for joint in (*driven, *others)]
    first.append("all.delay")
    kinds, is_single = {kind for _, kind in driven.values()}, False
    rotors = [f"{joint}.armature" for joint in driven]
    if kinds & {"torque", "voltage"}:
        inertials = list_inertials(twin, list(driven))
        is_single = len(inertials) == _ONE_LINK
        first += [] if is_single else rotors
        first += inertials or ("all.mass",)
    first += [f"{joint}.position.sensor_bias" for joint in driven]
    first += [] if is_single else rotors
    names = tuple(n for n in dict.fromkeys(first) if _is_usable(twin, n))
    if not names or not (driven or others):
        raise RealworthyError(
            f"{twin.owner} has no drive at these joints whose numbers could be fitted.",
            hint=f"Name parameters: {twin.listing}" if twin.listing else "",
        )
    return names


def share(twin: Twin, names: Sequence[str]) -> tuple[str, ...]:
    """Factors `all.<kind>` that move several of `names` at once, and what is shared.

    Only kinds that set how a drive answers: a first, rough fit needs no more. Empty
    where no kind has several members.
    """
    space = twin.space
    found = []
    for kind in ("kp", "kd", "damping", "coulomb_friction"):
        members = [
            n for n in names if n.endswith(f".{kind}") and not n.startswith("all.")
        ]
        if len(members) > 1 and f"all.{kind}" in space:
            found.append(f"all.{kind}")
    found += [n for n in names if n == "all.delay"] if found else []
    return tuple(found)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A number that was not fitted, and why."""

    name: str
    verdict: Verdict
    sd: float
    """What these recordings could tell of it, in its unit."""
    partners: tuple[str, ...] = ()
    """Fitted numbers with which it can be exchanged."""


def keep_told(
    problem: Problem, *, noise_factor: float = 1.0, count_factor: float = 1.0
) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Names that these recordings tell, looked at around nominal, and the others.

    Greedy in the order of the space. Residuals are `noise_factor` times the noise, and
    there will be `count_factor` times as many of them.
    """
    z, bounds = problem.start_z, problem.coordinates
    point = begin(problem, z)
    jacobian = differentiate(problem, z, point.starts)
    response = eliminate_starts(jacobian.by_z, jacobian.by_start, problem.runs)
    information = response.T @ response * count_factor / noise_factor**2
    wanted = bounds.tolerance(z, _WORTH) / bounds.slope(z)
    wanted = np.where(wanted > 0, wanted, _WORTH * bounds.scale)
    is_offset = np.array([p.kind == "sensor_bias" for p in problem.space])
    wanted = np.where(is_offset, _OFFSET, wanted)
    scaled = information * np.outer(wanted, wanted)  # sd of 1 is just worth it
    known = scaled + np.diag(np.where(is_offset, _BELIEVED, 0.0))
    kept: list[int] = []
    left = []
    for i, name in enumerate(problem.space.names):
        tried = [*kept, i]
        covariance = _invert(known[np.ix_(tried, tried)])
        alone = 1 / np.sqrt(max(scaled[i, i], 1e-300))
        is_known = covariance is not None and np.diag(covariance).max() <= 1
        if alone <= 1 and is_known:
            kept = tried
            continue
        slope, is_seen = float(bounds.slope(z)[i]), alone <= 1
        sd = min(float(wanted[i] * alone), float(bounds.scale[i]))
        left.append(
            LeftOut(
                name=name,
                verdict=Verdict.ONLY_IN_COMBINATION if is_seen else Verdict.NOT_EXCITED,
                sd=slope * sd,
                partners=_find_partners(problem, scaled, kept, i) if is_seen else (),
            )
        )
    return tuple(problem.space.names[i] for i in kept), tuple(left)


def _find_partners(
    problem: Problem, scaled: Floats, kept: Sequence[int], i: int
) -> tuple[str, ...]:
    """Those kept numbers that answer most like number i, three at most."""
    size = np.sqrt(np.maximum(np.diag(scaled), 1e-300))
    alike = {k: abs(scaled[i, k]) / (size[i] * size[k]) for k in kept}
    order = sorted(alike, key=lambda k: -alike[k])
    return tuple(problem.space.names[k] for k in order[:3] if alike[k] > 0.3)


def _invert(matrix: Floats) -> Floats | None:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    inverse = np.linalg.inv(factor)
    return np.asarray(inverse.T @ inverse, dtype=np.float64)


def _is_usable(twin: Twin, name: str) -> bool:
    """Whether the twin has it, and a ratio of it makes sense where only ratios do."""
    if name not in twin.space:
        return False
    parameter: Parameter = twin.space[name]
    placed = parameter.kind in ("delay", "sensor_bias", "centre_of_mass")
    return placed or parameter.nominal > 0
