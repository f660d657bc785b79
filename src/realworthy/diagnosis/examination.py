"""The bench for some recordings, and what a search on it comes to."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.bench import Bench, BenchSettings
from realworthy.diagnosis.fitting import fit
from realworthy.diagnosis.forces import explain_forces
from realworthy.diagnosis.forces.suspicion import begin_at, find_suspect
from realworthy.diagnosis.interface import list_edits, list_offsets
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.missing import list_missing
from realworthy.diagnosis.parametric import list_parametric, parameter_names
from realworthy.diagnosis.residual import measure_learnable
from realworthy.diagnosis.scales import Scale, find_scales
from realworthy.diagnosis.search import SearchSettings, search
from realworthy.diagnosis.suspects import Case, Suspect
from realworthy.diagnosis.together import search_together
from realworthy.diagnosis.work import Work
from realworthy.gap.measure import Gap
from realworthy.progress import Progress
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]
_FINENESSES = (1, 2, 4)
_CLEARLY = 0.1
"""Share of the loss by which finer time steps must be better to be used."""
_NUMERICS = 0.15
"""Share of what half the time step changes that counts as noise."""
_CONFIRMED = 4
"""Steps of a fit that begins where forces say."""
_HOLES = ("dropped_samples", "stale_samples")
_LEARNABLE = 0.6
"""Of a torque residual's variance: from there on something is left to be named."""
_FEWEST_PIECES = 4
_LONGER = 5.0
"""How much longer pieces of the second look are."""
_LONGEST = 4.0
"""[s] of them, at most."""
_FADES = 1.2
"""Share of a wrong start that may be left at the end of a piece of a stable robot."""
_GROWS, _SHORT = 4.0, 0.4
"""Growth of a wrong start beyond which pieces are cut shorter, down to so many s."""
_KEEN = 0.5
"""Of the usual threshold: how little is looked for in long pieces."""


def examine(twin: Twin, work: Work, settings: SearchSettings, tell: Progress) -> None:
    """Looks for causes; `work` gets what is found, as soon as it is found.

    Balances of forces decide where the laws of all drives are known; replays then fit
    what they found. Otherwise, or where something is left that state and command
    predict, replays search. Where short pieces show nothing and the robot forgets its
    starts, long ones are looked at too: small effects add up there.
    """
    group = _choose_rate(work)
    tell(0.11, "forces")
    is_holed = any(f.is_fault and f.name in _HOLES for f, _ in work.log)
    work.forces = explain_forces(twin, group, work.gap, is_holed=is_holed)
    if work.forces is not None:
        if work.forces.picked:
            tell(0.3, "replays of what forces say")
            _confirm(twin, group, work)
            return
        if work.forces.resting or not _is_learnable(work):
            return
    bench = _build_bench(twin, group, work)
    if bench is None:
        return
    tell(0.15, "how fine the clock must be")
    bench = _choose_clock(twin, group, bench)
    if _search(twin, bench, work, settings, tell):
        return
    longer = _lengthen(twin, group, bench)
    if longer is not None:
        tell(0.2, "a longer look")
        keen = replace(settings, quiet=_KEEN * settings.quiet)
        _search(twin, _choose_clock(twin, group, longer), work, keen, tell)


def _confirm(twin: Twin, group: Sequence[Recording], work: Work) -> None:
    """Fits the causes that forces say in replays, from the numbers that they say."""
    assert work.forces is not None
    bench = _build_bench(twin, group, work)
    if bench is None:
        return
    every = _list_suspects(twin, bench, find_scales(bench), bench.joints)
    fitted, balance = work.forces.chosen.now, work.forces.balance
    suspects: list[Suspect] = []
    starts: list[tuple[float, ...]] = []
    for picked in work.forces.picked:
        suspect = find_suspect(picked.term, every)
        if suspect is not None:
            suspects.append(suspect)
            starts.append(begin_at(picked.term, fitted, suspect, balance))
    if not suspects:
        return
    bench.allow(parameter_names(suspects))
    judge = Judge(bench)
    found = search(judge, [])
    sets = [(tuple(suspects), tuple(starts))]
    found.now = fit(judge, sets, iterations=_CONFIRMED)[0]
    found.rivals = [[] for _ in suspects]
    work.judge, work.found = judge, found


def _is_learnable(work: Work) -> bool:
    """Whether state and command predict much of the torque that the twin lacks."""
    found = [
        share
        for part in work.gap.recordings[:3]
        for share in measure_learnable(part).values()
    ]
    return max(found, default=0.0) > _LEARNABLE


def _search(
    twin: Twin, bench: Bench, work: Work, settings: SearchSettings, tell: Progress
) -> bool:
    """Whether there was anything to look for on this bench."""
    judge = Judge(bench)
    found = search(judge, [], settings)
    loud = _find_loud(judge, found.now.square, settings)
    if work.found is None or loud:
        work.judge, work.found = judge, found
    if not loud:
        return False
    suspects = _list_suspects(twin, bench, find_scales(bench), loud)
    bench.allow(parameter_names(suspects))

    def report(done: float, what: str) -> None:
        tell(0.2 + 0.65 * done, what)

    until = time.perf_counter() + settings.seconds
    search(judge, suspects, settings, found=found, progress=report)
    if not found.is_out_of_time:
        search_together(judge, suspects, found, settings, until)
    if found.is_out_of_time:
        work.warnings.append(
            f"The search ended after {settings.seconds:.0f} s; there may be more "
            "causes."
        )
    return True


