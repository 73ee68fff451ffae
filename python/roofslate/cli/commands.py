"""The command line as its user sees it: commands, options and help. What a command does is loaded when it is run."""

from __future__ import annotations

import errno
import io
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from roofslate._base.interrupts import INTERRUPTED, raise_on_interrupt, was_interrupted
from roofslate._base.messages import unknown
from roofslate._base.version import __version__
from roofslate.cli.formats import FORMATS
from roofslate.errors import RoofslateError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]


# The module of each command, with a function run_<command>: help and completion load none of them.
_HOMES = {
    "evaluate": "evaluate",
    "sweep": "sweep",
    "explain": "explain",
    "compare": "explain",
    "summary": "explain",
    "quantities": "lists",
    "presets": "lists",
    "catalog": "lists",
    "validate": "validate",
    "lecture": "lecture",
}


_LONGEST = 1000  # characters of a message


_EXTRAS = {"matplotlib": "charts", "pyarrow": "io", "scipy": "analysis"}


class _Commands(click.Group):
    """A group whose mistakes end in one line and exit code 2; Ctrl-C in 130."""

    def main(self, args: Any = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        extra.pop("standalone_mode", None)
        if sys.stdout is None:
            sys.stdout = _Closed()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal without µ shows ?
        try:
            code = super().main(args, prog_name or "roofslate", standalone_mode=False, **extra)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(INTERRUPTED)
        except Exception as error:
            if was_interrupted():  # in an import, which may end in any error
                sys.exit(INTERRUPTED)
            _explain(error)
            raise
        sys.exit(code if isinstance(code, int) else 0)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise unknown("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)  # in the order of this file


def _completed(what: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What a shell offers for an argument."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        found: list[str] = getattr(import_module("roofslate.cli.completion"), what)(begun)
        return found

    return complete


def _do(command: str, given: dict[str, Any]) -> None:
    """Do what a command is for."""
    run = getattr(import_module(f"roofslate.cli.{_HOMES[command]}"), f"run_{command}")
    raise_on_interrupt()
    run(**given)


def _shortened(message: str) -> str:
    """Message of click, which repeats what was given, however long."""
    if len(message) <= _LONGEST:
        return message
    brief = re.sub(r"\S{200,}", lambda word: f"{word[0][:80]}... ({len(word[0]):,} characters)", message)
    return brief if len(brief) <= _LONGEST else f"{brief[:_LONGEST]}... ({len(brief):,} characters)"


class _Closed(io.TextIOBase):
    """Standard output that the caller closed; Python has None for it."""

    def write(self, text: str) -> int:
        if not text:
            return 0
        raise OSError(errno.EBADF, "standard output is closed")


def _explain(error: Exception) -> None:
    """End with the one line that an error comes to; return where it is ours to mend."""
    match error:
        case click.ClickException():
            _fail(_shortened(error.format_message()))
        case RoofslateError():
            _fail(str(error))
        case ModuleNotFoundError():
            extra = _EXTRAS.get(str(error.name).split(".")[0])
            if extra:
                _fail(f"this needs {error.name}, which is not installed: pip install 'roofslate[{extra}]'")
        case OSError():
            _fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        case MemoryError():
            _fail("there is not enough memory for this; take fewer points")


def _fail(message: str) -> NoReturn:
    click.echo(f"roofslate: {' '.join(message.split())}", err=True)
    sys.exit(2)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="roofslate")
@click.pass_context
def main(context: click.Context) -> None:
    """How frontier language models are trained and served, and what that costs, from first principles.

    \b
    roofslate lecture                    the lecture as a report: charts, answers, inconsistencies
    roofslate quantities memory          what can be asked for and given
    roofslate presets                    models, hardware, prices, loss laws by name
    roofslate validate                   predictions against measured runs
    roofslate explain pass_time model=DeepSeek-V3 hardware="GB200 NVL72" batch_size=256 context_length=8k
    roofslate evaluate pass_time model=DeepSeek-V3 hardware="GB200 NVL72" batch_size=1:4096:13:log context_length=8k

    \b
    Questions are written as names of quantities, inputs as NAME=VALUE; `roofslate evaluate --help` has the rules.
    A mistake ends with one line on standard error and exit code 2.
    In bash, eval "$(_ROOFSLATE_COMPLETE=bash_source roofslate)" completes names; zsh_source and fish_source too.
    """  # noqa: D301
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_scenario_option = click.option(
    "--scenario",
    "-s",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file of inputs, name = value; the command line beats it.",
)


_units_option = click.option(
    "--units",
    "-u",
    multiple=True,
    metavar="NAME=UNIT",
    help="Unit of an output, such as cost_per_token=USD/Mtoken; may be repeated.",
)


_threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="By default as many as the process may use; results do not depend on it.",
)


@main.command(short_help="Quantities at a point or over a grid.")
@click.argument("words", nargs=-1, shell_complete=_completed("words"), metavar="QUANTITY... [NAME=VALUE]...")
@_scenario_option
@_units_option
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(FORMATS),
    help="How the result is written; by default what the name of the file says, or a table.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write here instead of to the terminal.",
)
@_threads_option
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
    Base units are FLOP, byte, token, chip, s, USD and the like: `roofslate quantities` shows which a quantity has.

    \b
    Results: one row for each point of the grid
      table     for reading: scaled numbers, with the unit in the header
      csv       full precision; nothing for "undefined", inf for "never"
      json      {"units": {name: unit}, "rows": [{name: number}]}; null for "undefined", "inf" for "never"
      parquet   needs --output; units stand in the metadata
    csv, json and parquet hold base units, or those of --units.

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
    _do("evaluate", given)


