"""`show policy.onnx`."""

import json
from pathlib import Path

import msgspec

from realworthy.policies.contract import Spread, TrainingEvaluation
from tests.policies.actors import actor, write
from tests.policies.examples import contract

from .conftest import Run


def test_a_policy_tells_what_it_sees_and_what_its_actions_mean(
    run: Run, tmp_path: Path
):
    judged = TrainingEvaluation(
        episode_count=200,
        success=0.955,
        success_interval=(0.92, 0.98),
        mean_return=12.5,
        return_interval=(12.0, 13.0),
    )
    spread = {"knee.damping": Spread(lower=0.1, upper=0.4)}
    told = msgspec.structs.replace(contract(), evaluation=judged, envelope=spread)
    write(tmp_path / "leg.onnx", actor(), told)
    found = run("show", "leg.onnx", "--json", "leg.json")
    assert found.status == 0, found.err
    for words in (
        "leg.onnx  task leg, twin leg",
        "19 numbers in, 3 out, every 20 ms (50 Hz)",
        "success 95.5% (95 %: 92.0% … 98.0%)",
        "200 simulated episodes",
        "hip.position, knee.position, foot.position",
        "position = offset + scale · action, the action within ±1",
        "command.forward",
        "knee.damping",
        "16 of 16 examples",
    ):
        assert words in found.out, found.out
    result = json.loads((tmp_path / "leg.json").read_text())
    assert result["contract"]["task"] == "leg"
    assert result["contract"]["terms"][0]["history"] == 3


def test_a_file_that_is_no_policy_is_a_mistake(run: Run, tmp_path: Path):
    (tmp_path / "leg.onnx").write_bytes(b"")
    run("show", "leg.onnx").check_mistake("BadFile: leg.onnx: it is empty.\n")
