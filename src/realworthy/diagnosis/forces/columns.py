"""What every suspect would do to the balances of forces, as columns of a regression.

`mechanics` is needed - given: a torque that helps the motion and is not in the twin
stands there with its sign, one that resists it with the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.diagnosis import CauseKind
from realworthy.diagnosis.forces.balance import (
    Balance,
    BalancedRun,
    JointMotion,
    direction,
    drive_torque,
)
from realworthy.diagnosis.parametric import joints_below

Floats = NDArray[np.float64]
Key = tuple[str, str]
"""(`drive` or `mechanics`, joint)"""

_INTERFACE, _PARAMETRIC, _MISSING = (
    CauseKind.INTERFACE,
    CauseKind.PARAMETRIC,
    CauseKind.MISSING,
)
LIMITS = tuple(float(share) for share in np.geomspace(0.96, 0.03, 18))
"""Of the largest torque that the drive asks for: where a limit is looked for."""
DELAYS = (0.004, 0.008, 0.012, 0.016, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.08)
"""[s]"""
PEAKS = (0.03, 0.08, 0.2, 0.5)
"""Of a joint's rms speed: widths of a peak of friction at low speed."""
REACHES = (0.02, 0.06, 0.2, 0.6)
"""Of a joint's rms way: over which friction builds up."""
TIMES = (0.1, 0.25, 0.6)
"""Of a recording: time constants of heat."""
TONES = tuple(float(f) for f in np.geomspace(0.6, 7.0, 70))
"""[Hz] at which a hidden oscillator is looked for, as close as it is damped."""
TONE_STEP = TONES[1] / TONES[0]
TONES_KEPT = 2
WEAKEST = -0.6
"""A servo's torque follows whatever pushes the joint, so "the motor gives nothing" fits
any push: no cause may say so."""
LOWEST_UNREAD = 0.25
"""Of the largest torque: the same for limits that no torque column shows."""
MAX_FADE = 0.7
"""Of its strength that a motor at its usual torque may lose by heat."""
MATTERS = 0.02
"""Relative error of a gain or a strength from which it is a fault."""
NO_FAULT = 0.005
"""Of a drive's own damping: so much more or less nobody calls a fault."""
REACHED = 0.3
"""Of the time that a play must be at one of its ends: else nothing drives the link."""
SETTLED = 0.15
"""Of a command's step, by which the torque that is read may have settled more."""
STUCK = (4.0,)
"""Times as slow as usual at which friction may already be uncertain."""
_DAMPED = 0.04
"""Damping ratio of what sloshes."""
PLAYS = (0.01, 0.03, 0.08, 0.2, 0.5)
"""Of a joint's rms way: how wide a play is looked for."""


@dataclass(frozen=True)
class Term:
    """One suspect with fixed shape, linear in its numbers."""

    name: str
    kind: CauseKind
    joints: tuple[str, ...]
    columns: dict[Key, list[Floats]]
    """Balance → (rows, numbers) per stretch."""
    owner: str = ""
    shape: tuple[float, ...] = ()
    """Numbers in which it is not linear, of those that were tried."""
    shaped: int = 0
    """How many of them were chosen from the data."""
    low: float = -np.inf
    high: float = np.inf
    """Between which its first number can be believed."""
    least: float = 0.0
    """Size of its first number from which it matters."""
    spread: float = np.inf
    """Standard deviation that nobody calls a fault: of clocks and time steps."""

    @property
    def count(self) -> int:
        return next(iter(self.columns.values()))[0].shape[1]

    @property
    def place(self) -> tuple[str, tuple[str, ...], str]:
        """Terms of one suspect share it, whatever their shape."""
        return self.name, self.joints, self.owner


