"""`show realities`: stand-ins for robots, and the truth of one of them."""

import msgspec
from rich.text import Text

from realworthy.artefacts import dump_yaml, load
from realworthy.cli.printing import emit, emit_heading, emit_table
from realworthy.realities import RealityFile, load_reality, reality_names
from realworthy.realities.file import SCHEMA
from realworthy.realities.reality import SHIPPED_FOLDER, SUFFIX


def show_realities() -> object:
    """Every shipped reality in a line."""
    files = {
        name: load(SHIPPED_FOLDER / f"{name}{SUFFIX}", RealityFile, schema=SCHEMA)
        for name in reality_names()
    }
    emit_table(
        "Realities",
        ("name", "twin", ""),
        [(name, file.twin, file.description) for name, file in files.items()],
    )
    return {"realities": [{"name": n, "file": file} for n, file in files.items()]}


def show_reality(reference: str) -> object:
    """The hidden truth of a reality; what is as usual is left out."""
    reality = load_reality(reference)
    tree = msgspec.to_builtins(reality.file)
    emit_heading(reality.name, tree.pop("description", ""))
    emit(Text(dump_yaml(tree)))
    return {"name": reality.name, "file": reality.file}
