"""Chip-hours of 2026: every offer, index and cost of ownership on its day."""

from __future__ import annotations

import json

import pytest
import roofslate as rs
from support import REFERENCE

READ = json.loads((REFERENCE / "chip_hours_2026.json").read_text(encoding="utf-8"))
DAYS = {"2025": "2025-06-30", "2026": "2026-11-22"}  # for a source that gives a year
INDICES = ("index", "median", "fixing", "marketplace")


def label(row: list[object]) -> str:
    return " ".join(map(str, row))


@pytest.mark.parametrize("row", READ, ids=label)
def test_every_chip_hour_that_was_read_is_a_price_of_its_day(row: list[object]) -> None:
    chip, kind, provider, dollars, start = map(str, row)
    day = DAYS.get(start, start if len(start) == 10 else f"{start}-28")
    hardware = rs.hardware[chip]
    seller = provider.replace(",", "").split()[0]
    matching = [
        price
        for price in rs.prices.on(day).values()
        if price.attributes.get("hardware") in (hardware.name, *hardware.bases)
        and price.values.get("chip_price", 0.0) == pytest.approx(float(dollars) / 3600, rel=2e-5)
        and (seller in price.name or any(word in price.name or word in kind for word in INDICES))
    ]
    assert matching
    assert all(price.facts["chip_price"].read for price in matching)


def test_the_table_has_every_row() -> None:
    assert len(READ) == 165
    assert len({label(row) for row in READ}) == 165


def test_ends_of_ranges_enclose_each_other() -> None:
    for chip in ("H100", "H200", "A100-80"):
        for seller in ("hyperscaler", "neocloud", "marketplace"):
            low, high = (float(rs.prices[f"{chip} {seller} on demand, {end}"]["chip_price"]) for end in ("low", "high"))
            assert 0 < low < high
    assert rs.prices["H100 RunPod community"]["chip_price"] < rs.prices["H100 RunPod secure"]["chip_price"]
