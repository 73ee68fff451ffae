"""Result of `deploy`: deployments that meet all conditions, and misses of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import units as _units
from roofslate._base.locks import cached_property
from roofslate.analysis.workbook import Scenario, write_workbook
from roofslate.deployment.candidates import CONDITION, LAYOUT, MARGIN, SUPPORT, Candidates
from roofslate.deployment.launch import LaunchCommand, launch_command
from roofslate.display import style
from roofslate.display.html import html_table
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.folds.pareto import pareto
from roofslate.grid.label import conversions
from roofslate.grid.read import read_grid, with_scenario
from roofslate.presets.layouts import DIMENSIONS
from roofslate.registry.registry import Quantity, entries, lookup

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from roofslate.registry.conditions import Condition

__all__ = ["Deployments"]


_SHOWN = 10  # rows of a table as a person reads it


_LABELS = 6


@dataclass(frozen=True, repr=False)
class Deployments:
    """All legal layouts: the best points of feasible ones, the smallest misses of others.

    `str()` and Jupyter show the first rows and the violated conditions of others. `plot` draws the frontier.

    Attributes
    ----------
    objective : Quantity
        Minimized quantity, or with `maximize` maximized.
    conditions : tuple
        Requested conditions. `always` are the texts of conditions on every deployment.
    table : pandas.DataFrame
        A row for each layout that meets all conditions, best first: compared inputs, the parts of the layout, the
        searched axes at its best point, the objective, the quantities of the conditions and of `also`; for each
        condition, in a column called like it, its margin there, and the least of these as ``margin``; of an estimate,
        the ``support`` of the objective: ``measured``, ``interpolated`` or ``extrapolated`` with a reason.
    rejected : pandas.DataFrame
        The other layouts, nearest first: the ``condition`` that the nearest point misses most, and by how much as
        ``margin``, then the columns of `table` at that point. Last, kinds without a legal layout.

    basis : dict
        Whether the objective is a lower bound (``floor``) or an ``estimate``, and of which ``calibration``. The
        ``attrs`` of `table` have the same by column.

    Notes
    -----
    A margin is the room below a limit as a share of the limit: 0.1 where 27 ms are reached of the 30 ms that are
    allowed, -0.1 at 33 ms.
    """

    objective: Quantity
    maximize: bool
    conditions: tuple[Condition, ...]
    always: tuple[str, ...]
    table: pd.DataFrame
    rejected: pd.DataFrame
    units: dict[str, str]
    basis: Mapping[str, str]
    _candidates: Candidates
    _settings: dict[str, tuple[Any, tuple[str, ...]]]  # inputs of the call, presets by name: values and their axes
    _axes: dict[str, Any]  # values of axes, for layouts the columns that distinguish them
    _places: npt.NDArray[np.intp]  # of the rows of the table among the layouts

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """Inputs of the whole search for `best`, `pareto`, `evaluate`, with an axis ``layout``."""
        return self._candidates.labelled()

    @property
    def best(self) -> dict[str, Any]:
        """Inputs of the best deployment: ``rs.explain("cost_per_output_token", **plan.best)``.

        Raises
        ------
        ValueRangeError
            If no deployment meets the conditions; it names the nearest and its violated condition.
        """
        if self.table.empty:
            raise ValueRangeError(self._missed(self.rejected.iloc[0]))
        return self.at(1)

    def at(self, rank: int) -> dict[str, Any]:
        """The deployment of a row of the table, as inputs of any call.

        Parameters
        ----------
        rank : int
            Its place in the table, from 1.

        Returns
        -------
        dict

        Raises
        ------
        ValueRangeError
            If there is no such row.
        """
        if rank not in self.table.index:
            raise ValueRangeError(f"rank: the table has {len(self.table)} rows, got {rank!r}")
        row = self.table.loc[rank]
        position = {
            dim: int(np.flatnonzero(np.asarray(x) == row[dim])[0]) for dim, x in self._axes.items() if dim != LAYOUT
        }
        position[LAYOUT] = int(self._places[rank - 1])
        inputs = {}
        for name, (values, dims) in self._settings.items():
            inputs[name] = np.asarray(values)[tuple(position[dim] for dim in dims)]
            if isinstance(inputs[name], (np.generic, np.ndarray)):
                inputs[name] = inputs[name].item()
        return inputs

    def pareto(
        self, *, minimize: str | Sequence[str] = (), maximize: str | Sequence[str] = (), **wishes: Any
    ) -> pd.DataFrame:
        """The frontier among all points of all layouts that meet the conditions.

        Parameters
        ----------
        minimize, maximize : str or list of str
            Quantities that are to be small and large.
        **wishes
            ``also``, ``units``, ``threads``, ``progress`` of `pareto`.

        Returns
        -------
        pandas.DataFrame
            A row for each point, best value of the first objective first, with the columns of its layout.
        """
        return self._frontier([c.text for c in self.conditions], minimize=minimize, maximize=maximize, **wishes)

    def command(self, engine: str = "vllm", rank: int = 1, **options: Any) -> LaunchCommand:
        """Write the launch command of a row of the table.

        Parameters
        ----------
        engine : str
            ``"vllm"``, ``"sglang"``, ``"trtllm"`` or ``"dynamo"``.
        rank : int
            Its place in the table, from 1.
        **options
            ``checkpoint``, ``draft_model`` and ``chips_per_node`` of `launch_command`, and further inputs.

        Returns
        -------
        LaunchCommand
            A `str` with `flags`, `notes`, `explain` and `manifest`.

        Raises
        ------
        ValueRangeError
            If there is no such row, or the engine lacks a layout or technique.
        """
        return launch_command(self.best if rank == 1 else self.at(rank), engine, **options)

    def manifest(
        self,
        engine: str = "vllm",
        rank: int = 1,
        *,
        name: str | None = None,
        image: str | None = None,
        namespace: str | None = None,
        port: int = 8000,
        **options: Any,
    ) -> str:
        """Write the Kubernetes manifest of a row of the table.

        See `command` and `LaunchCommand.manifest` for parameters and errors.
        """
        command = self.command(engine, rank, **options)
        return command.manifest(name, image=image, namespace=namespace, port=port)

    def _frontier(self, where: Sequence[str], **wishes: Any) -> pd.DataFrame:
        import pandas as pd

        frontier = pareto(self.inputs, where=[*where, *self.always], **wishes)
        at = frontier.pop(LAYOUT).to_numpy(dtype=int) if LAYOUT in frontier else np.zeros(len(frontier), int)
        layouts = pd.DataFrame({name: np.asarray(x)[at] for name, x in self._axes[LAYOUT].items()})
        return pd.concat([layouts, frontier], axis=1)

    def to_excel(self, path: str | os.PathLike[str], *, rank: int = 1, overwrite: bool = False) -> None:
        """Write a deployment and the table into a workbook, see `roofslate.to_excel`.

        Parameters
        ----------
        path : path
            A file whose name ends in ``.xlsx``.
        rank : int
            The deployment's place in the table, from 1.
        overwrite : bool
            Replace a file that exists.

        Raises
        ------
        ValueRangeError
            If there is no such row.
        """
        numbers = [n for n in self.table.columns if n in self.table.attrs["basis"] and " " not in n]
        scenario = self.at(rank) if len(self.table) else self.best
        grid = read_grid(with_scenario(scenario, {}), numbers)
        converted = conversions(numbers, {n: unit for n, unit in self.units.items() if n in numbers})
        tables = {"Deployments": self.table}
        write_workbook(path, numbers, Scenario.of_grid(grid, numbers), converted, tables, overwrite=overwrite)

    # ----------------------------------------------------------------------------------------------------- in words

    def _named(self, row: Any) -> str:
        """A layout in words."""
        parts = {name: int(row[name]) for name in self._axes[LAYOUT] if name in DIMENSIONS and row[name] == row[name]}
        words = [_word(name, row[name]) for name in self._axes[LAYOUT] if name not in DIMENSIONS]
        words = [word for word in words if word]
        words += [DIMENSIONS[name].text.format(n) for name, n in parts.items() if n > 1 or name == "chips"]
        return ", ".join(words).replace(" 1 chips", " 1 chip")

    def _written(self, name: str, x: Any) -> str:
        """A value as a person reads it."""
        if isinstance(x, str) or x != x:
            return str(x)
        if name in self.units:
            return f"{x:.4g} {self.units[name]}"
        return _units.format(x, lookup(name).unit)

    def _missed(self, row: Any) -> str:
        """Describe the miss of a rejected layout."""
        who = self._named(row) if "chips" in row.index or self._axes[LAYOUT] else "the nearest"
        if row[MARGIN] != row[MARGIN]:
            return f"{who}: {row[CONDITION]}"
        return f"{who} misses {row[CONDITION]} by {_percent(-row[MARGIN])}"

    @property
    def _layout_columns(self) -> Sequence[str]:
        """Columns that `_named` puts into words."""
        return list(self._axes[LAYOUT])

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        """Head and first rows of the table."""
        layout = [name for name in self._layout_columns if name in self.table]
        shown = [n for n in self.table.columns if n not in layout and n not in (*self.always, MARGIN) and " " not in n]
        rows = []
        for rank, row in self.table.head(_SHOWN).iterrows():
            margin = [_percent(row[MARGIN])] if MARGIN in self.table else []
            rows.append([f"{rank}", self._named(row), *(self._written(n, row[n]) for n in shown), *margin])
        return ["rank", "deployment", *shown, *([MARGIN] if MARGIN in self.table else [])], rows

    @property
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and first rows of the table as `str` and Jupyter show it."""
        return self._rows()

    @property
    def given(self) -> dict[str, Any]:
        """All that was given and is no axis, presets by name."""
        return {name: x for name, (x, dims) in self._settings.items() if not dims}

    def _summary(self) -> str:
        conditions = " and ".join([c.text for c in self.conditions]) or "no condition"
        goal = "largest" if self.maximize else "least"
        met, rejected = len(self.table), len(self.rejected)
        layouts = "layout" if met == 1 else "layouts"
        basis, calibration = self.basis["basis"], self.basis.get("calibration")
        basis += f" by {calibration}" if calibration and basis != "floor" else ""
        return f"{goal} {self.objective.name} [{basis}], {conditions}: {met} {layouts} feasible, {rejected} rejected"

    def _misses(self) -> list[str]:
        """Describe the nearest miss for each compared kind without a feasible layout."""
        if not len(self.rejected):
            return []
        kinds = [name for name in self._axes[LAYOUT] if name not in DIMENSIONS]
        if not kinds:
            return [] if len(self.table) else [self._missed(self.rejected.iloc[0])]
        able = {tuple(kind) for kind in self.table[kinds].to_numpy()} if len(self.table) else set()
        nearest = self.rejected.drop_duplicates(kinds)
        return [self._missed(row) for _, row in nearest.iterrows() if tuple(row[kinds]) not in able]

    def __str__(self) -> str:
        head, rows = self._rows()
        lines = [self._summary()]
        if rows:
            widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
            lines += ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]]
        if len(self.table) > _SHOWN:
            lines.append(f"... {len(self.table) - _SHOWN} more in .table")
        misses = self._misses()
        return "\n".join(
            [
                *lines,
                *(["nearest, for kinds without a feasible layout:"] if misses else []),
                *(f"  {miss}" for miss in misses),
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        head, rows = self._rows()
        listed = "".join(f"<li>{html.escape(miss)}</li>" for miss in self._misses())
        misses = f"<p>Nearest, for kinds without a feasible layout:</p><ul>{listed}</ul>" if listed else ""
        table = html_table(self._summary(), head, rows) if rows else f"<p>{html.escape(self._summary())}</p>"
        return table + misses

    # --------------------------------------------------------------------------------------------------- as a picture

    def plot(self, against: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the frontier of the objective against another quantity, with the layouts named.

        Conditions on that quantity are drawn as lines and not applied. All others apply. The best deployment is
        marked.

        Parameters
        ----------
        against : str, optional
            The other quantity; by default the first that a condition limits from above.
        ax : matplotlib.axes.Axes, optional
            Target of the drawing, by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputTypeError
            If no condition limits a quantity and none is named.
        ValueRangeError
            If no deployment meets the other conditions.
        """
        limits = {c: c.lhs.quantities[0] for c in self.conditions if len(c.lhs.steps) == 1 and c.lhs.quantities}
        x = against or next((name for name in limits.values() if not lookup(name).choices), None)
        if x is None:
            raise InputTypeError("against: name the quantity to draw the objective against; no condition limits one")
        if lookup(x).choices:
            raise InputTypeError(f"against: {x} is one of {lookup(x).range_text}; only numbers can be drawn")
        y = self.objective.name
        free = [c for c in self.conditions if limits.get(c) == x]
        where = [c.text for c in self.conditions if c not in free]
        goal = {"maximize": y, "minimize": x} if self.maximize else {"minimize": [x, y]}
        units = {name: unit for name, unit in self.units.items() if name in (x, y)}
        front = self._frontier(where, units=units, progress=False, **goal).sort_values(x, ignore_index=True)
        if front.empty:
            raise ValueRangeError(self._missed(self.rejected.iloc[0]))
        names = front.apply(self._named, axis=1)
        common = set(names.value_counts().index[:_LABELS])
        shown = [name for name in dict.fromkeys(names) if name in common]  # in the order in which they are met
        with style.drawing(ax, (7.2, 4.4)) as ax:
            ax.set(xscale="log", yscale="log")
            ax.plot(front[x], front[y], color=style.NOTE, linewidth=0.8, zorder=1)
            for name, look in zip(shown, style.styles(len(shown)), strict=True):
                points = front[names == name]
                ax.plot(points[x], points[y], **look | {"linestyle": "none", "markersize": 4}, label=name)
            for c in free:
                if not c.rhs.quantities and len(c.rhs.steps) == 1:
                    limit = float(c.rhs.steps[0][1])
                    factor = _units.convert_factor(units[x], lookup(x).unit) if x in units else 1.0
                    text = f"at most {style.text_of(limit, lookup(x).unit)}"
                    ax.axvline(limit / factor, color=style.RED, linewidth=1.0, linestyle="--", label=text)
            if len(self.table) and x in self.table:
                first = self.table.iloc[0]
                star: dict[str, Any] = {"marker": "*", "markersize": 13, "color": style.RED, "linestyle": "none"}
                ax.plot([first[x]], [first[y]], **star, label=f"best: {self._named(first)}")
            ax.legend(fontsize=8, frameon=True, framealpha=1.0, edgecolor="none")
            for axis, name in ((ax.xaxis, x), (ax.yaxis, y)):
                axis.set_label_text(style.words(name, lookup(name).unit))
                style.scale_ticks(axis, units.get(name, lookup(name).unit))
            known = [
                {key: self.table.attrs[key].get(name, "") for key in ("basis", "calibration", SUPPORT)}
                for name in (x, y)
            ]
            bases = [style.basis_of(attrs, lookup(name).unit) for attrs, name in zip(known, (x, y), strict=True)]
            corner = " | ".join(dict.fromkeys(filter(None, bases)))
            style.title(ax, f"{style.words(y)} against {style.words(x)}", corner=corner)
        return ax


def _word(name: str, x: Any) -> str:
    """Return a kind in words, empty for a number of 1."""
    if name not in entries() or not isinstance(x, float):
        return str(x)
    return f"{name} {x:g}" if x != 1 else ""


def _percent(share: float) -> str:
    return f"{share:.2%}" if abs(share) < 0.1 else f"{share:.0%}"
