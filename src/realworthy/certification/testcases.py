"""A certificate as test cases, for a CI server."""

from collections.abc import Iterator

from realworthy.certification.certificate import Certificate
from realworthy.certification.finding import Finding, Mark
from realworthy.certification.junit import Case, CaseFailure, Suite, write_junit
from realworthy.certification.results import CellResult, Share
from realworthy.certification.statistics import Verdict


def to_junit(certificate: Certificate) -> str:
    """JUnit XML: a suite for each group of cells, a case for each cell, and a last
    case that fails unless the policy passes, budgets included.

    Cells that are not required pass whatever came out; their share is a property.
    """
    c = certificate
    groups = dict.fromkeys(cell.group for cell in c.cells)
    suites = [Suite(name="contract", cases=tuple(_list_findings(c.interface)))]
    suites += [
        Suite(
            name=group,
            cases=tuple(_make_case(cell) for cell in c.cells if cell.group == group),
        )
        for group in groups
    ]
    rest = tuple(_list_rest(c))
    suites += [Suite(name="belief", cases=rest)] if rest else []
    suites.append(Suite(name="verdict", cases=(_conclude(c),)))
    return write_junit(suites, name=f"{c.task} on {c.twin}")


def _conclude(c: Certificate) -> Case:
    failure = None
    if c.verdict != Verdict.PASS:
        message = c.reasons[0] if c.reasons else str(c.verdict)
        details = "\n".join(c.reasons)
        failure = CaseFailure(code=0, message=message, details=details)
    return Case(name="verdict", failure=failure, seconds=c.seconds)


def _list_findings(findings: tuple[Finding, ...]) -> Iterator[Case]:
    seen: dict[str, int] = {}
    for finding in findings:
        place = seen[finding.name] = seen.get(finding.name, 0) + 1
        name = str(finding.name) if place == 1 else f"{finding.name} {place}"
        failure = None
        if finding.mark is Mark.FAILED:
            failure = CaseFailure(code=0, message=finding.about, details=finding.remedy)
        properties = {"mark": str(finding.mark), "about": finding.about}
        yield Case(name=name, failure=failure, properties=properties)


def _make_case(cell: CellResult) -> Case:
    if cell.skipped:
        return Case(name=cell.name, skipped=cell.skipped)
    failure = None
    if cell.required and cell.verdict is not Verdict.PASS:
        first = cell.failures[0] if cell.failures else None
        details = ""
        if first is not None:
            details = f"seed {first.seed}, start {first.number}, e {first.e}"
            details += f", replay {first.replay}" if first.replay else ""
        failure = CaseFailure(
            code=0 if first is None else first.code, message=cell.about, details=details
        )
    properties = {"verdict": str(cell.verdict), "required": str(cell.required)}
    return Case(
        name=cell.name,
        seconds=cell.seconds,
        failure=failure,
        properties=properties | _list_share(cell.share),
    )


def _list_share(share: Share | None) -> dict[str, str | int | float]:
    if share is None:
        return {}
    return {
        "success": round(share.mean, 4),
        "lower": round(share.lower, 4),
        "upper": round(share.upper, 4),
        "episodes": share.count,
    }


def _list_rest(c: Certificate) -> Iterator[Case]:
    if (coverage := c.coverage) is not None:
        failure = None
        if coverage.verdict is not Verdict.PASS:
            code = coverage.failures[0].code if coverage.failures else 0
            failure = CaseFailure(code=code, message=coverage.about)
        yield Case(name="validity", seconds=coverage.seconds, failure=failure)
    if (regression := c.regression) is not None:
        failure = None
        if regression.verdict is not Verdict.PASS:
            failure = CaseFailure(code=0, message=regression.about)
        yield Case(name="regression", failure=failure)
