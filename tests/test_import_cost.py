"""Importing Realworthy is cheap, and the robot's computer needs no simulator."""

import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("mujoco", "torch", "scipy", "pyarrow", "rich", "tyro", "numpy", "warp", "yaml")
ROBOT_ROOMS = (
    *("parameters", "recordings", "robots", "actuators", "sensors"),
    *("residuals", "policies", "deployment"),
)


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def measure(*arguments: str, count: int = 7) -> float:
    """Median seconds of several fresh processes, the first, cold one apart.

    Of the processor, which on an idle machine are those of the clock: a busy machine
    must not fail the test.
    """
    times = []
    run(*arguments)
    for _ in range(count):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        times.append(spent)
    return statistics.median(times)


def test_importing_realworthy_loads_nothing_heavy():
    code = (
        "import sys, realworthy; print(*{name.split('.')[0] for name in sys.modules})"
    )
    loaded = set(run("-c", code).split())
    assert loaded.isdisjoint(HEAVY), loaded & set(HEAVY)


def test_importing_realworthy_takes_no_time():
    bare = measure("-c", "pass")
    assert measure("-c", "import realworthy") - bare <= 0.3


def test_help_is_quick():
    assert measure("-m", "realworthy", "--help") <= 0.5


def test_help_loads_no_arrays_and_no_simulator():
    code = (
        "import sys\n"
        "from realworthy.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print('loaded:', *{name.split('.')[0] for name in sys.modules})"
    )
    loaded = set(run("-c", code).partition("loaded:")[2].split())
    assert loaded.isdisjoint({"mujoco", "torch", "scipy", "pyarrow", "numpy", "warp"})


def test_showing_importers_is_quick_and_needs_no_simulator():
    assert measure("-m", "realworthy", "show", "importers", count=3) <= 1.0
    code = (
        "import sys\n"
        "sys.modules['mujoco'] = None\n"
        "from realworthy.cli import main\n"
        "main(['show', 'importers'])"
    )
    assert "rosbag" in run("-c", code)


@pytest.mark.parametrize("room", ROBOT_ROOMS)
def test_rooms_of_the_robots_computer_need_no_simulator(room: str):
    code = (
        "import importlib, pkgutil, sys\n"
        "for name in ('mujoco', 'mujoco_warp', 'warp', 'torch', 'tyro'):\n"
        "    sys.modules[name] = None\n"
        f"room = importlib.import_module('realworthy.{room}')\n"
        f"for found in pkgutil.walk_packages(room.__path__, 'realworthy.{room}.'):\n"
        "    importlib.import_module(found.name)\n"
        "print(len([n for n in sys.modules if n.startswith(room.__name__)]))"
    )
    files = Path(__file__).parents[1] / "src" / "realworthy" / room
    assert int(run("-c", code)) >= len(list(files.rglob("*.py"))) - 2
