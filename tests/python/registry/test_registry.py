"""The registry as Python shows it, and the steps of adding a quantity."""

import ast
import html
import pickle
import re

import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors, units
from roofslate.registry.registry import entries
from support.evaluator import ROUTINES
from support.printed import tree_of


def test_the_table_has_one_row_a_quantity():
    table = rs.quantities()
    assert isinstance(table, pd.DataFrame)
    assert table.index.name == "quantity"
    assert list(table.index) == list(entries())
    assert table.index.is_unique
    assert list(table.columns) == [
        "theme",
        "unit",
        "brief",
        "symbol",
        "formula",
        "needs",
        "source",
        "default",
        "range",
        "fallback",
        "aliases",
    ]
    assert table.loc["pass_time", "unit"] == "s"
    assert table.loc["overlap", "default"] == "board"
    assert table.loc["pipeline_stages", "default"] == 1
    assert table.loc["microbatches", "fallback"] == "pipeline_stages"
    assert table.loc["time_per_output_token", "aliases"].startswith("TPOT, ITL, ")


def test_what_replaces_a_quantity_is_shown_with_what_keeps_it():
    running, cv = rs.quantity("running_sequences"), rs.quantity("fresh_input_cv")
    assert running.replaced_unless == ("batch_size", "pass_tokens")
    assert cv.replaced_unless == ()
    text = "loaded_running_sequences if arrival_rate or session_rate is given without batch_size or pass_tokens"
    assert text in str(running)
    assert text in running._repr_html_()
    assert "session_fresh_input_cv if turn_input_tokens is given\n" in str(cv)


def test_search_reads_names_briefs_and_symbols():
    result = rs.quantities("kv")
    assert {"kv_bytes_per_token", "kv_fetch_time"} <= set(result.index)
    assert 0 < len(result) < len(rs.quantities())
    assert "kv_bytes_per_token" in rs.quantities("KV cache per token").index
    assert "kv_bytes_per_token" in rs.quantities("CACHE").index
    assert len(rs.quantities("no such thing at all")) == 0


def test_one_entry():
    q = rs.quantity("pass_time")
    assert q.unit == "s"
    assert q.computed
    assert set(q.needs) == {"roofline_time", "pass_overhead", "launch_wait_time"}
    assert "round_time" in q.used_by
    assert q.formula.startswith("pass_time = ")
    assert q.latex.startswith(q.symbol)
    assert "pass_time" in str(q)
    assert "needs" in str(q)
    assert "<table>" in q._repr_html_()
    given = rs.quantity("batch_size")
    assert not given.computed
    assert given.formula == ""
    assert given.range_text == "> 0"
    assert "used by" in str(given)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(errors.UnknownName, match="unknown quantity 'pas_time'; did you mean 'pass_time'"):
        rs.quantity("pas_time")
    with pytest.raises(KeyError):
        rs.quantity("nothing like it")
    for wrong in (None, 3, ["pass_time"], b"pass_time"):
        with pytest.raises(errors.UnknownName, match="unknown quantity"):
            rs.quantity(wrong)


def test_entries_agree_with_one_another():
    everything = entries()
    for name, q in everything.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert set(q.needs) <= set(everything)
        assert all(name in everything[need].used_by for need in q.needs)
        assert len(set(q.needs)) == len(q.needs)
        for other in (q.fallback, q.bound):
            assert other is None or everything[other].unit == q.unit, (name, other)
        assert not (q.computed and (q.fallback or q.default is not None))
        if q.choices:
            assert len(set(q.choices)) == len(q.choices)
            assert all(
                re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", word) for word in q.choices
            )  # they are in flag_meanings
        units.convert_factor(q.unit, q.unit)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("overlap", ["range     'board' | 'serial_kv' | 'none'", "default   board"]),
        ("compute_format", ["needs     weight_format"]),
        ("compute_efficiency", ["range     > 0 and <= 1", "default   1"]),
        ("hbm_capacity", ["unit      byte/chip", "range     > 0"]),
    ],
)
def test_an_input_says_what_it_may_be_and_what_it_is_otherwise(name, rows):
    q = rs.quantity(name)
    assert set(rows) <= {line.strip() for line in str(q).splitlines()}
    page = q._repr_html_()
    for row in rows:
        key, text = row.split(maxsplit=1)
        assert f'<th scope="row">{key}</th><td>{html.escape(text)}</td>' in page


def test_each_formula_is_what_python_makes_of_its_text(whole_scenario):
    """The printed formula, read by Python, gives the value that the core gives."""
    import math

    def positions(name, x):
        return float(entries()[name].choices.index(x)) if isinstance(x, str) else x

    words = {
        "min": min,
        "max": max,
        "sqrt": math.sqrt,
        "ceil": math.ceil,
        "floor": math.floor,
        "exp": math.exp,
        "ln": math.log,
        "inf": math.inf,
    }
    for name, q in entries().items():
        if not q.computed or q.changed or q.replaced_by or any(f"{routine}(" in q.formula for routine in ROUTINES):
            continue
        needs = {need: rs.value(need, whole_scenario) for need in q.needs}
        got = positions(name, rs.value(name, whole_scenario))
        formula = compile(ast.Expression(tree_of(q.formula)), name, "eval")
        try:
            expected = float(positions(name, eval(formula, {"__builtins__": {}}, {**words, **needs})))
        except (ZeroDivisionError, OverflowError):
            continue
        if isinstance(expected, complex) or math.isnan(got):
            continue
        assert got == pytest.approx(expected, rel=1e-13, abs=0), name


def test_named_values_stand_after_their_parts():
    """A reader of a formula finds each name in a quantity or in an earlier definition."""
    named = {name: q for name, q in entries().items() if " where " in q.formula and not q.changed}
    assert named
    for name, q in named.items():
        formula = tree_of(q.formula)
        calls = {ast.unparse(node.func) for node in ast.walk(formula) if isinstance(node, ast.Call)}
        names = {node.id for node in ast.walk(formula) if isinstance(node, ast.Name)}
        assert names - calls <= {*q.needs, "inf"}, name
        defined = re.findall(r"(\w+) = ", q.formula.partition(" where ")[2])
        assert not entries().keys() & defined, name
        symbols = re.findall(r"(?:^|, \\; )(\S+) = ", q.latex.partition(r" \; \text{where} \; ")[2])
        assert len({*symbols, *(entries()[need].symbol for need in q.needs)}) == len(symbols) + len(q.needs), name


def test_a_defined_quantity_has_its_formula_outside_its_scope():
    with rs.definitions():
        rs.define("twice_the_pass", "s", lambda pass_time: 2 * pass_time, brief="two")
        rs.define("four_passes", "s", lambda twice_the_pass: 2 * twice_the_pass, brief="four")
        quantity = rs.quantity("four_passes")
    for q in (quantity, pickle.loads(pickle.dumps(quantity))):
        assert q.formula == "four_passes = 2 * twice_the_pass"
        assert "twice" in q.latex
        assert not rs.quantity("context_length").formula
