"""Pages in a real browser: numbers as in Python, links, mistakes, screens, speed."""

from __future__ import annotations

import json
import math
import re
import struct
import warnings

import numpy as np
import pytest
import roofslate as rs
from roofslate import units
from roofslate.errors import AxisError, InputTypeError, RoofslateError, UnknownName
from roofslate.plotting.pages import page as pages
from roofslate.plotting.pages.calculators import calculator, calculator_names
from roofslate.plotting.pages.page import Page
from roofslate.plotting.pages.traced import chart_view
from roofslate.plotting.pages.view import view_of
from roofslate.registry.registry import entries

needs_engine = pytest.mark.skipif(
    not (pages._ENGINE / "engine.wasm").is_file(), reason="no engine for browsers in this build: make wasm"
)

pytestmark = pytest.mark.long  # all tests share a written page

OUTPUTS = ["time_per_output_token", "time_to_first_token", "cost_per_output_token", "memory_fits"]
LAYOUT = {"tensor_parallel": 8, "pipeline_stages": 1, "attention_data_parallel": 1}
SERVICE = {
    "concurrency": 64,
    "model": "Llama-3.1-70B",
    "weight_format": "fp8",
    "hardware": "HGX H100",
    "chips": 8,
    **LAYOUT,
    "input_tokens": "8k",
    "output_tokens": "1k",
    "chip_price": "$2/h",
}
SIZES = (360, 390, 768, 1200, 1366, 2560)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def service(folder):
    return Page([view_of(OUTPUTS, SERVICE)]).save(folder / "service.html")


def visit(tab, path, fragment=""):
    tab.goto("about:blank")
    tab.goto(path.as_uri() + fragment)
    tab.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)


def settle(tab):
    tab.wait_for_timeout(400)
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def bits(x):
    return struct.pack("<d", x)


def raw(tab, quantity, variant):
    text = tab.locator(f'.numbers [data-quantity="{quantity}"][data-variant="{variant}"]').get_attribute("data-value")
    return {"Infinity": math.inf, "NaN": math.nan}.get(text) or float(text)


def shown(tab, quantity, variant):
    return tab.locator(f'.numbers [data-quantity="{quantity}"][data-variant="{variant}"]').inner_text()


def scenario(tab):
    """The inputs of the page, as numbers in base units, words and names of presets."""
    return tab.evaluate("roofslate.view.values")


