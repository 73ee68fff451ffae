"""Cards: bars, tables and pages, and their look in a browser."""

from __future__ import annotations

import re

import pytest
from roofslate.display.card import Bar, Block, Card, Entry, Part, Row, page

PARTS = (Part("weights", "10 GB", 10), Part("KV cache", "20 GB", 20), Part("free", "50 GB", 50, is_free=True))
BAR = Bar("memory per chip", "30 GB of 80 GB", PARTS, 80)
FULL = Bar("memory per chip", "120 GB of 80 GB", (*PARTS[:1], Part("KV cache", "110 GB", 110)), 80)
ROWS = (
    Row("Latency", "TPOT", "time_per_output_token", (Entry("13 ms"), Entry("35 ms", "28 to 45 ms"))),
    Row("Cost", "cost per request", "cost_per_request", (Entry(""), Entry("$0.0026"))),
)  # fmt: skip
CARD = Card(
    title="Deployment of <b>", inputs=(("chips", "8"), ("chip_price", "$2 / h")),
    head=(("outcome", ("bound", "estimate (80% band)")),), verdicts=(("Fits.", "good"),), rows=ROWS,
    blocks=(Block("", (BAR,), (("Bottleneck", "weights & links"),)), Block("second", (FULL,))),
    warnings=("Stale price: $3 and $4.",), notes=("layout: TP 8 (rule)",),
)  # fmt: skip


def test_a_bar_of_text_is_to_scale():
    signs = str(BAR)
    assert [signs.count(sign) for sign in "█▓·"] == [4, 6, 18]  # 28 characters: 3.5 is a tie
    assert len(str(FULL)) == 29
    assert str(FULL).index("|") == round(28 * 80 / 120)
    assert BAR.legend == ["weights 10 GB", "KV cache 20 GB", "free 50 GB"]


def test_text_has_every_part():
    lines = CARD.text.split("\n")
    assert lines[0] == "Deployment of <b>: chips 8, chip_price $2 / h"
    assert lines[1:3] == ["Fits.", "warning: Stale price: $3 and $4."]
    assert lines[3].split() == ["outcome", "quantity", "bound", "estimate", "(80%", "band)"]
    assert "35 ms (28 to 45 ms)" in lines[4]
    assert "Bottleneck: weights & links" in lines
    assert lines[-1] == "layout: TP 8 (rule)"


def test_html_is_escaped_and_has_no_script():
    html = CARD.html
    assert "Deployment of &lt;b&gt;" in html
    assert "weights &amp; links" in html
    assert not re.search(r"<script|javascript:|https?://| on\w+=", html)
    assert "mathjax_ignore" in html
    assert 'aria-label="memory per chip, 30 GB of 80 GB: weights 10 GB, KV cache 20 GB, free 50 GB"' in html
    widths = [float(x) for x in re.findall(r"\"width: ([\d.]+)%", html)]
    assert widths == pytest.approx([12.5, 25, 62.5, 100 / 12, 1100 / 12], abs=1e-3)
    assert 'class="limit" style="left: 66.667%"' in html


SCENARIO = {"model": "Llama-3.1-70B", "weight_format": "fp8", "concurrency": 64, "input_tokens": "8k"}
SCENARIO |= {"output_tokens": "1k", "chip_price": "2 USD/h", "chips": 8, "power_usage_effectiveness": 1.2}


def cards():
    """Return summaries of all kinds, one of four scenarios, and one that does not fit."""
    import roofslate as rs

    run = {"model": "Llama-3.1-405B", "hardware": "H100", "chips": 16_384, "global_batch_size": 2048}
    run |= {
        "sequence_length": 8192,
        "pipeline_schedule": "1f1b",
        "activation_policy": "block",
        "prices": "H100 rental, low",
    }
    return {
        "one": rs.summary(SCENARIO, hardware="H100", model_lifetime="60 d"),
        "unfit": rs.summary(SCENARIO, hardware="H100", chips=1),
        "four": rs.summary([{**SCENARIO, "hardware": name} for name in ("H100", "H200", "B200", "MI300X")]),
        "run": rs.summary(run),
        "chip": rs.summary(hardware="GB200 NVL72", chip_price="3 USD/h"),
    }


@pytest.mark.filterwarnings("ignore::roofslate.errors.UnusedInput")
def test_cards_are_readable_on_phones_and_desks_light_and_dark(browser, audit):
    for name, summary in cards().items():
        html = page(name, summary._repr_html_())
        for scheme in ("light", "dark"):
            for width in (360, 1200):
                context = browser.new_context(viewport={"width": width, "height": 700}, color_scheme=scheme)
                view = context.new_page()
                faults = []
                view.on("console", lambda message, faults=faults: faults.append(message.text))
                view.set_content(html)
                assert view.evaluate("document.documentElement.scrollWidth") == width, (name, scheme, width)
                inside = view.evaluate(
                    "[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)"
                )
                assert inside, (name, width)
                dark = view.evaluate("getComputedStyle(document.querySelector('.roofslate-card')).backgroundColor")
                assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
                assert audit(view) == []
                assert not faults
                context.close()
