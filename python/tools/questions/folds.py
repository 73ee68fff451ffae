"""Questions to `best`, `pareto`, `count`, `histogram`, `quantiles`, `bounds` and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from questions.draw import (
    CATALOGS,
    DIMS,
    Call,
    Chance,
    Scenario,
    as_axis,
    as_condition,
    computed,
    number,
    quantity,
    reached,
    typical,
    varied,
)
from questions.grids import SERVING, units_of

__all__ = ["CALLS", "distribution"]

_SERVER = {
    "context_length": ("'8k'", "4096", "['2k', '8k', '64k']", "rs.geomspace('1k', '1M', 9)"),
    "chip_price": ("'$3/hour'", "0.001", "['$2/h', '$4/h']"),
    "input_tokens": ("'2k'", "1000"),
    "output_tokens": ("500", "[100, 1000]"),
    "expert_reads": ("'expected'", "'all'", "['all', 'expected']"),
    "chips": ("8", "64", "[8, 16, 72]"),
    "pipeline_stages": ("1", "[1, 2, 4]"),
    "concurrency": ("16", "[1, 8, 64, 256]"),
    "batch_size": ("range(1, 200)", "[1, 16, 256, 4096]", "rs.geomspace(1, 8192, 41)", "128"),
    "overlap": ("'board'", "['board', 'serial_kv', 'none']"),
}
_ALWAYS = ("context_length", "chip_price", "input_tokens", "output_tokens", "chips", "batch_size", "concurrency")
_MACHINES = ("H100", "H200", "B200", "GB200 NVL72", "HGX H200", "MI300X", "HGX H100", "TPU v5p")
_MODELS = ("DeepSeek-V3", "Llama-3.1-70B", "Qwen3-32B", "gpt-oss-120b", "Kimi-K2", "Llama-3.1-8B")


class Question:
    """A grid of a random scenario, or of serving a model."""

    def __init__(self, chance: Chance, objectives: int = 1) -> None:
        self.chance = chance
        serving = chance.yes(0.45)
        outputs = chance.some(SERVING if serving else able(chance), objectives, objectives)
        self.scenario = Scenario(chance, outputs, presets=1.0 if serving else 0.3)
        self.outputs = outputs
        if serving:
            self.codes = {"model": self._kinds(_MODELS), "hardware": self._kinds(_MACHINES)}
            needed = reached(tuple(outputs))
            for name, spellings in _SERVER.items():
                if name in needed and (name in _ALWAYS or chance.yes(0.7)) and not chance.yes(0.01):
                    self.codes[name] = chance.choice(spellings)
        else:
            self.codes = self.scenario.codes(axes=3, most=9)
        if chance.yes(0.06):
            self._cut()

    @property
    def axes(self) -> list[str]:
        """Names of axes, as far as the code shows."""
        axes = []
        for name, code in self.codes.items():
            if code.startswith(("[", "np.array", "rs.linspace", "rs.geomspace", "range")):
                axes.append(name)
            elif code.startswith("pd.Series"):
                axes.append(f"of_{name}")
            elif code.startswith("xr.DataArray"):
                axes += [dim for dim in DIMS if f"'{dim}'" in code.partition("dims=")[2]]
        return list(dict.fromkeys(axes))

    def over(self, least: int = 0) -> str | None:
        """Draw axes to search."""
        axes = self.axes
        if not axes or self.chance.yes(0.04):
            return self.chance.choice(["'batch_size'", "[]", "'sample'", "['x', 'y']"])
        chosen = self.chance.some(axes, max(1, least), 3)
        return repr(chosen[0] if len(chosen) == 1 and self.chance.yes(0.6) else chosen)

    def conditions(self, share: float = 0.6) -> str | None:
        if not self.chance.yes(share):
            return None
        listed = [as_condition(self.chance, self.scenario) for _ in range(self.chance.choice([1, 1, 2, 3]))]
        if self.chance.yes(0.03):
            k = self.chance.randrange(len(listed[0]))
            listed[0] = listed[0][:k] + self.chance.choice(["", "(", "=", "?", " and "]) + listed[0][k + 1 :]
        if len(listed) > 1 and self.chance.yes(0.3):
            return repr(" and ".join(listed))
        return repr(listed[0] if len(listed) == 1 else listed)

    def _kinds(self, names: tuple[str, ...]) -> str:
        return repr(self.chance.choice(names) if self.chance.yes(0.6) else self.chance.some(names, 2, 3))

    def _cut(self) -> None:
        """Split one axis into chunks."""
        numbers = [n for n in self.axes if n in self.codes and n not in CATALOGS and not quantity(n).choices]
        numbers = [
            n for n in numbers if not self.codes[n].startswith(("rs.", "xr.", "pd.")) and "'" not in self.codes[n]
        ]
        if numbers:
            name = self.chance.choice(numbers)
            array = f"np.array({self.codes[name]}, dtype=float)"
            cut = self.chance.randint(1, 3)
            self.codes[name] = f"xr.DataArray({array}, dims={name!r}, coords={{{name!r}: {array}}}).chunk({cut})"


def able(chance: Chance) -> list[str]:
    """List numeric quantities, sometimes with a choice."""
    return [name for name in computed() if not quantity(name).choices or chance.yes(0.1)]


def finished(question: Question, call: Call) -> str:
    chance = question.chance
    if chance.yes(0.1):
        call.keywords["threads"] = chance.choice(["1", "2"])
    if chance.yes(0.1) and not call.function.endswith("quantiles"):
        call.keywords["prune"] = "False"
    return varied(chance, call, question.scenario.inputs)


def best(chance: Chance) -> str:
    question = Question(chance)
    call = Call("rs.best", repr(question.outputs[0]))
    call.keywords["over"] = question.over() or "[]"
    if (where := question.conditions()) is not None:
        call.keywords["where"] = where
    if chance.yes(0.3):
        call.keywords["maximize"] = "True"
    also = chance.some(question.scenario.computable, 1, 3)
    if chance.yes(0.4):
        call.keywords["also"] = repr(also)
    else:
        also = []
    if (units := units_of(chance, [question.outputs[0], *also])) is not None:
        call.keywords["units"] = units
    call.keywords |= question.codes
    return finished(question, call)


def pareto(chance: Chance) -> str:
    question = Question(chance, chance.choice([1, 2, 2, 2, 3]))
    low = chance.randint(0, len(question.outputs))
    call = Call("rs.pareto")
    if low:
        call.keywords["minimize"] = repr(question.outputs[:low])
    if question.outputs[low:]:
        call.keywords["maximize"] = repr(question.outputs[low:])
    if (where := question.conditions(0.5)) is not None:
        call.keywords["where"] = where
    if chance.yes(0.3):
        call.keywords["also"] = repr(chance.some(question.scenario.computable, 1, 2))
    if (units := units_of(chance, question.outputs)) is not None:
        call.keywords["units"] = units
    call.keywords |= question.codes
    return finished(question, call)


def count(chance: Chance) -> str:
    question = Question(chance)
    call = Call("rs.count", question.conditions(1.0) or "''")
    if chance.yes(0.6):
        call.keywords["over"] = question.over() or "[]"
    call.keywords |= question.codes
    return finished(question, call)


def histogram(chance: Chance) -> str:
    question = Question(chance)
    name = question.outputs[0]
    call = Call("rs.histogram", repr(name))
    seen = sorted(x for x in typical().get(name, (1.0,)) if 0 < x < 1e300) or [1.0]
    variant = chance.randrange(4)
    if variant == 0:
        call.keywords["bins"] = repr(sorted({seen[0] * 2.0**k for k in range(-3, chance.randint(0, 6))}))
    elif variant == 1:
        call.keywords |= {"bins": repr(chance.randint(1, 30)), "range": repr((seen[0] / 4, seen[-1] * 4))}
    else:
        call.keywords["bins"] = repr(chance.randint(1, 60))
    if variant and chance.yes(0.3):
        call.keywords["log"] = "True"
    if chance.yes(0.5):
        call.keywords["over"] = question.over() or "[]"
    call.keywords |= question.codes
    return finished(question, call)


def quantiles(chance: Chance) -> str:
    question = Question(chance)
    q = chance.choice(["0.5", "0.9", "[0.1, 0.5, 0.9]", "0", "1", "[0.333]", "np.linspace(0, 1, 7)"])
    if chance.yes(0.02):
        q = "1.5"
    call = Call("rs.quantiles", repr(question.outputs[0]), q)
    if chance.yes(0.6):
        call.keywords["over"] = question.over() or "[]"
    call.keywords |= question.codes
    return finished(question, call)


def bounds(chance: Chance) -> str:
    (name,) = chance.some(computed(), 1, 1)
    scenario = Scenario(chance, [name])
    codes = scenario.codes()
    for key in chance.some(scenario.numbers, 1, 4):
        ends = sorted([number(chance, key), number(chance, key)])
        codes[key] = repr(tuple(ends if chance.yes(0.97) else ends[::-1]))
    if chance.yes(0.2):
        name_of_axis = chance.choice(list(scenario.inputs) or ["batch_size"])
        codes[name_of_axis] = as_axis(chance, name_of_axis, scenario.inputs.get(name_of_axis, 2.0))
    return varied(chance, Call("rs.bounds", repr(name), **codes), scenario.inputs)


# -------------------------------------------------------------------------------------------------------------- draws


def distribution(chance: Chance, name: str, x: float) -> str:
    """Draw a frozen distribution around a number, mostly inside the quantity's range."""
    q = quantity(name)
    x = x if 0 < x < 1e200 else 0.5
    high = min(q.high, 1.5 * x) if not q.bound else x
    low = max(q.low, 0.6 * x)
    if not low < high:
        low, high = 0.5 * high, high
    variant = chance.randrange(6)
    if variant == 1 and low > 0:
        return f"stats.loguniform({low!r}, {high!r})"
    if variant == 2:
        return f"stats.triang({chance.uniform(0.1, 0.9):.2g}, loc={low!r}, scale={high - low!r})"
    if variant == 3:
        return f"stats.beta({chance.uniform(1, 5):.2g}, {chance.uniform(1, 5):.2g}, loc={low!r}, scale={high - low!r})"
    if variant == 4 and not q.bound and q.high > 1e300:
        return f"stats.lognorm({chance.uniform(0.05, 0.5):.2g}, scale={x!r})"
    if variant == 5 and chance.yes(0.5):
        return f"stats.norm(loc={x!r}, scale={0.02 * x!r})"
    return f"stats.uniform(loc={low!r}, scale={high - low!r})"


