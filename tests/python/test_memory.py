"""Memory: promised before allocation, released, and little more than the results."""

import gc
import json
import re

import numpy as np
import pytest
import roofslate as rs
from roofslate import _core, errors
from support.checks import cases
from support.processes import IN_COPIES

PEAK = """
import re, numpy as np, roofslate as rs, xarray as xr
from roofslate import _core


def memory(key):
    with open("/proc/self/status") as file:
        return int(re.search(key + r":\\s*(\\d+) kB", file.read())[1]) * 1024


def peak_of(outputs, question):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark starts again
    before = memory("VmRSS")
    found = rs.evaluate(outputs, question)
    results = [*(found.values() if isinstance(outputs, list) else [found]), *found.coords.values()]
    size = sum(array.nbytes for array in results)
    return (memory("VmHWM") - before - size) / 2**20, size / 2**20


decode = dict(
    total_parameters=671e9,
    active_parameters=37e9,
    bytes_per_weight=0.5,
    kv_bytes_per_token=1667.0,
    peak_flops=9e15,
    hbm_bandwidth=8e12,
    chip_price=1e-3,
    chips=72.0,
    batch_size=100.0,
    context_length=1e4,
)
batch, context = np.linspace(1, 4000, 3000), np.linspace(1, 1e5, 4000)
"""
WARM = 'rs.evaluate(["pass_time", "cost_per_token"], **{**decode, "batch_size": np.linspace(1, 5, 1000)})'
QUESTIONS = {
    "grid": "peak_of('pass_time', {**decode, 'batch_size': batch, 'context_length': context})",
    "four outputs": "peak_of(['pass_time', 'cost_per_token', 'memory_time', 'compute_utilization'], "
    "{**decode, 'batch_size': batch, 'context_length': context})",
    "short axes": "peak_of('cost_per_token', {**decode, **{name: np.linspace(.5, 1, 17) * decode[name] for name in "
    "('batch_size', 'context_length', 'chips', 'hbm_bandwidth', 'kv_bytes_per_token')}})",
    "one long axis": "peak_of('cost_per_token', {**decode, 'batch_size': np.linspace(1, 4000, 12_000_000)})",
    "turned input": "peak_of('cost_per_token', {**decode, 'batch_size': turned})",
    "every second": "peak_of('cost_per_token', {**decode, 'batch_size': second})",
    "table": "peak_of(['cost_per_token', 'pass_time'], "
    "{**decode, 'batch_size': row, 'context_length': row, 'kv_bytes_per_token': row})",
}
PREPARE = {
    "turned input": "rng = np.random.default_rng(1)\n"
    "turned = xr.DataArray(rng.random((3000, 4000)) + 1, dims=('a', 'b')).transpose('b', 'a')\n"
    "decode['context_length'] = xr.DataArray(rng.random((4000, 3000)) + 1, dims=('b', 'a'))",
    "every second": "rng = np.random.default_rng(1)\n"
    "second = xr.DataArray(rng.random((3000, 8000))[:, ::2] + 1, dims=('a', 'b'))[:, ::-1]",
    "table": "row = xr.DataArray(np.random.default_rng(1).random(4_000_000) + 1, dims='row')",
}


@pytest.mark.measured
def test_an_evaluation_takes_its_results_and_a_little(run_python):
    pieces = {name: "\n".join([WARM, PREPARE.get(name, ""), f"print({ask})"]) for name, ask in QUESTIONS.items()}
    printed = json.loads(run_python(PEAK + IN_COPIES.format(pieces=pieces)))
    assert list(printed) == list(QUESTIONS)
    with cases() as case:
        for name, figures in printed.items():
            with case(name):
                more, size = eval(figures)
                assert more <= 64, f"{more:.0f} MB besides results of {size:.0f} MB"


def test_a_grid_larger_than_memory_is_refused_at_once(decode):
    question = {**decode, "batch_size": np.linspace(1, 1e4, 100_000), "context_length": np.linspace(1, 1e5, 100_000)}
    free = _core.available_memory()
    with pytest.raises(errors.OutOfMemory) as caught:
        rs.evaluate("pass_time", {k: v for k, v in question.items() if k != "chips"}, chips=[64, 72, 80])
    message = str(caught.value)
    needed, available = (int(number) for number in re.findall(r"(\d+) bytes", message))
    assert needed == 3 * 8 * 10**10
    assert available == pytest.approx(free, rel=0.2)
    assert "nothing was computed" in message
    assert "out=" in message
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(errors.OutOfMemory):
        rs.evaluate(["pass_time"] * 1 + ["cost_per_token"], question)


@pytest.mark.parametrize(("axes", "length"), [(3, 2**20), (4, 2**16), (4, 2**15 + 1), (7, 2**9), (16, 16), (16, 1000)])
def test_a_grid_beyond_all_numbers_is_refused(axes, length, run_python):
    """Grids of more points than a 64-bit number counts are refused, as products wrap around."""
    code = f"""
import numpy as np, roofslate as rs
names = '''batch_size context_length pass_length chips pipeline_stages active_parameters bytes_per_weight
kv_bytes_per_token peak_flops
hbm_bandwidth compute_efficiency bandwidth_efficiency chip_price microbatches monthly_tokens month'''.split()
low = dict(total_parameters=10.) | dict.fromkeys(names, 1.) | dict(chip_price=1e-4)
most = dict(compute_efficiency=1, bandwidth_efficiency=1, chip_price=1e-3)
axes = {{name: np.linspace(.5, 1, {length}) * most.get(name, 2) for name in names[:{axes}]}}
try:
    rs.evaluate(["replicas_for_market", "cost_per_token"], {{**low, **axes}})
except rs.errors.OutOfMemory as error:
    print("refused")
"""
    done = run_python(code, check=False)
    assert done.stdout.strip() == "refused", (done.returncode, done.stderr[-500:])


def test_freed_results_are_used_again(decode):
    rs.clear_pool()
    question = {**decode, "batch_size": np.linspace(1, 4000, 1000), "context_length": np.linspace(1, 1e5, 1000)}
    first = rs.evaluate("pass_time", question)
    values = first.to_numpy().copy()
    position = first.to_numpy().ctypes.data
    assert position % 64 == 0
    del first
    gc.collect()
    assert _core.pool_bytes() >= 8_000_000
    second = rs.evaluate("pass_time", question)
    assert second.to_numpy().ctypes.data == position
    assert np.array_equal(second, values)
    del second
    gc.collect()
    rs.clear_pool()
    assert _core.pool_bytes() == 0


def test_a_view_keeps_its_memory(decode):
    rs.clear_pool()
    question = {**decode, "batch_size": np.linspace(1, 4000, 1000), "context_length": np.linspace(1, 1e5, 300)}
    row = rs.evaluate("pass_time", question).to_numpy()[7]
    copy = row.copy()
    gc.collect()
    for _ in range(3):
        rs.evaluate("pass_time", {**question, "chips": 8})
    assert np.array_equal(row, copy)


def test_the_pool_is_bounded(run_python):
    code = """
import os, numpy as np, roofslate as rs
from roofslate import _core

limit = min(2 * 2**30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)
row = np.linspace(1, 2, 3000)
count = limit // (3000 * 5000 * 8) + 3
held = [rs.evaluate("pass_tokens", batch_size=row, pass_length=np.linspace(1, 2, 5000 + k)) for k in range(count)]
del held
print(limit // 2 < _core.pool_bytes() <= limit)
"""
    assert run_python(code) == "True"
