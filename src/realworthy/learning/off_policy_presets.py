"""FastSAC's and FastTD3's settings for tasks that they were tried on."""

from realworthy.learning import fast_sac, fast_td3
from realworthy.learning.fast_sac import FastSacSettings
from realworthy.learning.fast_td3 import FastTd3Settings
from realworthy.learning.off_policy import OffPolicySettings


def _learn_often(s: OffPolicySettings) -> None:
    """From each step as often as pays: one gradient step for four of 16 worlds."""
    s.horizon, s.updates = 2, 8


def _swing_up(s: OffPolicySettings) -> None:
    """Costs of −1.2 a step at worst, for ever: −60; from both sides."""
    _learn_often(s)
    s.support = (-60.0, 5.0)
    s.mirror_samples = True


def swing_up_softly() -> FastSacSettings:
    s = FastSacSettings()
    _swing_up(s)
    return s


def swing_up_surely() -> FastTd3Settings:
    s = FastTd3Settings()
    _swing_up(s)
    return s


def _reach(s: OffPolicySettings) -> None:
    """At most 0.14 a step: 2.8 for ever at this discount."""
    _learn_often(s)
    s.discount = 0.95
    s.support = (-0.5, 3.0)


def reach_softly() -> FastSacSettings:
    s = FastSacSettings()
    _reach(s)
    return s


def reach_surely() -> FastTd3Settings:
    s = FastTd3Settings()
    _reach(s)
    return s


def _walk(s: OffPolicySettings) -> None:
    """0.05 a step at most and −1 for a fall; joints up to 0.75 rad from standing."""
    s.support = (-3.0, 3.0)
    s.mirror_samples = True
    s.action_limit = 2.5


def walk_softly() -> FastSacSettings:
    s = FastSacSettings()
    _walk(s)
    return s


def walk_surely() -> FastTd3Settings:
    s = FastTd3Settings()
    _walk(s)
    return s


def walk_softly_on_gpu() -> FastSacSettings:
    s = fast_sac.on_gpu()
    _walk(s)
    return s


def walk_surely_on_gpu() -> FastTd3Settings:
    s = fast_td3.on_gpu()
    _walk(s)
    return s
