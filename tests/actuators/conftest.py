"""Where the real recordings are, and one actuator of every kind."""

import os
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Recordings and networks of real robots; a checkout without them skips."""
    shared = PROJECT.parent / "shared"
    folder = Path(os.environ.get("REALWORTHY_DATA") or shared / "data")
    if folder.is_dir():
        return folder
    if shared.exists():
        pytest.fail(f"{folder} is missing although {shared.name}/ is there")
    pytest.skip("real recordings are not beside this checkout; set REALWORTHY_DATA")


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)
