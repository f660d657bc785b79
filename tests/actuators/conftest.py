"""Where the real recordings are, and one actuator of every kind."""

from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)
