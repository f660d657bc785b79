"""From a policy to a certificate: the verdict, resuming, determinism, mistakes."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.artefacts import locked_folder
from realworthy.certification import certify as module
from realworthy.certification.certificate.certificate import (
    Certificate,
    load_certificate,
)
from realworthy.certification.certify import CertifySettings, certify
from realworthy.certification.subject import build_subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import (
    Budgets,
    Cell,
    Margin,
    MarginStep,
    Suite,
)
from realworthy.errors import RealworthyError, UnknownName, Unwritable
from realworthy.policies import load_policy
from tests.certification.golden import write_policy
from tests.certification.linear import write_linear
from tests.certification.mutants import (
    Degrees,
    ExtraDelay,
    FaultSide,
    FlippedSign,
    Mutant,
    ReversedHistory,
    mutate,
)

EVERYDAY = Cell(name="everyday", group="everyday", episodes=16)
LATE = Cell(
    name="late", group="actuator", condition=Condition(delay_steps=1), episodes=16
)
NOTHING = Suite(name="nothing", coverage=None)
SMALL = Suite(name="small", bar=0.75, cells=(EVERYDAY,), coverage=None)
SETTINGS = CertifySettings(suite=SMALL)
TWO = CertifySettings(
    suite=Suite(name="two", bar=0.75, cells=(EVERYDAY, LATE), coverage=None)
)


def drop_times(certificate: Certificate) -> object:
    """What must be the same again."""
    tree = msgspec.to_builtins(certificate)
    for part in (tree, *tree["cells"], *tree["margins"]):
        part.pop("seconds")
    tree.pop("created")
    return tree


def plant(monkeypatch: pytest.MonkeyPatch, mutant: Mutant) -> None:
    """Every policy that is certified has the fault."""

    def build(*arguments, **options):
        subject = build_subject(*arguments, **options)
        return replace(subject, wrap=lambda policy: mutate(policy, mutant))

    monkeypatch.setattr(module, "build_subject", build)


def test_a_golden_policy_passes(drive: Path, tmp_path: Path):
    found = certify(drive, settings=SETTINGS, output=tmp_path / "c")
    assert found.verdict == "pass"
    assert found.reasons == ()
    assert found.success.lower > 0.75
    assert found.success.mean == 1.0
    assert load_certificate(tmp_path / "c" / "certificate.json") == found
    assert (tmp_path / "c" / "junit.xml").is_file()
    again = certify(drive, settings=SETTINGS)
    assert drop_times(again) == drop_times(found)


@pytest.mark.parametrize(
    ("mutant", "named"),
    [
        (
            FlippedSign(joint="left_wheel", side=FaultSide.ACTION),
            ["contract", "everyday"],
        ),
        (
            FlippedSign(joint="left_wheel", side=FaultSide.OBSERVATION),
            ["contract", "everyday"],
        ),
        (Degrees(joints=("left_wheel", "right_wheel")), ["contract", "everyday"]),
        (ReversedHistory(), ["contract"]),
        (ExtraDelay(steps=1), ["contract"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_mutant_fails_for_a_reason_that_is_named(
    drive: Path, monkeypatch: pytest.MonkeyPatch, mutant: Mutant, named: list[str]
):
    """A drive bears a delay and old speeds: only its own examples tell of those."""
    plant(monkeypatch, mutant)
    suite = SMALL if "everyday" in named else NOTHING
    found = certify(drive, settings=CertifySettings(suite=suite))
    assert found.verdict == "fail"
    begins = [reason.partition(":")[0].partition(",")[0] for reason in found.reasons]
    unplayed = ["No condition that the suite requires was run."]
    assert begins == named + ([] if "everyday" in named else unplayed)
    if "everyday" in named:
        assert found.failures[0].name == "no_progress"


def test_an_interrupted_run_goes_on_to_the_same_certificate(
    drive: Path, tmp_path: Path
):
    def stop(done: float, name: str) -> None:
        assert (name, done) == ("everyday", 0.5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify(drive, settings=TWO, output=tmp_path, progress=stop)
    assert (tmp_path / "parts" / "cell_0.json").is_file()
    seen: list[str] = []
    found = certify(
        drive, settings=TWO, output=tmp_path, progress=lambda _, name: seen.append(name)
    )
    assert seen == ["late"]
    assert load_certificate(tmp_path / "certificate.json") == found
    assert [cell.share.successes for cell in found.cells if cell.share] == [16, 16]


def test_a_folder_of_another_policy_is_not_gone_on_with(drive: Path, tmp_path: Path):
    settings = CertifySettings(suite=NOTHING)
    certify(drive, settings=settings, output=tmp_path / "c")
    policy = load_policy(drive)
    other = tmp_path / "other.onnx"
    shape = (policy.contract.width, policy.contract.action.width)
    write_policy(other, policy.contract, np.zeros(shape, np.float32))
    with pytest.raises(Unwritable, match="something else"):
        certify(other, settings=settings, output=tmp_path / "c")
    found = certify(other, settings=settings, output=tmp_path / "c", overwrite=True)
    assert load_certificate(tmp_path / "c" / "certificate.json") == found


def test_nothing_of_a_foreign_folder_is_touched(drive: Path, tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(Unwritable, match="something else"):
        certify(drive, settings=CertifySettings(suite=NOTHING), output=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_beginning_anew_removes_what_was_written_and_nothing_else(
    drive: Path, tmp_path: Path
):
    folder = tmp_path / "c"
    mine = ("parts/gear.json", "parts/cell_1.json", "certificate.json", "replays/a.npz")
    for name in mine:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    certify(drive, settings=TWO, output=folder, overwrite=True)
    assert (folder / "parts" / "cell_1.json").read_text() != "mine"
    settings = CertifySettings(suite=NOTHING)
    certify(drive, settings=settings, output=folder, overwrite=True)
    assert not list((folder / "parts").glob("cell_?.json"))
    kept = ("parts/gear.json", "replays/a.npz")
    aside = ("parts/cell_1.json.1", "certificate.json.1")
    assert [(folder / name).read_text() for name in kept + aside] == ["mine"] * 4


def test_an_answer_of_somebody_else_is_no_answer(drive: Path, tmp_path: Path):
    certify(drive, settings=TWO, output=tmp_path / "c")
    first, second = (tmp_path / "c" / "parts" / f"cell_{k}.json" for k in range(2))
    second.write_bytes(first.read_bytes())
    seen: list[str] = []
    certify(
        drive,
        settings=TWO,
        output=tmp_path / "c",
        progress=lambda _, name: seen.append(name),
    )
    assert seen == ["late"]


def test_a_folder_is_left_empty_by_a_kill_and_used_again(drive: Path, tmp_path: Path):
    (tmp_path / "c" / "parts").mkdir(parents=True)
    (tmp_path / "c" / ".realworthy.lock").write_text("1\n")
    certify(drive, settings=CertifySettings(suite=NOTHING), output=tmp_path / "c")
    assert (tmp_path / "c" / "certificate.json").is_file()
    assert not (tmp_path / "c" / ".realworthy.lock").exists()


def test_two_runs_in_one_folder_are_one_too_many(drive: Path, tmp_path: Path):
    with (
        locked_folder(tmp_path / "c"),
        pytest.raises(Unwritable, match="is writing there"),
    ):
        certify(drive, settings=TWO, output=tmp_path / "c", overwrite=True)


def test_an_engine_that_does_not_exist_is_said(drive: Path):
    with pytest.raises(UnknownName, match="drakee"):
        certify(drive, settings=CertifySettings(suite=NOTHING, engines=("drakee",)))


def test_a_policy_that_says_no_numbers_is_no_failure_but_a_mistake(
    drive: Path, tmp_path: Path
):
    contract = load_policy(drive).contract
    weights = np.full((contract.width, 2), np.nan, np.float32)
    path = tmp_path / "nan.onnx"
    told = msgspec.structs.replace(contract, parity=None)
    write_linear(path, weights)
    (tmp_path / "nan.contract.yaml").write_bytes(msgspec.yaml.encode(told))
    with pytest.raises(RealworthyError, match="numbers"):
        certify(path, settings=SETTINGS)


def test_bar_and_seed_are_taken_over(drive: Path):
    found = certify(drive, settings=CertifySettings(suite=NOTHING, bar=0.7, seed=5))
    assert (found.bar, found.seed) == (0.7, 5)


def test_a_budget_that_is_overspent_fails(drive: Path):
    budgets = Budgets(heat=1e-6)
    suite = msgspec.structs.replace(SMALL, budgets=budgets)
    found = certify(drive, settings=CertifySettings(suite=suite))
    assert found.verdict == "fail"
    assert any(reason.startswith("budget heat") for reason in found.reasons)


def test_margins_end_where_the_policy_no_longer_bears_it(cartpole: Path):
    margin = Margin(
        name="delay",
        unit="steps",
        steps=tuple(
            MarginStep(value=float(k), condition=Condition(delay_steps=k))
            for k in (2, 8, 20)
        ),
    )
    suite = msgspec.structs.replace(NOTHING, margins=(margin,))
    found = certify(cartpole, settings=CertifySettings(suite=suite)).margins[0]
    assert (found.largest, found.failing) == (2.0, 8.0)
    assert len(found.levels) == 2


@pytest.mark.slow
def test_two_workers_find_the_same(drive: Path, tmp_path: Path):
    one = certify(drive, settings=TWO)
    settings = replace(TWO, workers=2)
    two = certify(drive, settings=settings, output=tmp_path)
    assert drop_times(two) == drop_times(one)
