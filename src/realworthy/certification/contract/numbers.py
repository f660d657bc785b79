"""A policy's gains, limits, delays, envelope, normaliser and examples, checked."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.contract.finding import Aspect, ContractFinding, Mark
from realworthy.certification.contract.terms import is_own, list_columns
from realworthy.policies import Contract, Policy
from realworthy.policies.contract import JointLimits
from realworthy.policies.parity import TOLERANCE, is_same, measure_parity
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

_NEAR_GAIN, _FAR_GAIN = 0.02, 0.10
"""Shares by which gains differ noticeably, and too much."""
_LIMIT_SLACK = 0.05
"""Share by which limits of speed and effort may be wider than the twin's."""
_RANGE_SLACK = 0.01
"""[rad or m] by which limits of position may be wider."""
_DELAY_SLACK = 5e-4
"""[s]"""
_ENVELOPE_SLACK = 0.02
"""Share of a range, which is that of samples, by which a number may be outside."""


def compare_gains(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    """kp and kd against the twin's; those that training drew may be anywhere inside."""
    off: list[tuple[float, str, float, float]] = []
    for owner, ours in contract.gains.items():
        theirs = task.gains.get(owner)
        if theirs is None:
            continue
        for kind in ("kp", "kd"):
            mine, twins = getattr(ours, kind), getattr(theirs, kind)
            drawn = contract.envelope.get(f"{owner}.{kind}")
            if drawn is not None and drawn.lower <= twins <= drawn.upper:
                continue
            size = max(abs(mine), abs(twins))
            share = abs(mine - twins) / size if size else 0.0
            if share > _NEAR_GAIN:
                off.append((share, f"{owner}.{kind}", mine, twins))
    if off:
        share, name, mine, twins = max(off)
        yield ContractFinding(
            name=Aspect.GAINS,
            mark=Mark.FAILED if share > _FAR_GAIN else Mark.WARNING,
            about=f"{name} is {mine:g} in the contract and {twins:g} in the twin;"
            f" {len(off)} gains differ by more than {_NEAR_GAIN:.0%}.",
            remedy="Set the twin's drives as the robot's will be, or train with these.",
        )


def compare_limits(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    """Limits wider than the twin's, or none where the twin has some."""
    wider: list[str] = []
    open_: list[str] = []
    for joint, twins in task.limits.items():
        ours = contract.limits.get(joint, JointLimits())
        for kind, sign in (("lower", -1), ("upper", 1), ("velocity", 1), ("effort", 1)):
            mine, limit = getattr(ours, kind), getattr(twins, kind)
            if limit is None:
                continue
            if mine is None:
                open_.append(f"{joint}.{kind}")
                continue
            is_place = kind in ("lower", "upper")
            slack = _RANGE_SLACK if is_place else _LIMIT_SLACK * abs(limit)
            if sign * (mine - limit) > slack:
                wider.append(f"{kind} of {joint} is {mine:g}, the twin's {limit:g}")
    if wider:
        yield ContractFinding(
            name=Aspect.LIMITS,
            mark=Mark.FAILED,
            about=f"{wider[0][0].upper()}{wider[0][1:]}: {len(wider)} "
            + ("limit is wider." if len(wider) == 1 else "limits are wider."),
            remedy="It was trained to use what the robot does not have; train within"
            " the twin's limits, or correct the twin's.",
        )
    if open_:
        yield ContractFinding(
            name=Aspect.LIMITS,
            mark=Mark.WARNING,
            about=f"It states no {open_[0]}, nor {len(open_) - 1} more of the twin's"
            " limits."
            if len(open_) > 1
            else f"It states no {open_[0]}, which the twin limits.",
            remedy="Write what training assumed under `limits`.",
        )


def compare_range(contract: Contract, worlds: TaskWorlds) -> Iterator[ContractFinding]:
    """Commands of a zero action, which must be possible."""
    lines = {line.signal: line for line in describe_commands(worlds.bound)}
    ranges = Layout(worlds.bound).joint_ranges()
    for name, rest in zip(
        contract.action.commands, contract.action.offset, strict=True
    ):
        if name not in lines:
            continue
        line = lines[name]
        lower, upper = line.lower, line.upper
        if line.kind == "position" and line.joint in ranges:
            low, high = ranges[line.joint]
            lower, upper = max(lower, low), min(upper, high)
        if not lower - _RANGE_SLACK <= rest <= upper + _RANGE_SLACK:
            yield ContractFinding(
                name=Aspect.RANGE,
                mark=Mark.FAILED,
                about=f"'{name}' of a zero action is {rest:g}, outside the twin's"
                f" {lower:g} … {upper:g}.",
                remedy="An offset of another joint or unit, or another zero: compare"
                " the default pose.",
            )


def compare_delays(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    """Delays that these worlds have, against those of training."""
    for name in ("observation", "action"):
        least, most = getattr(contract.delays, name)
        low, high = getattr(task.delays, name)
        if low < least - _DELAY_SLACK or high > most + _DELAY_SLACK:
            yield ContractFinding(
                name=Aspect.DELAYS,
                mark=Mark.WARNING,
                about=f"Delay of the {name} is {low * 1e3:g} … {high * 1e3:g} ms here;"
                f" it was trained on {least * 1e3:g} … {most * 1e3:g} ms.",
                remedy="Train with the delays of the calibrated twin.",
            )


def compare_envelope(
    contract: Contract, worlds: TaskWorlds
) -> Iterator[ContractFinding]:
    """The twin's own numbers, against those on which the policy was trained."""
    space = worlds.task.twin.space
    outside = []
    for name, spread in contract.envelope.items():
        if name in space:
            value = space[name].nominal
            over = max(spread.lower - value, value - spread.upper)
            width = spread.upper - spread.lower
            if over > max(_ENVELOPE_SLACK * width, 1e-9 * abs(value)):
                outside.append((over / width if width else np.inf, name, value, spread))
    if outside:
        _, name, value, spread = max(outside, key=lambda each: each[0])
        yield ContractFinding(
            name=Aspect.ENVELOPE,
            mark=Mark.WARNING,
            about=f"{len(outside)} of {len(contract.envelope)} numbers of the twin are"
            f" outside what it was trained on; {name} is {value:.4g}, trained on"
            f" {spread.lower:.4g} … {spread.upper:.4g}.",
            remedy="Train with a belief around this twin.",
        )


_UNUSUAL, _ABSURD = 5.0, 10.0
"""|z| of observations, 99 % of rows, from which a normaliser is unlikely, and wrong."""
_MIN_SPREAD_RATIO = 0.05
"""Median over columns of (sd observed) / (sd in the contract) below which a normaliser
is too wide: inputs that are twenty times smaller than in training."""
_MIN_ROWS = 20
"""Rows of observations below which neither a 99 % quantile nor an sd means much."""
Floats = NDArray[np.floating]


def judge_normaliser(
    contract: Contract, seen: Floats | None
) -> Iterator[ContractFinding]:
    """Mean and sd that the contract says, against (n, width) observations of play."""
    said = contract.normaliser
    if said is None or seen is None or len(seen) < _MIN_ROWS:
        if is_own(contract) or said is not None:
            why = "no observations were given" if said else "the contract states none"
            about = f"Not judged: {why}."
        else:
            about = "The contract states none; one inside the graph is not checked."
        yield ContractFinding(name=Aspect.NORMALISER, mark=Mark.OK, about=about)
        return
    z = np.abs((seen - np.array(said.mean)) / np.array(said.sd))
    high = np.quantile(z, 0.99, axis=0)
    worst = int(np.argmax(high))
    column = list_columns(contract.terms)[worst]
    spread = float(np.median(seen.std(axis=0) / np.array(said.sd)))
    if high[worst] > _UNUSUAL:
        count = int((high > _UNUSUAL).sum())
        yield ContractFinding(
            name=Aspect.NORMALISER,
            mark=Mark.FAILED if high[worst] > _ABSURD else Mark.WARNING,
            about=f"{column} is seen {high[worst]:.3g} sd from the normaliser's mean"
            f" ({said.mean[worst]:.3g} ± {said.sd[worst]:.2g}); {count} of"
            f" {contract.width} numbers are further off than {_UNUSUAL:g} sd.",
            remedy="It may come from another training run: export the policy again"
            " with the normaliser that it learned with.",
        )
    elif spread < _MIN_SPREAD_RATIO:
        yield ContractFinding(
            name=Aspect.NORMALISER,
            mark=Mark.WARNING,
            about=f"Numbers vary by {spread:.2g} of the normaliser's sd (median).",
            remedy="It may come from another training run, or the policy hardly moves.",
        )
    else:
        about = (
            f"99 % of what it sees is within {high[worst]:.2g} sd ({len(seen)} rows)."
        )
        yield ContractFinding(name=Aspect.NORMALISER, mark=Mark.OK, about=about)


def judge_parity(policy: Policy) -> Iterator[ContractFinding]:
    """Its answers to its own examples."""
    parity = policy.contract.parity
    if parity is None:
        yield ContractFinding(
            name=Aspect.PARITY,
            mark=Mark.WARNING,
            about="It carries no examples: only playing shows whether the graph is the"
            " one that was trained.",
            remedy="Add `parity`: observations and the trainer's actions for them.",
        )
        return
    worst = measure_parity(policy)
    same = is_same(policy)
    yield ContractFinding(
        name=Aspect.PARITY,
        mark=Mark.OK if same else Mark.FAILED,
        about=f"Its actions differ by up to {worst:.2g} from those at export, over"
        f" {len(parity.actions)} examples ({TOLERANCE:g} is allowed).",
        remedy="" if same else "Graph, engine or wiring changed: export it again.",
    )