def drawn(chance: Chance, scenario: Scenario, codes: dict[str, str]) -> list[str]:
    """Replace some numbers by distributions."""
    chosen: list[str] = chance.some(scenario.numbers, 1, 3)
    for name in chosen:
        x = scenario.inputs[name]
        assert isinstance(x, float)
        codes[name] = distribution(chance, name, x)
    return chosen


def correlation(chance: Chance, chosen: list[str]) -> str | None:
    if len(chosen) < 2 or not chance.yes(0.3):
        return None
    r = round(chance.uniform(-0.95, 0.95), 2)
    one, other = chosen[:2]
    return chance.choice(
        [
            f"{{{one!r}: {{{other!r}: {r}}}}}",
            f"pd.DataFrame([[1.0, {r}], [{r}, 1.0]], index={[one, other]!r}, columns={[one, other]!r})",
            "np.eye(2)",
        ]
    )


def sample(chance: Chance) -> str:
    outputs = chance.some(SERVING if chance.yes(0.3) else computed(), 1, 3)
    scenario = Scenario(chance, outputs)
    codes = scenario.codes(axes=chance.choice([0, 0, 1]), shared=False)
    chosen = drawn(chance, scenario, codes)
    n = chance.choice(["16", "64", "256", "100", "1"])
    call = Call("rs.sample", repr(outputs[0] if len(outputs) == 1 else outputs), n, seed=str(chance.randint(0, 9)))
    if (r := correlation(chance, chosen)) is not None:
        call.keywords["correlation"] = r
    if (units := units_of(chance, outputs)) is not None:
        call.keywords["units"] = units
    call.keywords |= codes
    return varied(chance, call, scenario.inputs)


