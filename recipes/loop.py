"""The loop, once around, each step one call: what the commands do, from Python.

    measure → diagnose → excite → record → calibrate → train → certify → deploy

The robot is a stand-in whose friction and damping are a fifth to a third above the
twin's; no step is told. The published twin is measured against a recording of some
motion, the difference is explained, an informative motion is designed and recorded, the
twin is calibrated with it and judged on the first recording, a policy is trained on the
calibrated twin, certified and tried on the robot. Give your own model and the address
of your robot in place of `TWIN` and `ROBOT`.

Expect friction and damping to be named as the causes and found within 2 % of the truth,
the error of replays to fall from about 50 mrad to below 1 mrad, and a certificate that
passes. It takes one to two minutes on a laptop CPU:

    python recipes/loop.py
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from msgspec.structs import replace

import realworthy as rw
from realworthy.certification.suite.suite import quick_suite
from realworthy.identification.excitation import ExcitationSettings

TWIN, ROBOT, TASK = "pendulum", "sim:pendulum_1_easy", "pendulum"


def sway(seconds: float) -> rw.Motion:
    """Some motion, such as one has from everyday work: two sines that fade in."""
    t = np.arange(0.0, seconds, 0.01)
    slow, fast = np.sin(2 * np.pi * 0.3 * t), np.sin(2 * np.pi * 1.1 * t)
    angle = np.minimum(t, 1.0) * (0.6 * slow + 0.3 * fast)
    return rw.Motion(t, ("joint",), angle[:, None])


def main(folder: Path, *, glance: bool) -> None:
    seconds = 3.0 if glance else 10.0
    everyday = rw.record(sway(seconds), ROBOT).recording
    print("measure   ", rw.measure(TWIN, everyday))
    print("diagnose  ", rw.diagnose(TWIN, everyday))

    settings = ExcitationSettings(
        seconds=seconds, period=seconds, generation_count=1 if glance else 8
    )
    motion = rw.excite(TWIN, settings=settings).motion
    print("excite    ", motion)
    recording = rw.record(motion, ROBOT).recording
    print("record    ", recording)
    calibration = rw.calibrate(TWIN, recording, heldout=everyday)
    rw.save_twin(calibration.twin, folder / "calibrated.twin.yaml")
    print("calibrate ", calibration)

    twin, steps = folder / "calibrated.twin.yaml", 2000 if glance else None
    training = rw.train(TASK, twin=twin, steps=steps, output=folder / "run")
    print("train     ", training)
    suite = quick_suite()
    if glance:
        suite = replace(suite, cells=suite.cells[:1], margins=(), coverage=None)
    certificate = rw.certify(training.policy, settings=rw.CertifySettings(suite=suite))
    print("certify   ", certificate)
    deployment = rw.deploy(training.policy, ROBOT, folder / "trials")
    print("deploy    ", deployment)
    trials = [trial.recording for trial in deployment.trials if trial.recording]
    ahead = rw.measure(twin, trials).horizons[0.1]
    print(f"measure    trials predicted 0.1 s ahead within {ahead:.2g} rad")

    truth = rw.load_reality(ROBOT.partition(":")[2]).file.parameters
    for name, value in truth.items():  # read only now that all is done
        fitted = calibration.twin.space[name].nominal
        print(f"{name}: calibrated {fitted:.4g}, truth {value:.4g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--glance", action="store_true", help="every step, and hardly any learning"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        main(Path(name), glance=arguments.glance)
