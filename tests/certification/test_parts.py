"""Parts in other processes: found there as here, stopped at once."""

import pickle
from pathlib import Path

import pytest
from msgspec.structs import replace

from realworthy.certification.certificate.results import CellResult
from realworthy.certification.certify import CertifySettings, certify
from realworthy.certification.examination.folder import SuitePart
from realworthy.certification.examination.parts import Examination, _pack
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import Cell, Suite
from realworthy.errors import BadFile, RealworthyError

CELL = Cell(name="a cell", group="stress", condition=Condition(loss=0.1), episodes=8)


def test_parts_are_listed_in_the_order_of_the_suite(driving: Subject):
    suite = Suite(cells=(CELL, replace(CELL, name="another")), search=None)
    parts = Examination(subject=driving, suite=suite, is_asked=False).list_parts()
    assert parts == (
        SuitePart("cell", 0),
        SuitePart("cell", 1),
        SuitePart("coverage", 0),
    )
    names = [part.name(suite) for part in parts]
    assert names == ["a cell", "another", "validity"]


def test_an_errand_finds_what_is_found_here(driving: Subject):
    examination = Examination(
        subject=driving, suite=Suite(cells=(CELL,), coverage=None), is_asked=False
    )
    (errand,) = _pack(examination, [SuitePart("cell", 0)])
    there = pickle.loads(pickle.dumps(errand)).do()
    here = examination.examine(SuitePart("cell", 0))
    assert isinstance(here, CellResult)
    assert there.share == here.share
    assert there.budgets == pytest.approx(here.budgets)


def test_a_mistake_crosses_processes(driving: Subject, tmp_path: Path):
    examination = Examination(
        subject=driving, suite=Suite(cells=(CELL,)), is_asked=False
    )
    (errand,) = _pack(examination, [SuitePart("cell", 0)])
    object.__setattr__(errand, "policy", str(tmp_path / "gone.onnx"))
    with pytest.raises(RealworthyError) as raised:
        errand.do()
    again = pickle.loads(pickle.dumps(raised.value))
    assert "gone.onnx" in again.problem
    with pytest.raises(TypeError):  # why it is not sent as it is
        pickle.loads(pickle.dumps(BadFile(tmp_path, "it is bad.")))


@pytest.mark.slow
def test_an_interruption_ends_the_other_processes(drive: Path, tmp_path: Path):
    from multiprocessing import active_children

    cells = tuple(replace(CELL, name=f"cell {i}") for i in range(6))
    suite = Suite(name="many", cells=cells, coverage=None)
    before = set(active_children())

    def stop(_done: float, _name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify(
            drive,
            settings=CertifySettings(suite=suite, workers=2),
            output=tmp_path,
            progress=stop,
        )
    assert set(active_children()) <= before
    assert list((tmp_path / "parts").glob("cell_*.json"))
