"""The report is JUnit as CI servers read it, and says what the results say."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from realworthy.certification.certificate.junit import (
    JunitCase,
    JunitFailure,
    JunitSuite,
    write_junit,
)
from realworthy.errors import RealworthyError
from realworthy.tasks.failures import Failure

FELL = JunitFailure(
    code=Failure.FALL,
    message='fell at 1.2 s with "thigh.mass" < 0.9 & friction > 1',
    details="seed 812\nreplay fall.npz",
)
SUITES = (
    JunitSuite(
        name="mujoco_cpu.nominal",
        cases=(
            JunitCase(
                name="success", seconds=1.25, properties={"metric": 0.97, "n": 100}
            ),
            JunitCase(name="push", seconds=0.5, failure=FELL),
        ),
        properties={"engine": "mujoco_cpu"},
    ),
    JunitSuite(
        name="drake",
        cases=(JunitCase(name="success", skipped="pydrake is not installed"),),
    ),
    JunitSuite(name="empty", cases=()),
)


def test_counts_and_places_match_the_results():
    root = ElementTree.fromstring(write_junit(SUITES))
    assert root.tag == "testsuites"
    assert [root.get(key) for key in ("tests", "failures", "errors")] == ["3", "1", "0"]
    nominal, drake, empty = root
    keys = ("name", "tests", "failures", "skipped", "time")
    assert [nominal.get(k) for k in keys] == [
        "mujoco_cpu.nominal",
        "2",
        "1",
        "0",
        "1.750",
    ]
    assert [drake.get(k) for k in keys] == ["drake", "1", "0", "1", "0.000"]
    assert empty.get("tests") == "0"
    assert {case.get("classname") for case in nominal.iter("testcase")} == {
        "mujoco_cpu.nominal"
    }
    assert nominal.find("properties/property[@name='engine']") is not None
    metric = nominal.find("testcase/properties/property[@name='metric']")
    assert metric is not None
    assert metric.get("value") == "0.97"
    skipped = drake.find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == "pydrake is not installed"


def test_a_failure_carries_its_code_and_reads_back_as_written():
    root = ElementTree.fromstring(write_junit(SUITES))
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("type") == "20"
    assert failure.get("message") == FELL.message
    assert failure.text == FELL.details


def test_what_xml_cannot_hold_is_replaced():
    rude = JunitCase(name="a\x00b\x1b[31m \ud800 é 関節", failure=FELL)
    text = write_junit([JunitSuite(name="s", cases=(rude,))])
    case = ElementTree.fromstring(text.encode()).find(".//testcase")
    assert case is not None
    assert case.get("name") == "a�b�[31m � é 関節"


def test_the_same_results_give_the_same_text():
    assert write_junit(SUITES) == write_junit(list(SUITES))
    assert write_junit(SUITES).endswith("</testsuites>\n")


@pytest.mark.parametrize("suites", [SUITES, (), SUITES[2:]])
def test_the_text_keeps_to_the_schema(suites: tuple[JunitSuite, ...]):
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit.xsd"))))
    schema.assertValid(etree.fromstring(write_junit(suites).encode()))


def test_the_schema_would_notice():
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit.xsd"))))
    for before, after in (
        ('tests="2"', 'tests="two"'),
        ("<skipped", "<left_out"),
        ('time="1.250"', 'time="-1"'),
        (' classname="drake"', ""),
    ):
        text = write_junit(SUITES)
        assert before in text
        assert not schema.validate(
            etree.fromstring(text.replace(before, after).encode())
        )


@pytest.mark.parametrize(
    ("suites", "message"),
    [
        (
            [JunitSuite(name="a", cases=()), JunitSuite(name="a", cases=())],
            "one suite 'a'",
        ),
        (
            [JunitSuite(name="a", cases=(JunitCase(name="x"), JunitCase(name="x")))],
            "one case 'x'",
        ),
        (
            [
                JunitSuite(
                    name="a", cases=(JunitCase(name="x", skipped="no", failure=FELL),)
                )
            ],
            "both failed and skipped",
        ),
    ],
)
def test_results_that_would_be_misread_are_refused(suites, message: str):
    with pytest.raises(RealworthyError, match=message):
        write_junit(suites)
