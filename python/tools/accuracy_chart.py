"""Draw the bands of the serving estimate: ``python python/tools/accuracy_chart.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import roofslate as rs
from roofslate.display import style
from roofslate.presets.fits import PERCENTILES

CHART = Path(__file__).parents[2] / "docs" / "explanation" / "accuracy-support.svg"
KINDS = {
    "measured": "interpolated",
    "framework": "another framework",
    "hardware": "another chip",
    "model": "another model",
}
OUTPUTS = {"time_per_output_token": "time per output token", "time_to_first_token": "time to first token"}


def draw(path: Path = CHART) -> None:
    """Write the chart of measured relative to predicted values, 50% and 80% bands."""
    fits = rs.calibration().fits
    plt.rcParams["svg.hashsalt"] = "roofslate"
    with style.drawing(None, (6.4, 2.6)) as first:
        figure = first.get_figure(root=True)
        assert figure is not None
        figure.clear()
        axes = figure.subplots(1, 2, sharey=True)
        for ax, (output, title) in zip(axes, OUTPUTS.items(), strict=True):
            for row, kind in enumerate(KINDS):
                spread = fits[output].spread[kind]
                low, lower, middle, upper, high = np.exp(np.interp([0.1, 0.25, 0.5, 0.75, 0.9], PERCENTILES, spread))
                ax.plot([low, high], [row, row], color=style.NOTE, linewidth=1.5, linestyle="-")
                ax.plot([lower, upper], [row, row], color=style.INK, linewidth=5, linestyle="-", solid_capstyle="butt")
                ax.plot(middle, row, marker="|", color="white", markersize=9)
            ax.axvline(1, color=style.INK, linewidth=0.8, linestyle="--")
            ax.set(xscale="log", xlim=(0.4, 8), title=title, xlabel="measured / predicted")
            ax.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
            ax.minorticks_off()
        axes[0].set_yticks(range(len(KINDS)), KINDS.values())
        axes[0].invert_yaxis()
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)


if __name__ == "__main__":
    draw()
    sys.stdout.write(f"{CHART}\n")
