"""Generate stubs for editors and type checkers, and reserved words, during the build.

A call accepts any quantity as a keyword. `roofslate.typing` lists them. The package's stub declares each call twice:
with these keywords, for completion, and with any others, so that quantities defined by a program, or a scenario in a
plain dict, are accepted too.

CMake runs ``python python/tools/stubs.py --quantities FILE --into FOLDER``. Only the standard library is needed: calls
are read from the sources, quantities from a file that a program of the build prints, one per line with the words of a
choice. ``python python/tools/stubs.py --digest`` records the public interface in `interface.sha256`.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import copy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interface import Origin, Package, Source, imports, takes_inputs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["DIGEST", "generated_files", "package_stub", "preset_names", "read_quantities", "types_module"]

DIGEST = Path(__file__).with_name("interface.sha256")

_LINE = 120

# ------------------------------------------------------------------------------------------------------------ types

_TYPES = '''"""Types for annotations: names that calls take, and the inputs of a scenario.

A scenario that is annotated with `Inputs` has its keys, and the words of its choices, checked by a type checker:
``cell: rs.typing.Inputs = {"overlap": "none", "batch_size": 256}``. Nothing of this is needed to compute.
"""

# Written by python/tools/stubs.py.
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    import datetime
    import os

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import xarray as xr

    from roofslate.presets.calibration import FittedConstants
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


def read_quantities(path: Path) -> dict[str, tuple[str, ...]]:
    """Read all quantities with the words of choices, tab-separated, one quantity per line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: tuple(words) for name, *words in (line.split("\t") for line in lines)}


def preset_files(package: Package) -> list[Path]:
    """List the preset files of the package."""
    files = package.source("roofslate.presets.library").constant("SHIPPED")
    return [package.folder / "presets" / "data" / file for file in files]


def preset_names(package: Package) -> dict[str, list[str]]:
    """List the presets of the package, by keyword."""
    sections = package.source("roofslate.presets.preset").constant("KINDS")
    names: dict[str, list[str]] = {kind: [] for kind in package.preset_keywords()}
    for file in preset_files(package):
        for section, presets in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if sections[section] in names:
                names[sections[section]] += presets
    folder = package.folder / "presets" / "data" / "calibrations"
    names["calibration"] = ["floor", *sorted(path.stem for path in folder.glob("*.toml"))]
    return names


def types_module(package: Package, quantities: Mapping[str, tuple[str, ...]]) -> str:
    """Return the source text of `roofslate.typing`."""
    choices = {name: words for name, words in sorted(quantities.items()) if words}
    presets = preset_names(package)
    aliases = {
        "QuantityName": sorted(quantities),
        "ChoiceName": list(choices),
        **{_title(name): words for name, words in choices.items()},
        **{f"{_title(kind)}Name": names for kind, names in presets.items()},
    }
    inputs = {name: f"Many[{_title(name)}]" if name in choices else "Number" for name in sorted(quantities)}
    inputs |= {kind: f"Many[{_title(kind)}Name | str | Preset]" for kind in presets}
    inputs["model"] = "Many[ModelName | str | os.PathLike[str] | Preset]"
    inputs["calibration"] = "Many[CalibrationName | str | FittedConstants]"
    day = package.source("roofslate.registry.words").constant("DAY")
    inputs[day] = "str | datetime.date | Sequence[str | datetime.date]"
    fields = "".join(f"    {name}: {kind}\n" for name, kind in inputs.items())
    keywords = f'class Inputs(TypedDict, total=False):\n    """All inputs, by their keywords."""\n\n{fields}'
    literals = "".join(_alias(name, words) for name, words in aliases.items())
    public = sorted(
        [*aliases, "AnyName", "AnyNames", "Distribution", "Inputs", "Keywords", "Many", "Number", "WithUnit"]
    )
    listed = "".join(f'    "{name}",\n' for name in public)
    return f"{_TYPES}__all__ = [\n{listed}]\n\n{literals}{_VALUES}\n\n{keywords}\n\n{_CALLS}"


