"""`adapt simopt`: p(e) moved on a robot until a policy's simulated trials look like its
real ones; the result is a twin whose belief `train` randomizes by."""

from pathlib import Path

import numpy as np

from realworthy.adaptation.adaptation import Adaptation, Arm
from realworthy.adaptation.closed_loop import ClosedLoop
from realworthy.adaptation.on_robot import OnRobot
from realworthy.adaptation.saving import POLICY
from realworthy.adaptation.settings import AdaptSettings
from realworthy.adaptation.simopt import (
    SimOptResult,
    SimOptSettings,
    compute_discrepancy,
    fit_simopt,
    smooth_rows,
)
from realworthy.adaptation.trials import crop_to_policy
from realworthy.errors import RealworthyError
from realworthy.learning.presets import Randomize, choose_randomization
from realworthy.parameters import Belief, IndependentBelief, Uniform
from realworthy.policies import load_policy
from realworthy.progress import Progress, ignore, part
from realworthy.recordings import Recording
from realworthy.tasks.catalogue import find_learned_task
from realworthy.twins import Twin, load_twin, save_twin

_FITTED = 3
"""Trials that p(e) is moved by (Chebotar et al. 2019); as many more judge it."""
TWIN = "adapted.twin.yaml"


def adapt_simopt(
    run: Path,
    folder: Path,
    there: OnRobot,
    settings: AdaptSettings,
    *,
    progress: Progress = ignore,
) -> Adaptation:
    """With the policy of a folder of `train` or `adapt`; at most `trials` real trials,
    half of which are held out."""
    path = run / POLICY
    if not path.exists():
        raise RealworthyError(
            f"'{run}' has no {POLICY} to try on the robot.",
            hint="Make one: realworthy train TASK --output FOLDER.",
        )
    policy = load_policy(path)
    definition = find_learned_task(policy.contract, path)
    twin = load_twin(settings.twin or policy.contract.twin.reference or definition.twin)
    prior = _choose_prior(
        twin, settings, choose_randomization(definition, twin, Randomize.PRESET).belief
    )
    space = prior.space
    trials = there.begin(policy, settings, folder)
    count = min(_FITTED, settings.trials // 2)
    if count < 1:
        raise RealworthyError("One trial cannot both move p(e) and judge it.")
    kept: list[Recording] = []
    for _ in range(2 * count):
        recording = crop_to_policy(trials.run(policy).recording)
        kept += [] if recording is None else [recording]
        progress(0.3 * len(kept) / (2 * count), "trials")
    if len(kept) < 2:
        raise RealworthyError(
            "The policy led in fewer than two trials: there is nothing to compare.",
            hint="See why guards stopped it in the trials' recordings.",
        )
    fitted, held_out = kept[: len(kept) // 2], kept[len(kept) // 2 :]
    z = space.to_z(prior.sample(2000, seed=settings.seed))
    loop = ClosedLoop(path, twin, space, fitted)
    found = fit_simopt(
        space,
        loop.simulate,
        loop.measured,
        mean_z=z.mean(0),
        covariance_z=np.atleast_2d(np.cov(z.T)) + 1e-12 * np.eye(len(space)),
        seed=settings.seed,
        progress=part(progress, 0.3, 1.0),
    )
    save_twin(twin.with_belief(found.belief), folder / TWIN)
    judge = [ClosedLoop(path, twin, space, [trial]) for trial in held_out]
    before, after = (
        np.array([-_judge(loop, e) for loop in judge])
        for e in (space.from_z(z.mean(0)), space.from_z(found.belief.mean_z))
    )
    return Adaptation(
        method="simopt",
        task=policy.contract.task,
        folder=folder,
        policy=path,
        twin=folder / TWIN,
        arms=(
            Arm(name="prior", about="minus discrepancy, held out", returns=before),
            Arm(name="adapted", about="minus discrepancy, held out", returns=after),
        ),
        adapted="adapted",
        baseline="prior",
        real_seconds=trials.real_seconds,
        trial_count=len(trials.done),
        numbers={
            "reduction": found.reduction,
            "largest_kl": float(found.divergences.max(initial=0.0)),
            **{f"mean.{k}": v for k, v in found.belief.mean.items()},
            **{f"sd.{k}": v for k, v in found.belief.sd.items()},
        },
        notes=_explain(found),
        stop="Train on the twin and compare on the robot: realworthy train"
        f" {policy.contract.task} --twin {folder / TWIN}. Go on with its policy only if"
        " it is better there.",
    )


def _choose_prior(twin: Twin, settings: AdaptSettings, preset: Belief | None) -> Belief:
    if settings.unknown:
        ranges = {name: Uniform(*ends) for name, ends in settings.unknown.items()}
        return IndependentBelief(twin.space.select(list(ranges)), ranges)
    if preset is None or not len(preset.space):
        raise RealworthyError(
            f"Nothing of twin '{twin.name}' is said to be unknown.",
            hint="Name what is: --unknown NAME=LOWER:UPPER.",
        )
    return preset


def _judge(loop: ClosedLoop, e: np.ndarray) -> float:
    """Discrepancy of a trial that was not fitted, on the scale of its own signals."""
    scale = np.maximum(loop.measured.std(0), 1e-9)
    rows = smooth_rows(loop.simulate(e[None]) / scale)
    wanted = smooth_rows(loop.measured / scale)
    return float(compute_discrepancy(rows, wanted, SimOptSettings())[0])


def _explain(found: SimOptResult) -> tuple[str, ...]:
    count = len(found.divergences)
    notes = [
        f"The discrepancy fell by {found.reduction:.0%} in {count} updates; the largest"
        f" KL divergence of one was {found.divergences.max(initial=0.0):.2f} nat."
    ]
    if found.unidentified:
        notes.append(
            "A behavioural match, not an identification: the trials hardly change with"
            f" {'; '.join(found.unidentified)}."
        )
    return tuple(notes)
