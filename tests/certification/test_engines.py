"""Engines beside MuJoCo: heard where they are installed, missed where asked for."""

import numpy as np
import pytest

from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.examination import comparisons as engines
from realworthy.certification.examination.comparisons import (
    examine_engine,
    find_divergence,
)
from realworthy.certification.rollouts.episodes import Rollouts
from realworthy.certification.subject import Subject
from realworthy.certification.suite.condition import Condition
from realworthy.certification.suite.suite import Cell
from realworthy.errors import RealworthyError

DRAKE = Cell(
    name="engine drake",
    group="engine",
    condition=Condition(engine="drake", noise=0.0),
    episodes=8,
)


def make_episodes(signals: np.ndarray, success: list[bool] | None = None) -> Rollouts:
    count, steps, _ = signals.shape
    return Rollouts(
        success=np.array(success or [True] * count),
        invalid=np.zeros(count, np.bool_),
        failure=np.zeros(count, np.int64),
        score=np.zeros(count),
        seconds=np.full(count, steps * 0.02),
        trace=None,
        observed=None,
        signals=signals.astype(np.float32),
    )


def swing(subject: Subject, worlds: int = 3) -> np.ndarray:
    """(worlds, 100, signals) every signal a sine of amplitude 1."""
    names = subject.build_worlds(Condition(), 1, seed=0).simulator.signals
    sine = np.sin(np.linspace(0, 20, 100))
    return np.tile(sine[None, :, None], (worlds, 1, len(names)))


def test_the_first_signal_to_part_is_named(balancing: Subject):
    ours = swing(balancing)
    theirs = ours.copy()
    names = balancing.build_worlds(Condition(), 1, seed=0).simulator.signals
    first, later = names.index("pole.velocity"), names.index("cart.position")
    theirs[:, 30:, first] += 0.5
    theirs[:, 60:, later] += 2.0
    found = find_divergence(balancing, make_episodes(ours), make_episodes(theirs))
    assert found is not None
    assert found.signal == "pole.velocity"
    assert found.seconds == pytest.approx(30 * 0.02)
    assert found.theirs - found.ours == pytest.approx(0.5, abs=1e-5)


def test_small_differences_are_none(balancing: Subject):
    ours = swing(balancing)
    theirs = ours + 0.05  # the sine's standard deviation is 0.7
    assert (
        find_divergence(balancing, make_episodes(ours), make_episodes(theirs)) is None
    )


def test_a_contradiction_fails_and_agreement_passes(balancing: Subject, monkeypatch):
    signals = swing(balancing, 8)
    outcomes = {"mujoco": [True] * 8, "drake": [False] * 8}

    def play(_subject, condition, _count, _seed):
        return make_episodes(signals, outcomes[condition.engine])

    monkeypatch.setattr(engines, "_play", play)
    monkeypatch.setattr(engines, "find_hindrance", lambda engine: "")
    found = examine_engine(balancing, DRAKE, seed=0)
    assert found.verdict is CertificateVerdict.FAIL
    assert "0 of 8 succeed in drake, 8 in MuJoCo" in found.about
    outcomes["drake"] = [True] * 7 + [False]
    assert examine_engine(balancing, DRAKE, seed=0).verdict is CertificateVerdict.PASS


def test_a_missing_engine_is_skipped_unless_asked_for(balancing: Subject, monkeypatch):
    from realworthy.simulators import witnesses

    def refuse(*_arguments):
        raise RealworthyError("Drake is not installed.", hint="pip install …")

    monkeypatch.setattr(witnesses, "is_installed", lambda name: False)
    monkeypatch.setitem(witnesses.WITNESSES, "drake", refuse)
    found = examine_engine(balancing, DRAKE, seed=0)
    assert "not installed" in found.skipped
    assert not found.required
    with pytest.raises(RealworthyError, match="not installed"):
        examine_engine(balancing, DRAKE, seed=0, is_asked=True)


def test_an_engine_that_was_asked_for_is_missed_before_the_work(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(RealworthyError, match="'sapien' is not installed") as raised:
        engines.check_installed(("sapien",))
    assert "realworthy[sim2sim]" in raised.value.hint
    engines.check_installed(())