def expected(name, given, calibration=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        extra = {"calibration": calibration} if calibration else {}
        x = rs.value(name, given, **extra)
    q = entries()[name]
    return float(q.choices.index(x)) if q.choices else x


def check_numbers(tab, outputs=OUTPUTS, variants=(("bound", "floor"), ("estimate", "serving"))):
    """Compare bits and texts of all numbers with Python, at the inputs of the page."""
    given = scenario(tab)
    for name in outputs:
        for variant, calibration in variants:
            cell = tab.locator(f'.numbers [data-quantity="{name}"][data-variant="{variant}"]')
            if cell.inner_text() == "–":
                continue
            x = expected(name, given, calibration if name != "memory_fits" else None)
            assert bits(raw(tab, name, variant)) == bits(x), (name, variant, given)
            q = entries()[name]
            text = q.choices[int(x)] if q.choices else "never" if math.isinf(x) else units.format(x, q.unit)
            assert shown(tab, name, variant) == text


# ------------------------------------------------------------------------------------------------------ numbers


@needs_engine
def test_numbers_equal_those_of_python(tab, service):
    visit(tab, service)
    check_numbers(tab)


@needs_engine
def test_numbers_follow_sliders_menus_and_fields(tab, service):
    visit(tab, service)
    start = raw(tab, "time_per_output_token", "estimate")
    sliders = tab.locator(".control input[type=range]")
    for k in range(sliders.count()):
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
            sliders.nth(k).focus()
            tab.keyboard.press(key)
        settle(tab)
        if not tab.locator(".results > .trouble").inner_text():
            check_numbers(tab)
    assert raw(tab, "time_per_output_token", "estimate") != start
    tab.get_by_role("button", name="Reset").click()
    tab.locator("select").nth(0).select_option("Qwen3-32B")
    tab.get_by_label("chip price (USD/s/chip)", exact=True).fill("3.7 USD/h")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    settle(tab)
    given = scenario(tab)
    assert given["model"] == "Qwen3-32B"
    assert given["chip_price"] == units.parse("3.7 USD/h", "USD/s/chip")
    check_numbers(tab)


@needs_engine
def test_the_band_is_that_of_evaluate(tab, service):
    visit(tab, service)
    given = scenario(tab)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = rs.evaluate(["time_per_output_token"], given, calibration="serving", bands=0.8)
    for end in ("lower", "upper"):
        name = f"time_per_output_token_{end}"
        text = tab.locator(f'[data-quantity="{name}"]').get_attribute("data-value")
        assert float(text) == pytest.approx(float(result[name]), rel=1e-12)


@needs_engine
def test_lines_equal_evaluate(tab, folder):
    path = Page([view_of(["pass_time"], {**SERVICE, "concurrency": rs.geomspace(1, 512, 60)})]).save(folder / "l.html")
    visit(tab, path)
    curves = tab.evaluate(
        "() => ({x: [...roofslate.view.points()], y: [...roofslate.view.curves(['pass_time']).bound.pass_time]})"
    )
    given = {**scenario(tab), "concurrency": np.array(curves["x"])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        line = rs.evaluate("pass_time", given, calibration="floor").to_numpy()
    assert np.array(curves["y"], dtype=float).tobytes() == line.tobytes()
    assert np.array_equal(curves["x"], rs.geomspace(1, 512, 60).resolve("sequence"))


@needs_engine
def test_the_derivation_ends_in_the_inputs(tab, service):
    visit(tab, service)
    settle(tab)
    steps = tab.locator(".steps > li[data-quantity]")
    assert steps.first.get_attribute("data-quantity") == "time_per_output_token"
    assert float(steps.first.get_attribute("data-value")) == raw(tab, "time_per_output_token", "estimate")
    tab.get_by_text("more steps, down to the inputs").click()
    names = steps.evaluate_all("items => items.map(item => item.dataset.quantity)")
    given = scenario(tab)
    values = dict(zip(names, steps.evaluate_all("items => items.map(item => item.dataset.value)"), strict=True))
    for name in ("concurrency", "input_tokens", "chips"):
        assert float(values[name]) == given[name]
    assert "formula" in steps.first.inner_html()


@needs_engine
def test_copied_python_computes_the_same(tab, service, capsys):
    visit(tab, service)
    tab.locator(".control input[type=range]").first.focus()
    tab.keyboard.press("PageUp")
    settle(tab)
    code = tab.evaluate("roofslate.view.code()")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "copied", "exec"), {})
    said = [line.split(" ", 1) for line in capsys.readouterr().out.splitlines()]
    first = dict(reversed(said))
    for name in OUTPUTS[:3]:
        assert bits(float(first[name])) == bits(raw(tab, name, "bound"))


# -------------------------------------------------------------------------------------------------------- links


@needs_engine
def test_a_link_holds_the_scenario(tab, service):
    visit(tab, service)
    tab.get_by_label("concurrency (sequences)", exact=True).fill("100")
    tab.keyboard.press("Tab")
    settle(tab)
    before, link = scenario(tab), tab.evaluate("location.hash")
    visit(tab, service, link)
    assert scenario(tab) == before
    assert before["concurrency"] == 100


