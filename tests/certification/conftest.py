"""Golden policies, written once."""

from pathlib import Path

import pytest

from realworthy.certification.subject import Subject, build_subject
from tests.certification.golden import write_cartpole, write_drive


@pytest.fixture(scope="session")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that balances a pole."""
    return write_cartpole(tmp_path_factory.mktemp("golden") / "cartpole.onnx")


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that drives at commanded speeds."""
    return write_drive(tmp_path_factory.mktemp("golden") / "drive.onnx")


@pytest.fixture(scope="session")
def balancing(cartpole: Path) -> Subject:
    return build_subject(cartpole)


@pytest.fixture(scope="session")
def driving(drive: Path) -> Subject:
    return build_subject(drive)
