"""What a URDF says of its drives, and MuJoCo does not read."""

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from realworthy.artefacts import read_bytes, reading
from realworthy.twins.inspection.datasheets import Datasheet


def read_datasheet(path: Path) -> dict[str, Datasheet]:
    """Joint → largest speed, of the joints of a URDF that state one; else nothing.

    A limit of zero, which some exporters write, states none.
    """
    if path.suffix != ".urdf":
        return {}
    found = {}
    with reading(path, "XML"):
        text = read_bytes(path).decode("utf-8-sig", errors="replace")
        root = ElementTree.fromstring(text)
    for joint in root.iter("joint"):
        limit, name = joint.find("limit"), joint.get("name")
        speed = None if limit is None else _read_number(limit.get("velocity"))
        if name and speed is not None:
            found[name] = Datasheet(speed_limit=speed, source=path.name)
    return found


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None
