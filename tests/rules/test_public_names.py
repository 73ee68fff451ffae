"""Public names are single objects, not hidden by modules, and nothing else is shown."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs

# A call of each public callable that ends at once: many with an input that only the callable refuses.
CALLS = {
    "Bands": "rs.Bands()",
    "Calibration": "rs.Calibration()",
    "CommandScenario": "rs.CommandScenario()",
    "Comparison": "rs.Comparison()",
    "Deployments": "rs.Deployments()",
    "Explanation": "rs.Explanation()",
    "Flashcards": "rs.Flashcards()",
    "Explorer": "rs.Explorer()",
    "Inference": "rs.Inference()",
    "LaunchCommand": "rs.LaunchCommand()",
    "LayoutValidation": "rs.LayoutValidation()",
    "Model": "rs.Model()",
    "PoolDeployments": "rs.PoolDeployments()",
    "PrefillPool": "rs.PrefillPool(2)",
    "Preset": "rs.Preset()",
    "Quantity": "rs.Quantity()",
    "RoofslateError": "rs.RoofslateError('message')",
    "RoofslateWarning": "rs.RoofslateWarning('message')",
    "Sessions": "rs.Sessions(turns=2)",
    "ServiceValidation": "rs.ServiceValidation()",
    "Simulation": "rs.Simulation()",
    "StepTimes": "rs.StepTimes(base=1, slope=1)",
    "Summary": "rs.Summary()",
    "Tornado": "rs.Tornado()",
    "Validation": "rs.Validation()",
    "VarianceShares": "rs.VarianceShares()",
    "answers": "rs.answers(chapter=99)",
    "best": "rs.best('hbm_drain_time', over='hbm_capacity', hbm_capacity=[1e9, 2e9], hbm_bandwidth=1e12)",
    "bounds": "rs.bounds('hbm_drain_time', hbm_capacity=(1e9, 2e9), hbm_bandwidth=1e12)",
    "calibrate": "rs.calibrate(rs.quantities(), ['no_input'], measured='no_column')",
    "calibration": "rs.calibration('none')",
    "claims": "rs.claims('none')",
    "clear_pool": "rs.clear_pool()",
    "compare": "rs.compare({'hbm_capacity': 1e9}, {'hbm_capacity': 2e9}, 'hbm_drain_time', hbm_bandwidth=1e12)",
    "conclusions": "rs.conclusions(no_input=1)",
    "count": "rs.count('hbm_drain_time < 1 s', hbm_capacity=[1e9, 2e9], hbm_bandwidth=1e12)",
    "crossovers": "rs.crossovers()",
    "define": "rs.define('no name', '1', '2 * batch_size', brief='none')",
    "definitions": "rs.definitions()",
    "deploy": "rs.deploy(objective='none')",
    "evaluate": "rs.evaluate('hbm_drain_time', hbm_capacity=[1e9, 2e9], hbm_bandwidth=1e12)",
    "explain": "rs.explain('hbm_drain_time', hbm_capacity=1e9, hbm_bandwidth=1e12)",
    "explore": "rs.explore('none')",
    "flashcards": "rs.flashcards()",
    "frame": "rs.frame(rs.quantities(), 'none')",
    "from_command": "rs.from_command('vllm serve Llama-3.1-8B')",
    "geomspace": "rs.geomspace(1, 10, 3)",
    "gradient": "rs.gradient('hbm_drain_time', hbm_capacity=1e9, hbm_bandwidth=1e12)",
    "histogram": "rs.histogram('hbm_drain_time', hbm_capacity=[1e9, 2e9], hbm_bandwidth=1e12)",
    "inconsistencies": "rs.inconsistencies(chapter=99)",
    "infer": "rs.infer('none')",
    "launch_command": "rs.launch_command(model='Llama-3.1-8B', chips=1)",
    "lecture": "rs.lecture(chapter=99)",
    "linspace": "rs.linspace(1, 10, 3)",
    "kernel_facts": "rs.kernel_facts('H100')",
    "load_presets": "rs.load_presets('no file')",
    "number_formats": "rs.number_formats('H100')",
    "pareto": "rs.pareto(minimize='none', maximize='none', over='hbm_capacity', hbm_capacity=[1e9, 2e9])",
    "plot": "rs.plot('none')",
    "quantiles": "rs.quantiles('hbm_drain_time', 0.5, hbm_capacity=[1e9, 2e9], hbm_bandwidth=1e12)",
    "quantities": "rs.quantities('drain')",
    "quantity": "rs.quantity('hbm_drain_time')",
    "read_benchmarks": "rs.read_benchmarks('no file')",
    "read_trace": "rs.read_trace(1)",
    "sample": "rs.sample('no_quantity', 2, seed=1)",
    "sensitivity": "rs.sensitivity('hbm_drain_time', hbm_capacity=1e9, hbm_bandwidth=1e12)",
    "show_versions": "rs.show_versions(io.StringIO())",
    "simulate": "rs.simulate(seed=1)",
    "sobol": "rs.sobol('no_quantity', 2, seed=1)",
    "solve": "rs.solve('hbm_capacity', 'hbm_drain_time == 1 s', hbm_bandwidth=1e12)",
    "summary": "rs.summary(batch_size=0)",
    "Summaries": "rs.Summaries((rs.summary(hardware='H100'),))",
    "sweep": "rs.sweep('no file', 'hbm_drain_time', 'no target')",
    "load": "rs.load('no file')",
    "save": "rs.save(None, 'no file')",
    "to_excel": "rs.to_excel('no file', 'hbm_drain_time', hbm_capacity=1e9, hbm_bandwidth=1e12)",
    "to_units": "rs.to_units(rs.evaluate('hbm_drain_time', hbm_capacity=1e9, hbm_bandwidth=1e12), 'ms')",
    "tornado": "rs.tornado('no_quantity')",
    "validate": "rs.validate(rs.quantities())",
    "validate_layouts": "rs.validate_layouts('none')",
    "validate_service": "rs.validate_service(services=0)",
    "value": "rs.value('hbm_drain_time', hbm_capacity=1e9, hbm_bandwidth=1e12)",
}
MODULES = {"charts", "ciphers", "errors", "math", "moe", "scaling", "schedules", "typing"}
CATALOGS = {
    "api_prices", "engines", "hardware", "loss_laws", "models", "prices", "sites", "speculators", "storage",
    "workloads",
}  # fmt: skip
# In the order of `first`, names are used before all modules are imported or after.
TWICE = """
import importlib, io, pkgutil, types
import roofslate as rs

