"""From all answers to a verdict: reasons, warnings, bounds, a grade."""

import dataclasses
import datetime
from collections.abc import Iterator

import msgspec

from realworthy.certification.certificate.certificate import Bounds, Certificate
from realworthy.certification.certificate.results import (
    CellResult,
    FailureCase,
    Regression,
    TransferGrade,
    to_share,
)
from realworthy.certification.certificate.statistics import (
    CertificateVerdict,
    grade_cells,
)
from realworthy.certification.contract.finding import ContractFinding, Mark
from realworthy.certification.examination.folder import hash_policy
from realworthy.certification.examination.parts import SuiteResults
from realworthy.certification.subject import Subject
from realworthy.certification.suite.suite import Budgets, Suite
from realworthy.learning.runs import list_versions

_FAILS_ALREADY = "the everyday condition fails already."
_BUDGETS = ("action_rate", "mean_power", "peak_power", "heat")


def conclude(
    subject: Subject,
    suite: Suite,
    findings: tuple[ContractFinding, ...],
    ran: SuiteResults,
    regression: Regression | None,
) -> Certificate:
    """The certificate, without replays and without the time that it took.

    One fault fails. Without a fault, a required cell that more episodes would have to
    settle leaves the evidence insufficient.
    """
    failed = list(_find_faults(findings, ran, regression, suite))
    open_questions = [
        f"{cell.name}: {cell.about}"
        for cell in ran.cells
        if cell.required
        and not cell.skipped
        and cell.verdict is CertificateVerdict.INSUFFICIENT
    ]
    open_questions += _find_unanswered(ran, regression, suite)
    verdict = CertificateVerdict.PASS
    if open_questions:
        verdict = CertificateVerdict.INSUFFICIENT
    if failed:
        verdict = CertificateVerdict.FAIL
    validity = None if ran.coverage is None else ran.coverage.validity
    warnings = tuple(_find_warnings(subject, findings, ran, suite))
    ran = _withhold(ran)
    return Certificate(
        verdict=verdict,
        reasons=(*failed, *open_questions),
        warnings=warnings,
        policy=str(subject.path),
        policy_hash=hash_policy(subject.path),
        task=subject.task.name,
        twin=subject.twin.name,
        suite=suite.name,
        bar=suite.bar,
        seed=suite.seed,
        success=_bound_success(ran),
        validity=validity,
        failures=tuple(_list_failures(ran)),
        interface=findings,
        cells=ran.cells,
        coverage=ran.coverage,
        margins=ran.margins,
        worst=ran.worst,
        grade=_grade(ran.cells),
        regression=regression,
        versions=list_versions(),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=0.0,
    )


def _withhold(ran: SuiteResults) -> SuiteResults:
    """Where everyday play fails, engines that agree and margins tell nothing."""
    if not any(
        c.group == "everyday" and c.verdict is CertificateVerdict.FAIL
        for c in ran.cells
    ):
        return ran
    return dataclasses.replace(
        ran,
        cells=tuple(
            msgspec.structs.replace(
                cell,
                verdict=CertificateVerdict.INSUFFICIENT,
                about=f"{cell.about} Agreement on failures proves nothing.",
            )
            if cell.group == "engine" and cell.verdict is CertificateVerdict.PASS
            else cell
            for cell in ran.cells
        ),
        margins=tuple(
            msgspec.structs.replace(
                margin, largest=None, failing=None, skipped=_FAILS_ALREADY
            )
            for margin in ran.margins
        ),
    )


def _find_faults(
    findings: tuple[ContractFinding, ...],
    ran: SuiteResults,
    regression: Regression | None,
    suite: Suite,
) -> Iterator[str]:
    for finding in findings:
        if finding.mark is Mark.FAILED:
            yield f"contract, {finding.name}: {finding.about}"
    for cell in ran.cells:
        if cell.required and cell.verdict is CertificateVerdict.FAIL:
            yield f"{cell.name}: {cell.about}"
    if ran.coverage is not None and ran.coverage.verdict is CertificateVerdict.FAIL:
        yield f"validity: {ran.coverage.about}"
    if regression is not None and regression.verdict is CertificateVerdict.FAIL:
        yield f"regression: {regression.about}"
    yield from _find_overspent(ran.cells, suite.budgets)


def _find_unanswered(
    ran: SuiteResults, regression: Regression | None, suite: Suite
) -> Iterator[str]:
    """What a suite asked for and nobody could tell."""
    played = [c for c in ran.cells if c.required and not c.skipped]
    if not played and ran.coverage is None:
        yield "No condition that the suite requires was run."
    everyday = [c for c in ran.cells if c.group == "everyday" and c.share is not None]
    for name in _BUDGETS:
        is_told = any(name in cell.budgets for cell in everyday)
        if getattr(suite.budgets, name) is not None and not is_told:
            yield f"budget {name}: no everyday cell measures it."
    if regression is not None and regression.verdict is CertificateVerdict.INSUFFICIENT:
        yield f"regression: {regression.about}"


