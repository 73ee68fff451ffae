"""User-defined quantities: like built-in ones, redefined, in scopes, and in tasks."""

import asyncio
import functools
import gc
import math
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from click.testing import CliRunner
from roofslate import _core, cli, errors
from roofslate.grid.read import Settled
from roofslate.registry.registry import BUILT_IN, Registry, entries
from support.definitions import refused, scope

CELL = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "8k", "chip_price": "$3/hour"}
_scope = pytest.fixture(scope, autouse=True)


@pytest.fixture
def answer_cost():
    return rs.define(
        "answer_cost",
        "USD/sequence",
        lambda cost_per_token, output_tokens: cost_per_token * output_tokens,
        brief="price of an answer",
        symbol="c_a",
        source="our notes",
    )


# -------------------------------------------------------------------------------------------------- like a built-in one


def test_what_define_gives(answer_cost):
    assert answer_cost == rs.quantity("answer_cost") == entries()["answer_cost"]
    assert (answer_cost.theme, answer_cost.unit, answer_cost.computed) == ("defined", "USD/sequence", True)
    assert (answer_cost.symbol, answer_cost.source, answer_cost.brief) == ("c_a", "our notes", "price of an answer")
    assert answer_cost.formula == "answer_cost = cost_per_token * output_tokens"
    assert answer_cost.latex == r"c_a = c \, O"
    assert answer_cost.needs == ("cost_per_token", "output_tokens")
    assert answer_cost.range_text == "any number"
    assert "answer_cost" in rs.quantity("cost_per_token").used_by
    assert rs.quantities("price of an answer").index[0] == "answer_cost"
    assert list(entries()) == [*BUILT_IN.entries, "answer_cost"]
    assert _core.steps("answer_cost") == [
        ("quantity", "cost_per_token"),
        ("quantity", "output_tokens"),
        ("mul", 0, 1),
    ]


@pytest.mark.usefixtures("answer_cost")
def test_it_is_computed_everywhere(tmp_path):
    expected = 500 * rs.value("cost_per_token", CELL, batch_size=64)
    question = {"output_tokens": 500, **CELL}
    assert rs.value("answer_cost", question, batch_size=64) == expected
    assert rs.value("answer_cost", question, units="mUSD", batch_size=64) == pytest.approx(expected * 1e3, rel=1e-15)
    assert rs.value("answer_cost", cost_per_token=2e-6, output_tokens=500) == 0.001

    batches = [16, 64, 256]
    grid = rs.evaluate(["answer_cost", "pass_time"], question, batch_size=batches)
    assert grid.answer_cost.dims == ("batch_size",)
    assert grid.answer_cost.attrs == {"units": "USD/sequence", "long_name": "price of an answer", "basis": "floor"}
    assert float(grid.answer_cost.sel(batch_size=64)) == expected
    table = pd.DataFrame({"batch_size": batches, "output_tokens": [500, 500, 20]})
    frame = rs.frame(table, "answer_cost", CELL)["answer_cost"]
    assert frame.tolist() == [*grid.answer_cost.values[:2], 20 * rs.value("cost_per_token", CELL, batch_size=256)]

    axes = {"batch_size": np.geomspace(1, 8192, 200), **question}
    cost, where = rs.evaluate("answer_cost", axes), "answer_cost <= 1 mUSD"
    assert rs.count(where, axes) == rs.count("cost_per_token * output_tokens <= 1 mUSD", axes) > 0
    best = rs.best("answer_cost", axes, over="batch_size", where="pass_time <= 20 ms", also="answer_cost")
    assert best.batch_size == rs.best("cost_per_token", axes, over="batch_size", where="pass_time <= 20 ms").batch_size
    assert len(rs.pareto(axes, minimize=["answer_cost", "pass_time"])) > 10
    assert rs.quantiles("answer_cost", 0.5, axes) == np.quantile(cost, 0.5)
    np.testing.assert_array_equal(rs.histogram("answer_cost", axes, bins=7)["count"], np.histogram(cost, bins=7)[0])
    low, high = rs.bounds("answer_cost", cost_per_token=(1e-6, 3e-6), output_tokens=500)
    assert (low, high) == (0.0005, 0.0015)

    source = tmp_path / "rows.csv"
    table.to_csv(source, index=False)
    assert rs.sweep(source, "answer_cost", tmp_path / "out.csv", CELL, progress=False) == 3
    assert pd.read_csv(tmp_path / "out.csv")["answer_cost"].tolist() == frame.tolist()
    words = ["cost_per_token=2 USD/Mtoken", "output_tokens=500"]
    done = CliRunner().invoke(cli.main, ["evaluate", "answer_cost", *words])
    assert "0.001" in done.output, done.output
    assert "price of an answer" in CliRunner().invoke(cli.main, ["quantities", "answer_cost"]).output
    assert rs.plot(cost).get_ylabel()


