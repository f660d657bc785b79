"""How much of one thing a policy bears: more and more of it, the rest everyday."""

import time

import numpy as np

from realworthy.certification.examine import play_condition, to_share
from realworthy.certification.results import Level, MarginResult
from realworthy.certification.subject import CannotPlay, Subject
from realworthy.certification.suite import Margin


def examine_margin(
    subject: Subject, margin: Margin, *, bar: float, seed: int
) -> MarginResult:
    """Goes up until fewer than a share `bar` of episodes succeed."""
    began = time.perf_counter()
    largest: float | None = None
    failing: float | None = None
    levels: list[Level] = []
    skipped = ""
    for step in margin.steps:
        try:
            found = play_condition(
                subject,
                step.condition,
                margin.episodes,
                seed=seed,
                numbers=np.arange(margin.episodes),
            )
        except CannotPlay as reason:
            skipped = reason.problem if not levels else ""
            break
        share = to_share(found.success_count, found.valid_count)
        levels.append(Level(value=step.value, share=share))
        if share.mean < bar:
            failing = step.value
            break
        largest = step.value
    return MarginResult(
        name=margin.name,
        unit=margin.unit,
        largest=largest,
        failing=failing,
        levels=tuple(levels),
        skipped=skipped,
        seconds=time.perf_counter() - began,
    )
