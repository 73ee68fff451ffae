"""No formula is repeated, neither in the registry nor in code that shows its numbers.

Themes depend one way.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from roofslate.registry.registry import ancestors, entries
from support import ROOT, printed

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADERS = ROOT / "cpp" / "roofslate"

# -------------------------------------------------------------------------------------------------- results of formulas

# Two formulas are the same if they agree wherever they are tried, whatever they look like.
POINTS = 60
OPERATORS: dict[type, Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Eq: np.equal,
    ast.And: np.logical_and,
    ast.Or: np.logical_or,
}
FUNCTIONS: dict[str, Any] = {
    "max": np.maximum,
    "min": np.minimum,
    "ceil": np.ceil,
    "floor": np.floor,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "ln": np.log,
    # any function of its numbers will do for a routine
    "acceptance_curve": lambda a, b, c: 1 + np.sqrt(a) * c / (3 + b),
    "largest_normal": lambda a: np.sqrt(1 + a) - 1 / (4 + a),
    "erlang_c": lambda a, b: np.sqrt(a) * b + 1 / (1 + a),
    "overtraining_optimum": lambda a, b: np.cbrt(a) * b + 1 / (2 + a),
    "normal_share": lambda a: np.tanh(a) + 0.1 * a,
    "normal_quantile": lambda a: np.arctan(a) - 0.2 * a,
    "arrival_wait": lambda a, b: np.cbrt(a) / b + 1 / (3 + a),
    "negative_binomial_share": lambda a, b, c: np.cbrt(a) / b + 1 / (3 + c),
    "negative_binomial_below": lambda a, b, c: np.cbrt(a) * b + 1 / (4 + c),
    "batch_loss": lambda a, b, c: np.sqrt(a) / b + 1 / (5 + c),
    "gamma_share": lambda a, b, c: np.cbrt(b) / a + 1 / (3 + c),
    "gamma_quantile": lambda a, b, c: np.cbrt(c) / b + 1 / (3 + a),
    "arrivals_after": lambda a, b: np.cbrt(a) / b + 1 / (5 + a),
    "wait_quantile": lambda a, b: np.cbrt(a) / b + 1 / (6 + a),
    "wait_below": lambda a, b: np.cbrt(a) / b + 1 / (7 + a),
    "signed_square": lambda a: a * np.abs(a) + 0.3 * a,
    "signed_root": lambda a: np.cbrt(a) + 0.3 * a,
    "session_residence": lambda a, b, c: np.sqrt(a) * b + 1 / (1 + c),
    "lognormal_share": lambda a, b: a / (1 + a + b),
    "cut_mean": lambda a, b: b / (1 + 2 * a + b),
    "cut_square": lambda a, b: b / (2 + a + b),
    "expected_longest": lambda a, b, c: np.cbrt(a) * b + 1 / (3 + c),
    "expected_longest_rest": lambda a, b, c: np.cbrt(a) + b / (3 + c),
    "zipf_distinct": lambda a, b, c: np.cbrt(a) * c / (2 + b),
    "zipf_hit_rate": lambda a, b, c: c / (1 + a + b),
}
values: dict[str, Any] = {}


def tree_of(name: str) -> ast.expr:
    text = entries()[name].formula
    if entries()[name].changed:  # the value that another quantity has elsewhere: a separate number
        return ast.Name(f"{name}_there")
    for path, word in enumerate(entries()[name].choices):  # an answer in words
        text = text.replace(repr(word), str(path))
    return printed.tree_of(text)


def value_of(name: str) -> Any:
    """Return the values of a quantity at the points, drawn by chance if it can be an input."""
    if name not in values:
        entry = entries()[name]
        chance = np.random.default_rng(zlib.crc32(name.encode()))
        if entry.computed and not entry.may_be_given:
            values[name] = value(tree_of(name))
        elif entry.choices:
            values[name] = chance.integers(0, len(entry.choices), POINTS)
        elif entry.high < 1e3:
            values[name] = chance.uniform(max(entry.low, 0), entry.high, POINTS)
        else:
            values[name] = max(entry.low, 0) + np.exp(chance.uniform(-1.5, 2.5, POINTS))
    return values[name]


def value(node: ast.expr) -> Any:
    with np.errstate(all="ignore"):
        match node:
            case ast.Constant(str(word)):
                return word
            case ast.Constant(number):
                return np.full(POINTS, float(number))  # type: ignore[arg-type]
            case ast.Name("inf"):
                return np.full(POINTS, np.inf)
            case ast.Name(name) if name.endswith("_there"):
                return np.exp(np.random.default_rng(zlib.crc32(name.encode())).uniform(-1.5, 2.5, POINTS))
            case ast.Name(name):
                return value_of(name)
            case ast.UnaryOp(_, operand):
                return -value(operand)
            case ast.BinOp(left, operator, right):
                return OPERATORS[type(operator)](value(left), value(right))
            case ast.BoolOp(operator, [first, second]):
                return OPERATORS[type(operator)](value(first), value(second))
            case ast.Call(ast.Name(function), arguments):
                return FUNCTIONS[function](*map(value, arguments))
            case ast.IfExp(test, then, otherwise):
                return np.where(value(test), value(then), value(otherwise))
            case ast.Compare(ast.Name(name), _, [ast.Constant(str(word))]):
                return value_of(name) == entries()[name].choices.index(word)
            case ast.Compare(left, [operator], [right]):
                return OPERATORS[type(operator)](value(left), value(right))
    raise TypeError(ast.dump(node))


def print_of(x: Any) -> tuple[str, ...] | None:
    """Return a fingerprint of values, None if all are equal."""
    x = np.broadcast_to(np.asarray(x, float), POINTS)
    finite = x[np.isfinite(x)]
    if len(finite) < 3 or np.ptp(finite) <= 1e-9 * np.abs(finite).max():
        return None
    return tuple(f"{number:.9e}" for number in x)


def registered() -> dict[tuple[str, ...], list[str]]:
    """Computed quantities by the fingerprint of their formulas, expanded down to inputs."""
    result: dict[tuple[str, ...], list[str]] = {}
    for name, entry in entries().items():
        if not entry.computed:
            continue
        tree = tree_of(name)
        wholes = [tree]
        if isinstance(tree, ast.IfExp):  # "never" is infinite; the rest is the formula
            wholes += [b for b, other in ((tree.body, tree.orelse), (tree.orelse, tree.body)) if is_infinite(other)]
        for expression in wholes:
            if not isinstance(expression, ast.Name) and (key := print_of(value(expression))):
                names = result.setdefault(key, [])
                names += [name] * (name not in names)
    return result


def is_infinite(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "inf"


def operands(node: ast.expr, up: type, down: type, sign: int = 1) -> list[tuple[ast.expr, int]]:
    """Factors of a product, or terms of a sum, with the power or the sign of each."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (up, down)):
        turned = -sign if isinstance(node.op, down) else sign
        return operands(node.left, up, down, sign) + operands(node.right, up, down, turned)
    return [(node, sign)]


