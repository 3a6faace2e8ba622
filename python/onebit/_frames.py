"""Tables of a log as pandas frames. A row of workers or tensors becomes one row per worker or tensor."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Dict

import h5py
import numpy as np
import numpy.typing as npt
import pandas as pd

from onebit._program import OnebitError
from onebit.logs import GROUPS, Log

Table = Dict[str, "npt.NDArray[Any]"]

# Columns that come first in a frame; the file lists its columns in alphabetical order.
_FIRST = ("step", "samples", "loss", "accuracy", "bytes", "kind", "text")

# What the tensor numbers -3, -2 and -1 in /traffic mean (docs/log-format.md).
_NOT_TENSORS = ("rows", "boundary", "fused")


def _texts(texts: Sequence[str]) -> npt.NDArray[Any]:
    return np.array(texts, dtype="O")


def tensor_names(log: Log) -> list[str]:
    """Returns the names of the tensors of the parameter vector, in its order."""
    return [name.decode("utf-8", "replace") for name in log.tensors_of_model["name"]]


def _wanted(names: Sequence[str], columns: Sequence[str] | None, keys: Sequence[str], where: str) -> list[str]:
    """Returns the names of the columns to read, those in `keys` first. `columns`: None means all; a text is one column.

    Raises OnebitError for a column that is in neither `names` nor `keys`.
    """
    if isinstance(columns, str):
        columns = [columns]
    for column in columns or ():
        if column not in names and column not in keys:
            raise OnebitError(f"no column of that name: {column}", where, "one of " + ", ".join(names))
    if columns is not None:
        return list(dict.fromkeys((*keys, *columns)))
    return sorted(names, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))


def _long(log: Log, group: str, columns: Sequence[str] | None) -> Table:
    """Returns /workers or /tensors with one row for each logged step and worker, or tensor."""
    source = getattr(log, group)
    keys = ("step", group[:-1])
    wanted = _wanted([name for name in source if name != "step"], columns, keys, f"{log.path}, /{group}")
    values = {name: source[name] for name in wanted if name not in keys}
    width = len(log.tensors_of_model) if group == "tensors" else int(log.header["workers"])
    steps = source["step"] if "step" in source else np.zeros(0, np.int64)
    return {"step": np.repeat(steps, width), group[:-1]: np.tile(np.arange(width), len(steps)),
            **{name: each.ravel() for name, each in values.items()}}


def _tensors(log: Log, columns: Sequence[str] | None) -> Table:
    table = _long(log, "tensors", columns)
    table["tensor"] = _texts(tensor_names(log))[table["tensor"]]
    return table


def _traffic(log: Log, columns: Sequence[str] | None) -> Table:
    rows = log.traffic
    table: Table = {}
    for name in _wanted(list(rows.dtype.names or ()), columns, ("step",), f"{log.path}, /traffic"):
        words: dict[str, int] | None = h5py.check_enum_dtype(rows.dtype[name])
        table[name] = rows[name]
        if words is not None:
            table[name] = _texts(sorted(words, key=words.__getitem__))[rows[name]]
    if "tensor" in table:
        names = _texts([*tensor_names(log), *_NOT_TENSORS])
        table["tensor"] = names[table["tensor"]]
    if "overlaps_backward" in table:
        table["overlaps_backward"] = table["overlaps_backward"].astype(bool)
    return table


def read(log: Log, group: str, columns: Sequence[str] | None = None) -> Table:
    """Returns columns of a group of a log by name; None: all of them.

    The columns that identify a row are always included: step, and worker or tensor.
    """
    if group == "traffic":
        return _traffic(log, columns)
    if group not in GROUPS:
        raise OnebitError(f"no group of that name: {group}", log.path, "one of " + ", ".join((*GROUPS, "traffic")))
    if group == "tensors":
        return _tensors(log, columns)
    if group == "workers":
        return _long(log, group, columns)
    source = getattr(log, group)
    keys = ("step",) if "step" in source else ()
    return {name: source[name] for name in _wanted(list(source), columns, keys, f"{log.path}, /{group}")}


def no_evaluations() -> Table:
    """Returns a table of evaluations without rows, with the columns that every log has."""
    return {name: np.zeros(0) for name in ("step", "samples", "loss", "accuracy", "bytes")}


def frame(table: Table) -> pd.DataFrame:
    """Returns a frame of the columns.

    Texts are not made categories, because groupby would then add rows for combinations that do not exist.
    """
    return pd.DataFrame(table, copy=False)


def dataset(log: Log) -> Any:
    """Returns the xarray.Dataset of /tensors: step x tensor."""
    try:
        import xarray
    except ImportError as error:
        raise OnebitError("xarray is not installed", "dataset", "pip install xarray; the frame `tensors` needs no "
                          "xarray") from error
    columns = {name: values for name, values in log.tensors.items() if name != "step"}
    return xarray.Dataset({name: (("step", "tensor"), values) for name, values in columns.items()},
                          coords={"step": log.tensors["step"] if columns else np.zeros(0, np.int64),
                                  "tensor": tensor_names(log)})