def _alias(name: str, words: Iterable[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    line = f"{name}: TypeAlias = Literal[{', '.join(quoted)}]\n"
    if len(line) <= _LINE:
        return line
    return f"{name}: TypeAlias = Literal[\n" + "".join(f"    {word},\n" for word in quoted) + "]\n"


def _title(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


# ------------------------------------------------------------------------------------------------------------- stub

# Arguments that name quantities.
_QUANTITIES = {"output", "outputs", "objective", "unknown", "also", "minimize", "maximize", "to"}
_SCENARIOS = {"a", "b", "base", "scenario"}
_WIDER = {"str": "AnyName", "str | Sequence[str]": "AnyNames", "str | Sequence[str] | None": "AnyNames | None"}
# Results that depend on argument types: these arguments, and the result. The first match applies.
_RESULTS: Mapping[str, list[tuple[dict[str, str], str]]] = {
    "evaluate": [
        ({"outputs": "AnyName", "bands": "None = None"}, "xr.DataArray"),
        ({"outputs": "AnyNames"}, "xr.Dataset"),
    ],
    "frame": [({"table": "T"}, "T")],
    "sweep": [({"target": "str | os.PathLike[str]"}, "int"), ({"source": "T", "target": "None = None"}, "T")],
    "sample": [({"outputs": "AnyName"}, "xr.DataArray"), ({"outputs": "AnyNames"}, "xr.Dataset")],
    "summary": [
        ({"scenario": "Inputs | Mapping[str, Any] | None = None"}, "Summary"),
        ({"scenario": "Sequence[Inputs | Mapping[str, Any]]"}, "Summaries"),
    ],
    "value": [({"output": "ChoiceName"}, "str"), ({}, "float")],
}
_OWN = """
from collections.abc import Sequence
from typing import Any, overload
from typing_extensions import Unpack
from roofslate.typing import AnyName, AnyNames, ChoiceName, Inputs, Keywords, T
"""


def package_stub(package: Package, quantities: Iterable[str]) -> str:
    """Return the text of the package's stub: public names and their signatures."""
    imported: dict[str, Origin] = {name: (home.rpartition(".")[0], name) for name, home in package.modules.items()}
    declared: list[str] = []
    for name in package.public_names:
        if name in package.modules:
            continue
        home = package.homes[name]
        node, source = package.definition(name, home) or (None, None)
        if isinstance(node, ast.FunctionDef) and source and takes_inputs(node):
            signatures = _Signatures(source, {*package.preset_keywords(), *quantities})
            declared += signatures.declarations(node)
            imported |= signatures.needed
        else:
            imported[name] = (home, name)
    public = "".join(f'    "{name}",\n' for name in package.public_names)
    return (
        "# Written by python/tools/stubs.py.\n"
        f"{_import_lines(imported)}\n__all__ = [\n{public}]\n\n__version__: str\n\n{''.join(declared)}"
    )


class _Signatures(ast.NodeTransformer):
    """The signatures of a module in stub form: aliases expanded, string annotations parsed."""

    def __init__(self, source: Source, inputs: set[str]) -> None:
        self.needed: dict[str, Origin] = {}
        self._source = source
        self._inputs = inputs
        self._imported = {**source.imported, **dict(imports(ast.parse(_OWN)))}

    def declarations(self, function: ast.FunctionDef) -> list[str]:
        """Declare each overload of a function, with the known inputs and with any others."""
        parameters = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
        # If a call has an argument with an input's name, a type checker rejects the input's keyword.
        keywords = ("Any",) if parameters & self._inputs else ("Unpack[Keywords]", "Any")
        name = function.name
        declared = [
            _wrapped(name, self._arguments(function.args, changes, inputs), result or self._written(function.returns))
            for changes, result in _RESULTS.get(name, [({}, "")])
            for inputs in keywords
        ]
        lines = (ast.get_docstring(function) or "").replace("\\", r"\\").replace('"""', r"\"\"\"").splitlines()
        docstring = "".join(f"    {line}\n" if line else "\n" for line in lines)
        # Jedi shows the docstring of the last overload, other editors any.
        declared[-1] = declared[-1].removesuffix(" ...\n") + f'\n    """{docstring.strip()}\n    """\n'
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
        alias = self._source.nodes.get(node.id)
        if isinstance(alias, ast.Assign):
            return self.visit(copy.deepcopy(alias.value))
        if not hasattr(builtins, node.id):
            self.needed[node.id] = self._imported.get(node.id, (self._source.name, node.id))
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


def _import_lines(names: Mapping[str, Origin]) -> str:
    """Return import statements in ruff's order."""
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


def _wrapped(name: str, arguments: Iterable[str], result: str) -> str:
    """Declare a function, with one argument per line if it is long."""
    listed = list(arguments)
    line = f"def {name}({', '.join(listed)}) -> {result}: ...\n"
    if len(line) <= _LINE:
        return line
    each = "".join(f"    {argument},\n" for argument in listed)
    return f"def {name}(\n{each}) -> {result}: ...\n"


# ------------------------------------------------------------------------------------------------------------ files

_WORDS = '''"""Keywords of public calls: no quantity, no definition and no axis has such a name."""

# Written by python/tools/stubs.py.
__all__ = ["RESERVED_WORDS"]

RESERVED_WORDS = frozenset(
    [
{}    ]
)
'''


def generated_files(package: Package, quantities: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the generated modules and stubs, by their path in the package.

    Raises
    ------
    ValueError
        If a quantity has the name of a call's argument.
    """
    reserved = package.reserved_words()
    for name in sorted(reserved.keys() & quantities):
        calls = ", ".join(reserved[name])
        raise ValueError(f"{name!r} is an argument of {calls}. Rename the quantity or the argument.")
    return {
        "__init__.pyi": package_stub(package, quantities),
        "typing.py": types_module(package, quantities),
        "registry/reserved.py": _WORDS.format("".join(f'        "{word}",\n' for word in reserved)),
    }


def main() -> None:
    """Write stubs and reserved words, or the digest of the public interface."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quantities", type=Path, metavar="FILE", help="quantities, as printed by the build")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="output folder")
    parser.add_argument("--depfile", type=Path, metavar="FILE", help="file for the list of sources, for make and Ninja")
    parser.add_argument("--digest", action="store_true", help="record the public interface of the sources")
    options = parser.parse_args()
    package = Package()
    if options.digest:
        DIGEST.write_text(package.digest(), encoding="utf-8")
    if options.quantities and options.into:
        try:
            files = generated_files(package, read_quantities(options.quantities))
        except ValueError as error:
            sys.exit(f"stubs: {error}")
        for path, text in files.items():
            file = options.into / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if options.depfile:
            read = (str(file).replace(" ", "\\ ") for file in (*package.files_read, *preset_files(package)))
            options.depfile.write_text(f"{options.into / '__init__.pyi'}: {' '.join(read)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
