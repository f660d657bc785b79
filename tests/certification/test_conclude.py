"""One fault fails, an open question leaves the evidence insufficient."""

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from realworthy.certification.certificate.junit import to_junit
from realworthy.certification.certificate.results import (
    CellResult,
    Group,
    Level,
    MarginResult,
    make_case,
    to_share,
)
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.contract.finding import Aspect, ContractFinding, Mark
from realworthy.certification.examination.cells import judge_episodes
from realworthy.certification.examination.conclusion import conclude
from realworthy.certification.examination.parts import SuiteResults
from realworthy.certification.subject import Subject
from realworthy.certification.suite.suite import Budgets, Cell, Suite
from realworthy.errors import RealworthyError
from realworthy.reports.certificate.wording import say_margin
from tests.certification.certificates import certify_cells


def make_cell(
    name: str,
    verdict: CertificateVerdict,
    *,
    group: Group = "stress",
    required: bool = True,
    successes: int = 64,
    count: int = 64,
) -> CellResult:
    return CellResult(
        name=name,
        group=group,
        required=required,
        verdict=verdict,
        about=f"{successes} of {count}.",
        share=to_share(successes, count),
    )


EVERYDAY = make_cell("everyday", CertificateVerdict.PASS, group="everyday")


def test_verdicts(balancing: Subject):
    good = make_cell("good", CertificateVerdict.PASS)
    open_ = make_cell("open", CertificateVerdict.INSUFFICIENT, successes=52)
    bad = make_cell("bad", CertificateVerdict.FAIL, successes=10)
    assert certify_cells(balancing, EVERYDAY, good).verdict is CertificateVerdict.PASS
    found = certify_cells(balancing, EVERYDAY, open_)
    assert found.verdict is CertificateVerdict.INSUFFICIENT
    assert found.reasons == ("open: 52 of 64.",)
    found = certify_cells(balancing, EVERYDAY, open_, bad)
    assert found.verdict is CertificateVerdict.FAIL
    assert found.reasons[0] == "bad: 10 of 64."


def test_a_cell_that_is_not_required_only_warns(balancing: Subject):
    bad = make_cell("bad", CertificateVerdict.FAIL, required=False, successes=10)
    found = certify_cells(balancing, EVERYDAY, bad)
    assert found.verdict is CertificateVerdict.PASS
    assert found.warnings == ("bad: 10 of 64.",)


def test_a_failed_contract_fails(balancing: Subject):
    finding = ContractFinding(
        name=Aspect.ORDER, mark=Mark.FAILED, about="Joints are swapped."
    )
    ran = SuiteResults(cells=(EVERYDAY,), coverage=None, margins=(), worst=None)
    found = conclude(balancing, Suite(), (finding,), ran, None)
    assert found.verdict is CertificateVerdict.FAIL
    assert found.reasons == ("contract, order: Joints are swapped.",)


def skip(name: str) -> CellResult:
    return CellResult(
        name=name,
        group="stress",
        required=False,
        verdict=CertificateVerdict.INSUFFICIENT,
        about="Skipped.",
        skipped="the twin has no such number.",
    )


def test_nothing_played_is_no_evidence(balancing: Subject):
    cell = Cell(name="typo", group="stress")
    suite = Suite(cells=(cell,), coverage=None)
    ran = SuiteResults(cells=(skip("typo"),), coverage=None, margins=(), worst=None)
    found = conclude(balancing, suite, (), ran, None)
    assert found.verdict is CertificateVerdict.INSUFFICIENT
    assert found.reasons == ("No condition that the suite requires was run.",)
    assert found.warnings == ("typo was not run: the twin has no such number.",)


def test_a_budget_that_nobody_can_tell_is_an_open_question(balancing: Subject):
    suite = Suite(budgets=Budgets(mean_power=60.0))
    ran = SuiteResults(cells=(EVERYDAY,), coverage=None, margins=(), worst=None)
    found = conclude(balancing, suite, (), ran, None)
    assert found.verdict is CertificateVerdict.INSUFFICIENT
    assert found.reasons == ("budget mean_power: no everyday cell measures it.",)
    over = msgspec.structs.replace(EVERYDAY, budgets={"mean_power": 900.0})
    found = conclude(balancing, suite, (), play_cells(over), None)
    assert found.verdict is CertificateVerdict.FAIL
    root = ElementTree.fromstring(to_junit(found))
    assert root.get("failures") == "1"


def play_cells(*cells: CellResult) -> SuiteResults:
    return SuiteResults(cells=cells, coverage=None, margins=(), worst=None)


@pytest.mark.parametrize(
    ("successes", "valid", "invalid", "verdict"),
    [
        (64, 64, 0, CertificateVerdict.PASS),
        (64, 64, 4, CertificateVerdict.PASS),
        (20, 20, 44, CertificateVerdict.INSUFFICIENT),
        (2, 20, 44, CertificateVerdict.FAIL),
    ],
)
def test_what_diverged_is_not_averaged_away(
    successes: int, valid: int, invalid: int, verdict: CertificateVerdict
):
    assert judge_episodes(successes, valid, invalid, 0.8).verdict is verdict


