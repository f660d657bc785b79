"""The small wheel: built, installed into an empty environment, measured, used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import examples

PROJECT = Path(__file__).parents[2]
ROOMS = {
    "__init__.py",
    "errors.py",
    "py.typed",
    "artefacts",
    "parameters",
    "recordings",
    "robots",
    "actuators",
    "sensors",
    "policies",
    "deployment",
}
USE = """
import sys, time
begin = time.perf_counter()
from pathlib import Path
from realworthy.deployment import DeploySettings, deploy
from realworthy.policies import load_policy
policy = load_policy(sys.argv[1])
print(time.perf_counter() - begin, policy.engine)
heavy = {"mujoco", "torch", "scipy", "tyro", "rich", "pyarrow"} & set(sys.modules)
assert not heavy, heavy
"""


def run(*arguments: str, cwd: Path) -> str:
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        arguments, cwd=cwd, env=kept, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def weigh(folder: Path) -> float:
    """[MB] of all files, compiled bytecode apart."""
    files = [f for f in folder.rglob("*") if f.is_file() and f.suffix != ".pyc"]
    return sum(f.stat().st_size for f in files if not f.is_symlink()) / 1e6


@pytest.mark.slow
def test_the_small_wheel_is_small_and_starts_at_once(tmp_path: Path):
    source = PROJECT / "packaging" / "robot"
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(source), cwd=tmp_path)
    wheel = next(tmp_path.glob("realworthy_robot-*.whl"))
    policy = examples.swinging(tmp_path / "p.onnx")
    for extra, most in (("", 100), ("[onnx]", 180)):
        site = tmp_path / f"site{extra.strip('[]')}"
        run(*pip, "install", "--target", str(site), f"{wheel}{extra}", cwd=tmp_path)
        found = {path.name for path in (site / "realworthy").iterdir()}
        assert found - {"__pycache__"} == ROOMS
        assert weigh(site) <= most
        command = (sys.executable, "-I", "-c", _with(site), str(policy))
        run(*command, cwd=tmp_path)  # compiles what it imports
        seconds, engine = run(*command, cwd=tmp_path).split()
        assert engine == ("onnxruntime" if extra else "numpy")
        assert float(seconds) < 1.0
        print(f"{extra or 'numpy'}: {weigh(site):.0f} MB, {float(seconds):.2f} s")


def _with(site: Path) -> str:
    """Only the standard library and what was installed."""
    return (
        "import sys\n"
        "sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n"
        f"sys.path.insert(0, {str(site)!r})\n" + USE
    )