@pytest.mark.usefixtures("answer_cost")
def test_a_preset_may_supply_it():
    preset = rs.prices.define("Answers at a fixed price", answer_cost="2 USD/seq")
    for prices in (preset, [preset]):
        assert rs.evaluate("answer_cost", prices=prices).item() == 2


@pytest.mark.usefixtures("answer_cost")
def test_it_may_be_supplied_and_others_rest_on_it():
    rs.define("day_cost", "USD/s", "answer_cost * 3 seq / 1 s", brief="cost of a day")
    assert rs.value("day_cost", answer_cost="2 USD/seq") == 6
    assert rs.value("day_cost", cost_per_token=1.0, output_tokens=2) == 6
    assert rs.quantity("answer_cost").used_by == ("day_cost",)
    with pytest.raises(errors.MissingInput, match=r"output_tokens'.*needed by answer_cost <- day_cost"):
        rs.value("day_cost", cost_per_token=1)
    with pytest.raises(errors.IneffectiveInput, match="'kv_heads' has no effect"):
        rs.value("day_cost", kv_heads=1, batch_size=64, output_tokens=1, **{**CELL, "model": "lecture"})
    with pytest.raises(errors.UnknownName, match="did you mean 'answer_cost'"):
        rs.value("anwser_cost")


@pytest.mark.usefixtures("answer_cost")
def test_it_explains_itself():
    text = str(rs.explain("answer_cost", cost_per_token="2 USD/Mtoken", output_tokens=500))
    assert text.startswith("answer_cost: price of an answer  [our notes]\n  = cost_per_token * output_tokens\n")
    rs.define("slower_pass", "s", lambda pass_time: rs.math.maximum(pass_time, rs.math.constant("1 s")), brief="x")
    explained = rs.explain("slower_pass", pass_time="20 ms")
    assert "1 binds, pass_time is 50 times smaller" in str(explained)
    assert explained.value == 1.0
    assert r"\mathrm{slower\_pass} &= \max\left(t, 1\right)" in explained.latex


def test_symbols_are_typeset():
    from roofslate.display.html import formula

    rs.define("a_b_c", "s", lambda pass_time: rs.math.sqrt(pass_time * pass_time) / 2, brief="x")
    assert formula(rs.quantity("a_b_c").latex, "x").width > 0


def test_a_number_may_be_a_quantity():
    rs.define("tariff", "USD/token", lambda: 3e-6, brief="our price")
    rs.define("fee", "USD", lambda: rs.math.constant("2 USD") * 3, brief="our price")
    rs.define("price", "USD/token", "3 USD/Mtoken", brief="our price")
    assert [rs.value(name) for name in ("tariff", "fee", "price")] == [3e-6, 6.0, 3e-6]
    rs.define("gain", "1", lambda tariff, cost_per_token: tariff / cost_per_token, brief="x")
    assert rs.value("gain", cost_per_token=1e-6) == 3.0
    np.testing.assert_array_equal(rs.evaluate("gain", tariff=[1.0, 4.0], cost_per_token=2), [0.5, 2])
    rs.define("zeros", "1", lambda chips: 1 / rs.math.where(chips > 0.0, -0.0, 0.0), brief="both zeros")
    assert rs.value("zeros", chips=1) == -math.inf


def test_functions_of_all_kinds():
    class Formula:
        def __call__(self, pass_time):
            return pass_time * 2

    def documented(pass_time, /, *, chips):
        """Seconds of all chips."""
        halves = [pass_time / 2] * 2
        return sum(halves) * chips

    rs.define("twice", "s", Formula(), brief="x")
    rs.define("busy_time", "s*chip", documented, brief="x")
    rs.define("wrapped", "s", functools.wraps(Formula().__call__)(lambda pass_time: pass_time * 3), brief="x")
    rs.define("unused", "s", lambda pass_time, chips: pass_time, brief="x")  # noqa: ARG005
    assert rs.value("twice", pass_time=3) == 6
    assert rs.value("busy_time", pass_time=3, chips=4) == 12
    assert rs.value("wrapped", pass_time=3) == 9
    assert rs.quantity("unused").needs == ("pass_time",)


# -------------------------------------------------------------------------------------------------------- redefinition


def double(pass_time):
    return 2 * pass_time