def list_terms(balance: Balance) -> list[Term]:
    """All suspects, some in several shapes."""
    found: list[Term] = []
    for joint in balance.joints:
        drive = balance.drives.get(joint)
        if drive is None or drive.kind != "position":
            found.append(_encoder(balance, joint, 0.0))
        if joint in balance.excited:
            found += _frictions(balance, joint)
            found += _springs(balance, joint)
        if joint in balance.drives:
            found += _drives(balance, joint)
    found += _transmissions(balance)
    found += _shared(balance, found)
    found += _bodies(balance)
    return [t for term in found if (t := _keep(balance, term)) is not None]


def _keep(balance: Balance, term: Term) -> Term | None:
    """The term on balances that can be judged."""
    columns = {k: parts for k, parts in term.columns.items() if k in balance.targets}
    return replace(term, columns=columns) if columns else None


def list_usual(balance: Balance) -> list[Term]:
    """What no robot shares with its twin to the last digit, and what is no fault.

    Torques are read within a time step of the row, and time steps themselves add
    dt · (kd + damping) to every inertia (implicit integration).
    """
    model = balance.layout.bound.model
    step = float(model.opt.timestep)
    late: dict[Key, list[Floats]] = {}
    found: list[Term] = []
    for joint, drive in balance.drives.items():
        if joint not in balance.joints:
            continue
        parts = [
            balance.smooth(
                s,
                drive.kp * s.joints[joint].velocity
                + drive.kd * s.joints[joint].acceleration,
            )[:, None]
            for s in balance.stretches
        ]
        if ("drive", joint) in balance.targets and drive.kind == "position":
            late["drive", joint] = parts
            late["mechanics", joint] = [-part for part in parts]
        if ("drive", joint) not in balance.targets:
            continue
        steps = []
        for s in balance.stretches:
            raw = s.joints[joint].raw_command
            gain = drive.kp if drive.kind == "position" else drive.torque_per_command
            jump = gain * np.diff(raw, prepend=raw[:1])
            steps.append(balance.smooth(s, jump)[:, None])
        table = {("drive", joint): steps, ("mechanics", joint): [-x for x in steps]}
        found.append(Term("settling", _INTERFACE, (joint,), table, spread=SETTLED))
    if late:
        found.append(Term("reading", _INTERFACE, (), late, spread=step))
    for joint in balance.joints:
        drive = balance.drives.get(joint)
        friction = float(model.dof_frictionloss[balance.layout.joint(joint)[1]])
        if friction > 0:
            found.append(_sticking(balance, joint, friction))
        damping = float(model.dof_damping[balance.layout.joint(joint)[1]])
        damping += 0.0 if drive is None else drive.kd
        if damping <= 0:
            continue
        parts = [
            -balance.smooth(s, s.joints[joint].acceleration)[:, None]
            for s in balance.stretches
        ]
        key: Key = ("mechanics", joint)
        rubs = [
            -balance.smooth(s, s.joints[joint].velocity)[:, None]
            for s in balance.stretches
        ]
        spread = NO_FAULT * damping
        found.append(Term("rubbing", _INTERFACE, (joint,), {key: rubs}, spread=spread))
        found.append(
            Term("time_step", _INTERFACE, (joint,), {key: parts}, spread=step * damping)
        )
    return [t for term in found if (t := _keep(balance, term)) is not None]


def _sticking(balance: Balance, joint: str, friction: float) -> Term:
    """Dry friction next to standstill, where its side is not certain."""
    parts = []
    for s in balance.stretches:
        v = s.joints[joint].velocity
        parts.append(
            np.stack(
                [balance.smooth(s, direction(v, w) - direction(v)) for w in STUCK], 1
            )
        )
    table: dict[Key, list[Floats]] = {("mechanics", joint): parts}
    return Term("sticking", _INTERFACE, (joint,), table, spread=friction)


