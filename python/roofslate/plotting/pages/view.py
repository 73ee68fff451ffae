"""Views of a page: outputs, controls, presets, and bands, as names and numbers."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core, units
from roofslate.display import style
from roofslate.errors import AxisError, InputTypeError, PresetError, RoofslateError, RoofslateWarning
from roofslate.evaluation.bands import band_factors, calibrated_of
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.grid.basis import carries_constants, default_estimate
from roofslate.grid.layout_rules import LAYOUT
from roofslate.grid.read import Settled, read_grid
from roofslate.plotting.controls import label_of, sliding
from roofslate.plotting.spacing import FEW
from roofslate.presets.calibration import Bands
from roofslate.presets.catalog import measured_as
from roofslate.presets.lookup import PRESETS, find_preset, preset_numbers, replaced_by
from roofslate.registry.registry import ancestors, current, entries, lookup
from roofslate.registry.values import is_distribution, number, numbers, wanted_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.presets.preset import Preset

__all__ = ["View", "preset_data", "view_of"]

_BINDING = "bottleneck"
_LEVEL = 0.8
_FLOOR = "floor"
_CALIBRATION = "calibration"
_MOST_POINTS = 20_000
_LAYOUT = ("chips", "tensor_parallel", "pipeline_stages", "attention_data_parallel")  # the product of all others first
_NO_LAYOUT = "An estimate needs a layout: tensor_parallel, pipeline_stages and attention_data_parallel."
_BOUND = "bound: ideal machine, from below for times and costs."


@dataclass
class View:
    """One chart with its controls and numbers, as data of a page.

    Attributes
    ----------
    name, title, brief : str
    outputs : list of str
        Quantities whose numbers are shown.
    groups : list of list of str
        Quantities that are drawn together, of one unit each.
    controls : list of dict
        By input: kind, start value, range of the slider.
    axis, up : dict or None
        The horizontal axis with its points, and the vertical axis of a heat map.
    fixed : dict of float
        Inputs without a control, in base units.
    presets, names, replaced : dict
        Presets without a control, the names of each menu, and members of presets that explicit inputs replace.
    variants : list of dict
        Bound and estimate, or one of them.
    bands : dict
        By output: the factors from the estimate to both ends.
    basis, caption : str
    written : dict of str
        Inputs without a control as Python code.
    formulas : set of str
        Quantities whose formulas the page shows.
    points : dict of list
        Points of all axes among the inputs.
    long : list of str
        Those with too many points for a line each.
    """

    name: str
    title: str
    brief: str
    outputs: list[str]
    groups: list[list[str]] = field(default_factory=list)
    controls: list[dict[str, Any]] = field(default_factory=list)
    axis: dict[str, Any] | None = None
    up: dict[str, Any] | None = None
    fixed: dict[str, float] = field(default_factory=dict)
    presets: dict[str, str] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    replaced: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    variants: list[dict[str, Any]] = field(default_factory=list)
    bands: dict[str, Any] = field(default_factory=dict)
    basis: str = ""
    caption: str = ""
    written: dict[str, str] = field(default_factory=dict)
    formulas: set[str] = field(default_factory=set)
    known: dict[str, dict[str, Preset]] = field(default_factory=dict)
    points: dict[str, list[float]] = field(default_factory=dict)
    long: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the view as data of a page."""
        names = ("name", "title", "brief", "outputs", "groups", "controls", "axis", "up", "fixed", "presets")
        data = {
            name: getattr(self, name) for name in (*names, "names", "replaced", "variants", "bands", "basis", "caption")
        }
        carries = [name for name in self.outputs if carries_constants(name, current())]
        given = {*self.fixed, *(one["name"] for one in self.controls)}
        layout = [name for name in _LAYOUT if name in given] if given.issuperset(_LAYOUT) else []
        return {
            **data,
            "layout": layout,
            "carries": carries,
            "level": f"{100 * _LEVEL:g}%",
            "code": {"fixed": self.written},
        }

    @property
    def quantities(self) -> list[str]:
        """All quantities of the page: outputs, inputs, and steps of derivations."""
        outputs = [*self.outputs, *(variant["binding"] for variant in self.variants if variant["binding"])]
        inputs = [one["name"] for one in self.controls if one["kind"] != "preset"]
        return list(dict.fromkeys([*outputs, *inputs, *sorted(_upstream(outputs))]))


def _upstream(outputs: Sequence[str]) -> set[str]:
    """Return all quantities whose value or presence may change an output."""
    known = entries()
    reached: set[str] = set()
    waiting = list(outputs)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in known:
            continue
        reached.add(name)
        q = known[name]
        waiting += [*q.needs, *q.implied_by, *q.replaced_where, *q.replaced_unless]
        waiting += [other for other in (q.fallback, q.replaced_by, q.changed, q.bound) if other]
    return reached