def _lengthen(
    twin: Twin, recordings: Sequence[Recording], bench: Bench
) -> Bench | None:
    """A bench with longer pieces; None for robots that do not forget their starts."""
    if _growth(bench) > _FADES:
        return None
    shortest = min(recording.duration for recording in recordings)
    length = min(_LONGER * bench.settings.length, _LONGEST, shortest / 3)
    if length < 1.5 * bench.settings.length:
        return None
    settings = BenchSettings(length=length, warm_up=bench.settings.warm_up)
    longer = Bench(twin, recordings, (), settings)
    return longer if len(longer.pieces) >= _FEWEST_PIECES else None


def _growth(bench: Bench) -> float:
    """How many times larger a wrong start is at the end of a piece than early on."""
    shift = bench.shift_starts(Case())
    joints, count = len(bench.joints), bench.block_count
    answer = np.abs(shift.reshape(len(shift), count, joints, -1))
    late, early = answer[:, -1].mean(0).max(1), answer[:, 0].mean(0).max(1)
    return float((late / np.maximum(early, 0.1)).max())


def _choose_rate(work: Work) -> list[Recording]:
    """Recordings of one rate: the one with most rows; others are only measured."""
    groups: dict[int, list[Recording]] = {}
    for recording in work.recordings:
        groups.setdefault(round(100 * np.log(recording.rate)), []).append(recording)
    best = max(groups.values(), key=lambda group: sum(len(r.time) for r in group))
    if len(groups) > 1:
        work.warnings.append(
            f"Recordings have {len(groups)} different rates; causes were looked for in "
            f"the {len(best)} at {best[0].rate:.4g} Hz."
        )
    joints = best[0].joints
    same = [r for r in best if r.joints == joints]
    if len(same) < len(best):
        work.warnings.append(
            f"Causes were looked for in {len(same)} of {len(best)} recordings, which "
            "have the same joints."
        )
    return same


def _build_bench(
    twin: Twin, recordings: Sequence[Recording], work: Work
) -> Bench | None:
    length = _choose_length(work.gap, recordings)
    while length > 0.1:
        settings = BenchSettings(length=length, warm_up=min(0.5, length / 3))
        bench = Bench(twin, recordings, (), settings)
        if len(bench.pieces) >= _FEWEST_PIECES and (
            length < _SHORT or _growth(bench) < _GROWS
        ):
            return bench
        length *= 0.6
    longest = max(recording.duration for recording in recordings)
    work.warnings.append(
        "Too little data to look for causes: the longest recording has "
        f"{longest:.2g} s."
    )
    return None


def _choose_length(gap: Gap, recordings: Sequence[Recording]) -> float:
    """[s] of half a typical swing, and at least a dozen rows."""
    periods = []
    for part in gap.recordings:
        q, v = part.states.position.std(0), part.states.velocity.std(0)
        moving = v > 1e-6
        periods += (2 * np.pi * q[moving] / v[moving]).tolist()
    swing = float(np.median(periods)) if periods else 1.0
    return max(float(np.clip(0.5 * swing, 0.4, 2.5)), 12 / recordings[0].rate)


def _choose_clock(twin: Twin, recordings: Sequence[Recording], coarse: Bench) -> Bench:
    """The bench whose time steps fit the recordings best, numerics in its noise.

    Robots have no time step. Where finer ones predict clearly better they are used;
    part of what the next finer one changes counts as noise.
    """
    benches, losses, played = {1: coarse}, {}, {}
    for fineness in _FINENESSES:
        if fineness > 1:
            benches[fineness] = Bench(
                twin, recordings, (), coarse.settings, fineness=fineness
            )
        played[fineness] = benches[fineness].play_plainly()
        judge = Judge(benches[fineness])
        losses[fineness] = float(search(judge, []).now.loss.sum())
        if fineness > 1 and losses[fineness] > losses[fineness // 2]:
            break
    best = min(losses, key=lambda f: losses[f])
    if losses[1] - losses[best] < max(10.0, _CLEARLY * losses[1]):
        best = 1
    other = 2 * best if 2 * best in played else best // 2
    (one, sound), (two, also) = played[best], played[other]
    use = sound & also
    change = (one - two)[use] if use.any() else np.zeros((1, *one.shape[1:]))
    bench = benches[best]
    bench.set_numerics(_NUMERICS * np.sqrt(np.mean(change**2, axis=(0, 1))))
    return bench


def _find_loud(
    judge: Judge, square: Floats, settings: SearchSettings
) -> tuple[str, ...]:
    """Joints whose predictions are off by more than noise."""
    mean = square.mean(0)
    return tuple(
        joint
        for joint, value in zip(judge.bench.joints, mean, strict=True)
        if value >= settings.quiet
    )


def _list_suspects(
    twin: Twin, bench: Bench, scales: Mapping[str, Scale], loud: tuple[str, ...]
) -> list[Suspect]:
    ours = {joint: scale for joint, scale in scales.items() if joint in loud}
    duration = max(s.track.recording.duration for s in bench.sources(()))
    return [
        *list_edits(twin, bench.layout, loud, bench.rate),
        *list_offsets(twin, bench.layout, ours),
        *list_parametric(twin, bench.layout, ours),
        *list_missing(bench.layout, ours, duration),
    ]
