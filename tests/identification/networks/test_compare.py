"""Networks against physical models, running freely on runs that neither has seen."""

from pathlib import Path

import pytest

from realworthy.errors import UnknownParameter
from realworthy.identification.networks import (
    NetworkSettings,
    PhysicalSettings,
    compare_drives,
    cut,
    fit_network,
    fit_physical,
    network_candidate,
    physical_candidate,
)

from .drives import BENCH, HIDDEN, PLAIN, TIMESTEP, record

MLP = NetworkSettings(period=0.004, history=4, epochs=60, learning_rate=5e-3)
LSTM = NetworkSettings(
    form="lstm", period=0.004, epochs=30, learning_rate=1e-2, batch=512
)


def test_the_true_drive_is_best_and_follows_to_the_row():
    runs = record(HIDDEN, 4, count=2, seconds=1.5, noise=0.0)
    candidates = {
        "truth": physical_candidate(HIDDEN, timestep=TIMESTEP),
        "plain": physical_candidate(PLAIN, timestep=TIMESTEP),
    }
    found = compare_drives(candidates, runs, BENCH, horizon=0.5)
    assert found.best == "truth"
    # pieces begin as if their first goal had been sent for long; it had not
    assert found.scores["truth"].position < 0.2 * found.scores["plain"].position
    assert set(found.scores["truth"].by_run) == {"4.0", "4.1"}
    assert found.to_words().startswith("truth")


def test_whole_runs_from_rest_are_repeated_exactly():
    runs = record(HIDDEN, 5, count=2, seconds=1.0, noise=0.0)
    truth = {"truth": physical_candidate(HIDDEN, timestep=TIMESTEP)}
    whole = runs[0].timestep * (len(runs[0].goal) - 1)
    found = compare_drives(truth, runs, BENCH, horizon=whole)
    assert found.scores["truth"].position < 1e-12


def test_a_gain_that_the_drive_lacks_is_refused():
    with pytest.raises(UnknownParameter, match=r"no parameter 'duty_gain'"):
        physical_candidate(PLAIN, gain_kind="duty_gain")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", ["mlp", "lstm"])
def test_networks_beat_the_best_drive_with_delay_running_freely(
    form: str, seed: int, tmp_path: Path
):
    """Recipe A3, two minutes of data: torque ≤ 35 %, 1 s of running freely ≤ 50 %.

    The LSTM is held to running freely alone; its torques were not that near.
    """
    pytest.importorskip("torch", reason="training needs torch")
    train, unseen = record(HIDDEN, seed, count=24), record(HIDDEN, 100 + seed, count=9)
    kinds = ["kp", "kd", "delay", "torque_limit"]
    fitted = {}
    for to in ("position", "torque"):
        settings = PhysicalSettings(
            to="torque" if to == "torque" else "position",
            timestep=0.004,
            evaluations=10,
        )
        fitted[to] = fit_physical(PLAIN, kinds, cut(train, 2.0)[::4], BENCH, settings)
    learned = fit_network(train, MLP if form == "mlp" else LSTM)
    learned.save(tmp_path / "j.drive.yaml", fitted["position"])
    found = compare_drives(
        {
            "network": network_candidate(tmp_path / "j.drive.yaml", timestep=TIMESTEP),
            "truth": physical_candidate(HIDDEN, timestep=TIMESTEP),
            **{
                f"delay, {to}": physical_candidate(drive, timestep=TIMESTEP)
                for to, drive in fitted.items()
            },
        },
        unseen,
        BENCH,
    )
    print(form, seed, found.to_words(), sep="\n")
    plain = [found.scores[f"delay, {to}"] for to in fitted]
    network = found.scores["network"]
    assert network.position <= 0.5 * min(score.position for score in plain)
    if form == "mlp":
        assert network.torque <= 0.35 * min(score.torque for score in plain)
