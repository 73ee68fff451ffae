"""The explorer as an anywidget: messages, and a real browser in marimo and Jupyter."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import roofslate as rs
from roofslate._base.messages import pip_install
from support.lazy import needs

pytestmark = needs("anywidget", reason="the explorer in marimo needs anywidget: pip install 'roofslate[marimo]'")

GIVEN: dict[str, Any] = {"context_length": ("1k", "100k"), "chips": 72}
CELL = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}


@pytest.fixture(name="explorer")
def explorer_of_a_chart() -> Any:
    return rs.explore("latency_vs_batch", **GIVEN, **CELL)


def control(front: Any, name: str) -> dict[str, Any]:
    return next(each for each in front.controls if each["name"] == name)


def send(front: Any, name: str, part: str, value: Any) -> None:
    """Set the trait like the front."""
    front.move = {"name": name, "part": part, "value": value, "number": front.done + 1}


def test_the_front_has_all_controls(explorer: Any) -> None:
    front = explorer.anywidget
    assert [each["name"] for each in front.controls] == list(explorer.controls)
    slider = control(front, "context_length")["slider"]
    assert (slider["low"], slider["high"], slider["value"]) == (3.0, 5.0, 4.0)
    assert control(front, "model")["options"] == list(rs.models)
    assert explorer.anywidget is front
    assert explorer._display_() is front


def test_moves_of_the_front_are_drawn(explorer: Any) -> None:
    front = explorer.anywidget
    before = front.markup
    send(front, "context_length", "field", "32k tokens")
    assert front.done == 1
    assert front.markup != before
    assert 'context_length="32k"' in explorer.to_code()
    assert "32k" in front.code
    assert control(front, "context_length")["value"] == "32k"
    send(front, "context_length", "slider", 5.0)
    assert explorer.values["context_length"] == 1e5
    send(front, "hardware", "menu", "B200")
    assert explorer.values["hardware"] == "B200"
    send(front, "", "reset", True)
    assert explorer.values["context_length"] == 1e4
    assert control(front, "hardware")["value"] == "GB200 NVL72"


def test_moves_in_code_are_shown(explorer: Any) -> None:
    front = explorer.anywidget
    explorer.set(context_length="64k")
    assert control(front, "context_length")["value"] == "64k"
    assert "64k" in front.code


def test_a_mistake_is_shown_and_the_picture_stays(explorer: Any) -> None:
    front = explorer.anywidget
    before = front.markup
    send(front, "context_length", "field", "8 GB")
    assert "it is in byte" in front.trouble
    assert front.markup == before


@pytest.mark.parametrize(
    ("name", "part", "value"),
    [
        ("context_length", "slider", "wide"),
        ("context_length", "slider", float("nan")),
        ("context_length", "slider", True),
        ("context_length", "field", 3),
        ("context_length", "menu", "x"),
        ("hardware", "menu", "H1000"),
        ("hardware", "menu", None),
        ("nothing", "field", "1"),
        ("context_length", "_parts_of", "1"),
    ],
)
def test_other_messages_move_nothing(explorer: Any, name: str, part: str, value: Any) -> None:
    front = explorer.anywidget
    before = explorer.values
    send(front, name, part, value)
    assert explorer.values == before
    assert front.done == 1
    send(front, "context_length", "slider", 99.0)  # beyond its end
    assert explorer.values["context_length"] == 1e5


def test_a_box_to_check_and_whole_numbers() -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth=("1 TB/s", "20 TB/s"))
    assert "9.6" in explorer.anywidget.markup or "ms" in explorer.anywidget.markup
    counted = rs.explore("pass_tokens", batch_size=(1, 64))
    send(counted.anywidget, "batch_size", "slider", 7)
    assert counted.values["batch_size"] == 7


def test_without_anywidget_it_says_what_to_install(explorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(pip_install("marimo"))):
        _ = explorer.anywidget


# ----------------------------------------------------------------------------------------------------------- in marimo

APP = """
import marimo

app = marimo.App()


