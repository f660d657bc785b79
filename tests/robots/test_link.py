"""A bad network, as bad as it was asked to be."""

import time

import numpy as np
import pytest

from realworthy.robots.link import FaultyLink, LinkFaults

from .wires import Memory


def test_a_share_of_packets_is_lost_each_way():
    wire = Memory()
    link = FaultyLink(wire, LinkFaults(loss=0.2, seed=3))
    for k in range(5000):
        link.send(str(k).encode(), "there")
        wire.coming.append((str(k).encode(), "here"))
    came = 0
    while link.receive() is not None:
        came += 1
    # Four standard deviations of 5,000 draws.
    assert len(wire.sent) == pytest.approx(4000, abs=115)
    assert came == pytest.approx(4000, abs=115)


def test_jitter_delays_and_lets_packets_overtake_each_other():
    wire = Memory()
    link = FaultyLink(wire, LinkFaults(jitter=0.01, seed=3))
    begin = time.monotonic()
    wire.coming.extend((bytes([k]), "here") for k in range(100))
    order, late = [], []
    while len(order) < 100:
        found = link.receive(0.1)
        assert found is not None
        order.append(found[0][0])
        late.append(time.monotonic() - begin)
    assert order != sorted(order)
    assert sorted(order) == list(range(100))
    # The mean of |normal| is 0.8 sd; busy cores may only add to it.
    assert np.mean(late) > 0.006
    assert np.std(late) > 0.003


def test_a_good_link_changes_nothing():
    wire = Memory()
    link = FaultyLink(wire, LinkFaults())
    link.send(b"a", "there")
    wire.coming.append((b"b", "here"))
    assert wire.sent == [(b"a", "there")]
    assert link.receive(0.1) == (b"b", "here")
    assert link.receive() is None
