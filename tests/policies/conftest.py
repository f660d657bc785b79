"""Policies that every test here may load."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from realworthy.learning.recurrent import RecurrentKind
from tests.policies.actors import actor, write


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Single rows are slow on several threads of a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def policy_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without memory."""
    path = tmp_path_factory.mktemp("policies") / "leg.onnx"
    write(path, actor())
    return path


@pytest.fixture(scope="session", params=[None, *RecurrentKind], ids=str)
def any_path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, RecurrentKind | None]:
    """Without memory, with LSTM, with GRU."""
    path = tmp_path_factory.mktemp("policies") / "leg.onnx"
    write(path, actor(request.param))
    return path, request.param
