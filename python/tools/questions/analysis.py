"""Questions to `solve`, `crossovers`, derivatives, `tornado`, `explain`, `compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from questions.draw import (
    CATALOGS,
    Call,
    Chance,
    Scenario,
    all_presets,
    as_axis,
    as_code,
    as_condition,
    computed,
    names,
    number,
    quantity,
    reached,
    typical,
    varied,
)
from questions.grids import CALIBRATED, SERVING, some_outputs, units_of

__all__ = ["CALLS"]


def one_output(chance: Chance, share: float = 0.3) -> str:
    names = SERVING if chance.yes(share) else computed()
    return str(chance.choice([name for name in names if not quantity(name).choices or chance.yes(0.2)]))


def solve(chance: Chance) -> str:
    name = one_output(chance)
    scenario = Scenario(chance, [name])
    codes = scenario.codes(axes=chance.choice([0, 0, 1, 2]))
    free = [n for n in reached((name,)) if not quantity(n).computed and not quantity(n).choices]
    unknown = chance.choice(scenario.numbers or free or ["batch_size"])
    codes.pop(unknown, None)
    q = quantity(name)
    alike = [n for n in scenario.comparable if n not in (name, unknown) and quantity(n).unit == q.unit]
    if chance.yes(0.08):
        condition = as_condition(chance, scenario)
    elif q.choices:
        condition = f"{name} == {chance.choice(q.choices)!r}"
    elif alike and chance.yes(0.5):
        condition = f"{name} {chance.choice(['==', '<=', '>='])} {chance.choice(alike)}"
    else:
        x = chance.choice(typical().get(name, (1.0,)))
        condition = f"{name} {chance.choice(['==', '==', '<=', '>', '<'])} {chance.about(x, 2)!r}"
    call = Call("rs.solve", repr(unknown), repr(condition))
    if chance.yes(0.5):
        call.keywords["at"] = repr(
            "first" if chance.yes(0.03) else chance.choice(["smallest", "largest", "all", "all"])
        )
    if chance.yes(0.1):
        call.keywords["units"] = repr(quantity(unknown).unit)
    call.keywords |= codes
    return varied(chance, call, scenario.inputs)


def crossovers(chance: Chance) -> str:
    codes = {keyword: repr(chance.choice(all_presets(keyword))) for keyword in ("model", "hardware")}
    if chance.yes(0.3):
        codes["prices"] = repr(chance.choice(all_presets("prices")))
    for name in chance.some(
        ("context_length", "batch_size", "batch_interval", "chip_price", "tier_capacity", "pipeline_stages"), 0, 3
    ):
        codes[name] = as_code(chance, name, number(chance, name))
    return str(Call("rs.crossovers", **codes))


def derivative(function: str) -> Callable[[Chance], str]:
    def question(chance: Chance) -> str:
        name = one_output(chance)
        scenario = Scenario(chance, [name])
        call = Call(function, repr(name))
        if chance.yes(0.4) and scenario.numbers:
            chosen = chance.some(scenario.numbers, 1, 4)
            if chance.yes(0.05):
                chosen.append(chance.choice(scenario.comparable))
            call.keywords["to"] = repr(chosen if chance.yes(0.8) else chosen[0])
        if chance.yes(0.25):
            call.keywords["side"] = repr("left" if chance.yes(0.03) else chance.choice(["above", "below"]))
        call.keywords |= scenario.codes(axes=chance.choice([0, 0, 1, 2]))
        return varied(chance, call, scenario.inputs)

    return question


def tornado(chance: Chance) -> str:
    name = one_output(chance)
    scenario = Scenario(chance, [name])
    codes = scenario.codes()
    chosen = chance.some(scenario.numbers, 1, 5)
    for key in chosen:
        x = scenario.inputs[key]
        assert isinstance(x, float)
        codes[key] = repr((0.5 * x, x) if quantity(key).high <= 1 or quantity(key).bound else (0.5 * x, 2 * x))
    call = Call("rs.tornado", repr(name))
    if chosen and chance.yes(0.3):
        call.keywords["base"] = repr({key: scenario.inputs[key] for key in chance.some(chosen, 1, 2)})
    call.keywords |= codes
    return varied(chance, call, scenario.inputs)


def explain(chance: Chance) -> str:
    name = one_output(chance)
    scenario = Scenario(chance, [name])
    call = Call("rs.explain", repr(name))
    if chance.yes(0.3):
        call.keywords["depth"] = chance.choice(["0", "1", "2", "3", "5", "10"])
    call.keywords |= scenario.codes()
    return varied(chance, call, scenario.inputs)


def explain_band(chance: Chance) -> str:
    codes = {"bands": chance.choice(["0.8", "0.5", "0.99"]), "model": "'Qwen3-32B'", "hardware": "'H100'"}
    codes |= {"concurrency": repr(chance.randint(1, 99)), "chips": "2", "input_tokens": "1000", "output_tokens": "300"}
    call = Call("rs.explain", repr(chance.choice(CALIBRATED)), **codes)
    return f"{str(call)[:-1]}, **rs.calibration())"


def compare(chance: Chance) -> str:
    name = one_output(chance)
    scenario = Scenario(chance, [name])
    codes = scenario.codes()
    differing: list[str] = chance.some(list(codes), 1, 4)
    sides: list[dict[str, str]] = [{}, {}]
    for key in differing:
        code = codes.pop(key)
        if key in CATALOGS:
            other = repr(chance.choice(all_presets(key)))
        else:
            x = scenario.inputs[key]
            other = as_code(
                chance, key, number(chance, key) if isinstance(x, float) else chance.choice(quantity(key).choices)
            )
        for side, one in zip(sides, (code, other), strict=True):
            if not chance.yes(0.03):
                side[key] = one
    written = ["{" + ", ".join(f"{key!r}: {code}" for key, code in side.items()) + "}" for side in sides]
    return varied(chance, Call("rs.compare", *written, repr(name), **codes), scenario.inputs)


_FORMULAS = (
    "lambda {a}: 2 * {a}",
    "lambda {a}, {b}: rs.math.maximum({a}, {b})",
    "lambda {a}, {b}: rs.math.where({a} <= {b}, {a}, 3 * {b})",
    "lambda {a}, {b}: {a} + {b} / 3",
    "lambda {a}, {b}: np.sqrt({a} * {b})",
    "lambda {a}: {a} * rs.math.exp(-1.5)",
    "lambda {a}, {b}: rs.math.minimum({a}, 2 * {b}) - {b} / 7",
    "lambda {a}: rs.math.ceil(3 * {a} / {a}) * {a}",
    "'{a} * 1.5'",
    "'max({a}, {b}) - min({a}, {b})'",
    "'{a} / 3 + 0.1 * {b}'",
    "lambda {a}: {a} if {a} > 0 else 1",
    "lambda {a}, {b}: {a} * {b}",
    "'{a} +'",
    "lambda nothing: nothing",
    "3",
)


def define(chance: Chance) -> str:
    """Define a quantity, and compute it in its scope."""
    one = one_output(chance)
    alike = [n for n in computed() if n != one and quantity(n).unit == quantity(one).unit]
    other = chance.choice(alike) if alike else one
    pattern = chance.choice(_FORMULAS[:11] if chance.yes(0.85) else _FORMULAS)
    formula = pattern.replace("{a}", one).replace("{b}", other)
    if one == other:
        formula = formula.replace(f"{one}, {one}:", f"{one}:")
    name = "made_up" if chance.yes(0.93) else chance.choice([*names(), "s", "bin", "class", "H100", "2x", "overwrite"])
    scenario = Scenario(chance, [one, other])
    codes = scenario.codes(axes=chance.choice([0, 1]))
    options = Call("dict", unit=repr(quantity(one).unit), brief="'made up'")
    if chance.yes(0.2):
        options.keywords["symbol"] = repr(chance.choice(["x_1", r"\alpha", r"\beta_2", "$x$"]))
    if chance.yes(0.05):
        options.keywords["unit"] = repr(chance.choice(["s", "USD/token", "parsec", ""]))
    function = chance.choice(["evaluate", "explain", "sensitivity", "best", "quantity", "quantities"])
    return str(Call("defined", repr(name), formula, str(options), repr(function), **codes))


def math_texts(chance: Chance) -> str:
    """Call functions of `roofslate.math` on plain numbers."""
    x, y = chance.about(chance.choice([0.3, 1.0, 20.0])), chance.about(2.0)
    return str(
        chance.choice(
            [
                f"rs.math.sqrt({x!r})",
                f"rs.math.exp(-{x!r})",
                f"rs.math.log({x!r})",
                f"rs.math.power({x!r}, {y!r})",
                f"rs.math.ceil({x!r})",
                f"rs.math.floor({x!r})",
                f"rs.math.maximum({x!r}, {y!r}, 1)",
                f"rs.math.minimum({x!r}, {y!r})",
                f"rs.math.where({x!r} < {y!r}, 1, 2)",
                f"rs.math.erlang_c({round(5 * y)}, {x!r})",
                f"rs.math.acceptance_curve({x!r}, {1 / y!r}, {round(5 * y)})",
                f"rs.math.largest_normal({round(5 * y)})",
                f"rs.math.overtraining_optimum({x!r}, {y!r})",
                "rs.math.constant('3 ms')",
                "rs.math.count('x')",
                f"rs.math.logical_and({x!r} < 1, True)",
                "rs.math.logical_not(False)",
            ]
        )
    )


def conditions(chance: Chance) -> str:
    """Parse texts of conditions, valid and invalid."""
    scenario = Scenario(chance, [one_output(chance, 0.6)], presets=0.6)
    text = " and ".join(as_condition(chance, scenario) for _ in range(chance.randint(1, 3)))
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        k = chance.randrange(len(text))
        words = ["(", ")", "<", "=", "+", " * ", " / ", "e5", " ms", " or ", "[", "'x'", "max(", ",", "-", "'"]
        text = text[:k] + chance.choice(words) + text[k + chance.randint(0, 2) :]
    return str(Call("rs.count", repr(text), **scenario.codes(axes=2)))


def quantities(chance: Chance) -> str:
    if chance.yes(0.7):
        name = chance.choice(names())
        return f"rs.quantity({name!r})"
    if chance.yes(0.5):
        name = chance.choice(names())
        k = chance.randrange(len(name))
        return f"rs.quantity({name[:k] + chance.choice(['', '_', 'x', 'E']) + name[k + 1 :]!r})"
    return f"rs.quantities({chance.choice(['price', 'kv', 'time', 'TPOT', 'expert', 'xyzzy', '_', 'Ba'])!r})"


def plot(chance: Chance) -> str:
    outputs = some_outputs(chance, 2)
    scenario = Scenario(chance, outputs[:1], presets=0.3)
    call = Call("rs.evaluate", repr(outputs[0]), **scenario.codes(axes=2, shared=False))
    if (units := units_of(chance, outputs[:1])) is not None:
        call.keywords["units"] = units
    return f"picture(lambda: rs.plot({call}))"


def axis_twice(chance: Chance) -> str:
    """Use axes that meet, and quantities that are both input and output."""
    (name,) = chance.some(names(), 1, 1)
    q = quantity(name)
    x = chance.choice(q.choices) if q.choices else number(chance, name)
    outputs = [name, *chance.some(q.used_by, 0, 2)]
    codes = {name: as_axis(chance, name, x, 9)}
    if chance.yes(0.5):
        return str(Call("rs.evaluate", repr(outputs), **codes))
    return str(Call("rs.evaluate", repr(name), **codes))


CALLS: Mapping[str, tuple[int, Callable[[Chance], str]]] = {
    "solve": (500, solve),
    "crossovers": (40, crossovers),
    "gradient": (200, derivative("rs.gradient")),
    "sensitivity": (250, derivative("rs.sensitivity")),
    "tornado": (120, tornado),
    "explain": (250, explain),
    "explain, bands": (10, explain_band),
    "compare": (200, compare),
    "define": (150, define),
    "math": (40, math_texts),
    "conditions": (200, conditions),
    "quantity, quantities": (150, quantities),
    "inputs as outputs": (100, axis_twice),
    "plot": (30, plot),
}
