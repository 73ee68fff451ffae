"""Catalogs: how presets are found, added, loaded and refused."""

import math
import pickle
import re
import subprocess
import sys
import threading

import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors
from roofslate.grid.read import Settled
from roofslate.presets import catalog as catalogs
from roofslate.presets import library
from roofslate.presets.files import parts_of
from roofslate.presets.preset import KINDS

pytestmark = pytest.mark.usefixtures("fresh_catalogs")


@pytest.fixture
def write(tmp_path):
    def file(text, name="mine.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return file


VALUES = '[hardware."My chip".values]\nhbm_bandwidth = "4 TB/s"\n'
SOURCE = 'sources = [{ source = "our lab", date = "2026-05", read = true }]\n'
CHIP = '[hardware."My chip"]\n' + SOURCE + VALUES


# ---------------------------------------------------------------------------------------------------- finding them


@pytest.mark.parametrize("name", ["GB200 NVL72", "gb200 nvl72", "GB200-NVL72", "gb200nvl72", " GB200_NVL72 "])
def test_spelling_does_not_matter(name):
    assert catalogs.hardware[name].name == "GB200 NVL72"
    assert name in catalogs.hardware


@pytest.mark.parametrize(
    ("alias", "name"),
    [("A100", "A100-80"), ("H100 SXM 80GB", "H100"), ("Ironwood", "TPU 7x"), ("bw72", "BW72 (lecture)")],
)
def test_aliases(alias, name):
    assert catalogs.hardware[alias] is catalogs.hardware[name]


@pytest.mark.parametrize(
    ("section", "name", "message"),
    [
        ("hardware", "H10O", "unknown hardware preset 'H10O'; did you mean 'H100'?"),
        ("hardware", "GB200 NVL7", "did you mean 'GB200 NVL72'"),
        ("models", "deepseek", "'DeepSeek-V3'"),
        ("models", "Llama 3.1 70", "'Llama-3.1-70B'"),
        ("prices", "H100", "'H100 Google Cloud list'"),
        ("models", "zzz", "unknown model preset 'zzz'"),
    ],
)
def test_unknown_names(section, name, message):
    catalog = getattr(catalogs, section)
    assert name not in catalog
    with pytest.raises(errors.UnknownName) as caught:
        catalog[name]
    assert message in str(caught.value)


def test_names_are_texts():
    assert 5 not in catalogs.hardware
    with pytest.raises(errors.InputTypeError, match="by its name, got 5"):
        catalogs.hardware[5]


def test_a_catalog_is_a_mapping():
    names = list(catalogs.hardware)
    assert len(catalogs.hardware) == len(names) == len(set(names)) > 30
    assert names[0] == "A100-40"
    assert catalogs.hardware.get("no such chip") is None
    assert [preset.name for preset in catalogs.hardware.values()] == names


def test_tables():
    frame = catalogs.hardware.to_frame()
    assert list(frame.index) == list(catalogs.hardware)
    assert frame.index.name == "hardware"
    assert frame.loc["H100", "hbm_bandwidth"] == 3.35e12
    assert math.isnan(frame.loc["H100", "peak_flops_fp4"])
    assert frame.attrs["units"]["hbm_bandwidth"] == "byte/s/chip"
    assert catalogs.models.to_frame().loc["DeepSeek-V3", "weight_format"] == "fp8"


def test_a_preset_as_table():
    frame = catalogs.hardware["H100"].to_frame()
    row = frame.loc["hbm_bandwidth"]
    assert (row["value"], row["unit"], row["written"], row["read"]) == (3.35e12, "byte/s/chip", "3.35 TB/s", True)
    assert row["source"]
    assert row["date"]
    assert (row["status"], frame.loc["scale_up_domain", "status"]) == ("checked in source", "unverified")


def test_showing():
    assert repr(catalogs.hardware).startswith(f"{len(catalogs.hardware)} hardware presets: A100-40, ")
    text = repr(catalogs.hardware["H100"])
    assert text.splitlines()[0] == "H100 (hardware)"
    assert re.search(r"hbm_bandwidth +3\.35 TB/s", text)
    assert "(unverified)" in text
    assert "(checked in source)" in text
    counted = repr(catalogs.hardware).splitlines()[1]
    frame = catalogs.hardware.to_frame()
    assert frame.loc["H100", "unverified"] == "scale_up_domain, dies_per_chip"
    assert counted.startswith(f"{sum(len(names.split(', ')) for names in frame['unverified'] if names)} of ")
    assert counted.endswith(" numbers unverified")
    assert "<td>700 W *</td>" in catalogs.hardware._repr_html_()
    page = catalogs.hardware._repr_html_()
    assert '<th scope="row">GB200 NVL72</th>' in page
    assert "<td>8 TB/s</td>" in page
    page = catalogs.models["DeepSeek-V3"]._repr_html_()
    assert '<th scope="row">active_without_tables</th><td>35,698,924,544</td>' in page


CONFLICT = """[hardware.x]
sources = [{ source = "ours", date = "2026", read = true }]
conflicts = [{ CONFLICT }]
[hardware.x.values]
chips = 8
"""


def test_a_conflict_is_read_with_its_decision(write):
    given = 'of = "chips", value = 16, source = "theirs", date = "2026-05", read = false, decision = "ours is newer"'
    preset = rs.load_presets(write(CONFLICT.replace("CONFLICT", given)))[0]
    (conflict,) = preset.conflicts
    assert (conflict.quantity, conflict.fact.value, conflict.decision) == ("chips", 16, "ours is newer")
    assert conflict.fact.origin == "theirs, 2026-05 (unverified)"
    assert pickle.loads(pickle.dumps(preset)).conflicts == preset.conflicts


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("at = 5", "a conflict has the keys of, value, source, date, read, decision"),
        ('of = "layers"', "a conflict is given for 'layers', which has no value here"),
        ('of = "chips", value = 16', "a source needs source = '...', date = '...' and read = true or false"),
        ('of = "chips", source = "s", date = "2026", read = true', "chips: expected a number"),
        ('of = "chips", value = 0, source = "s", date = "2026", read = true', "chips must be >= 1"),
        ('of = "chips", value = 9, source = "s", date = "2026", read = true, decision = 1', "should be a text"),
        ('of = "chips", value = 9, source = "s", date = "2026", read = true, decision = "\\u0007"', "one line"),
    ],
)
def test_mistakes_in_a_conflict_name_the_file(write, given, message):
    with pytest.raises(errors.PresetError, match=r"mine\.toml") as caught:
        rs.load_presets(write(CONFLICT.replace("CONFLICT", given)))
    assert message in str(caught.value)