@needs_engine
@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("#concurrency=NaN", "expected a number in base units, got 'NaN'"),
        ("#concurrency=-5", "expected a number > 0"),
        ("#concurrency=1;alert(1)", "expected a number in base units"),
        ("#concurency=64", "unknown input 'concurency'. Did you mean 'concurrency'?"),
        ("#model=Llama-3.1-70C", "Did you mean 'Llama-3.1-70B'?"),
        ("#weight_format=fp9", "unknown word for weight_format 'fp9'"),
        ("#__proto__=1", "unknown input '__proto__'"),
        ("#%E0%A4%A", "expected name=value"),
        ("#model=%E0%A4%A", "it is not written as a link"),
        ("#<img src=x onerror=window.hit=1>", "expected name=value"),
        ("#axis=<svg onload=window.hit=1>", "unknown axis"),
    ],
)
def test_a_bad_link_gives_a_message(tab, service, fragment, message):
    visit(tab, service, fragment)
    assert message in tab.locator("#trouble").inner_text()
    assert tab.evaluate("window.hit") is None
    check_numbers(tab)


@needs_engine
@pytest.mark.parametrize("text", ["NaN", "nan", "", "many", "-3", "5 kg", "1e999"])
def test_a_bad_number_in_a_field_gives_a_message(tab, service, text):
    visit(tab, service)
    before = scenario(tab)
    field = tab.get_by_label("concurrency (sequences)", exact=True)
    field.fill(text)
    tab.keyboard.press("Tab")
    assert "concurrency (sequences) stays 64" in tab.locator(".control .trouble").first.inner_text()
    assert field.get_attribute("aria-invalid") == "true"
    assert scenario(tab) == before
    check_numbers(tab)


# -------------------------------------------------------------------------------------------- screens and speed


@needs_engine
@pytest.mark.parametrize("page", ["service", "heat_map"])
def test_every_screen_and_scheme(tab, page, request, audit):
    visit(tab, request.getfixturevalue(page))
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        for width in SIZES:
            tab.set_viewport_size({"width": width, "height": 900})
            tab.wait_for_timeout(150)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert audit(tab) == []


@needs_engine
def test_the_keyboard_reaches_every_control(tab, service):
    visit(tab, service)
    controls = tab.evaluate("document.querySelectorAll('input, select, button, summary, textarea').length")
    reached = set()
    for _ in range(3 * controls):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    visible = tab.evaluate(
        "[...document.querySelectorAll('input, select, button, summary')].filter(e => e.checkVisibility())"
        ".map(e => [...document.querySelectorAll('*')].indexOf(e))"
    )
    assert set(visible) <= reached


@needs_engine
@pytest.mark.measured
def test_speed_of_a_page(tab, folder):
    inputs = {**SERVICE, "concurrency": rs.geomspace(1, 512, 10_000)}
    path = Page([view_of(["time_per_output_token"], inputs)]).save(folder / "fast.html")
    assert path.stat().st_size < 5e6
    firsts = []
    for _ in range(4):  # the first one starts the browser
        visit(tab, path)
        firsts.append(float(tab.evaluate("document.documentElement.dataset.firstAnswer")))
    first = min(firsts)
    each = tab.evaluate("""() => {
        const view = roofslate.view, times = [];
        for (let k = 0; k < 30; k += 1) {
            view.values = {...view.values, input_tokens: 4000 + 10 * k};
            const start = performance.now();
            view.compute();
            times.push(performance.now() - start);
        }
        return times.sort((a, b) => a - b)[15];
    }""")
    print(f"first answer after {first:.0f} ms, {1000 / each:.0f} redraws of 10^4 points a second")
    assert first < 1000
    assert each < 1000 / 60


# ------------------------------------------------------------------------------------------------------ heat maps

MAP = {
    "batch_size": rs.geomspace(1, 4096, 40),
    "context_length": rs.linspace(1000, 500_000, 30),
    "model": "DeepSeek-V3",
    "hardware": "GB200 NVL72",
    "chip_price": "$2/h",
}


@pytest.fixture(scope="module")
def surface():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points that do not fit
        return rs.evaluate(["pass_time", "cost_per_token"], **MAP)


@pytest.fixture(scope="module")
def heat_map(folder, surface):
    return rs.plot(surface, interactive=True).save(folder / "map.html")


def drawn(tab):
    """Points and values of a heat map, as drawn."""
    data = tab.evaluate("(({x, y, values}) => ({x: [...x], y: [...y], values: [...values]}))(roofslate.view.surface())")
    return {name: np.array(values, dtype=float) for name, values in data.items()}


