"""Pictures of runs with matplotlib, in the style of the program's report. Every function returns the Axes.

`data` is a Run, Runs, a list of Run, or the path of a log or a folder. Runs that differ only in their seeds form one
curve: the mean, with a band from the smallest to the largest value, interpolated where the seeds have different values
of x. The mean ends where the first seed ends; after that, each remaining seed is a thin line. `ax` is where to draw;
without it a new figure is made.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Union

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from onebit import commands
from onebit._program import OnebitError
from onebit.runs import Path, Run, Runs, load

Data = Union[Path, Run, Runs, Sequence[Run]]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")  # those of the report's page
_DASHES = ("-", "--", ":", "-.")  # each for seven arms
_STYLE = {"axes.grid": True, "grid.color": "#dddddd", "axes.spines.top": False, "axes.spines.right": False,
          "axes.axisbelow": True, "legend.frameon": False}


def _runs(data: Data) -> Runs:
    if isinstance(data, Runs):
        return data
    if isinstance(data, Run):
        return Runs([data])
    if isinstance(data, (str, os.PathLike)):
        return _runs(load(data))
    return Runs(data)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    # The figure comes first: creating it makes a notebook's backend change settings, which the context would undo.
    figure = plt.figure(figsize=(7, 4.2), layout="tight")
    with plt.rc_context(_STYLE):
        return figure.add_subplot()


def _arms(runs: Runs) -> list[tuple[str, list[Run]]]:
    """Returns the label and the runs of every arm. Runs of one arm differ in nothing but their seeds."""
    settings = runs.settings.drop(columns=["run", "seed"]).astype(str)
    settings = settings.loc[:, settings.nunique() > 1]
    arms: dict[tuple[str, str], list[Run]] = {}
    for run, (_, row) in zip(runs, settings.iterrows()):
        name = run.arm if run.arm != run.name else ""  # compare has named the file
        text = ", ".join(each if column == "optimizer" else f"{column} {each}" for column, each in row.items())
        arms.setdefault((name, text), []).append(run)
    labels: list[str] = []
    for labels in ([name for name, _ in arms], [text for _, text in arms], [", ".join(arm) for arm in arms]):
        if all(labels) and len(set(labels)) == len(labels):
            break
    if len(arms) == 1:
        (name, _), first = next(iter(arms)), runs[0]
        labels = [name or (first.name if len(runs) == 1 else str(first.config.get("optimizer")))]
    return list(zip(labels, arms.values()))


def _curve(ax: Axes, curves: Sequence[pd.DataFrame], x: str, y: str, style: dict[str, Any]) -> None:
    """Draws the mean with a band where all curves have values, and each curve by itself after that."""
    colour = style["color"]
    if len(curves) < 2:
        ax.plot(*([curves[0][x], curves[0][y]] if curves else [[], []]), **style)
        return
    start, end = max(curve[x].iloc[0] for curve in curves), min(curve[x].iloc[-1] for curve in curves)
    places = np.unique(np.concatenate([curve[x] for curve in curves]))
    places = places[(places >= start) & (places <= end)]
    values = np.array([np.interp(places, curve[x], curve[y]) for curve in curves])
    ax.plot(places, values.mean(axis=0), **style)
    ax.fill_between(places, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    for curve, ys in zip(curves, values):
        rest = curve[curve[x] > end]
        if len(rest):
            ax.plot([*places[-1:], *rest[x]], [*ys[-1:], *rest[y]], color=colour, linewidth=0.8)


def _curves(ax: Axes, runs: Runs, table: Callable[[Run], pd.DataFrame], x: str, y: str) -> list[tuple[str, list[Run]]]:
    """Draws y against x for every arm. Returns each arm's colour and runs."""
    coloured = []
    for number, (label, members) in enumerate(_arms(runs)):
        style = {"color": COLOURS[number % len(COLOURS)], "label": label,
                 "linestyle": _DASHES[number // len(COLOURS) % len(_DASHES)]}
        coloured.append((style["color"], members))
        curves = [table(run).dropna(subset=[x, y]) for run in members]
        _curve(ax, [curve for curve in curves if len(curve)], x, y, style)
    if len(coloured) > 1:
        ax.legend()
    return coloured


def loss(data: Data, x: str = "step", ax: Axes | None = None) -> Axes:
    """Draws the evaluated loss against x: step, samples or bytes."""
    axis = _axes(ax)
    labels = {"step": "step", "samples": "training samples", "bytes": "bytes sent by each worker"}
    if x not in labels:
        raise OnebitError(f"no such axis: {x}", "plot.loss", "one of " + ", ".join(labels))
    runs = _runs(data)
    _curves(axis, runs, lambda run: run.evaluations, x, "loss")
    on_training = any(run.config.get("eval.split") == "train" for run in runs)
    axis.set(xlabel=labels[x], ylabel="evaluated loss" if on_training else "held-out loss")
    if x != "step":
        axis.xaxis.set_major_formatter(EngFormatter(unit="B" if x == "bytes" else ""))
    return axis


def bytes(data: Data, ax: Axes | None = None) -> Axes:
    """Draws the bytes that a worker sends in each step, up and down together."""
    axis = _axes(ax)

    def table(run: Run) -> pd.DataFrame:
        rows = run.read("steps", ["bytes_up", "bytes_down"])
        return rows.assign(bytes=rows.bytes_up + rows.bytes_down)

    _curves(axis, _runs(data), table, "step", "bytes")
    axis.set(xlabel="step", ylabel="bytes sent by each worker", yscale="log")
    axis.yaxis.set_major_formatter(EngFormatter(unit="B"))
    return axis


def variance(data: Data, ax: Axes | None = None) -> Axes:
    """Draws the stability of the variance: its norm relative to its norm some steps earlier. Dashes mark freezes."""
    axis = _axes(ax)
    column = "variance_ratio_corrected"
    for colour, members in _curves(axis, _runs(data), lambda run: run.read("steps", [column]), "step", column):
        for run in members:
            for step in run.events[run.events.kind == "freeze"].step:
                axis.axvline(step, color=colour, linestyle="--", linewidth=1)
    axis.set(xlabel="step", ylabel="stability of the variance", ylim=(None, 1.01))
    return axis


def seconds(data: Data, cluster: str | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draws the predicted time of a run on clusters, one bar per arm, as in the report."""
    axis = _axes(ax)
    arms = commands.report(_runs(data), cluster=cluster)["arms"]
    names = list(arms[0]["seconds"])
    width = 0.8 / len(arms)
    for number, arm in enumerate(arms):
        means = [_number(arm["seconds"][name]["mean"]) for name in names]
        label = arm["name"] + (" (no run finished)" if np.isnan(means).all() else "")
        axis.bar(np.arange(len(names)) + (number - (len(arms) - 1) / 2) * width, means, width,
                 color=COLOURS[number % len(COLOURS)], label=label)
    axis.set(ylabel="predicted time of the run", xticks=range(len(names)))
    axis.set_xticklabels(names)
    axis.yaxis.set_major_formatter(EngFormatter(unit="s"))
    axis.legend()
    return axis


def _number(value: float | None) -> float:
    """Returns a number of the program's answer; null stands for one that is not finite."""
    return float("nan") if value is None else value


def _costs(answer: Any) -> dict[str, list[tuple[float, dict[str, Any]]]]:
    """Returns the mean costs of every arm of a validation or of a freeze, with the freeze steps."""
    rows = answer.get("rows")
    if rows is None:
        rows = [{**answer, "freeze_step": {"mean": answer["judged_step"]}}]
    costs: dict[str, list[tuple[float, dict[str, Any]]]] = {"frozen": []}
    for row in rows:
        step = row["freeze_step"]["mean"]
        if step is None:
            continue
        costs["frozen"].append((step, row["freeze"]["mean"]))
        for name, arm in row["arms"].items():
            costs.setdefault(name, []).append((step, arm["together"]["mean"]))
    return costs


def freeze_cost(runs: Runs, ax: Axes | None = None) -> Axes:
    """Draws the cost of freezing against the freeze step, with 95% intervals. `runs` is what `validate` or `freeze`
    returned. An arm has no point at a freeze step at which a run diverged."""
    axis = _axes(ax)
    answer = getattr(runs, "answer", None)
    if not answer or not ("rows" in answer or "judged_step" in answer):
        raise OnebitError("no costs of freezing", getattr(runs, "path", "") or "plot.freeze_cost",
                          "give what onebit.validate(...) or onebit.freeze(...) returned; loaded logs have no answer")
    for number, (arm, points) in enumerate(_costs(answer).items()):
        finite = [(step, mean) for step, mean in points if mean["mean"] is not None]
        steps, means = [step for step, _ in finite], [100 * mean["mean"] for _, mean in finite]
        widths = [100 * (mean["half_width"] or 0) for _, mean in finite]
        label = arm + (f" (diverged at {len(points) - len(finite)} of {len(points)} steps)"
                       if len(finite) < len(points) else "")
        axis.errorbar(steps, means, yerr=widths, color=COLOURS[number % len(COLOURS)], capsize=3, marker="o",
                      label=label)
    axis.axhline(100 * answer["margin"], color="#333333", linestyle="--", linewidth=1, label="margin")
    axis.set(xlabel="freeze step", ylabel="cost in %")
    axis.legend()
    return axis
