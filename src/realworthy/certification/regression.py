"""Against the last accepted policy: the same starts, the same draws of e."""

from pathlib import Path

import numpy as np

from realworthy.certification.condition import Condition
from realworthy.certification.examine import play_condition
from realworthy.certification.results import Regression
from realworthy.certification.statistics import Change, Verdict, compare_paired
from realworthy.certification.subject import Subject, build_subject
from realworthy.certification.validity import find_box, spread_evenly

_PAIRS = 256
"""Episodes on which two policies are compared."""
_WORDS = {
    Change.BETTER: "better than",
    Change.WORSE: "worse than",
    Change.EQUAL: "as good as",
    Change.INSUFFICIENT: "not clearly better or worse than",
}


def compare_policies(subject: Subject, against: Path, *, seed: int) -> Regression:
    """New against old on the same episodes; to be worse beyond doubt is to fail."""
    old = build_subject(
        against,
        task=subject.task,
        twin=subject.twin,
        thread_count=subject.thread_count,
    )
    names, lower, upper = find_box(subject)
    u = spread_evenly(_PAIRS, len(names), seed=seed + 31)
    rows = lower + u * (upper - lower)
    played = [
        play_condition(
            one,
            Condition(),
            _PAIRS,
            seed=seed + 31,
            rows=rows if names else None,
            names=names,
            numbers=np.arange(_PAIRS),
        )
        for one in (subject, old)
    ]
    both = ~played[1].invalid  # where the new one diverges, it has not succeeded
    new, last = (episodes.success[both].astype(float) for episodes in played)
    found = compare_paired(new, last)
    about = f"Nothing can be compared: all episodes of {against.name} diverged."
    verdict = Verdict.FAIL if found.change is Change.WORSE else Verdict.PASS
    if len(new):
        about = (
            f"It is {_WORDS[found.change]} {against.name}: {new.mean():.1%} against "
            f"{last.mean():.1%} of {len(new)} episodes."
        )
    return Regression(
        against=str(against),
        change=str(found.change),
        difference=found.difference,
        lower=found.interval.lower,
        upper=found.interval.upper,
        count=found.count,
        about=about,
        verdict=verdict if len(new) else Verdict.INSUFFICIENT,
    )
