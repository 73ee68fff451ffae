"""Checks of the catalogs: stale, unverified, or contradicted numbers on a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import roofslate as rs
from click.testing import CliRunner
from roofslate import errors
from roofslate.cli.commands import main

if TYPE_CHECKING:
    from pathlib import Path

    from roofslate.presets.catalog import Catalog

pytestmark = pytest.mark.usefixtures("fresh_catalogs")
CATALOGS = (
    rs.models,
    rs.hardware,
    rs.prices,
    rs.loss_laws,
    rs.storage,
    rs.api_prices,
    rs.speculators,
    rs.workloads,
    rs.sites,
    rs.engines,
)
DAY = "2026-11-22"


def entry(name: str, dollars: float, start: str = "", end: str = "", more: str = "", date: str = "2026-10") -> str:
    """An entry of one series of prices."""
    limits = "".join(f'{key} = "{day}"\n' for key, day in (("valid_from", start), ("valid_until", end)) if day)
    return (
        f'[prices."{name}"]\nsources = [{{ source = "ours", date = "{date}", read = true }}]\n{more}'
        f'[prices."{name}".attributes]\nseries = "Ours"\n{limits}'
        f'[prices."{name}".values]\nchip_price = "${dollars}/h"\n'
    )


def check(path: Path, *entries: str) -> list[tuple[str, ...]]:
    """Findings of loaded prices, without the package's."""
    path.write_text("\n".join(entries), encoding="utf-8")
    loaded = [preset.name for preset in rs.load_presets(path)]
    rows = rs.prices.check(DAY)
    return list(rows[rows["preset"].isin(loaded)].itertuples(index=False, name=None))


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda catalog: catalog._section)
def test_no_contradiction_is_left_without_a_decision(catalog: Catalog) -> None:
    result = catalog.check(DAY)
    assert result.columns.tolist() == ["preset", "quantity", "finding", "value", "reason"]
    assert not (result["finding"] == "contradicted").any()
    for preset in catalog.values():
        assert all(len(conflict.decision) > 15 for conflict in preset.conflicts)


def test_unverified_numbers_are_listed_once_where_they_are_defined() -> None:
    result = rs.hardware.check(DAY)
    assert (result["finding"] == "unverified").all()
    listed = list(zip(result["preset"], result["quantity"], strict=True))
    assert ("H100 NVL", "hbm_bandwidth") in listed
    assert ("HGX H100", "chips") in listed
    assert ("HGX H100", "scale_up_domain") not in listed  # the H100's
    assert ("H100", "scale_up_domain") in listed
    assert len(set(listed)) == len(listed)


def test_unverified_numbers_are_marked_wherever_they_show() -> None:
    name = "MI355X Oracle list"
    recalled, read = rs.prices[name], rs.prices["H100 RunPod secure"]
    for shown in (repr(recalled), recalled._repr_html_(), str(rs.explain("chip_price", prices=name))):
        assert "(unverified)" in shown
        assert "checked in source" not in shown
    assert "(unverified)" not in repr(read)
    assert recalled.to_frame()["status"].tolist() == ["unverified"]
    table = rs.prices.to_frame()["unverified"]
    assert (table[name], table[read.name]) == ("chip_price", "")
    page = rs.prices._repr_html_()
    assert "<td>$8.6 / h *</td>" in page
    assert "<td>$3.99 / h *</td>" not in page
    assumed = rs.infer("GPT-5", hardware="MI355X", prices=name).assumptions
    assert str(assumed.loc["chip_price", "source"]).endswith("(unverified)")
    assert "(unverified)" in CliRunner().invoke(main, ["presets", name]).output


def test_a_conflict_without_a_decision_is_a_contradiction(tmp_path: Path) -> None:
    rival = 'conflicts = [{{ of = "chip_price", value = "$9/h", source = "theirs", date = "2026", read = false{} }}]\n'
    (result,) = check(tmp_path / "a.toml", entry("Ours", 2, more=rival.format("")))
    assert result == ("Ours", "chip_price", "contradicted", "$2 / h", "$9 / h: theirs, 2026 (unverified)")
    assert check(tmp_path / "a.toml", entry("Ours", 2, more=rival.format(', decision = "ours was paid"'))) == []


@pytest.mark.parametrize(
    ("first_end", "second_start", "contradicted"),
    [
        ("2026-05-31", "2026-06-01", False),
        ("2026-06-01", "2026-06-01", True),
        ("2026-07", "2026-06-01", True),
        ("2026-05", "2026-06", False),
        ("", "2026-06-01", True),
    ],
)
def test_entries_of_a_series_that_overlap(
    tmp_path: Path, first_end: str, second_start: str, *, contradicted: bool
) -> None:
    result = check(tmp_path / "a.toml", entry("Ours", 3, second_start), entry("Ours before", 2, "2026-01", first_end))
    assert [(row[0], row[2]) for row in result] == [("Ours before", "contradicted")] * contradicted
    assert all(row[4] == f"Ours is valid from {second_start}" for row in result)


def test_prices_grow_stale(tmp_path: Path) -> None:
    (ended,) = check(tmp_path / "a.toml", entry("Ours", 2, "2026-01-01", "2026-11-21"))
    assert ended[2:] == ("stale", "$2 / h", "ended on 2026-11-21, and no entry follows")
    assert check(tmp_path / "a.toml", entry("Ours", 2, "2026-01-01", DAY)) == []
    (old,) = check(tmp_path / "a.toml", entry("Ours", 2, date="2025-10"))
    assert old[2:] == ("stale", "$2 / h", "its source is of 2025-10")
    assert check(tmp_path / "a.toml", entry("Ours", 2, date="2025-11")) == []
    assert check(tmp_path / "a.toml", entry("Ours", 2, "2026-12-01", date="2026-12")) == []  # not yet in force


def test_the_day_is_today_unless_given() -> None:
    assert rs.prices.check().columns.tolist() == rs.prices.check(DAY).columns.tolist()
    with pytest.raises(errors.PresetError, match="expected a day such as '2026-03-01', got 'soon'"):
        rs.prices.check("soon")
