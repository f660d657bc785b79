"""A worse policy than the last one fails; the same one does not."""

from dataclasses import replace
from pathlib import Path

from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.examination import comparisons as regression
from realworthy.certification.examination.comparisons import compare_policies
from realworthy.certification.subject import Subject
from tests.certification.mutants import FaultSide, FlippedSign, mutate


def test_a_worse_policy_fails(driving: Subject, drive: Path, monkeypatch):
    monkeypatch.setattr(regression, "_PAIRS", 24)
    fault = FlippedSign(joint="left_wheel", side=FaultSide.ACTION)
    worse = replace(driving, wrap=lambda policy: mutate(policy, fault))
    found = compare_policies(worse, drive, seed=0)
    assert found.verdict is CertificateVerdict.FAIL
    assert found.change == "worse"
    assert found.upper < 0
    assert "worse than" in found.about


def test_the_same_policy_is_not_worse(driving: Subject, drive: Path, monkeypatch):
    monkeypatch.setattr(regression, "_PAIRS", 24)
    found = compare_policies(driving, drive, seed=0)
    assert found.verdict is CertificateVerdict.PASS
    assert found.difference == 0
