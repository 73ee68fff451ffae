"""`rs.explore`: sliders for a chart of the lecture, or for any quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate._base.messages import pip_install, unknown
from roofslate.grid.read import with_scenario
from roofslate.lecture_report import charts
from roofslate.plotting.chart import Chart
from roofslate.plotting.explorer import ChartPicture, Explorer, Picture, Surface
from roofslate.registry.registry import entries
from roofslate.registry.values import wanted_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["explore"]


def explore(what: Chart | str | Sequence[str], scenario: Mapping[str, Any] | None = None, /, **inputs: Any) -> Explorer:
    """Draw a picture with a slider or a drop-down for each input, in Jupyter.

    Parameters
    ----------
    what : chart, str or list of str
        A chart such as ``rs.charts.latency_vs_batch`` or its name, or a quantity or a list of them. A quantity is drawn
        as by `plot` if an input is an axis, otherwise its value is written large. A name of both a chart and a
        quantity selects the chart, and a list of that one name the quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    **inputs
        Start values of the controls. A number or a text with a unit gets a slider around it, within the valid range.
        The slider is logarithmic, linear for a share, and of whole numbers for a count. A tuple ``(low, high)`` is the
        range of a slider that starts in its middle. A choice, ``model=``, ``hardware=`` and ``prices=`` get a
        drop-down. A list or an array stays an axis of the picture. A chart without inputs has controls for its
        declared inputs, and starts as the lecture's picture.

    Returns
    -------
    Explorer
        Shows itself in Jupyter.

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError
        As for `evaluate` and the charts, if the first picture can't be drawn, and for a range other than
        ``(low, high)``. Later errors appear below the unchanged picture.
    ModuleNotFoundError
        Without ipywidgets. Run ``pip install 'roofslate[jupyter]'``.

    Examples
    --------
    >>> import roofslate as rs
    >>> explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth=("1 TB/s", "20 TB/s"))
    >>> explorer.set(hbm_bandwidth="8 TB/s")
    >>> print(explorer.to_code())
    rs.value("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    """
    inputs = with_scenario(scenario, inputs)
    picture = _picture_of(what)
    try:
        import ipywidgets  # noqa: F401
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        extra = "charts" if error.name == "matplotlib" else "jupyter"
        message = f"rs.explore needs {error.name}, which is not installed: {pip_install(extra)}"
        raise ModuleNotFoundError(message, name=error.name) from None
    return Explorer(picture, inputs or picture.inputs)


def _picture_of(what: Any) -> Picture:
    if isinstance(what, Chart):
        return ChartPicture(what)
    if isinstance(what, str):
        by_name = {chart.name: chart for chart in charts.all()}
        if what in by_name:
            return ChartPicture(by_name[what])
        if what not in entries():
            raise unknown("chart or quantity", what, [*by_name, *entries()])
    return Surface(what if isinstance(what, str) else wanted_names(what))
