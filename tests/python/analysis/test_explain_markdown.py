"""Markdown of derivations: words from elsewhere are text."""

import re

import pytest
import roofslate as rs
from click.testing import CliRunner
from roofslate.cli import main

TAG = "<script>alert(1)</script>"
LINK = "[click](javascript:alert(1))"
SCENARIO = {"peak_flops": 9e15, "hbm_bandwidth": 8e12, "hbm_capacity": 1e11}


def tags(text):
    return re.findall(r"<[A-Za-z/!?]", text) + re.findall(r"(?<!\\)\]\(", text)


@pytest.mark.parametrize("word", [TAG, LINK, "`x` | y", "a &lt;b&gt;", "$x$"])
@pytest.mark.parametrize("field", ["brief", "source"])
def test_words_of_a_definition(field, word):
    with rs.definitions():
        rs.define("made_up", "s", "2 * hbm_drain_time", **{"brief": "made up", "source": "me", field: word})
        result = rs.explain("made_up", SCENARIO)
    assert tags(result.markdown) == []
    assert result._repr_markdown_() == result.markdown
    assert word in str(result)


def test_a_symbol_of_a_definition():
    with rs.definitions():
        rs.define("made_up", "s", "2 * hbm_drain_time", brief="made up", symbol=TAG)
        rs.define("twice", "s", "2 * made_up", brief="made up")
        full = rs.explain("twice", SCENARIO)
        cut = rs.explain("twice", SCENARIO, depth=0)
        assert [tags(text) for text in (full.markdown, full.latex, cut.markdown, cut.latex)] == [[], [], [], []]


@pytest.mark.usefixtures("fresh_catalogs")
@pytest.mark.parametrize("word", [TAG, LINK])
def test_names_and_sources_of_presets(tmp_path, word, monkeypatch):
    path = tmp_path / "presets.toml"
    path.write_text(
        f"[hardware.'{word}']\nsources = [{{ source = '{word}', date = '2026', read = false }}]\n"
        f"[hardware.'{word}'.values]\nhbm_capacity = 1e11\nhbm_bandwidth = 8e12\n"
    )
    monkeypatch.setenv("ROOFSLATE_PRESETS", str(path))
    assert tags(rs.explain("hbm_drain_time", hardware=word).markdown) == []
    if ":" not in word:  # the command line would read a range
        done = CliRunner().invoke(main, ["explain", "hbm_drain_time", f"hardware={word}", "--format", "markdown"])
        assert done.exit_code == 0, done.output
        assert tags(done.output) == []
