"""`from_command`: a launch command as a scenario."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.deployment.command_flags import read_commands
from roofslate.deployment.graph_limits import GRAPH_DEFAULTS, graph_limit, read_graph_limit, read_prefill
from roofslate.deployment.repositories import catalog_model
from roofslate.deployment.served import free_memory_share
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.grid.read import WithScenario
from roofslate.presets.catalog import models
from roofslate.presets.frameworks import prefill_choices
from roofslate.presets.lookup import find_preset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roofslate.deployment.command_flags import Launched
    from roofslate.presets.preset import Preset

__all__ = ["CommandScenario", "from_command"]


class CommandScenario(WithScenario):
    """The scenario of a launch command, a dict that every call takes by position.

    Attributes
    ----------
    engine : str
        Name and version of the engine whose documented flags it was read with.
    ignored : dict of str to str
        Flags, and words around the command, that change no input of the model, with their values.
    defaults : dict of str to int or bool
        Absent flags that set an input, with the value that this version of the engine chooses, some by the chip.
    notes : tuple of str
        Assumptions, and inputs that a command does not say.
    """

    engine: str = ""
    ignored: dict[str, str]
    defaults: dict[str, int]
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        inputs: Mapping[str, Any],
        engine: str,
        ignored: dict[str, str],
        defaults: dict[str, int],
        notes: tuple[str, ...],
        chosen: Iterable[str] = (),
    ) -> None:
        super().__init__(inputs)
        self.engine, self.ignored, self.defaults, self.notes = engine, ignored, defaults, notes
        self.members = frozenset(inputs)
        self.exempt = frozenset(chosen)


def from_command(text: str, /, *, config: Any = None, **inputs: Any) -> CommandScenario:
    """Read a launch command of vLLM, SGLang, TensorRT-LLM or Dynamo as a scenario.

    Flags are looked up in the documented list of one version: vLLM 0.29.0, SGLang 0.5.23, TensorRT-LLM at 029e223d527d,
    Dynamo 1.6.1. Nothing is carried out, and no file is opened.

    Parameters
    ----------
    text : str
        A command or a script, at most 100,000 characters: ``--flag value``, ``--flag=value``, short flags, line
        continuations, variables before the command, ``python -m``, containers.
    config : mapping or str, optional
        Content of the configuration file of ``trtllm-serve``, unless the script writes it.
    **inputs
        Further inputs, which win: `hardware`, the load, prices. `model` replaces the model of the command.

    Returns
    -------
    CommandScenario
        A dict with `ignored`, `defaults` and `notes`.

    Raises
    ------
    UnknownName
        For a flag that the engine does not have, with the nearest, for a model that the catalog does not have, and for
        a text that starts no engine.
    ValueRangeError
        For a value that a flag does not take, for a flag whose effect the model does not have, and for commands of
        several deployments.
    MissingInput
        For a flag without its value, or a configuration file that was not given.

    See Also
    --------
    launch_command : Write a launch command.

    Examples
    --------
    >>> import roofslate as rs
    >>> scenario = rs.from_command("vllm serve Qwen/Qwen3-32B -tp 4 --kv-cache-dtype fp8 --port 8000", hardware="H100")
    >>> scenario["model"], scenario["chips"], scenario["kv_format"], scenario.ignored
    ('Qwen3-32B', 4, 'fp8', {'--port': '8000'})
    """
    reading = _Reading(read_commands(text, config), inputs)
    return reading.scenario()


class _Reading:
    """Inputs that the flags of a script set, and absent flags with a default."""

    def __init__(self, launched: list[Launched], given: Mapping[str, Any]) -> None:
        self.given = given
        self.notes: list[str] = []
        self.ignored: dict[str, str] = {}
        self.defaults: dict[str, int] = {}
        self.inputs: dict[str, Any] = {}
        self.chosen: set[str] = set()  # inputs by the engine's choice that a floor leaves out
        self.graph_default: int | None = None  # largest batch from a graph where no flag says it
        for each in launched:
            self.ignored |= each.ignored
        workers = [each for each in launched if each.program != "dynamo.frontend"]
        for each in launched:
            if each not in workers:
                self._ignore_rest(each, set())
        if not workers:
            raise ValueRangeError("command: a frontend serves no model; give the command of a worker too")
        engines = sorted({each.options.title for each in workers})
        if len(engines) > 1:
            raise ValueRangeError(f"command: one engine at a time, got {', '.join(engines)}")
        self.main = self._one_of(workers)
        self.options = self.main.options
        self.engine = "vllm" if self.options.key == "dynamo" else self.options.key

    def scenario(self) -> CommandScenario:
        """Join the inputs of the command and of the caller, which win."""
        preset = self._model()
        self.routed = preset is not None and float(preset.values.get("experts", 1)) > 1
        self.latent = preset is not None and float(preset.values.get("kv_latent_size", 0)) > 0
        key = self.options.key
        self._fill_defaults()
        read = {"sglang": self._sglang, "trtllm": self._trtllm}.get(key, self._vllm)
        used = read() | self._graphs() | self._prefill()
        self._weights(preset, used)
        self._words("kv_format", used)
        self.inputs["engine"] = self.options.pages(latent=self.latent)
        self._ignore_rest(self.main, used)
        self._memory_share()
        if "draft_length" in self.inputs and not {"acceptance_rate", "acceptance_length", "speculator"} & {*self.given}:
            self.notes.append(
                "draft_length: a command does not say how many drafts are accepted; give acceptance_rate="
            )
        merged = {**self.inputs, **self.given}
        return CommandScenario(merged, self.options.title, self.ignored, self.defaults, tuple(self.notes), self.chosen)

    # ------------------------------------------------------------------------------------------------ several commands

    def _one_of(self, workers: list[Launched]) -> Launched:
        """Find the command that decodes among those that repeat it or read prompts for it."""
        leaders = [each for each in workers if not each.values.get("--headless")] or workers
        roles: dict[str, list[Launched]] = {}
        for each in leaders:
            roles.setdefault(each.role, []).append(each)
        if len({each.model for each in workers}) > 1:
            raise ValueRangeError(f"command: one model at a time, got {', '.join(each.model for each in workers)}")
        both = roles.get("split", [])
        if len(both) == 2 and both[0].values != both[1].values:
            self.notes.append("the first command is read as prefill, the second as decode")
            roles = {"prefill": both[:1], "decode": both[1:]}
        for role, same in roles.items():
            if any(each.values != same[0].values for each in same):
                raise ValueRangeError(f"command: {len(same)} different commands {role}; give one deployment at a time")
        if {*roles} - {"serve"}:
            self.inputs["serving_mode"] = "disaggregated"
        main = roles.get("decode") or roles.get("split") or roles.get("serve") or roles["prefill"]
        if "split" not in roles and len(main) > 1:
            self.inputs["replicas"] = len(main)
        prefill = roles.get("prefill", [])
        if prefill and prefill is not main:
            if len(prefill) > 1:
                self.inputs["prefill_replicas"] = len(prefill)
            roles_only = {"--disaggregation-mode", "--kv-transfer-config"}
            names = {*prefill[0].values, *main[0].values} - roles_only
            unlike = sorted(name for name in names if prefill[0].values.get(name) != main[0].values.get(name))
            if unlike:
                self.notes.append(
                    f"the scenario is of the replicas that decode; those that prefill differ in {', '.join(unlike)}"
                )
        return main[0]

    # ---------------------------------------------------------------------------------------------------------- engines

    def _vllm(self) -> set[str]:
        flag = self.main.values.get
        tensor, stages, groups = map(
            self.main.whole, ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")
        )
        self._layout(tensor, stages, groups)
        if self.routed:
            spread = bool(flag("--enable-expert-parallel"))
            self.inputs["expert_parallel"] = tensor * groups if spread or groups > 1 else 1
            if groups > 1 and not spread:
                self.notes.append(
                    "experts are split by width over all chips; the model spreads whole experts over them"
                )
        if (most := flag("--max-num-seqs")) is not None:
            self.inputs["max_running_sequences"] = most * groups
        step, cap = flag("--max-num-batched-tokens"), flag("--long-prefill-token-threshold")
        if step is not None:
            self.inputs["step_token_budget"] = step * groups
        chunks = [x for x in (step, cap) if x]
        if chunks:
            self.inputs["prefill_chunk"] = min(chunks)
        if flag("--enable-chunked-prefill") is False:
            self.inputs["prefill_chunk"] = math.inf
        if flag("--block-size") is not None:
            self.inputs["kv_block_size"] = flag("--block-size")
        if flag("--enable-prefix-caching") is False:
            self.inputs["prefix_hit_rate"] = 0.0
        drafts = {key.replace("-", "_"): x for key, x in (flag("--speculative-config") or {}).items()}
        self._drafts(drafts.get("num_speculative_tokens") if drafts else flag("--spec-tokens"))
        used = {
            *("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size", "--enable-expert-parallel"),
            *("--max-num-seqs", "--max-num-batched-tokens", "--long-prefill-token-threshold", "--block-size"),
            *("--speculative-config", "--spec-tokens", "--disaggregation-mode"),
        }
        if "serving_mode" in self.inputs:
            used.add("--kv-transfer-config")
        return used | self._only(False, "--enable-prefix-caching", "--enable-chunked-prefill")

    def _sglang(self) -> set[str]:
        flag = self.main.values.get
        stage, stages, copies = map(self.main.whole, ("--tp-size", "--pp-size", "--dp-size"))
        groups = self.main.whole("--attn-dp-size")
        if flag("--enable-dp-attention"):
            groups, copies = max(groups, copies), 1
        tensor = self._shared(stage, groups, "--attn-dp-size")
        self._layout(tensor, stages, groups)
        if copies > 1:
            self.inputs["replicas"] = copies
        if self.routed:
            exchange = flag("--moe-a2a-backend")
            spread = self.main.whole("--ep-size", stage if exchange not in (None, "none") else 1)
            self.inputs["expert_parallel"] = spread
            if stage // spread > tensor:
                self.notes.append("each expert is on the chips of several groups; the model copies it to each group")
        if flag("--max-running-requests") is not None:
            self.inputs["max_running_sequences"] = flag("--max-running-requests")
        step = flag("--chunked-prefill-size")
        if step is not None:
            self.inputs["prefill_chunk"] = math.inf if step < 0 else step / groups
            if step > 0:
                self.inputs["step_token_budget"] = step
        if flag("--page-size") is not None:
            self.inputs["kv_block_size"] = flag("--page-size")
        if flag("--disable-radix-cache"):
            self.inputs["prefix_hit_rate"] = 0.0
        if flag("--scheduler-recv-interval") is not None:
            self.inputs["receive_interval"] = flag("--scheduler-recv-interval")
        verified = flag("--speculative-num-draft-tokens")
        steps = flag("--speculative-num-steps")
        self._drafts(steps if steps is not None else verified - 1 if verified else None)
        return {
            *("--tp-size", "--pp-size", "--dp-size", "--attn-dp-size", "--enable-dp-attention", "--ep-size"),
            *("--moe-a2a-backend", "--max-running-requests", "--chunked-prefill-size", "--page-size"),
            *("--disable-radix-cache", "--scheduler-recv-interval", "--speculative-num-steps"),
            *("--speculative-eagle-topk", "--speculative-num-draft-tokens", "--speculative-algorithm"),
            "--disaggregation-mode",
        }

    def _trtllm(self) -> set[str]:
        flag, key = self.main.values.get, self._key
        stage = self.main.whole("--tensor_parallel_size", key("tensor_parallel_size", 1))
        stages = self.main.whole("--pipeline_parallel_size", key("pipeline_parallel_size", 1))
        groups = stage if flag("--enable_attention_dp") or key("enable_attention_dp", False) is True else 1
        self._layout(self._shared(stage, groups, "--enable_attention_dp"), stages, groups)
        if self.routed:
            spread = self.main.whole("--moe_expert_parallel_size", key("moe_expert_parallel_size", 1))
            self.inputs["expert_parallel"] = stage if groups > 1 else spread
            if groups > 1 and spread != stage:
                self.notes.append(
                    "experts are split by width over all chips; the model spreads whole experts over them"
                )
        most, step = flag("--max_batch_size", key("max_batch_size")), flag("--max_num_tokens", key("max_num_tokens"))
        if most is not None:
            self.inputs["max_running_sequences"] = most * groups
        if step is not None:
            self.inputs["step_token_budget"] = step * groups
        if flag("--enable_chunked_prefill") or key("enable_chunked_prefill", False) is True:
            self.inputs["prefill_chunk"] = step if step is not None else _default(self.main, "--max_num_tokens")
        share = flag("--free_gpu_memory_fraction", key("kv_cache_config.free_gpu_memory_fraction"))
        if share is not None:
            self.inputs["kv_cache_memory_share"] = share
        if (tokens := key("kv_cache_config.tokens_per_block")) is not None:
            self.inputs["kv_block_size"] = tokens
        if key("kv_cache_config.enable_block_reuse") is False:
            self.inputs["prefix_hit_rate"] = 0.0
        lengths = ("num_nextn_predict_layers", "max_draft_len")
        self._drafts(next((x for name in lengths if (x := key(f"speculative_config.{name}")) is not None), None))
        word = key("kv_cache_config.dtype")
        if word is not None:
            self.main.values.setdefault("--kv_cache_dtype", str(word))
        for name, value in _leaves(self.main.config):
            if name not in self.options.settings and f"--{name}" not in _TRT_KEYS:
                self.ignored[f"config: {name}"] = json.dumps(value)[:200]
        return {*_TRT_KEYS, "--free_gpu_memory_fraction"}

    def _key(self, path: str, default: Any = None) -> Any:
        """Value of a dotted key of the configuration file."""
        table: Any = self.main.config
        for part in path.split("."):
            if not isinstance(table, dict) or part not in table:
                return default
            table = table[part]
        if isinstance(default, int) and not isinstance(default, bool) and not isinstance(table, int):
            raise ValueRangeError(f"config: {path} must be a whole number, got {shown(table)}")
        return table

    # ------------------------------------------------------------------------------------------------------- parts

    def _layout(self, tensor: int, stages: int, groups: int) -> None:
        self.inputs |= {"chips": tensor * stages * groups, "tensor_parallel": tensor, "pipeline_stages": stages}
        self.inputs["attention_data_parallel"] = groups

    def _shared(self, stage: int, groups: int, flag: str) -> int:
        if stage % groups:
            raise ValueRangeError(f"{flag}: {groups} groups do not divide the {stage} chips of a stage")
        return stage // groups

    def _drafts(self, length: Any) -> None:
        if length is None:
            return
        if isinstance(length, bool) or not isinstance(length, int) or length < 0:
            raise ValueRangeError(f"draft_length: expected a whole number of drafts, got {shown(length)}")
        self.inputs["draft_length"] = length

    def _graphs(self) -> set[str]:
        """Read the largest batch from a recorded graph, per attention group."""
        drafts, default = self.inputs.get("draft_length", 0), self.graph_default
        most, defaults, used = read_graph_limit(self.engine, self.main.values, self._key, drafts, default)
        if most is not None:
            self._read({"max_graph_batch_size": most}, defaults)
        return used

    def _prefill(self) -> set[str]:
        """Read whether prompts wait for decode steps, and run from recorded graphs."""
        by_default = prefill_choices(self.engine, self.options.version, latent=self.latent)
        choices, absent, used = read_prefill(self.engine, self.main.values, self._key, by_default)
        if "serving_mode" in self.inputs or self.engine != "sglang":
            del choices["prompt_policy"]  # decode reads no prompts, other engines have no flag for it
        self._read(choices, absent)
        return used

    def _read(self, inputs: Mapping[str, Any], absent: Mapping[str, int]) -> None:
        """Add inputs that the caller does not give, with the absent flags behind them."""
        added = {name: x for name, x in inputs.items() if name not in self.given}
        self.inputs |= added
        self.defaults |= absent if added else {}
        self.chosen |= {*added} if absent else set()

    def _only(self, value: Any, *flags: str) -> set[str]:
        """Flags with this value, for which they have an effect."""
        return {flag for flag in flags if self.main.values.get(flag) is value}

    def _words(self, quantity: str, used: set[str]) -> None:
        """Read a format by the engine's word, or refuse one that the model lacks."""
        for name, setting in self.options.settings.items():
            if setting.quantity != quantity or name not in self.main.values:
                continue
            used.add(name)
            word = self.main.values[name]
            choice = setting.choice_of(word)
            if choice is not None:
                self.inputs[quantity] = choice
            elif word not in ("auto", "float16"):
                known = ", ".join([*setting.words.values(), *setting.read_as])
                raise ValueRangeError(f"{name} {word}: the model has no such format; it has {known}")

    def _weights(self, preset: Preset | None, used: set[str]) -> None:
        """Read the format of weights, if it is not the model's."""
        word = self.main.values.get("--quantization")
        setting = self.options.settings.get("--quantization")
        choice = setting.choice_of(word) if setting is not None and isinstance(word, str) else None
        if choice is not None:
            used.add("--quantization")
            self.inputs["weight_format"] = choice
        if preset is not None and self.inputs.get("weight_format") == preset.values.get("weight_format"):
            self.inputs.pop("weight_format", None)

    def _memory_share(self) -> None:
        """Read the share of a chip's memory as a share of the memory left by the weights."""
        for flag in ("--gpu-memory-utilization", "--mem-fraction-static"):
            share = self.main.values.get(flag)
            if share is None:
                continue
            if not 0 < share <= 1:
                raise ValueRangeError(f"{flag}: expected a share above 0 and up to 1, got {share:g}")
            if "hardware" not in self.given and "hbm_capacity" not in self.given:
                self.ignored[flag] = f"{share:g}"
                self.notes.append(f"{flag}: give hardware= to read it as kv_cache_memory_share")
                continue
            free = free_memory_share({**self.inputs, **self.given})
            if share <= 1 - free:
                raise ValueRangeError(f"{flag} {share:g}: the weights take {1 - free:.3g} of the memory")
            self.inputs["kv_cache_memory_share"] = 1 - (1 - share) / free

    def _fill_defaults(self) -> None:
        """Give absent flags the values that the engine chooses by the chip, or for all chips."""
        values, mode = self.main.values, self.main.values.get
        flags = {"--max_batch_size": "max_batch_size", "--max_num_tokens": "max_num_tokens"}
        if self.options.key == "trtllm":
            absent = {flag: _default(self.main, flag) for flag, key in flags.items() if self._key(key) is None}
            self.graph_default = self.options.defaults_on("", 0.0)[GRAPH_DEFAULTS["trtllm"]]
        else:
            chip = self._chip()
            stage = self.main.whole("--tp-size") if self.options.key == "sglang" else 1
            absent = dict(self.options.defaults_on(*chip, stage)) if chip is not None else {}
            by_chip = {flag for row in self.options.chip_defaults for flag in row.flags if not self._is_set(flag)}
            if graph_limit(self.engine, values, self._key, 0) is not None:
                by_chip.discard(GRAPH_DEFAULTS[self.engine])
            if by_chip and "hardware" not in self.given:
                self.notes.append(f"give hardware= for the default of {', '.join(sorted(by_chip))}, which is by chip")
            self.graph_default = next((absent.pop(flag) for flag in GRAPH_DEFAULTS.values() if flag in absent), None)
        if mode("--performance-mode") == "throughput":
            absent = {flag: 2 * x for flag, x in absent.items()}
        if mode("--enable-chunked-prefill") is False:
            absent.pop("--max-num-batched-tokens", None)  # as long as the longest context
        absent = {flag: x for flag, x in absent.items() if not self._is_set(flag)}
        values.update(absent)
        self.defaults.update(absent)

    def _is_set(self, flag: str) -> bool:
        """Return True if the command has the flag, or the caller its input."""
        return flag in self.main.values or self.options.settings[flag].quantity in self.given

    def _chip(self) -> tuple[str, float] | None:
        """Name and memory of the chip, if it is one that the engine is built for."""
        if "hardware" not in self.given:
            return None
        try:
            preset = find_preset("hardware", self.given["hardware"])
        except InputTypeError:  # several, or an axis
            return None
        memory = float(preset.values.get("hbm_capacity", 0.0))
        vendor = str(preset.attributes.get("vendor", ""))
        return (preset.name, memory) if memory and vendor in self.options.vendors else None

    def _ignore_rest(self, launched: Launched, used: set[str]) -> None:
        """List flags without effect, and refuse those whose effect the model lacks."""
        for flag, value in launched.values.items():
            setting = launched.options.settings.get(flag)
            if flag in used or (setting is not None and setting.how == "device share"):
                continue
            if setting is not None and setting.how == "refused" and value not in (1, None):
                raise ValueRangeError(f"{flag} {value}: the model has no input for it ({setting.why})")
            name = f"--no-{flag[2:]}" if value is False else flag
            written = "" if isinstance(value, bool) else value if isinstance(value, str) else json.dumps(value)
            self.ignored[name] = written[:200]

    def _model(self) -> Preset | None:
        """The model of the command, or the caller's."""
        if "model" in self.given:
            try:
                return find_preset("model", self.given["model"])
            except InputTypeError:
                return None
        name, stored = catalog_model(self.main.model)
        self.inputs["model"] = name
        if stored is not None:
            self.inputs["weight_format"] = stored
        return models[name]


_TRT_KEYS = frozenset(
    {
        *("--tensor_parallel_size", "--pipeline_parallel_size", "--moe_expert_parallel_size", "--enable_attention_dp"),
        *("--max_batch_size", "--max_num_tokens", "--enable_chunked_prefill"),
    }
)


def _default(launched: Launched, flag: str) -> Any:
    option, _ = launched.options.find(flag)
    return option.default


def _leaves(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Values of nested tables by dotted key."""
    leaves: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict) and before.count(".") < 8:
            leaves += _leaves(value, f"{before}{key}.")
        else:
            leaves.append((f"{before}{key}", value))
    return leaves
