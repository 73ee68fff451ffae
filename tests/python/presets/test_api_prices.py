"""API prices of 2026: every list, mode, first day and last day in its reference."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import roofslate as rs
from roofslate import errors
from roofslate._base.toml import read_data
from roofslate.presets import catalog as catalogs
from support import REFERENCE

TODAY = "2026-11-22"
READ = json.loads((REFERENCE / "api_prices_2026.json").read_text(encoding="utf-8"))
LEFT_OUT = read_data(Path(catalogs.__file__).parent / "data" / "left_out.toml")["api_prices"]
EXPLAINED = {label for labels in LEFT_OUT.values() for label in labels}
WRITES = {"cache_write_1h": "long_cache_write_price", "long_cache_write": "long_context_cache_write_price"}
STEPS = ("second", "third")


def quantity_of(key: str) -> str:
    return "long_context_threshold" if key == "threshold" else WRITES.get(key, f"{key}_price")


def figures_of(tariff: rs.Preset, key: str, step: str = "") -> list[float]:
    """Return the catalog's figure in USD/Mtok or in tokens, and rejected figures."""
    quantity = quantity_of(key)
    unit = 1.0 if key == "threshold" else 1e-6
    attribute = tariff.attributes.get(f"{step}_{quantity}" if step else quantity)
    if attribute is not None:
        text = str(attribute).removeprefix("$").removesuffix("/Mtok")
        return [float(text.removesuffix("k")) * (1e3 if text.endswith("k") else 1)]
    rivals = [rival.fact.value for rival in tariff.conflicts if rival.quantity == quantity and rival.decision]
    return [float(x) / unit for x in (tariff.values.get(quantity), *rivals) if x is not None]


def factor_of(tariff: rs.Preset, mode: str, key: str) -> float:
    """Ratio of a mode's price to the standard one."""
    if mode in ("standard", "thinking"):
        return 1.0
    if mode == "fast":
        return float(tariff["price_factor"])
    factors = tariff.attributes
    reads = factors.get(f"{mode}_cache_read_price_factor") if "cache_read" in key else None
    return float(factors[f"{mode}_price_factor"] if reads is None else reads)


def days_of(start: str, end: str, *, in_force: bool) -> list[str]:
    """First and last day of a price, which ends when the next begins."""
    first = start[:10]
    if len(start) > 10:
        first = (datetime.date.fromisoformat(first) + datetime.timedelta(1)).isoformat()
    last = end[:10]
    if len(end) == 10:
        last = (datetime.date.fromisoformat(end) - datetime.timedelta(1)).isoformat()
    return list(dict.fromkeys(filter(None, (first, last, TODAY if in_force else ""))))


def lacking(tariff: rs.Preset, mode: str, figures: dict[str, Any]) -> list[str]:
    """Keys of figures that an entry does not have."""
    base = {key: x for key, x in figures.items() if key not in ("steps", "peak")}
    missing = [
        key
        for key, x in base.items()
        if (x != 0 or key == "input")
        and not any(
            x == pytest.approx(known * (1.0 if key == "threshold" else factor_of(tariff, mode, key)), rel=1e-9)
            for known in figures_of(tariff, key)
        )
    ]
    if set(missing) <= {"threshold", "long_input", "long_output", "long_cache_read"} and all(
        base.get(f"long_{key}", base[key]) == base[key] for key in ("input", "output", "cache_read") if key in base
    ):
        missing = []  # a step without another price is none
    if mode == "standard":
        for step, more in zip(STEPS, figures.get("steps", ()), strict=False):
            figures_by_key = {key: figures_of(tariff, key, step) for key in more}
            missing += [f"{step}_{key}" for key, x in more.items() if figures_by_key[key] != [pytest.approx(x)]]
        if tariff.attributes.get("peak_price_factor") != figures.get("peak"):
            missing.append("peak")
    return missing


@pytest.mark.parametrize("name", READ)
def test_every_price_that_was_read_is_in_the_catalog_or_explained(name: str) -> None:
    for mode, (start, end), in_force, figures in READ[name]:
        if f"{name}: {start or '...'} to {end or '...'}" in EXPLAINED:
            continue
        called = f"{name} thinking" if mode == "thinking" and f"{name} thinking" in rs.api_prices else name
        if mode == "thinking" and called == name:
            assert rs.api_prices[name].thinking_output_price_factor == 1
        for day in days_of(start, end, in_force=in_force):
            tariff = rs.api_prices.as_of(called, day)
            assert not lacking(tariff, mode, figures), (mode, day, tariff)
        if mode == "standard" and not end and start <= TODAY:
            assert (rs.api_prices[called].name in rs.api_prices.on(TODAY)) == in_force


def test_explanations_are_of_prices_that_were_read() -> None:
    labels = {
        f"{name}: {start or '...'} to {end or '...'}" for name, rows in READ.items() for _, (start, end), *_ in rows
    }
    assert labels >= EXPLAINED
    assert sum(len(rows) for rows in READ.values()) == 871
    assert all(len(reason) > 40 for reason in LEFT_OUT)


