"""Damage to bytes, the same for the same seed: flips, cuts, copies, absurd numbers."""

import random
import re

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_WORDS = (
    *(b"0", b"-1", b"1e999", b".inf", b"-.inf", b".nan", b"nan", b"null", b"true"),
    *(
        b"1e9",
        b"1000000000000",
        b"99999999999999999999",
        b"1e-300",
        b"[]",
        b"{}",
        b'""',
    ),
    *(
        b"\xff\xfe",
        b"\x00",
        b"!!int abc",
        b"*a",
        b"&a [*a]",
        b"<<: *a",
        b"\xf0\x9f\x98",
    ),
)
_BYTES = (0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF)


def damage(data: bytes, seed: int) -> bytes:
    """`data` with one to four faults."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = chance.choice(FAULTS)(data, chance)
    return data


def _flip(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(max(len(data), 1))
    flipped = bytes([data[place] ^ 1 << chance.randrange(8)]) if data else b"\x00"
    return data[:place] + flipped + data[place + 1 :]


def _set(data: bytes, chance: random.Random) -> bytes:
    place, width = chance.randrange(max(len(data), 1)), chance.choice((1, 2, 4, 8))
    value = bytes([chance.choice(_BYTES)]) * width
    return data[:place] + value + data[place + width :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(max(len(data), 1))]


def _drop(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(max(len(data), 1))
    return data[:place] + data[place + chance.randrange(1, 40) :]


def _copy(data: bytes, chance: random.Random) -> bytes:
    place, other = (chance.randrange(max(len(data), 1)) for _ in range(2))
    return data[:place] + data[other : other + chance.randrange(1, 200)] + data[place:]


def _renumber(data: bytes, chance: random.Random) -> bytes:
    """Another word in place of a number, as in text."""
    if not (found := list(_NUMBER.finditer(data))):
        return _set(data, chance)
    one = chance.choice(found)
    return data[: one.start()] + chance.choice(_WORDS) + data[one.end() :]


def _redigit(data: bytes, chance: random.Random) -> bytes:
    """Other digits in a number, which stays one."""
    if not (found := list(_NUMBER.finditer(data))):
        return _flip(data, chance)
    one = chance.choice(found)
    text = bytes(
        chance.choice(b"0123456789") if c in b"0123456789" else c for c in one[0]
    )
    return data[: one.start()] + text + data[one.end() :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(_WORDS) + data[place:]


def _swap_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return _flip(data, chance)
    a, b = (chance.randrange(len(lines)) for _ in range(2))
    lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


FAULTS = (
    *(_flip, _flip, _set, _cut, _drop, _copy),
    *(_renumber, _renumber, _redigit, _insert, _swap_lines),
)
