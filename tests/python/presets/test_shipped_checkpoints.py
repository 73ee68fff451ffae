"""Bytes of published checkpoints, counted from a config.json and its preset."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
import roofslate as rs
from support import REFERENCE
from support.configs import CONFIG, LATE

CONFIGS = CONFIG | {entry["name"]: entry["config"] for entry in LATE}
ROWS = json.loads((REFERENCE / "shipped_checkpoints.json").read_text(encoding="utf-8"))["checkpoints"]
WITHIN = 0.015


def model_of(row: dict[str, Any]) -> rs.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.errors.PartlyRead)
        return rs.Model.from_config(
            CONFIGS[row["model"]], name="x", weight_format=row.get("weight_format"), strict=False
        )


def predicted(row: dict[str, Any], model: rs.Model) -> float:
    """Bytes of a layer for multi-token prediction, in its format or like the last layer."""
    if "prediction" not in row:
        return 0.0
    stored_bits = model.shape.formats.bits if not row["prediction"] else {}
    parts = model.shape.layers[-1].parameters
    return sum(weights * stored_bits.get(part, model.shape.formats.plain) for part, weights in parts.items()) / 8


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']}-{row.get('weight_format', 'own')}")
def test_a_shipped_checkpoint_has_its_published_size(row: dict[str, Any]) -> None:
    model = model_of(row)
    stored = model.stored_bytes() + predicted(row, model)
    assert stored == pytest.approx(row["bytes"], rel=WITHIN)
    deployed = rs.value("deployed_weight_bytes", model=model) + predicted(row, model)
    assert deployed == pytest.approx(stored, rel=1e-3)
    assert rs.value("model_bytes", model=model) + predicted(row, model) == pytest.approx(stored, rel=1e-3)


def test_fifteen_checkpoints_at_least_are_checked() -> None:
    assert len(ROWS) >= 15
    assert sum(row["read"] for row in ROWS) >= 12
    for row in ROWS:
        assert row["source"]
        assert row["date"]
