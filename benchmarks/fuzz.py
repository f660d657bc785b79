"""Damaged files through every reader: read or refused, never a traceback or a hang.

    python -m benchmarks.fuzz                        # 3,200 of each kind, 10⁵ in all
    python -m benchmarks.fuzz --first 13200 --count 140 --jobs 12

Each kind of file runs in a process of its own, which a library may end; seeds damage
alike for ever (tests/hostile). A run is a row of the table; rows of other seeds stay.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.hostile.valid import KINDS

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "fuzz.json"
OUTCOMES = ("read", "refused", "traceback", "hang", "died")
COLUMNS = ("seeds", "kinds", "files", "read", "refused", "tracebacks", "hangs", "died")
_COUNT = re.compile(r"(\d+) (read|refused|traceback|hang)\b")


def try_kind(kind: str, first: int, count: int) -> tuple[Counter[str], str]:
    """How many files of a kind came to which end, and what was said of the bad ones."""
    command = (sys.executable, "-m", "tests.hostile.fuzz", str(first), str(count), kind)
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ}
    )
    *lines, last = done.stdout.splitlines() or [""]
    tally = Counter({what: int(n) for n, what in _COUNT.findall(last)})
    tally["died"] = count - tally.total()
    is_bad = tally["traceback"] + tally["hang"] + tally["died"]
    return tally, "\n".join((*lines, done.stderr[-1000:])) if is_bad else ""


def keep(row: list[object], seeds: str) -> None:
    """The row into the table, in place of one of the same seeds."""
    tables = json.loads(RESULTS.read_text())["tables"] if RESULTS.exists() else {}
    commit = subprocess.run(
        ("git", "rev-parse", "--short", "HEAD"),
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.strip()
    date = datetime.date.today().isoformat()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    old = tables.get("files", {}).get("rows", [])
    rows = [each for each in old if each[0] != seeds]
    rows.append([*row, date, commit])
    tables["files"] = {
        "date": date,
        "machine": machine,
        "commit": commit,
        "command": "python -m benchmarks.fuzz",
        "columns": [*COLUMNS, "date", "commit"],
        "rows": sorted(rows, key=lambda each: each[0]),
    }
    RESULTS.write_text(json.dumps({"tables": tables}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--first", type=int, default=10_000)
    parser.add_argument("--count", type=int, default=3_200)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    total = Counter[str]()
    with ThreadPoolExecutor(given.jobs) as pool:
        found = pool.map(lambda kind: try_kind(kind, given.first, given.count), KINDS)
        for kind, (tally, said) in zip(KINDS, found, strict=True):
            print(f"{kind}: {dict(tally)}", flush=True)
            print(said, end="\n" if said else "")
            total += tally
    seeds = f"{given.first} to {given.first + given.count - 1}"
    counts = [total[outcome] for outcome in OUTCOMES]
    keep([seeds, len(KINDS), given.count * len(KINDS), *counts], seeds)
    print(f"all: {dict(total)}")
    return min(total["traceback"] + total["hang"] + total["died"], 1)


if __name__ == "__main__":
    sys.exit(main())
