"""Rent, own or call: owned chips, energy and carbon, break-even demand."""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import errors
from roofslate._base.toml import read_data
from roofslate.grid.read import Settled
from support import REFERENCE

with (REFERENCE / "ownership_2026.csv").open(encoding="utf-8", newline="") as file:
    PUBLISHED = list(csv.DictReader(file))
EXAMPLES: list[dict[str, Any]] = read_data(REFERENCE / "examples" / "ownership.toml")["example"]
HOUR = 3600
CHIPS = ("H100", "H200", "B200", "GB200")
SITE = "US colocation"
# Published clusters use between 0.5 and 0.8 of the hours.
USED = 0.6
SERVICE: dict[str, Any] = {
    "model": "DeepSeek-V3", "hardware": "HGX H200", "chips": 8, "tensor_parallel": 8, "weight_format": "fp8",
    "concurrency": 64, "input_tokens": 4000, "output_tokens": 500, "prefix_hit_rate": 0.5, "calibration": "serving",
}  # fmt: skip
OWNED: dict[str, Any] = {"prices": "H200 owned", "site": SITE}
LIST = {"input_price": "$0.27/Mtok", "cache_read_price": "$0.07/Mtok", "output_price": "$1.1/Mtok"}


def published(example: str) -> list[Any]:
    return [pytest.param(row, id=row["chip"]) for row in PUBLISHED if row["example"] == example]


def owned(chip: str, output: str = "chip_price", **inputs: Any) -> float:
    return rs.value(output, hardware=chip, prices=f"{chip} owned", site=SITE, **inputs)


# ------------------------------------------------------------------------------------------------ published examples


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_worked_examples_are_recomputed(example: dict[str, Any]) -> None:
    known, used = example["inputs"], example["inputs"]["chip_utilization"]
    chip_time = example["chips"] * example["days"] * 24 * HOUR

    def of(name: str) -> float:
        return rs.value(name, Settled({**known, "chips": 1}))

    energy = used * of("site_power") * chip_time
    costs = {
        "capital": of("chip_capital_cost_rate") * chip_time,
        "operation": of("chip_capital") * of("operating_cost_share") * chip_time,
        "electricity": energy * of("electricity_price"),
    }
    costs["total"] = used * of("owned_chip_price") * chip_time
    assert costs["total"] == pytest.approx(costs["capital"] + costs["operation"] + costs["electricity"], rel=1e-12)
    if "carbon" in example:
        costs["carbon"] = energy * of("carbon_intensity") / 1000
    if "rent" in example:
        costs["rent"] = used * of("chip_rent") * chip_time
        assert of("rent_break_even_utilization") == pytest.approx(example["break_even"], abs=0.005)
    for name in costs.keys() & example.keys():
        assert costs[name] == pytest.approx(example[name], rel=example.get("rtol", 1e-12)), name


@pytest.mark.parametrize("chip", CHIPS)
def test_an_hour_lies_within_the_spread_of_rents(chip: str) -> None:
    low, high = (
        next(float(row["published"]) for row in PUBLISHED if (row["example"], row["chip"]) == (f"rent {end}", chip))
        for end in ("lowest", "highest")
    )
    assert low < HOUR * owned(chip, chip_utilization=USED) < high


@pytest.mark.parametrize("chip", CHIPS)
def test_the_spread_is_that_of_the_catalog(chip: str) -> None:
    rents = [
        HOUR * preset["chip_price"]
        for preset in rs.prices.values()
        if str(preset.attributes.get("hardware", "")) == chip
        and "chip_price" in preset.values
        and "TCO" not in preset.name
    ]
    assert min(rents) < HOUR * owned(chip, chip_utilization=USED) < max(rents)


@pytest.mark.parametrize("row", published("cost of owning neocloud"))
def test_the_cost_of_owning_agrees_with_the_published(row: dict[str, str]) -> None:
    assert HOUR * owned(row["chip"]) == pytest.approx(float(row["published"]), rel=float(row["tolerance"]))


def test_the_median_of_the_cost_of_owning_is_near() -> None:
    off = [
        abs(HOUR * owned(row["chip"]) / float(row["published"]) - 1)
        for row in PUBLISHED
        if row["example"] == "cost of owning neocloud"
    ]
    assert np.median(off) < 0.07