def test_html_is_escaped():
    preset = catalogs.hardware.define("a <b> chip", note="<script>", hbm_bandwidth="1 TB/s")
    assert "<script>" not in preset._repr_html_()
    assert "a &lt;b&gt; chip" in catalogs.hardware._repr_html_()


# ------------------------------------------------------------------------------------------------------- presets


def test_a_preset_does_not_change():
    preset = catalogs.hardware["H100"]
    for change in (
        lambda: setattr(preset, "name", "x"),
        lambda: preset.values.update(chips=8),  # type: ignore[attr-defined]
        lambda: preset.facts.clear(),  # type: ignore[attr-defined]
        lambda: preset.attributes.clear(),  # type: ignore[attr-defined]
    ):
        with pytest.raises(AttributeError):
            change()


def test_a_preset_travels():
    preset = catalogs.models["DeepSeek-V3"]
    other = pickle.loads(pickle.dumps(preset))
    assert other == preset
    assert hash(other) == hash(preset)
    assert other.values == preset.values
    assert other != catalogs.models["Kimi-K2"]


def test_attributes():
    preset = catalogs.models["DeepSeek-V3"]
    assert preset.multi_token_prediction_parameters == 11610067968
    assert preset.layers == preset["layers"] == 61
    assert {"layers", "active_without_tables"} <= set(dir(preset))
    with pytest.raises(AttributeError, match="preset 'DeepSeek-V3' has no 'wheels'"):
        _ = preset.wheels
    with pytest.raises(errors.UnknownName, match="unknown quantity of 'DeepSeek-V3' 'layer'; did you mean 'layers'"):
        preset["layer"]


def test_date_is_the_newest():
    assert catalogs.prices["H100 Google Cloud list"].date == "2025-02"
    assert catalogs.hardware["H20"].date == "2025-09"


