"""The closed forms of a service under load against simulated services."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from roofslate._base.messages import shown
from roofslate._base.progress import Progress
from roofslate.display.result import Result
from roofslate.errors import ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.simulation.service import run_steps

if TYPE_CHECKING:
    import pandas as pd

    from roofslate._base.progress import ProgressWish
    from roofslate.display.result import Table

__all__ = ["ServiceValidation", "validate_service"]

_COMPARED = {  # quantity: its name in the simulation
    "running_sequences": "running_sequences_mean",
    "time_per_output_token": "time_per_decoded_token_mean",
    "time_per_output_token_p99": "time_per_output_token_p99",
    "inter_token_latency_p99": "inter_token_latency_p99",
    "time_to_first_token": "time_to_first_token_mean",
    "time_to_first_token_p99": "time_to_first_token_p99",
}
_POLICIES = ("chunked", "first", "apart")
_ROUTERS = ("least_requests", "round_robin", "random")
_NOISE = 0.05  # of a simulated number, relative: more would judge the simulation


class _Service(NamedTuple):
    """One random service in base units.

    A step at batch size B takes base + slope B, plus token_time per prompt token. `rate` applies to each replica.
    """

    policy: str
    load: float
    rate: float
    slots: float
    base: float
    slope: float
    input_tokens: float
    input_cv: float
    output_tokens: float
    output_cv: float
    token_time: float
    arrival_cv: float
    budget: float
    replicas: int = 1
    router: str = "least_requests"

    @property
    def is_usual(self) -> bool:
        """Return True for a low prompt load, a low arrival CV, and outputs that are not short."""
        prompts = self.rate * self.token_time * self.input_tokens / self.load
        return prompts < 0.3 and self.arrival_cv <= 1.5 and self.output_tokens >= 50


def _draw(random: np.random.Generator) -> _Service:
    """Draw a service from the ranges used to choose the forms, with feasible prompts."""
    while True:
        policy = str(random.choice(_POLICIES))
        slots = float(np.round(np.exp(random.uniform(np.log(8), np.log(512)))))
        answer = float(np.round(np.exp(random.uniform(np.log(32), np.log(512)))))
        prompt = float(np.round(np.exp(random.uniform(np.log(200), np.log(8000)))))
        base = 0.012
        slope = base * float(np.exp(random.uniform(np.log(0.1), np.log(4)))) / slots
        share = 0.0 if policy == "apart" else float(np.exp(random.uniform(np.log(0.01), np.log(0.8))))
        load = float(random.uniform(0.1, 0.9))
        decoded = answer if policy == "apart" else answer - 1
        decode = decoded * (base + slope * slots) / slots
        token_time = decode * share / (1 - share) / prompt
        budget = float(random.choice([512, 2048, 8192]))
        s = _Service(
            policy, load, load * (1 - share) / decode, slots, base, slope, prompt,
            float(random.choice([0, 0.5, 1, 2])), answer, float(random.choice([0, 0.5, 1, 2])), token_time,
            float(random.choice([1, 1, 1, 1.5, 2, 3])), budget,
        )  # fmt: skip
        step = base + slope * slots
        if policy == "apart" or (
            budget > 2 * slots and s.rate * (prompt / (budget - slots) * step) + share * load < 0.9
        ):
            return s


def _fleet(service: _Service, most: int, random: np.random.Generator) -> _Service:
    """The service with 2 to `most` replicas behind a router."""
    if most == 1:
        return service
    return service._replace(replicas=int(random.integers(2, most + 1)), router=str(random.choice(_ROUTERS)))


def _inputs(services: list[_Service]) -> dict[str, Any]:
    """Inputs of the forms for services of one policy, along an axis."""
    column = {name: np.array([getattr(s, name) for s in services]) for name in _NUMBERS}
    policy, router = services[0].policy, services[0].router
    disaggregated = policy == "apart"
    prompt = 0.0 * column["rate"] if disaggregated else column["token_time"] * column["input_tokens"]
    decoded = column["output_tokens"] - (0 if disaggregated else 1)
    spare = 1 - column["rate"] * (prompt + decoded * column["slope"])
    running = (column["base"] + column["slope"]) * column["rate"] * decoded / np.maximum(spare, 1e-3)
    running = np.clip(np.where(spare > 0, running, np.inf), 0.01, column["slots"])
    values = {
        "arrival_rate": column["rate"] * column["replicas"],
        "replicas": column["replicas"],
        "arrival_cv": column["arrival_cv"],
        "input_tokens": column["input_tokens"],
        "input_cv": column["input_cv"],
        "output_tokens": column["output_tokens"],
        "output_cv": column["output_cv"],
        "step_token_budget": column["budget"],
        "sequence_slots": column["slots"],
        "decode_step_base": column["base"],
        "decode_step_slope": column["slope"],
        "full_decode_token_time": column["base"] + column["slope"] * column["slots"],
        "running_estimate": running,
        "running_token_time": column["base"] + column["slope"] * running,
        "full_prompt_step_time": prompt,
        "loaded_prompt_step_time": prompt,
        "prompt_work_time": prompt,
    }
    words = {
        "prompt_policy": "first" if policy == "first" else "chunked",
        "serving_mode": "disaggregated" if disaggregated else "aggregated",
        "router": router,
    }
    fixed = {"prompt_pass_overhead": 0.0, "prompt_lag_time": 0.0, "exposed_kv_transfer_time": 0.0}
    return {name: xr.DataArray(x, dims="service") for name, x in values.items()} | words | fixed


_NUMBERS = tuple(name for name in _Service._fields if name not in ("policy", "router"))


class ServiceValidation(Result):
    """Relative errors of the forms against simulation, a service a row.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each service: the drawn inputs, and for each quantity the form, the simulated number, its standard
        error and the relative error of the form.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def summary(self, usual: bool = False) -> pd.DataFrame:
        """Tabulate median and 90% error by quantity, and fractions within 3, 5, 15 and 25%.

        Parameters
        ----------
        usual : bool
            Only services with prompts below 0.3 of the work, arrivals with a coefficient of variation up to 1.5 and
            answers of 50 tokens at least.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity. Simulated numbers with more than 5% noise are left out.
        """
        import pandas as pd

        rows = {}
        table = self.table[self.table["usual"]] if usual else self.table
        for name in _COMPARED:
            known = table[table[f"{name} noise"] < _NOISE]
            off = known[f"{name} error"].abs().to_numpy()
            rows[name] = {
                "services": len(off),
                "median": np.median(off) if len(off) else np.nan,
                "p90": np.quantile(off, 0.9) if len(off) else np.nan,
                **{
                    f"within {share:.0%}": (off <= share).mean() if len(off) else np.nan
                    for share in (0.03, 0.05, 0.15, 0.25)
                },
            }
        return pd.DataFrame(rows).T

    def __str__(self) -> str:
        def text(usual: bool) -> str:
            return self.summary(usual=usual).to_string(float_format="{:.3f}".format)

        return f"all\n{text(False)}\n\nusual\n{text(True)}"

    def _tables(self) -> list[Table]:
        tables: list[Table] = []
        for caption, usual in (("All services", False), ("The usual case", True)):
            errors = self.summary(usual=usual)
            cells = [(name, *(f"{x:.3f}" for x in row)) for name, *row in errors.itertuples()]
            tables.append((caption, ("", *errors.columns), cells))
        return tables


