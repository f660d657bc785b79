"""Other numbers in the same description of a drive."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from realworthy.actuators import KINDS

S = TypeVar("S", bound=msgspec.Struct)


def replace_numbers(description: S, numbers: Mapping[str, float]) -> S:
    """The description with other numbers, also in the descriptions inside it."""
    changes: dict[str, object] = {}
    for name in description.__struct_fields__:
        value = getattr(description, name)
        if isinstance(value, msgspec.Struct):
            changes[name] = replace_numbers(value, numbers)
        elif name in numbers and name in KINDS and value is not None:
            changes[name] = numbers[name]
    return msgspec.structs.replace(description, **changes)
