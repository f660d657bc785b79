"""Results as JUnit XML, which every CI server reads: a suite is a cell, a case a test.

The same results give the same text, but for the seconds that each case took.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from realworthy.errors import RealworthyError

Property = str | int | float
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, escaped or not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseFailure:
    """Why a test failed."""

    code: int
    """A `Failure` code, the element's type; 0 where the test failed without one, such
    as a bound on latency."""
    message: str
    """One line."""
    details: str = ""
    """What is needed to see it again: e, seed, path of the replay."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One test in one cell: passed, failed or skipped."""

    name: str
    seconds: float = 0.0
    failure: CaseFailure | None = None
    skipped: str | None = None
    """Why it did not run; None: it ran."""
    properties: Mapping[str, Property] = field(default_factory=dict)
    """Metric, interval and what else a reader may want; kept in this order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """All tests of one simulator cell; names of its cases are unique."""

    name: str
    cases: tuple[Case, ...]
    properties: Mapping[str, Property] = field(default_factory=dict)


def write_junit(suites: Iterable[Suite], *, name: str = "realworthy") -> str:
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


def _add_case(parent: ElementTree.Element, suite: Suite, case: Case) -> None:
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


def _count(cases: Iterable[Case]) -> dict[str, str]:
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
            hint="CI servers tell results apart by their names alone.",
        )


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
