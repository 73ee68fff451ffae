"""Measurements of drawn figures, and random inputs of charts."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from roofslate import charts
from roofslate.errors import MissingInput, RoofslateError
from roofslate.registry.registry import entries

from support.lazy import Lazy

if TYPE_CHECKING:
    from matplotlib.text import Text
    from roofslate.plotting.chart import Chart

mpl = Lazy("matplotlib")
pyplot = Lazy("matplotlib.pyplot")

COLUMN = 6.5  # inches: a letter page within margins of an inch
LEAST_POINTS = 8.0
LEAST_CONTRAST = 4.5  # WCAG 2.2, level AA


def shown_texts(figure: Any) -> list[tuple[Text, Any]]:
    """Visible texts of a drawn figure with their boxes, ticks within their axes included."""
    boxes = []
    for ax in figure.findobj(mpl.axes.Axes):
        ticks = [
            tick.label1
            for axis in (ax.xaxis, ax.yaxis)
            if ax.axison and axis.get_visible()
            for tick in axis.get_major_ticks()
        ]
        titles = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label] if ax.axison else [ax._left_title]
        legend = ax.get_legend()
        keys = [] if legend is None else [*legend.get_texts(), legend.get_title()]
        low, high = ax.get_window_extent().get_points()
        for text in (*ax.texts, *ticks, *titles, *keys):
            if not (text.get_visible() and text.get_text().strip()):
                continue
            box = mpl.text.Text.get_window_extent(text)  # of the words, not of their arrow
            x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
            within = low[0] - 1 <= x <= high[0] + 1 if y < low[1] else low[1] - 1 <= y <= high[1] + 1
            if text not in ticks or within:  # ticks beyond the ends of an axis are not drawn
                boxes.append((text, box))
    return boxes


def cut_texts(figure: Any) -> list[str]:
    """Texts that reach beyond the figure."""
    frame = figure.bbox
    return [
        text.get_text()
        for text, box in shown_texts(figure)
        if box.x0 < frame.x0 - 1 or box.x1 > frame.x1 + 1 or box.y0 < frame.y0 - 1 or box.y1 > frame.y1 + 1
    ]


def overlaps(figure: Any) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes overlap by 2 pixels in width and 3 in height."""
    pairs = []
    for (text, box), (other, second) in itertools.combinations(shown_texts(figure), 2):
        width = min(box.x1, second.x1) - max(box.x0, second.x0)
        height = min(box.y1, second.y1) - max(box.y0, second.y0)
        if width >= 2 and height >= 3:
            pairs.append((text.get_text(), other.get_text()))
    return pairs


def small_texts(figure: Any) -> list[tuple[str, float]]:
    """Texts below 8 points when the figure is as wide as a column."""
    scale = min(1.0, COLUMN / figure.get_figwidth())
    sizes = {text.get_text(): scale * text.get_fontsize() for text, _ in shown_texts(figure)}
    return [(text, points) for text, points in sizes.items() if points < LEAST_POINTS - 1e-9]


