"""The program: its commands, their options, and mistakes in one line."""

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
from roofslate._base.messages import pip_install, unknown
from roofslate._base.version import __version__
from roofslate.cli.formats import FORMS
from roofslate.errors import RoofslateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "HOMES",
    "calibration_option",
    "completed",
    "do",
    "form_option",
    "main",
    "output_option",
    "question",
    "scenario_option",
    "threads_option",
    "units_option",
]


# The module of each command, with a function run_<command>: help and completion load none of them.
HOMES = {
    "evaluate": "evaluate",
    "sweep": "sweep",
    "explain": "explain",
    "compare": "explain",
    "summary": "explain",
    "quantities": "lists",
    "presets": "lists",
    "catalog": "lists",
    "validate": "validate",
    "deploy": "decide",
    "best": "decide",
    "solve": "decide",
    "plot": "plot",
    "models": "lists",
    "hardware": "lists",
    "serve": "serve",
    "lecture": "lecture",
    "page": "page",
}


_LONGEST = 1000  # characters of a message


_EXTRAS = {
    "anyio": "serve",
    "bokeh": "pages",
    "matplotlib": "charts",
    "mcp": "serve",
    "pyarrow": "io",
    "scipy": "analysis",
}


class _Commands(click.Group):
    """A group with one-line errors and exit code 2, or 130 on Ctrl-C."""

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


def completed(what: str, *more: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Complete an argument for a shell."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        completions: list[str] = getattr(import_module("roofslate.cli.completion"), what)(begun, *more)
        return completions

    return complete


def do(command: str, given: dict[str, Any]) -> None:
    """Run a command."""
    run = getattr(import_module(f"roofslate.cli.{HOMES[command]}"), f"run_{command}")
    raise_on_interrupt()
    run(**given)


def _shortened(message: str) -> str:
    """Shorten a message of click, which repeats words of any length."""
    if len(message) <= _LONGEST:
        return message
    brief = re.sub(r"\S{200,}", lambda word: f"{word[0][:80]}... ({len(word[0]):,} characters)", message)
    return brief if len(brief) <= _LONGEST else f"{brief[:_LONGEST]}... ({len(brief):,} characters)"


class _Closed(io.TextIOBase):
    """Standard output closed by the caller, for which Python has None."""

    def write(self, text: str) -> int:
        if not text:
            return 0
        raise OSError(errno.EBADF, "standard output is closed")


def _explain(error: Exception) -> None:
    """End with one line for a user's error, return for an error of the program."""
    match error:
        case click.NoSuchOption():
            _fail(_shortened(import_module("roofslate.cli.words").no_such_option(error)))
        case click.ClickException():
            _fail(_shortened(error.format_message()))
        case RoofslateError():
            _fail(str(error))
        case ModuleNotFoundError():
            extra = _EXTRAS.get(str(error.name).split(".")[0])
            if extra:
                _fail(f"this needs {error.name}, which is not installed: {pip_install(extra)}")
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
    """Compute time, memory and cost of LLM training and serving, from first principles.

    \b
    roofslate lecture                    the lecture as a report: charts, answers, inconsistencies
    roofslate quantities memory          names of outputs and inputs
    roofslate presets                    models, hardware, prices, loss laws by name
    roofslate validate                   predictions against measured runs
    roofslate deploy request_latency model=Llama-3.1-8B hardware=H100 input_tokens=1k output_tokens=500
    roofslate explain pass_time model=DeepSeek-V3 hardware="GB200 NVL72" batch_size=256 context_length=8k
    roofslate evaluate pass_time model=DeepSeek-V3 hardware="GB200 NVL72" batch_size=1:4096:13:log context_length=8k

    \b
    Questions are written as names of quantities, inputs as NAME=VALUE; `roofslate evaluate --help` has the rules.
    Exit codes: 0; 1 if the answer is no (nothing fits, no solution, a broken bound); 2 with one line on standard error
    for a mistake; 130 after Ctrl-C.
    In bash, eval "$(_ROOFSLATE_COMPLETE=bash_source roofslate)" completes names; zsh_source and fish_source too.
    """  # noqa: D301
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


scenario_option = click.option(
    "--scenario",
    "-s",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file of inputs, name = value; the command line beats it.",
)


calibration_option = click.option(
    "--calibration",
    "-c",
    metavar="NAME|FILE",
    shell_complete=completed("calibrations"),
    help="Constants of the estimate: a name such as serving, floor for the lower bound, or a .toml file.",
)


units_option = click.option(
    "--units",
    "-u",
    multiple=True,
    metavar="NAME=UNIT",
    help="Unit of an output, such as cost_per_token=USD/Mtoken; may be repeated.",
)


threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="By default as many as the process may use; results do not depend on it.",
)


output_option = click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write here instead of to the terminal.",
)


def _form(forms: Sequence[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--format",
        "-f",
        "form",
        type=click.Choice(forms),
        help="How the result is written; by default as the name of the file says, or a table.",
    )


form_option = _form(FORMS)


def question(*names: str, forms: Sequence[str] = FORMS) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the words and options of `roofslate.cli.calls.Question`.

    Parameters
    ----------
    *names : str
        The call whose words are completed, and the text of its words in the help.
    forms : sequence of str
        Formats of the result.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options = (scenario_option, calibration_option, units_option, _form(forms), output_option, threads_option)
        for option in reversed(options):
            command = option(command)
        given = click.argument("words", nargs=-1, shell_complete=completed("words", names[0]), metavar=names[1])
        return given(command)

    return decorate
