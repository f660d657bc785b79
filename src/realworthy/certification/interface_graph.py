"""A policy's graph: is its normaliser that of what it sees, is it the exported one."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.columns import list_columns
from realworthy.certification.finding import Aspect, Finding, Mark
from realworthy.certification.interface_terms import is_own
from realworthy.policies import Contract, Policy
from realworthy.policies.parity import TOLERANCE, is_same, measure_parity

_UNUSUAL, _ABSURD = 5.0, 10.0
"""|z| of observations, 99 % of rows, from which a normaliser is unlikely, and wrong."""
_WIDE = 0.05
"""Median of (spread seen) / (spread said) below which a normaliser is too wide."""
_FEW = 20
"""Rows of observations below which they say nothing."""
Floats = NDArray[np.floating]


def judge_normaliser(contract: Contract, seen: Floats | None) -> Iterator[Finding]:
    """Mean and sd that the contract says, against (n, width) observations of play."""
    said = contract.normaliser
    if said is None or seen is None or len(seen) < _FEW:
        if is_own(contract) or said is not None:
            why = "no observations were given" if said else "the contract says none"
            about = f"Not judged: {why}."
        else:
            about = "The contract says none; what the graph does inside is its own."
        yield Finding(name=Aspect.NORMALISER, mark=Mark.OK, about=about)
        return
    z = np.abs((seen - np.array(said.mean)) / np.array(said.sd))
    high = np.quantile(z, 0.99, axis=0)
    worst = int(np.argmax(high))
    column = list_columns(contract.terms)[worst]
    spread = float(np.median(seen.std(axis=0) / np.array(said.sd)))
    if high[worst] > _UNUSUAL:
        count = int((high > _UNUSUAL).sum())
        yield Finding(
            name=Aspect.NORMALISER,
            mark=Mark.FAILED if high[worst] > _ABSURD else Mark.WARNING,
            about=f"{column} is seen {high[worst]:.3g} sd from the normaliser's mean"
            f" ({said.mean[worst]:.3g} ± {said.sd[worst]:.2g}); {count} of"
            f" {contract.width} numbers are further off than {_UNUSUAL:g} sd.",
            remedy="It may be of another training: export the policy again with the"
            " normaliser that it learned with.",
        )
    elif spread < _WIDE:
        yield Finding(
            name=Aspect.NORMALISER,
            mark=Mark.WARNING,
            about=f"Numbers vary by {spread:.2g} of what the normaliser says (median).",
            remedy="It may be of another training; or the policy hardly moves.",
        )
    else:
        about = (
            f"99 % of what it sees is within {high[worst]:.2g} sd ({len(seen)} rows)."
        )
        yield Finding(name=Aspect.NORMALISER, mark=Mark.OK, about=about)


def judge_parity(policy: Policy) -> Iterator[Finding]:
    """Its answers to its own examples."""
    parity = policy.contract.parity
    if parity is None:
        yield Finding(
            name=Aspect.PARITY,
            mark=Mark.WARNING,
            about="It carries no examples: only playing shows whether the graph is the"
            " one that was trained.",
            remedy="Add `parity`: observations and the trainer's actions for them.",
        )
        return
    worst = measure_parity(policy)
    same = is_same(policy)
    yield Finding(
        name=Aspect.PARITY,
        mark=Mark.OK if same else Mark.FAILED,
        about=f"Its actions differ by up to {worst:.2g} from those at export, over"
        f" {len(parity.actions)} examples ({TOLERANCE:g} is allowed).",
        remedy="" if same else "Graph, engine or wiring changed: export it again.",
    )