def take(of):
    return {{name: getattr(of, name) for name in of.__all__}}

def load_all():
    for module in pkgutil.walk_packages(rs.__path__, "roofslate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

if {modules_first}:
    load_all()
before = take(rs), take(rs.charts)
load_all()
after = take(rs), take(rs.charts)
for old, new in zip(before, after):
    assert [name for name in old if old[name] is not new[name]] == []
assert {{name for name in rs.__all__ if isinstance(getattr(rs, name), types.ModuleType)}} == {modules}
assert [name for name in rs.charts.__all__ if isinstance(getattr(rs.charts, name), types.ModuleType)] == []
for name, call in {calls}.items():
    try:
        eval(call)
    except rs.RoofslateError:
        pass
    except TypeError as error:
        assert name[0].isupper() and "module" not in str(error), (call, error)  # a class without its arguments
"""


def test_every_callable_is_called() -> None:
    assert {name for name in rs.__all__ if callable(getattr(rs, name))} == set(CALLS)
    assert set(rs.__all__) == {*CALLS, *MODULES, *CATALOGS}


@pytest.mark.parametrize("modules_first", [False, True])
def test_a_name_taken_twice_is_one_object(run_python: Any, modules_first: bool) -> None:
    """Names are equal before and after importing all modules and calling each callable."""
    run_python(TWICE.format(modules_first=modules_first, modules=MODULES, calls=CALLS), MPLBACKEND="Agg")


@pytest.mark.parametrize("module", [rs, rs.charts], ids=lambda module: module.__name__)
def test_only_public_names_are_shown(module: Any) -> None:
    """Completion in a shell shows the listed names, and no internal module or type."""
    assert sorted(name for name in dir(module) if not name.startswith("_")) == sorted(module.__all__)