def _find_overspent(cells: tuple[CellResult, ...], budgets: Budgets) -> Iterator[str]:
    for cell in cells:
        if cell.group != "everyday" or cell.share is None:
            continue
        for name in _BUDGETS:
            most, spent = getattr(budgets, name), cell.budgets.get(name)
            if most is not None and spent is not None and spent > most:
                yield f"budget {name}: {spent:.3g}, at most {most:g} allowed."
        swings = cell.seen.get("oscillation", 0) / max(cell.share.count, 1)
        if budgets.oscillating is not None and swings > budgets.oscillating:
            yield f"budget oscillating: {swings:.0%} of episodes swing above 8 Hz."


def _find_warnings(
    subject: Subject,
    findings: tuple[ContractFinding, ...],
    ran: SuiteResults,
    suite: Suite,
) -> Iterator[str]:
    for finding in findings:
        if finding.mark is Mark.WARNING:
            yield f"contract, {finding.name}: {finding.about}"
    for note in subject.assumed:
        yield f"contract, assumed: {note}"
    wanted = {(cell.group, cell.name) for cell in suite.cells if cell.required}
    for cell in ran.cells:
        if cell.skipped and (cell.group, cell.name) in wanted:
            yield f"{cell.name} was not run: {cell.skipped}"
        if not cell.required and cell.verdict is CertificateVerdict.FAIL:
            yield f"{cell.name}: {cell.about}"
        if cell.group == "everyday" and cell.share is not None:
            for name, count in cell.seen.items():
                words = name.replace("_", " ")
                seen = f"{words} was seen in {count} of {cell.share.count} episodes"
                yield f"{seen}{_explain_seen(name, cell, suite)}."
    if ran.worst is not None and ran.worst.is_failure:
        yield f"worst case: {ran.worst.about}"
    coverage = ran.coverage
    if coverage is None or coverage.validity is None:
        return
    scale = coverage.validity.scale
    if coverage.verdict is CertificateVerdict.PASS and scale < 1:
        yield f"validity: only {scale:.0%} of the belief's ranges are covered."


def _explain_seen(name: str, cell: CellResult, suite: Suite) -> str:
    """Why what was seen fails no certificate, where the cell passes all the same."""
    if cell.verdict is not CertificateVerdict.PASS:
        return ""
    if name == "oscillation" and suite.budgets.oscillating is None:
        return (
            ": the task was done all the same, and this suite bounds success alone; "
            "budgets: {oscillating: 0.1} makes it a failure"
        )
    return ": the task was done all the same, which is what this cell requires"


def _bound_success(ran: SuiteResults) -> Bounds:
    """Of realities where they were tried, else of everyday episodes."""
    validity = None if ran.coverage is None else ran.coverage.validity
    if validity is not None:
        count = validity.episode_count
        share = to_share(round(validity.mean * count), count)
        return Bounds(lower=validity.lower, mean=validity.mean, upper=share.upper)
    share = next((cell.share for cell in ran.cells if cell.share is not None), None)
    if share is None:
        return Bounds(lower=0.0, mean=0.0, upper=1.0)
    return Bounds(lower=share.lower, mean=share.mean, upper=share.upper)


def _list_failures(ran: SuiteResults) -> Iterator[FailureCase]:
    """Most severe first: worst case, sampled robots, required cells, others."""
    if ran.worst is not None:
        yield from ran.worst.failures
    if ran.coverage is not None:
        yield from ran.coverage.failures
    for required in (True, False):
        for cell in ran.cells:
            if cell.required is required:
                yield from cell.failures


def _grade(cells: tuple[CellResult, ...]) -> TransferGrade | None:
    """Required cells only, and no engines: eight episodes grade luck."""
    shares = {
        cell.name: (cell.share.successes, cell.share.count)
        for cell in cells
        if cell.required and cell.share is not None and cell.share.count
        if cell.group not in ("everyday", "engine")
    }
    base = next((cell for cell in cells if cell.group == "everyday"), None)
    everyday = None if base is None else base.share
    if base is None or everyday is None or not everyday.count or not shares:
        return None
    if (
        base.verdict is CertificateVerdict.FAIL
    ):  # little can be lost where little succeeds
        return None
    nominal = (everyday.successes, everyday.count)
    place, grade = grade_cells(nominal, list(shares.values()))
    return TransferGrade(
        cell=list(shares)[place],
        letter=grade.letter,
        gap=grade.gap,
        lower=grade.interval.lower,
        upper=grade.interval.upper,
        about=f"{grade}.",
    )
