"""Flags of one process of a launch command, collected one by one."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from roofslate.deployment.launch_options import EngineOptions
    from roofslate.deployment.served import Served

__all__ = ["Flag", "Process", "Writer"]


@dataclass(frozen=True)
class Flag:
    """One flag of a launch command.

    Attributes
    ----------
    name : str
        Flag, or the dotted key of a configuration file.
    value : str or None
        Value; None for a flag without one.
    quantity : str
        Input of the model behind it, or empty.
    number : str
        That input's number, with its unit.
    why : str
        Meaning.
    is_shell : bool
        Whether the value has a variable of the shell.
    """

    name: str
    value: str | None
    quantity: str
    number: str
    why: str
    is_shell: bool = False


@dataclass
class Process:
    """One program of a deployment: its role, command, and the nodes that run it.

    Attributes
    ----------
    role : str
        ``serve``, ``frontend``, ``prefill`` or ``decode``.
    words : list of str
        Program and positional arguments.
    flags : list of Flag
    config : dict
        Content of a configuration file.
    replicas, nodes, chips : int
        Copies; nodes of each; chips of each node.
    worker_flags : list of Flag
        Flags of the nodes behind the first, if they differ; None if they do not.
    """

    role: str
    words: list[str]
    flags: list[Flag] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    replicas: int = 1
    nodes: int = 1
    chips: int = 1
    worker_flags: list[Flag] | None = None


class Writer:
    """Collect the flags of one process."""

    def __init__(self, options: EngineOptions, served: Served, process: Process) -> None:
        self.options, self.served, self.process = options, served, process

    def add(
        self, flag: str, value: object = None, *, quantity: str | None = None, why: str = "", shell: bool = False
    ) -> None:
        """Add a flag, with its meaning from the list of options unless given."""
        setting = self.options.settings.get(flag)
        name = quantity if quantity is not None else setting.quantity if setting else ""
        text = why or (setting.why if setting else "")
        written = None if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        number = self.served.number_text(name) if name else ""
        self.process.flags.append(Flag(flag, written, name, number, text, shell))

    def configure(self, key: str, value: Any) -> None:
        """Add a key of the configuration file."""
        *parents, last = key.split(".")
        table = self.process.config
        for parent in parents:
            table = table.setdefault(parent, {})
        table[last] = value
        setting = self.options.settings[key]
        number = self.served.number_text(setting.quantity)
        self.process.flags.append(Flag(f"config: {key}", json.dumps(value), setting.quantity, number, setting.why))

    def note(self, text: str) -> None:
        """Note an input that no flag carries, once."""
        if text not in self.served.notes:
            self.served.notes.append(text)

    def refuse(self, quantity: str, reason: str) -> None:
        """Refuse a layout or technique that the engine lacks."""
        given = self.served.number_text(quantity) or "default"
        raise ValueRangeError(f"{quantity}={given}: {self.options.title} {reason}")

    # ------------------------------------------------------------------------------------------- shared by engines

    def word(self, flag: str, quantity: str) -> None:
        """Add a flag for a format, or refuse one that the engine has no word for."""
        word, words = self.served.word(quantity), self.options.settings[flag].words
        if word not in words:
            self.refuse(quantity, f"has no word for it; {flag} knows {', '.join(words)}")
        self.add(flag, words[word])

    def kv_format(self, flag: str) -> None:
        """Add the format of the KV cache, unless it is bf16, the default of engines."""
        if self.served.word("kv_format") not in ("", "bf16"):
            self.word(flag, "kv_format")

    def weight_format(self, flag: str) -> None:
        """Add the format of weights where the checkpoint is stored in another one."""
        served = self.served
        word = served.word("weight_format")
        stored = "" if served.model is None else str(served.model.values.get("weight_format", ""))
        if served.explicit("weight_format") is None or word == stored:
            return
        if not flag:
            self.note(
                f"weight_format={word}: follows from the checkpoint; {served.checkpoint} is {stored or 'unknown'}"
            )
        elif word == "bf16":
            self.note(f"weight_format=bf16: needs a checkpoint in bf16; {served.checkpoint} is {stored or 'unknown'}")
        else:
            self.word(flag, "weight_format")
            if word not in ("fp8", "fp8-block", "int8") or stored != "bf16":
                self.note(f"weight_format={word}: {flag} loads a checkpoint that is stored so; give checkpoint=")

    def sequences(self, flag: str, *, per_group: bool) -> None:
        """Add the most sequences that run at a time, as many as there are clients unless given."""
        name = "concurrency" if self.served.explicit("max_running_sequences") is None else "max_running_sequences"
        most = self.served.explicit(name)
        if most is None or not math.isfinite(most) or (name == "concurrency" and self.process.role == "prefill"):
            return
        groups = self.served.groups if per_group else 1
        each = math.ceil(most / groups)
        if each * groups != most and name != "concurrency":
            self.note(f"{name}={most:g}: {flag} {each} is for each of {groups} groups, {each * groups} in all")
        self.add(flag, each, quantity=name)

    def tokens(self, flag: str, *, per_group: bool) -> float | None:
        """Add the tokens of a step, and return the tokens of a prompt that a step can read."""
        served = self.served
        budget, chunk = served.explicit("step_token_budget"), served.explicit("prefill_chunk")
        chunk = None if chunk is None or not math.isfinite(chunk) else float(served.whole("prefill_chunk"))
        if budget is None or not math.isfinite(budget):
            if chunk is not None:
                self.add(flag, int(chunk if per_group else chunk * served.groups), quantity="prefill_chunk")
            return chunk
        each = int(budget // served.groups)
        if each * served.groups != budget:
            self.note(f"step_token_budget={budget:g}: each of {served.groups} groups takes {each} tokens")
        self.add(flag, each if per_group else each * served.groups)
        if served.explicit("prefill_chunk") != math.inf and (chunk is None or chunk > each):
            self.note(f"prompts are read in parts of at most {each} tokens; prefill_chunk={each} predicts so")
        return float(each)

    def nodes(self) -> None:
        """Set the size of the process."""
        served, process = self.served, self.process
        if served.whole("prefill_context_parallel") > 1:
            self.refuse("prefill_context_parallel", "has no flag for it that agrees with the model; nearest: 1")
        process.nodes = served.nodes
        process.chips = min(served.layout["chips"], served.chips_per_node)
        if served.layout["chips"] % process.nodes:
            self.refuse("chips", f"takes as many chips on each of {process.nodes} nodes; give chips_per_node=")
        process.chips = served.layout["chips"] // process.nodes

    def graphs(self) -> int | None:
        """Return the largest batch from recorded graphs, None where the engine chooses."""
        most = self.served.explicit("max_graph_batch_size")
        return None if most is None or not math.isfinite(most) else self.served.whole("max_graph_batch_size")

    def mixed_steps(self) -> None:
        """Note separate prefill steps, for engines that read prompts within decode steps."""
        if self.served.explicit_word("prompt_policy") == "first":
            self.note(
                f"prompt_policy=first: {self.options.title} reads prompts in decode steps; "
                "prompt_policy='chunked' predicts so"
            )

    def no_flag(self, *quantities: str) -> None:
        """Note inputs that this engine has no flag for."""
        for name in quantities:
            x = self.served.explicit(name)
            if x is not None and x != 1:
                self.note(f"{name}={self.served.number_text(name)}: {self.options.title} has no flag for it")

    def memory_share(self, flag: str) -> None:
        """Add the share of a chip's memory for weights and KV cache."""
        share = self.served.explicit("kv_cache_memory_share")
        if share is None:
            return
        free = self.served.free_memory_share
        if free is None:
            self.note(f"kv_cache_memory_share={share:g}: {flag} needs the memory of a chip; give hardware=")
        else:
            self.add(flag, 1 - free * (1 - share))
