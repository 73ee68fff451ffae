"""`python -m benchmarks`: speed relative to this machine's limits and to other tools."""

from __future__ import annotations

from pathlib import Path

import click
from roofslate._base.files import write

from benchmarks import measure
from benchmarks.chart import save


@click.command()
@click.option(
    "--size",
    type=click.Choice(["small", "full"]),
    default="full",
    show_default=True,
    help="full takes minutes, small tests that it runs.",
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="By default as many as the process may use.")
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every measurement here.",
)
@click.option(
    "--markdown",
    "markdown_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the tables here.",
)
@click.option(
    "--chart",
    "chart_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw time by points here, in the format of the file's ending.",
)
@click.option("--only", multiple=True, metavar="PART", help="A part to measure. Repeat the option for several.")
def bench(
    size: str,
    threads: int | None,
    json_file: Path | None,
    markdown_file: Path | None,
    chart_file: Path | None,
    only: tuple[str, ...],
) -> None:
    """Measure the engine against this machine's limits and against other tools.

    All ratios come from one run, as medians of interleaved repetitions. Tools that are not installed are skipped and
    listed.

    Parts: limits, four-outputs, one-output, one-operation, elasticities, fresh-memory, short-axes, table, points,
    import, memory, bars, best, optimum, pruning, deployments, distributions, solve, samples, stores, long-table,
    point-cost, growth, calculators.
    """
    report = measure(size, threads=threads, only=only, say=lambda text: click.echo(text, err=True))
    click.echo(report)
    if json_file is not None:
        write(json_file, report.json + "\n")
    if markdown_file is not None:
        write(markdown_file, report.markdown + "\n")
    if chart_file is not None:
        save(report, chart_file)


if __name__ == "__main__":
    bench()
