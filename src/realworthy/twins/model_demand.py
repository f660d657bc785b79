"""What a model asks MuJoCo for, counted in its text before MuJoCo is asked.

MuJoCo makes what it is told to make: a `replicate` of 10⁸ bodies, height fields of
10⁵ × 10⁵ numbers, 10⁹ keyframes. It neither stops half way nor asks first.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from xml.parsers import expat

from realworthy.artefacts import check_bytes, check_readable, read_bytes
from realworthy.errors import BadModel

_ELEMENT = 16 * 1024
"""[bytes] for an element of the text, as often as it is replicated. 30,000 of them (a
body, a joint and a geom, 10,000 times) take 0.2 GB and 6 s to be made; the time grows
with the square (MuJoCo 4.0.0, 2026-11-18). Robots of Menagerie have up to 300."""
_FILE = 4
"""[bytes] for a byte of a mesh or an image."""
_SIZES: dict[str, dict[str, float]] = {
    "hfield": {"nrow ncol": 32.0},
    "texture": {"width height": 32.0},
    "camera": {"resolution": 16.0},
    "numeric": {"size": 16.0},
    "composite": {"count": _ELEMENT},
    "flexcomp": {"count": _ELEMENT},
    "mesh": {"params": 256.0},
    "size": {"njmax": 1024.0, "nconmax": 1024.0, "nstack": 8.0, "memory": 1.0},
}
"""Element → attributes, of which the numbers are multiplied, and bytes for each."""
_OF_ANY = {"nsample": 1024.0, "num": 1024.0}
"""The same for any element: buffers of sensors and drives, contacts that are found."""
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_POWERS = {letter: 2.0 ** (10 * (i + 1)) for i, letter in enumerate("KMGTPE")}
_PNG = b"\x89PNG\r\n\x1a\n"


def check_demand(path: Path) -> None:
    """Raises where a model or a file that it names asks for too much memory."""
    check_bytes(path, _Scan(path, path.parent, {}).total)


class _Scan:
    """One XML file, and those that it includes or attaches."""

    def __init__(self, path: Path, root: Path, known: dict[Path, float]) -> None:
        known[path] = math.inf  # it cannot hold itself
        self._path, self._root, self._known = path, root, known
        self._times = [1.0]
        self._folders = {path.parent, root}
        self._models: dict[str, str] = {}
        self._attached: list[tuple[str, float]] = []
        self._files: set[str] = set()
        self._elements = self._bytes = 0.0
        self._for_each = 0.0
        """[bytes] that every element takes more, such as its user's numbers."""
        self._parse()
        self.total = self._count()
        known[path] = self.total

    def _parse(self) -> None:
        parser = expat.ParserCreate("utf-8")  # as MuJoCo, whatever the file declares
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _: self._times.pop()
        parser.EntityDeclHandler = self._refuse_entity
        text = read_bytes(self._path).decode("utf-8-sig", errors="replace")
        try:
            parser.Parse(text.encode(errors="replace"), True)
        except expat.ExpatError as error:
            raise BadModel(
                f"MuJoCo cannot read {self._path}: it is not XML (line {error.lineno})",
                hint="Correct the file at that line.",
            ) from None

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise BadModel(
            f"{self._path} declares an entity, '{name[:40]}', which is not read.",
            hint="Write its text where it is used.",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if any("\ufffd" in text for text in (name, *attributes, *attributes.values())):
            raise BadModel(
                f"{self._path} holds bytes in <{name}> that are not text.",
                hint="Save it as UTF-8.",
            )
        times = self._times[-1]
        self._elements += times
        for sizes in (_SIZES.get(name, {}), _OF_ANY):
            for keys, weight in sizes.items():
                self._bytes += times * weight * _multiply(keys, attributes)
        if name == "size":
            users = [key for key in attributes if key.startswith("nuser_")]
            for key in (*users, "nkey"):
                weight = 128.0 if key == "nkey" else 8.0
                self._for_each += weight * _multiply(key, attributes)
        elif name == "compiler":
            folders = [attributes[key] for key in _FOLDERS if key in attributes]
            self._folders |= {self._root / folder for folder in folders}
        elif name == "include":
            self._bytes += times * self._measure(attributes.get("file", ""))
        elif name == "model":
            self._models[attributes.get("name", "")] = attributes.get("file", "")
        elif name == "attach":
            self._attached.append((attributes.get("model", ""), times))
        if name not in ("include", "model"):
            self._files |= {v for k, v in attributes.items() if k.startswith("file")}
        if name == "replicate":
            times *= max(_multiply("count", attributes), 1.0)
        self._times.append(times)

    def _count(self) -> float:
        attached = sum(
            times * self._measure(self._models.get(name, ""))
            for name, times in self._attached
        )
        files = sum(map(self._measure_file, self._files))
        elements = self._elements * (_ELEMENT + self._for_each)
        return elements + self._bytes + attached + files

    def _find(self, name: str) -> Path | None:
        """The file of that name where MuJoCo may look for it; pipes are refused."""
        for folder in self._folders:
            try:
                if name and (folder / name).exists():
                    check_readable(folder / name)
                    return folder / name
            except (OSError, ValueError):  # a name that cannot be one
                continue
        return None

    def _measure(self, name: str) -> float:
        """[bytes] of another model that this one holds."""
        path = self._find(name)
        if path is None or path.is_dir():
            return 0.0
        path = path.resolve()
        if path not in self._known:
            _Scan(path, self._root, self._known)
        return self._known[path]

    def _measure_file(self, name: str) -> float:
        """[bytes] of a mesh, or of an image when it is unpacked."""
        path = self._find(name)
        if path is None or not path.is_file():
            return 0.0
        with path.open("rb") as file:
            head = file.read(24)
        if head.startswith(_PNG):
            width, height = (int.from_bytes(head[i : i + 4]) for i in (16, 20))
            return 3.0 * width * height
        return float(_FILE * path.stat().st_size)


def _multiply(keys: str, attributes: Mapping[str, str]) -> float:
    """Product of the numbers in some attributes; 0 where one of them is not there."""
    product = 1.0
    for key in keys.split():
        if key not in attributes:
            return 0.0
        for word in attributes[key].split():
            product *= max(_read_number(word), 1.0)
    return product


def _read_number(word: str) -> float:
    """`10`, `1e3` or `2G`; 1 for what is no number, which MuJoCo refuses itself."""
    found = re.fullmatch(r"\+?([0-9.]+(?:[eE][0-9]+)?)([KMGTPE]?)", word)
    try:
        return float(found[1]) * _POWERS.get(found[2], 1.0) if found else 1.0
    except ValueError:
        return 1.0
