"""Files that outlive a run: written whole or not at all, read strictly.

Every artefact is a msgspec Struct with a `schema` number. An older schema is migrated
when it is read; a newer one, or an unknown key, is refused with its place in the file.
Whatever a library raises about a damaged file becomes a `BadFile` (`reading`), and what
a file asks for is bounded before it is done (`BYTES`, `COUNT`).

Here live reading and writing as such. What a twin, a recording or a reality holds is
the business of their rooms. May import: `errors`.
"""

from realworthy.artefacts.folders import (
    is_vacant,
    locked_file,
    locked_folder,
    make_folder,
    put_aside,
    put_contents_aside,
)
from realworthy.artefacts.inputs import is_same_file, protected
from realworthy.artefacts.loading import Migrator, Tree, load, read_tree
from realworthy.artefacts.manifest import Manifest
from realworthy.artefacts.reading import check_readable, read_bytes, reading, say
from realworthy.artefacts.reading_costs import BYTES, COUNT, check_bytes
from realworthy.artefacts.terminal_text import plain
from realworthy.artefacts.text import dump_yaml, to_yaml
from realworthy.artefacts.writing import check_free, save, writing

__all__ = [
    "BYTES",
    "COUNT",
    "Manifest",
    "Migrator",
    "Tree",
    "check_bytes",
    "check_free",
    "check_readable",
    "dump_yaml",
    "is_same_file",
    "is_vacant",
    "load",
    "locked_file",
    "locked_folder",
    "make_folder",
    "plain",
    "protected",
    "put_aside",
    "put_contents_aside",
    "read_bytes",
    "read_tree",
    "reading",
    "save",
    "say",
    "to_yaml",
    "writing",
]
