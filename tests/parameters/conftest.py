import pytest

from realworthy.parameters import Binding, Parameter, ParameterSpace, Transform


def make_parameter(name: str, nominal: float = 1.0, **changes) -> Parameter:
    element, _, kind = name.rpartition(".")
    return Parameter(
        name=name,
        kind=kind,
        unit="1",
        nominal=nominal,
        binding=Binding((element,)),
        **changes,
    )


@pytest.fixture
def space() -> ParameterSpace:
    """One parameter of each transform."""
    return ParameterSpace(
        [
            make_parameter("arm.offset", 0.5),
            make_parameter("arm.mass", 2.0, lower=0.0, transform=Transform.LOG),
            make_parameter(
                "arm.delay", 0.01, lower=0.0, upper=0.04, transform=Transform.LOGIT
            ),
        ]
    )
