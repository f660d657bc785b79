"""Killed at random moments: nothing half-written or in the way, equal results."""

from pathlib import Path

import pytest

from benchmarks.kills import JOBS, Job, make_inputs, try_job

QUICK = [job for job in JOBS if job.name == "convert"]
OTHERS = [job for job in JOBS if job not in QUICK]


@pytest.mark.parametrize("job", QUICK, ids=lambda job: job.name)
def test_a_quick_command_is_killed_a_few_times(job: Job, tmp_path: Path):
    make_inputs(tmp_path / "inputs", with_policy=False)
    row = try_job(job, tmp_path / "inputs", tmp_path / "runs", kills=3, seed=1)
    assert row.is_clean, row
    assert row.compared


@pytest.mark.slow
@pytest.mark.parametrize("job", OTHERS, ids=lambda job: job.name)
def test_every_command_is_killed(job: Job, tmp_path: Path):
    make_inputs(tmp_path / "inputs", with_policy=job.name == "certify")
    row = try_job(job, tmp_path / "inputs", tmp_path / "runs", kills=3, seed=1)
    assert row.is_clean, row
    assert row.compared
