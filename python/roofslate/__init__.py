"""Compute time, memory, and cost of LLM training and serving from first principles.

`evaluate` computes quantities over grids, `value` at a point, `frame` for tables; `explain` shows the derivation,
`compare` why two scenarios differ.
`quantities()` lists all quantities, `define` adds to it; `hardware`, `models`, `prices`, `loss_laws`, `api_prices`,
`storage`, `speculators`, `workloads`, `engines`, `sites` are catalogs of sourced numbers.
"""

import sys as _sys
from importlib import import_module as _import_module

from roofslate._base.version import __version__ as __version__

# The module of each public name. It is loaded when the name is first used: `import roofslate` stays light.
_HOMES = {
    "analysis.compare": ("Comparison", "compare"),
    "analysis.crossovers": ("crossovers",),
    "analysis.derivatives": ("gradient", "sensitivity"),
    "analysis.explain": ("Explanation", "explain"),
    "analysis.sample": ("sample",),
    "analysis.sobol": ("VarianceShares", "sobol"),
    "analysis.solve": ("solve",),
    "analysis.summary": ("Summaries", "Summary", "summary"),
    "analysis.workbook": ("to_excel",),
    "analysis.tornado": ("Tornado", "tornado"),
    "cli.completion": ("load_ipython_extension",),
    "deployment.from_command": ("CommandScenario", "from_command"),
    "deployment.launch": ("LaunchCommand", "launch_command"),
    "deployment.pools": ("PoolDeployments",),
    "deployment.published": ("LayoutValidation", "validate_layouts"),
    "deployment.result": ("Deployments",),
    "deployment.search": ("deploy",),
    "errors": ("RoofslateError", "RoofslateWarning"),
    "evaluation.define": ("define",),
    "evaluation.convert": ("clear_pool", "to_units"),
    "evaluation.evaluate": ("evaluate",),
    "evaluation.frame": ("frame",),
    "evaluation.result_files": ("load", "save"),
    "evaluation.sweep": ("sweep",),
    "evaluation.value": ("value",),
    "folds.best": ("best",),
    "folds.bounds": ("bounds",),
    "folds.count": ("count",),
    "folds.histogram": ("histogram",),
    "folds.pareto": ("pareto",),
    "folds.quantiles": ("quantiles",),
    "lecture_report.answers": ("answers",),
    "lecture_report.claims": ("claims", "conclusions", "inconsistencies"),
    "lecture_report.explore": ("explore",),
    "lecture_report.flashcards": ("Flashcards", "flashcards"),
    "lecture_report.report": ("lecture",),
    "measured.benchmark_files": ("read_benchmarks",),
    "measured.calibration": ("Calibration", "calibration"),
    "measured.calibrate": ("calibrate",),
    "measured.service_forms": ("ServiceValidation", "validate_service"),
    "measured.validate": ("Validation", "validate"),
    "plotting.explorer": ("Explorer",),
    "plotting.plot": ("plot",),
    "presets.calibration": ("Bands",),
    "presets.catalog": (
        "api_prices",
        "engines",
        "hardware",
        "load_presets",
        "loss_laws",
        "models",
        "prices",
        "sites",
        "speculators",
        "storage",
        "workloads",
    ),
    "presets.kernels": ("kernel_facts",),
    "presets.model": ("Model",),
    "presets.number_formats": ("number_formats",),
    "presets.preset": ("Preset",),
    "price_lists.infer": ("infer",),
    "price_lists.result": ("Inference",),
    "registry.scopes": ("definitions",),
    "registry.quantity_table": ("quantities",),
    "registry.registry": ("Quantity", "quantity"),
    "simulation.outcome": ("Simulation",),
    "simulation.service": ("simulate",),
    "simulation.steps": ("PrefillPool", "Sessions", "StepTimes"),
    "simulation.traces": ("read_trace",),
    "units": ("geomspace", "linspace"),
    "_base.versions": ("show_versions",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
# Public modules: the name under `roofslate`, and where it is.
_MODULES = {
    "charts": "lecture_report.charts",
    "ciphers": "simulation.ciphers",
    "errors": "errors",
    "math": "math",
    "moe": "simulation.moe",
    "scaling": "evaluation.scaling",
    "schedules": "simulation.schedules",
    "typing": "typing",
}
__all__ = sorted({*_HOME_OF, *_MODULES} - {"load_ipython_extension"})


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value = _import_module(f"roofslate.{_MODULES[name]}")
    elif name in _HOME_OF:
        value = getattr(_import_module(f"roofslate.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'roofslate' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _complete_in_ipython() -> None:
    """Complete names in an IPython that imports the package, Jupyter included."""
    ipython = _sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None:
        add_matcher = _import_module("roofslate._base.ipython").add_matcher
        add_matcher(shell, lambda *given: _import_module("roofslate.cli.completion").ipython_matches(*given))


_complete_in_ipython()