def test_the_same_once_more_is_no_mistake():
    first = rs.define("longer", "s", double, brief="x")
    before = entries()
    assert rs.define("longer", "s", lambda pass_time: 2 * pass_time, brief="x") == first
    assert entries() is before
    for changed in ({"brief": "y"}, {"symbol": "t_2"}, {"source": "z"}):
        refused("longer", "s", double, **{"brief": "x", **changed})


def test_another_one_needs_replace():
    rs.define("longer", "s", double, brief="x")
    message = str(refused("longer", "s", lambda pass_time: 3 * pass_time))
    assert "it is defined already, as longer = 2 * pass_time; replace=True puts this one in its place" in message
    rs.define("longest", "s", lambda longer: 10 * longer, brief="x")
    rs.define("longer", "s", lambda pass_time: 3 * pass_time, brief="y", replace=True)
    assert rs.value("longest", pass_time=1) == 30
    assert rs.quantity("longer").brief == "y"
    assert rs.quantity("longest").definitions[0].brief == "y"
    assert "a built-in quantity has this name" in str(refused("pass_time", "s", lambda chips: chips, replace=True))
    rs.define("fresh", "s", double, brief="x", replace=True)
    assert rs.value("fresh", pass_time=1) == 2


def test_who_rests_on_it_keeps_its_unit():
    rs.define("longer", "s", double, brief="x")
    rs.define("share", "1", lambda longer, pass_time: pass_time / longer, brief="x")
    error = refused("longer", "1", lambda overlap: rs.math.where(overlap == "board", 1, 2), replace=True)
    assert isinstance(error, errors.UnitError)
    assert "it was in s and would be in 1, but 'share' was made with it" in str(error)
    assert rs.value("share", pass_time=1) == 0.5
    rs.define("alone", "s", double, brief="x")
    rs.define("alone", "1", lambda: 4, brief="x", replace=True)
    assert rs.value("alone") == 4


def test_cycles_are_refused():
    rs.define("one", "s", double, brief="x")
    rs.define("two", "s", lambda one: one * 2, brief="x")
    rs.define("three", "s", lambda two, chips: two * (chips / chips), brief="x")
    message = str(refused("one", "s", lambda three: three / 2, replace=True))
    assert "it would need itself: one <- three <- two <- one" in message
    assert "it would need itself: one <- one" in str(refused("one", "s", "one / 2", replace=True))
    assert "takes the quantity itself" in str(refused("one", "s", lambda one: one / 2, replace=True))
    assert rs.value("three", pass_time=1, chips=1) == 4
    rs.define("three", "s", lambda one: one / 8, brief="x", replace=True)
    assert rs.value("three", pass_time=1) == 0.25
    rs.define("one", "s", lambda compute_time: compute_time / 2, brief="x", replace=True)
    assert [rs.value(name, compute_time=1) for name in ("one", "two", "three")] == [0.5, 1, 0.0625]


def test_what_was_remembered_is_not_used_again():
    """Redefinition and scopes reach whatever the calls keep between them."""
    question = {"batch_size": 64, "context_length": "8k", "hardware": "GB200 NVL72", "model": "lecture"}
    rs.define("looked_at", "1", lambda kv_heads: kv_heads, brief="x")
    for _ in range(2):
        assert rs.value("looked_at", question, kv_heads=7) == 7
    rs.define("looked_at", "s", lambda pass_time: pass_time, brief="x", replace=True)
    for _ in range(2):
        assert rs.value("looked_at", question) == rs.value("pass_time", question)
        with pytest.raises(errors.IneffectiveInput):
            rs.value("looked_at", question, kv_heads=7)
    with rs.definitions():
        rs.define("looked_at", "1", lambda kv_heads: kv_heads, brief="x")
        assert rs.value("looked_at", question, kv_heads=7) == 7


# --------------------------------------------------------------------------------------------------------------- scopes


def test_a_scope_ends():
    with rs.definitions():
        rs.define("local", "s", double, brief="x")
        assert rs.value("local", pass_time=1) == 2
        assert rs.count("local <= 1 s", pass_time=[0.25, 1]) == 1
    assert "local" not in entries()
    with pytest.raises(errors.UnknownName, match="unknown quantity 'local'"):
        rs.value("local", pass_time=1)
    with pytest.raises(errors.UnknownName):
        rs.count("local <= 1 s", pass_time=1)
    with pytest.raises(errors.MissingInput), rs.definitions():
        rs.value(rs.define("local", "s", double, brief="x").name)
    assert "local" not in entries()