def _frictions(balance: Balance, joint: str) -> list[Term]:
    def make(
        name: str,
        column: Callable[[BalancedRun, JointMotion], Floats],
        kind: CauseKind = _MISSING,
        shape: tuple[float, ...] = (),
        low: float = 0.0,
    ) -> Term:
        parts = [
            balance.smooth(s, column(s, s.joints[joint]))[:, None]
            for s in balance.stretches
        ]
        return Term(
            name,
            kind,
            (joint,),
            {("mechanics", joint): parts},
            shape=shape,
            shaped=len(shape),
            low=low,
        )

    speed = _rms(balance, joint, "velocity")
    way = _rms(balance, joint, "position")
    found = [
        make("damping", lambda s, j: -j.velocity, _PARAMETRIC, low=-np.inf),
        make(
            "coulomb_friction",
            lambda s, j: -direction(j.velocity),
            _PARAMETRIC,
            low=-np.inf,
        ),
        make("armature", lambda s, j: -j.acceleration, _PARAMETRIC, low=-np.inf),
        make("drag", lambda s, j: -np.abs(j.velocity) * j.velocity),
        make("load_friction", lambda s, j: -np.abs(j.law) * direction(j.velocity)),
    ]
    for share in PEAKS:
        width = share * speed
        found.append(
            make(
                "stribeck",
                lambda s, j, w=width: (
                    -(direction(j.velocity) * np.exp(-((j.velocity / w) ** 2)))
                ),
                shape=(width,),
            )
        )
    for share in REACHES:
        reach = share * way
        found.append(
            make(
                "hysteresis",
                lambda s, j, r=reach: -_follow_dahl(j.position, r),
                shape=(reach,),
            )
        )
    return found


def _springs(balance: Balance, joint: str) -> list[Term]:
    parts = [
        np.stack(
            [
                -balance.smooth(s, s.joints[joint].position),
                np.ones(len(s.keep)),
            ],
            axis=1,
        )
        for s in balance.stretches
    ]
    return [
        Term("cable", _MISSING, (joint,), {("mechanics", joint): parts}, low=0.0),
    ]


def _drives(balance: Balance, joint: str) -> list[Term]:
    """What a drive may have wrong: its law, its limit, its strength, its clock."""
    drive = balance.drives[joint]
    limit = balance.limits.get(joint, np.inf)
    law = _law_key(balance, joint)
    has_torque = law[0] == "drive"
    strength = "gear" if f"{joint}.gear" in balance.twin.space else "torque_constant"
    is_excited = joint in balance.excited

    def make(
        name: str,
        column: Callable[[BalancedRun, JointMotion], Floats],
        key: Key = law,
        **more: object,
    ) -> Term:
        parts = [
            balance.smooth(s, column(s, s.joints[joint]))[:, None]
            for s in balance.stretches
        ]
        kind = more.pop("kind", _PARAMETRIC)
        if name in ("kp", "kd", strength):
            more["least"] = MATTERS
        return Term(name, kind, (joint,), {key: parts}, **more)  # pyright: ignore

    found: list[Term] = []
    mechanics: Key = ("mechanics", joint)
    if is_excited:
        found.append(make(strength, lambda s, j: j.law, mechanics, low=WEAKEST))
    if has_torque and drive.kind == "torque":
        found.append(make(strength, lambda s, j: j.reported_law, low=WEAKEST))
    if drive.kind == "position":
        found.append(
            make(
                "kp",
                lambda s, j: (
                    drive.kp * (_command(s, joint, drive) - j.position) * j.free
                ),
                low=WEAKEST,
            )
        )
        kd = drive.kd or 1.0
        found.append(make("kd", lambda s, j: -kd * j.velocity * j.free, low=-1.05))
        found.append(
            make(
                "default_pose",
                lambda s, j: drive.kp * j.free.astype(np.float64),
                kind=_INTERFACE,
            )
        )
        found.append(_encoder(balance, joint, drive.kp))
    if not is_excited:
        return found
    largest = max(
        float(np.quantile(np.abs(s.joints[joint].law), 0.999))
        for s in balance.stretches
    )
    sizes = [*(share * largest for share in LIMITS), *_read_limit(balance, joint)]
    if not has_torque:
        sizes = [size for size in sizes if size > LOWEST_UNREAD * largest]
    found.extend(
        make(
            "torque_limit",
            lambda s, j, size=size: np.clip(j.law, -size, size) - j.law,
            shape=(size,),
            shaped=1,
            low=0.6,
            high=1.4,
        )
        for size in sizes
    )
    found.extend(
        make(
            "delay",
            lambda s, j, d=seconds: _delayed(s, joint, drive, limit, d) - j.law,
            shape=(seconds,),
            shaped=1,
            low=0.6,
            high=1.6,
        )
        for seconds in DELAYS
    )
    found.extend(
        make(
            "thermal_fade",
            lambda s, j, t=share: -_heat(j.law, s, t) * j.law,
            mechanics,
            kind=_MISSING,
            shape=(share,),
            shaped=1,
            low=0.0,
            high=MAX_FADE,
        )
        for share in TIMES
    )
    return found