def validate_service(
    services: int = 60,
    *,
    requests: int = 100_000,
    replicas: int = 1,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressWish = None,
) -> ServiceValidation:
    """Compare closed forms of a service under load with random simulated services.

    Loads are 0.1 to 0.9, slots 8 to 512, answers 32 to 512 tokens on average, coefficients of variation of lengths up
    to 2 and of the times between arrivals 1 to 3; prompts take 0.01 to 0.8 of the work; the three ways to read prompts
    are equally likely.

    Parameters
    ----------
    services : int
        Number of services.
    requests : int
        Requests of each.
    replicas : int
        Most replicas of a service: with more than 1, each has 2 to so many, behind a router that is drawn too.
    seed : int
        Of the draws and the simulations: the same seed gives the same table.
    threads : int, optional
        Threads of a simulation; all by default. The table is the same for any number.
    progress : bool or callable, optional
        As for `simulate`.

    Returns
    -------
    ServiceValidation
        Its `summary` has the errors by quantity, its `table` each service.

    Raises
    ------
    ValueRangeError
        If `services`, `requests` or `replicas` is below 1.
    """
    import pandas as pd

    for name, x in (("services", services), ("requests", requests), ("replicas", replicas)):
        if not (isinstance(x, int) and x >= 1):
            raise ValueRangeError(f"{name} must be a whole number of at least 1, got {shown(x)}")
    random = np.random.default_rng(seed)
    drawn = [_fleet(_draw(random), replicas, random) for _ in range(services)]
    kinds = list(itertools.product(_POLICIES, _ROUTERS))  # words are the same for all points of an evaluation
    rows: list[dict[str, Any]] = []
    with Progress(progress, "service") as bar:
        for kind in kinds:
            alike = [s for s in drawn if (s.policy, s.router) == kind]
            if not alike:
                continue
            forms = evaluate(list(_COMPARED), Settled(_inputs(alike)))
            for k, s in enumerate(alike):
                results = run_steps(
                    base=s.base, slope=s.slope, arrival_rate=s.rate * s.replicas, output_tokens=s.output_tokens,
                    input_tokens=s.input_tokens, prompt_token_time=s.token_time, seats=s.slots, token_budget=s.budget,
                    replicas=s.replicas, router=s.router,
                    prompt_policy=s.policy, arrival_cv=s.arrival_cv, input_cv=s.input_cv, output_cv=s.output_cv,
                    requests=requests, seed=seed + len(rows), percentiles=(0.99,), threads=threads,
                )  # fmt: skip
                row: dict[str, Any] = {**s._asdict(), "usual": s.is_usual}
                for name, simulated in _COMPARED.items():
                    form, seen = float(forms[name].values[k]), results[simulated]
                    if name == "running_sequences":
                        seen /= s.replicas  # simulated of the fleet
                    row |= {name: form, f"{name} simulated": seen, f"{name} error": form / seen - 1}
                    row[f"{name} noise"] = results.get(f"{simulated}_error", 0.0) / seen
                rows.append(row)
                if bar.callback is not None:
                    bar.callback(len(rows), services)
    return ServiceValidation(pd.DataFrame(rows))
