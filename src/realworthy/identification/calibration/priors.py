"""What is believed of numbers before a fit: Gaussians in z, none flat.

Rows that say the same thing thousandfold would drown a belief, so it is weighed by the
misfit: how much larger residuals are than white noise, squared.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.identification.problem.joint_by_joint import JointByJointProblem
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.least_squares import to_prior
from realworthy.identification.solver.linearisation import Prior
from realworthy.parameters import Transform

Floats = NDArray[np.float64]
OFFSET_SD = 0.05
"""[rad] of encoder offsets: zeroed by eye, not at random. Encoders of the SO-101
recordings and of the stand-in arms lie within it (2026-11-15)."""
_PUBLISHED_SD = 0.5
"""Of logarithms, around what was published, where the twin lacks something: half the
size, up to which a number is worth fitting at all (`parameter_choice`)."""
_ALIKE_SD, _DELAY_SD = 0.7, 0.01
"""Of a joint's number around what joints share (as a logarithm), and of a delay [s]."""
_NEAR_SD, _HEIGHT_SD = 0.2, 0.01
"""Of a number (as a logarithm) and of a surface's height [m] around what joints by
themselves say."""


def make_prior(
    problem: Problem, z: Floats, misfit: float, *, lacks: bool = False
) -> Prior:
    """Wide for all but offsets, whose belief counts `misfit` times.

    Of a twin that `lacks` something, what was published counts so, too.
    """
    wide = to_prior(problem, None, z)
    precision = np.diag(wide.precision).copy()
    for i, parameter in enumerate(problem.space):
        if parameter.kind == "sensor_bias":
            precision[i] = misfit / OFFSET_SD**2
        elif lacks and parameter.transform is Transform.LOG:
            precision[i] = max(precision[i], misfit / _PUBLISHED_SD**2)
    return Prior(wide.mean, np.diag(precision))


def make_alike_prior(problem: JointByJointProblem) -> Prior:
    """Joints of one robot are alike; encoders are zeroed by eye."""
    sd = {"sensor_bias": OFFSET_SD, "delay": _DELAY_SD}
    widths = np.array([sd.get(p.kind, _ALIKE_SD) for p in problem.space])
    return Prior(problem.start_z, np.diag(1 / widths**2))


def make_near_prior(problem: Problem, z: Floats, misfit: float) -> Prior:
    """Gaussian prior centred at z with precision scaled by `misfit`."""
    wide = np.diag(to_prior(problem, None, z).precision)
    own = {"sensor_bias": OFFSET_SD, "delay": _DELAY_SD, "height": _HEIGHT_SD}
    near = np.array([own.get(p.kind, _NEAR_SD) for p in problem.space])
    return Prior(z, np.diag(np.maximum(wide, misfit / near**2)))
