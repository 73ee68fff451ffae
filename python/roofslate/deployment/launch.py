"""Launch commands of deployments, with the numbers behind their flags."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from roofslate.deployment.launch_flags import processes_of
from roofslate.deployment.launch_options import engine_options
from roofslate.deployment.manifests import manifest_of
from roofslate.deployment.served import read_served
from roofslate.display.html import html_table
from roofslate.errors import IneffectiveInput
from roofslate.grid.read import with_scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from roofslate.deployment.launch_options import EngineOptions
    from roofslate.deployment.launch_writer import Flag, Process

__all__ = ["LaunchCommand", "launch_command"]

_COLUMNS = ("process", "flag", "value", "quantity", "number", "why")


class LaunchCommand(str):
    """A launch command as text, with the number behind each flag.

    It is a `str`: print it, write it to a file, or pass it to a shell. `explain` lists flags and notes.

    Attributes
    ----------
    engine : str
        Name and version of the engine whose documented flags it uses.
    notes : tuple of str
        Inputs that the command does not carry, and further programs that the engine needs.
    """

    __slots__ = ("_options", "_processes", "_vendor", "engine", "notes")

    engine: str
    notes: tuple[str, ...]
    _options: EngineOptions
    _processes: tuple[Process, ...]
    _vendor: str

    def __new__(
        cls, options: EngineOptions, processes: Sequence[Process], notes: Iterable[str], vendor: str
    ) -> LaunchCommand:
        self = super().__new__(cls, _text(processes))
        self.engine, self.notes = options.title, tuple(notes)
        self._options, self._processes, self._vendor = options, tuple(processes), vendor
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return LaunchCommand, (self._options, self._processes, self.notes, self._vendor)

    @property
    def flags(self) -> pd.DataFrame:
        """Table of flags.

        Returns
        -------
        pandas.DataFrame
            `process`, `flag`, `value`, the `quantity` behind it, its `number`, and `why` in words.
        """
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=list(_COLUMNS))

    def manifest(
        self, name: str | None = None, *, image: str | None = None, namespace: str | None = None, port: int = 8000
    ) -> str:
        """Write a Kubernetes manifest.

        It has a Deployment and a Service, or a LeaderWorkerSet for a replica of several nodes.

        Parameters
        ----------
        name : str, optional
            Name of the objects, by default the engine's key.
        image : str, optional
            Container image; by default the engine's published one for NVIDIA chips.
        namespace : str, optional
        port : int

        Returns
        -------
        str
            YAML.

        Raises
        ------
        ValueRangeError
            For a name that Kubernetes does not take, for a deployment that needs an operator or MPI, and for chips
            without a default image.
        """
        return manifest_of(
            self._options,
            self._processes,
            name=name,
            image=image,
            namespace=namespace,
            port=port,
            vendor=self._vendor or "NVIDIA",
        )

    def explain(self) -> str:
        """Flags with the numbers behind them, and notes, as text."""
        rows = [row[0 if self._several else 1 :] for row in self._rows()]
        head = _COLUMNS[0 if self._several else 1 :]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [self.engine]
        lines += ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    @property
    def _several(self) -> bool:
        return len(self._processes) > 1

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (process.role, flag.name, flag.value or "", flag.quantity, flag.number, flag.why)
            for process in self._processes
            for flag in process.flags
        ]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        import html

        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        table = html_table(self.engine, _COLUMNS, self._rows())
        return f"<pre>{html.escape(self)}</pre>{table}" + (f"<ul>{notes}</ul>" if notes else "")


def launch_command(
    scenario: Mapping[str, Any] | None = None,
    engine: str = "vllm",
    /,
    *,
    checkpoint: str | None = None,
    draft_model: str | None = None,
    chips_per_node: int | None = None,
    prefill: Mapping[str, Any] | None = None,
    **inputs: Any,
) -> LaunchCommand:
    r"""Write the launch command of an engine for a scenario.

    The flags follow one version of each engine: vLLM 0.29.0, SGLang 0.5.23, TensorRT-LLM at 029e223d527d, Dynamo 1.6.1.

    Parameters
    ----------
    scenario : mapping, optional
        Inputs of one deployment, such as ``plan.best``: `model`, `chips` and the layout, formats, drafts, limits.
    engine : str
        ``"vllm"``, ``"sglang"``, ``"trtllm"`` or ``"dynamo"`` (with vLLM as its engine).
    checkpoint : str, optional
        Repository or folder of the weights, by default the published one of the model.
    draft_model : str, optional
        Checkpoint of a draft model.
    chips_per_node : int, optional
        By default 8, or the scale-up domain if it is smaller; 4 for GB200 and GB300.
    prefill : mapping, optional
        Inputs of a replica that prefills, such as ``plan.prefill_at()``, with ``serving_mode="disaggregated"``. By
        default it is like those that decode.
    **inputs
        Further inputs.

    Returns
    -------
    LaunchCommand
        A `str` with `flags`, `notes`, `explain` and `manifest`.

    Raises
    ------
    ValueRangeError
        For a layout or technique that the engine lacks, with the nearest one.
    MissingInput
        Without a model, chips, or the draft model.
    AxisError
        For several values of an input.
    IneffectiveInput
        For `prefill` without disaggregated serving.
    UnknownName
        For an unknown engine.

    See Also
    --------
    from_command : Read a launch command.
    deploy : Find the deployment.

    Examples
    --------
    >>> import roofslate as rs
    >>> command = rs.launch_command(model="Llama-3.1-70B", chips=4, tensor_parallel=4, max_running_sequences=64)
    >>> print(command)
    vllm serve meta-llama/Meta-Llama-3.1-70B \
      --tensor-parallel-size 4 \
      --max-num-seqs 64
    >>> command.flags.loc[1, ["quantity", "number"]].tolist()
    ['max_running_sequences', '64 sequence']
    """
    options = engine_options(engine)
    given = with_scenario(scenario, inputs)
    served = read_served(given, checkpoint=checkpoint, draft_model=draft_model, chips_per_node=chips_per_node)
    if prefill is not None:
        if not served.is_split:
            raise IneffectiveInput('prefill= has no effect: give serving_mode="disaggregated"')
        served.prefill = read_served(
            with_scenario(prefill, {}), checkpoint=checkpoint, draft_model=draft_model, chips_per_node=chips_per_node
        )
        served.prefill.notes = served.notes
    processes = processes_of(options.key, served)
    return LaunchCommand(options, processes, served.notes, served.vendor)


# ---------------------------------------------------------------------------------------------------------------- text


def _text(processes: Sequence[Process]) -> str:
    """Write the commands of all processes, each but the last in the background."""
    blocks = []
    for k, process in enumerate(processes):
        end = " &" if k + 1 < len(processes) else ""
        lines = [f"# {comment}" for comment in [_comment(process, len(processes))] if comment]
        if process.config:
            name = f"{process.role}.yaml"
            lines += [f"cat > {name} <<'EOF'", json.dumps(process.config, indent=2), "EOF"]
        lines.append(command_line(process.words, process.flags) + end)
        if process.worker_flags is not None:
            lines += ["# other nodes", command_line(process.words, process.worker_flags) + end]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _comment(process: Process, count: int) -> str:
    parts = [process.role] if count > 1 else []
    if process.replicas > 1:
        parts.append(f"{process.replicas} replicas")
    if process.nodes > 1:
        parts.append(f"{process.nodes} nodes of {process.chips} chips")
    return ", ".join(parts)


def command_line(words: Sequence[str], flags: Sequence[Flag]) -> str:
    """One command, quoted for a shell, a flag a line."""
    lines = [" ".join(map(shlex.quote, words))]
    for flag in flags:
        if flag.name.startswith("config: "):
            continue
        value = "" if flag.value is None else f' "{flag.value}"' if flag.is_shell else f" {shlex.quote(flag.value)}"
        lines.append(f"  {flag.name}{value}")
    return " \\\n".join(lines)