# -------------------------------------------------------------------------------------------------------- define


def test_define():
    preset = catalogs.hardware.define(
        "Ours", "H100", aliases=["our chip"], source="measured", date="2026-05", hbm_bandwidth="4 TB/s", chips=16
    )
    assert catalogs.hardware["our chip"] is preset
    assert (preset["hbm_bandwidth"], preset["chips"], preset["peak_flops_bf16"]) == (4e12, 16.0, 989e12)
    assert preset.facts["chips"].source == "measured"
    assert preset.facts["peak_flops_bf16"].source == catalogs.hardware["H100"].facts["peak_flops_bf16"].source
    assert "chips" not in catalogs.hardware["H100"].values


def test_define_from_a_preset_and_again():
    catalogs.prices.define("Ours", chip_price="$1.7/h")
    again = catalogs.prices.define("Ours", catalogs.prices["lecture"], aliases=["us"])
    assert catalogs.prices["us"] is catalogs.prices["ours"] is again
    third = catalogs.prices.define("Ours", chip_price=1e-3)
    assert catalogs.prices["Ours"] is third
    assert "us" not in catalogs.prices


def test_define_a_choice():
    assert catalogs.models.define("Ours", "Llama-3.1-8B", weight_format="fp4")["weight_format"] == "fp4"


@pytest.mark.parametrize(
    ("arguments", "values", "error", "message"),
    [
        (("Ours",), {}, errors.PresetError, "'Ours' supplies nothing"),
        (("Ours",), {"hbm_bandwith": 1}, errors.UnknownName, "'hbm_bandwith'; did you mean 'hbm_bandwidth'?"),
        (("Ours",), {"hbm_bandwidth": "4 TB"}, errors.UnitError, "hbm_bandwidth: cannot read '4 TB' as byte/s/chip"),
        (("Ours",), {"chips": math.nan}, errors.ValueRangeError, "chips must be >= 1 and finite, in chip, got nan"),
        (("Ours",), {"hbm_bandwidth": "-4 TB/s"}, errors.ValueRangeError, "hbm_bandwidth must be > 0 and finite"),
        (("Ours",), {"chips": [1, 2]}, errors.InputTypeError, "chips: expected a number"),
        (("Ours",), {"weight_format": "fp5"}, errors.UnknownName, "unknown weight_format 'fp5'"),
        (("Ours", "H1000"), {"chips": 8}, errors.UnknownName, "did you mean 'H100'"),
        (("H100",), {"chips": 8}, errors.PresetError, "'H100' is taken by the hardware preset 'H100'"),
        (("hgx-h100",), {"chips": 8}, errors.PresetError, "'hgx-h100' is taken by the hardware preset 'HGX H100'"),
        (("Ironwood",), {"chips": 8}, errors.PresetError, "'Ironwood' is taken by the hardware preset 'TPU 7x'"),
        (("  ",), {"chips": 8}, errors.PresetError, "is not a name"),
    ],
)
def test_define_mistakes(arguments, values, error, message):
    before = list(catalogs.hardware)
    with pytest.raises(error) as caught:
        catalogs.hardware.define(*arguments, **values)
    assert message in str(caught.value)
    assert list(catalogs.hardware) == before


def test_define_needs_a_base_of_its_kind():
    with pytest.raises(errors.InputTypeError, match="'DeepSeek-V3' is no hardware preset, but a model preset"):
        catalogs.hardware.define("Ours", catalogs.models["DeepSeek-V3"], chips=8)


# -------------------------------------------------------------------------------------------------- files of users