def check_point(tab, output="pass_time"):
    """Compare the number at the point of the chart with Python, and return the point."""
    settle(tab)
    point = tab.evaluate("roofslate.view.point")
    x = expected(output, {**scenario(tab), **point}, "floor")
    assert bits(raw(tab, output, "bound")) == bits(x)
    assert f"{output.replace('_', ' ')} {units.format(x, entries()[output].unit)}" in tab.locator(".spot").inner_text()
    return point


@needs_engine
def test_a_heat_map_has_the_values_of_evaluate(tab, heat_map, surface):
    visit(tab, heat_map)
    seen = drawn(tab)
    for output in ("pass_time", "cost_per_token"):
        tab.get_by_label("Shown").select_option(label=f"{output.replace('_', ' ')}, bound")
        seen = drawn(tab)
        expected = surface[output].transpose("context_length", "batch_size").to_numpy()
        assert seen["values"].tobytes() == expected.tobytes()
        colors = tab.evaluate("(({low, high}) => [low, high])(roofslate.view.chart.model('colors'))")
        assert colors == pytest.approx([math.log10(expected.min()), math.log10(expected.max())], rel=1e-12)
    assert seen["x"].tobytes() == surface["batch_size"].to_numpy().tobytes()
    assert seen["y"].tobytes() == surface["context_length"].to_numpy().tobytes()
    assert tab.evaluate("roofslate.view.chart.model('bar').visible")
    tab.get_by_text("Numbers of the chart").click()
    tab.wait_for_selector(".samples td")
    samples = tab.locator(".samples td").evaluate_all(
        "all => all.map(c => [c.dataset.x, c.dataset.y, c.dataset.value])"
    )
    assert len(samples) > 60
    for x, y, text in samples:
        cell = surface["cost_per_token"].sel(batch_size=float(x), context_length=float(y))
        assert bits(float(text)) == bits(float(cell))


@needs_engine
def test_a_heat_map_by_mouse_and_keyboard(tab, heat_map):
    visit(tab, heat_map)
    start = check_point(tab)
    chart = tab.locator(".chart")
    box = chart.bounding_box()
    chart.hover(position={"x": 0.75 * box["width"], "y": 0.45 * box["height"]})
    hovered = check_point(tab)
    mark = tab.evaluate("(({x, y}) => [x[0], y[0]])(roofslate.view.chart.model('source-mark').data)")
    assert mark == pytest.approx([math.log10(hovered["batch_size"]), hovered["context_length"]], rel=1e-12)
    assert hovered["batch_size"] > start["batch_size"]
    assert hovered["context_length"] > start["context_length"]
    tab.mouse.move(2, 2)
    assert check_point(tab) == start
    chart.focus()
    x, y = (list(drawn(tab)[name]) for name in "xy")
    keys = [("ArrowRight", 1), ("ArrowRight", 1), ("ArrowUp", 1), ("ArrowLeft", 1), ("ArrowDown", 10)]
    tab.evaluate("keys => keys.forEach(one => roofslate.view.pressed(...one))", keys)  # all before one drawing
    point = check_point(tab)
    near = [min(points, key=lambda p: abs(p - at)) for points, at in zip((x, y), start.values(), strict=True)]
    assert point["batch_size"] == x[x.index(near[0]) + 1]
    assert point["context_length"] == y[y.index(near[1]) + 1 - 10]
    assert scenario(tab)["batch_size"] == start["batch_size"]
    tab.keyboard.press("Escape")
    assert check_point(tab) == start
    tab.keyboard.press("Shift+ArrowRight")
    tab.keyboard.press("Enter")
    settle(tab)
    assert scenario(tab)["batch_size"] == pytest.approx(x[x.index(near[0]) + 10], rel=1e-3)