def test_a_scope_leaves_no_registry_behind(decode):
    """Cached results of a registry end with it, or long sessions would fill the memory."""

    def registries():
        gc.collect()
        return sum(issubclass(type(x), Registry) for x in gc.get_objects())  # a dead proxy has no class

    decode = Settled(decode)
    common = Settled({name: x for name, x in decode.items() if name != "batch_size"})
    rows = pd.DataFrame({"batch_size": [1.0, 2.0]})
    small = {"model": "Llama-3.1-8B", "hardware": "H100", "chips": [1, 2], "concurrency": 8, "context_length": 1000}
    before = None
    for k in range(4):
        with rs.definitions():
            rs.define("twice", "s", "2 * pass_time", brief="twice a pass")
            rs.value("twice", decode)
            rs.evaluate(["twice", "pass_time"], Settled({**decode, "context_length": [1, 2]}))
            rs.frame(rows, "twice", common)
            rs.best("twice", Settled({**common, "batch_size": [1, 2]}), over="batch_size", where="twice <= 1 s")
            rs.solve("batch_size", "twice == 50 ms", common)
            rs.sensitivity("twice", decode)
            rs.explain("twice", decode)
            rs.deploy(small, objective="twice")
        before = registries() if k == 0 else before
    assert registries() == before


def test_scopes_in_one_another():
    rs.define("outer", "s", double, brief="x")
    with rs.definitions():
        rs.define("inner", "s", lambda outer: outer * 3, brief="x")
        with rs.definitions():
            rs.define("innermost", "s", lambda inner: inner * 5, brief="x")
            assert rs.value("innermost", pass_time=1) == 30
        assert "innermost" not in entries()
        assert rs.value("inner", pass_time=1) == 6
    assert "inner" not in entries()
    assert rs.value("outer", pass_time=1) == 2


def test_a_scope_is_used_again():
    once = rs.definitions()
    for _ in range(2):
        with once:
            assert "local" not in entries()
            rs.define("local", "s", double, brief="x")
            with once:
                assert "local" in entries()
                rs.define("within", "s", double, brief="x")
            assert "within" not in entries()
        assert "local" not in entries()


def test_a_definition_hides_one_from_outside():
    """A library and its user do not disturb each other by their definitions."""
    rs.define("margin", "USD/token", "cost_per_token * 2", brief="the user's")
    rs.define("profit", "USD", "margin * 1 Mtok", brief="the user's")
    with rs.definitions():
        rs.define("margin", "1", lambda: 0.5, brief="the library's")
        assert rs.value("margin") == 0.5
        with pytest.raises(errors.UnknownName):
            rs.value("profit", cost_per_token=1)
        assert "it is defined already" in str(refused("margin", "1", lambda: 0.7))
        rs.define("profit", "USD/token", "margin * cost_per_token", brief="the library's")
        assert rs.value("profit", cost_per_token=4) == 2
    assert rs.value("profit", cost_per_token=1) == 2e6
    with rs.definitions():
        message = str(refused("margin", "USD", "profit / 2"))
        assert "it takes 'profit', which rests on the 'margin' from outside that it would hide" in message
        rs.define("margin", "USD/token", "cost_per_token * 2", brief="the user's")
        assert "profit" in entries()


def test_a_scope_asks_what_if():
    rs.define("margin", "USD/token", "cost_per_token * 2", brief="x")
    rs.define("profit", "USD", "margin * 1 Mtok", brief="x")
    with rs.definitions():
        rs.define("margin", "USD/token", "cost_per_token * 3", brief="x", replace=True)
        assert rs.value("profit", cost_per_token=1) == 3e6
        assert "it is defined already" in str(refused("margin", "1", lambda: 0.7))
        assert "it was in USD/token and would be in 1" in str(refused("margin", "1", lambda: 0.7, replace=True))
    assert rs.value("profit", cost_per_token=1) == 2e6


def test_definitions_are_taken_into_a_scope(answer_cost):
    day_cost = rs.define("day_cost", "USD", "answer_cost * 3 seq", brief="x")
    with rs.definitions():
        rs.define("answer_cost", "s", double, brief="x")
        with rs.definitions(day_cost):
            assert rs.value("day_cost", cost_per_token=1, output_tokens=2) == 6
            assert rs.quantity("answer_cost") == answer_cost
        assert rs.value("answer_cost", pass_time=1) == 2
    for wrong in ("day_cost", rs.quantity("pass_time"), None):
        with pytest.raises(errors.InputTypeError, match=r"definitions takes quantities from rs\.define, got "):
            rs.definitions(wrong)


def test_a_scope_is_of_its_thread_and_task():
    rs.define("local", "s", double, brief="x")
    seen = []
    thread = threading.Thread(target=lambda: seen.append("local" in entries()))
    thread.start()
    thread.join()
    assert seen == [False]

    async def one(factor):
        with rs.definitions():
            rs.define("scaled", "s", lambda pass_time: factor * pass_time, brief="x")
            await asyncio.sleep(0)
            return rs.value("scaled", pass_time=1)

    async def all_of_them():
        return await asyncio.gather(*map(one, range(1, 9)))

    assert asyncio.run(all_of_them()) == list(range(1, 9))


