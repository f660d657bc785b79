"""Files that outlive a run: written whole or not at all, read strictly.

Every artefact is a msgspec Struct with a `schema` number. An older schema is migrated
when it is read; a newer one, or an unknown key, is refused with its place in the file.

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
from realworthy.artefacts.manifest import Manifest
from realworthy.artefacts.printable import plain
from realworthy.artefacts.reading import (
    Migrator,
    Tree,
    check_readable,
    load,
    read_tree,
)
from realworthy.artefacts.text import dump_yaml, to_yaml
from realworthy.artefacts.writing import check_free, save, writing

__all__ = [
    "Manifest",
    "Migrator",
    "Tree",
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
    "read_tree",
    "save",
    "to_yaml",
    "writing",
]