def test_load_presets(write):
    path = write(
        """
        [hardware."My chip"]
        aliases = ["mine"]
        note = "a note"
        sources = [{ source = "our lab", date = 2026-05-01, read = true }]
        [hardware."My chip".values]
        hbm_bandwidth = "4 TB/s"
        chips = 4
        [hardware."My chip".attributes]
        socket = "SXM"

        [hardware."My rack"]
        base = "my-chip"
        sources = [{ of = "chips", source = "floor plan", date = "2026", read = false }]
        [hardware."My rack".values]
        chips = 32

        [prices."My rent"]
        sources = [{ source = "contract", date = "2026", read = true }]
        [prices."My rent".values]
        chip_price = "$1.5/h"
        """
    )
    loaded = catalogs.load_presets(path)
    assert [preset.name for preset in loaded] == ["My chip", "My rack", "My rent"]
    chip = catalogs.hardware["mine"]
    assert dict(chip.values) == {"hbm_bandwidth": 4e12, "chips": 4.0}
    assert (chip.note, chip.socket, chip.facts["chips"].date) == ("a note", "SXM", "2026-05-01")
    rack = catalogs.hardware["My rack"]
    assert dict(rack.values) == {"hbm_bandwidth": 4e12, "chips": 32.0}
    assert rack.facts["chips"].source == "floor plan"
    assert rack.facts["hbm_bandwidth"].source == "our lab"
    assert not rack.facts["chips"].read
    assert catalogs.prices["My rent 2026"] is catalogs.prices["my rent"]


def test_a_file_may_be_loaded_again(write):
    catalogs.load_presets(write(CHIP))
    catalogs.load_presets(write(CHIP.replace("4 TB/s", "5 TB/s")))
    assert catalogs.hardware["My chip"]["hbm_bandwidth"] == 5e12


RENTED = """[hardware.Rented]
base = "H100"
sources = [{ source = "offer", date = "2026", read = true }]
[hardware.Rented.values]
chip_price = "$3/h"
"""


@pytest.mark.parametrize("column", [None, "hardware", "prices", "both"])
def test_two_presets_that_supply_the_same_input(write, column):
    catalogs.load_presets(write(RENTED))
    inputs = {"chips": 16, "batch_size": 1, "context_length": 1000, "model": "lecture"}
    named = {"hardware": "Rented", "prices": "lecture"}
    columns = [name for name in named if column in (name, "both")]
    table = pd.DataFrame({name: [named.pop(name)] * 2 for name in columns})

    def ask(**more):
        if columns:
            return rs.frame(table, "cost_per_token", Settled({**named, **inputs, **more}))["cost_per_token"][0]
        return rs.value("cost_per_token", {**named, **inputs, **more})

    with pytest.raises(errors.PresetError) as caught:
        ask()
    for words in ("hardware='Rented'", "prices='lecture'", "both supply 'chip_price': give chip_price= itself"):
        assert words in str(caught.value)
    assert ask(chip_price="$1/h") == rs.value("cost_per_token", inputs, hardware="H100", chip_price="$1/h")


def test_lists_of_presets_that_supply_the_same_input(write):
    catalogs.load_presets(write(RENTED))
    with pytest.raises(errors.PresetError, match="both supply 'chip_price'"):
        rs.evaluate("cost_per_token", hardware="Rented", prices=["lecture"], batch_size=1)


def test_two_files_cannot_share_a_name(write):
    catalogs.load_presets(write(CHIP))
    with pytest.raises(errors.PresetError, match=r"other\.toml, line 1: 'My chip' is taken"):
        catalogs.load_presets(write(CHIP, "other.toml"))


def test_environment(write, monkeypatch):
    paths = [write(CHIP), write(CHIP.replace("My chip", "Your chip"), "yours.toml")]
    monkeypatch.setenv("ROOFSLATE_PRESETS", catalogs.os.pathsep.join(map(str, paths)))
    assert catalogs.hardware["My chip"]["hbm_bandwidth"] == 4e12
    assert "Your chip" in catalogs.hardware


