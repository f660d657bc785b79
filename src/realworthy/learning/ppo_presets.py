"""PPO's settings for each kind of task, with which it is learned untouched."""

from realworthy.learning.ppo import PpoSettings, cpu, small


def balance() -> PpoSettings:
    """A joint or two: small networks, long rollouts of few worlds."""
    return small()


def _pass_often(s: PpoSettings, *, horizon: int, std: float) -> PpoSettings:
    """Short rollouts, and many passes over what they did."""
    s.horizon, s.std = horizon, std
    s.epochs = 8
    s.kl_target = 0.02
    return s


def _at_once(s: PpoSettings, *, std: float) -> PpoSettings:
    """What an action did shows within a fraction of a second."""
    s.discount = 0.93
    s.entropy_weight = 0.0
    return _pass_often(s, horizon=16, std=std)


def swing() -> PpoSettings:
    return _pass_often(small(), horizon=32, std=0.7)


def _from_both_sides(s: PpoSettings, *, entropy: float) -> PpoSettings:
    """Left and right learn from each other, and values may move freely."""
    s.entropy_weight = entropy
    s.clip_value = False
    s.mirror_samples = True
    return s


def swing_up() -> PpoSettings:
    """A way up is found by trying much."""
    return _from_both_sides(_pass_often(small(), horizon=32, std=1.0), entropy=0.01)


def acrobot() -> PpoSettings:
    """What is learnt is a small feedback, so little is tried."""
    return _from_both_sides(_pass_often(small(), horizon=32, std=0.5), entropy=0.001)


def arm() -> PpoSettings:
    """Servos do what is far off."""
    s = PpoSettings()
    s.actor_widths = s.critic_widths = (64, 64)
    s = _at_once(s, std=0.4)
    s.kl_target = 0.03
    return s


def drive() -> PpoSettings:
    """Along a path, which is a second away."""
    s = small()
    s.horizon = 32
    s.discount = 0.97
    return s


def arrive() -> PpoSettings:
    """At a place, and every step nearer shows at once."""
    return _from_both_sides(_pass_often(drive(), horizon=32, std=0.5), entropy=0.001)


def speed() -> PpoSettings:
    """At a speed, which wheels take at once."""
    return _at_once(drive(), std=0.5)


def legged() -> PpoSettings:
    """Left and right learn from each other."""
    s = cpu()
    s.mirror_samples = True
    return s


def four_legged() -> PpoSettings:
    """Steps are cheap, and two passes over them do."""
    s = legged()
    s.epochs = 2
    return s


def legged_on_gpu() -> PpoSettings:
    s = PpoSettings()
    s.mirror_samples = True
    return s
