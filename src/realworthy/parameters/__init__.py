"""e, the physical numbers that nobody knows exactly, and what is believed of them.

Here live `Parameter` (one unknown), `ParameterSpace` (several, in order), `Belief`
(p(e): independent marginals, a correlated Gaussian, samples, or several joined), the
repeatable draws behind every random number, the log-Cholesky coordinates of a rigid
body's inertia, and processes (numbers that move while a robot runs).

Here do not live models, engines or recordings: which model field a parameter moves is
the business of `twins/writers`. May import: `artefacts`, `errors`.
"""

from realworthy.parameters.belief import Belief
from realworthy.parameters.belief_files import load_belief, save_belief
from realworthy.parameters.draws import Draws
from realworthy.parameters.gaussian_belief import GaussianBelief
from realworthy.parameters.independent_belief import IndependentBelief
from realworthy.parameters.joined_belief import JoinedBelief
from realworthy.parameters.marginals import (
    Categorical,
    Fixed,
    LogUniform,
    Marginal,
    TruncatedNormal,
    Uniform,
)
from realworthy.parameters.parameter import (
    Binding,
    Operation,
    Parameter,
    Scope,
    Transform,
)
from realworthy.parameters.sample_belief import SampleBelief
from realworthy.parameters.space import ParameterSpace

__all__ = [
    "Belief",
    "Binding",
    "Categorical",
    "Draws",
    "Fixed",
    "GaussianBelief",
    "IndependentBelief",
    "JoinedBelief",
    "LogUniform",
    "Marginal",
    "Operation",
    "Parameter",
    "ParameterSpace",
    "SampleBelief",
    "Scope",
    "Transform",
    "TruncatedNormal",
    "Uniform",
    "load_belief",
    "save_belief",
]
