"""`show parameters`, `show X.belief.yaml`: what can be unknown, what is believed."""

from collections.abc import Sequence

from realworthy.cli.printing import counted, emit_note, emit_table, number
from realworthy.errors import RealworthyError
from realworthy.parameters import Belief, Parameter, load_belief
from realworthy.twins import Twin, load_twin

MIN_COUNT_BY_KIND = 100
"""Parameters from which they are shown by kind: more rows scroll out of sight."""
_STRONG = 0.3
"""Correlation worth a word."""


def show_parameters(reference: str, part: str, base: str = "") -> object:
    """What can be unknown about a twin; `part` keeps names that contain it."""
    if not reference:
        raise RealworthyError(
            "Whose parameters? A twin is missing.",
            hint=f"Try: realworthy show parameters {part or 'mass'} --twin pendulum",
        )
    twin = load_twin(reference, base=base)
    chosen = [parameter for parameter in twin.space if part in parameter.name]
    if not chosen:
        twin.space.index(part)  # raises, with what may have been meant
    if part or len(chosen) < MIN_COUNT_BY_KIND:
        _emit_parameters(chosen, f"{counted(len(chosen), 'parameter')} of {twin.name}")
    else:
        _emit_kinds(chosen, twin)
    return {"twin": twin.name, "parameters": chosen}


def show_belief(path: str) -> object:
    """A belief file: means, spreads, strong correlations."""
    belief = load_belief(path)
    emit_belief(belief)
    return {"mean": belief.mean, "sd": belief.sd}


def emit_belief(belief: Belief) -> None:
    """One line per parameter."""
    mean, sd = belief.mean, belief.sd
    emit_table(
        f"Belief about {counted(len(belief.space), 'parameter')}",
        ("name", "mean", "sd", "unit", "most correlated with"),
        [
            (p.name, number(mean[p.name]), f"± {sd[p.name]:.2g}", p.unit, partner)
            for p, partner in zip(belief.space, _find_partners(belief), strict=True)
        ],
    )


def _emit_parameters(parameters: Sequence[Parameter], title: str) -> None:
    emit_table(
        title,
        ("name", "nominal", "lower", "upper", "transform", "unit"),
        [
            (p.name, p.nominal, p.lower, p.upper, str(p.transform), p.unit)
            for p in parameters
        ],
    )


def _emit_kinds(parameters: Sequence[Parameter], twin: Twin) -> None:
    kinds: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        kinds.setdefault(parameter.kind, []).append(parameter)
    emit_table(
        f"{counted(len(parameters), 'parameter')} of {twin.name}, by kind",
        ("kind", "count", "such as", "nominal", "unit"),
        [
            (kind, len(members), members[0].name, members[0].nominal, members[0].unit)
            for kind, members in kinds.items()
        ],
    )
    command = twin.listing.replace(" --twin", " PART --twin")
    emit_note(f"Those with PART in their names, '.' for all: {command}")


def _find_partners(belief: Belief) -> list[str]:
    """For each parameter the one that it is most correlated with, if strongly."""
    names = belief.space.names
    partners = []
    for own, row in enumerate(belief.correlation().tolist()):
        others = [
            (abs(r), r, n)
            for i, (r, n) in enumerate(zip(row, names, strict=True))
            if i != own
        ]
        size, signed, name = max(others, default=(0.0, 0.0, ""))
        partners.append(f"{name} ({signed:+.2f})" if size > _STRONG else "")
    return partners