def test_a_bad_environment_is_told_each_time_and_can_be_mended(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFSLATE_PRESETS", str(tmp_path / "none.toml"))
    for _ in range(2):
        with pytest.raises(errors.PresetError, match=r"cannot read the preset file .*none\.toml"):
            catalogs.hardware["H100"]
    monkeypatch.delenv("ROOFSLATE_PRESETS")
    assert "H100" in catalogs.hardware


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[hardwear.x.values]\nchips = 1", 1, "unknown section 'hardwear'; did you mean 'hardware'?"),
        ("color = 'x'\n", 1, "unknown section 'color'; known are 'hardware', 'models'"),
        ("\nhardware = 'x'\n", 2, "'hardware' should hold presets, each a table [hardware.<name>]"),
        ("\n[[hardware]]\nx = 1\n", 2, "'hardware' should hold presets"),
        ("\n[hardware.x]\nnote = 'n'\n", 2, "'x' supplies no values"),
        ("[hardware]\nx = 5\n", 2, "'x' should be a table"),
        ("[hardware.x]\n\nvalue = 3\n", 3, "unknown key of 'x' 'value'; did you mean 'values'?"),
        ("[hardware.x]\naliases = 'y'\n", 2, "'aliases' of 'x' should be a list"),
        ("[hardware.x]\naliases = [3]\n" + SOURCE + "[hardware.x.values]\nchips = 1", 2, "aliases are texts"),
        ("[hardware.x]\nbase = 'y'\n[hardware.x.values]\nchips = 1", 2, "the base 'y' of 'x' is not defined before it"),
        (CHIP + "\nhbm_bandwith = 3\n", 6, "unknown quantity 'hbm_bandwith'; did you mean 'hbm_bandwidth'?"),
        (CHIP + "hbm_capacity = '3 TB/s'\n", 5, "hbm_capacity: cannot read '3 TB/s' as byte/chip: it is in byte/s"),
        (CHIP + "chips = true\n", 5, "chips: expected a number"),
        (CHIP + "chips = nan\n", 5, "chips must be >= 1 and finite, in chip, got nan"),
        (CHIP + "chips = 0\n", 5, "chips must be >= 1 and finite, in chip, got 0"),
        (CHIP + "chips = 2026-05-01\n", 5, "chips: expected a number"),
        (
            CHIP.replace(SOURCE, ""),
            1,
            "'My chip' says nothing of where its values come from: sources = [{ source = '...'",
        ),
        (CHIP.replace("2026-05", "May"), 2, "a source needs a name and a date such as '2026-05', got 'our lab', 'May'"),
        (CHIP.replace("2026-05", "2026-13"), 2, "a date such as '2026-05', got 'our lab', '2026-13'"),
        (CHIP.replace("our lab", " "), 2, "a source needs a name"),
        (
            CHIP.replace("My chip", "My\\nchip"),
            1,
            "is not a name for a preset: expected up to 100 printable characters",
        ),
        (CHIP.replace("My chip", "x" * 150), 1, "(152 characters) is not a name for a preset"),
        (CHIP.replace("My chip", "H100"), 1, "'H100' is taken by the hardware preset 'H100'"),
        (CHIP + CHIP.replace("My chip", "my-CHIP"), 5, "'my-CHIP' is taken by the hardware preset 'My chip'"),
        (CHIP + '[hardware."My chip".attributes]\nannounced = "soon"\n', 6, "'announced' should be a date such as"),
        (CHIP + '[hardware."My chip".attributes]\nx = inf\n', 6, "the attribute 'x' should be a number or a text"),
        (CHIP + '[hardware."My chip".attributes]\nx = "a\\u001bb"\n', 6, "the attribute 'x': expected one line"),
        (CHIP.replace(SOURCE, SOURCE + "note = '''\n[hardware.x]\n'''\n"), 3, "note: expected one line"),
        ("# c\n[models.x]\n" + SOURCE + "[models.x.values]\nweight_format = 'fp5'\n", 5, "unknown weight_format 'fp5'"),
        ("[models.x]\n" + SOURCE + "values.layers = 'many'\n", 3, "layers: cannot read 'many' as 1"),
        (CHIP + '[hardware."My chip".attributes]\na = [1]\n', 6, "the attribute 'a' should be a number or a text"),
        ('[hardware."My chip"]\nsources = [3]\n' + VALUES, 2, "a source has the keys of, source, date, read"),
        ('[hardware."My chip"]\nsources = [{ from = "x" }]\n' + VALUES, 2, "a source has the keys"),
        (
            '[hardware."My chip"]\nsources = [{ of = [["x"]], source = "x", date = "2026", read = true }]\n' + VALUES,
            2,
            "given for",
        ),
        ('[hardware."My chip"]\nsources = [{ source = "x" }]\n' + VALUES, 2, "a source needs source = '...', date ="),
        (
            '[hardware."My chip"]\nsources = [{ of = ["chips"], source = "x", date = "2026", read = true }]\n' + VALUES,
            2,
            "a source is given for 'chips', which has no value here",
        ),
        (
            '[hardware."My chip"]\nsources = [{ of = "hbm_bandwidth", source = "x", date = "2026", read = true }]\n'
            + VALUES
            + "chips = 8\n",
            5,
            "'chips' has no source",
        ),
        (
            '[hardware."My chip"]\nsources = [\n{ source = "x", date = "2026", read = true },\n'
            '{ source = "y", date = "2026", read = true },\n]\n' + VALUES,
            2,
            "only one can have the rest",
        ),
        (
            '[hardware."My chip"]\nsources = [\n{ of = "hbm_bandwidth", source = "x", date = "2026", read = true },\n'
            '{ of = "hbm_bandwidth", source = "y", date = "2026", read = true },\n]\n' + VALUES,
            2,
            "'hbm_bandwidth' has two sources",
        ),
    ],
)
def test_mistakes_in_a_file_are_named_with_their_line(write, text, line, message):
    before = list(catalogs.hardware)
    with pytest.raises(errors.PresetError) as caught:
        catalogs.load_presets(write(text))
    assert f"mine.toml, line {line}: " in str(caught.value)
    assert message in str(caught.value)
    assert list(catalogs.hardware) == before


