"""Entries of a mapping that stand for many: `"*.position": {source: "q_{i}"}`.

In the name of a signal `*` stands for a joint. In the source, `*` stands for the same
joint, and `{i}` for its place among the sidecar's `joints`, from whichever number the
columns begin with. Without a source the columns have the signals' names already. A
signal that the mapping names itself keeps its own entry.
"""

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from realworthy.errors import BadRecording
from realworthy.recordings.sidecar import Sidecar, SignalSource

STAR, PLACE = "*", "{i}"


def expand_patterns(
    sidecar: Sidecar, columns: Collection[str], *, owner: str
) -> dict[str, SignalSource]:
    """The mapping with every pattern replaced by the signals that it stands for."""
    found: dict[str, SignalSource] = {}
    for name, entry in sidecar.mapping.items():
        if STAR not in name:
            found[name] = entry
            continue
        sources = _match(name, entry, sidecar.joints, columns, owner)
        for joint, column in sources.items():
            signal = name.replace(STAR, joint, 1)
            if signal not in sidecar.mapping:
                found[signal] = msgspec.structs.replace(entry, source=column)
    return found


def _match(
    name: str,
    entry: SignalSource,
    joints: Sequence[str],
    columns: Collection[str],
    owner: str,
) -> Mapping[str, str]:
    """Joint → column, of those columns that the source of a pattern stands for."""
    source = entry.source or name
    if name.count(STAR) > 1 or source.count(STAR) + source.count(PLACE) != 1:
        raise BadRecording(
            f"The mapping of '{name}' is no pattern that can be read: source "
            f"'{source}'.",
            hint='A signal has one *, its source one * or one {i}: "*.position": '
            '{source: "q_{i}"}',
        )
    mark = STAR if STAR in source else PLACE
    before, after = source.split(mark)
    inner = r"(.+)" if mark == STAR else r"(\d+)"
    pattern = re.compile(re.escape(before) + inner + re.escape(after))
    hits = {m[1]: c for c in columns if (m := pattern.fullmatch(c))}
    if mark == STAR and joints:
        hits = {joint: column for joint, column in hits.items() if joint in joints}
    if not hits:
        raise BadRecording(
            f"{owner} has no column like '{source}', which the mapping of '{name}' "
            "asks for.",
            hint=f"Its columns: {', '.join(list(columns)[:12])}"
            + (" …" if len(columns) > 12 else ""),
        )
    return hits if mark == STAR else _order(name, hits, joints)


def _order(
    name: str, hits: Mapping[str, str], joints: Sequence[str]
) -> Mapping[str, str]:
    """Joint → column of the same place, counted from the least number there is."""
    if not joints:
        raise BadRecording(
            f"The mapping of '{name}' counts joints by {PLACE}, and the sidecar does "
            "not say in which order they are.",
            hint="Add joints: [first, second, …], in the order of the columns.",
        )
    numbers = sorted(hits, key=int)
    first = int(numbers[0])
    if int(numbers[-1]) - first >= len(joints):
        raise BadRecording(
            f"The mapping of '{name}' meets columns numbered {numbers[0]} to "
            f"{numbers[-1]}, and the sidecar has {len(joints)} joints.",
            hint="Name as many joints under joints:, or map the others by hand.",
        )
    return {joints[int(number) - first]: hits[number] for number in numbers}
