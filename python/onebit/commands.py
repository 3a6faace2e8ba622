"""The program's commands as functions.

The keyword of an option is its name with dots and dashes written as underscores: optimizer_lr=1e-3 is
--optimizer.lr 1e-3, and the short names lr, wd, beta1, beta2 and momentum work too. A list is joined by commas, True
sets a flag, and None leaves an option out. Options that may be repeated take a list of texts or a mapping:

    onebit.sweep(model="mlp", data="synthetic", axis={"optimizer": ["adam", "sgd"], "lr": "1e-3:1e-1:log:3"}, out="sweep")

If the program refuses a call or fails, the call raises an OnebitError with `what`, `where` and `hint`.
"""
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Union

from onebit import _options, _program
from onebit._program import OnebitError
from onebit.runs import Path, Run, Runs, load

# What a command takes as logs: the path of a log or a folder, a Run, Runs, or a list of these. A Run counts as a path.
Logs = Union[Path, Sequence[Any]]


def _call(command: str, options: dict[str, Any], *arguments: str, answers: Sequence[int] = (0,)) -> Any:
    """Runs a command with --json, and returns what it prints."""
    for name in ("dry_run", "dry-run", "help", "help_all", "help-all"):
        if options.get(name):
            raise OnebitError("the option leaves nothing to return", f"{command}, {name}", "use it in a shell")
    words = [command, *arguments, *_options.command_line(command, {**options, "json": True})]
    return json.loads(_program.call(words, answers=answers, reword=_options.in_python))


def _in_folder(command: str, options: dict[str, Any], stem: str) -> Runs:
    """Runs a command whose answer does not say where its logs are.

    If the caller names no folder, the logs go to the first free one of STEM-1, STEM-2, ...
    """
    folder = options.pop("o", None) or options.pop("out", None)
    number = 1
    while folder is None and os.path.exists(f"{stem}-{number}"):
        number += 1
    folder = folder or f"{stem}-{number}"
    return _loaded(folder, _call(command, {**options, "out": folder}))


def run(**options: Any) -> Run:
    """Trains one run, and returns it. Raises OnebitError if it diverges; its log is complete nevertheless."""
    return Run(_call("run", options)["log"])


def compare(**options: Any) -> Runs:
    """Trains several arms on the same data and initial weights, and returns all their runs, even those that diverged.

    The program's answer, with its prices and verdicts, is in `answer`.
    """
    answer = _call("compare", options)
    logs = [each["run"]["log"] for each in answer["runs"]]
    runs = Runs([Run(log) for log in logs], path=os.path.dirname(logs[0]))
    runs.answer = answer
    return runs


def sweep(**options: Any) -> Runs:
    """Trains a grid of runs, each in its own process, and returns them.

    `answer` has the points with their results and, if tune= was given, the best values.
    """
    answer = _call("sweep", options)
    return _loaded(os.path.dirname(answer["index"]), answer)


def freeze(**options: Any) -> Runs:
    """Uses trial runs to find how soon the variance may be frozen, and returns these runs.

    `answer` has the freeze step, its cost with an interval and a verdict, and the times on the clusters.
    """
    return _in_folder("freeze", options, "freeze")


def validate(**options: Any) -> Runs:
    """Trains dense runs and continues them with a frozen variance, with and without compression (analyze --validate).

    `answer` has the cost of every freeze step with a verdict.
    """
    return _in_folder("analyze", {**options, "validate": True}, "validate")


def _loaded(folder: str | os.PathLike[str], answer: Any) -> Runs:
    runs = load(folder)
    assert isinstance(runs, Runs)  # load() returns a Run only for a file
    runs.answer = answer
    return runs


def price(log: Logs | None = None, **options: Any) -> Any:
    """Estimates the time of a dense and of a compressed step on clusters, for a log or a workload.

    Returns what `onebit price --json` prints, as dictionaries and lists; for several runs, a list with one such answer
    for each.
    """
    if log is None or isinstance(log, (str, os.PathLike)):
        return _call("price", options, *([] if log is None else [os.fspath(log)]))
    return [_call("price", options, path) for path in _paths("price", log)]


def _paths(command: str, logs: Sequence[Logs]) -> list[str]:
    """Returns the paths of logs and folders. Runs and lists stand for all their items."""
    paths: list[str] = []
    for each in logs if isinstance(logs, Sequence) else [logs]:
        if isinstance(each, (str, os.PathLike)):
            paths.append(os.fspath(each))
        elif isinstance(each, Sequence):
            paths += _paths(command, each)
        else:
            raise OnebitError("not a log", f"{command}, {type(each).__name__}", "give a path, a run or runs")
    return paths


def report(*logs: Logs, **options: Any) -> Any:
    """Writes one page about logs, runs or folders: report("sweep", out="report.html").

    Returns the comparison that the page shows, as dictionaries and lists.
    """
    return _call("report", options, *_paths("report", logs))


def card(*logs: Logs, **options: Any) -> Any:
    """Writes a card with which others can repeat runs and check their results: card("sweep", out="card.json").

    Returns the card, as dictionaries and lists.
    """
    return _call("card", options, *_paths("card", logs))


def verify(card: str | os.PathLike[str], **options: Any) -> Any:
    """Repeats the runs of a card. Returns how they agree with it; `agrees` says whether all do."""
    if not isinstance(card, (str, os.PathLike)):
        raise OnebitError("not the path of a card", f"verify, {type(card).__name__}", 'card(runs, out="card.json") writes one')
    return _call("verify", options, os.fspath(card), answers=(0, 1))