def test_what_is_no_toml(write):
    with pytest.raises(errors.PresetError, match=r"mine\.toml, line 2: Invalid value \(column 8\)"):
        catalogs.load_presets(write("[hardware.x]\nchips == 3\n"))


def test_what_is_no_text(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(errors.PresetError, match=r"mine\.toml, line 1: cannot read the preset file as utf-8"):
        catalogs.load_presets(path)


@pytest.mark.parametrize(
    ("reader", "calls", "ask"),
    [
        ("_read", len(library.SHIPPED), lambda: dict(catalogs.hardware)["H100"]),
        ("read_part", 1, lambda: catalogs.hardware["H100"]),
    ],
    ids=["all", "one"],
)
def test_threads_load_once(monkeypatch, reader, calls, ask):
    read, counted = getattr(library, reader), []
    monkeypatch.setattr(library, reader, lambda *arguments: counted.append(1) or read(*arguments))
    result = []
    threads = [threading.Thread(target=lambda: result.append(ask())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counted) == calls
    assert all(preset is result[0] for preset in result)
    assert len(result) == 8


# ------------------------------------------------------------------------------------------------- one at a time


def test_a_preset_is_read_without_the_others():
    chip = catalogs.hardware["gb200-nvl72"]
    assert catalogs._library._shelves is None
    assert set(catalogs._library._shipped.read) == {("hardware", "GB200"), ("hardware", "GB200 NVL72")}
    assert "H1000" not in catalogs.hardware  # a missing name has every file read
    assert catalogs.hardware["GB200 NVL72"] is dict(catalogs.hardware)["GB200 NVL72"] is chip
    assert catalogs.hardware.define("mine", base=chip, chips=36).values["hbm_bandwidth"] == chip["hbm_bandwidth"]


@pytest.mark.parametrize("section", KINDS)
def test_presets_read_alone_are_those_of_the_files(section):
    catalog = getattr(catalogs, section)
    presets = dict(catalog)
    alone = library.Shipped()
    for name, preset in presets.items():
        one = alone.find(section, name)
        assert one == preset
        assert (dict(one.values), one.aliases) == (dict(preset.values), preset.aliases)
        # a date that ends the name of a price is known when it is read
        assert all(alone.find(section, alias) is one for alias in preset.aliases if not alias.startswith(name))
    parts = [part for file in library.SHIPPED for part in parts_of(library.FOLDER / file)]
    assert [part.name for part in parts if part.section == section] == list(presets)


def test_a_damaged_file_is_named_with_its_line(monkeypatch, tmp_path):
    for file in library.SHIPPED:
        (tmp_path / file).write_text((library.FOLDER / file).read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / "hardware.toml"
    text = path.read_text(encoding="utf-8").replace('hbm_bandwidth = "3.35 TB/s"', 'hbm_bandwidth = "3.35 TB"', 1)
    path.write_text(text, encoding="utf-8")
    line = text[: text.index('"3.35 TB"')].count("\n") + 1
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    assert catalogs.hardware["A100"].name == "A100-80"
    with pytest.raises(errors.PresetError, match=rf"hardware\.toml, line {line}: hbm_bandwidth: cannot read '3.35 TB'"):
        catalogs.hardware["H100"]


def test_the_environment_counts_when_the_first_preset_is_asked_for(write, monkeypatch):
    assert "H100" in catalogs.hardware
    monkeypatch.setenv("ROOFSLATE_PRESETS", str(write(CHIP)))
    assert "My chip" not in catalogs.hardware


def test_import_reads_no_file_and_no_heavy_library():
    code = (
        "import sys; from roofslate.presets import catalog; "
        "assert catalog._library._shelves is None; "
        "assert not {'pandas', 'xarray', 'matplotlib', 'scipy', 'pint'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_preset_in_a_list_gives_what_it_gives_alone():
    """A quantity that one preset states and another leaves to a formula has both values.

    Each model has the value that it has in a separate call.
    """
    models = ["lecture", "DeepSeek-V3"]
    together = rs.evaluate("balance_tokens", model=models, hardware="GB200 NVL72")
    alone = [rs.value("balance_tokens", model=model, hardware="GB200 NVL72") for model in models]
    assert together.values.tolist() == alone
    assert alone[0] != alone[1]
    with pytest.raises(errors.PresetError, match=r"'DeepSeek-V3' supplies no balance_tokens.*evaluate 'lecture' apart"):
        rs.evaluate("balance_tokens", model=models, hardware=["GB200 NVL72", "HGX H100"])


def test_an_input_that_would_not_have_told_what_a_preset_states_is_accepted():
    """The preset states the inefficiency, which chips do not determine.

    Cost does not depend on chips.
    """
    known = {"model": "lecture training", "hardware": "H100", "training_utilization": 0.4, "chip_price": "2 USD/h"}
    known |= {"pretraining_tokens": 1e14, "rl_tokens": 1e14, "inference_tokens": 1e14}
    alone = rs.value("lifetime_cost", known)
    assert rs.value("lifetime_cost", {**known, "chips": 100}) == alone
    # with a rate they would give a part of it, and neither has an effect
    with pytest.raises(errors.IneffectiveInput, match=r"'(chips|decode_token_rate)' has no effect"):
        rs.value("lifetime_cost", known, chips=100, decode_token_rate=1e4)
    # one step away, or several that follow of themselves
    for given in ({"hbm_bandwidth": "3 TB/s"}, {"weight_format": "fp8"}):
        with pytest.raises(errors.IneffectiveInput, match="'lecture' supplies"):
            rs.value("balance_batch", model="lecture", **given)


def test_a_list_does_not_hide_that_one_preset_states_what_follows_for_others():
    """By itself the first preset refuses the utilization, because it states a dependent of it."""
    given = {"decode_utilization": 0.1, "training_utilization": 0.4}
    for model in ("lecture training", ["lecture training", "DeepSeek-V3"]):
        with pytest.raises(errors.IneffectiveInput, match="'lecture training' supplies 'decode_inefficiency'"):
            rs.evaluate("decode_inefficiency", model=model, **given)
    assert rs.value("decode_inefficiency", given, model="DeepSeek-V3") == pytest.approx(4)


# --------------------------------------------------------------------------------------------- storage and price lists


def test_storage_and_price_lists_have_keywords():
    tier = rs.storage["HDD"]
    assert rs.value("tier_drain_time", storage="HDD") == rs.value("tier_drain_time", tier.values)
    assert rs.value("tier_bandwidth", storage="HDD", tier_bandwidth="1 GB/s") == 1e9
    ratios = rs.evaluate("output_input_ratio", api_prices=["GPT-5", "Claude Opus 4.5"])
    assert ratios.api_prices.values.tolist() == ["GPT-5", "Claude Opus 4.5"]
    for name in ("GPT-5", "Claude Opus 4.5"):
        given = rs.api_prices[name].values
        assert ratios.sel(api_prices=name).item() == pytest.approx(given["output_price"] / given["input_price"])


@pytest.mark.parametrize(
    "catalog", ["hardware", "models", "prices", "loss_laws", "storage", "api_prices", "speculators", "sites"]
)
def test_every_preset_unpacks(catalog):
    for preset in getattr(rs, catalog).values():
        assert dict(**preset) == dict(preset.values)