def luminance(color: Any) -> float:
    """Relative luminance of WCAG 2.2."""
    channels = np.asarray(mpl.colors.to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(color: Any, background: Any) -> float:
    """Contrast ratio of WCAG 2.2."""
    low, high = sorted((luminance(color), luminance(background)))
    return (high + 0.05) / (low + 0.05)


def _over(color: Any, background: Any) -> tuple[float, ...]:
    """Color seen through its transparency."""
    *channels, alpha = mpl.colors.to_rgba(color)
    below = mpl.colors.to_rgb(background)
    return tuple(alpha * c + (1 - alpha) * b for c, b in zip(channels, below, strict=True))


def _behind(text: Text, box: Any, figure: Any) -> Any:
    """Background of a text: its halo or the last patch drawn around its middle."""
    ground = mpl.colors.to_rgb(figure.get_facecolor())
    halo = text.get_bbox_patch()
    if halo is not None and halo.get_facecolor()[3] > 0:
        return _over(halo.get_facecolor(), ground)
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    patches = [] if text.axes is None else sorted(text.axes.patches, key=lambda patch: patch.get_zorder())
    for patch in patches:
        if isinstance(patch, mpl.patches.FancyArrowPatch):
            continue
        if patch.get_facecolor()[3] > 0 and patch.get_fill() and patch.contains_point(middle):
            ground = _over(patch.get_facecolor(), ground)
    return ground


def faint_texts(figure: Any) -> list[tuple[str, float]]:
    """Texts with a contrast below 4.5."""
    ratios = [
        (text.get_text(), contrast(_over(text.get_color(), ground), ground))
        for text, box in shown_texts(figure)
        for ground in [_behind(text, box, figure)]
    ]
    return [(text, ratio) for text, ratio in ratios if ratio < LEAST_CONTRAST]


def faint_lines(figure: Any) -> list[tuple[str, float]]:
    """Lines of axes with a contrast below 4.5 to the background."""
    ground = mpl.colors.to_rgb(figure.get_facecolor())
    lines: list[Any] = []
    for ax in figure.findobj(mpl.axes.Axes):
        # a translucent line is a highlight below others
        lines += [
            line
            for line in ax.get_lines()
            if line.get_visible() and np.size(line.get_xdata()) and (line.get_alpha() or 1) > 0.5
        ]
    faint = []
    for line in lines:
        drawn = line.get_linestyle() not in ("None", "none", " ", "")
        color = line.get_color() if drawn else line.get_markeredgecolor()
        ratio = contrast(_over(mpl.colors.to_rgba(color, line.get_alpha()), ground), ground)
        if ratio < LEAST_CONTRAST:
            faint.append((str(line.get_label()), ratio))
    return faint


# ------------------------------------------------------------------------------------------------------ random inputs

_MODELS = ("DeepSeek-V3", "Llama-3.1-70B", "Llama-3.1-405B", "gpt-oss-120b", "Qwen3-235B-A22B", "Kimi-K2", "Mistral-7B")
_MACHINES = ("HGX H100", "HGX H200", "GB200 NVL72", "Vera Rubin NVL72")
_CHIPS = (
    "A100-80",
    "H100",
    "H200",
    "B200",
    "GB200",
    "GB300",
    "Rubin",
    "MI300X",
    "MI325X",
    "MI355X",
    "TPU v5e",
    "TPU v5p",
)
_SYSTEMS = ("HGX H100", "HGX H200", "GB200 NVL72", "GB300 NVL72", "Vera Rubin NVL72", "Rubin Ultra NVL576", "MI300X")
_SYSTEMS += ("Trainium2", "TPU v5p", "TPU 7x")
_LISTS = ("lecture", "Gemini 2.5 Pro", "Gemini 3.1 Pro", "Claude Opus 4.6 until 2026-03-12", "GPT-5.5", "DeepSeek-V3")
_SCHEDULES = ("gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "dualpipe")
_HOLD = {"calibration"}  # keywords never drawn


def _several(rng: np.random.Generator, names: tuple[str, ...], least: int = 1) -> list[str]:
    count = int(rng.integers(least, len(names) + 1))
    return [str(name) for name in rng.permutation(np.array(names))[:count]]


def _lists(name: str, rng: np.random.Generator) -> dict[str, Any] | None:
    """Inputs of charts that compare named things."""
    match name:
        case "scale_up_domains":
            return {"hardware": _several(rng, _SYSTEMS)}
        case "roofline":
            return {"hardware": _several(rng, _CHIPS[:9]), "compute_format": "bf16"}
        case "machine_balance":
            return {"hardware": _several(rng, _CHIPS), "weight_format": "bf16"}
        case "hardware_generations":
            return {"hardware": _several(rng, _CHIPS, 2), "weight_format": str(rng.choice(["bf16", "fp8"]))}
        case "price_map":
            return {"lists": _several(rng, _LISTS), "architectures": _several(rng, _MODELS)}
        case "training_bubble":
            return {
                "pipeline_schedule": _several(rng, _SCHEDULES),
                "pipeline_stages": int(rng.integers(1, 7)) * 2,
                "microbatches": int(rng.integers(2, 9)) * 4,
            }
        case "waiting_vs_load":
            return {"sequence_slots": sorted({int(x) for x in rng.integers(1, 3000, 4)})}
        case _:
            return None


def _varied(name: str, x: Any, rng: np.random.Generator) -> Any:
    """Another value of an input, within a factor of 4 of the lecture's and within its range."""
    quantity = entries().get(name)
    if isinstance(x, bool):
        return bool(rng.integers(2))
    if isinstance(x, str):
        return str(rng.choice(quantity.choices)) if quantity is not None and quantity.choices else x
    value = x * math.exp(rng.uniform(-math.log(4), math.log(4))) if x else x
    if quantity is not None:
        value = min(max(value, quantity.low), quantity.high)
    return round(value) if isinstance(x, int) else float(f"{value:.4g}")


def _machine(chart: Chart, rng: np.random.Generator, pool: dict[str, Any]) -> dict[str, Any] | None:
    """Inputs of a model on a system, completed from a pool of values."""
    inputs: dict[str, Any] = {"model": str(rng.choice(_MODELS)), "hardware": str(rng.choice(_MACHINES))}
    for _ in range(12):
        try:
            chart.data(**inputs)
        except MissingInput as error:  # noqa: PERF203 - a dozen calls, each names an input of the next
            name = next(
                (name for name in re.findall(r"'(\w+)'", str(error)) if name in pool and name not in inputs), None
            )
            if name is None:
                return None
            inputs[name] = _varied(name, pool[name], rng)
        except (RoofslateError, TypeError):  # a chart without machines takes none
            return None
        else:
            return inputs
    return None


def value_pool() -> dict[str, Any]:
    """Every declared input of charts, at its first value."""
    pool: dict[str, Any] = {
        "weight_format": "fp8",
        "kv_format": "fp8",
        "compute_format": "bf16",
        "prefill_utilization": 0.5,
    }
    for chart in charts.all():
        for name, x in chart.inputs.items():
            pool.setdefault(name, x)
    pool |= {"chip_price": 0.0008, "context_length": 20_000.0, "batch_size": 64, "pipeline_stages": 4}
    return pool


def random_inputs(chart: Chart, count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Draw accepted calls of a chart, with named things or other machines."""
    rng = np.random.default_rng([seed, int(chart.number[1:])])
    pool = value_pool()
    accepted = 0
    for trial in range(30 * count):
        if accepted == count:
            return
        inputs = _lists(chart.name, rng)
        if inputs is None and trial % 3 == 2:
            inputs = _machine(chart, rng, pool)
        if inputs is None:
            start = {name: x for name, x in chart.inputs.items() if name not in _HOLD}
            names = [name for name in start if rng.random() < 0.6] or list(start)[:1]
            inputs = {name: _varied(name, start[name], rng) for name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                chart.data(**inputs)
            except RoofslateError:
                continue
        accepted += 1
        yield inputs
    assert accepted == count, f"{chart.name}: only {accepted} of {count} random inputs are accepted"


@contextlib.contextmanager
def drawn(chart: Chart, *, ground: str = "white", **inputs: Any) -> Iterator[Any]:
    """Axes of a chart, its figure drawn on a canvas, closed at the end of the block."""
    with (
        mpl.rc_context({**mpl.rcParamsDefault, "backend": "Agg", "figure.facecolor": ground}),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", category=UserWarning)
        ax = chart(**inputs)
        ax.figure.canvas.draw()
        try:
            yield ax
        finally:
            pyplot.close(ax.figure)
