"""Chips, systems, prices, and memory tiers against a table of published figures.

What-if chips and the years of announcement.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given
from hypothesis import strategies as st
from roofslate import charts, errors
from roofslate._base import toml
from roofslate._base.toml import read_data
from roofslate.presets import catalog as catalogs
from support import REFERENCE
from support.lazy import Later, Lazy, made
from support.pictures import line

if TYPE_CHECKING:
    from collections.abc import Iterator

pyplot = Lazy("matplotlib.pyplot")

pytestmark = pytest.mark.usefixtures("fresh_catalogs")
FORMATS = ("bf16", "fp8", "fp4", "int8")


# ------------------------------------------------------------------------------------------------ published figures

# Dense peaks in TFLOP/s or TOPS (bf16, fp8, fp4, int8), memory in GB and TB/s, scale-up domain, its links a chip and
# direction in GB/s, network out in Gbit/s, power in W; - where nothing is published or known.
# NVIDIA: data sheets of A100, H100, H200, Blackwell and Blackwell Ultra; LMSYS on H800 and H20; Rubin: CES 2026.
# AMD: data sheets, CES 2026. TPUs: Pope et al. 2022, JAX scaling book, Google Cloud documentation, launch of 2026-04.
# AWS: Neuron documentation, announcements. Others: mlsysim 0.3.0, press on the announcements.
PUBLISHED = """
A100 SXM 80GB          312  -     -      624   80   2.039 8    300  200  400
H100 SXM 80GB          989  1979  -      1979  80   3.35  8    450  400  700
H200 SXM               989  1979  -      1979  141  4.8   8    450  400  700
H800 SXM 80GB          989  1979  -      1979  80   3.352 8    200  400  700
H20                    148  296   -      296   96   4.0   8    450  200  400
B100 SXM               1750 3500  7000   3500  192  8.0   8    900  400  700
B200 SXM (HGX/DGX)     2250 4500  9000   4500  180  7.7   8    900  400  1000
B300 SXM (HGX/DGX)     2250 4500  14000  150   288  8.0   8    900  800  1100
GB200 NVL72 (per GPU)  2500 5000  10000  5000  186  8.0   72   900  400  1200
GB300 NVL72 (per GPU)  2500 5000  15000  165   288  8.0   72   900  800  1400
Rubin                  4000 17500 50000  -     288  22.0  72   1800 1600 1800
Rubin Ultra            -    34700 100000 -     1024 32.0  144  5200 3200 3600
H100 PCIe              756.5 1513 -    1513 80   2.0   2    300  -    350
H100 NVL               835  1671  -      -    94   3.9   2    300  -    400
H20-3e                 148  296   -      -    141  4.8   8    450  -    400
GH200                  989  1979  -      -    96   4.0   1    450  -    1000
GH200 144GB            989  1979  -      -    144  4.9   1    450  -    1000
A100 PCIe              312  -     -      624  80   1.935 8    32   -    300
A10G                   70   -     -      140  24   0.6   -    -    -    300
L4                     121  242   -      242  24   0.3   -    32   -    72
RTX 4090               165.2 330.3 -     660.6 24  1.008 -    32   -    450
RTX 5090               209.5 419  1676   -    32   1.792 -    64   -    575
RTX PRO 6000           467.8 935.6 1871.2 -   96   1.792 8    64   -    600
MI300X                 1307 2615  -      2615  192  5.3   8    448  400  750
MI325X                 1307 2615  -      2615  256  6.0   8    448  400  1000
MI355X                 2517 5033  10066  5033  288  8.0   8    537  400  1400
MI350X                 2300 4600  9200   -     288  8.0   8    537.6 -   1000
MI455X                 10000 20000 40000 -     432  19.6  72   1800 2400 -
TPU v4                 275  -     -      275   32   1.2   4096 6*45 -    192
TPU v5e                197  -     -      394   16   0.81  256  4*50 -    -
TPU v5p                459  459   -      918   95   2.765 8960 6*100 50  -
TPU v6e (Trillium)     918  -     -      1836  32   1.6   256  4*100 100 -
TPU7x (Ironwood)       2307 4614  -      -     192  7.37  9216 6*100 100 -
TPU 8t                 -    6300  12600  -     216  6.528 9600 6*200 400 -
TPU 8i                 -    -     10100  -     288  8.601 1152 1200 -    -
Trainium2              667  1299  -      -     96   2.9   64   512  200  500
Trainium3              671  2517  2517   -     144  4.9   144  1280 400  -
Gaudi 3                1835 1835  -      -     128  3.7   8    525  600  900
Maia 200               -    5000  10000  -     216  7.0   6144 1400 -    750
Ascend 910C            780  -     -      1504  128  3.2   384  196  -    -
Groq LPU               188  -     -      750   0.24117248 80 264 240 -   215
Cerebras WSE-3         12500 -    -      -     44   21000 -    -    -    23000
"""
COLUMNS = (
    *((f"peak_flops_{form}", 1e12) for form in FORMATS),
    *(("hbm_capacity", 1e9), ("hbm_bandwidth", 1e12), ("scale_up_domain", 1.0)),
    *(("scale_up_bandwidth", 1e9), ("scale_out_bandwidth", 1e9 / 8), ("chip_power", 1.0)),
)


def published() -> Iterator[tuple[str, dict[str, float]]]:
    for row in PUBLISHED.strip().splitlines():
        *name, last = row.rsplit(maxsplit=len(COLUMNS) - 1)[0].rsplit(maxsplit=1)
        cells = [last, *row.rsplit(maxsplit=len(COLUMNS) - 1)[1:]]
        columns = zip(COLUMNS, cells, strict=True)
        # links of a torus: their number times the bandwidth of one
        numbers = {key: math.prod(map(float, cell.split("*"))) * unit for (key, unit), cell in columns if cell != "-"}
        yield name[0].strip(), numbers


PUBLISHED_NUMBERS = dict(published())


@pytest.mark.parametrize("name", PUBLISHED_NUMBERS)
def test_chips_have_the_published_figures(name: str) -> None:
    chip = rs.hardware[name.replace(" (Trillium)", "").replace(" (Ironwood)", "")]
    known = {key: chip.values[key] for key, _ in COLUMNS if key in chip.values}
    assert known == pytest.approx(PUBLISHED_NUMBERS[name], rel=1e-15)  # a text is read exactly, up to one rounding


def test_the_table_has_all_chips() -> None:
    chips = {name for name, chip in rs.hardware.items() if "chips" not in chip.values and "lecture" not in name}
    listed = {
        rs.hardware[name.replace(" (Trillium)", "").replace(" (Ironwood)", "")].name for name in PUBLISHED_NUMBERS
    }
    assert chips - listed == {"A100-40", "L40S", "Rubin training"}
    assert len(listed) == 42


def test_peaks_are_dense_and_rise_with_fewer_bits() -> None:
    for name, chip in rs.hardware.items():
        peaks = [
            chip.values[f"peak_flops_{form}"] for form in ("bf16", "fp8", "fp4") if f"peak_flops_{form}" in chip.values
        ]
        assert peaks == sorted(peaks), name
        assert peaks or "peak_flops" in chip.values, name


# ------------------------------------------------------------------------------------------------------------ systems

SYSTEMS = {
    "HGX A100": ("A100-80", 8, 8),
    "DGX H100": ("H100", 8, 8),
    "H200 x8": ("H200", 8, 8),
    "HGX H800": ("H800", 8, 8),
    "HGX H20": ("H20", 8, 8),
    "HGX B100": ("B100", 8, 8),
    "DGX B200": ("B200", 8, 8),
    "B300 x8": ("B300", 8, 8),
    "GB200 NVL72": ("GB200", 72, 72),
    "GB300 NVL72": ("GB300", 72, 72),
    "Vera Rubin NVL144": ("Rubin", 72, 72),
    "Rubin Ultra NVL576": ("Rubin Ultra", 144, 144),
    "MI300X x8": ("MI300X", 8, 8),
    "MI325X x8": ("MI325X", 8, 8),
    "MI355X platform": ("MI355X", 8, 8),
    "AMD Helios": ("MI455X", 72, 72),
    "TPU v4 cube": ("TPU v4", 64, 4096),
    "TPU v4 pod": ("TPU v4", 4096, 4096),
    "TPU v5e pod": ("TPU v5e", 256, 256),
    "TPU v5p cube": ("TPU v5p", 64, 8960),
    "TPU v5p pod": ("TPU v5p", 8960, 8960),
    "Trillium pod": ("TPU v6e", 256, 256),
    "Ironwood cube": ("TPU 7x", 64, 9216),
    "Ironwood pod": ("TPU 7x", 9216, 9216),
    "Trn2 UltraServer": ("Trainium2", 64, 64),
    "Trainium3 UltraServer": ("Trainium3", 144, 144),
    "MI350X x8": ("MI350X", 8, 8),
    "RTX PRO 6000 x8": ("RTX PRO 6000", 8, 8),
    "Gaudi 3 x8": ("Gaudi 3", 8, 8),
    "TPU 8t pod": ("TPU 8t", 9600, 9600),
    "TPU 8i pod": ("TPU 8i", 1152, 1152),
    "CloudMatrix 384": ("Ascend 910C", 384, 384),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_are_chips_and_how_many(name: str) -> None:
    system, (chip, chips, domain) = rs.hardware[name], SYSTEMS[name]
    assert (system["chips"], system["scale_up_domain"]) == (chips, domain)
    alone = dict(rs.hardware[chip].facts)
    shared = {key: fact for key, fact in system.facts.items() if key in alone and key != "scale_up_domain"}
    assert shared == {key: fact for key, fact in alone.items() if key != "scale_up_domain"}
    assert "chips" not in alone
    capacity = rs.value("replica_hbm_capacity", hardware=name)
    assert capacity == chips * alone["hbm_capacity"].value


def test_a_system_sums_up_to_its_published_totals() -> None:
    total = {name: rs.value(name, hardware="CloudMatrix 384") for name in ("replica_hbm_capacity", "chips")}
    assert total["replica_hbm_capacity"] == pytest.approx(49.2e12, rel=0.01)
    assert total["chips"] * float(rs.hardware["CloudMatrix 384"]["peak_flops_bf16"]) == pytest.approx(3e17, rel=0.01)
    assert total["chips"] * float(rs.hardware["CloudMatrix 384"]["hbm_bandwidth"]) == pytest.approx(1.229e15, rel=0.01)


VENDORS = {"NVIDIA", "AMD", "Google", "AWS", "Intel", "Microsoft", "Huawei", "Groq", "Cerebras"}


def test_every_chip_says_who_showed_it_and_when() -> None:
    for name, chip in rs.hardware.items():
        if "lecture" in name:
            continue
        assert catalogs.is_date(chip.announced), name
        assert chip.vendor in VENDORS, name
        assert str(chip.announced_by).startswith(f"{chip.vendor}, "), name


LEFT_OUT = read_data(Path(catalogs.__file__).parent / "data" / "left_out.toml")
CHIPS_READ = json.loads((REFERENCE / "chips_2026.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CHIPS_READ)
def test_every_figure_that_was_read_is_in_the_catalog_or_a_recorded_conflict(name: str) -> None:
    if name in LEFT_OUT["hardware"]:
        assert len(LEFT_OUT["hardware"][name]) > 20
        assert name not in rs.hardware
        return
    chip = rs.hardware[name]
    for quantity, figure in CHIPS_READ[name]:
        rivals = [conflict.fact for conflict in chip.conflicts if conflict.quantity == quantity and conflict.decision]
        known = [chip.facts[quantity], *rivals]
        near = [fact for fact in known if fact.value == pytest.approx(figure, rel=0.01)]
        assert any(fact.read for fact in near), (quantity, figure)


def test_recalled_figures_of_chips_are_marked() -> None:
    for name in ("H100 NVL", "RTX 4090", "MI350X", "GH200", "A10G"):
        facts = rs.hardware[name].facts.items()
        assert not any(fact.read for quantity, fact in facts if not re.search("_share|small_product", quantity))
    assert rs.hardware["TPU 8i"].unverified == ("scale_up_domain", "scale_up_bandwidth")
    assert rs.hardware["MI455X"].unverified == ()


# ----------------------------------------------------------------------------------------------------- prices, storage

# Dollars for a chip and hour, with the date; by whose name.
HOURS = {
    "H800 DeepSeek lease 2025-02": 2.0,
    "H100 Google Cloud list 2025-02": 10.8,
    "TPU v5p Google Cloud list 2025-02": 4.2,
    "TPU v5e Google Cloud list 2025-02": 1.2,
    "H200 NVIDIA TCO 2026": 1.41,
    "GB300 NVL72 NVIDIA TCO 2026": 2.65,
    "B200 InferenceX TCO 2026": 1.95,
    "H100 InferenceX TCO 2026": 1.31,
    "MI300X InferenceX TCO 2026": 1.12,
    "MI325X InferenceX TCO 2026": 1.28,
    "GB200 NVL72 InferenceX TCO 2026": 2.21,
    "B200 AWS list 2026": 113.93 / 8,
    "B300 AWS list 2026": 142.42 / 8,
    "H100 rental, low 2025": 2.0,
    "H100 rental, high 2025": 3.0,
    "A100-80 rental, low 2025": 1.1,
    "A100-80 rental, high 2025": 1.8,
}


@pytest.mark.parametrize("name", HOURS)
def test_chip_hours(name: str) -> None:
    # a list price for eight is divided and printed in cents
    assert rs.prices[name]["chip_price"] == pytest.approx(HOURS[name] / 3600, abs=0.005 / 3600)
    assert rs.prices[name] is rs.prices[name.rpartition(" ")[0]]


def test_all_prices_are_in_the_table() -> None:
    older = {name for name, price in rs.prices.items() if price.origin.endswith(("prices.toml", "lecture.toml"))}
    assert {rs.prices[name].name for name in HOURS} == older - {"lecture"}


# USD for a chip and hour by day: entries of a series follow each other.
DAYS = [
    ("H100 SemiAnalysis hyperscaler TCO", "2026-04-03", 1.3),
    ("H100 SemiAnalysis hyperscaler TCO", "2026-08-14", 1.3),
    ("H100 SemiAnalysis hyperscaler TCO", "2026-08-15", 1.17),
    ("B200 SemiAnalysis neocloud TCO", "2026-06-01", 2.34),
    ("B200 SemiAnalysis neocloud TCO", "2026-11-22", 2.07),
    ("GB300 NVL72 SemiAnalysis hyperscaler TCO", "2026-11-22", 2.31),
    ("MI300X SemiAnalysis hyperscaler TCO", "2026-11-22", 0.95),
    ("H100 one-year index", "2025-12-31", 1.7),
    ("H100 one-year index", "2026-03-01", 2.35),
    ("H100 RunPod secure", "2026-09-25", 3.49),
    ("H200 AWS p5e capacity block", "2026-02-01", 4.975),
    ("B200 CoreWeave list", "2026-11-22", 8.6),
]


@pytest.mark.parametrize(("name", "day", "dollars"), DAYS)
def test_prices_of_a_day(name: str, day: str, dollars: float) -> None:
    price = rs.prices.as_of(name, day)
    assert price["chip_price"] == pytest.approx(dollars / 3600, rel=1e-12)
    assert rs.prices[f"{name} as of {day}"] is price
    assert rs.prices.as_of(name, datetime.date.fromisoformat(day)) is price
    assert f"{name} as of {day}" in rs.prices
    assert rs.prices.as_of(price.name, "2026-11-22") is rs.prices.as_of(name, "2026-11-22")


@pytest.mark.parametrize(
    ("day", "dollars"),
    [("2026-04-24", 3.48), ("2026-05-24", 3.48), ("2026-05-25", 0.87), ("2026-08-16", 0.87), ("2026-11-22", 1.98)],
)
def test_tariffs_change_within_a_year(day: str, dollars: float) -> None:
    tariff = rs.api_prices.as_of("DeepSeek-V4 Pro", day)
    assert tariff["output_price"] == pytest.approx(dollars / 1e6, rel=1e-12)
    assert tariff.attributes.get("peak_price_factor") == (2 if dollars == 1.98 else None)
    with pytest.raises(errors.PresetError, match="'DeepSeek-V4 Pro until 2026-05-24', 2026-04-24 to 2026-05-24"):
        rs.api_prices.as_of("DeepSeek-V4 Pro", "2026-04-23")


def test_a_day_is_an_axis_of_names() -> None:
    days = ["H100 RunPod secure as of 2026-09-01", "H100 RunPod secure as of 2026-10-01", "H100 RunPod secure"]
    result = rs.evaluate("chip_price", prices=days)
    assert (result * 3600).round(12).to_numpy().tolist() == [3.29, 3.49, 3.99]
    with pytest.warns(errors.RoofslateWarning, match=r"is a price of H100 and not of hardware='B200'"):
        rs.value("replica_price", prices=days[0], hardware="B200", chips=1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("H100 RunPod secure as of 2025-01-01", "'H100 RunPod secure until 2026-09-24', 2026-08-19 to 2026-09-24"),
        ("H100 one-year index as of 2026-01-20", "'H100 one-year index until 2025-12', 2025-10 to 2025-12"),
        ("H100 one-year index as of 2026-02-20", "the nearest is 'H100 one-year index', 2026-03 or later"),
        ("H100 Google Cloud list as of 2024-06-01", "the nearest is 'H100 Google Cloud list', 2025-02 or later"),
        ("H100 RunPod secure as of May", "expected a day such as '2026-03-01', got 'May'"),
        ("H100 RunPod secure as of 2026-02-30", "expected a day such as '2026-03-01'"),
        ("H100 RunPond secure as of 2026-09-01", "did you mean 'H100 RunPod secure'"),
    ],
)
def test_days_without_a_price_name_the_nearest(name: str, message: str) -> None:
    with pytest.raises(errors.RoofslateError) as caught:
        rs.prices[name]
    assert message in str(caught.value)


def test_prices_of_a_series_follow_each_other_on_one_chip() -> None:
    series: dict[str, list[rs.Preset]] = {}
    for price in rs.prices.values():
        if "prices_2026" in price.origin:
            series.setdefault(str(price.attributes.get("series", price.name)), []).append(price)
            assert rs.hardware[str(price.hardware)].name == price.hardware
            assert str(price.name).startswith(tuple(series))
    assert sum(len(entries) > 1 for entries in series.values()) >= 22
    for name, entries in series.items():
        assert len({entry.hardware for entry in entries}) == 1
        assert sum("valid_until" not in entry.attributes for entry in entries) == (
            name.split()[-1] != "rent" or "retail" in name
        )
        ordered = sorted(entries, key=lambda entry: str(entry.valid_from))
        for earlier, later in itertools.pairwise(ordered):
            assert str(earlier.valid_until) < str(later.valid_from)


@pytest.mark.parametrize(
    ("name", "capacity", "bandwidth"),
    [
        ("HBM H100", 80e9, 3350e9),
        ("HBM HGX B200", 180e9, 7700e9),
        ("DDR5-5600", 3e12, 12 * 44.8e9),
        ("Grace", 480e9, 512e9),
        ("C2C", None, 450e9),
        ("PCIe Gen5", None, 64e9),
        ("consumer NVMe", 2e12, 7.4e9),
        ("NVMe", 7.68e12, 14e9),
        ("QLC 122 TB", 122.88e12, 14e9),
        ("HDD", 20e12, 0.285e9),
        ("S3", None, None),
        ("checkpoint file system", None, 1000e9),
    ],
)
def test_tiers_of_memory(name: str, capacity: float | None, bandwidth: float | None) -> None:
    tier = rs.storage[name]
    assert tier.values.get("tier_capacity") == capacity
    assert tier.values.get("tier_bandwidth") == bandwidth


def test_prices_of_memory_lie_in_their_ranges() -> None:
    """Dollars a GB, spread over four years."""
    ranges = {"consumer NVMe": (0.05, 0.08), "NVMe": (0.1, 0.15), "QLC": (0.08, 0.12), "HDD": (0.015, 0.02)}
    for name, (low, high) in ranges.items():
        rent = rs.value("tier_rent", {"depreciation_time": "4 yr", **rs.storage[name].values})
        assert low <= rent * 1e9 * 4 * 365.25 * 86400 <= high * 1.001, name  # a year has 365 or 365.25 days
    month = 365 * 86400 / 12
    assert rs.storage["S3"]["tier_rent"] * 1e9 * month == pytest.approx(
        0.023, rel=1e-3
    )  # a year has 365 or 365.25 days


def test_only_devices_with_a_price_are_thought_of_where_prices_are_read() -> None:
    result = rs.infer("Claude Opus 4.5")
    assert set(result.tiers.index) == {name for name, tier in rs.storage.items() if "tier_price" in tier.values}
    with pytest.raises(errors.PresetError, match="tiers: 'PCIe Gen5 x16' has no tier_capacity, expected tier_band"):
        rs.infer("Claude Opus 4.5", tiers=["HBM", "PCIe Gen5"])


def test_tariffs_of_a_day() -> None:
    opus = "Claude Opus 4.6"
    days = {
        "2026-02-04": (),
        "2026-02-05": (f"{opus} until 2026-03-12",),
        "2026-03-12": (f"{opus} until 2026-03-12",),
        "2026-03-13": (f"{opus} until 2026-08-05",),
        "2026-08-06": (opus,),
    }
    for day, names in days.items():
        for date in (day, datetime.date.fromisoformat(day), datetime.datetime.fromisoformat(day)):
            assert tuple(name for name in rs.api_prices.on(date) if opus in name) == names
    assert "DeepSeek-R1" in rs.api_prices.on("2025-09-30")
    assert "DeepSeek-R1" not in rs.api_prices.on("2025-10-01")
    assert "Claude Opus 5" not in rs.api_prices.on("2026-07-23")
    assert rs.api_prices.on("2026-07-24")["Claude Opus 5"] is rs.api_prices["Claude Opus 5"]
    for preset in rs.api_prices.values():
        assert catalogs.is_date(preset.attributes.get("valid_from", "2026"))
    for wrong in ("2026-03", "soon", 20260301, None, ""):
        with pytest.raises(errors.PresetError, match="expected a day such as '2026-03-01'"):
            rs.api_prices.on(wrong)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------ what-if chips


def test_a_chip_with_faster_memory() -> None:
    chip = rs.hardware.define("B200 fast", base="B200", hbm_bandwidth="10 TB/s")
    assert rs.value("hbm_drain_time", hardware="B200 fast") == 180e9 / 10e12
    assert rs.value("hbm_drain_time", hardware="b200-FAST") == rs.value("hbm_drain_time", hardware=chip)
    assert {**chip.values, "hbm_bandwidth": 7.7e12} == dict(rs.hardware["B200"].values)
    assert chip.facts["hbm_bandwidth"].origin == "defined in this session (checked in source)"
    assert chip.facts["hbm_capacity"] is rs.hardware["B200"].facts["hbm_capacity"]
    result = rs.evaluate("ridge_point", hardware=["B200", "B200 fast"], compute_format="fp8")
    assert float(result[0] / result[1]) == pytest.approx(10 / 7.7, rel=1e-15)  # two roundings


def test_what_is_being_read_does_not_change() -> None:
    """Another thread that goes over a catalog sees it as it was."""
    shelf = catalogs._library.shelf("hardware")
    before = dict(shelf.presets)
    rs.hardware.define("B200 fast", base="B200", hbm_bandwidth="10 TB/s")
    assert shelf.presets == before
    assert len(rs.hardware) == len(before) + 1


NUMBERS = ("peak_flops_bf16", "hbm_bandwidth", "hbm_capacity", "chip_power", "scale_up_bandwidth", "chips")


@given(st.dictionaries(st.sampled_from(NUMBERS), st.floats(1, 1e18), min_size=1))
def test_what_is_not_given_is_that_of_the_base(values: dict[str, float]) -> None:
    base = rs.hardware["H100"]
    chip = rs.hardware.define("Changed", base, **values)
    assert dict(chip.values) == {**base.values, **values}
    for name in chip.facts:
        assert (chip.facts[name] == base.facts.get(name)) == (name not in values)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"hbm_bandwidth": 0}, errors.ValueRangeError, "hbm_bandwidth must be > 0 and finite, in byte/s/chip, got 0"),
        ({"hbm_bandwidth": "inf TB/s"}, errors.RoofslateError, "hbm_bandwidth"),
        ({"scale_up_domain": 0.5}, errors.ValueRangeError, "scale_up_domain must be >= 1"),
        ({"bandwith": 1}, errors.UnknownName, "unknown quantity 'bandwith'"),
        ({"base": 5, "chips": 8}, errors.InputTypeError, "base: expected the name of a preset or a preset, got 5"),
        ({"base": "B2000", "chips": 8}, errors.UnknownName, "'B2000'; did you mean 'B200'"),
        ({"aliases": "mine", "chips": 8}, errors.InputTypeError, "aliases: expected a list of names, got 'mine'"),
        ({"aliases": [7], "chips": 8}, errors.PresetError, "7 is not a name for a preset"),
        ({"note": 3, "chips": 8}, errors.InputTypeError, "note: expected a text, got 3"),
        ({"note": "a\nb", "chips": 8}, errors.PresetError, "note: expected one line"),
        ({"source": "\x1b[2J", "chips": 8}, errors.PresetError, "source: expected one line"),
        ({"date": "May", "chips": 8}, errors.PresetError, "date: expected a date such as '2026-05', got 'May'"),
    ],
)
def test_mistakes_in_a_definition_change_nothing(arguments: dict[str, Any], error: type, message: str) -> None:
    before = dict(rs.hardware)
    with pytest.raises(error) as caught:
        rs.hardware.define("Ours", **arguments)
    assert message in str(caught.value)
    assert dict(rs.hardware) == before


@pytest.mark.parametrize("name", [5, None, "", " - ", "x" * 101, "a\x00b", "a\nb", "a\u202eb"])
def test_what_is_no_name(name: Any) -> None:
    with pytest.raises(errors.PresetError, match="is not a name for a preset"):
        rs.hardware.define(name, chips=8)
    rs.hardware.define("x" * 100, chips=8)


# -------------------------------------------------------------------------------------------------------- bad files

HEAD = '[hardware.x]\nsources = [{ source = "s", date = "2026", read = true }]\n'
VALUES = HEAD + "[hardware.x.values]\n"
HOSTILE = {
    "a million keys": (
        Later(lambda: "".join(f"{k:x}=1\n" for k in range(300_000))),
        "at most 200,000 keys and elements",
    ),
    "more bytes": ("#" * 4_000_001, "at most 4,000,000 bytes"),
    "many values": (
        Later(lambda: VALUES + "".join(f"k{k}=1\n" for k in range(50_000))),
        "line 4: unknown quantity 'k0'",
    ),
    "nested lists": ("a=" + "[" * 100_000, "nested too deeply"),
    "closed lists": ("a=" + "[" * 90_000 + "]" * 90_000, "nested too deeply"),
    "nested tables": ("a=" + "{a=" * 30_000, "nested too deeply"),
    "dotted key": ("\na" + ".a" * 20_000 + "=1", "line 2: a key of more than 8 parts"),
    "dotted quoted key": ('"a"' + '."a"' * 20_000 + "=1", "line 1: a key of more than 8 parts"),
    "dotted header": ("[a" + ".a" * 20_000 + "]", "a key of more than 8 parts"),
    "digits": (VALUES + "chips=" + "9" * 100_000, "line 4: a number or key of more than 200 characters"),
    "hexadecimal": (VALUES + "chips=0x" + "f" * 4_000, "line 4: a number or key of more than 200 characters"),
    "large number": (VALUES + "chips=1e999", "line 4: chips must be >= 1 and finite"),
    "long text": (VALUES + "chips='" + "9" * 3_000_000 + "'", "(3000002 characters)"),
    "list for a number": (VALUES + "chips=[" + "1," * 90_000 + "]", "line 4: chips: expected a number"),
    "control character": (VALUES + "chips='\x01'", "line 4: "),
    "zero byte": ("\x00", "line 1: "),
    "escaped zero": (VALUES + 'chips="8\\u0000"', "line 4: chips: cannot read"),
    "the same table": ("[a]\n" * 50_000, "line 2: Cannot declare ('a',) twice"),
    "an unterminated text": ('a="' + '\\"' * 1_000_000, "line 1: "),
    "quotes": ('"' * 3_000_000, "line 1: "),
    "single quotes": ("'" * 3_000_000, "line 1: "),
    "dots": (". " * 100_000, "a key of more than 8 parts"),
    "long name": ('[hardware."' + "x" * 1_000_000 + '"]\na=1', "(1000002 characters)"),
    "long name twice": (2 * ('[hardware."' + "x" * 100_000 + '"]\n'), "line 2: Cannot declare ('hardware', 'xxx"),
    "base of itself": (
        HEAD.replace("]\n", "]\nbase='x'\n", 1) + "[hardware.x.values]\nchips=8",
        "the base 'x' of 'x' is",
    ),
    "sources": (
        VALUES.replace("[{", "[" + "{of='chips',source='s',date='2026',read=true}," * 9_000 + "{"),
        "two sources",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_quickly(name: str, tmp_path: Path) -> None:
    text, message = HOSTILE[name]
    path = tmp_path / "bad.toml"
    path.write_text(made(text) + ("\nchips=8" if name == "sources" else ""), encoding="utf-8")
    before = dict(rs.hardware)
    start = time.perf_counter()
    with pytest.raises(errors.PresetError) as caught:
        rs.load_presets(path)
    assert time.perf_counter() - start < 10  # two seconds at most where nothing else runs
    assert message in str(caught.value)
    assert "bad.toml" in str(caught.value)
    assert len(str(caught.value)) < 500
    assert dict(rs.hardware) == before


@pytest.mark.parametrize("path", ["/dev/zero", ".", "", "no such file", "a\0b"])
def test_what_is_no_file(path: str) -> None:
    with pytest.raises(errors.PresetError, match="cannot read the preset file"):
        rs.load_presets(path)


@pytest.mark.parametrize("path", [5, None, b"x", ["x"]])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(errors.InputTypeError, match="expected the path of a file, got"):
        rs.load_presets(path)


PARTS = st.sampled_from(
    [
        *'[]{}=.,"#\\\n \t',
        "'",
        '"""',
        "'''",
        "hardware",
        "values",
        "sources",
        "base",
        "chips",
        "x",
        "8",
        "1e9",
        "nan",
        "\x00",
        "é",
        "true",
    ]
)