@pytest.mark.long
@pytest.mark.whole
def test_entries_of_the_lists_have_no_further_figures() -> None:
    """A price that nobody listed would pass the other way round."""
    known: dict[str, set[str]] = {}
    for name, rows in READ.items():
        for called in (name, f"{name} thinking"):
            tariff = rs.api_prices.get(called)
            series = tariff.attributes.get("series", tariff.name) if tariff else ""
            for _, _, _, figures in rows:
                known.setdefault(str(series), set()).update(map(quantity_of, figures))
    free = {"cache_write_time", "long_cache_write_time", "price_factor"}
    for tariff in rs.api_prices.values():
        if "api_prices_2026" in tariff.origin:
            series = str(tariff.attributes.get("series", tariff.name))
            assert tariff.values.keys() <= known[series] | free, tariff.name


def test_prices_of_a_series_follow_each_other() -> None:
    series: dict[str, list[rs.Preset]] = {}
    for tariff in rs.api_prices.values():
        if tariff.name == "lecture":
            continue
        series.setdefault(str(tariff.attributes.get("series", tariff.name)), []).append(tariff)
    for name, entries in series.items():
        assert name in [entry.name for entry in entries]  # which is the one in force, or the last
        holding = [entry.name for entry in entries if entry.name in rs.api_prices.on(TODAY)]
        assert holding in ([], [name])
        for entry in entries:
            until = str(entry.attributes.get("valid_until", ""))
            assert entry.name in (name, f"{name} until {until}", f"{name} from {entry.valid_from}")
            assert until == "" or until >= str(entry.valid_from)
    assert sum(len(entries) > 1 for entries in series.values()) > 80


def test_hosters_name_themselves_and_their_models() -> None:
    hosted = rs.api_prices["openai/gpt-oss-120b Together"]
    assert (hosted.name, hosted.vendor, hosted.model) == ("gpt-oss-120b Together", "Together", "gpt-oss-120b")
    for tariff in rs.api_prices.values():
        model = tariff.attributes.get("model")
        assert model is None or rs.models[str(model)].name == model
    assert len({tariff.vendor for tariff in rs.api_prices.values() if tariff.name != "lecture"}) == 33


def test_a_list_that_may_be_old_records_the_newer_figure() -> None:
    for host in ("Fireworks", "Baseten", "Doubleword"):
        tariff = rs.api_prices[f"DeepSeek-V4-Pro {host}"]
        assert {conflict.quantity for conflict in tariff.conflicts} == {"input_price", "output_price"}
        vendor = rs.api_prices["DeepSeek-V4 Pro"]
        assert all(conflict.fact.value == vendor[conflict.quantity] for conflict in tariff.conflicts)
        assert all("hoster" in conflict.decision for conflict in tariff.conflicts)
        assert tariff["output_price"] == rs.api_prices["DeepSeek-V4 Pro until 2026-05-24"]["output_price"]


@pytest.mark.parametrize(
    ("name", "day", "dollars"),
    [
        ("GPT-5.6 Sol", "2026-08-20", 30),
        ("GPT-5.6 Sol", "2026-08-21", 20),
        ("GPT-5.6 Luna", "2026-07-29", 6),
        ("GPT-5.6 Luna", "2026-07-30", 1.2),
        ("Gemini 3.6 Flash", "2026-12-31", 3.75),
        ("Gemini 3.6 Flash", "2027-01-01", 7.5),
        ("Gemini 4 Argon", TODAY, 10),
        ("Gemini 4 Argon", "2026-12-01", 20),
        ("mistral-large-4", "2026-10-28", 4.18),
        ("mistral-large-4-0", TODAY, 2.1),
        ("deepseek-chat", "2026-06-05", 0.28),
        ("GLM-5.3 Flash", "2026-09-09", 0.25),
    ],
)
def test_changes_of_2026(name: str, day: str, dollars: float) -> None:
    assert rs.api_prices.as_of(name, day)["output_price"] == pytest.approx(dollars / 1e6, rel=1e-12)
    if day == TODAY:
        assert rs.api_prices[name] is rs.api_prices.as_of(name, day)


def test_a_fast_mode_that_ended_divides_a_price() -> None:
    for name in ("Claude Opus 4.6", "Claude Opus 4.7"):
        assert rs.api_prices.as_of(name, "2026-08-05")["price_factor"] == 6
        assert "price_factor" not in rs.api_prices.as_of(name, "2026-08-06").values
    assert rs.api_prices["Grok 4.6 until 2026-08-15"]["price_factor"] == 2
    assert rs.api_prices["Claude Opus 4.8"].facts["price_factor"].status == "checked in source"


def test_days_without_a_list_name_the_nearest() -> None:
    with pytest.raises(errors.PresetError, match="the nearest is 'gpt-oss-120b Novita', 2026-11 or later"):
        rs.api_prices["gpt-oss-120b Novita as of 2026-10-31"]
    with pytest.raises(errors.PresetError, match=r"'Claude Opus 4\.1', 2025-05 to 2026-10-25"):
        rs.api_prices[f"Claude Opus 4.1 as of {TODAY}"]