def _encoder(balance: Balance, joint: str, kp: float) -> Term:
    """q is measured too large by a constant: the drive and gravity both notice."""
    law = _law_key(balance, joint)
    dof = balance.layout.joint(joint)[1]
    columns: dict[Key, list[Floats]] = {}
    for other in balance.joints:
        place = balance.layout.joint(other)[1]
        parts = [s.bodies.slope[:, place, dof][:, None] for s in balance.stretches]
        if max(float(np.abs(p).max()) for p in parts) > 1e-9:
            columns["mechanics", other] = parts
    if not kp:
        return Term("encoder_offset", _INTERFACE, (joint,), columns)
    constant = [
        balance.smooth(s, kp * s.joints[joint].free.astype(np.float64))[:, None]
        for s in balance.stretches
    ]
    if law in columns:
        constant = [a + b for a, b in zip(columns[law], constant, strict=True)]
    columns[law] = constant
    return Term("encoder_offset", _INTERFACE, (joint,), columns)


def _transmissions(balance: Balance) -> list[Term]:
    """Play and springs between a motor that is servoed and a link that is measured.

    The motor is ahead of the link by d, and all that acts on the motor acts there:

        off = -(k + K_p) d - (b + K_d) d' - J d''

    with d = T / stiffness for a spring under the torque T that goes through.
    """
    joints = tuple(j for j in balance.excited if j in balance.drives)
    found: list[Term] = []
    if not joints:
        return found
    walks = [_walk_through_play(balance, s, joints) for s in balance.stretches]
    for i, joint in enumerate(joints):
        dof = balance.layout.joint(joint)[1]
        for k, width in enumerate(PLAYS):
            ahead = [
                balance.smooth(s, walk[:, i, k])
                for s, walk in zip(balance.stretches, walks, strict=True)
            ]
            half = 0.5 * width * _find_way(balance, joint)
            reached = np.concatenate([np.abs(w[:, i, k]) for w in walks]) > 0.9 * half
            if reached.mean() < REACHED:
                continue
            term = _carry(balance, joint, "backlash", ahead)
            size = width * _find_way(balance, joint)
            found.append(replace(term, shape=(size,), shaped=1))
        twisted = [s.bodies.rigid[:, dof] for s in balance.stretches]
        found.append(_carry(balance, joint, "flexibility", twisted))
    return found