@given(st.lists(PARTS, max_size=60).map("".join), st.booleans())
def test_any_text_is_presets_or_the_packages_error(
    tmp_path_factory: pytest.TempPathFactory, text: str, begun: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text((VALUES if begun else "") + text, encoding="utf-8", newline="")
    try:
        rs.load_presets(path)
    except errors.PresetError as error:
        assert "any.toml" in str(error)  # noqa: PT017


@given(st.lists(st.sampled_from(['"', "'", '"""', "'''", "\\", "#", "\n", "a", "."]), max_size=40).map("".join))
def test_what_is_within_texts_is_told_from_what_is_not(inside: str) -> None:
    """Dots in a text or a comment are no parts of a key."""
    for quoted in (
        '"' + inside.replace("\\", "").replace('"', "").replace("\n", "") + '"',
        "# " + inside.replace("\n", ""),
    ):
        assert toml._TEXTS.sub("", f"k = {quoted}\n") == "k = \n"


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    """For any texts, comments, and ends of lines."""
    path = tmp_path / "ours.toml"
    text = HEAD + 'note = """[hardware.y.values]\nchips = 0"""\n# [hardware.x.values]\n[hardware.x.values]\nchips = 0\n'
    for end in ("\n", "\r\n"):
        path.write_text(text.replace('[hardware.y.values]\nchips = 0"""', 'plain"""'), encoding="utf-8", newline=end)
        with pytest.raises(errors.PresetError, match=r"ours\.toml, line 6: chips must be >= 1"):
            rs.load_presets(path)


# -------------------------------------------------------------------------------------------- C36, hardware generations


def test_generations_are_the_catalogs_figures() -> None:
    table = charts.hardware_generations.data()
    assert table["announced"].is_monotonic_increasing
    for name, row in table.iterrows():
        chip = rs.hardware[str(name)]
        assert row["peak_flops"] == chip["peak_flops_bf16"]
        assert row["hbm_bandwidth"] == chip["hbm_bandwidth"]
        assert row["hbm_capacity"] == chip["hbm_capacity"]
        assert row["balance_tokens"] == rs.value("balance_tokens", hardware=chip, weight_format="bf16")
        assert row["vendor"] == chip.vendor
        year, month = map(int, str(chip.announced).split("-"))
        assert math.floor(row["announced"]) == year
        assert math.ceil((row["announced"] - year) * 12) == month
    marks = table.attrs["marks"]
    assert marks["peak_flops_growth"] == pytest.approx(4000 / 312, rel=1e-15)
    assert marks["hbm_bandwidth_growth"] == pytest.approx(22 / 2.039, rel=1e-15)
    assert marks["hbm_capacity_growth"] == pytest.approx(288 / 80, rel=1e-15)
    assert (marks["least_balance_tokens"], marks["most_balance_tokens"]) == pytest.approx((136.94, 573.75), rel=1e-4)
    assert marks["claimed_balance_tokens"] == 300


def test_generations_draw_all_chips_and_their_records() -> None:
    table = charts.hardware_generations.data()
    panels = charts.hardware_generations().child_axes
    for panel, name in zip(panels, ("peak_flops", "hbm_bandwidth", "hbm_capacity", "balance_tokens"), strict=True):
        assert panel.get_yscale() == "log"
        for vendor, chips in table.groupby("vendor"):
            drawn = line(panel, str(vendor))
            assert drawn.get_xdata().tolist() == chips["announced"].tolist()
            assert drawn.get_ydata().tolist() == chips[name].tolist()
            assert drawn.get_linestyle() == "None"
    for panel, name in zip(panels[:3], ("peak_flops", "hbm_bandwidth", "hbm_capacity"), strict=True):
        record = line(panel, "record")
        heights = np.asarray(record.get_ydata(), dtype=float)
        assert np.all(np.diff(heights) > 0)
        assert heights[-1] == table[name].max()
        assert set(heights) == set(np.maximum.accumulate(table[name].to_numpy()))
    claim = line(panels[3], "claimed balance_tokens")
    assert set(claim.get_ydata()) == {300.0}
    newest = {chips.index[-1] for _, chips in table.groupby("vendor")}
    assert {"TPU 7x", "Trainium3", "MI355X", "Rubin"} == newest
    for panel, marked in ((panels[0], {"A100-80", "H100", "GB200", "Rubin"}), (panels[3], {"TPU v6e", "Trainium3"})):
        assert {text.get_text() for text in panel.texts} & set(rs.hardware) == marked | newest
    legend = panels[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["NVIDIA", "Google", "AWS", "AMD"]


def test_generations_of_other_chips_and_formats() -> None:
    ours = rs.hardware.define(
        "Ours", peak_flops_bf16="8 PFLOP/s", hbm_bandwidth="40 TB/s", hbm_capacity="1 TB", date="2028-02"
    )
    table = charts.hardware_generations.data(hardware=["Rubin", ours, "H100"], weight_format="fp4")
    assert table.index.tolist() == ["H100", "Rubin", "Ours"]
    assert table["announced"].tolist() == pytest.approx([2022 + 2.5 / 12, 2026 + 0.5 / 12, 2028 + 1.5 / 12])
    assert table["vendor"].tolist() == ["NVIDIA", "NVIDIA", "others"]
    assert table["peak_flops"].tolist() == [989e12, 50e15, 8e15]  # chips without fp4 work in bf16
    alone = charts.hardware_generations(hardware="H100", weight_format="bf16")
    assert alone.child_axes[0].get_xlim() == pytest.approx((2020.6, 2023.8))
    undated = rs.hardware.define("Undated", peak_flops_bf16="8 PFLOP/s", hbm_bandwidth="40 TB/s", hbm_capacity="1 TB")
    with pytest.raises(errors.PresetError, match="'Undated' has no date: give date= where it is defined"):
        charts.hardware_generations(hardware=["H100", undated], weight_format="bf16")
    with pytest.raises(errors.UnknownName, match="did you mean 'H100'"):
        charts.hardware_generations(hardware=["H101"])
    for wrong in (5, ["H100", 5], rs.models["DeepSeek-V3"]):
        with pytest.raises((errors.InputTypeError, errors.PresetError), match="hardware: "):
            charts.hardware_generations(hardware=wrong)
    for draw in (charts.hardware_generations, charts.roofline):
        with pytest.raises(errors.AxisError, match="hardware: expected at least one name"):
            draw(hardware=[], weight_format="bf16")


def test_the_chart_fits_into_axes_of_ones_own() -> None:
    figure, axes = pyplot.subplots(1, 2, figsize=(14, 6))
    assert charts.hardware_generations(axes[1]) is axes[1]
    assert len(axes[1].child_axes) == 4
    figure.canvas.draw()
