"""What editors and type checkers read: the names of quantities and presets, all inputs, and the calls that take them.

A call takes any quantity as a keyword. `roofslate.typing` lists them, and the stub of the package declares each call
twice: with these keywords, which an editor completes, and with any others, so that a quantity which a program defines,
or a scenario in a plain dict, is as welcome.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import inspect
import re
import sys
from typing import TYPE_CHECKING, Any

import roofslate
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import Quantity, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["package_stub", "types_module", "wrapped"]

_LINE = 120

# ------------------------------------------------------------------------------------------------------------ types

_TYPES = '''"""Types for annotations: names that calls take, and the inputs of a scenario.

A scenario that is annotated with `Inputs` has its keys, and the words of its choices, checked by a type checker:
``cell: rs.typing.Inputs = {"overlap": "none", "batch_size": 256}``. Nothing of this is needed to compute.
"""

# Written by python python/tools/generate.py.
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import xarray as xr

    from roofslate.presets.preset import Preset
    from roofslate.units import Axis

'''

_VALUES = """
T = TypeVar("T")


class WithUnit(Protocol):
    \"\"\"A number of `pint`.\"\"\"

    def to_base_units(self) -> Any: ...


class Distribution(Protocol):
    \"\"\"A frozen distribution of `scipy.stats`.\"\"\"

    def rvs(self, *args: Any, **kwds: Any) -> Any: ...


Many: TypeAlias = "T | Sequence[T] | npt.NDArray[Any] | pd.Series[Any] | xr.DataArray"
Number: TypeAlias = "Many[float | str] | np.number[Any] | Axis | range | WithUnit | Distribution"
"""

# An error of mypy spells out each form of a call, 150 kB with all inputs. It completes nothing, and has no use
# for them where others are as welcome.
_CALLS = """MYPY = False  # True to mypy alone
if MYPY:
    AnyName: TypeAlias = str

    class Keywords(TypedDict, total=False):
        \"\"\"What a call completes.\"\"\"

else:
    AnyName: TypeAlias = QuantityName | str
    Keywords: TypeAlias = Inputs