def parts(tree: ast.expr) -> Iterator[tuple[str, Any]]:
    """Yield every intermediate result of a formula, for any order of products and sums."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.BinOp, ast.Call, ast.IfExp)):
            continue
        term = value(node)
        branches = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
            branches = node.args  # a limit that no point reaches
        if node is not tree and print_of(term) not in map(print_of, map(value, branches)):
            yield ast.unparse(node), term
        for up, down, apply, undo in (
            (ast.Mult, ast.Div, np.multiply, np.divide),
            (ast.Add, ast.Sub, np.add, np.subtract),
        ):
            among = operands(node, up, down)
            for count in range(2, len(among)):
                for chosen in itertools.combinations(among, count):
                    words = ", ".join(
                        ("" if sign > 0 else "over " if up is ast.Mult else "less ") + ast.unparse(n)
                        for n, sign in chosen
                    )
                    for turn in (1, -1):
                        total = np.full(POINTS, 1.0 if up is ast.Mult else 0.0)
                        with np.errstate(all="ignore"):
                            for n, sign in chosen:
                                total = (apply if sign == turn else undo)(total, value(n))
                        yield words, total


# ---------------------------------------------------------------------------------------------------------- registry

SAME: dict[tuple[str, ...], str] = {
    ("prompt_gap_guess", "prompt_gap_quantile"): "at the points that are tried no step is full",
    ("full_prompt_overhead_time", "prompt_overhead_time"): "at the points that are tried each prompt has its own step",
}
CONTAINED = {
    ("kv_fetch_time", "kv_fetch_time_per_sequence"): "bytes of the batch, divided once",
    ("cost_per_token", "replica_throughput"): "a product with a constant factor along an axis, no division a point",
    ("mean_queue_wait", "slot_rate"): "the wait is of one sequence, in seconds",
    ("kv_bytes_from_kink", "ridge_point"): "the lecture gives the balance of tokens, the chip behind it is not known",
    ("kv_bytes_from_kink", "hidden_kv_bytes"): "the lecture gives the balance of tokens, the chip is not known",
    ("kv_bytes_from_balance_context", "ridge_point"): "the lecture gives the balance of tokens, the chip is not known",
    ("kv_bytes_from_balance_context", "hidden_kv_bytes"): "the same: its balance of tokens, and no chip",
    ("concurrent_prefill_time", "roofline_time"): "at the points that are tried no pass waits for the host link",
    ("own_prompt_time", "prompt_work_time"): "of a prompt as long as the mean, in the formula of all lengths",
    ("replicas_for_load", "service_load"): "called by name: of the replicas only, for any prefill pool",
    ("load_of_pools", "service_load"): "the same",
    ("limit_of_pools", "service_load"): "the same",
    ("limit_of_pools", "load_limit"): "the same",
    ("share_ahead_of_pools", "prompts_ahead_share"): "called by name: for replicas that read their own prompts",
    ("time_ahead_of_pools", "prompts_ahead_time"): "the same",
    ("pool_cost_per_input_token", "cost_per_input_token"): "the same",
    ("pool_cost_per_input_token", "prefill_replica_rate"): "a bill of all replicas, over all arrivals",
    (
        "tokens_per_second_per_chip",
        "replica_time_per_request",
    ): "of costs, as prefill replicas may have another price",
    ("energy_per_request", "replica_time_per_request"): "the same",
    ("inter_token_latency_quantile", "calm_gap_quantile"): "at the points that are tried each step is full",
    ("full_prompt_overhead_time", "stage_pass_overhead"): "at the points that are tried each prompt has its own step",
    ("prompt_overhead_time", "stage_pass_overhead"): "the same",
    ("first_batch", "lone_running_ratio"): "its excess over one, and one",
    ("first_batch", "full_running_ratio"): "the same",
    ("second_batch", "first_running_ratio"): "the same",
    ("second_batch", "full_running_ratio"): "the same",
    ("second_batch", "lone_running_ratio"): "the same",
    **{
        (name, "lone_batch"): "at the points that are tried one sequence runs"
        for name in (
            *(f"{n}_batch" for n in ("second", "third", "fourth", "fifth", "sixth")),
            "running_estimate",
        )
    },
}


def test_no_two_quantities_have_the_same_formula() -> None:
    same = {tuple(names) for names in registered().values() if len(names) > 1}
    assert same == set(SAME)


def test_no_formula_contains_that_of_another_quantity() -> None:
    known = registered()
    result = {
        (name, other): text
        for name, entry in entries().items()
        if entry.computed
        for text, x in parts(tree_of(name))
        for other in known.get(print_of(x), ())  # type: ignore[arg-type]
        if other != name and name not in ancestors(other)
    }
    extra = [f"{a} contains the formula of {b}: {text}" for (a, b), text in result.items() if (a, b) not in CONTAINED]
    assert not extra, "\n".join(extra)
    assert set(CONTAINED) == set(result)


@pytest.mark.parametrize(
    ("formula", "other"),
    [
        ("hbm_capacity * chips", "replica_hbm_capacity"),
        ("deployed_weight_bytes * 2 / (stage_bandwidth + stage_bandwidth)", "latency_floor"),
        ("kv_bytes + kv_fetch_time + weight_fetch_time", "memory_time"),
        ("7 / tier_bandwidth * tier_price", "tier_retrieve_price"),
        ("2 * arrival_rate * fixed_pass_time / (1 - pass_time_per_sequence * arrival_rate)", "idle_dispatch_period"),
    ],
)
def test_formulas_are_told_whatever_they_look_like(formula: str, other: str) -> None:
    tree = ast.parse(formula, mode="eval").body
    known = registered()
    assert other in {name for x in [value(tree), *(x for _, x in parts(tree))] for name in known.get(print_of(x), ())}  # type: ignore[arg-type]


def test_themes_depend_one_way() -> None:
    text = (HEADERS / "language" / "registry.hpp").read_text(encoding="utf-8")
    themes = re.findall(
        r"THEME\((\w+)\)", text.partition("#define ROOFSLATE_THEMES(THEME)")[2].partition("namespace")[0]
    )
    tables = ["formats"]  # no theme: a table that themes take
    assert sorted([*themes, *tables]) == sorted(path.stem for path in (HEADERS / "quantities").glob("*.hpp"))
    assert list(dict.fromkeys(entry.theme for entry in entries().values())) == themes
    for position, theme in enumerate(themes):
        source = (HEADERS / "quantities" / f"{theme}.hpp").read_text(encoding="utf-8")
        included = re.findall(r'#include "roofslate/(?:quantities|language)/(\w+)\.hpp"', source)
        assert set(included) <= {*themes[:position], *tables, "quantity", "distributions", "normal"}, (
            f"{theme} takes from a theme that comes after it"
        )


# ------------------------------------------------------------------------------------------- charts, report, notebooks


@dataclass(frozen=True)
class Number:
    """A number in a program: the quantities that it comes from, and its values at the points."""

    names: frozenset[str]
    values: Any


@dataclass(frozen=True)
class Computed:
    """A computation with quantities, and those whose formula it repeats."""

    line: str
    names: frozenset[str]
    repeats: tuple[str, ...]


class Arithmetic(ast.NodeVisitor):
    """Finds results that a program computes from values of quantities that it has read."""

    READERS = frozenset({"number", "value", "evaluate", "dataset"})
    SAME_NUMBER = frozenset({"float", "abs"})

    def __init__(self, known: dict[tuple[str, ...], list[str]]) -> None:
        self.known = known
        self.variables: dict[str, Number] = {}
        self.found: list[Computed] = []

    def number(self, node: ast.expr) -> Number | None:
        match node:
            case ast.Constant(int() | float()):
                return Number(frozenset(), value(node))
            case ast.Name(name):
                return self.variables.get(name)
            case ast.Call(ast.Name(reader) | ast.Attribute(_, reader), [ast.Constant(str(name)), *_]) if (
                reader in self.READERS and name in entries()
            ):
                return Number(frozenset({name}), value_of(name))
            case ast.Call(ast.Name(function), [of]) if function in self.SAME_NUMBER:
                return self.number(of)
            case ast.Subscript(_, ast.Constant(str(name)) | ast.Tuple([*_, ast.Constant(str(name))])) if (
                name in entries()
            ):
                return Number(frozenset({name}), value_of(name))
            case ast.Subscript(of) | ast.Call(ast.Attribute(of)) | ast.Attribute(of):
                return self.number(of)
            case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
                a, b = self.number(left), self.number(right)
                if a and b:
                    with np.errstate(all="ignore"):
                        return Number(a.names | b.names, OPERATORS[type(operator)](a.values, b.values))
        return None

    def bind(self, target: ast.expr, given: ast.expr) -> None:
        match target, given:
            case ast.Name(name), _:
                self.variables.pop(name, None)
                if result := self.number(given):
                    self.variables[name] = result
            case ast.Tuple(targets), ast.Tuple(all_given):
                for one, its in zip(targets, all_given, strict=False):
                    self.bind(one, its)
            # a, b = (marks[name] for name in ("a", "b"))
            case ast.Tuple(targets), ast.GeneratorExp(_, [ast.comprehension(ast.Name(), ast.Tuple(names))]):
                for one, its in zip(targets, names, strict=False):
                    self.bind(one, ast.Subscript(ast.Name("marks"), its))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outside, self.variables = self.variables, dict(self.variables)
        self.generic_visit(node)
        self.variables = outside

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.bind(target, node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        lhs, rhs, result = self.number(node.left), self.number(node.right), self.number(node)
        if not (lhs and rhs and result and result.names):
            return
        repeats = self.known.get(print_of(result.values), ())  # type: ignore[arg-type]
        # a quantity over itself compares two cases
        if repeats or (lhs.names and rhs.names and lhs.names != rhs.names):
            self.found.append(Computed(ast.unparse(node), result.names, tuple(repeats)))


def arithmetic(text: str) -> list[Computed]:
    visitor = Arithmetic(registered())
    visitor.visit(ast.parse(text))
    return visitor.found


def sources() -> Iterator[tuple[str, str]]:
    package = ROOT / "python" / "roofslate"
    for path in [
        *sorted((package / "lecture_report").rglob("*.py")),
        *sorted((package / "plotting").glob("*.py")),
    ]:
        yield path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        lines = [line for cell in cells if cell["cell_type"] == "code" for line in ["".join(cell["source"])]]
        yield path.name, "\n".join(re.sub(r"^\s*[%!].*$", "", line, flags=re.MULTILINE) for line in lines)


# Combinations of quantities on purpose, without a quantity of this meaning.
_PRICES = "lecture_6_long_context_and_prices.ipynb"
_TRAINING = "lecture_5_training_rl_and_inference_compute.ipynb"
_QUESTIONS = "lecture_7_ciphers_reversible_networks_and_open_questions.ipynb"
_OWN = "a question of the notebook's own, derived before the reader's eyes"
_LINE = "a step as a straight line, given in the place of a model"
ALLOWED = {
    ("lecture_report/charts/service.py", "marks['load_rise'] - peak"): "the day's shape, drawn by hours",
    (
        "lecture_report/charts/service.py",
        "table['service_load'] / load",
    ): "replicas of an hour, as the chart steps them",
    (
        "lecture_report/charts/service.py",
        "table['arrival_rate'].sum() * answer",
    ): "a day's tokens, summed by hour",
    (
        "lecture_report/charts/small_batches.py",
        "read['fetched_weight_bytes'] / read['model_bytes']",
    ): "weights read, drawn on an axis of shares",
    ("lecture_report/charts/pools.py", "slope * slots"): _LINE,
    ("lecture_report/charts/pools.py", "base + slope * slots"): _LINE,
    (_TRAINING, "costs['inference_flops'] / costs['pretraining_flops']"): "two bars of one picture, compared",
    (_PRICES, "implied / stated"): "an implied and a stated price, compared",
    (_QUESTIONS, "2 * wait / work"): _OWN,
    (_QUESTIONS, "tokens * kept"): _OWN,
    (_QUESTIONS, "tokens * kept / rs.value('hbm_capacity', hardware='HGX B200')"): _OWN,
}


def test_no_number_is_computed_beside_the_registry() -> None:
    result = {(where, one.line): one for where, text in sources() for one in arithmetic(text)}
    repetitions = [
        f"{where}: {line}: {'is ' + ', '.join(one.repeats) if one.repeats else 'no quantity, nor is it allowed here'}"
        for (where, line), one in result.items()
        if one.repeats or (where, line) not in ALLOWED
    ]
    assert not repetitions, "\n".join(repetitions)
    assert set(ALLOWED) == set(result)


@pytest.mark.parametrize(
    ("program", "repeats"),
    [
        ("cost = number('replica_price') / marks['replica_throughput']", "cost_per_token"),
        (
            "a, b = (marks[k] for k in ('deployed_weight_bytes', 'stage_bandwidth'))\nprint(f'{a / b:.3g}')",
            "latency_floor",
        ),
        ("t = rs.value('batch_interval', **board)\nworst = float(t) * 2", "interval_max_latency"),
        ("x = table['compute_time'].to_numpy()\ny = x / table.loc[:, 'pass_time'].max()", "compute_utilization"),
        (
            "h = number('hbm_capacity')\ndef f():\n    n = number('chips')\n    return n * h / c(1)",
            "replica_hbm_capacity",
        ),
    ],
)
def test_arithmetic_in_programs_is_seen(program: str, repeats: str) -> None:
    (result,) = arithmetic(program)
    assert repeats in result.repeats