@pytest.mark.parametrize("row", published("power of the site"))
def test_power_of_the_site(row: dict[str, str]) -> None:
    power = owned(row["chip"], "site_power", chips=1)
    assert power == pytest.approx(float(row["published"]), rel=float(row["tolerance"]))


@pytest.mark.parametrize("row", [*published("power of a system"), *published("power of a rack")])
def test_power_of_a_system(row: dict[str, str]) -> None:
    power = owned(row["chip"], "replica_power", chips=72 if "rack" in row["example"] else 8)
    assert power == pytest.approx(float(row["published"]), rel=float(row["tolerance"]))


@pytest.mark.parametrize("row", [*published("price of a server"), *published("price of a rack")])
def test_price_of_a_system(row: dict[str, str]) -> None:
    chips = 72 if "rack" in row["example"] else 8
    price = owned(row["chip"], "replica_capital_cost", chips=chips, network_capital=0)
    assert price == pytest.approx(float(row["published"]), rel=float(row["tolerance"]))


@pytest.mark.parametrize("row", published("share of HBM in the rack"))
def test_share_of_memory(row: dict[str, str]) -> None:
    share = owned(row["chip"], "hbm_share", network_capital=0)
    assert share == pytest.approx(float(row["published"]), rel=float(row["tolerance"]))


@pytest.mark.parametrize("row", published("share of the network in the capital"))
def test_share_of_the_network(row: dict[str, str]) -> None:
    network = rs.prices[f"{row['chip']} owned"]["network_capital"]
    assert network / owned(row["chip"], "chip_capital") == pytest.approx(
        float(row["published"]), rel=float(row["tolerance"])
    )


@pytest.mark.parametrize("row", published("break-even of HGX B200 against rent"))
def test_break_even_against_rent(row: dict[str, str]) -> None:
    """The rent is not published. The published share implies one within the rents of B200."""
    known = {"hardware": "B200", "prices": "B200 owned", "site": SITE}
    rent = rs.solve("chip_rent", f"rent_break_even_utilization == {row['published']}", known).item()
    assert 2.25 < HOUR * rent < 8.6
    back = rs.value("rent_break_even_utilization", known, chip_rent=rent)
    assert back == pytest.approx(float(row["published"]), rel=1e-9)


def test_the_measured_power_of_a_chip_is_a_mean_of_idle_and_busy() -> None:
    """TPU v4: 90 W idle, 192 W busy, 170 W on average."""
    busy, idle, mean = 192.0, 90.0, 170.0
    used = (mean - idle) / (busy - idle)
    draw = rs.value("site_power", replica_power=busy, idle_power_share=idle / busy, chip_utilization=used)
    assert draw * used == pytest.approx(mean, rel=1e-12)


# ----------------------------------------------------------------------------------------------------- an owned chip


def test_a_price_that_is_given_is_taken_as_before() -> None:
    given = {**SERVICE, "chip_price": "$3/h"}
    assert rs.value("cost_per_token", given, site=SITE) == rs.value("cost_per_token", given)
    assert rs.value("replica_price", chips=8, chip_price=2**-10) == 2**-7


def test_interest_is_continuous_at_nothing_and_has_a_slope_there() -> None:
    year = 365 * 24 * HOUR
    rates = np.array([0, 1e-12, 1e-6, 0.99e-3, 1.01e-3, 0.05, 0.3]) / year
    factors = rs.evaluate("annuity_factor", interest_rate=rates, depreciation_time="5 yr").to_numpy()
    assert factors[0] == 1
    assert (np.diff(factors) > 0).all()
    slope = rs.gradient("annuity_factor", interest_rate=0.0, depreciation_time="5 yr")["interest_rate"]
    assert slope == pytest.approx(3 * year, rel=1e-9)  # (n + 1) / 2 periods
    # interest reaches devices of memory tiers too
    tier = {"tier_purchase_price": 1000, "depreciation_time": "5 yr"}
    assert rs.value("tier_price", tier, interest_rate="10 %/yr") > rs.value("tier_price", tier)


def test_an_annuity_pays_the_price_back() -> None:
    year = 365 * 24 * HOUR
    owed, rate, years = 40_000.0, 0.08, 6
    part = rs.value(
        "chip_capital_cost_rate", chip_capital=owed, depreciation_time=f"{years} yr", interest_rate=rate / year
    )
    for _ in range(years):
        owed = owed * (1 + rate) - part * year
    assert owed == pytest.approx(0, abs=1e-8)


