"""What an examination keeps is its own."""

from pathlib import Path

import numpy as np
import onnx

from realworthy.certification.examination.folder import hash_policy
from tests.certification.golden import write_drive


def test_numbers_beside_a_policy_are_part_of_it(tmp_path: Path):
    path = write_drive(tmp_path / "drive.onnx")
    model = onnx.load(path)
    beside = tmp_path / "apart.onnx"
    onnx.save(
        model,
        beside,
        save_as_external_data=True,
        location="apart.onnx.data",
        size_threshold=0,
    )
    first, data = hash_policy(beside), tmp_path / "apart.onnx.data"
    assert first == hash_policy(beside)
    numbers = np.frombuffer(data.read_bytes(), np.uint8).copy()
    numbers[0] ^= 1
    data.write_bytes(numbers.tobytes())
    assert hash_policy(beside) != first
