"""Do the searches of `calibrate` find the same numbers, and at what cost?

    python benchmarks/methods.py [--seeds 3 4 5]

Five numbers of a joint with a servo are planted and recorded in three motions of 4 s,
of which one is held out; `calibrate` looks for them by each method in turn.
"""

import argparse
import tempfile
import time
from pathlib import Path

from realworthy.identification import Method
from realworthy.identification.calibration.calibrate import calibrate
from realworthy.twins import load_twin
from tests.identification.conftest import (
    FIVE,
    JOINT,
    draw_truth,
    multisine,
    play_hidden,
)


def compare(seed: int, file: Path) -> None:
    """A line for each method."""
    truth = draw_truth(seed)
    motions = [multisine(10 * seed + k, 4.0) for k in range(3)]
    recordings = play_hidden(file, truth, motions, seed=seed)
    for method in Method:
        began = time.process_time()
        found = calibrate(load_twin(file), recordings, parameters=FIVE, method=method)
        spent = time.process_time() - began
        worst = max(abs(found[name].mean / truth[name] - 1) for name in FIVE)
        off = max(abs(found[n].mean - truth[n]) / found[n].sd for n in FIVE)
        print(
            f"{seed:4}  {method.value:<14}{found.evaluation_count:6}{spent:7.1f} s"
            f"{100 * worst:8.2f} %{off:6.1f} sd  "
            f"{found.before:.4f} to {found.after:.5f} rad",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4, 5])
    seeds = parser.parse_args().seeds
    print("seed  method        evaluations, processor time, worst error, held out")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "joint.xml"
        file.write_text(JOINT)
        for seed in seeds:
            compare(seed, file)


if __name__ == "__main__":
    main()