def sampled_folds(chance: Chance) -> str:
    (name,) = chance.some(SERVING if chance.yes(0.3) else computed(), 1, 1)
    scenario = Scenario(chance, [name])
    codes = scenario.codes(axes=chance.choice([0, 1]), shared=False)
    chosen = drawn(chance, scenario, codes)
    variant = chance.randrange(3)
    call = [
        Call("rs.quantiles", repr(name), chance.choice(["0.5", "[0.05, 0.5, 0.95]"])),
        Call("rs.histogram", repr(name), bins=repr(chance.randint(2, 20))),
        Call("rs.count", repr(as_condition(chance, scenario))),
    ][variant]
    call.keywords |= {"n": chance.choice(["64", "256", "1000"]), "seed": str(chance.randint(0, 9))}
    if (r := correlation(chance, chosen)) is not None:
        call.keywords["correlation"] = r
    call.keywords |= codes
    return varied(chance, call, scenario.inputs)


def sobol(chance: Chance) -> str:
    (name,) = chance.some(SERVING if chance.yes(0.3) else computed(), 1, 1)
    scenario = Scenario(chance, [name])
    codes = scenario.codes()
    drawn(chance, scenario, codes)
    n = "100" if chance.yes(0.03) else chance.choice(["64", "128", "256"])
    return varied(chance, Call("rs.sobol", repr(name), n, str(chance.randint(0, 9)), **codes), scenario.inputs)


CALLS: Mapping[str, tuple[int, Callable[[Chance], str]]] = {
    "best": (500, best),
    "pareto": (300, pareto),
    "count": (250, count),
    "histogram": (200, histogram),
    "quantiles": (200, quantiles),
    "bounds": (250, bounds),
    "sample": (150, sample),
    "folds of a sample": (120, sampled_folds),
    "sobol": (80, sobol),
}
