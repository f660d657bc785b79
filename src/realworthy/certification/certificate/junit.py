"""A certificate as JUnit XML, which every CI server reads.

A suite is a group of cells, a case a cell. The same results give the same text, but for
the seconds that each case took.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import CellResult, Share
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.contract.finding import ContractFinding, Mark
from realworthy.errors import RealworthyError

Property = str | int | float
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, escaped or not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JunitFailure:
    """Why a test failed."""

    code: int
    """A `Failure` code, the element's type; 0 where the test failed without one, such
    as a bound on latency."""
    message: str
    """One line."""
    details: str = ""
    """What is needed to see it again: e, seed, path of the replay."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JunitCase:
    """One test in one cell: passed, failed or skipped."""

    name: str
    seconds: float = 0.0
    failure: JunitFailure | None = None
    skipped: str | None = None
    """Why it did not run; None: it ran."""
    properties: Mapping[str, Property] = field(default_factory=dict)
    """Metric, interval and what else a reader may want; kept in this order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JunitSuite:
    """All tests of one simulator cell; names of its cases are unique."""

    name: str
    cases: tuple[JunitCase, ...]
    properties: Mapping[str, Property] = field(default_factory=dict)


def write_junit(suites: Iterable[JunitSuite], *, name: str = "realworthy") -> str:
    """The whole XML document, UTF-8 once encoded, ending in a newline."""
    given = tuple(suites)
    _check_names("suite", [suite.name for suite in given], name)
    every = [case for suite in given for case in suite.cases]
    root = ElementTree.Element("testsuites", {"name": _clean(name), **_count(every)})
    del root.attrib["skipped"]  # the outermost element has none
    for suite in given:
        _check_names("case", [case.name for case in suite.cases], suite.name)
        counts = {"name": _clean(suite.name), **_count(suite.cases)}
        element = ElementTree.SubElement(root, "testsuite", counts)
        _add_properties(element, suite.properties)
        for case in suite.cases:
            _add_case(element, suite, case)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add_case(parent: ElementTree.Element, suite: JunitSuite, case: JunitCase) -> None:
    if case.failure and case.skipped is not None:
        raise RealworthyError(
            f"Test '{case.name}' of '{suite.name}' is both failed and skipped."
        )
    facts = {
        "classname": _clean(suite.name),
        "name": _clean(case.name),
        "time": f"{case.seconds:.3f}",
    }
    element = ElementTree.SubElement(parent, "testcase", facts)
    _add_properties(element, case.properties)
    if case.skipped is not None:
        reason = {"message": _clean(case.skipped)}
        ElementTree.SubElement(element, "skipped", reason)
    if failure := case.failure:
        facts = {"type": str(int(failure.code)), "message": _clean(failure.message)}
        ElementTree.SubElement(element, "failure", facts).text = _clean(failure.details)


def _add_properties(
    parent: ElementTree.Element, properties: Mapping[str, Property]
) -> None:
    if properties:
        element = ElementTree.SubElement(parent, "properties")
        for name, value in properties.items():
            facts = {"name": _clean(name), "value": _clean(str(value))}
            ElementTree.SubElement(element, "property", facts)


def _count(cases: Iterable[JunitCase]) -> dict[str, str]:
    cases = tuple(cases)
    return {
        "tests": str(len(cases)),
        "failures": str(sum(case.failure is not None for case in cases)),
        "errors": "0",
        "skipped": str(sum(case.skipped is not None for case in cases)),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _check_names(what: str, names: list[str], owner: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RealworthyError(
            f"'{owner}' has more than one {what} '{twice[0]}'.",
            hint="CI servers distinguish results by their names alone.",
        )


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def to_junit(certificate: Certificate) -> str:
    """JUnit XML: a suite for each group of cells, a case for each cell, and a last
    case that fails unless the policy passes, budgets included.

    Cells that are not required pass whatever came out; their share is a property.
    """
    c = certificate
    groups = dict.fromkeys(cell.group for cell in c.cells)
    suites = [JunitSuite(name="contract", cases=tuple(_list_findings(c.interface)))]
    suites += [
        JunitSuite(
            name=group,
            cases=tuple(_make_case(cell) for cell in c.cells if cell.group == group),
        )
        for group in groups
    ]
    rest = tuple(_list_rest(c))
    suites += [JunitSuite(name="belief", cases=rest)] if rest else []
    suites.append(JunitSuite(name="verdict", cases=(_conclude(c),)))
    return write_junit(suites, name=f"{c.task} on {c.twin}")


def _conclude(c: Certificate) -> JunitCase:
    failure = None
    if c.verdict != CertificateVerdict.PASS:
        message = c.reasons[0] if c.reasons else str(c.verdict)
        details = "\n".join(c.reasons)
        failure = JunitFailure(code=0, message=message, details=details)
    return JunitCase(name="verdict", failure=failure, seconds=c.seconds)


def _list_findings(findings: tuple[ContractFinding, ...]) -> Iterator[JunitCase]:
    seen: dict[str, int] = {}
    for finding in findings:
        place = seen[finding.name] = seen.get(finding.name, 0) + 1
        name = str(finding.name) if place == 1 else f"{finding.name} {place}"
        failure = None
        if finding.mark is Mark.FAILED:
            failure = JunitFailure(
                code=0, message=finding.about, details=finding.remedy
            )
        properties = {"mark": str(finding.mark), "about": finding.about}
        yield JunitCase(name=name, failure=failure, properties=properties)


def _make_case(cell: CellResult) -> JunitCase:
    if cell.skipped:
        return JunitCase(name=cell.name, skipped=cell.skipped)
    failure = None
    if cell.required and cell.verdict is not CertificateVerdict.PASS:
        first = cell.failures[0] if cell.failures else None
        details = ""
        if first is not None:
            details = f"seed {first.seed}, start {first.number}, e {first.e}"
            details += f", replay {first.replay}" if first.replay else ""
        failure = JunitFailure(
            code=0 if first is None else first.code, message=cell.about, details=details
        )
    properties = {"verdict": str(cell.verdict), "required": str(cell.required)}
    return JunitCase(
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


def _list_rest(c: Certificate) -> Iterator[JunitCase]:
    if (coverage := c.coverage) is not None:
        failure = None
        if coverage.verdict is not CertificateVerdict.PASS:
            code = coverage.failures[0].code if coverage.failures else 0
            failure = JunitFailure(code=code, message=coverage.about)
        yield JunitCase(name="validity", seconds=coverage.seconds, failure=failure)
    if (regression := c.regression) is not None:
        failure = None
        if regression.verdict is not CertificateVerdict.PASS:
            failure = JunitFailure(code=0, message=regression.about)
        yield JunitCase(name="regression", failure=failure)