@needs_engine
def test_lines_become_a_heat_map_and_back(tab, service):
    visit(tab, service)
    assert tab.evaluate("roofslate.view.up") is None
    tab.get_by_role("combobox", name="By ").select_option(label="concurrency")
    tab.get_by_role("combobox", name="and").select_option(label="input tokens")
    tab.get_by_label("Shown").select_option(label="time to first token, bound")
    settle(tab)
    link, given, seen = tab.evaluate("location.hash"), scenario(tab), drawn(tab)
    assert tab.evaluate("roofslate.view.chart.model('bar').visible")
    x, y = seen["x"][17], seen["y"][31]
    value = expected("time_to_first_token", {**given, "concurrency": x, "input_tokens": y}, "floor")
    assert bits(seen["values"][31 * len(seen["x"]) + 17]) == bits(value)
    visit(tab, service, link)
    assert tab.evaluate("roofslate.view.up.name") == "input_tokens"
    assert tab.evaluate("roofslate.view.plotted") == "time_to_first_token"
    tab.get_by_role("combobox", name="and").select_option(label="value")
    settle(tab)
    assert not tab.evaluate("roofslate.view.chart.model('bar').visible")
    assert tab.evaluate("roofslate.view.chart.model('source-map').data.value.length") == 0
    assert tab.evaluate("roofslate.view.chart.model('source-0').data.x.length") > 100
    check_numbers(tab)
    visit(tab, service, "#up=inputs_tokens")
    assert "unknown axis 'inputs_tokens'" in tab.locator("#trouble").inner_text()


@needs_engine
def test_a_chart_of_the_lecture_that_is_a_heat_map(tab, folder):
    view = chart_view(rs.charts.lifetime_surface)
    visit(tab, Page([view]).save(folder / "lifetime.html"))
    table = rs.charts.lifetime_surface.data()
    seen = drawn(tab)
    assert seen["values"].tobytes() == table["lifetime_cost"].to_numpy().tobytes()
    assert list(seen["y"]) == sorted(set(table.index.get_level_values("pretraining_tokens")))


def test_short_axes_become_lines():
    few = view_of(["pass_time"], {**MAP, "context_length": [1000, 8000, 64_000]})
    assert (few.axis["name"], few.up) == ("batch_size", None)
    assert view_of(["pass_time"], MAP).up["name"] == "context_length"
    with pytest.raises(AxisError, match="model has no slider to draw along"):
        view_of(["pass_time"], MAP, up="model")


# -------------------------------------------------------------------------------------------- pages of all kinds


@needs_engine
@pytest.mark.parametrize("name", calculator_names())
def test_calculators(tab, folder, name, audit):
    page = calculator(name)
    visit(tab, page.save(folder / f"{name}.html"))
    (view,) = page.views
    assert tab.locator("#trouble").inner_text() == ""
    assert tab.locator(".results > .trouble").inner_text() == ""
    settle(tab)
    given = scenario(tab)
    for variant in view.variants:
        for output in variant["outputs"]:
            carries = variant["calibration"] and output in view.to_json()["carries"]
            x = expected(output, given, variant["calibration"] if carries else None)
            assert bits(raw(tab, output, variant["key"])) == bits(x), output
    assert audit(tab) == []


@needs_engine
def test_a_chart_of_the_lecture(tab, folder):
    view = chart_view(rs.charts.latency_vs_batch)
    visit(tab, Page([view]).save(folder / "chart.html"))
    table = rs.charts.latency_vs_batch.data()
    lines = tab.evaluate(
        "() => Object.fromEntries(Object.entries(roofslate.view.curves(roofslate.view.spec.outputs).value)"
        ".map(([name, x]) => [name, [...x]]))"
    )
    for name in view.outputs:
        assert np.array(lines[name], dtype=float).tobytes() == table[name].to_numpy().tobytes(), name


@needs_engine
def test_an_explorer_is_saved_where_its_controls_are(tab, folder):
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth=("1 TB/s", "20 TB/s"))
    explorer.set(hbm_bandwidth="8 TB/s")
    visit(tab, explorer.save(folder / "explorer.html"))
    assert raw(tab, "hbm_drain_time", "value") == 0.024
    assert shown(tab, "hbm_drain_time", "value") == "24 ms"


