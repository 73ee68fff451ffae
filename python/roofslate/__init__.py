"""Roofslate: how frontier LLMs are trained and served, and what that costs, from first principles.

`evaluate` computes quantities over grids, `value` at a point, `frame` for tables; `explain` shows the derivation,
`compare` why two scenarios differ.
`quantities()` lists what there is, `define` adds to it; `hardware`, `models`, `prices`, `loss_laws`, `api_prices`,
`storage` are catalogs of sourced numbers.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roofslate import charts, ciphers, errors, math, scaling, schedules, typing
    from roofslate.calibrating import calibrate
    from roofslate.calibrations import Bands, Calibration, calibration
    from roofslate.cards import flashcards
    from roofslate.catalogs import Preset, api_prices, hardware, load_presets, loss_laws, models, prices, storage
    from roofslate.checklist import answers
    from roofslate.comparison import Comparison, compare
    from roofslate.crossings import crossovers
    from roofslate.definition import define, definitions
    from roofslate.deploying import deploy
    from roofslate.deployments import Deployments
    from roofslate.derivatives import gradient, sensitivity
    from roofslate.errors import RoofslateError, RoofslateWarning
    from roofslate.evaluation import clear_pool, evaluate, frame, to_units, value
    from roofslate.explanation import Explanation, explain
    from roofslate.exploring import Explorer, explore
    from roofslate.folds import best, bounds, count, histogram, pareto, quantiles
    from roofslate.inference import Inference
    from roofslate.inferring import infer
    from roofslate.model import Model
    from roofslate.plotting import plot
    from roofslate.register import claims, inconsistencies
    from roofslate.registry import Quantity, quantities, quantity
    from roofslate.report import lecture
    from roofslate.sampling import sample
    from roofslate.solving import solve
    from roofslate.sweeping import sweep
    from roofslate.uncertainty import Tornado, VarianceShares, sobol, tornado
    from roofslate.units import geomspace, linspace
    from roofslate.validating import Validation, validate
    from roofslate.versions import show_versions

__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless asked for

__all__ = [
    "Bands",
    "Calibration",
    "Comparison",
    "Deployments",
    "Explanation",
    "Explorer",
    "Inference",
    "Model",
    "Preset",
    "Quantity",
    "RoofslateError",
    "RoofslateWarning",
    "Tornado",
    "Validation",
    "VarianceShares",
    "answers",
    "api_prices",
    "best",
    "bounds",
    "calibrate",
    "calibration",
    "charts",
    "ciphers",
    "claims",
    "clear_pool",
    "compare",
    "count",
    "crossovers",
    "define",
    "definitions",
    "deploy",
    "errors",
    "evaluate",
    "explain",
    "explore",
    "flashcards",
    "frame",
    "geomspace",
    "gradient",
    "hardware",
    "histogram",
    "inconsistencies",
    "infer",
    "lecture",
    "linspace",
    "load_presets",
    "loss_laws",
    "math",
    "models",
    "pareto",
    "plot",
    "prices",
    "quantiles",
    "quantities",
    "quantity",
    "sample",
    "scaling",
    "schedules",
    "sensitivity",
    "show_versions",
    "sobol",
    "solve",
    "storage",
    "sweep",
    "to_units",
    "tornado",
    "typing",
    "validate",
    "value",
]

# Where the public names live. A module is loaded when one of its names is first asked for: import stays light.
_HOMES = {
    "calibrating": ("calibrate",),
    "calibrations": ("Bands", "Calibration", "calibration"),
    "cards": ("flashcards",),
    "catalogs": ("Preset", "api_prices", "hardware", "load_presets", "loss_laws", "models", "prices", "storage"),
    "checklist": ("answers",),
    "comparison": ("Comparison", "compare"),
    "completion": ("load_ipython_extension",),
    "deploying": ("deploy",),
    "deployments": ("Deployments",),
    "derivatives": ("gradient", "sensitivity"),
    "definition": ("define", "definitions"),
    "crossings": ("crossovers",),
    "errors": ("RoofslateError", "RoofslateWarning"),
    "evaluation": ("clear_pool", "evaluate", "frame", "to_units", "value"),
    "explanation": ("Explanation", "explain"),
    "exploring": ("Explorer", "explore"),
    "folds": ("best", "bounds", "count", "histogram", "pareto", "quantiles"),
    "inference": ("Inference",),
    "inferring": ("infer",),
    "model": ("Model",),
    "plotting": ("plot",),
    "register": ("claims", "inconsistencies"),
    "registry": ("Quantity", "quantities", "quantity"),
    "report": ("lecture",),
    "sampling": ("sample",),
    "solving": ("solve",),
    "sweeping": ("sweep",),
    "uncertainty": ("Tornado", "VarianceShares", "sobol", "tornado"),
    "units": ("geomspace", "linspace"),
    "validating": ("Validation", "validate"),
    "versions": ("show_versions",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("charts", "ciphers", "errors", "math", "scaling", "schedules", "typing")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"roofslate.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'roofslate' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"roofslate.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
