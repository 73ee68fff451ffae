"""Questions to `value`, `evaluate`, `frame`, `sweep`, and to texts with units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from questions.draw import (
    DIMS,
    Call,
    Chance,
    Scenario,
    as_axis,
    as_code,
    as_text,
    computed,
    names,
    number,
    quantity,
    reference_cases,
    spoiled,
    typical,
    varied,
)

__all__ = ["CALIBRATED", "CALLS", "SERVING", "some_outputs", "units_of"]

CALIBRATED = ("time_per_output_token", "time_to_first_token")
SERVING = (
    "pass_time",
    "cost_per_token",
    "hbm_used",
    "kv_bytes",
    "bottleneck",
    "replica_throughput",
    "time_per_output_token",
    "time_to_first_token",
    "cost_per_output_token",
    "tokens_per_second_per_user",
)
_UNITS = {
    "s": ("ms", "min", "us"),
    "byte": ("GB", "MiB"),
    "USD/token": ("USD/Mtoken", "$/Mtok"),
    "token": ("ktoken", "Mtok"),
    "FLOP/s": ("TFLOP/s", "PFLOPS"),
    "byte/s": ("TB/s", "Gbit/s"),
    "token/s": ("ktok/s", "tok/h"),
    "1": ("%",),
    "USD": ("kUSD",),
    "USD/s": ("$/h", "USD/yr"),
    "USD/s/chip": ("USD/h/chip", "$/yr/chip"),
    "FLOP": ("PFLOP", "EFLOP"),
    "parameter": ("Gparam",),
    "byte/token": ("kB/token", "KiB/tok"),
}
_PLACES = {"hardware": ("H100", "GB200 NVL72", "B200"), "model": ("DeepSeek-V3", "Llama-3.1-70B", "Qwen3-32B")}


def some_outputs(chance: Chance, most: int = 4) -> list[str]:
    """Draw one or several quantities, from the registry or from serving."""
    if chance.yes(0.3):
        return chance.some(SERVING, 1, most)
    return chance.some(computed() if chance.yes(0.97) else names(), 1, most)


def units_of(chance: Chance, outputs: list[str], share: float = 0.2) -> str | None:
    """Draw units for some outputs, by name."""
    able = [name for name in outputs if quantity(name).unit in _UNITS and not quantity(name).choices]
    if not able or not chance.yes(share):
        return None
    return repr({name: chance.choice(_UNITS[quantity(name).unit]) for name in chance.some(able, 1, 3)})


def outputs_code(chance: Chance, outputs: list[str]) -> str:
    return repr(outputs[0]) if len(outputs) == 1 and chance.yes(0.9) else repr(outputs)


def value(chance: Chance) -> str:
    (name,) = chance.some(SERVING if chance.yes(0.2) else names() if chance.yes(0.05) else computed(), 1, 1)
    cases = reference_cases().get(name)
    if cases and chance.yes(0.3):
        given = chance.choice(cases)["inputs"]
        near = {key: chance.about(float(x), 0.3) if isinstance(x, (int, float)) else x for key, x in given.items()}
        exact = chance.yes(0.5)
        return varied(
            chance, Call("rs.value", repr(name), **{k: repr((given if exact else near)[k]) for k in given}), given
        )
    scenario = Scenario(chance, [name])
    call = Call("rs.value", repr(name), **scenario.codes())
    unit = quantity(name).unit
    if unit in _UNITS and chance.yes(0.15):
        call.keywords["units"] = repr(chance.choice(_UNITS[unit]))
    return varied(chance, call, scenario.inputs)


def evaluate(chance: Chance) -> str:
    outputs = some_outputs(chance)
    scenario = Scenario(chance, outputs)
    large = chance.yes(0.06)
    call = Call("rs.evaluate", outputs_code(chance, outputs))
    call.keywords |= scenario.codes(axes=chance.choice([0, 1, 1, 1, 2, 2, 3, 4]), most=23 if large else 6)
    if large and scenario.numbers:
        name = chance.choice(scenario.numbers)
        n = chance.choice([31, 64, 100, 257, 1000, 4099])
        x = scenario.inputs[name]
        ends = sorted([number(chance, name), float(x)])
        call.keywords[name] = f"np.linspace({ends[0]!r}, {ends[1]!r}, {n})"
    if (units := units_of(chance, outputs)) is not None:
        call.keywords["units"] = units
    if chance.yes(0.1):
        call.keywords["dtype"] = "'float32'"
    if chance.yes(0.05):
        call.keywords["threads"] = chance.choice(["1", "2", "3"])
    return varied(chance, call, scenario.inputs)


def evaluate_banded(chance: Chance) -> str:
    call = Call("rs.evaluate", repr(chance.some([*CALIBRATED, *CALIBRATED, "request_latency", "concurrency"], 1, 3)))
    call.keywords["bands"] = chance.choice(["0.8", "0.5", "0.95", "rs.calibration().bands(0.9)", "rs.calibration()"])
    for keyword, kinds in _PLACES.items():
        call.keywords[keyword] = repr(chance.choice(kinds) if chance.yes(0.5) else chance.some(kinds, 2, 3))
    call.keywords |= {"concurrency": listed_or_one(chance, 1, 256), "input_tokens": listed_or_one(chance, 100, 8000)}
    call.keywords |= {"output_tokens": "500", "chips": chance.choice(["8", "[8, 16]"]), "**rs.calibration()": ""}
    if chance.yes(0.1):
        del call.keywords["**rs.calibration()"]
    return varied(chance, call, ["concurrency", "input_tokens"]).replace("**rs.calibration()=", "**rs.calibration()")


def listed_or_one(chance: Chance, low: int, high: int) -> str:
    x = [chance.randint(low, high) for _ in range(chance.randint(1, 4))]
    return repr(x[0] if len(x) == 1 else x)


def evaluate_lazily(chance: Chance) -> str:
    outputs = some_outputs(chance, 3)
    scenario = Scenario(chance, outputs)
    codes = scenario.codes(axes=1)
    for name in chance.some(scenario.numbers, 1, 2):
        one, other = chance.sample(sorted(DIMS), 2)
        x = scenario.inputs[name]
        base = x if isinstance(x, float) and 0 < x < 1e300 else 1.0
        high = base if quantity(name).bound or quantity(name).high <= 1 else 2 * base
        cut = f"{{{one!r}: {chance.randint(1, 3)}}}"
        codes[name] = (
            f"xr.DataArray(np.linspace({base / 2!r}, {high!r}, {DIMS[one] * DIMS[other]})"
            f".reshape({DIMS[one]}, {DIMS[other]}), dims=[{one!r}, {other!r}]).chunk({cut})"
        )
    return varied(chance, Call("rs.evaluate", outputs_code(chance, outputs), **codes), scenario.inputs)


def evaluate_into(chance: Chance) -> str:
    (name,) = chance.some(SERVING[:3], 1, 1)
    scenario = Scenario(chance, [name])
    axis = chance.choice(scenario.numbers) if scenario.numbers else "batch_size"
    n = chance.randint(2, 9)
    x = scenario.inputs.get(axis, 8.0)
    codes = scenario.codes() | {axis: f"np.full({n}, {x!r})"}
    dtype = chance.choice(["float64", "float64", "float32"])
    shape = f"{n}" if chance.yes(0.8) else chance.choice([f"{n + 1}", f"({n}, 1)"])
    codes |= {"out": f"np.zeros({shape}, dtype={dtype!r})", "dtype": repr(dtype)}
    return str(Call("rs.evaluate", repr(name), **codes))


def texts(chance: Chance) -> str:
    """Convert a text with a unit to base units."""
    name = chance.choice([n for n in names() if not quantity(n).choices])
    x = chance.choice(typical().get(name, (1.0,)))
    text = as_text(chance, chance.about(x) if chance.yes(0.7) else x, quantity(name).unit)
    if chance.yes(0.25):
        k = chance.randrange(len(text) + 1)
        text = text[:k] + chance.choice(["", " ", ",", "x", "/", "k", "e3", "%", "$", "per "]) + text[k + 1 :]
    call = Call("rs.value", repr(name), **{name: repr(text)})
    if chance.yes(0.3):
        call.keywords["units"] = repr(chance.choice(["ms", "GB", "$/Mtok", "%", "ktoken", quantity(name).unit]))
    return str(call)


def to_units(chance: Chance) -> str:
    outputs = some_outputs(chance, 3)
    scenario = Scenario(chance, outputs)
    call = Call("rs.evaluate", repr(outputs), **scenario.codes(axes=1, shared=False))
    units = units_of(chance, outputs, 1.0)
    if units is None or chance.yes(0.1):
        units = chance.choice(["'ms'", "{'pass_time': 'ms'}", "3", "{}"])
    if len(outputs) == 1 and units.startswith("{") and chance.yes(0.5):
        return f"rs.to_units({call}[{outputs[0]!r}], {units}[{outputs[0]!r}])"
    return f"rs.to_units({call}, {units})"


def table_code(chance: Chance, scenario: Scenario, rows: int) -> tuple[str, dict[str, str]]:
    """Write a table of some inputs, and the remaining ones as keywords."""
    codes = scenario.codes()
    columns = {}
    for name in chance.some(list(scenario.inputs), 1, 4):
        q, x = quantity(name), scenario.inputs[name]
        del codes[name]
        if isinstance(x, str):
            cells = [repr(chance.choice(q.choices)) for _ in range(rows)]
        else:
            cells = [repr(number(chance, name)) if chance.yes(0.5) else repr(x) for _ in range(rows)]
            if chance.yes(0.2):
                cells = [as_code(chance, name, number(chance, name)) for _ in range(rows)]
            if chance.yes(0.1):
                cells[-1] = chance.choice(["nan", "-1.0", "None", "inf", "'x'"])
        columns[name] = "[" + ", ".join(cells) + "]"
    for keyword in scenario.presets:
        if chance.yes(0.5):
            kinds = [codes[keyword]] * rows
            columns[keyword] = "[" + ", ".join(kinds) + "]"
            del codes[keyword]
    if chance.yes(0.1):
        columns["note"] = repr(["a note"] * rows)
    table = ", ".join(f"{name!r}: {cells}" for name, cells in columns.items())
    index = f", index={[f'row {k}' for k in range(rows)]!r}" if chance.yes(0.2) else ""
    if "note" in columns and chance.yes(0.7):
        codes["ignore"] = "['note']"
    return f"pd.DataFrame({{{table}}}{index})", codes


def frame(chance: Chance) -> str:
    outputs = some_outputs(chance, 3)
    scenario = Scenario(chance, outputs)
    table, codes = table_code(chance, scenario, chance.choice([1, 2, 2, 3, 5, 9, 17]))
    if (units := units_of(chance, outputs)) is not None:
        codes["units"] = units
    return varied(chance, Call("rs.frame", table, outputs_code(chance, outputs), **codes), scenario.inputs)


def frame_banded(chance: Chance) -> str:
    rows = chance.randint(1, 4)
    columns: dict[str, list[Any]] = {
        keyword: [chance.choice(kinds) for _ in range(rows)] for keyword, kinds in _PLACES.items()
    }
    columns |= {"concurrency": [chance.choice([1, 8, 64]) for _ in range(rows)], "chips": [8] * rows}
    outputs = chance.some([*CALIBRATED, *CALIBRATED, "request_latency"], 1, 3)
    level = "2" if chance.yes(0.05) else chance.choice(["0.8", "0.5", "0.99", "rs.calibration()"])
    fixed = "input_tokens=1000, output_tokens=300, **rs.calibration()"
    return f"rs.frame(pd.DataFrame({columns!r}), {outputs!r}, bands={level}, {fixed})"


def sweep(chance: Chance) -> str:
    outputs = some_outputs(chance, 3)
    scenario = Scenario(chance, outputs)
    table, codes = table_code(chance, scenario, chance.choice([1, 2, 3, 7]))
    if (units := units_of(chance, outputs)) is not None:
        codes["units"] = units
    ends = [repr(chance.choice(["csv", "parquet"])) for _ in range(2)]
    if chance.yes(0.03):
        ends[1] = "'txt'"
    call = Call("swept", table, outputs_code(chance, outputs), *ends, **codes)
    return str(spoiled(chance, call, scenario.inputs) if chance.yes(0.05) else call)


def axes(chance: Chance) -> str:
    ends = [
        chance.choice(["1", "2.5", "'1 ms'", "'50 ms'", "0", "-1", "'3 GB'", "inf", "'x'", "1e-3"]) for _ in range(2)
    ]
    n = chance.choice(["1", "2", "5", "9", "33", "0", "2.0", "17"])
    unit = chance.choice(["", "", ", 'ms'", ", 'GB'", ", 'parsec'"])
    axis = f"rs.{chance.choice(['linspace', 'geomspace'])}({ends[0]}, {ends[1]}, {n}{unit})"
    return chance.choice([axis, f"rs.evaluate('batch_interval', batch_interval={axis})"])


def mixed_axes(chance: Chance) -> str:
    """Use arrays that share axes and state their units."""
    outputs = some_outputs(chance, 3)
    scenario = Scenario(chance, outputs, presets=0.1)
    codes = scenario.codes()
    for name in chance.some(list(scenario.inputs), 2, 4):
        codes[name] = as_axis(chance, name, scenario.inputs[name], 3)
        unit = quantity(name).unit
        if codes[name].startswith("xr.") and unit in _UNITS and chance.yes(0.3):
            codes[name] = f"{codes[name][:-1]}, attrs={{'units': {chance.choice(_UNITS[unit])!r}}})"
    return varied(chance, Call("rs.evaluate", repr(outputs), **codes), scenario.inputs)


CALLS: Mapping[str, tuple[int, Callable[[Chance], str]]] = {
    "value": (900, value),
    "evaluate": (1400, evaluate),
    "evaluate, shared axes": (250, mixed_axes),
    "evaluate, bands": (60, evaluate_banded),
    "evaluate, chunks": (60, evaluate_lazily),
    "evaluate, out": (40, evaluate_into),
    "texts with units": (300, texts),
    "to_units": (60, to_units),
    "linspace, geomspace": (60, axes),
    "frame": (450, frame),
    "frame, bands": (30, frame_banded),
    "sweep": (100, sweep),
}