@needs_engine
def test_an_interactive_plot(tab, folder):
    result = rs.evaluate(
        ["pass_time"], batch_size=[1, 64, 2400], context_length="8k", model="DeepSeek-V3", hardware="GB200 NVL72"
    )
    page = rs.plot(result, interactive=True)
    assert page._repr_html_().startswith("<iframe srcdoc=")
    visit(tab, page.save(folder / "plot.html"))
    assert raw(tab, "pass_time", "bound") == float(result["pass_time"][1])


def test_an_interactive_plot_needs_its_inputs():
    single = rs.evaluate(
        "pass_time", batch_size=[1, 64], context_length="8k", model="DeepSeek-V3", hardware="GB200 NVL72"
    )
    with pytest.raises(InputTypeError, match="Give evaluate\\(\\) a list of names"):
        rs.plot(single, interactive=True)


def test_a_build_without_the_engine_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "_ENGINE", tmp_path)
    with pytest.raises(RoofslateError, match="make wasm"):
        Page([view_of(["hbm_drain_time"], {"hbm_capacity": "192 GB", "hbm_bandwidth": "8 TB/s"})]).save(tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_an_unknown_calculator():
    with pytest.raises(UnknownName, match="will-it-fit"):
        calculator("will-it-fits")


# -------------------------------------------------------------------------------------------------------- units


def test_units_are_read_and_written_as_in_python(browser):
    """All units of the registry, read and written."""
    random = np.random.default_rng(5)
    names = list(dict.fromkeys(q.unit for q in entries().values()))
    numbers = [
        (float(x), name, int(digits))
        for name in names
        for x, digits in zip(10 ** random.uniform(-14, 28, 12), random.integers(1, 7, 12), strict=True)
    ]
    numbers += [(x, name, 4) for name in names for x in (0.0, 1234.5, 1235.5, 99995.0, 999999.9, -3.0, math.inf)]
    texts = "50 ms|8TB/s|$2/h|3 USD/GPU-hour|128k|1,667|1_667|2 bn|$2bn|30%|0.3|inf|NaN|abc|1.2.3|5 kg|400 Gbit/s"
    texts += "|64 / s|1 / (GPU h)|1 s^2|−3 s|1 MiB|.5|1e400|10 tok per s|3 USD/h s|5 Gbps||1 h 2 min|1 PFLOPS"
    pairs = [(text, name) for text in texts.split("|") for name in names]
    tab = browser.new_page()
    tab.add_script_tag(content=(pages._FOLDER / "units.js").read_text(encoding="utf-8"))
    written, read = tab.evaluate(
        """([data, numbers, pairs]) => {
            const units = unitsOf(data);
            const read = pairs.map(([text, name]) => {
                try { return String(units.parse(text, name)); } catch (error) { return "refused"; }
            });
            return [numbers.map(([x, name, digits]) => units.format(Number(x), name, digits)), read];
        }""",
        [pages.plain(pages.unit_data(names)), pages.plain(numbers), pairs],
    )
    assert written == [units.format(*one) for one in numbers]
    for (text, name), said in zip(pairs, read, strict=True):
        x = parsed(text, name)
        if x is None:
            assert said == "refused", (text, name)
        else:
            y = {"Infinity": math.inf, "NaN": math.nan}.get(said)
            assert bits(x) == bits(float(said) if y is None else y), (text, name)
    tab.close()


def parsed(text, unit):
    """A number in base units, None where Python refuses the text."""
    try:
        return units.parse(text, unit)
    except RoofslateError:
        return None


def test_data_of_a_page_ends_no_element():
    markup = "</script><SCRIPT><!-- <mrow>1</mrow> -->"
    text = pages.embedded(json.dumps({"x": markup}))
    assert not re.search(r"</?script|<!--", text, re.IGNORECASE)
    assert "<mrow>1</mrow>" in text  # not longer than needed
    assert json.loads(text) == {"x": markup}
    assert "</script" not in pages._script("a = '</script>'; // <!--")
