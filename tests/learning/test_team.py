"""`torchrun` on two processes of the CPU: one run, one policy."""

import os
import subprocess
import sys
from pathlib import Path

import torch

from realworthy.learning.distributed import Team, join_team


def test_alone_it_is_its_own_team():
    team = join_team("cpu")
    assert team == Team(0, 1)
    assert team.average is None
    assert team.agree(True, False) == (True, False)
    assert team.share(lambda: 3) == 3
    assert team.choose_device("cuda") == "cuda"


def run_two(script: Path) -> None:
    """A script, in its folder, as two processes of `torchrun`."""
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, *command, str(script)],
        cwd=script.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_two_processes_make_one_run(tmp_path: Path):
    script = tmp_path / "go.py"
    script.write_text(
        "import os\n"
        "from pathlib import Path\n"
        "import torch\n"
        "from realworthy.learning.ppo import small\n"
        "from realworthy.learning.train import TrainSettings, train\n"
        "torch.set_num_threads(1)\n"
        "ppo = small()\n"
        "ppo.horizon, ppo.actor_widths, ppo.critic_widths = 16, (16,), (16,)\n"
        "settings = TrainSettings(task='pendulum', learner=ppo, world_count=8,\n"
        "    steps=3 * 2 * 8 * 16, evaluation_episodes=4, thread_count=1)\n"
        "done = train(settings, output='run')\n"
        "words = f'{done.step_count} {done.evaluation.episode_count}'\n"
        "Path('told_' + os.environ['RANK']).write_text(words)\n"
    )
    run_two(script)
    told = [(tmp_path / f"told_{rank}").read_text() for rank in range(2)]
    assert told == ["768 4", "768 4"]  # both processes know the result
    folder = tmp_path / "run"
    assert (folder / "policy.onnx").exists()
    kept = [
        torch.load(folder / "checkpoints" / name, weights_only=True)
        for name in ("latest.pt", "1_latest.pt")
    ]
    for name, weights in kept[0]["learner"]["actor"].items():
        assert torch.equal(weights, kept[1]["learner"]["actor"][name]), name
    seen = [state["learner"]["observations"]["policy"] for state in kept]
    assert not torch.equal(*seen)  # each has worlds of its own


def test_searches_in_two_processes_follow_one_step(tmp_path: Path):
    """Each tries directions of its own; both take the mean of their steps."""
    script = tmp_path / "go.py"
    script.write_text(
        "import torch\n"
        "from realworthy.learning.ars import ArsSettings\n"
        "from realworthy.learning.train import train\n"
        "torch.set_num_threads(1)\n"
        "train('pendulum', learner=ArsSettings(directions=4, kept=2), world_count=4,\n"
        "    steps=2 * 2 * 2 * 4 * 250, target=2.0, evaluation_episodes=4,\n"
        "    thread_count=1, output='run')\n"
    )
    run_two(script)
    kept = [
        torch.load(tmp_path / "run" / "checkpoints" / name, weights_only=True)
        for name in ("latest.pt", "1_latest.pt")
    ]
    first, second = (state["learner"] for state in kept)
    assert kept[0]["update_count"] == 2
    assert torch.equal(first["weights"], second["weights"])
    assert first["weights"].any()
    for name, x in first["player"]["normaliser"].items():
        assert torch.equal(x, second["player"]["normaliser"][name]), name
    assert not torch.equal(first["generator"], second["generator"])
