"""A certificate in the terminal: the verdict first, then why."""

from typing import TYPE_CHECKING

from rich.text import Text

from realworthy.cli.printing import emit, emit_note, emit_table

if TYPE_CHECKING:
    from pathlib import Path

    from realworthy.certification.certificate.certificate import Certificate
    from realworthy.certification.certificate.results import CellResult
    from realworthy.certification.foreign.draft import ContractDraft
    from realworthy.certification.rollouts.realities import RealTrial

_COLOURS = {"pass": "green", "fail": "red", "insufficient": "yellow"}
_WORDS = {"pass": "PASS", "fail": "FAIL", "insufficient": "INSUFFICIENT EVIDENCE"}
_MAX_PRINTED_ROWS = 12
"""Rows of parameters that are printed: half the height of a terminal of 24 lines."""


def print_certificate(
    found: "Certificate", trials: "tuple[RealTrial, ...]" = ()
) -> None:
    """All that decides; the rest is in the JSON file and on the page."""
    style = f"bold {_COLOURS[found.verdict]}"
    emit(Text.assemble((_WORDS[found.verdict], style), f"  {_summarise(found)}"))
    for reason in found.reasons:
        emit(Text(f"  - {reason}"))
    for warning in found.warnings:
        emit_note(f"  ! {warning}", style="yellow")
    emit_table(
        "Cells",
        ("", "success", "95 %", "episodes", "causes"),
        [_make_row(cell) for cell in found.cells if not cell.skipped],
    )
    _print_validity(found)
    emit_table(
        "Robustness margins, one disturbance at a time",
        ("", "succeeds up to", "fails at", "unit"),
        [
            (m.name, m.largest, m.failing, m.unit)
            for m in found.margins
            if not m.skipped
        ],
    )
    for why in dict.fromkeys(m.skipped for m in found.margins if m.skipped):
        names = ", ".join(m.name for m in found.margins if m.skipped == why)
        emit_note(f"No margin of {names}: {why}")
    if found.grade is not None:
        emit_note(f"Grade, '{found.grade.cell}' against everyday: {found.grade.about}")
    if found.worst is not None:
        emit_note(f"Worst-case parameters: {found.worst.about}")
    for cell in found.cells:
        if cell.skipped:
            emit_note(f"Not run: {cell.name}, {cell.skipped}")
    _print_trials(trials)


def print_draft(draft: "ContractDraft", path: "Path") -> None:
    """What was found of a foreign policy's contract, and what must be filled in."""
    emit(Text(f"{path} is drafted. The policy comes from {draft.origin}."))
    for title, notes in (
        ("To be filled in", draft.missing),
        ("Assumed, to be checked", draft.assumed),
        ("Known", draft.known),
    ):
        emit_table(title, ("", ""), [(note.key, note.about) for note in notes])


def _summarise(found: "Certificate") -> str:
    success, what = found.success, f"{found.task} on {found.twin}"
    if found.validity is None:
        return f"{what}: {success.mean:.1%} succeed, at least {success.lower:.1%}."
    return (
        f"{what}: {success.mean:.1%} of episodes succeed; "
        f"{found.validity.content:.0%} of robots sampled within the limits below "
        f"succeed at least {success.lower:.1%} of the time."
    )


def _make_row(cell: "CellResult") -> tuple[Text | str, ...]:
    assert cell.share is not None
    mark = {"pass": "✓", "fail": "✗", "insufficient": "?"}[cell.verdict]
    colour = _COLOURS[cell.verdict] if cell.required else "dim"
    share = cell.share
    return (
        Text(f"{mark} {cell.name}", style=colour),
        f"{share.mean:.1%}",
        f"{share.lower:.0%} … {share.upper:.0%}",
        str(share.count),
        ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in cell.codes.items()),
    )


def _say_limits(found: "Certificate") -> str:
    if found.coverage is not None and found.coverage.verdict != "pass":
        return "Required success rate not reached within"
    return "Valid for"


def _print_validity(found: "Certificate") -> None:
    validity = found.validity
    if validity is None:
        return
    rows = [
        (name, limits.lower, limits.upper, limits.nominal, limits.unit)
        for name, limits in validity.parameters.items()
    ]
    emit_table(
        f"{_say_limits(found)} ({validity.scale:.0%} of the belief's ranges)",
        ("", "from", "to", "nominal", "unit"),
        rows[:_MAX_PRINTED_ROWS],
    )
    if len(rows) > _MAX_PRINTED_ROWS:
        emit_note(f"and {len(rows) - _MAX_PRINTED_ROWS} more; --json has all.")


def _print_trials(trials: "tuple[RealTrial, ...]") -> None:
    emit_table(
        "Realities",
        ("", "success", "95 %", "covered"),
        [
            (
                trial.name,
                f"{trial.share.mean:.1%}",
                f"{trial.share.lower:.0%} … {trial.share.upper:.0%}",
                "yes" if not trial.uncovered else f"no: {trial.uncovered[0]}",
            )
            for trial in trials
        ],
    )