def test_two_cells_of_one_name_are_refused():
    cell = Cell(name="twice", group="stress")
    with pytest.raises(RealworthyError, match="several cells of a group: twice"):
        Suite(cells=(cell, cell))


def test_the_grade_is_of_the_cell_that_loses_most(balancing: Subject):
    everyday = make_cell(
        "everyday", CertificateVerdict.PASS, group="everyday", successes=500, count=500
    )
    cells = (
        make_cell("little", CertificateVerdict.PASS, successes=495, count=500),
        make_cell("most", CertificateVerdict.FAIL, successes=200, count=500),
        make_cell("few", CertificateVerdict.PASS, group="engine", successes=0, count=8),
    )
    grade = certify_cells(balancing, everyday, *cells).grade
    assert grade is not None
    assert (grade.cell, grade.letter) == ("most", "D")
    assert grade.gap == 0.6
    assert grade.lower < 0.6 < grade.upper
    grade = certify_cells(balancing, everyday, cells[0]).grade
    assert grade is not None
    assert grade.letter == "A"
    assert certify_cells(balancing, everyday).grade is None


def test_junit_holds_what_the_certificate_does(balancing: Subject):
    case = make_case(20, cell="bad", e={"all.mass": 1.2}, seed=4, number=7, seconds=1.0)
    bad = msgspec.structs.replace(
        make_cell("bad", CertificateVerdict.FAIL, successes=10), failures=(case,)
    )
    skipped = CellResult(
        name="engine drake",
        group="engine",
        required=False,
        verdict=CertificateVerdict.INSUFFICIENT,
        about="",
        skipped="it is not installed",
    )
    weak = make_cell("weak", CertificateVerdict.FAIL, required=False, successes=10)
    text = to_junit(certify_cells(balancing, EVERYDAY, bad, skipped, weak))
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit.xsd"))))
    schema.assertValid(etree.fromstring(text.encode()))
    root = ElementTree.fromstring(text)
    counts = [root.get(key) for key in ("tests", "failures", "errors")]
    assert counts == ["5", "2", "0"]  # the cell, and the verdict on the whole
    verdict = root.find(".//testcase[@name='verdict']/failure")
    assert verdict is not None
    assert verdict.get("message") == "bad: 10 of 64."
    failure = root.find(".//testcase[@name='bad']/failure")
    assert failure is not None
    assert (
        "20" in str(failure.get("type")) or "FALL" in str(failure.get("type")).upper()
    )
    assert "seed 4, start 7" in str(failure.text)
    assert root.find(".//testcase[@name='engine drake']/skipped") is not None
    assert root.find(".//testcase[@name='weak']/failure") is None


def test_where_everyday_play_fails_nothing_is_praised(balancing: Subject):
    everyday = make_cell(
        "everyday", CertificateVerdict.FAIL, group="everyday", successes=0
    )
    cells = (
        everyday,
        make_cell(
            "sapien", CertificateVerdict.PASS, group="engine", successes=0, count=8
        ),
        make_cell("late", CertificateVerdict.FAIL, successes=0),
    )
    levels = (Level(value=0.005, share=to_share(0, 40)),)
    margin = MarginResult(
        name="delay", unit="s", largest=None, failing=0.005, levels=levels
    )
    ran = SuiteResults(cells=cells, coverage=None, margins=(margin,), worst=None)
    found = conclude(balancing, Suite(), (), ran, None)
    assert found.grade is None
    assert found.cells[1].verdict is CertificateVerdict.INSUFFICIENT
    assert found.reasons == ("everyday: 0 of 64.", "late: 0 of 64.")
    assert found.margins[0].failing is None
    assert found.margins[0].skipped == "the everyday condition fails already."
    assert say_margin(found.margins[0], 0.8).startswith("Not decided: the everyday")


def test_a_pass_beside_oscillation_says_why(balancing: Subject):
    swinging = msgspec.structs.replace(EVERYDAY, seen={"oscillation": 54})
    found = certify_cells(balancing, swinging)
    assert found.verdict is CertificateVerdict.PASS
    (said,) = [words for words in found.warnings if "oscillation" in words]
    assert said == (
        "oscillation was seen in 54 of 64 episodes: the task was done all the same, "
        "and this suite bounds success alone; budgets: {oscillating: 0.1} makes it a "
        "failure."
    )
    failing = make_cell("everyday", CertificateVerdict.FAIL, group="everyday")
    failing = msgspec.structs.replace(failing, seen={"oscillation": 54})
    assert (
        "oscillation was seen in 54 of 64 episodes."
        in certify_cells(balancing, failing).warnings
    )
