"""How beliefs are written, alone (`*.belief.yaml`) or inside a twin."""

from pathlib import Path

import msgspec

from realworthy import artefacts
from realworthy.errors import BadBelief
from realworthy.parameters.belief import Belief
from realworthy.parameters.gaussian_belief import GaussianBelief
from realworthy.parameters.independent_belief import IndependentBelief
from realworthy.parameters.marginals import Marginal
from realworthy.parameters.parameter import Parameter
from realworthy.parameters.sample_belief import SampleBelief
from realworthy.parameters.space import ParameterSpace

SCHEMA = 1


class IndependentText(msgspec.Struct, tag="independent", forbid_unknown_fields=True):
    """Name → marginal; parameters left out are fixed at their nominal."""

    marginals: dict[str, Marginal]


class GaussianText(msgspec.Struct, tag="gaussian", forbid_unknown_fields=True):
    """Mean and covariance of z = T(e), in the order of `names`."""

    names: list[str]
    mean_z: list[float]
    covariance_z: list[list[float]]


class SampleText(msgspec.Struct, tag="samples", forbid_unknown_fields=True):
    """Rows of e in the order of `names`, with their weights."""

    names: list[str]
    samples: list[list[float]]
    weights: list[float]


BeliefText = IndependentText | GaussianText | SampleText


class BeliefFile(msgspec.Struct, forbid_unknown_fields=True):
    """A belief together with the parameters it is about."""

    parameters: list[Parameter]
    belief: BeliefText
    schema: int = SCHEMA


def to_text(belief: Belief) -> BeliefText:
    """The belief as it stands in a file."""
    names = list(belief.space.names)
    if isinstance(belief, IndependentBelief):
        return IndependentText(dict(belief.marginals))
    if isinstance(belief, GaussianBelief):
        return GaussianText(names, belief.mean_z.tolist(), belief.covariance_z.tolist())
    if isinstance(belief, SampleBelief):
        return SampleText(names, belief.samples.tolist(), belief.weights.tolist())
    raise BadBelief(f"A {type(belief).__name__} has no written form.")


def from_text(text: BeliefText, space: ParameterSpace) -> Belief:
    """The belief that a file describes, over the parameters it names."""
    if isinstance(text, IndependentText):
        space = space.select(list(text.marginals))
        return IndependentBelief(space, text.marginals)
    rows = text.covariance_z if isinstance(text, GaussianText) else text.samples
    if len({len(row) for row in rows}) > 1:
        raise BadBelief("Rows of this belief differ in length.")
    space = space.select(text.names)
    if isinstance(text, GaussianText):
        return GaussianBelief(space, text.mean_z, text.covariance_z)
    return SampleBelief(space, text.samples, text.weights)


def save_belief(belief: Belief, path: Path | str, *, overwrite: bool = False) -> None:
    """Writes `*.belief.yaml`, whole or not at all."""
    file = BeliefFile(list(belief.space), to_text(belief))
    artefacts.save(path, file, overwrite=overwrite)


def load_belief(path: Path | str) -> Belief:
    """Reads `*.belief.yaml` back."""
    file = artefacts.load(path, BeliefFile, schema=SCHEMA)
    return from_text(file.belief, ParameterSpace(file.parameters, owner=str(path)))
