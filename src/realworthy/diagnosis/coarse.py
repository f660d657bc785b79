"""Encoders whose steps are coarser than the twin's, which has none."""

import numpy as np

from realworthy.diagnosis.diagnosis import Cause, CauseKind, Estimate
from realworthy.diagnosis.words import next_step
from realworthy.gap.measure import Gap

_USUAL = 2e-3
"""[rad or m] Steps of a 12-bit encoder are 1.5 mrad; nobody calls that a fault."""
_SHARE = 0.01
"""Of a joint's motion: below this a step does not matter."""


def find_coarse(gap: Gap) -> list[Cause]:
    """Joints whose positions come in steps that matter, as causes."""
    steps: dict[str, float] = {}
    for part in gap.recordings:
        motion = part.states.position.std(0)
        for i, joint in enumerate(part.track.joints):
            step = part.noise.quantum[joint]
            if step > _USUAL and step > _SHARE * motion[i]:
                steps[joint] = max(step, steps.get(joint, 0.0))
    return [_name(joint, step, gap) for joint, step in steps.items()]


def _name(joint: str, step: float, gap: Gap) -> Cause:
    error = gap.replay.per_joint.get(joint, np.inf)
    noise = step / np.sqrt(12)
    share = float(np.clip((noise / error) ** 2, 0.0, 1.0)) if error > 0 else 1.0
    return Cause(
        name="quantisation",
        kind=CauseKind.MISSING,
        joints=(joint,),
        share=share,
        interval=(share, share),
        evidence=f"All positions of {joint} are multiples of {1e3 * step:.3g} mrad (or "
        f"mm): noise of {1e3 * noise:.2g}, where a 12-bit encoder has 0.44.",
        next_step=next_step("quantisation"),
        estimates=(
            Estimate(
                name=f"{joint}.quantisation.step",
                value=step,
                nominal=0.0,
                interval=(step, step),
                unit="rad",
            ),
        ),
    )
