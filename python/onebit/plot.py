"""Pictures of runs with matplotlib, in the style of the program's report. Every function returns the Axes.

`data` is a Run, Runs, or a list of Run. Runs that differ only in their seed are one curve: the mean, with a band from the
smallest to the largest value. `ax` is where to draw; without it a new figure is made.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from onebit import commands
from onebit._program import OnebitError
from onebit.runs import Run, Runs

Data = Union[Run, Runs, Sequence[Run]]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")  # of the report's page
_STYLE = {"axes.grid": True, "grid.color": "#dddddd", "axes.spines.top": False, "axes.spines.right": False,
          "axes.axisbelow": True, "legend.frameon": False, "figure.autolayout": True}


def _runs(data: Data) -> Runs:
    if isinstance(data, Runs):
        return data
    return Runs([data] if isinstance(data, Run) else data)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    with plt.rc_context(_STYLE):
        return plt.subplots(figsize=(7, 4.2))[1]


def _arms(runs: Runs) -> dict[str, list[Run]]:
    """Returns the runs of every arm by the arm's label: what distinguishes it from the others, except for the seed."""
    settings = runs.settings.drop(columns=["run", "seed"])
    varied = [name for name in settings if settings[name].astype(str).nunique() > 1]
    named = len({run.arm for run in runs}) < len(runs)  # compare has named the files
    arms: dict[str, list[Run]] = {}
    for run, (_, row) in zip(runs, settings.iterrows()):
        text = ", ".join(str(row[name]) if name == "optimizer" else f"{name} {row[name]}" for name in varied)
        arms.setdefault(run.arm if named or not text else text, []).append(run)
    return arms


def _curves(ax: Axes, runs: Runs, table: Callable[[Run], pd.DataFrame], x: str, y: str) -> dict[str, str]:
    """Draws the mean of y over x for every arm, and returns the arms' colours."""
    colours = {}
    for number, (arm, members) in enumerate(_arms(runs).items()):
        colours[arm] = COLOURS[number % len(COLOURS)]
        rows = pd.concat([table(run) for run in members]).dropna(subset=[x, y])
        values = rows.groupby(x)[y].agg(["mean", "min", "max"])
        ax.plot(values.index, values["mean"], color=colours[arm], label=arm)
        if len(members) > 1:
            ax.fill_between(values.index, values["min"], values["max"], color=colours[arm], alpha=0.15, linewidth=0)
    if len(colours) > 1:
        ax.legend()
    return colours


def loss(data: Data, x: str = "step", ax: Axes | None = None) -> Axes:
    """Draws the held-out loss over x: step, samples or bytes."""
    axis = _axes(ax)
    labels = {"step": "step", "samples": "training samples", "bytes": "bytes sent by each worker"}
    if x not in labels:
        raise OnebitError(f"no such axis: {x}", "plot.loss", "one of " + ", ".join(labels))
    _curves(axis, _runs(data), lambda run: run.evaluations, x, "loss")
    axis.set(xlabel=labels[x], ylabel="held-out loss")
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
    """Draws the stability of the variance: its norm relative to that some steps earlier. Dashed lines mark freezes."""
    axis, runs = _axes(ax), _runs(data)
    colours = _curves(axis, runs, lambda run: run.read("steps", ["variance_ratio_corrected"]), "step",
                      "variance_ratio_corrected")
    for arm, members in _arms(runs).items():
        for run in members:
            freezes = run.events[run.events.kind == "freeze"]
            for step in freezes.step:
                axis.axvline(step, color=colours[arm], linestyle="--", linewidth=1)
    axis.set(xlabel="step", ylabel="stability of the variance", ylim=(None, 1.01))
    return axis


def seconds(data: Data, cluster: str | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draws the predicted time of a run on clusters, one bar per arm, as the report has it."""
    axis = _axes(ax)
    arms = commands.report(_runs(data), cluster=cluster)["arms"]
    names = list(arms[0]["seconds"])
    width = 0.8 / len(arms)
    for number, arm in enumerate(arms):
        means = [arm["seconds"][name]["mean"] for name in names]
        axis.bar(np.arange(len(names)) + (number - (len(arms) - 1) / 2) * width, means, width,
                 color=COLOURS[number % len(COLOURS)], label=arm["name"])
    axis.set(ylabel="predicted time of the run", xticks=range(len(names)), yscale="log")
    axis.set_xticklabels(names)
    axis.yaxis.set_major_formatter(EngFormatter(unit="s"))
    axis.legend()
    return axis


def _costs(answer: Any) -> dict[str, list[tuple[float, dict[str, float]]]]:
    """Returns the mean costs of every arm of a validation, with the freeze steps."""
    costs: dict[str, list[tuple[float, dict[str, float]]]] = {"frozen": []}
    for row in answer["rows"]:
        step = row["freeze_step"]["mean"]
        if step is None:
            continue
        costs["frozen"].append((step, row["freeze"]["mean"]))
        for name, arm in row["arms"].items():
            costs.setdefault(name, []).append((step, arm["together"]["mean"]))
    return costs


def freeze_cost(runs: Runs, ax: Axes | None = None) -> Axes:
    """Draws what freezing costs over the freeze step, with 95% intervals. `runs` is what `validate` returned."""
    axis = _axes(ax)
    if not runs.answer or "rows" not in runs.answer:
        raise OnebitError("no costs of freezing", runs.path or "runs", "give what onebit.validate(...) returned")
    for number, (arm, points) in enumerate(_costs(runs.answer).items()):
        steps, means = [step for step, _ in points], [100 * mean["mean"] for _, mean in points]
        widths = [100 * (mean["half_width"] or 0) for _, mean in points]
        axis.errorbar(steps, means, yerr=widths, color=COLOURS[number % len(COLOURS)], capsize=3, marker="o", label=arm)
    axis.axhline(100 * runs.answer["margin"], color="#333333", linestyle="--", linewidth=1, label="margin")
    axis.set(xlabel="freeze step", ylabel="cost in % of the final loss")
    axis.legend()
    return axis
