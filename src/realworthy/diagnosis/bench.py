"""The bench on which suspects are tried: short pieces of recordings, many worlds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.effects import (
    ACTING,
    FRICTION,
    NEUTRAL,
    SuspectedEffects,
)
from realworthy.diagnosis.heat import Heat
from realworthy.diagnosis.native import STRUCTURAL, NativeEffects
from realworthy.diagnosis.suspects import Case, Edit, Slot
from realworthy.identification.problem.batch import (
    PieceStarts,
    WorldPool,
    count_worlds,
    evaluate_pairs,
)
from realworthy.identification.problem.pieces import Piece
from realworthy.identification.problem.preparation import (
    PreparedRecording,
    prepare_recordings,
)
from realworthy.recordings import Recording
from realworthy.simulators.mujoco_cpu import FEW_WORLDS
from realworthy.simulators.replay import (
    Replayer,
    Track,
    bind_at,
    crop,
    is_sound,
    lay_out,
    lay_out_on,
)
from realworthy.twins import BoundTwin, Twin
from realworthy.twins.layout import Layout
from realworthy.twins.structure import (
    add_backlash,
    add_flexibility,
    flex_joint,
    play_joint,
    set_timestep,
)

Floats = NDArray[np.float64]
_INERTIAL = ("mass", "centre_of_mass", "inertia", "link_length", "gravity_tilt")
_OF_HEAT = ("thermal_fade.time_constant", "thermal_fade.rated_torque")
_ROUND = 16
_KEPT_BENCHES = 40
_MOTION_SHARE = 3e-4
"""Of a joint's motion: below this, nobody would call a difference a gap."""
_CARRIED = 0.11
"""[s] that a command may be on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """How recordings are cut."""

    piece_count: int = 24
    warm_up: float = 0.2
    """[s] simulated before anything counts, for what a start cannot know."""
    length: float = 0.6
    """[s] that counts."""
    block_count: int = 20
    """Means over rows into which a piece is condensed."""


@dataclass(frozen=True, slots=True)
class _Blocks:
    """How every piece is condensed: rows of warm-up, then means over blocks of rows."""

    warm_rows: int
    block_rows: int
    block_count: int

    @property
    def row_count(self) -> int:
        return self.warm_rows + self.block_rows * self.block_count

    def condense(self, rows: Floats) -> Floats:
        """(…, blocks, joints) means of (…, rows, joints) after the warm-up."""
        kept = rows[:, : self.block_count * self.block_rows]
        shape = (len(rows), self.block_count, self.block_rows, rows.shape[2])
        return kept.reshape(shape).mean(2)


@dataclass(frozen=True, slots=True)
class _Variant:
    """What has to be compiled: added joints, stiff friction, room for inertias."""

    structure: frozenset[tuple[str, str]]
    stiff: frozenset[str]
    is_heavy: bool


@dataclass(frozen=True, slots=True)
class _Ready:
    """What a play of all pieces needs, (pieces, …), as some edits leave it."""

    before: NDArray[np.intp]
    """Rows of a short track before its start."""
    starts: PieceStarts
    measured: Floats
    """(pieces, blocks, joints) means."""
    sd: Floats
    """(pieces, joints) of a mean: noise, numerics, what is nothing."""


class Bench:
    """Pieces of recordings of one rate, and worlds to replay them in."""

    def __init__(
        self,
        twin: Twin,
        recordings: Sequence[Recording],
        names: Iterable[str],
        settings: BenchSettings | None = None,
        *,
        fineness: int = 1,
        thread_count: int = 0,
    ) -> None:
        """`names` are the twin's parameters that cases may set.

        Time steps are the twin's over `fineness`.
        """
        self.settings = settings or BenchSettings()
        self._thread_count = thread_count
        self.fineness = fineness
        if fineness > 1:
            timestep = float(twin.compiled.model.opt.timestep) / fineness
            twin = twin.edited(partial(set_timestep, timestep=timestep))
        first = lay_out(twin, recordings[0])
        self.hangs = first.hangs
        self.twin = twin.hung() if self.hangs else twin
        self.rate = recordings[0].rate
        self._plain = bind_at(self.twin, self.rate)
        self.names = tuple(names)
        self.joints = first.joints
        self._recordings = list(recordings)
        self._readies: dict[tuple[Edit, ...], _Ready] = {}
        self._sources: dict[tuple[Edit, ...], list[PreparedRecording]] = {}
        self._players: WorldPool[tuple[Replayer, SuspectedEffects]] = WorldPool(
            _KEPT_BENCHES
        )
        self._bounds: dict[_Variant, BoundTwin] = {}
        self._tracks: dict[tuple[_Variant, tuple[Edit, ...]], list[Track]] = {}
        self.layout = Layout(first.bound)
        self.sources(())
        self._blocks = _choose_blocks(self.settings, self.rate)
        self.pieces = self._cut()
        self.heat = Heat([s.track for s in self.sources(())], self.layout)
        self.world_seconds = 0.0

    def allow(self, names: Iterable[str]) -> None:
        """Makes room for parameters of the twin that cases will set."""
        self.names = tuple(names)
        self._bounds.clear()
        self._players = WorldPool(_KEPT_BENCHES)
        self._tracks.clear()

    @property
    def block_seconds(self) -> float:
        return self._blocks.block_rows / self.rate

    @property
    def block_count(self) -> int:
        """Means per piece and joint."""
        return self._blocks.block_count

    # -- recordings ---------------------------------------------------------------

    def sources(self, edits: tuple[Edit, ...]) -> list[PreparedRecording]:
        """The recordings as edits leave them."""
        if edits not in self._sources:
            tracks = []
            for recording in self._recordings:
                for edit in edits:
                    recording = edit.apply(recording)
                tracks.append(lay_out_on(self._plain, recording, hangs=self.hangs))
            self._sources[edits] = prepare_recordings(tracks)
        return self._sources[edits]

    def _cut(self) -> list[Piece]:
        """Windows spread over all recordings; where there are many, the livelier."""
        settings, rows = self.settings, self._blocks.row_count
        windows: list[tuple[float, Piece]] = []
        for i, source in enumerate(self.sources(())):
            last = len(source.track.rows) - 1 - rows
            if last < 0:
                continue
            stride = max(1, rows - self._blocks.warm_rows)
            for first in range(0, last + 1, stride):
                part = source.states.velocity[first : first + rows]
                scale = source.states.velocity.std(0) + 1e-12
                life = float(np.sqrt(np.mean((part / scale) ** 2)))
                windows.append((life, Piece(i, first, rows)))
        if len(windows) > settings.piece_count:
            windows = _choose(windows, settings.piece_count)
        return [piece for _, piece in windows]

    # -- worlds -------------------------------------------------------------------

    def evaluate(
        self, cases: Sequence[Case], places: Sequence[int] | None = None
    ) -> Floats:
        """(cases, pieces, blocks · joints) simulated minus measured, over the noise.

        `places` chooses pieces by number; all of them where not given.
        """
        chosen_pieces = (
            np.arange(len(self.pieces)) if places is None else np.array(places)
        )
        out = np.empty((len(cases), len(chosen_pieces), self._width))
        groups: dict[tuple[_Variant, tuple[Edit, ...], bool], list[int]] = {}
        for i, case in enumerate(cases):  # one that acts would slow all beside it
            key = (self._variant(case), case.edits, _acts(case))
            groups.setdefault(key, []).append(i)
        for (variant, edits, _), members in groups.items():
            chosen = [cases[i] for i in members]
            out[members] = self._run(variant, edits, chosen, chosen_pieces)
        return out

    def shift_starts(self, case: Case) -> Floats:
        """(pieces, blocks · joints, 2 · joints) answer to starts off by one sd."""
        variant, edits = self._variant(case), case.edits
        count = len(self.joints)
        every = np.arange(len(self.pieces))
        base = self._run(variant, edits, [case], every)[0]
        shifts = np.zeros((2 * count, 2, count))
        for i in range(count):
            shifts[i, 0, i] = shifts[count + i, 1, i] = 1.0
        moved = self._run(variant, edits, [case] * (2 * count), every, shifts)
        return np.moveaxis(moved - base, 0, -1)

    def play_plainly(self) -> tuple[Floats, NDArray[np.bool_]]:
        """(pieces, blocks, joints) positions of the twin as it is, and which hold."""
        tracks = self._lay_out(bind_at(self.twin, self.rate), ())
        player = Replayer(tracks, len(tracks), thread_count=self._thread_count)
        return self._play(player, (), np.arange(len(tracks)), None)

    def resolution(self) -> Floats:
        """(joints,) least rms difference that counts [rad or m]."""
        return np.asarray(self._ready(()).sd.mean(0))

    def set_numerics(self, numerics: Floats) -> None:
        self._numerics = numerics
        self._readies = {}

    _numerics: Floats | float = 0.0

    @property
    def _width(self) -> int:
        return self.block_count * len(self.joints)

    def _variant(self, case: Case) -> _Variant:
        structure = {
            (s.effect, s.joint) for s in case.effects if s.effect in STRUCTURAL
        }
        stiff = {s.joint for s in case.effects if s.effect in FRICTION}
        heavy = False
        for name in case.values:
            parameter = self.twin.space[name]
            if parameter.kind == "coulomb_friction":
                stiff |= set(parameter.binding.elements)
            heavy |= parameter.kind in _INERTIAL
        return _Variant(frozenset(structure), frozenset(stiff), heavy)

    def _make(self, variant: _Variant) -> BoundTwin:
        if variant not in self._bounds:
            twin = self.twin
            for effect, joint in sorted(variant.structure):
                twin = _add(twin, effect, joint)
            names = [name for name in self.names if self._fits(variant, name)]
            stiff = [f"{joint}.coulomb_friction" for joint in sorted(variant.stiff)]
            names = list(dict.fromkeys((*names, *stiff)))
            space = self.twin.space.select(names)
            self._bounds[variant] = bind_at(twin, self.rate, space)
        return self._bounds[variant]

    def _fits(self, variant: _Variant, name: str) -> bool:
        parameter = self.twin.space[name]
        if parameter.kind == "coulomb_friction":
            return set(parameter.binding.elements) <= variant.stiff
        return variant.is_heavy or parameter.kind not in _INERTIAL

    def _player(
        self, variant: _Variant, wanted: int, *, acts: bool
    ) -> tuple[Replayer, SuspectedEffects]:
        size = count_worlds(wanted, _ROUND)
        alone = acts and size < FEW_WORLDS  # a call per substep: threads would wait

        def make() -> tuple[Replayer, SuspectedEffects]:
            effects = SuspectedEffects(Layout(self._make(variant)), variant.stiff)
            player = Replayer(
                self._laid_out(variant, ()),
                size,
                thread_count=self._thread_count or int(alone),
                effects=[effects],
            )
            return player, effects

        return self._players.get((variant, size, alone), make)

    def _laid_out(self, variant: _Variant, edits: tuple[Edit, ...]) -> list[Track]:
        key = (variant, edits)
        if key not in self._tracks:
            self._tracks[key] = self._lay_out(self._make(variant), edits)
        return self._tracks[key]

    def _lay_out(self, bound: BoundTwin, edits: tuple[Edit, ...]) -> list[Track]:
        """One short track per piece, with the commands sent before it."""
        tracks = []
        for piece in self.pieces:
            source = self.sources(edits)[piece.recording]
            before = self._before(piece)
            rows = slice(piece.first - before, piece.first + piece.row_count + 1)
            tracks.append(crop(source.track, bound, rows))
        return tracks

    def _run(
        self,
        variant: _Variant,
        edits: tuple[Edit, ...],
        cases: Sequence[Case],
        places: NDArray[np.intp],
        shifts: Floats | None = None,
    ) -> Floats:
        """(cases, pieces, width) residuals; shifts are (cases, 2, joints) in sd."""
        acts = any(_acts(case) for case in cases)
        player, effects = self._player(variant, len(cases) * len(places), acts=acts)
        player.load(self._laid_out(variant, edits))
        ready = self._ready(edits)

        def simulate(
            which: NDArray[np.intp], piece: NDArray[np.intp]
        ) -> tuple[Floats, NDArray[np.bool_]]:
            chosen = [cases[k] for k in which]
            self._write(player, effects, chosen, piece)
            moved = None if shifts is None else shifts[which]
            inside = self._load(variant, chosen, piece)
            played, sound = self._play(player, edits, piece, moved, inside)
            self.world_seconds += len(piece) * self._blocks.row_count / self.rate
            return (played - ready.measured[piece]) / ready.sd[piece][:, None], sound

        values, _ = evaluate_pairs(
            len(cases), places, player.simulator.world_count, simulate
        )
        return values.reshape(len(cases), len(places), -1)

    def _write(
        self,
        player: Replayer,
        effects: SuspectedEffects,
        cases: Sequence[Case],
        piece: NDArray[np.intp],
    ) -> None:
        simulator = player.simulator
        space = simulator.bound.space
        if len(space) or any(case.values for case in cases):
            e = np.tile(space.nominal, (len(cases), 1))
            for w, case in enumerate(cases):
                for name, value in case.values.items():
                    e[w, space.index(name)] = value
            simulator.write(e)
        shape = (len(cases), len(effects.joints))
        numbers: dict[str, Floats] = {}
        fields = NativeEffects(simulator)
        player.offset = np.zeros((len(cases), simulator.bound.model.nu))
        for w, case in enumerate(cases):
            for slot, value in case.effects.items():
                if slot.number in _OF_HEAT:
                    continue
                if slot.effect == "default_pose":
                    player.offset[w, self._control_of(slot.joint)] = value
                    continue
                if fields.takes(slot):
                    fields.write(w, slot, case)
                    continue
                if slot.number == "thermal_fade.loss":
                    value = value * self._heat_at(int(piece[w]), slot.joint, case)
                table = numbers.setdefault(
                    slot.number, np.full(shape, NEUTRAL[slot.number])
                )
                table[w, effects.columns[slot.joint]] = value
        effects.write(numbers)
        if not player.offset.any():
            player.offset = None

    def _control_of(self, joint: str) -> int:
        """Place of a joint's command among the inputs."""
        actuator = self.layout.actuator(joint)
        return int(self.layout.bound.model.actuator_ctrladr[actuator])

    def _load(
        self, variant: _Variant, cases: Sequence[Case], piece: NDArray[np.intp]
    ) -> dict[str, Floats]:
        """Where plays and springs stand at the starts, under what they transmit."""
        offsets: dict[str, Floats] = {}
        for effect, joint in variant.structure:
            torque = np.array([self._transmitted(self.pieces[p], joint) for p in piece])
            number = "width" if effect == "backlash" else "stiffness"
            slot = Slot(f"{effect}.{number}", joint)
            size = np.array([case.effects[slot] for case in cases])
            if effect == "backlash":
                offsets[play_joint(joint)] = -np.sign(torque) * size / 2
            else:
                offsets[flex_joint(joint)] = -torque / size
        return offsets

    def _transmitted(self, piece: Piece, joint: str) -> float:
        """[N·m] from motor to link at a start: what the rotor does not take."""
        column = self.layout.driven_joints.index(joint)
        torque = self.heat.torque[piece.recording][piece.first, column]
        states = self.sources(())[piece.recording].states
        dof = self.layout.joint(joint)[1]
        rotor = float(self.layout.bound.model.dof_armature[dof])
        place = self.joints.index(joint)
        return float(torque - rotor * states.acceleration[piece.first, place])

    def _heat_at(self, piece: int, joint: str, case: Case) -> float:
        """0 … 1 in the middle of a piece."""
        place = self.pieces[piece]
        row = place.first + place.row_count // 2
        time, rated = (case.effects[Slot(name, joint)] for name in _OF_HEAT)
        return self.heat.level(place.recording, joint, time, rated, row)

    def _play(
        self,
        player: Replayer,
        edits: tuple[Edit, ...],
        piece: NDArray[np.intp],
        shifts: Floats | None,
        unmeasured: Mapping[str, Floats] | None = None,
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """(worlds, blocks, joints) mean positions, and which worlds got through."""
        ready = self._ready(edits)
        moved = np.zeros((2, 1, 1)) if shifts is None else np.moveaxis(shifts, 1, 0)
        position, velocity = ready.starts.shift(piece, moved[0], moved[1])
        played = player.play(
            ready.before[piece],
            self._blocks.row_count + 1,
            tracks=piece,
            position=position,
            velocity=velocity,
            unmeasured=unmeasured,
        )
        kept = played.position[:, 1 + self._blocks.warm_rows :]
        return self._blocks.condense(kept), is_sound(played)

    def _ready(self, edits: tuple[Edit, ...]) -> _Ready:
        if edits not in self._readies:
            self._readies[edits] = self._get_ready(edits)
        return self._readies[edits]

    def _get_ready(self, edits: tuple[Edit, ...]) -> _Ready:
        sources, blocks = self.sources(edits), self._blocks
        by_piece = [(piece, sources[piece.recording]) for piece in self.pieces]
        variance, measured = [], []
        for piece, source in by_piece:
            begin = piece.first + 1 + blocks.warm_rows
            rows = slice(begin, piece.first + 1 + blocks.row_count)
            measured.append(source.track.position[rows])
            motion = _MOTION_SHARE * source.states.position.std(0)
            variance.append(source.noise**2 / blocks.block_rows + motion**2)
        return _Ready(
            before=np.array([self._before(p) for p, _ in by_piece], dtype=np.intp),
            starts=PieceStarts(
                position=np.array([s.states.position[p.first] for p, s in by_piece]),
                velocity=np.array([s.states.velocity[p.first] for p, s in by_piece]),
                position_sd=np.array(
                    [2 * s.states.position_sd + 1e-9 for _, s in by_piece]
                ),
                velocity_sd=np.array([s.velocity_spread for _, s in by_piece]),
            ),
            measured=blocks.condense(np.array(measured)),
            sd=np.sqrt(np.array(variance) + self._numerics**2 + 1e-18),
        )

    def _before(self, piece: Piece) -> int:
        """Rows before a start whose commands a delay may still be carrying."""
        return min(piece.first, int(np.ceil(_CARRIED * self.rate)))


def _choose_blocks(settings: BenchSettings, rate: float) -> _Blocks:
    rows = max(1, round(settings.length * rate / settings.block_count))
    count = max(4, min(settings.block_count, round(settings.length * rate / rows)))
    return _Blocks(round(settings.warm_up * rate), rows, count)


def _acts(case: Case) -> bool:
    """Whether something must be done between substeps."""
    return any(slot.effect in ACTING for slot in case.effects)


def _choose(
    windows: list[tuple[float, Piece]], count: int
) -> list[tuple[float, Piece]]:
    """Of evenly spread groups of windows the liveliest, of every fourth the calmest."""
    bounds = np.linspace(0, len(windows), count + 1).astype(int)
    chosen = []
    for k in range(count):
        group = sorted(windows[bounds[k] : bounds[k + 1]], key=lambda pair: pair[0])
        if group:
            chosen.append(group[0] if k % 4 == 3 else group[-1])
    return chosen


def _add(twin: Twin, effect: str, joint: str) -> Twin:
    """A twin with a play or a spring, whose numbers every world has for itself."""
    if effect == "backlash":
        return twin.edited(partial(add_backlash, joint=joint, width=0.02))
    return twin.edited(
        partial(add_flexibility, joint=joint, stiffness=100.0, damping=0.0)
    )
