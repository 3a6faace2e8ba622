"""Runs and folders of runs: typed settings and pandas frames."""
from __future__ import annotations

import csv
import difflib
import functools
import os
import pathlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Union, overload

import numpy as np
import pandas as pd

from onebit import _frames, _options
from onebit._program import OnebitError
from onebit.logs import Log

Path = Union[str, "os.PathLike[str]"]

# Settings that every frame of several runs has, whether or not they vary.
_ALWAYS = ("optimizer", "optimizer.lr", "seed")

_OF_SWEEPS = "index.h5"  # the index of a sweep, which is not a log


class Config(dict[str, _options.Value]):
    """The value of every option of a run. config["lr"] and config["optimizer_lr"] are config["optimizer.lr"]."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and super().__contains__(_options.long_name(name)))

    def __missing__(self, name: str) -> _options.Value:
        if name not in self:
            raise KeyError(name)
        return self[_options.long_name(name)]

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of an option, or `default` if the run has no such option."""
        return self[name] if name in self else default


def _count_text(count: float) -> str:
    """Returns a number of bytes such as "1.11 GB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


class Run:
    """A run, read from its log.

    Header, settings, status and evaluations are read immediately, and other frames when they are first used. A log that
    is still being written will have more rows later: load it again to see them. A run may be given where a path is
    expected.
    """

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self._file = os.path.abspath(self.path)  # the working folder may change
        with Log(self.path) as log:
            self.status = log.status
            self.header = log.header
            self.step = _last_step(log)
            self._settings = log.config
            self._evaluations = _frames.read(log, "evaluations")

    def __fspath__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """The file's name without .h5."""
        return pathlib.Path(self.path).stem

    @property
    def arm(self) -> str:
        """The run's label, e.g. one from sweep; otherwise the file's name, without the seed if compare chose it."""
        if self._settings.get("label"):
            return self._settings["label"]
        return self.name.removesuffix(f"-{self.header['seed']}")

    @functools.cached_property
    def config(self) -> Config:
        """The value of every option, with the type that the program's table of options gives it."""
        return Config({name: _options.typed(name, text) for name, text in self._settings.items()})

    def read(self, group: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Returns columns of a group of the log: steps, workers, tensors, probes, evaluations, events or traffic.

        Only the named columns are read; None reads all. A text names one column.
        """
        with Log(self._file) as log:
            return _frames.frame(_frames.read(log, group, columns))

    @functools.cached_property
    def evaluations(self) -> pd.DataFrame:
        """One row per evaluation: the settings as in the frames of several runs, step, evaluated loss, accuracy and
        bytes sent so far. A run that diverged has only evaluations from before the divergence."""
        return Runs([self]).evaluations

    @functools.cached_property
    def steps(self) -> pd.DataFrame:
        """One row per logged step."""
        return self.read("steps")

    @functools.cached_property
    def workers(self) -> pd.DataFrame:
        """One row per worker and logged step of /workers."""
        return self.read("workers")

    @functools.cached_property
    def tensors(self) -> pd.DataFrame:
        """One row per tensor, by name, and logged step of /tensors."""
        return self.read("tensors")

    @functools.cached_property
    def probes(self) -> pd.DataFrame:
        """One row per probe of the theory's quantities; empty without --probe.every."""
        return self.read("probes")

    @functools.cached_property
    def events(self) -> pd.DataFrame:
        """One row per event: freezes, divergence, stops and resumptions."""
        return self.read("events")

    @functools.cached_property
    def traffic(self) -> pd.DataFrame:
        """One row per exchange, as one worker sees it. The tensor is given by name, or as fused, boundary or rows."""
        return self.read("traffic")

    def dataset(self) -> Any:
        """Returns /tensors as an xarray.Dataset, step x tensor. Needs xarray."""
        with Log(self._file) as log:
            return _frames.dataset(log)

    def last(self, column: str) -> float:
        """Returns the last value of a column of the evaluations; NaN if there is none."""
        values = self._evaluations.get(column)
        return float("nan") if values is None or not len(values) else float(values[-1])

    def result(self, column: str) -> float:
        """Returns the last value of a column of the evaluations; NaN if the run diverged or failed, as in the index of
        a sweep."""
        return float("nan") if self.status in ("diverged", "failed") else self.last(column)

    def __repr__(self) -> str:
        of = self.config.get  # the log of a replay lacks some options
        task = f", on {of('model')} and {of('data')}" if "model" in self.config else ""
        examples = f" x {of('batch')} examples" if "batch" in self.config else ""
        planned = int(of("steps", 0))  # 0: as many as --epochs gave
        steps = f" of {planned}" if planned else ""
        lines = [f"{self.path}: {self.status} at step {self.step}{steps}",
                 f"  {of('optimizer')}, lr {of('optimizer.lr')}{task}, {self.header['workers']} workers{examples}, "
                 f"seed {self.header['seed']}"]
        if len(self._evaluations["loss"]):
            accuracy = self.last("accuracy")
            split = "evaluated" if of("eval.split") == "train" else "held-out"
            before = "" if self.status not in ("diverged", "failed") else f"before it {self.status}: "
            lines.append(f"  {before}{split} loss {self.last('loss'):.5g}"
                         + (f", accuracy {accuracy:.2%}" if np.isfinite(accuracy) else "")
                         + f", {_count_text(self.last('bytes'))} sent by each worker")
        return "\n".join(lines)


def _last_step(log: Log) -> int:
    return int(log.steps["step"][-1]) if log.steps.rows else 0


def _near(name: str, names: Sequence[str]) -> str:
    """Returns a hint that suggests similar names, or lists the first names if none is similar."""
    near = difflib.get_close_matches(name, names, 3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "one of " + ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def _overlap_free(names: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """Returns the name of a column for every setting: its short name, or the part after its last dot.

    A setting has its long name if the shorter one is also that of another setting, or of a column in `taken`.
    """
    short = {name: _options.short_name(name) for name in names}
    short = {name: text if text != name else name.rpartition(".")[2] for name, text in short.items()}
    texts = list(short.values())
    return {name: text if texts.count(text) == 1 and text not in taken else name for name, text in short.items()}


class Runs(Sequence[Run]):
    """The runs of a folder. Their frames are those of all runs, with columns for the settings that vary."""

    def __init__(self, runs: Sequence[Run], problems: Sequence[OnebitError] = (), path: str = "") -> None:
        self.path = path
        self._runs = list(runs)
        self.problems = list(problems)  # logs that could not be read
        self.answer: Any = None  # the program's JSON answer; None for loaded runs

    @overload
    def __getitem__(self, index: int | str) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...

    def __getitem__(self, index: int | str | slice) -> Run | Runs:
        """Returns a run by number or by name, or a part of the runs."""
        if isinstance(index, slice):
            return Runs(self._runs[index], path=self.path)
        if not isinstance(index, str):
            return self._runs[index]
        for run in self._runs:
            if run.name == index:
                return run
        raise OnebitError(f"no run of that name: {index}", self.path or "runs",
                          _near(index, [run.name for run in self._runs]))

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def where(self, **settings: Any) -> Runs:
        """Returns the runs whose settings have these values: runs.where(optimizer="adam", lr=1e-3). arm="slow" selects
        an arm of compare."""
        runs = self._runs
        if "arm" in settings:
            arm = settings.pop("arm")
            runs = [run for run in runs if run.arm == arm]
        for name in settings:
            if self._runs and not any(name in run.config for run in self._runs):
                raise OnebitError(f"no setting of that name: {name}", self.path or "runs",
                                  _near(name, list(self._runs[0].config)))
        return Runs([run for run in runs
                     if all(name in run.config and run.config[name] == value for name, value in settings.items())],
                    path=self.path)

    @functools.cached_property
    def varied(self) -> list[str]:
        """The long names of the settings that differ among the runs and can change a result."""
        if not self._runs:
            return []
        first = self._runs[0]._settings
        names = dict.fromkeys(name for run in self._runs for name in run._settings)
        return [name for name in names if _options.decides_results(name)
                and any(run._settings.get(name) != first.get(name) for run in self._runs)]

    def _settings_beside(self, taken: Sequence[str]) -> pd.DataFrame:
        """Returns one row of settings per run, under column names that are not in `taken`."""
        names = list(dict.fromkeys((*_ALWAYS, *self.varied)))
        short = _overlap_free(names, taken)
        columns: dict[str, list[Any]] = {"run": [run.name for run in self._runs]}
        for name in names:
            values = [run.header["seed"] if name == "seed" else run.config.get(name) for run in self._runs]
            columns[short[name]] = [",".join(map(str, each)) if isinstance(each, list) else each for each in values]
        return pd.DataFrame(columns)

    @functools.cached_property
    def settings(self) -> pd.DataFrame:
        """One row per run: its name, optimizer, learning rate and seed, and the settings that vary."""
        return self._settings_beside(())

    @functools.cached_property
    def table(self) -> pd.DataFrame:
        """One row per run: its settings, its status, and its last evaluation. The loss and the accuracy of a run that
        diverged or failed are NaN."""
        result = self._settings_beside(("status", "step", "loss", "accuracy", "bytes"))
        result["status"] = [run.status for run in self._runs]
        result["step"] = [run.step for run in self._runs]
        for column in ("loss", "accuracy"):
            result[column] = [run.result(column) for run in self._runs]
        result["bytes"] = [run.last("bytes") for run in self._runs]
        return result

    def _joined(self, tables: Sequence[_frames.Table]) -> pd.DataFrame:
        """Returns one frame of the runs' tables, with each run's settings in its rows."""
        names = list(dict.fromkeys(name for table in tables for name in table))
        rows = [len(next(iter(table.values()))) if table else 0 for table in tables][:len(self)]
        settings = self._settings_beside(names)
        columns = {name: np.repeat(settings[name].to_numpy(), rows) for name in settings}
        for name in names:
            parts = [table.get(name, np.full(count, np.nan)) for table, count in zip(tables, rows)]
            columns[name] = np.concatenate(parts) if parts else np.zeros(0)
        return _frames.frame(columns)

    def read(self, group: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Returns columns of a group of all logs, with the runs' settings. Only the named columns are read."""
        tables = []
        for run in self._runs:
            with Log(run._file) as log:
                tables.append(_frames.read(log, group, columns))
        return self._joined(tables)

    @functools.cached_property
    def evaluations(self) -> pd.DataFrame:
        """One row per run and evaluation."""
        return self._joined([run._evaluations for run in self._runs] or [_frames.no_evaluations()])

    @property
    def steps(self) -> pd.DataFrame:
        """One row per run and logged step. For many runs, read("steps", ["loss"]) takes less memory."""
        return self.read("steps")

    @property
    def workers(self) -> pd.DataFrame:
        """One row per run, worker and logged step of /workers."""
        return self.read("workers")

    @property
    def tensors(self) -> pd.DataFrame:
        """One row per run, tensor and logged step of /tensors."""
        return self.read("tensors")

    @property
    def probes(self) -> pd.DataFrame:
        """One row per run and probe."""
        return self.read("probes")

    @property
    def events(self) -> pd.DataFrame:
        """One row per run and event."""
        return self.read("events")

    @property
    def traffic(self) -> pd.DataFrame:
        """One row per run and exchange."""
        return self.read("traffic")

    def __repr__(self) -> str:
        varied = ", ".join(self.varied) or "nothing"
        lines = [f"{self.path or 'runs'}: {len(self)} runs, which differ in {varied}"]
        if self._runs:
            lines.append(self.table.to_string(index=False, max_rows=12))
        lines += [f"cannot be read: {problem}" for problem in self.problems]
        return "\n".join(lines)


def _in_order(folder: pathlib.Path, files: list[pathlib.Path]) -> list[pathlib.Path]:
    """Returns the logs in the order of a sweep's index, if the folder has one: a sweep names its files by hashes."""
    try:
        with open(folder / "index.csv", newline="", encoding="utf-8") as index:
            places = {row["name"]: place for place, row in enumerate(csv.DictReader(index))}
    except (OSError, KeyError, UnicodeDecodeError, csv.Error):
        return files
    return sorted(files, key=lambda file: places.get(file.stem, len(places)))


def load(path: Path) -> Run | Runs:
    """Reads a log, or all logs in a folder of compare, sweep, freeze or validate.

    If some logs of a folder cannot be read, the others are returned: the errors are in `problems`, and each is also a
    warning. Raises OnebitError if there is nothing to read.
    """
    place = pathlib.Path(path)
    if not place.is_dir():
        return Run(path)
    files = _in_order(place, sorted(each for each in place.glob("*.h5") if each.name != _OF_SWEEPS))
    if not files:
        raise OnebitError("the folder has no logs", str(path), "name a folder of compare, sweep, freeze or validate")
    runs, problems = [], []
    for file in files:
        try:
            runs.append(Run(file))
        except OnebitError as error:
            problems.append(error)
    if not runs:
        raise OnebitError(f"none of {len(problems)} logs can be read", str(path), str(problems[0]))
    for problem in problems:
        warnings.warn(f"left out: {problem}", stacklevel=2)
    return Runs(runs, problems, os.fspath(path))
