"""Layouts: divisions of the chips."""

import numpy as np
from roofslate.presets.layouts import legal_layouts


def test_few_chips_have_the_divisors_that_trial_finds():
    for chips in (1, 2, 72, 97, 1024, 9000):
        result = legal_layouts({"chips": [chips], "pipeline_stages": None, "attention_data_parallel": [1]}, {})
        assert sorted(set(result["pipeline_stages"].tolist())) == [n for n in range(1, chips + 1) if chips % n == 0]


def test_many_chips_take_no_memory():
    chips = 10**12
    result = legal_layouts({"chips": [chips], "pipeline_stages": None, "attention_data_parallel": [1]}, {})
    stages = np.unique(result["pipeline_stages"])
    assert len(stages) == 13 * 13
    assert (chips % stages == 0).all()
