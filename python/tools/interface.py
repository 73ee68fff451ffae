"""The public interface, read from sources without imports: names, calls, keywords.

The package's build reads it, in an environment without the package's dependencies.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Origin", "Package", "Source", "imports", "takes_inputs"]

PACKAGE = Path(__file__).parents[1] / "roofslate"

Origin = tuple[str, str | None]  # module, and the name in it, or None for the module itself


def imports(tree: ast.Module) -> Iterator[tuple[str, Origin]]:
    """Yield the names a module imports, at run time or for type checkers."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
    for node in (node for body in bodies for node in body):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, (alias.name, None)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (str(node.module), alias.name)) for alias in node.names)


def takes_inputs(node: ast.AST) -> bool:
    """Return True for a function with quantities as keywords: ``**inputs: Any``."""
    keywords = node.args.kwarg if isinstance(node, ast.FunctionDef) else None
    return keywords is not None and isinstance(keywords.annotation, ast.Name) and keywords.annotation.id == "Any"


def _target(node: ast.stmt) -> str | None:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


@dataclass(frozen=True)
class Source:
    """A module of the package as text."""

    name: str
    file: Path

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.file.read_text(encoding="utf-8"))

    @cached_property
    def nodes(self) -> dict[str, ast.stmt]:
        """Functions, classes and assignments by name, for overloads the implementation."""
        return {name: node for node in self.tree.body if (name := _target(node))}

    @cached_property
    def imported(self) -> dict[str, Origin]:
        """Names from other modules."""
        return dict(imports(self.tree))

    def constant(self, name: str) -> Any:
        """Return a literal constant of the module, such as a dict of texts."""
        node = self.nodes[name]
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            raise TypeError(f"{self.file}: {name}: expected a literal constant")
        return ast.literal_eval(node.value)


class Package:
    """The sources of a package whose `__init__` has the tables `_HOMES` and `_MODULES`.

    Parameters
    ----------
    folder : pathlib.Path
        Folder with `__init__.py`.
    """

    def __init__(self, folder: Path = PACKAGE) -> None:
        self.folder = folder
        self._sources: dict[str, Source] = {}
        top = self.source("roofslate")
        self.homes = {name: f"roofslate.{home}" for home, names in top.constant("_HOMES").items() for name in names}
        self.modules = {name: f"roofslate.{home}" for name, home in top.constant("_MODULES").items()}

    def source(self, module: str) -> Source:
        """Return a module by its full name."""
        if module not in self._sources:
            path = self.folder.joinpath(*module.split(".")[1:])
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            self._sources[module] = Source(module, file)
        return self._sources[module]

    @property
    def files_read(self) -> list[Path]:
        """The modules read so far."""
        return [source.file for source in self._sources.values()]

    @property
    def public_names(self) -> list[str]:
        """`__all__` of the package, without IPython's names."""
        return sorted({*self.homes, *self.modules} - {"load_ipython_extension"})

    def definition(self, name: str, module: str) -> tuple[ast.stmt, Source] | None:
        """Return the statement that defines a name, through imports, or None outside the package."""
        source = self.source(module)
        if name in source.nodes:
            return source.nodes[name], source
        home, inner = source.imported.get(name, ("", None))
        if inner is None or home.partition(".")[0] != "roofslate" or home == "roofslate._core":
            return None
        return self.definition(inner, home)

    def calls(self) -> Iterator[tuple[str, ast.FunctionDef]]:
        """Yield public functions and methods with quantities as keywords, by name."""
        for name, home in self.homes.items():
            node, _ = self.definition(name, home) or (None, None)
            candidates = {name: node}
            if isinstance(node, ast.ClassDef):
                candidates = {f"{name}.{_target(member)}": member for member in node.body}
            for label, function in candidates.items():
                if isinstance(function, ast.FunctionDef) and takes_inputs(function) and "._" not in label:
                    yield label, function

    def reserved_words(self) -> dict[str, list[str]]:
        """Collect arguments of such calls, with the calls: no quantity may have their names.

        A positional-only argument does not reserve its name.
        """
        day = self.source("roofslate.registry.words").constant("DAY")
        words: dict[str, list[str]] = {word: [f"{word}="] for word in (*self.preset_keywords(), day)}
        for label, function in self.calls():
            for argument in (*function.args.args, *function.args.kwonlyargs):
                if argument.arg not in ("self", "cls"):
                    words.setdefault(argument.arg, []).append(label)
        return dict(sorted(words.items()))

    def preset_keywords(self) -> tuple[str, ...]:
        """Return the keywords of presets."""
        return tuple(self.source("roofslate.registry.words").constant("PRESET_KEYWORDS"))

    # ------------------------------------------------------------------------------------------------------- digest

    def digest(self) -> str:
        """Return a line per public name: a hash of its signature, for a class of its members."""
        lines = [f"{_hash(self._interface(name, home))}  {name}\n" for name, home in sorted(self.homes.items())]
        for name, module in sorted(self.modules.items()):
            listed = self.source(module)
            public = [] if name == "typing" else listed.constant("__all__")  # generated, from the registry too
            lines += [f"{_hash(self._interface(inner, module))}  {name}.{inner}\n" for inner in public]
        return "".join(lines)

    def _interface(self, name: str, module: str) -> str:
        defined = self.definition(name, module)
        if defined is None:
            return f"{module}.{name}"
        node, source = defined
        if isinstance(node, ast.FunctionDef):
            return _signature(node)
        if isinstance(node, ast.ClassDef):
            return "\n".join(self._members(node, source))
        return ast.unparse(node)

    def _members(self, node: ast.ClassDef, source: Source) -> Iterator[str]:
        for base in node.bases:
            inherited = self.definition(base.id, source.name) if isinstance(base, ast.Name) else None
            if inherited and isinstance(inherited[0], ast.ClassDef):
                yield from self._members(inherited[0], inherited[1])
            else:
                yield ast.unparse(base)
        for member in node.body:
            name = _target(member)
            if name is not None and (name == "__init__" or not name.startswith("_")):
                yield _signature(member) if isinstance(member, ast.FunctionDef) else ast.unparse(member)


def _signature(function: ast.FunctionDef) -> str:
    plain = [mark for mark in function.decorator_list if not isinstance(mark, ast.Call)]  # without the texts of a chart
    marks = "".join(f"@{ast.unparse(mark)} " for mark in plain)
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"{marks}{function.name}({ast.unparse(function.args)}){returns}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
