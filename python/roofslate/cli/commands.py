"""Commands that compute, explain and list: arguments, options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from roofslate.cli.formats import CARD_FORMS, FORMATS
from roofslate.cli.program import (
    calibration_option,
    completed,
    do,
    form_option,
    main,
    output_option,
    question,
    scenario_option,
    threads_option,
    units_option,
)

__all__ = ["main"]


@main.command(short_help="Quantities at a point or over a grid.")
@question("evaluate", "QUANTITY... [NAME=VALUE]...", forms=FORMATS)
def evaluate(**given: Any) -> None:
    """Compute quantities at a point, or at each point of a grid.

    \b
    Inputs, as NAME=VALUE
      a number, with a unit or in base units   batch_size=256  context_length=128k  chip_price="2 USD/h"
      a word of a choice                       overlap=serial_kv
      a list makes an axis                     batch_size=1,64,512  model=DeepSeek-V3,Kimi-K2
      a range makes an axis                    batch_size=1:8192:50:log  context_length=0:128k:65
      presets                                  model=  hardware=  prices=  loss_law=  calibration=  speculator=  site=
    Commas part the items of a list: 1667 or 1_667 is one number, 1,667 two. A range has its ends as points.
    Base units are FLOP, byte, token, chip, s, USD and the like: `roofslate quantities` shows the unit of a quantity.

    \b
    Results: one row for each point of the grid
      table     for reading: scaled numbers, with the unit in the header
      csv       full precision; nothing for "undefined", inf for "never"
      json      {"units": {name: unit}, "rows": [{name: number}]}; null for "undefined", "inf" for "never"
      parquet   needs --output; units are in the metadata
    csv, json and parquet use base units, or units of --units.

    \b
    Examples
      roofslate evaluate pass_time compute_utilization model=DeepSeek-V3 hardware="GB200 NVL72" \\
          batch_size=1,64,2400 context_length=8k
      roofslate evaluate cost_per_token model=DeepSeek-V3 hardware="GB200 NVL72" chip_price="3 USD/h" \\
          batch_size=1:8192:14:log context_length=128k --units cost_per_token=USD/Mtoken
      roofslate evaluate balance_batch model=DeepSeek-V3,Kimi-K2 hardware=H200,B200 --format csv

    \b
    Where names are found
      roofslate quantities [TEXT]   quantities with units and meaning; each can be an output or an input
      roofslate presets [NAME]      models, hardware, prices and loss laws, with their numbers and sources
    """  # noqa: D301
    do("evaluate", given)


@main.command(short_help="Quantities for each row of a scenario file.")
@click.argument("source", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("words", nargs=-1, shell_complete=completed("words"), metavar="[NAME=VALUE]...")
@click.option("--outputs", required=True, metavar="NAME,...", help="Quantities to compute.")
@click.option(
    "--output",
    "-o",
    "target",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write here: a name that ends in .csv or .parquet.",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that exists, at the end.")
@click.option("--ignore", multiple=True, metavar="NAME,...", help="Columns that are no inputs; they are written too.")
@scenario_option
@calibration_option
@units_option
@threads_option
def sweep(**given: Any) -> None:
    """Compute quantities for each row of SOURCE, a .csv or .parquet file, and write a table.

    Columns are inputs: numbers, texts with units, words of choices. Columns called model, hardware, prices and
    loss_law are names of presets. Inputs common to all rows are written NAME=VALUE, as for `roofslate evaluate`. Files
    may be larger than memory; rows keep their order. The output appears once it is complete.

    A value that cannot be read ends the sweep and names its line. A row with an empty field or a number out of range
    gets empty fields, and one line at the end counts such rows. Needs pyarrow: pip install 'roofslate[io]'.

    \b
    Examples
      roofslate sweep scenarios.csv --outputs pass_time,cost_per_token -o results.parquet
      roofslate sweep scenarios.parquet --outputs cost_per_token --units cost_per_token=USD/Mtoken \\
          --ignore owner,id -o results.csv --overwrite hardware="GB200 NVL72" chip_price="3 USD/h"
    """  # noqa: D301
    do("sweep", given)


@main.command(short_help="The derivation of one value, as on the board.")
@click.argument("words", nargs=-1, shell_complete=completed("words"), metavar="QUANTITY [NAME=VALUE]...")
@scenario_option
@calibration_option
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(["text", "markdown", "latex", "html", "dot"]),
    default="text",
    show_default=True,
    help="How the derivation is written; dot is the graph of its quantities, for Graphviz.",
)
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Levels below the quantity; by default all.")
def explain(**given: Any) -> None:
    """Derive one value as on the board: formula, numbers put in, result, and which term binds.

    \b
    Inputs are written as for `roofslate evaluate`, without lists and ranges.

    \b
    Examples
      roofslate explain pass_time model=DeepSeek-V3 hardware="GB200 NVL72" batch_size=2400 context_length=8k
      roofslate explain hbm_drain_time hardware=H100 --format markdown
      roofslate explain pass_time hardware=H100 model=Llama-3.1-8B batch_size=64 context_length=8k chips=1 --depth 1
    """  # noqa: D301
    do("explain", given)


@main.command(short_help="All outcomes of a deployment, a training run or a chip.")
@click.argument("words", nargs=-1, shell_complete=completed("words", "summary"), metavar="[NAME=VALUE]...")
@click.option(
    "--scenario",
    "-s",
    "scenarios",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file of inputs, name = value. Repeat it to compare scenarios. The command line takes precedence.",
)
@calibration_option
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(CARD_FORMS),
    help="Format of the result. The default follows the file name, or is a table. html is a separate page.",
)
@output_option
def summary(**given: Any) -> None:
    """Show the lower bound and the estimate of a scenario.

    A summary contains memory, latency, throughput, cost, and power.

    \b
    Inputs are written as for `roofslate evaluate`, without lists and ranges. They choose the kind of summary:
      deployment     concurrency=  input_tokens=  output_tokens=
      training run   pretraining_tokens=, or global_batch_size=  sequence_length=
      chip           hardware= without a model
    Several --scenario files are shown side by side. Outcomes that lack an input are listed. bands=0.9 sets the level of
    the band, stale_after="90 d" the age from which a price causes a warning. The exit code is 1 if a scenario does not
    fit in memory.

    \b
    Examples
      roofslate summary model=Llama-3.1-70B weight_format=fp8 hardware="HGX H100" chip_price="2 USD/h" \\
          concurrency=64 input_tokens=8k output_tokens=1k
      roofslate summary hardware=B200 chip_price="3 USD/h"
    """  # noqa: D301
    do("summary", given)


@main.command(short_help="Why a value differs between two scenarios.")
@click.argument("words", nargs=-1, shell_complete=completed("words"), metavar="QUANTITY A.TOML B.TOML [NAME=VALUE]...")
def compare(**given: Any) -> None:
    """Explain the ratio of a quantity in two scenarios as a product of factors.

    A scenario file is a flat table of inputs, name = value, as for `--scenario`; what both have is written NAME=VALUE.

    \b
    Example
      roofslate compare cost_per_token today.toml tomorrow.toml model=DeepSeek-V3 context_length=32k
    """  # noqa: D301
    do("compare", given)


@main.command(short_help="List quantities, which are outputs and inputs.")
@click.argument("search", required=False, shell_complete=completed("names"))
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(FORMATS[:3]),
    default="table",
    show_default=True,
    help="How the list is written; csv and json hold formulas and sources too.",
)
def quantities(**given: Any) -> None:
    """List quantities by name, meaning or symbol. An exact name is shown in full.

    \b
    Examples
      roofslate quantities kv
      roofslate quantities pass_time
      roofslate quantities --format csv
    """  # noqa: D301
    do("quantities", given)


@main.command(short_help="Models, hardware, prices and loss laws known by name.")
@click.argument("name", required=False, shell_complete=completed("presets"))
def presets(**given: Any) -> None:
    """List presets by keyword. With NAME, show its numbers and their sources.

    \b
    Examples
      roofslate presets
      roofslate presets hardware
      roofslate presets "GB200 NVL72"
    """  # noqa: D301
    do("presets", given)


@main.command(short_help="Numbers of presets that are stale, unverified, or contradicted.")
@click.argument("action", type=click.Choice(["check"]))
@click.option("--date", metavar="DAY", help="The day in question, such as 2026-11-22; today unless given.")
@click.option(
    "--finding",
    type=click.Choice(["contradicted", "stale", "unverified"]),
    help="Only these; all otherwise.",
)
def catalog(**given: Any) -> None:
    """List stale, unverified or contradicted numbers. Exit code 1 if contradicted.

    \b
    Examples
      roofslate catalog check
      roofslate catalog check --date 2026-11-22 --finding stale
    """  # noqa: D301
    do("catalog", given)


@main.command(short_help="Predictions against measured runs.")
@click.argument("table", required=False, type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@calibration_option
@form_option
@output_option
@click.option(
    "--rows",
    "rows_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every row with its prediction and band here, as CSV.",
)
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column that is no input; may be repeated.")
def validate(**given: Any) -> None:
    """Score predictions against measured runs: mean and median error, bias, coverage.

    Without TABLE, every published measurement that the package carries; a bound that is broken ends with exit code 1.
    TABLE is a CSV file of measured runs, with columns model, hardware, weight_format, chips, clients, input_tokens,
    output_tokens and time_per_output_token_s or time_to_first_token_s. Or it is a result of a benchmark tool, or a
    folder of such files: vLLM, SGLang, TensorRT-LLM, InferenceX, aiperf, genai-perf, GuideLLM. Each of its values is
    printed with the floor, the estimate, the share of the roofline that was reached, and the bottleneck. NAME=VALUE
    gives a column that the files lack.

    \b
    Examples
      roofslate validate
      roofslate validate runs.csv --rows predicted.csv
      roofslate validate results/ hardware=H200 chips=8 weight_format=fp8
    """  # noqa: D301
    do("validate", given)


@main.command(short_help="The lecture as a report.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("lecture"),
    show_default=True,
    help="Folder of the report.",
)
@click.option("--chapter", type=click.IntRange(min=1), metavar="N", help="Only one chapter.")
def lecture(**given: Any) -> None:
    """Compute the lecture: charts, answers compared with the lecture's, inconsistencies.

    Writes one page that works offline, the charts as SVG and PNG, and the answers as CSV.
    """
    do("lecture", given)


@main.command(short_help="Pages that compute in the browser.")
@click.argument("kind", type=click.Choice(["chart", "calculator", "lecture"]))
@click.argument("words", nargs=-1, shell_complete=completed("words"), metavar="[NAME]... [INPUT=VALUE]...")
@scenario_option
@calibration_option
@click.option(
    "--out", metavar="PATH", type=click.Path(path_type=Path), help="File of the page, or folder of the lecture."
)
def page(**given: Any) -> None:
    """Write a chart, a calculator or the lecture as pages that compute in any browser.

    \b
    A page is one HTML file with sliders, presets, lower bound and estimate, and derivations.
      chart       a chart of the lecture, or quantities with inputs as for `roofslate evaluate`
      calculator  size-a-service, cost-per-million-tokens, will-it-fit, what-does-a-run-cost, how-over-trained,
                  price-list
      lecture     the charts by chapter, calculators, search and flashcards, in a folder
    Needs Bokeh: pip install 'roofslate[pages]'.

    \b
    Examples
      roofslate page chart latency_vs_batch --out latency.html
      roofslate page chart pass_time batch_size=1:4096:100:log context_length=8k model=DeepSeek-V3 \\
          hardware="GB200 NVL72" --out pass.html
      roofslate page calculator will-it-fit --out fit.html
      roofslate page lecture --out lecture-live
    """  # noqa: D301
    do("page", given)
