"""Addresses, and the keys that go with them."""

from pathlib import Path

import pytest

from realworthy.errors import BadFile, MissingFile, RealworthyError
from realworthy.robots.address import Address, load_key, parse_address


def test_addresses():
    assert parse_address("udp://robot.local:7000") == Address(
        "udp", "robot.local", 7000
    )
    assert parse_address("udp://[::1]:7000") == Address("udp", "::1", 7000)
    assert parse_address("sim:pendulum_1_easy") == Address("sim", "pendulum_1_easy")
    assert parse_address("sim:/a/b.reality.yaml") == Address("sim", "/a/b.reality.yaml")
    assert parse_address("zenoh:go2/left") == Address("zenoh", "go2/left")


@pytest.mark.parametrize(
    "text",
    ["", "sim:", "udp://host", "udp://host:70000", "udp:host:1", "tcp://a:1", "zenoh:"],
)
def test_what_is_none(text: str):
    with pytest.raises(RealworthyError, match="not an address"):
        parse_address(text)


def test_keys(tmp_path: Path):
    path = tmp_path / "robot.key"
    assert load_key(None) is None
    with pytest.raises(MissingFile):
        load_key(path)
    path.write_text("short\n")
    with pytest.raises(BadFile, match="5 bytes is easy to guess"):
        load_key(path)
    path.write_text("0123456789abcdef\n")
    assert load_key(path) == b"0123456789abcdef"