AnyNames: TypeAlias = AnyName | Sequence[AnyName]
"""


def types_module() -> str:
    """The text of `roofslate.typing`."""
    choices = {q.name: q for q in entries().values() if q.choices}
    aliases = [
        _alias("QuantityName", sorted(entries())),
        _alias("ChoiceName", sorted(choices)),
        *(_alias(_title(name), q.choices) for name, q in sorted(choices.items())),
        *(_alias(f"{_title(kind)}Name", catalog) for kind, catalog in PRESETS.items()),
    ]
    inputs = {name: _type_of(q) for name, q in sorted(entries().items())}
    inputs |= {kind: f"Many[{_title(kind)}Name | str | Preset]" for kind in PRESETS}
    fields = "".join(f"    {name}: {kind}\n" for name, kind in inputs.items())
    made = f'class Inputs(TypedDict, total=False):\n    """All inputs, by their keywords."""\n\n{fields}'
    defined = f"{''.join(aliases)}{_VALUES}\n\n{made}\n\n{_CALLS}"
    public = sorted({*re.findall(r"^ *(?:class )?([A-Z]\w+)(?:: TypeAlias|\()", defined, re.MULTILINE)})
    listed = "".join(f'    "{name}",\n' for name in public)
    return f"{_TYPES}__all__ = [\n{listed}]\n\n{defined}"


def _alias(name: str, words: Iterable[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    line = f"{name}: TypeAlias = Literal[{', '.join(quoted)}]\n"
    if len(line) <= _LINE:
        return line
    return f"{name}: TypeAlias = Literal[\n" + "".join(f"    {word},\n" for word in quoted) + "]\n"


def _title(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _type_of(q: Quantity) -> str:
    return f"Many[{_title(q.name)}]" if q.choices else "Number"


# ------------------------------------------------------------------------------------------------------------- stub

_QUANTITIES = {"output", "outputs", "objective", "unknown", "also", "minimize", "maximize", "to"}  # what names them
_SCENARIOS = {"a", "b", "base"}
_WIDER = {"str": "AnyName", "str | Sequence[str]": "AnyNames", "str | Sequence[str] | None": "AnyNames | None"}
# What is given back where it follows from the types of arguments: these arguments, and the result; the first that fits.
_RESULTS: Mapping[str, list[tuple[dict[str, str], str]]] = {
    "evaluate": [
        ({"outputs": "AnyName", "bands": "None = None"}, "xr.DataArray"),
        ({"outputs": "AnyNames"}, "xr.Dataset"),
    ],
    "sample": [({"outputs": "AnyName"}, "xr.DataArray"), ({"outputs": "AnyNames"}, "xr.Dataset")],
    "value": [({"output": "ChoiceName"}, "str"), ({}, "float")],
}
_OWN = """
from collections.abc import Sequence
from typing import Any, overload
from typing_extensions import Unpack
from roofslate.typing import AnyName, AnyNames, ChoiceName, Inputs, Keywords
"""

Origin = tuple[str, str | None]  # module, and the name in it; None for the module itself


def package_stub() -> str:
    """Text of the stub of the package: what its public names are, and how they are called."""
    imported: dict[str, Origin] = {}
    declared: list[str] = []
    homes = {name: home for home, names in vars(roofslate)["_HOMES"].items() for name in names}
    for name in roofslate.__all__:
        home = homes.get(name)
        if home is None:
            imported[name] = ("roofslate", name)
        elif _takes_inputs(getattr(roofslate, name)):
            module = _Module(f"roofslate.{home}")
            declared += module.declarations(name)
            imported |= module.needed
        else:
            imported[name] = (f"roofslate.{home}", name)
    public = "".join(f'    "{name}",\n' for name in roofslate.__all__)
    return (
        "# Written by python python/tools/generate.py.\n"
        f"{_import_lines(imported)}\n__all__ = [\n{public}]\n\n__version__: str\n\n{''.join(declared)}"
    )


def _takes_inputs(found: Any) -> bool:
    return inspect.isfunction(found) and inspect.getfullargspec(found).varkw is not None


class _Module(ast.NodeTransformer):
    """The signatures of a module, as a stub may have them: its own aliases are written out, texts are no types."""

    def __init__(self, name: str) -> None:
        tree = ast.parse(inspect.getsource(importlib.import_module(name)))
        self.needed: dict[str, Origin] = {}
        self._name = name
        self._imported = {**dict(_imports(tree)), **dict(_imports(ast.parse(_OWN)))}
        self._aliases = dict(_aliases(tree))
        self._functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}

    def declarations(self, name: str) -> list[str]:
        """Each way to call a function, with the inputs that there are and with any others."""
        function = self._functions[name]
        own = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
        # where a call has such an argument of its own, a type checker wants no other of that name
        keywords = ("Any",) if own & {*PRESETS, *entries()} else ("Unpack[Keywords]", "Any")
        declared = [
            wrapped(name, self._arguments(function.args, changes, inputs), result or self._written(function.returns))
            for changes, result in _RESULTS.get(name, [({}, "")])
            for inputs in keywords
        ]
        if len(declared) == 1:
            return declared
        self._text("overload")
        return [f"@overload\n{each}" for each in declared]

    def _arguments(self, given: ast.arguments, changes: Mapping[str, str], inputs: str) -> Iterator[str]:
        positional = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults
        for k, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
            yield self._argument(argument, default, changes)
            if k + 1 == len(given.posonlyargs):
                yield "/"
        if given.kwonlyargs:
            yield "*"
        for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            yield self._argument(argument, default, changes)
        if given.kwarg:
            yield f"**{given.kwarg.arg}: {self._text(inputs)}"

    def _argument(self, argument: ast.arg, default: ast.expr | None, changes: Mapping[str, str]) -> str:
        name = argument.arg
        value = "" if default is None else "..." if isinstance(default, ast.Name) else _text(default)
        if name in changes:
            kind, _, value = changes[name].partition(" = ")
        else:
            kind = self._written(argument.annotation)
            if name in _QUANTITIES:
                kind = _WIDER.get(kind, kind)
            elif name in _SCENARIOS:
                kind = f"Inputs | {kind}"
        return f"{name}: {self._text(kind)}" + (f" = {value}" if value else "")

    def _written(self, node: ast.expr | None) -> str:
        return "Any" if node is None else _text(self.visit(copy.deepcopy(node)))

    def _text(self, annotation: str) -> str:
        return self._written(ast.parse(annotation, mode="eval").body)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self._aliases:
            return self.visit(copy.deepcopy(self._aliases[node.id]))
        if not hasattr(builtins, node.id):
            self.needed[node.id] = self._imported.get(node.id, (self._name, node.id))
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            self.visit(node.value)
            return node
        return self.generic_visit(node)


def _text(node: ast.expr) -> str:
    return ast.unparse(node).replace("'", '"')


def _aliases(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _imports(tree: ast.Module) -> Iterator[tuple[str, Origin]]:
    """What a module imports, for run time and for type checkers alone."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
    for node in (node for body in bodies for node in body):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, (alias.name, None)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (str(node.module), alias.name)) for alias in node.names)


def _import_lines(names: Mapping[str, Origin]) -> str:
    """Statements in the order that ruff gives them."""
    sections: list[list[str]] = [[], [], []]
    for name, (module, inner) in sorted(names.items()):
        if inner is None:
            renamed = "" if name == module else f" as {name}"
            sections[_section(module)].append(f"import {module}{renamed}\n")
    for module in sorted({module for module, inner in names.values() if inner is not None}):
        inside = {name for name, (home, inner) in names.items() if home == module and inner is not None}
        listed = sorted(inside, key=lambda name: (not (name.isupper() and len(name) > 1), name.islower(), name))
        line = f"from {module} import {', '.join(listed)}\n"
        if len(line) > _LINE:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in listed) + ")\n"
        sections[_section(module)].append(line)
    return "\n".join("".join(lines) for lines in sections if lines)


def _section(module: str) -> int:
    root = module.partition(".")[0]
    return 0 if root in sys.stdlib_module_names else 2 if root == "roofslate" else 1


def wrapped(name: str, arguments: Iterable[str], result: str) -> str:
    """A declaration of a function, an argument a line where it is long."""
    listed = list(arguments)
    line = f"def {name}({', '.join(listed)}) -> {result}: ...\n"
    if len(line) <= _LINE:
        return line
    each = "".join(f"    {argument},\n" for argument in listed)
    return f"def {name}(\n{each}) -> {result}: ...\n"
