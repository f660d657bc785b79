"""Which numbers of a robot to fit, where nobody has said.

First by what drives are usually wrong about, in order of importance; then by what the
recordings tell: a number is fitted only where it, and all that matter more, would be
known well enough with it.

What brakes a joint twice: its own damping, and its drive's `kd`.

Only the sum counts unless the drive reaches its torque limit. Where recordings do not
separate them, the damping stays nominal and the drive has the rest.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.gap.measure import is_finger
from realworthy.identification.calibration.inertials import list_inertials
from realworthy.identification.identifiability.verdicts import ParameterVerdict
from realworthy.identification.problem.problem import Problem
from realworthy.identification.problem.residuals import evaluate_at
from realworthy.identification.solver.covariance import eliminate_starts
from realworthy.identification.solver.jacobian import differentiate, refine_jacobian
from realworthy.parameters import Parameter
from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.space import groups
from realworthy.twins.writers import Group

Floats = NDArray[np.float64]
_OF_DRIVES = {
    "position": ("kp", "kd", "damping"),
    "velocity": ("kd", "damping"),
    "voltage": ("resistance", "damping"),
    "torque": ("damping",),
}
"""Kind of command → numbers of its drive, the more important first.

A drive's `kd` brakes as the joint's `damping` does: the first that is there counts, the
other is asked for last (see `brakes`).
"""
_SINGLE_LINK_NUMBERS = 2
"""Inertial numbers of a single link, centre and mass: they tell all that its rotor
could, which only adds to its inertia."""
_WORTH_FITTING_SHARE = 0.5
"""Share of its size up to which a number's sd makes it worth fitting."""
_OFFSET_WORTH, _OFFSET_INFORMATION = 0.15, 9.0
"""[rad] up to which recordings must tell an encoder's offset, and what is believed of
it before, as information in that unit: fits hold offsets within 0.05 rad."""

_TRUSTED_CHI2, _IMITATED_RATIO = 4.0, 30.0
"""Reduced χ² up to which a fit says what it does not tell, and times that not knowing
the others widens a number (others make up 99.9 % of its answer)."""
_CROWDING_RATIO = 1.5
"""Times by which one more number may widen those that are hardly known before it."""
_PARTNER_CORRELATION = 0.5
"""Correlation from which two numbers can be exchanged."""


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
        is_single = len(inertials) == _SINGLE_LINK_NUMBERS
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


def find_shared_factors(twin: Twin, names: Sequence[str]) -> tuple[str, ...]:
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


def find_contact_parameters(twin: Twin, names: Sequence[str]) -> tuple[str, ...]:
    """Those of `names` that belong to contacts: friction, restitution, softness."""
    found = groups(twin, twin.space.select(names))
    return tuple(found[Group.CONTACT].names) if Group.CONTACT in found else ()


class UnfittedParameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number that was not fitted, and why."""

    name: str
    verdict: ParameterVerdict
    sd: float
    """What these recordings tell of it beside the fitted ones, in its unit."""
    partners: tuple[str, ...] = ()
    """Fitted numbers with which it can be exchanged."""


class ParameterChoice(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True
):
    """Which numbers are fitted, and what the others may do to them."""

    names: tuple[str, ...]
    left_out: tuple[UnfittedParameter, ...] = ()
    shift_sd_z: tuple[float, ...] = ()
    """By how much a fitted number may be off, in z, because others are held: these are
    believed to within their own size, and to what the recordings tell of them."""
    partners: tuple[tuple[str, ...], ...] = ()
    """Those others, where a fitted number can be exchanged with them."""
    misfit: float = 1.0
    """How much larger than white noise residuals were taken to be, squared."""


def choose_identifiable(
    problem: Problem,
    *,
    misfit: float = 1.0,
    count_factor: float = 1.0,
    without: Sequence[str] = (),
) -> ParameterChoice:
    """What these recordings tell, looked at around nominal, and what they do not.

    Greedy in the order of the space. Residuals are √`misfit` times the noise, and
    there will be `count_factor` times as many of them. Numbers `without` which a fit
    shall be are left out in any case.
    """
    z, bounds, names = problem.start_z, problem.coordinates, problem.space.names
    point = evaluate_at(problem, z)
    jacobian = refine_jacobian(problem, point, differentiate(problem, z, point.starts))
    response = eliminate_starts(jacobian.by_z, jacobian.by_start, problem.runs)
    information = response.T @ response * count_factor / misfit
    wanted = _find_worth(problem, z)
    is_offset = np.array([p.kind == "sensor_bias" for p in problem.space])
    scaled = information * np.outer(wanted, wanted)  # sd of 1 is just worth it
    known = scaled + np.diag(np.where(is_offset, _OFFSET_INFORMATION, 0.0))
    alone = 1 / np.sqrt(np.maximum(np.diag(scaled), 1e-300))
    kept, most = list[int](), np.ones(1)  # largest variances, the next number's last
    for i in range(len(names)):
        covariance = _invert(known[np.ix_([*kept, i], [*kept, i])])
        if names[i] in without or alone[i] > 1 or covariance is None:
            continue
        if (np.diag(covariance) > most).any():
            continue
        kept.append(i)
        most = np.append(np.maximum(1.0, _CROWDING_RATIO**2 * np.diag(covariance)), 1.0)
    believed = scaled + np.diag(
        np.where(is_offset, _OFFSET_INFORMATION, _WORTH_FITTING_SHARE**2)
    )
    joint = _invert(believed)
    held = _invert(believed[np.ix_(kept, kept)])
    assert joint is not None  # all is believed to some extent
    assert held is not None
    left = []
    for i in sorted(set(range(len(names))) - set(kept)):
        is_seen = bool(alone[i] <= 1)
        sd = min(float(wanted[i] * np.sqrt(joint[i, i])), float(bounds.scale[i]))
        left.append(
            UnfittedParameter(
                name=names[i],
                verdict=ParameterVerdict.ONLY_IN_COMBINATION
                if is_seen
                else ParameterVerdict.NOT_EXCITED,
                sd=float(bounds.slope(z)[i]) * sd,
                partners=_find_partners(names, joint, i, kept) if is_seen else (),
            )
        )
    more = np.maximum(0.0, np.diag(joint)[kept] - np.diag(held))
    seen = [names.index(one.name) for one in left if one.partners]
    return ParameterChoice(
        names=tuple(names[i] for i in kept),
        left_out=tuple(left),
        shift_sd_z=tuple((wanted[kept] * np.sqrt(more)).tolist()),
        partners=tuple(_find_partners(names, joint, i, seen) for i in kept),
        misfit=misfit,
    )


def _find_partners(
    names: Sequence[str], covariance: Floats, i: int, others: Sequence[int]
) -> tuple[str, ...]:
    """Those of `others` whose errors go with those of number i, three at most."""
    sd = np.sqrt(np.diag(covariance))
    together = {k: abs(covariance[i, k]) / (sd[i] * sd[k]) for k in others}
    order = sorted(together, key=lambda k: -together[k])
    return tuple(names[k] for k in order[:3] if together[k] > _PARTNER_CORRELATION)


def find_unidentified(
    problem: Problem, z: Floats, covariance_z: Floats, reduced_chi2: float
) -> tuple[str, ...]:
    """Numbers that others imitate, and of which a fit does not know half their size.

    None where the fit leaves much: its derivatives are those of a wrong place. Numbers
    at an end of their range, and offsets, which are believed, do not count.
    """
    if reduced_chi2 > _TRUSTED_CHI2:
        return ()
    bounds = problem.coordinates
    sd = np.sqrt(np.diag(covariance_z))
    alone = 1 / np.sqrt(np.diag(np.linalg.inv(covariance_z)))
    wanted = _find_worth(problem, z)
    slack = 1e-6 * bounds.scale
    inside = (bounds.lower + slack < z) & (z < bounds.upper - slack)
    return tuple(
        p.name
        for i, p in enumerate(problem.space)
        if sd[i] > max(wanted[i], _IMITATED_RATIO * alone[i])
        and inside[i]
        and p.kind != "sensor_bias"
    )


def _find_worth(problem: Problem, z: Floats) -> Floats:
    """(d,) sd in z up to which a number is worth fitting."""
    bounds = problem.coordinates
    wanted = bounds.tolerance(z, _WORTH_FITTING_SHARE) / bounds.slope(z)
    wanted = np.where(wanted > 0, wanted, _WORTH_FITTING_SHARE * bounds.scale)
    is_offset = np.array([p.kind == "sensor_bias" for p in problem.space])
    return np.where(is_offset, _OFFSET_WORTH, wanted)


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


_MIN_DRIVE_DAMPING = 0.1
"""What is left to a drive beside a published damping at least, as a share of it."""


def pair_dampings(twin: Twin, joints: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`kd` and `damping` of each of `joints` that has both, and more than none."""
    drives = {
        line.joint: line.signal.partition(".command")[0]
        for line in describe_commands(bind(twin))
        if line.joint in joints
    }
    pairs = [(f"{drive}.kd", f"{joint}.damping") for joint, drive in drives.items()]
    space = twin.space
    return tuple(
        pair for pair in pairs if all(n in space and space[n].nominal > 0 for n in pair)
    )


def restore_dampings(
    twin: Twin, pairs: Sequence[tuple[str, str]], values: Mapping[str, float]
) -> dict[str, float]:
    """Values with dampings as `twin` has them, and what else brakes in `kd`.

    Where all that brakes is less than that, both stay as they were.
    """
    restored = dict(values)
    for drive, joint in pairs:
        if drive in values and joint in values:
            published = twin.space[joint].nominal
            rest = values[drive] + values[joint] - published
            if rest > _MIN_DRIVE_DAMPING * published:
                restored |= {drive: rest, joint: published}
    return restored