def _carry(balance: Balance, joint: str, name: str, ahead: Sequence[Floats]) -> Term:
    """What a motor that is ahead of its link by (rows,) per stretch does."""
    drive, law = balance.drives[joint], _law_key(balance, joint)
    gains = (drive.kp, drive.kd) if drive.kind == "position" else (0.0, 0.0)
    rotor, damping, spring = _read_motor(balance, joint)
    mechanics: Key = ("mechanics", joint)
    columns: dict[Key, list[Floats]] = {}
    for s, d in zip(balance.stretches, ahead, strict=True):
        rate = s.rate / max(1, int(s.keep[1] - s.keep[0]))
        first = np.gradient(d) * rate
        second = np.gradient(first) * rate
        of_law = -(gains[0] * d + gains[1] * first)
        of_motor = -(spring * d + damping * first + rotor * second)
        if law == mechanics:
            columns.setdefault(law, []).append((of_law + of_motor)[:, None])
        else:
            columns.setdefault(mechanics, []).append(of_motor[:, None])
            if gains[0]:
                columns.setdefault(law, []).append(of_law[:, None])
    return Term(name, _MISSING, (joint,), columns, low=0.0)


def _read_motor(balance: Balance, joint: str) -> tuple[float, float, float]:
    """Rotor [kg·m²], damping and spring of a joint."""
    model, dof = balance.layout.bound.model, balance.layout.joint(joint)[1]
    return (
        float(model.dof_armature[dof]),
        float(model.dof_damping[dof]),
        float(model.jnt_stiffness[model.dof_jntid[dof]]),
    )


def _find_way(balance: Balance, joint: str) -> float:
    """[rad or m] rms of a joint's motion."""
    return _rms(balance, joint, "position")


def _walk_through_play(
    balance: Balance, stretch: BalancedRun, joints: Sequence[str]
) -> Floats:
    """(rows, joints, plays) how far a motor is ahead of its link.

    Within the play nothing but its own law, rotor and damping holds the motor.
    """
    ways = np.array([_find_way(balance, joint) for joint in joints])
    half = 0.5 * ways[:, None] * np.array(PLAYS)
    motors = np.array([_read_motor(balance, joint) for joint in joints])
    drives = [balance.drives[joint] for joint in joints]
    is_servo = np.array([d.kind == "position" for d in drives])
    kp = np.array([d.kp for d in drives]) * is_servo
    kd = np.array([d.kd for d in drives]) * is_servo
    gain = np.where(is_servo, kp, [d.torque_per_command for d in drives])
    rotor = np.maximum(
        motors[:, 0],
        1e-3
        * np.array(
            [
                balance.layout.inertias[balance.layout.joint(joint)[1]]
                for joint in joints
            ]
        ),
    )
    damping, spring = motors[:, 1] + kd, motors[:, 2] + kp
    link = np.stack([stretch.joints[j].calm for j in joints], 1)[:, :, None]
    push = np.stack([stretch.joints[j].command for j in joints], 1) * gain
    push = push[:, :, None]
    period = 1 / stretch.rate
    rotor, damping, spring = (x[:, None] for x in (rotor, damping, spring))
    below = rotor + period * damping + period**2 * spring
    ahead = np.zeros((len(link), len(joints), len(PLAYS)))
    motor, speed = link[0] + 0.0 * half, np.zeros_like(half)
    for k in range(1, len(link)):
        # one implicit step of J q'' + (b + K_d) q' + (k + K_p) q = K_p c
        speed = (rotor * speed + period * (push[k] - spring * motor)) / below
        free = motor + period * speed
        motor = np.clip(free, link[k] - half, link[k] + half)
        touches = free != motor
        speed = np.where(touches, (link[k] - link[k - 1]) / period, speed)
        ahead[k] = motor - link[k]
    return ahead


def _shared(balance: Balance, terms: Sequence[Term]) -> list[Term]:
    """The same of all joints at once."""
    groups: dict[tuple[str, tuple[float, ...]], list[Term]] = {}
    for term in terms:
        if term.name == "delay":
            groups.setdefault((term.name, term.shape), []).append(term)
        elif term.name in ("kp", "kd"):
            groups.setdefault((term.name, ()), []).append(term)
    found = []
    for (name, shape), members in groups.items():
        if len(members) < 2:
            continue
        columns: dict[Key, list[Floats]] = {}
        for member in members:
            columns.update(member.columns)
        first = members[0]
        found.append(
            Term(
                name,
                first.kind,
                tuple(j for m in members for j in m.joints),
                columns,
                owner="all",
                shape=shape,
                shaped=first.shaped,
                low=first.low,
                high=first.high,
                least=first.least,
            )
        )
    return found


