"""Residuals: forces that a robot feels and its twin lacks, learned from recordings.

Here live the description (`ResidualFile`, YAML beside plain arrays), the envelope of
what was seen, an ensemble of small functions, and the explicit law that runs them on
numpy arrays and torch tensors alike, many worlds at a time. A residual is added as a
generalised force, so that contacts and the integrator stay as they are, and fades to
zero where its members disagree or nothing like the inputs was ever seen.
Not here: fitting one (`identification.networks`), physical numbers (`parameters`),
drives (`actuators`).
This room imports `artefacts` and `errors` only; no mujoco, no torch.
"""

from realworthy.residuals.ensemble import Ensemble
from realworthy.residuals.envelope import Envelope
from realworthy.residuals.law import BadResidual, ResidualLaw, ResidualOutput, build_law
from realworthy.residuals.residual import (
    Residual,
    ResidualEvidence,
    ResidualFile,
    load_residual,
    save_residual,
)

__all__ = [
    "BadResidual",
    "Ensemble",
    "Envelope",
    "Residual",
    "ResidualEvidence",
    "ResidualFile",
    "ResidualLaw",
    "ResidualOutput",
    "build_law",
    "load_residual",
    "save_residual",
]