@app.cell
def _():
    import roofslate as rs

    rs.explore("latency_vs_batch", context_length=("1k", "100k"), chips=72, model="DeepSeek-V3", hardware="GB200 NVL72")
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(name="address")
def address_of_marimo(tmp_path: Path) -> Any:
    """A marimo server of one notebook with an explorer."""
    pytest.importorskip("marimo", reason="notebooks run in marimo: pip install 'roofslate[marimo]'")
    (tmp_path / "explore.py").write_text(APP, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    source = str(Path(rs.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "marimo", "run", "explore.py", "--headless", "--no-token", "--port", str(port)]
    log = tmp_path / "server.log"
    with (
        log.open("w") as stream,
        subprocess.Popen(
            [*command, "--host", "127.0.0.1"], cwd=tmp_path, env=environment, stdout=stream, stderr=subprocess.STDOUT
        ) as server,
    ):
        try:
            url = f"http://127.0.0.1:{port}/"
            until = time.monotonic() + 90
            while True:
                assert server.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < until, log.read_text(encoding="utf-8")
                try:
                    urllib.request.urlopen(f"{url}health", timeout=10).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield url
        finally:
            server.terminate()


@pytest.mark.slow
def test_in_marimo(address: str, browser: Any) -> None:
    page, trouble = opened(browser, address)
    page.goto(address)
    use(page)
    page.close()
    assert not trouble


NOTEBOOK = """\
import roofslate as rs
given = dict(context_length=("1k", "100k"), chips=72, model="DeepSeek-V3", hardware="GB200 NVL72")
rs.explore("latency_vs_batch", given).anywidget"""
RUN = """async () => {
    const notebook = jupyterapp.shell.currentWidget;
    await notebook.context.ready;
    await notebook.sessionContext.ready;
    await jupyterapp.commands.execute('notebook:run-all-cells');
}"""


@pytest.mark.slow
def test_in_jupyterlab(laboratory: Any, browser: Any) -> None:
    """As an anywidget, without ipywidgets' own front, and off the network."""
    address, folder = laboratory
    code = {
        "cell_type": "code",
        "id": "front",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": NOTEBOOK,
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": [code], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "front.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    page, trouble = opened(browser, address)
    page.goto(f"{address}doc/tree/front.ipynb")
    page.locator(".jp-CodeCell").wait_for()
    page.evaluate(RUN)
    use(page)
    page.close()
    assert not trouble


def opened(browser: Any, address: str) -> tuple[Any, list[str]]:
    """A page, and its errors and requests to other servers."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(90_000)
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    near = (address, address.replace("http:", "ws:"), "data:", "blob:")
    page.on("request", lambda request: trouble.extend([request.url] * (not request.url.startswith(near))))
    return page, trouble


def use(page: Any) -> None:
    """Use the slider, the field, the menu, and the button: the picture follows."""
    picture = page.locator(f'img[alt^="{rs.charts.latency_vs_batch.subject}"]')
    picture.wait_for()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 600
    field = page.get_by_role("textbox", name=re.compile("context length"))
    code = page.locator('textarea[aria-label="Code of this plot"]')
    assert field.input_value() == "10k"

    def follows(change: Any) -> str:
        """The code, once it is another one."""
        before = code.input_value()
        change()
        for _ in range(300):
            if code.input_value() != before:
                return str(code.input_value())
            page.wait_for_timeout(100)
        pytest.fail("the picture does not follow")

    def press() -> None:
        slider = page.get_by_role("slider", name=re.compile("context length"))
        slider.focus()
        page.keyboard.press("ArrowRight")

    moved = follows(press)
    assert 'context_length="10k"' not in moved
    # keys: a step back, the ends, and a key that stays pressed, of which the last move wins
    slider = page.get_by_role("slider", name=re.compile("context length"))
    for key, text in {"ArrowLeft": '"10k"', "End": '"100k"', "Home": "1000"}.items():
        assert f"context_length={text}," in follows(lambda key=key: page.keyboard.press(key)), key
        assert field.input_value().replace(",", "") == text.strip('"')
        assert slider.get_attribute("aria-valuetext") == field.input_value()

    def hold() -> None:
        for _ in range(30):
            page.keyboard.down("ArrowRight")  # again without a release: a repeat
        page.keyboard.up("ArrowRight")

    follows(hold)
    same = 0
    for _ in range(300):  # until the last move is drawn
        number = field.input_value()
        is_drawn = number.replace(",", "").lstrip("≈ ") in code.input_value()
        same = same + 1 if is_drawn and slider.get_attribute("aria-valuetext") == number else 0
        if same == 10:
            break
        page.wait_for_timeout(100)
    assert same == 10, code.input_value()
    assert slider.evaluate("slider => slider.getRootNode().activeElement === slider")
    # the next control with Tab, and the button with Enter
    page.keyboard.press("Tab")
    assert slider.evaluate("slider => slider.getRootNode().activeElement !== slider")
    reset = page.get_by_role("button", name="Reset")
    reset.focus()
    assert 'context_length="10k"' in follows(lambda: page.keyboard.press("Enter"))
    source = picture.get_attribute("src")

    def write(text: str) -> None:
        field.fill(text)
        field.press("Enter")

    field.fill("32k tokens")
    follows(lambda: slider.evaluate("slider => { slider.value = slider.min; slider.oninput(); }"))
    page.wait_for_timeout(500)
    assert field.input_value() == "32k tokens"  # an answer that comes meanwhile does not overwrite it
    assert 'context_length="32k"' in follows(lambda: field.press("Enter"))
    assert picture.get_attribute("src") != source
    source = picture.get_attribute("src")
    write("8 GB")
    alert = page.get_by_role("alert").filter(has_text="it is in byte")
    alert.wait_for()
    assert picture.get_attribute("src") == source
    assert 'hardware="B200"' in follows(lambda: page.get_by_label("hardware").select_option("B200"))
    assert 'context_length="10k"' in follows(page.get_by_role("button", name="Reset").click)
