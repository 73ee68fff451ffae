"""Draw the picture of the first page: ``python python/tools/first_picture.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import roofslate as rs
from roofslate.display import style

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "first-picture.svg"
MEASURED = ROOT / "python" / "roofslate" / "measured" / "data" / "serving.csv"
OUTPUT = "time_per_output_token"
STACK: dict[str, Any] = {
    "model": "Qwen3-32B",
    "hardware": "H100",
    "chips": 4,
    "tensor_parallel": 4,
    "weight_format": "bf16",
    "input_tokens": 4096,
    "output_tokens": 1024,
}
FRAMEWORK = {"framework": "vllm", "framework_version": "0.12.0"}


def measured_runs() -> pd.DataFrame:
    """Runs of the stack, by concurrency."""
    table = pd.read_csv(MEASURED)
    for name, value in {**STACK, **FRAMEWORK}.items():
        table = table[table[name] == value]
    return table.set_index("concurrency").sort_index()


def draw(path: Path = PICTURE) -> None:
    """Write bound, estimate, 80% interval and measured runs, by concurrency."""
    runs = measured_runs()
    fits = float(rs.value("memory_limited_sequences", STACK, calibration="serving"))
    steps = rs.geomspace(4, fits, 60)
    both = rs.evaluate(
        OUTPUT, STACK, concurrency=steps, calibration=["floor", "serving"], bands=0.8, units={OUTPUT: "ms"}
    )
    floor, estimate = (both[OUTPUT].sel(calibration=name) for name in ("floor", "serving"))
    lower, upper = (both[f"{OUTPUT}_{end}"].sel(calibration="serving") for end in ("lower", "upper"))
    axis = both["concurrency"].to_numpy()
    times = 1e3 * runs[f"{OUTPUT}_s"]
    plt.rcParams["svg.hashsalt"] = "roofslate"
    with style.drawing(None, (6.4, 3.4)) as ax:
        blue = style.COMPUTE["color"]
        ax.fill_between(axis, lower, upper, color=blue, alpha=0.15, linewidth=0)
        ax.plot(axis, estimate, color=blue, linewidth=2, linestyle="-")
        ax.plot(axis, floor, color=style.INK, linewidth=1.5, linestyle="--")
        ax.plot(times.index, times, "o", color=style.PALETTE[1], markersize=6, linestyle="none", zorder=3)
        ax.set(xscale="log", xlim=(4, 440), ylim=(0, 84), xlabel="concurrent requests", ylabel="ms per output token")
        ax.set_xticks([4, 8, 16, 32, 64, 128, 256], ["4", "8", "16", "32", "64", "128", "256"])
        ax.minorticks_off()
        last = {"lower bound": floor, "estimate": estimate}
        for words, line in last.items():
            color = blue if words == "estimate" else style.INK
            ax.annotate(words, (fits, float(line[-1])), (8, 0), textcoords="offset points", color=color, va="center")
        ax.annotate(
            "80% interval", (fits, float(upper[-1])), (8, 0), textcoords="offset points", color=blue, va="center"
        )
        ax.annotate(
            "measured, vLLM 0.12.0",
            (64, float(times[64])),
            (-14, 26),
            textcoords="offset points",
            ha="right",
            color=style.PALETTE[1],
            arrowprops={"arrowstyle": "-", "color": style.PALETTE[1]},
        )
        ax.axvline(fits, color=style.NOTE, linewidth=0.8, linestyle=":")
        ax.annotate(
            f"memory holds {fits:.0f}", (fits, 2), (-5, 0), textcoords="offset points", ha="right", color=style.NOTE
        )
        ax.set_yticks(range(0, 71, 10), map(str, range(0, 71, 10)))
        style.title(
            ax,
            "Time per output token by concurrency",
            below="Qwen3-32B in BF16 on 4 × H100, 4,096 tokens in, 1,024 out",
        )
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.savefig(path, metadata={"Date": None}, facecolor="white")
        plt.close(figure)


if __name__ == "__main__":
    draw()
    sys.stdout.write(f"{PICTURE}\n")
