"""No damage to a file surprises its reader: it reads, or says what is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.hostile.fuzz import fuzz
from tests.hostile.valid import KINDS

COUNT = 12
MANY = 3200
"""Files of each kind: some 10⁵ in all."""
FOUND = {
    "dfki_simple_pendulum": (22,),
    "mjcf": (1201,),
    "servo": (10817, 10973, 11893, 12513),
    "parquet": (*range(1000, 1060),),
}
"""Seeds that once ended in a traceback, a hang or a dead process."""


@pytest.mark.parametrize("name", KINDS)
def test_damage_is_read_or_refused(tmp_path: Path, name: str):
    tally = fuzz(name, (*range(COUNT), *FOUND.get(name, ())), tmp_path)
    assert tally.failures == []
    assert tally.counts["refused"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_much_damage_is_read_or_refused(name: str):
    """In a process of its own, which a library may end."""
    command = [sys.executable, "-m", "tests.hostile.fuzz", "10000", str(MANY), name]
    path = os.pathsep.join([str(PROJECT / "src"), str(PROJECT)])
    done = subprocess.run(
        command,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-500:]
