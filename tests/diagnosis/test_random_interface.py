"""Random interface faults: found alone, and mended by what a user would paste."""

from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml

from realworthy.diagnosis.fix import to_sidecar, write_fixed
from realworthy.diagnosis.log import inspect_together
from realworthy.recordings import (
    Recording,
    load_recording,
    save_recording,
)

from .random_interface import (
    TWINS,
    Planted,
    build,
    log,
    measure_error,
    plant,
    record,
)

HEALTHY = 1.5
"""Times the healthy log's error, with a small allowance, that counts as reached."""
ALLOWANCE = 0.15


def judge(twin: str, seed: int, folder: Path) -> tuple[str, Planted]:
    """`ok`, or what went wrong, and what was planted."""
    robot = build(twin)
    rng = np.random.default_rng([seed, TWINS.index(twin)])
    healthy = log(robot, rng)
    planted = plant(robot, healthy, rng)
    path = folder / "run.csv"
    save_recording(record(robot, planted.columns), path, overwrite=True)
    given = load_recording(path, check_units=False)
    found = [f for f, _ in inspect_together([given], robot.twin) if f.is_fault]
    if [f.name for f in found] != [planted.name] or found[0].fix is None:
        return f"said {[(f.name, f.joints) for f in found]}", planted
    if planted.joints and set(found[0].joints) != set(planted.joints):
        return f"joints {found[0].joints}", planted
    (fixed_path,) = write_fixed([given], [found[0].fix], folder, overwrite=True)
    fixed = load_recording(fixed_path, check_units=False)
    if found[0].fix.is_mapping:
        pasted = paste(given, path, to_sidecar(found[0].fix, given))
        if not is_same(pasted, fixed):
            return "the pasted block differs", planted
    limit = HEALTHY * measure_error(robot, record(robot, healthy)) + ALLOWANCE
    error = measure_error(robot, fixed)
    return ("ok" if error < limit else f"error {error:.3g} > {limit:.3g}"), planted


def paste(given: Recording, path: Path, block: str) -> Recording:
    """The original file, read with its sidecar and the block."""
    sidecar = msgspec.to_builtins(given.sidecar) | yaml.safe_load(block)
    path.with_suffix(".yaml").write_text(yaml.safe_dump(sidecar))
    return load_recording(path, check_units=False)


def is_same(first: Recording, second: Recording) -> bool:
    return (
        set(first.signals) == set(second.signals)
        and len(first.time) == len(second.time)
        and np.allclose(first.time, second.time, rtol=1e-6, atol=1e-9)
        and first.sidecar.rate == pytest.approx(second.sidecar.rate)
        and all(
            np.allclose(first.signals[n], second.signals[n], rtol=1e-5, atol=1e-7)
            for n in first.signals
        )
    )


def judge_all(count: int, folder: Path) -> tuple[int, Counter[str]]:
    """How many of `count` are ok, and what became of the others, by cause."""
    wrong: Counter[str] = Counter()
    for k in range(count):
        twin = TWINS[k % len(TWINS)]
        result, planted = judge(twin, k // len(TWINS), folder)
        if result != "ok":
            wrong[f"{twin} {planted.name} {planted.joints}: {result}"] += 1
    return count - sum(wrong.values()), wrong


def test_the_pasted_block_mends_random_faults(tmp_path: Path, menagerie_root: Path):
    good, wrong = judge_all(10, tmp_path)
    assert good >= 9, wrong


@pytest.mark.slow
def test_the_pasted_block_mends_95_of_100_random_faults(
    tmp_path: Path, menagerie_root: Path
):
    good, wrong = judge_all(200, tmp_path)
    assert good >= 190, wrong