def _bodies(balance: Balance) -> list[Term]:
    """Masses, where they are, which way is down, and what sloshes."""
    found: list[Term] = []
    dofs = {joint: balance.layout.joint(joint)[1] for joint in balance.joints}

    def make(
        name: str,
        parts: Sequence[Sequence[Floats]],
        kind: CauseKind,
        joints: tuple[str, ...],
        **more: object,
    ) -> Term | None:
        """`parts` are (rows, dofs) per stretch and number."""
        columns = {}
        for joint, dof in dofs.items():
            table = [
                np.stack([p[k][:, dof] for p in parts], axis=1)
                for k in range(len(balance.stretches))
            ]
            if max(float(np.abs(t).max()) for t in table) > 1e-9:
                columns["mechanics", joint] = table
        if not columns:
            return None
        return Term(name, kind, joints, columns, **more)  # pyright: ignore

    stretches = balance.stretches
    names = stretches[0].bodies.names
    for b, body in enumerate(names):
        below = tuple(joints_below(body, balance.layout)[:1])
        mass = [s.bodies.by_mass(b) for s in stretches]
        mass = [-m for m in mass]
        shift = [[-s.bodies.by_shift(b, k) for s in stretches] for k in range(3)]
        found += [
            t
            for t in (
                make("mass", [mass], _PARAMETRIC, below, owner=body, low=-0.95),
                make("centre_of_mass", shift, _PARAMETRIC, below, owner=body),
                make("mass", [mass, *shift], _PARAMETRIC, below, owner=body),
            )
            if t is not None
        ]
        for tone in _find_tones(balance, b, below):
            swung = [-_slosh(s, b, tone) for s in stretches]
            term = make(
                "slosh",
                [swung],
                _MISSING,
                below,
                owner=body,
                shape=(tone,),
                shaped=1,
                low=0.0,
                high=1.0,
            )
            if term is not None:
                found.append(term)
    g = float(np.linalg.norm(stretches[0].bodies.gravity))
    if g > 0:
        tilt = [
            [-s.bodies.by_gravity(change) for s in stretches]
            for change in ((g, 0.0, 0.0), (0.0, g, 0.0))
        ]
        term = make("gravity_tilt", tilt, _PARAMETRIC, ())
        if term is not None:
            found.append(term)
    return found


def _find_tones(balance: Balance, body: int, joints: tuple[str, ...]) -> list[float]:
    """[Hz] at which an oscillator in a body would explain most, by spectra alone."""
    if not joints or ("mechanics", joints[0]) not in balance.targets:
        return []
    joint = joints[0]
    dof = balance.layout.joint(joint)[1]
    gains = np.zeros(len(TONES))
    for k, s in enumerate(balance.stretches):
        rate = s.rate / max(1, int(s.keep[1] - s.keep[0]))
        motion = s.bodies.acceleration[:, body]
        force = s.bodies.mass[body] * (motion - motion.mean(axis=0))
        asked = np.einsum("ni,ni->n", s.bodies.jacobian[:, body, :, dof], force)
        target = balance.targets["mechanics", joint][k]
        window = np.hanning(len(target))
        spectrum = np.fft.rfft(window * (target - target.mean()))
        driven = np.fft.rfft(window * asked)
        omega = 2j * np.pi * np.fft.rfftfreq(len(target), 1 / rate)
        for i, tone in enumerate(TONES):
            own = 2 * np.pi * tone
            answer = omega**2 / (omega**2 + 2 * _DAMPED * own * omega + own**2) * driven
            energy = float(np.sum(np.abs(answer) ** 2)) + 1e-18
            gains[i] += (
                max(0.0, float(np.real(np.vdot(answer, spectrum)))) ** 2 / energy
            )
    best = np.argsort(-gains)[:1].tolist()
    others = [i for i in np.argsort(-gains).tolist() if abs(i - best[0]) > 3]
    return [TONES[i] for i in (*best, *others[: TONES_KEPT - 1]) if gains[i] > 0]