def test_the_whole_process_sees_what_is_defined_outside_of_scopes(run_python):
    code = """
import threading
import roofslate as rs

q = rs.define("longer", "s", lambda pass_time: 2 * pass_time, brief="x")
found = []

def work(k):
    for j in range(20):
        rs.define(f"thread_{k}_{j}", "s", lambda longer: longer * k + rs.math.constant(f"{j} s"), brief="x")
        found.append(rs.value(f"thread_{k}_{j}", pass_time=1) == 2 * k + j)
        with rs.definitions():
            rs.define("local", "1", lambda: k, brief="x")
            found.append(rs.value("local") == k)

threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with rs.definitions():
    rs.define("longer", "1", lambda: 7, brief="x")
    assert rs.value("longer") == 7
made = [name for name in rs.quantities().index if name.startswith("thread_")]
print(len(found), all(found), len(made), rs.value("longer", pass_time=1))
"""
    assert run_python(code) == "320 True 160 2.0"


# ------------------------------------------------------------------------------------------------- pickles and clusters


@pytest.mark.usefixtures("answer_cost")
def test_a_pickle_carries_its_definitions(run_python):
    rs.define("other", "s", double, brief="x")
    day_cost = rs.define("day_cost", "USD", "answer_cost * 3 seq", brief="x")
    assert [d.name for d in day_cost.definitions] == ["answer_cost", "day_cost"]
    assert pickle.loads(pickle.dumps(day_cost)) == day_cost
    code = f"""
import pickle, roofslate as rs
day_cost = pickle.loads({pickle.dumps(day_cost)!r})
with rs.definitions(day_cost):
    print(rs.value("day_cost", cost_per_token=1, output_tokens=2), rs.quantity("answer_cost").symbol)
print("day_cost" in rs.quantities().index)
"""
    assert run_python(code) == "6.0 c_a\nFalse"
    result = rs.evaluate("day_cost", cost_per_token=1, output_tokens=[1.0, 2.0])
    xr.testing.assert_identical(pickle.loads(pickle.dumps(result)), result)
    assert len(pickle.dumps(rs.quantity("pass_time"))) < 1000


def lazy(scale):
    """Lazy results of quantities that are gone before they are computed, and eager ones."""
    eager = {"batch_size": xr.DataArray(np.geomspace(1, 8192, 60), dims="batch_size"), **CELL}
    cut = {**eager, "batch_size": eager["batch_size"].chunk(25)}
    with rs.definitions():
        rs.define("scaled", "s", lambda pass_time: scale * pass_time, brief="x")
        rs.define("scaled_cost", "USD", lambda scaled, replica_price: scaled * replica_price, brief="x")
        names = ["scaled_cost", "scaled", "pass_time"]
        later, now = rs.evaluate(names, cut), rs.evaluate(names, eager)
        question = {"where": "scaled <= 1 s", "also": "scaled_cost"}
        folds = [
            (rs.best("scaled_cost", axes, over="batch_size", **question), rs.count("scaled >= 20 ms", axes),
             rs.quantiles("scaled_cost", [0.1, 0.5], axes), rs.histogram("scaled", axes, bins=5)["count"])
            for axes in (cut, eager)
        ]  # fmt: skip
    return later, now, folds


def check_lazy():
    results = [lazy(scale) for scale in (2.0, 3.0)]
    rs.define("scaled", "1", lambda: 4, brief="not for tasks")
    assert results[0][0].scaled.data.name != results[1][0].scaled.data.name
    for later, now, folds in results:
        xr.testing.assert_identical(later.compute(), now)
        for result, expected in zip(*folds, strict=True):
            if isinstance(result, int):
                assert result == expected
            else:
                xr.testing.assert_identical(result, expected)
    assert float(results[0][1].scaled[0]) * 1.5 == pytest.approx(float(results[1][1].scaled[0]), rel=1e-15)


def test_tasks_carry_their_definitions():
    pytest.importorskip("dask", reason="dask is not installed: pip install 'roofslate[dask]'")
    check_lazy()


@pytest.mark.dask
@pytest.mark.slow
def test_processes_of_a_cluster_take_definitions():
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed: pip install 'roofslate[dask]'"
    )
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as processes, distributed.Client(processes) as client:
        check_lazy()
        assert "scaled" not in client.submit(rs.quantities, "scaled").result().index
