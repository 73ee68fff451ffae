"""Derivatives of a service under load against sixth-order differences."""

from __future__ import annotations

import numpy as np
import pytest
import roofslate as rs

WEIGHTS = np.array([-1, 9, -45, 45, -9, 1]) / 60
PLACES = np.array([-3, -2, -1, 1, 2, 3])
STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)  # kinks are near some points, noise near others: the nearest counts
QUANTITIES = (
    "running_sequences",
    "time_per_output_token",
    "time_to_first_token_p99",
    "time_per_output_token_p99",
    "inter_token_latency_p99",
)


def services():
    random = np.random.default_rng(5)
    for model in ("DeepSeek-V3", "Llama 3.1 70B", "Qwen3-235B-A22B"):
        for _ in range(2):
            service = {
                "model": model,
                "hardware": str(random.choice(["HGX H200", "HGX B200"])),
                "chips": 8,
                "input_tokens": float(np.exp(random.uniform(6, 9))),
                "output_tokens": float(np.exp(random.uniform(4, 7))),
                "input_cv": float(random.choice([0.5, 1])),
                "output_cv": float(random.choice([0.5, 0.8])),
                "arrival_cv": float(random.choice([1, 1.5])),
                "calibration": "serving",
            }
            most = rs.solve("arrival_rate", "service_load == 0.85", service).item()
            yield {**service, "arrival_rate": most * random.uniform(0.25, 0.95)}


@pytest.mark.parametrize("name", QUANTITIES)
def test_slopes_by_the_rate_are_those_of_differences(name: str) -> None:
    for service in services():
        rate = service["arrival_rate"]
        result = float(rs.gradient(name, service, to="arrival_rate")["arrival_rate"])
        off = []
        for step in STEPS:
            values = rs.evaluate(name, {**service, "arrival_rate": rate * (1 + step * PLACES)}).to_numpy()
            off.append(abs(WEIGHTS @ values / (rate * step) / result - 1))
        assert min(off) < 1e-6, (service, off)
