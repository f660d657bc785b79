"""Which robots of MuJoCo Menagerie start at `reach`, `quadruped` and `biped`.

    python benchmarks/menagerie.py                    # each robot: parts, and a second
    python benchmarks/menagerie.py --learn reach:robotstudio_so101 --minutes 3
    python benchmarks/menagerie.py --learn quadruped:unitree_go2 --device cuda
    python benchmarks/menagerie.py --learn quadruped:unitree_go1 --role gains=40,1

Of each robot in `MENAGERIE_ROOT` and each task: whether it starts, which parts were
proposed, whether they are those that a person read in the model's XML (`ARMS`,
`QUADRUPEDS`, `BIPEDS`), and how far it is from home after a second without actions.
Where a task does not fit, what is missing. `--learn` trains robots through
`realworthy.train`, each as the task's preset says. Rows of other robots stay.
"""

import argparse
import datetime
import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

import realworthy
from realworthy.errors import RealworthyError
from realworthy.robots.roles import parse_roles
from realworthy.tasks.arm.reach import Reach
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.biped import BipedVelocity
from realworthy.tasks.legged.quadruped import QuadrupedVelocity
from realworthy.tasks.task import Task
from realworthy.twins import load_twin

RESULTS = Path(__file__).parent / "results" / "menagerie.json"
TASKS = ("reach", "quadruped", "biped")
# Read by hand in the XML files: the arm's tip, and the joints of its gripper.
ARMS = {
    "aloha": ("left/gripper", ("left/left_finger", "left/right_finger")),
    "dynamixel_2r": ("end", ()),
    "franka_emika_panda": ("hand", ("finger_joint1", "finger_joint2")),
    "kuka_iiwa_14": ("attachment_site", ()),
    "low_cost_robot_arm": ("gripper_static_finger", ("gripper",)),
    "robotstudio_so101": ("gripperframe", ("gripper",)),
    "trossen_wx250s": ("wx250s/gripper_link", ("left_finger", "right_finger")),
    "trs_so_arm100": ("Fixed_Jaw", ("Jaw",)),
    "universal_robots_ur5e": ("attachment_site", ()),
}
# The trunk, and the bodies of its feet: front left, front right, rear left, rear right.
QUADRUPEDS = {
    "anybotics_anymal_c": ("base", "LF_SHANK RF_SHANK LH_SHANK RH_SHANK"),
    "boston_dynamics_spot": ("body", "fl_lleg fr_lleg hl_lleg hr_lleg"),
    "google_barkour_vb": (
        "torso",
        "lower_leg_front_left lower_leg_3 lower_leg_2 lower_leg_4",
    ),
    "unitree_a1": ("trunk", "FL_calf FR_calf RL_calf RR_calf"),
    "unitree_go1": ("trunk", "FL_calf FR_calf RL_calf RR_calf"),
    "unitree_go2": ("base", "FL_calf FR_calf RL_calf RR_calf"),
}
# The feet's bodies: left, right.
BIPEDS = {
    "berkeley_humanoid": ("ll_faa", "lr_faa"),
    "booster_t1": ("left_foot_link", "right_foot_link"),
    "unitree_g1": ("left_ankle_roll_link", "right_ankle_roll_link"),
    "unitree_h1": ("left_ankle_link", "right_ankle_link"),
}
BY_HAND = {"reach": ARMS, "quadruped": QUADRUPEDS, "biped": BIPEDS}
_WORDS = 12
"""Of a reason, at most: more is in `realworthy show tasks --twin`."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """A robot at a task that fits it."""

    parts: str
    is_right: bool
    """Whether its parts are those read by hand."""
    added: int
    """Lines of what the task added in simulation."""
    moved: str
    """From home, after the time that nothing was asked of it."""


def start(name: str, robot: str) -> Start:
    """Raises where the task does not fit the robot."""
    task = build_task(name, load_twin(f"menagerie:{robot}"))
    parts, known = list_parts(task)
    return Start(
        parts=parts,
        is_right=known == flatten(BY_HAND[name].get(robot, ())),
        added=len(task.added),
        moved=hold(task),
    )


def list_parts(task: Task) -> tuple[str, list[str]]:
    """In a cell of a table, and as the lists that were made by hand have them."""
    if isinstance(task, Reach):
        tip, gripper = task.parts["tip"].value, task.parts["gripper"].value
        rests = f"; {len(gripper)} of a gripper rest" if gripper else ""  # pyright: ignore
        return f"tip {tip}{rests}", flatten((tip, gripper))
    feet = [foot.body for foot in task.twin.roles.feet.value or ()]
    if isinstance(task, BipedVelocity):
        return f"feet {', '.join(feet)}", feet
    trunk = str(task.parts["trunk"].value)
    return f"trunk {trunk}; feet {', '.join(feet)}", [trunk, *feet]


def flatten(parts: object) -> list[str]:
    """Names one after the other; a text may hold several."""
    if isinstance(parts, str):
        return parts.split()
    return [name for part in parts for name in flatten(part)]  # pyright: ignore


@torch.no_grad()
def hold(task: Task) -> str:
    """What a second of zero actions does; nothing balances a biped, so a tenth."""
    worlds = TaskWorlds(task, 1, thread_count=1)
    seconds = 0.1 if isinstance(task, BipedVelocity) else 1.0
    fell = False
    for _ in range(round(seconds / task.period)):
        step = worlds.step(torch.zeros(1, task.action.width))
        fell |= bool(step.terminated.any()) or bool(step.invalid.any())
    if fell:
        return "falls"
    if isinstance(task, Reach):
        home = torch.tensor(task.chain.locate(task.chain.home))
        away = float((task.locate_tip(worlds.scene) - home).norm())
        return f"{1e3 * away:.0f} mm"
    if isinstance(task, QuadrupedVelocity):
        height = float(task.base.read(worlds.scene).position[0, 2])
        return f"stands at {height / task.stance.height:.0%} of its height"
    return "stands for 0.1 s"


def find_robots(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if any(path.glob("*.xml")))


def list_starts(robots: Sequence[str]) -> tuple[list[list[object]], list[list[object]]]:
    """Rows of robots that start; and, of those that start at nothing, why not."""
    starts, refused = list[list[object]](), list[list[object]]()
    for robot in robots:
        reasons = {}
        for name in TASKS:
            try:
                found = start(name, robot)
            except RealworthyError as error:
                reasons[name] = shorten(error.problem, robot)
                continue
            right = "yes" if found.is_right else "NO"
            starts.append(
                [robot, name, found.parts, right, found.added, found.moved],
            )
            print(*starts[-1], sep="  ", flush=True)
        if len(reasons) == len(TASKS):
            refused.append([robot, *(reasons[name] for name in TASKS)])
            print(*refused[-1], sep="  ", flush=True)
        for name in TASKS:
            if robot in BY_HAND[name] and name in reasons:
                raise SystemExit(f"{robot} should start at {name}: {reasons[name]}")
    return starts, refused


def shorten(problem: str, robot: str) -> str:
    """Without the robot's name, as a table's cell."""
    reason = re.sub(f"^twin '{robot}' ", "", problem, flags=re.IGNORECASE).rstrip(".")
    words = reason.split()
    return reason if len(words) <= _WORDS else " ".join([*words[: _WORDS - 1], "…"])


def learn(name: str, robot: str, given: argparse.Namespace) -> list[Any]:
    """One run as the preset says, or for so many minutes."""
    with tempfile.TemporaryDirectory() as folder:
        training = realworthy.train(
            name,
            twin=f"menagerie:{robot}",
            minutes=given.minutes,
            seed=given.seed,
            device=given.device,
            roles=parse_roles(given.role),
            output=Path(folder) / "run",
        )
    low, high = training.evaluation.success_interval
    return [
        robot,
        name,
        given.device,
        round(training.seconds),
        training.step_count,
        {
            "value": round(training.evaluation.success, 3),
            "lower": round(low, 3),
            "upper": round(high, 3),
        },
        given.seed,
        " ".join(given.role) or "none",
    ]


def describe_run(device: str = "cpu") -> dict[str, str]:
    commit = subprocess.run(
        ("git", "rev-parse", "--short", "HEAD"),
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    ).stdout.strip()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    if device.startswith("cuda"):
        machine += f", {torch.cuda.get_device_name()}"
    today = datetime.date.today().isoformat()
    return {"date": today, "machine": machine, "commit": commit}


def read_results() -> dict[str, Any]:
    return msgspec.json.decode(RESULTS.read_bytes()) if RESULTS.exists() else {}


def keep(
    name: str, columns: Sequence[str], rows: Sequence[object], **about: object
) -> None:
    """A table of the file of results, in place of the one of that name."""
    tables = read_results().get("tables", {})
    tables[name] = {**about, "columns": columns, "rows": rows}
    whole = msgspec.json.encode({"tables": tables})
    RESULTS.write_bytes(msgspec.json.format(whole, indent=1) + b"\n")


def keep_learned(rows: Sequence[list[Any]], about: dict[str, str]) -> None:
    """Runs of other robots stay; each row has the day and commit of its own."""
    new = [[*row, about["date"], about["commit"]] for row in rows]
    old = read_results().get("tables", {}).get("learned", {}).get("rows", [])
    joined = {(*row[:3], *row[6:8]): row for row in [*old, *new]}
    in_order = sorted(joined, key=lambda key: (key[1], key[0], *key[2:]))
    columns = [
        "robot",
        "task",
        "device",
        "seconds",
        "steps",
        "success",
        "seed",
        "chosen",
    ]
    keep(
        "learned",
        [*columns, "date", "commit"],
        [joined[key] for key in in_order],
        date=about["date"],
        machine="cuda: one H200; cpu: the cores that there were, often busy",
        command="python benchmarks/menagerie.py --learn TASK:ROBOT",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", metavar="ROBOT")
    parser.add_argument("--learn", nargs="*", default=[], metavar="TASK:ROBOT")
    parser.add_argument("--minutes", type=float, help="by default as the preset says")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--role", nargs="*", default=[], metavar="ROLE=PART")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    about = describe_run(given.device)
    for wanted in given.learn:
        name, _, robot = wanted.partition(":")
        row = learn(name, robot, given)
        print(*row, sep="  ", flush=True)
        keep_learned([row], about)
    if given.learn:
        return
    root = os.environ.get("MENAGERIE_ROOT")
    if not root:
        raise SystemExit("Set MENAGERIE_ROOT to a copy of MuJoCo Menagerie.")
    robots = given.only or find_robots(Path(root))
    starts, refused = list_starts(robots)
    columns = ["robot", "task", "parts proposed", "right", "added", "after a second"]
    reasons = ["robot", *(f"{name} wants" for name in TASKS)]
    about["command"] = "python benchmarks/menagerie.py"
    for table, names, new in (
        ("starts", columns, starts),
        ("refused", reasons, refused),
    ):
        old = read_results().get("tables", {}).get(table, {}).get("rows", [])
        rows = [*new, *(row for row in old if row[0] not in robots)]
        keep(table, names, sorted(rows, key=str), **about)


if __name__ == "__main__":
    main()
