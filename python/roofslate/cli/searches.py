"""Commands that search and draw, and the server: arguments, options and help."""

from __future__ import annotations

from typing import Any

import click

from roofslate.cli.program import (
    calibration_option,
    completed,
    do,
    form_option,
    main,
    output_option,
    question,
)

__all__ = ["main"]


@main.command(short_help="The best way to put a model on chips.")
@question("deploy", "objective=QUANTITY [where=CONDITION]... [NAME=VALUE]...")
def deploy(**given: Any) -> None:
    """Search all layouts for the least, or with maximize=yes the largest, value of a quantity.

    \b
    Keywords, as in rs.deploy
      objective=QUANTITY    the quantity to minimize, also as the first word
      where=CONDITION       may be repeated; a comma or "and" joins conditions
      maximize=yes          search for the largest value
      also=NAME,...         further quantities of the table
      prefill.NAME=VALUE    prefill pools apart, with inputs that differ; prefill={} for none
    Inputs are written as for `roofslate evaluate`: lists of models, chips and formats are compared.

    \b
    The table holds the layouts that meet all conditions, best first. csv and json add the ends of the 80% band of
    each estimate, and its support. The exit code is 1 if no layout meets the conditions.

    \b
    Example
      roofslate deploy cost_per_output_token where="tpot <= 50 ms" where="ttft <= 3 s" model=Llama-3.1-70B \\
          hardware=H100,H200 weight_format=fp8 input_tokens=8k output_tokens=1k chip_price="2 USD/h"
    """  # noqa: D301
    do("deploy", given)


@main.command(short_help="The best point of a grid.")
@question("best", "objective=QUANTITY over=AXIS,... [where=CONDITION]... [NAME=VALUE]...")
def best(**given: Any) -> None:
    """Search axes of a grid for the best value of a quantity, at each point of the others.

    \b
    Keywords, as in rs.best
      objective=QUANTITY    the quantity to minimize, also as the first word
      over=AXIS,...         the axes to search
      where=CONDITION       may be repeated; a comma or "and" joins conditions
      maximize=yes, also=NAME,..., prune=no
    The exit code is 1 if no point of the grid meets the conditions.

    \b
    Example
      roofslate best cost_per_token over=batch_size where="pass_time <= 20 ms" model=DeepSeek-V3 \\
          hardware="GB200 NVL72" chip_price="3 USD/h" batch_size=1:8192:500:log context_length=8k,64k
    """  # noqa: D301
    do("best", given)


@main.command(short_help="The value of an input that makes a condition true.")
@question("solve", "INPUT CONDITION [NAME=VALUE]...")
def solve(**given: Any) -> None:
    """Solve a condition for one input, at a point or for each point of a grid.

    \b
    Keywords, as in rs.solve
      unknown=INPUT, condition=CONDITION    also as the first two words
      at=smallest|largest|all               the solution, if there are several
      integer=yes                           whole numbers only
    --units takes the unit of the result. The exit code is 1 if there is no solution at any point; the column `reason`
    says why.

    \b
    Example
      roofslate solve concurrency "tpot <= 30 ms" --calibration serving at=largest integer=yes model=Llama-3.1-70B \\
          hardware="HGX H100" weight_format=fp8 input_tokens=8k output_tokens=1k
    """  # noqa: D301
    do("solve", given)


@main.command(short_help="A picture of quantities over a grid.")
@question("plot", "QUANTITY... [NAME=VALUE]...")
def plot(**given: Any) -> None:
    """Draw quantities over a grid into a file whose name ends in .png, .svg or .pdf.

    Inputs are written as for `roofslate evaluate`, with one or two axes. x=, y= and hue= name the axes of the picture,
    as in rs.plot, and bands=0.8 adds the band of an estimate. With --format the numbers drawn are printed too, or
    instead if there is no --output.

    \b
    Example
      roofslate plot time_per_output_token --calibration serving bands=0.8 model=Llama-3.1-70B \\
          hardware="HGX H100" weight_format=fp8 input_tokens=8k output_tokens=1k concurrency=1:64:20:log --format csv
    """  # noqa: D301
    do("plot", given)


@main.command(short_help="Models by name, or by words of a search.")
@click.argument("search", required=False, shell_complete=completed("models"))
@calibration_option
@form_option
@output_option
def models(**given: Any) -> None:
    """List models whose name, alias or note holds SEARCH.

    The one of exactly this name is shown with its numbers and sources.

    The column `support` says whether the calibration, by default `serving`, was fitted to runs of the model.

    \b
    Examples
      roofslate models llama
      roofslate models DeepSeek-V3 --format json
    """  # noqa: D301
    do("models", given)


@main.command(short_help="Chips and systems by name, or by words of a search.")
@click.argument("search", required=False, shell_complete=completed("hardware"))
@calibration_option
@form_option
@output_option
def hardware(**given: Any) -> None:
    """List hardware whose name, alias or note holds SEARCH.

    The one of exactly this name is shown with its numbers and sources.

    The column `support` says whether the calibration, by default `serving`, was fitted to runs on it.

    \b
    Examples
      roofslate hardware
      roofslate hardware "GB200 NVL72"
    """  # noqa: D301
    do("hardware", given)


@main.command(short_help="A server for assistants, by the Model Context Protocol.")
@click.option("--stdio", is_flag=True, required=True, help="Speak over standard input and output.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.1, max=3600),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time of a call; then it is stopped.",
)
@click.option(
    "--points",
    type=click.IntRange(min=1, max=1_000_000),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Most points of the grid of a call.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=64),
    default=2,
    show_default=True,
    metavar="N",
    help="Calls that run at once, each in a process.",
)
def serve(**given: Any) -> None:
    """Serve the calls of the package as tools of the Model Context Protocol.

    The tools are evaluate, deploy, explain, solve, search and summary.

    Results are structured: values with unit, basis ("floor" is a lower bound), band, support, sources and notes.
    A call reads and writes no file. It needs the package mcp: pip install 'roofslate[serve]'.

    \b
    Example, as an entry of an assistant's settings
      {"mcpServers": {"roofslate": {"command": "roofslate", "args": ["serve", "--stdio"]}}}
    """  # noqa: D301
    do("serve", given)