def view_of(
    outputs: str | Sequence[str],
    inputs: Mapping[str, Any],
    *,
    name: str = "",
    title: str = "",
    brief: str = "",
    starts: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    groups: Sequence[Sequence[str]] | None = None,
    axis: str | None = None,
    up: str | None = None,
    estimate: bool = True,
) -> View:
    """Resolve outputs and inputs to a view.

    Parameters
    ----------
    outputs : str or list of str
    inputs : mapping
        As for `explore`: a number gets a slider, a tuple is the range of one, a list an axis, a preset a menu.
    name, title, brief : str
        By default of the first output.
    starts : mapping, optional
        Start values of controls whose inputs are ranges or axes.
    fixed : mapping, optional
        Inputs without a control.
    groups : list of list of str, optional
        Outputs that are drawn together. By default each by itself.
    axis : str, optional
        The input along which the chart is drawn. By default the first axis among the inputs, or the first slider.
    up : str, optional
        The vertical axis, for a heat map. By default the second axis among the inputs, if both have more than 8 points.
    estimate : bool
        Bound and estimate, as far as there are both. Otherwise the values without a calibration.

    Raises
    ------
    RoofslateError
        If the outputs cannot be computed from the inputs.
    """
    output_names = wanted_names([outputs] if isinstance(outputs, str) else list(outputs))
    first = lookup(output_names[0])
    view = View(name or first.name, title or style.words(first.name), brief or first.brief, list(output_names))
    point = {}
    for input_name, given in inputs.items():
        if input_name == _CALIBRATION:
            continue
        start = (starts or {}).get(input_name)
        if input_name in PRESETS:
            point[input_name] = _add_preset(view, input_name, given, start)
        else:
            point[input_name] = _add_input(view, input_name, given, start)
    point |= _fixed(view, fixed or {})
    _choose_axes(view, axis, up)
    if estimate:
        _add_variants(view, point, inputs.get(_CALIBRATION))
    else:
        _add_variant(view, "value", "", None, view.outputs, point)
    _fill_menus(view, point)
    drawn = [x for x in view.outputs if not lookup(x).choices]
    view.groups = [list(group) for group in groups] if groups else [[output] for output in drawn]
    if view.axis is not None:  # those that vary along the axis first
        axis_name = view.axis["name"]
        view.groups.sort(key=lambda group: axis_name not in _upstream(group))
    view.caption = "Numbers at the point of the inputs"
    return view


def _add_preset(view: View, keyword: str, given: Any, start: Any) -> Any:
    """Add a menu of presets, or a preset outside the catalogs, and return its start."""
    names = [find_preset(keyword, one).name for one in given] if isinstance(given, list) else []
    preset = find_preset(keyword, start or (given[0] if isinstance(given, list) else given))
    catalog = PRESETS[keyword]
    if preset.name not in catalog or catalog[preset.name] != preset:
        if names:
            raise PresetError(f"{keyword}: {preset.name!r} is in no catalog, so a page has no menu of it")
        view.presets[keyword] = preset.name
        view.known[keyword] = {preset.name: preset}
        view.written |= {name: repr(x) for name, x in preset.values.items()}
        return preset
    view.names[keyword] = names or list(catalog)
    view.controls.append(
        {"name": keyword, "kind": "preset", "label": style.words(keyword), "value": preset.name, "open": not names}
    )
    return preset.name