@main.command(short_help="Quantities for each row of a scenario file.")
@click.argument("source", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("words", nargs=-1, shell_complete=_completed("words"), metavar="[NAME=VALUE]...")
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
@_scenario_option
@_units_option
@_threads_option
def sweep(**given: Any) -> None:
    """Compute quantities for each row of SOURCE, a .csv or .parquet file, and write its columns with the results.

    Columns are inputs: numbers, texts with units, words of choices; in columns called model, hardware, prices and
    loss_law names of presets. What is the same for all rows is written NAME=VALUE, as for `roofslate evaluate`. Files
    may be larger than memory; rows keep their order. The output appears when it is whole.

    A value that cannot be read ends the sweep and names its line. A row with an empty cell or a number out of range
    gets empty cells, and one line at the end counts such rows. Needs pyarrow: pip install 'roofslate[io]'.

    \b
    Examples
      roofslate sweep scenarios.csv --outputs pass_time,cost_per_token -o results.parquet
      roofslate sweep scenarios.parquet --outputs cost_per_token --units cost_per_token=USD/Mtoken \\
          --ignore owner,id -o results.csv --overwrite hardware="GB200 NVL72" chip_price="3 USD/h"
    """  # noqa: D301
    _do("sweep", given)


@main.command(short_help="The derivation of one value, as on the board.")
@click.argument("words", nargs=-1, shell_complete=_completed("words"), metavar="QUANTITY [NAME=VALUE]...")
@_scenario_option
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
    _do("explain", given)


@main.command(short_help="All outcomes of a deployment or a training run.")
@click.argument("words", nargs=-1, shell_complete=_completed("words"), metavar="[NAME=VALUE]...")
@_scenario_option
def summary(**given: Any) -> None:
    """Show memory, latency, throughput and cost of one scenario: lower bound and estimate.

    \b
    Inputs are written as for `roofslate evaluate`, without lists and ranges. Outcomes that lack an input are listed.

    \b
    Example
      roofslate summary model=Llama-3.1-70B weight_format=fp8 hardware="HGX H100" chip_price="2 USD/h" \\
          concurrency=64 input_tokens=8k output_tokens=1k
    """  # noqa: D301
    _do("summary", given)


@main.command(short_help="Why a value differs between two scenarios.")
@click.argument("words", nargs=-1, shell_complete=_completed("words"), metavar="QUANTITY A.TOML B.TOML [NAME=VALUE]...")
def compare(**given: Any) -> None:
    """Explain the ratio of a quantity in two scenarios, factor by factor; the factors multiply to the ratio.

    A scenario file is a flat table of inputs, name = value, as for `--scenario`; what both have is written NAME=VALUE.

    \b
    Example
      roofslate compare cost_per_token today.toml tomorrow.toml model=DeepSeek-V3 context_length=32k
    """  # noqa: D301
    _do("compare", given)


@main.command(short_help="What can be asked for and given.")
@click.argument("search", required=False, shell_complete=_completed("names"))
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
    """List quantities whose name, meaning or symbol holds SEARCH; the one of exactly this name in full.

    \b
    Examples
      roofslate quantities kv
      roofslate quantities pass_time
      roofslate quantities --format csv
    """  # noqa: D301
    _do("quantities", given)


@main.command(short_help="Models, hardware, prices and loss laws known by name.")
@click.argument("name", required=False, shell_complete=_completed("presets"))
def presets(**given: Any) -> None:
    """List the presets of model=, hardware= and the other keywords; with NAME, its numbers and where they come from.

    \b
    Examples
      roofslate presets
      roofslate presets hardware
      roofslate presets "GB200 NVL72"
    """  # noqa: D301
    _do("presets", given)


@main.command(short_help="Numbers of presets that are stale, unverified, or contradicted.")
@click.argument("action", type=click.Choice(["check"]))
@click.option("--date", metavar="DAY", help="The day in question, such as 2026-11-22; today unless given.")
@click.option(
    "--finding",
    type=click.Choice(["contradicted", "stale", "unverified"]),
    help="Only these; all otherwise.",
)
def catalog(**given: Any) -> None:
    """List numbers of the catalogs that are stale, unverified, or contradicted; exit code 1 for the last.

    \b
    Examples
      roofslate catalog check
      roofslate catalog check --date 2026-11-22 --finding stale
    """  # noqa: D301
    _do("catalog", given)


@main.command(short_help="Predictions against measured runs.")
@click.argument("table", required=False, type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@click.option(
    "--rows",
    "rows_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every row with its prediction and band here, as CSV.",
)
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column that is no input; may be repeated.")
def validate(**given: Any) -> None:
    """Score predictions against measured runs: mean and median error, bias, and what the bands hold.

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
    _do("validate", given)


@main.command(short_help="The lecture as a report.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("lecture"),
    show_default=True,
    help="Folder of the report.",
)
@click.option("--chapter", type=click.IntRange(min=1), metavar="N", help="One chapter alone.")
def lecture(**given: Any) -> None:
    """Compute the lecture: every chart, the answers beside the lecture's own, and the inconsistencies.

    Writes one page that works offline, with the charts as SVG and PNG and the answers as CSV beside it.
    """
    _do("lecture", given)
