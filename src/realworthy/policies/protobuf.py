"""Reads protobuf messages: fields of a number, a wire type and a value, nested."""

from collections.abc import Iterator


class CutOff(Exception):
    """The bytes end before the message does, or are no message."""


def find_message(data: memoryview, wanted: int) -> memoryview:
    """The message in a field; empty where there is none."""
    for number, value in read_fields(data):
        if number == wanted:
            return as_bytes(value)
    return memoryview(b"")


def read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: a whole number, or the bytes of anything else."""
    place = 0
    while place < len(data):
        key, place = _read_whole(data, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, place = _read_whole(data, place)
            yield number, value
            continue
        if kind == 2:
            length, place = _read_whole(data, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise CutOff(f"field of wire type {kind}")
        if place + length > len(data):
            raise CutOff(f"{place + length - len(data)} bytes are missing")
        yield number, data[place : place + length]
        place += length


def _read_whole(data: memoryview, place: int) -> tuple[int, int]:
    """A whole number, seven bits in a byte, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise CutOff("it ends within a number")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise CutOff("a number without end")


def as_bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise CutOff("a number stands where a message should")
    return value


def as_text(value: int | memoryview) -> str:
    return bytes(as_bytes(value)).decode()


def as_whole(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise CutOff("a message stands where a number should")
    return value - (1 << 64) if value >> 63 else value


def as_wholes(value: int | memoryview) -> list[int]:
    """One whole number, or several that are packed."""
    if isinstance(value, int):
        return [as_whole(value)]
    found, place = [], 0
    while place < len(value):
        one, place = _read_whole(value, place)
        found.append(as_whole(one))
    return found
