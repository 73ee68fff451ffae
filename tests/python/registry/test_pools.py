"""Attention and feed-forward pools against a simulation of each micro-batch."""

import numpy as np
import pytest
import roofslate as rs


def followed(attention: float, feed_forward: float, transfer: float, count: int, layers: int) -> float:
    """Return the end of a step in which micro-batches alternate between two instances."""
    ready, free = [0.0] * count, [0.0, 0.0]
    for _ in range(layers):
        for k in range(count):
            free[0] = max(ready[k], free[0]) + attention
            free[1] = max(free[0] + transfer, free[1]) + feed_forward
            ready[k] = free[1] + transfer
    return max(ready)


def test_a_step_with_attention_apart_is_that_of_micro_batches_followed_one_by_one() -> None:
    random = np.random.default_rng(6)
    for _ in range(200):
        attention, feed_forward = (float(x) for x in random.uniform(0.5, 3, 2))
        transfer, layers, count = (float(random.uniform(0, 2)), int(random.integers(1, 30)), int(random.integers(1, 7)))
        times = {
            "attention_instance_time": attention,
            "feed_forward_instance_time": feed_forward,
            "instance_transfer_time": transfer,
        }
        step = rs.value("instance_step_time", times, layers=layers, instance_microbatches=count)
        assert step == pytest.approx(followed(attention, feed_forward, transfer, count, layers), rel=1e-12)
        enough = rs.value("instance_microbatches", times)
        slowest = max(attention, feed_forward)
        alike = rs.value("instance_step_time", times, layers=layers)
        round_trip = attention + feed_forward + 2 * transfer
        assert alike == pytest.approx(round_trip + (enough * layers - 1) * slowest, rel=1e-12)
