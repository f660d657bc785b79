"""What may be wrong with a recording that passed the door.

A suspicion is text for a person, with the mapping to paste if it is right. One that is
certain, such as degrees where radians are promised, stops a file from being loaded.
"""

import msgspec
import numpy as np
import yaml

from realworthy.errors import BadRecording
from realworthy.recordings.missing_rows import GAP, find_gaps
from realworthy.recordings.recording import Recording
from realworthy.recordings.sidecar import SignalSource
from realworthy.recordings.signals import AXES, quaternions
from realworthy.recordings.units import Suspicion, find_unit_suspicions


def suspicions(recording: Recording) -> list[Suspicion]:
    """Everything that does not fit: units, clock, rate, gaps, orientations."""
    return [
        *find_unit_suspicions(recording),
        *_find_rate(recording),
        *_find_gaps(recording),
        *_find_norms(recording),
    ]


def check_units(recording: Recording) -> None:
    """Raises BadRecording, with the mapping to paste, where units are surely wrong."""
    certain = [s for s in find_unit_suspicions(recording) if s.certain]
    if not certain:
        return
    mapping = {name: entry for s in certain for name, entry in s.mapping.items()}
    others = ", ".join(f"'{s.signal}'" for s in certain[1:])
    more = f" The same holds for {others}." if others else ""
    raise BadRecording(
        f"{recording.owner}: {certain[0].text}{more}",
        hint=f"Put into its sidecar:  {to_paste(mapping)}",
    )


def to_paste(mapping: dict[str, SignalSource]) -> str:
    """The mapping as one line of YAML for a sidecar."""
    tree = {"mapping": msgspec.to_builtins(mapping)}
    flow = yaml.safe_dump(tree, default_flow_style=True, sort_keys=False, width=10**6)
    return flow.strip().removeprefix("{").removesuffix("}")


def _find_rate(recording: Recording) -> list[Suspicion]:
    said, measured = recording.sidecar.rate, recording.rate
    if said is None or abs(measured - said) <= 0.2 * said or measured < said / 500:
        return []
    text = f"the sidecar says {said:g} Hz, the rows come at {measured:.4g} Hz."
    return [Suspicion(signal="time", text=text)]


def _find_gaps(recording: Recording) -> list[Suspicion]:
    gaps = find_gaps(recording.time)
    if len(gaps) == 0:
        return []
    steps = np.diff(recording.time)
    first, longest = recording.time[gaps[0]], steps[gaps].max()
    count = f"{len(gaps)} steps take" if len(gaps) > 1 else "1 step takes"
    text = (
        f"{count} more than {GAP} periods, the first after {first:.4g} s, the longest "
        f"{longest:.3g} s: rows may be missing."
    )
    return [Suspicion(signal="time", text=text)]


def _find_norms(recording: Recording) -> list[Suspicion]:
    """Orientations that are not of unit length."""
    found = []
    for stem in quaternions(recording.signals):
        parts = np.stack([recording.signals[f"{stem}.{axis}"] for axis in AXES])
        worst = float(np.abs(np.linalg.norm(parts, axis=0) - 1).max())
        if worst > 0.01:
            text = f"'{stem}' is up to {worst:.2g} away from unit length."
            found.append(Suspicion(signal=stem, text=text))
    return found
