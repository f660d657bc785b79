"""Several runs: one after the other here, or side by side through Ray."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from realworthy.errors import MissingExtra, RealworthyError
from realworthy.learning.train import train
from realworthy.learning.training import Training, TrainSettings
from realworthy.progress import Progress, ignore, part


def train_many(
    runs: Mapping[str, TrainSettings],
    *,
    output: Path | str,
    with_ray: bool = False,
    progress: Progress = ignore,
) -> dict[str, Training]:
    """Name → what came of each run, in folders of their names under `output`.

    `with_ray` hands them to the Ray cluster at `RAY_ADDRESS`, or to one on this
    machine; its machines must share the folder, and each run has one processor.
    `progress` sees runs that are made here.
    """
    folder = Path(output)
    if with_ray:
        return _train_with_ray(runs, folder.absolute())

    found = {}
    for i, (name, settings) in enumerate(runs.items()):
        own = part(progress, i / len(runs), (i + 1) / len(runs), prefix=f"{name}: ")
        found[name] = train(settings, output=folder / name, progress=own)
    return found


def _train_with_ray(
    runs: Mapping[str, TrainSettings], folder: Path
) -> dict[str, Training]:
    try:
        import ray  # pyright: ignore[reportMissingImports]
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra("ray", "ray", need="Training with Ray") from None

    ray.init(ignore_reinit_error=True, log_to_driver=False)
    gpus = any(settings.device.startswith("cuda") for settings in runs.values())
    remote = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0)(_train_one)
    waiting = {
        name: remote.remote(
            replace(settings, thread_count=settings.thread_count or 1),
            str(folder / name),
        )
        for name, settings in runs.items()
    }
    found, failed = {}, {}
    for name, run in waiting.items():
        try:
            found[name] = ray.get(run)
        except RayError as error:
            cause = getattr(error, "cause", None) or error
            failed[name] = getattr(cause, "problem", str(cause))
    if failed:
        told = "; ".join(f"{name}: {why}" for name, why in failed.items())
        raise RealworthyError(
            f"{len(failed)} of {len(runs)} runs failed. {told}",
            hint=f"In '{folder}' are: {', '.join(found)}." if found else "",
        )
    return found


def _train_one(settings: TrainSettings, output: str) -> Training:
    return train(settings, output=output)
