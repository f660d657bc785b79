"""Where real recordings and robot models are; what every test may ask for."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
SHARED = PROJECT.parent / "shared"


def find_shared(variable: str, name: str) -> Path:
    """A folder of real things; a checkout that should have it must have it."""
    folder = Path(os.environ.get(variable) or SHARED / name).resolve()
    if folder.is_dir():
        return folder
    reason = f"there is no folder {name} beside this checkout; set {variable}"
    if SHARED.is_dir():
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What tests and their programs remember is not put into the user's own folder."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Recordings of real robots."""
    return find_shared("REALWORTHY_DATA", "data")


@pytest.fixture(scope="session")
def menagerie_root() -> Path:
    """Models of real robots."""
    return find_shared("MENAGERIE_ROOT", "menagerie")