def test_cheaper_memory_reaches_the_cost_of_a_token() -> None:
    costs = [rs.value("cost_per_token", SERVICE, **OWNED, hbm_price=price) for price in ("15.1 USD/GB", "1.51 USD/GB")]
    share = rs.value("hbm_share", hardware="H200", **OWNED)
    capital = rs.value("chip_capital_cost_rate", hardware="H200", **OWNED) / owned("H200")
    assert costs[1] / costs[0] == pytest.approx(1 - 0.9 * share * capital, rel=1e-12)
    assert 0.9 < costs[1] / costs[0] < 0.92


def test_unused_hours_cost_and_idle_machines_draw_power() -> None:
    price = [owned("H100", chip_utilization=u, idle_power_share=0.3) for u in (1, 0.5)]
    fixed, electricity = (owned("H100", f"chip_{part}_cost_rate") for part in ("fixed", "electricity"))
    assert price[0] == pytest.approx(fixed + electricity, rel=1e-12)
    assert price[1] == pytest.approx(2 * fixed + 1.3 * electricity, rel=1e-12)
    energy = [rs.value("energy_per_token", SERVICE, chip_utilization=u, idle_power_share=0.3) for u in (1, 0.5)]
    assert energy[1] == pytest.approx(1.3 * energy[0], rel=1e-12)


def test_a_rent_and_an_owned_chip_stand_in_one_list() -> None:
    names = ["H200 owned", "H200 Together on demand"]
    costs = rs.evaluate("cost_per_token", SERVICE, prices=names, site=SITE)
    alone = [rs.value("cost_per_token", SERVICE, prices=name, site=SITE) for name in names]
    assert costs.to_numpy().tolist() == pytest.approx(alone, rel=1e-14)


@pytest.mark.parametrize("output", ["chip_price", "carbon_per_token", "hosted_cost_per_token"])
def test_derivatives_and_bounds(output: str) -> None:
    known = {**SERVICE, **OWNED, "monthly_demand": 3e9}
    varied = {"chip_utilization": 0.7, "interest_rate": 0.09 / (365 * 24 * HOUR), "electricity_price": 0.1 / 3.6e6}
    varied |= {"carbon_intensity": 1e-4, "idle_power_share": 0.2}
    matter = {name: x for name, x in varied.items() if name in rs.explain(output, {**known, **varied}).inputs}
    slopes = rs.gradient(output, {**known, **varied})
    for name, x in matter.items():
        low, high = (rs.value(output, {**known, **varied, name: x * (1 + d)}) for d in (-1e-5, 1e-5))
        assert slopes[name] == pytest.approx((high - low) / (2e-5 * x), rel=1e-5), name
    ranges = {name: (0.9 * x, 1.1 * x) for name, x in matter.items()}
    low, high = rs.bounds(output, {**known, **varied, **ranges})
    inside = [rs.value(output, {**known, **varied, **{n: f * x for n, x in matter.items()}}) for f in (0.9, 1, 1.1)]
    assert low <= min(inside) <= max(inside) <= high


def test_a_derivation_names_the_parts_of_the_price() -> None:
    derivation = str(rs.explain("chip_price", hardware="H100", **{**OWNED, "prices": "H100 owned"}))
    for name in ("annuity_factor", "interest_rate", "system_power", "electricity_price", "hbm_price", "CoreWeave"):
        assert name in derivation


# ----------------------------------------------------------------------------------------------------- energy, carbon


def test_tokens_of_a_megawatt_and_carbon_of_a_token() -> None:
    scenario = {**SERVICE, **OWNED}
    joules = rs.value("energy_per_token", scenario)
    assert rs.value("throughput_per_power", scenario, units="tok/s/MW") == pytest.approx(1e6 / joules, rel=1e-12)
    grams = rs.value("carbon_per_token", scenario)
    assert grams == pytest.approx(joules * 429 / 3.6e6, rel=1e-12)
    request = rs.value("carbon_per_request", scenario)
    assert request == pytest.approx(rs.value("energy_per_request", scenario) * 429 / 3.6e6, rel=1e-12)
    sites = rs.evaluate("carbon_per_token", SERVICE, prices="H200 owned", site=["Norway", "Poland"])
    assert sites.site.values.tolist() == ["Norway", "Poland"]
    assert float(sites[1] / sites[0]) == pytest.approx(82 * 1.58 / 1.06, rel=1e-12)
    assert rs.sites["Norway"].facts["carbon_intensity"].read
    assert str(rs.sites["Norway"].facts["carbon_intensity"]) == "10 gCO2/kWh"


