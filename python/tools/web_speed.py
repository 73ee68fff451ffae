"""Measure size, start-up and speed of the engine of web pages.

It needs `make wasm` and Node. The native core runs the base instruction set on one thread, like pages::

    python python/tools/web_speed.py
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import web_bits

ROOT = Path(__file__).resolve().parents[2]
SURFACE: dict[str, Any] = {
    "output": "cost_per_token",
    "axes": {"batch_size": (1.0, 8192.0, 1000), "context_length": (1.0, 1e6, 1000)},
}
NATIVE = """
import json, sys, time
import numpy as np
from roofslate import _core
question = json.loads(sys.argv[1])
axes = question["axes"].items()
grid = lambda: _core.Grid([size for _, (_, _, size) in axes], question["inputs"] | {
    name: (np.linspace(low, high, size), [k]) for k, (name, (low, high, size)) in enumerate(axes)}, [])
best = 9.9
for _ in range(30):
    start = time.process_time()
    ((values, _),) = grid().evaluate([question["output"]], [], 1, None, "float64")
    best = min(best, time.process_time() - start)
print(1e9 * best / values.size)
"""


def question() -> str:
    """The surface as JSON, with the numbers of a model on a system."""
    from roofslate.grid.read import read_grid

    given = {name: list(ends[:2]) for name, ends in SURFACE["axes"].items()}
    scenario = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "chip_price": "3 USD/h"}
    grid = read_grid({**scenario, **given}, [SURFACE["output"]])
    inputs = {name: i.number for name, i in grid.inputs.items() if not i.dims}
    return json.dumps({**SURFACE, "inputs": inputs})


def measure() -> dict[str, float]:
    """Bytes gzipped, milliseconds of the start, nanoseconds per point, ratio of speeds."""
    content = question()
    web = ["node", str(ROOT / "tests" / "web" / "speed.mjs"), str(web_bits.ENGINE), content]
    native = [sys.executable, "-c", NATIVE, content]
    base = {**os.environ, "ROOFSLATE_SIMD": "base"}
    result: dict[str, float] = {"gzipped": len(gzip.compress(web_bits.ENGINE.read_bytes(), 9, mtime=0))}
    result |= json.loads(subprocess.run(web, capture_output=True, text=True, check=True).stdout)
    result["native"] = float(subprocess.run(native, capture_output=True, text=True, check=True, env=base).stdout)
    return result | {"ratio": result["native"] / result["nanoseconds"]}


def main() -> int:
    if lacking := web_bits.missing():
        raise SystemExit(f"not there: {', '.join(lacking)} (make wasm; Debian: nodejs)")
    for name, value in measure().items():
        print(f"{name:<12} {value:.6g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