def _law_key(balance: Balance, joint: str) -> Key:
    own: Key = ("drive", joint)
    return own if own in balance.targets else ("mechanics", joint)


def _read_limit(balance: Balance, joint: str) -> list[float]:
    """Where reported torques stand again and again."""
    found = [s.joints[joint].reported for s in balance.stretches]
    sizes = np.concatenate([np.abs(f) for f in found if f is not None] or [np.empty(0)])
    if not len(sizes):
        return []
    near = np.quantile(sizes, 0.999)
    return [float(np.median(sizes[sizes > 0.93 * near]))]


def _command(stretch: BalancedRun, joint: str, drive: object) -> Floats:
    one = stretch.joints[joint]
    return one.command if one.read_command is None else one.read_command


def _delayed(
    stretch: BalancedRun, joint: str, drive: object, limit: float, seconds: float
) -> Floats:
    one = stretch.joints[joint]
    # A held command, seen a moment later: the step lies between two rows.
    time, values = stretch.time, one.raw_command
    parts = []
    for at in (time - seconds - 1e-9, time - seconds + 1e-9):
        place = np.clip(np.searchsorted(time, at, side="right") - 1, 0, len(time) - 1)
        parts.append(values[place])
    command = 0.5 * (parts[0] + parts[1])
    return drive_torque(drive, command, one.position, one.velocity, limit)  # pyright: ignore


def _heat(torque: Floats, stretch: BalancedRun, share: float) -> Floats:
    """Heat of a motor since a cold start, 1 at its usual torque for long."""
    from scipy.signal import lfilter

    seconds = share * (stretch.time[-1] - stretch.time[0])
    keep = np.exp(-1 / stretch.rate / max(seconds, 1e-3))
    power = torque**2 / max(float(np.mean(torque**2)), 1e-12)
    return np.asarray(lfilter([1 - keep], [1, -keep], power), np.float64)


def _follow_dahl(position: Floats, reach: float) -> Floats:
    """-1 … 1, friction that builds up over a way and turns with it."""
    out = np.zeros(len(position))
    bristle = 0.0
    for k, step in enumerate(np.diff(position).tolist()):
        gain = np.exp(-abs(step) / reach)
        side = 1.0 if step > 0 else -1.0
        bristle = side + (bristle - side) * gain
        out[k + 1] = bristle
    return out


def _slosh(stretch: BalancedRun, body: int, tone: float) -> Floats:
    """(rows, dofs) torque [N·m] that all of a body's mass, swinging, does not take."""
    from scipy.signal import bilinear, lfilter

    rate = stretch.rate / max(1, int(stretch.keep[1] - stretch.keep[0]))
    omega = 2 * np.pi * tone
    # ÿ = -s² / (s² + 2 ζ ω s + ω²) a: what moves against the body
    b, a = bilinear([-1.0, 0.0, 0.0], [1.0, 2 * _DAMPED * omega, omega**2], fs=rate)
    motion = stretch.bodies.acceleration[:, body]
    motion = motion - motion[:1]
    against = np.asarray(lfilter(b, a, motion, axis=0), np.float64)
    force = stretch.bodies.mass[body] * against
    return np.einsum("nij,ni->nj", stretch.bodies.jacobian[:, body], force)


def _rms(balance: Balance, joint: str, what: str) -> float:
    values = np.concatenate([getattr(s.joints[joint], what) for s in balance.stretches])
    if what == "position":
        values = values - values.mean()
    return float(np.sqrt(np.mean(values**2))) + 1e-9