def test_power_of_host_and_network_enters_energy() -> None:
    chips, rack = (rs.value("replica_power", hardware="GB200 NVL72", **more) for more in ({}, {"host_power": "670 W"}))
    assert (chips, rack) == (72 * 1200, 72 * 1870)


# ------------------------------------------------------------------------------------------------------------ or call


def test_hosting_breaks_even_where_the_month_costs_as_much() -> None:
    known = {**SERVICE, **OWNED, **LIST}
    even = rs.value("break_even_demand", known)
    assert math.isfinite(even)
    assert rs.value("hosted_replicas", known, monthly_demand=even) == 1
    costs = [rs.value(name, known, monthly_demand=even) for name in ("hosted_monthly_cost", "api_monthly_cost")]
    assert costs[0] == pytest.approx(costs[1], rel=1e-12)
    for condition in ("hosted_monthly_cost == api_monthly_cost", "hosted_cost_per_token <= blended_price"):
        assert rs.solve("monthly_demand", condition, known).item() == pytest.approx(even, rel=1e-9)
    used = rs.value("api_break_even_utilization", known)
    assert even == pytest.approx(used * rs.value("replica_monthly_tokens", known), rel=1e-12)


def test_cached_tokens_make_the_api_cheaper_and_so_does_the_fleet() -> None:
    shares = np.array([0.0, 0.3, 0.6, 0.9])
    known = {**SERVICE, **OWNED, **LIST, "prefix_hit_rate": shares}
    request = rs.evaluate("request_price", known).to_numpy()
    assert (np.diff(request) < 0).all()
    capacity = rs.evaluate("replica_monthly_tokens", known).to_numpy()
    assert (np.diff(capacity) > 0).all()


def test_a_fleet_that_costs_more_than_the_api_never_pays() -> None:
    dear = {**SERVICE, **LIST, "chip_price": "$300/h"}
    assert rs.value("break_even_demand", dear) == math.inf
    assert rs.value("api_break_even_utilization", dear) > 1
    # a peak that leaves replicas idle too long
    known = {**SERVICE, **OWNED, **LIST}
    peak = 1.01 / rs.value("api_break_even_utilization", known)
    assert rs.value("break_even_demand", known, peak_to_mean_load=peak) == math.inf


# -------------------------------------------------------------------------------------------------------------- errors


def test_a_missing_price_is_asked_for_by_its_name() -> None:
    with pytest.raises(errors.MissingInput, match=r"missing input 'chip_price' .* or .*'server_capital'"):
        rs.value("cost_per_token", SERVICE)
    with pytest.raises(errors.MissingInput, match="'electricity_price'"):
        rs.value("chip_price", hardware="H100", prices="H100 owned", site="France")


def test_an_owned_price_belongs_to_its_chip() -> None:
    for call in (rs.value, rs.evaluate):
        with pytest.warns(errors.RoofslateWarning, match="'H100 owned' is a price of H100 and not of hardware='B200'"):
            call("chip_price", hardware="B200", prices="H100 owned", site=SITE)


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"site": "Icland"}, errors.UnknownName, "Iceland"),
        ({"site": "H100 owned"}, errors.UnknownName, "site"),
        ({"chip_utilization": 0}, errors.ValueRangeError, "chip_utilization"),
        ({"chip_utilization": 1.2}, errors.ValueRangeError, "chip_utilization"),
        ({"idle_power_share": -0.1}, errors.ValueRangeError, "idle_power_share"),
        ({"interest_rate": "-1 %/yr"}, errors.ValueRangeError, "interest_rate"),
        ({"interest_rate": "9 %"}, errors.UnitError, "interest_rate"),
        ({"interest_rate": 0.09}, errors.ValueRangeError, "interest_rate"),  # of a second
        ({"operating_cost_share": 0.03}, errors.ValueRangeError, "operating_cost_share"),
        ({"electricity_price": "0.1 USD/kW"}, errors.UnitError, "electricity_price"),
        ({"carbon_intensity": "0.4 kg/kWh"}, errors.UnitError, "carbon_intensity"),
    ],
)
def test_bad_input_is_named(inputs: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        rs.value("chip_price", {"hardware": "H100", "prices": "H100 owned", "site": SITE, **inputs})
