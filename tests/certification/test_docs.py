"""The page about certificates: its suite can be read, its tables are complete."""

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from realworthy.certification.certificate.certificate import Bounds, Certificate
from realworthy.certification.certificate.results import (
    CellResult,
    FailureCase,
    MarginResult,
    Regression,
    TransferGrade,
    Validity,
    ValidityResult,
)
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import (
    Budgets,
    Cell,
    Coverage,
    Margin,
    MarginStep,
    Suite,
    WorstCaseSearch,
    load_suite,
)
from realworthy.tasks.failures import Failure
from realworthy.twins.variants import Variant

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "certify.md").read_text("utf-8")
FILES = (PROJECT / "docs" / "artefacts.md").read_text("utf-8")
SUITE, WORKFLOW = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_suite_on_the_page_is_a_complete_one(tmp_path: Path):
    path = tmp_path / "warehouse.suite.yaml"
    path.write_text(SUITE)
    found = load_suite(path)
    assert found.name == "warehouse"
    tree = yaml.safe_load(SUITE)
    assert set(tree) == set(Suite.__struct_fields__)
    assert set(tree["coverage"]) == set(Coverage.__struct_fields__)
    assert set(tree["budgets"]) == set(Budgets.__struct_fields__)
    given = {key for cell in tree["cells"] for key in cell}
    assert given == set(Cell.__struct_fields__)


@pytest.mark.parametrize(
    "kind",
    [
        *(
            Suite,
            Cell,
            Condition,
            Variant,
            Margin,
            MarginStep,
            WorstCaseSearch,
            Coverage,
            Budgets,
        ),
        *(Certificate, Bounds, Validity, FailureCase, CellResult, MarginResult),
        *(ValidityResult, TransferGrade, Regression),
    ],
)
def test_every_key_is_listed(kind: type[msgspec.Struct]):
    table = FILES.partition("\n## Suite\n")[2]
    missing = [key for key in kind.__struct_fields__ if f"`{key}`" not in table]
    assert missing == []


def test_every_failure_code_is_listed():
    for code in Failure:
        if code is not Failure.NONE:
            assert f"| {int(code)} | `{code.name.lower()}`" in PAGE


def test_the_workflow_is_the_example():
    example = (PROJECT / "examples" / "certify.yml").read_text("utf-8")
    assert example.endswith(WORKFLOW)
    steps = yaml.safe_load(example)["jobs"]["certify"]["steps"]
    (command,) = (step["run"] for step in steps if step.get("name") == "Certify")
    assert command.startswith("realworthy certify policies/walk.onnx")