def _add_input(view: View, name: str, given: Any, start: Any) -> Any:
    """Add the control of an input, and return its start value in base units, or its word."""
    q = entries().get(name)
    if q is None:
        lookup(name)
        raise InputTypeError(f"{name}: a page has controls for quantities only")
    if is_distribution(given):
        raise InputTypeError(f"{name}: a page takes no distribution; give a number or a range")
    control: dict[str, Any] = {"name": name, "label": label_of(q)}
    if q.choices:
        word = start or (given[0] if isinstance(given, list) else given)
        word = q.choices[int(number(word, q))]
        view.controls.append({**control, "kind": "choice", "value": word})
        return word
    points = _points(q, given)
    if points is not None:
        given = (float(points.min()), float(points.max())) if points.min() < points.max() else float(points[0])
        start = float(points[len(points) // 2]) if start is None else start
        if len(points) > FEW:
            view.long.append(name)
        view.points[name] = points.tolist()
        if view.axis is None:
            view.axis = {"name": name, "values": points.tolist()}
    slider = sliding(q, given)
    x = slider.value if start is None else number(start, q)
    track = slider.track
    data = None
    if track is not None:
        data = {key: getattr(track, key) for key in ("low", "high", "spacing", "integral", "digits")}
    integer = slider.integer and points is None
    view.controls.append({**control, "kind": "number", "value": x, "track": data, "integer": integer and not q.theme})
    return x


def _points(q: Any, given: Any) -> Any:
    """Return the points of an axis, None for a single number or a range."""
    if isinstance(given, units.Axis):
        points = given.resolve(q.unit)
    elif isinstance(given, (list, range, np.ndarray)) and np.ndim(given):
        points = numbers(list(given) if isinstance(given, range) else given, q)
    elif hasattr(given, "to_numpy"):
        points = numbers(given.to_numpy(), q)
    else:
        return None
    if points.ndim != 1:
        raise AxisError(f"{q.name}: a page draws along axes of one input each, got an array with {points.ndim} axes")
    if len(points) > _MOST_POINTS:
        raise AxisError(f"{q.name}: a page draws at most {_MOST_POINTS:,} points, got {len(points):,}")
    return np.unique(points[np.isfinite(points)])


def _fixed(view: View, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Add inputs without a control, and return their values for the first evaluation."""
    point: dict[str, Any] = {}
    for name, given in inputs.items():
        if name in PRESETS:
            preset = point[name] = find_preset(name, given)
            view.presets[name], view.known[name] = preset.name, {preset.name: preset}
            view.written[name] = json.dumps(preset.name, ensure_ascii=False)
        else:
            q = lookup(name)
            x = view.fixed[name] = number(given, q)
            point[name] = q.choices[int(x)] if q.choices else x
            view.written[name] = repr(point[name]) if q.choices or math.isfinite(x) else f'float("{x}")'
    return point


def _choose_axes(view: View, name: str | None, up: str | None) -> None:
    """Draw along an input that has a slider, or two of them."""
    _choose_axis(view, name)
    across = view.axis["name"] if view.axis else None
    if up is None and across in view.long:
        up = next((other for other in view.long if other != across), None)
    if up is None:
        return
    if up == across or not any(one.get("track") and one["name"] == up for one in view.controls):
        raise AxisError(f"{up} has no slider to draw along: a heat map needs one for each axis")
    view.up = _axis_of(view, up)


def _axis_of(view: View, name: str) -> dict[str, Any]:
    return {"name": name, **({"values": view.points[name]} if name in view.points else {})}


def _choose_axis(view: View, name: str | None) -> None:
    """Draw along an input that has a slider."""
    sliders = [one["name"] for one in view.controls if one.get("track")]
    if name is None and view.axis is None:
        reaching = (slider for output in view.outputs for slider in sliders if slider in _upstream([output]))
        name = next(reaching, None)
    if name is None or (view.axis is not None and view.axis["name"] == name):
        return
    if name not in sliders:
        raise AxisError(f"{name} has no slider, so a chart cannot be drawn along it")
    view.axis = _axis_of(view, name)


def _add_variants(view: View, point: Mapping[str, Any], calibration: Any) -> None:
    """Add bound and estimate, as far as the outputs have them, with bands."""
    registry = current()
    carries = [name for name in view.outputs if carries_constants(name, registry)]
    if isinstance(calibration, (list, tuple)):
        raise AxisError("calibration: a page shows the bound next to one estimate; give one name")
    constants = any(lookup(name).ideal is not None for name in point if name in entries())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoofslateWarning)
        if not carries or (constants and calibration is None):
            _add_variant(view, "value", "", None, view.outputs, point)
            return
        _add_variant(view, "bound", "bound", _FLOOR, view.outputs, point)
        name = calibration or default_estimate(carries[0], training=False, registry=registry)
        preset = find_preset(_CALIBRATION, name)
        estimated = [output for output in carries if _is_estimate(output, point, preset)]
        if estimated and _by_rule(estimated, {**point, _CALIBRATION: preset}):
            view.basis = f"{_BOUND} {_NO_LAYOUT}"
        elif estimated and preset.name != _FLOOR:
            said = f"{preset.name}, {preset.date}" if preset.date else preset.name
            _add_variant(view, "estimate", "estimate", preset.name, estimated, point)
            _add_bands(view, preset, estimated, point)
            view.basis = f"{_BOUND} estimate: constants of measured machines ({said})."
        else:
            view.basis = _BOUND


def _is_estimate(output: str, point: Mapping[str, Any], calibration: Preset) -> bool:
    """Return True if an output can be computed by a calibration and is in its scope."""
    try:
        result: Any = evaluate(output, Settled({**point, _CALIBRATION: calibration}))
    except RoofslateError:
        return False
    return str(result.attrs.get("basis", "")).startswith("estimate")


def _add_variant(
    view: View, key: str, label: str, calibration: str | None, outputs: Sequence[str], point: Mapping[str, Any]
) -> None:
    """Add a variant that can be computed, with the bottleneck if there is one."""
    carries = [name for name in outputs if carries_constants(name, current())]
    given = {_CALIBRATION: calibration} if calibration and carries else {}
    grid = read_grid(Settled({**point, **given}), list(outputs))
    for name in outputs:
        value(name, Settled({**point, **(given if name in carries else {})}))
    if _by_rule(outputs, {**point, **given}):
        raise InputTypeError(
            f"a page leaves no layout to the rule ({grid.layout}): give tensor_parallel, pipeline_stages and "
            "attention_data_parallel"
        )
    binding = None
    if "pass_time" in frozenset(outputs).union(*map(ancestors, outputs)) and _BINDING not in outputs:
        try:
            value(_BINDING, Settled({**point, **given}))
            binding = _BINDING
        except RoofslateError:
            binding = None
    if calibration:
        view.known.setdefault(_CALIBRATION, {})[calibration] = find_preset(_CALIBRATION, calibration)
    supplied = grid.numbers()
    for name in outputs:
        view.formulas |= {step[0] for step in _core.chain(name, supplied)}
    view.variants.append(
        {"key": key, "label": label, "calibration": calibration, "outputs": list(outputs), "binding": binding}
    )


def _by_rule(outputs: Sequence[str], point: Mapping[str, Any]) -> bool:
    """Return True if a rule chooses the layout, which controls would change."""
    return any(i.origin == LAYOUT for i in read_grid(Settled(point), list(outputs)).inputs.values())


def _add_bands(view: View, preset: Preset, outputs: Sequence[str], point: Mapping[str, Any]) -> None:
    """Add the factors of each calibrated output, by whether model and chip were measured."""
    constants: Any = getattr(preset, "constants", None)
    if constants is None:
        return
    bands = Bands(constants, _LEVEL)
    given = read_grid(Settled({**point, _CALIBRATION: preset}), list(outputs)).inputs
    for output in outputs:
        source, inverted = calibrated_of(bands, output, given) or ("", False)
        if not source:
            continue
        fit = constants.fit(source)
        kinds, factors = [], {}
        for keyword in (keyword for keyword in fit.kinds if keyword in point):
            names = view.names.get(keyword) or [view.presets[keyword]]
            presets = view.known.get(keyword, {})
            known = [
                one for one in names if measured_as(presets.get(one) or PRESETS[keyword][one]) in fit.kinds[keyword]
            ]
            kinds.append({"keyword": keyword, "measured": known})
        for flags in itertools.product((True, False), repeat=len(kinds)):
            measured = {
                kind["keyword"]: fit.kinds[kind["keyword"]][0] if flag else None
                for kind, flag in zip(kinds, flags, strict=True)
            }
            ends = band_factors(*fit.band(_LEVEL, measured), inverted=inverted)
            factors["".join("1" if flag else "0" for flag in flags)] = [float(x) for x in ends]
        view.bands[output] = {"kinds": kinds, "factors": factors}


def _fill_menus(view: View, point: Mapping[str, Any]) -> None:
    """Keep presets that give every output a value. Explicit inputs replace their members."""
    explicit = frozenset(name for name in point if name not in PRESETS)
    for control in view.controls:
        if control["kind"] != "preset":
            continue
        keyword = control["name"]
        if control.pop("open"):
            view.names[keyword] = [
                name
                for name in view.names[keyword]
                if name == control["value"] or _works(view, {**point, keyword: name})
            ]
        view.known[keyword] = {name: PRESETS[keyword][name] for name in view.names[keyword]}
    for keyword, presets in view.known.items():
        dropped = {name: sorted(replaced_by(explicit, preset)) for name, preset in presets.items()}
        if any(dropped.values()):
            view.replaced[keyword] = {name: parts for name, parts in dropped.items() if parts}


def _works(view: View, point: Mapping[str, Any]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoofslateWarning)
        try:
            results = [value(name, Settled(point)) for name in view.outputs]
        except (RoofslateError, OverflowError):
            return False
    return all(isinstance(x, str) or not math.isnan(x) for x in results)


def preset_data(view: View) -> dict[str, dict[str, dict[str, float]]]:
    """Return the numbers of a view's presets upstream of its outputs, by keyword and name."""
    upstream = {*view.quantities}
    return {
        keyword: {
            name: {quantity: x for quantity, x in preset_numbers(preset).items() if quantity in upstream}
            for name, preset in presets.items()
        }
        for keyword, presets in view.known.items()
    }
