"""Reads the logs of runs that have finished, were killed, or are still in progress. Needs only h5py and numpy.

    log = onebit.logs.Log("run.h5")
    log.steps["loss"]                  # numpy array, one value per committed step
    python3 -m onebit.logs run.h5      # a short summary
"""
from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from onebit._program import OnebitError

FORMAT_VERSION = 1
GROUPS = ("steps", "workers", "tensors", "probes", "evaluations", "events")

# What h5py raises if a file is damaged.
_DAMAGE = (OSError, RuntimeError, KeyError, ValueError)
_DAMAGED_HINT = "restore the log from a copy, or run again"


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _attributes(group: h5py.Group) -> dict[str, str]:
    """Returns the attributes of a group, which are all text, twice as fast as group.attrs does."""
    names: list[bytes] = []
    h5py.h5a.iterate(group.id, names.append)
    values = {}
    for name in names:
        attribute = h5py.h5a.open(group.id, name)
        value = np.empty((), dtype=f"S{max(1, attribute.get_storage_size())}")
        attribute.read(value, attribute.get_type())
        values[name.decode()] = _text(value[()])
    return values


class Columns(Mapping[str, "npt.NDArray[Any]"]):
    """Columns of one group by name, cut to the committed rows. A group that the log lacks has no columns."""

    def __init__(self, file: h5py.File, name: str) -> None:
        count = file.get("committed_rows" if name == "steps" else "committed/" + name)  # before the columns grow
        self.rows = 0 if count is None else int(count[()])
        self._group: h5py.Group | None = file.get(name)
        self._where = f"{file.filename}, /{name}"

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if self._group is None:
            raise KeyError(name)
        column = h5py.Dataset(h5py.h5d.open(self._group.id, name.encode()))  # cheaper than self._group[name]
        if column.shape[0] < self.rows:
            raise OnebitError(f"cannot read log: damaged: the column has {column.shape[0]} of {self.rows} rows",
                              f"{self._where}/{name}", _DAMAGED_HINT)
        try:
            values: npt.NDArray[Any] = column[: self.rows]
        except _DAMAGE as error:
            raise OnebitError(f"cannot read log: damaged: {error}", f"{self._where}/{name}", _DAMAGED_HINT) from error
        return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values

    def __iter__(self) -> Iterator[str]:
        return iter(self._group or ())

    def __len__(self) -> int:
        return len(self._group or ())


def _refuse_truncated(path: str) -> None:
    """Raises OnebitError if bytes are missing at the end of the file: HDF5 would read them as zeros, or hang."""
    with open(path, "rb") as file:
        start = file.read(48).ljust(48, b"\0")  # superblock: byte 8: version, byte 28: end of the file
    size, end = os.path.getsize(path), int.from_bytes(start[28:36], "little")
    if start[8] == 3 and size < max(48, end):
        raise OnebitError(f"cannot read log: truncated to {size} of {end} bytes", path, _DAMAGED_HINT)


def _open(path: str) -> h5py.File:
    try:
        _refuse_truncated(path)
        try:
            return h5py.File(path, "r")
        except _DAMAGE:  # a live or killed run: HDF5 opens it for SWMR reading only
            return h5py.File(path, "r", swmr=True)
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None and not os.path.isfile(path):
            raise OnebitError(f"cannot read log: {os.strerror(error.errno).lower()}", path) from None
        if os.path.isfile(path) and os.path.getsize(path) == 0:
            raise OnebitError("cannot read log: the file is empty", path,
                              f"the run has just started; if not, {_DAMAGED_HINT}") from None
        raise OnebitError("cannot read log: not an HDF5 file, or damaged", path,
                          f"{_DAMAGED_HINT}; or the run has just started") from error


class Log:
    """A snapshot of a log. Open the log again to see what a live run has written since.

    It keeps the file open until close() is called, or until the end of a `with` block.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.file = _open(self.path)
        try:
            self._read_header()
        except BaseException as error:
            self.file.close()
            if isinstance(error, _DAMAGE):
                raise OnebitError(f"cannot read log: damaged: {error}", self.path, _DAMAGED_HINT) from error
            raise

    def _read_header(self) -> None:
        self.header: dict[str, Any] = {name: _text(value) for name, value in self.file.attrs.items()}
        version = self.header.get("format_version")
        if self.header.get("format") != "onebit-run" or version is None:
            raise OnebitError("not a run log of onebit", self.path, "`onebit run -o FILE.h5` writes one")
        if version > FORMAT_VERSION:
            raise OnebitError(f"log has format_version {version}, this package reads up to {FORMAT_VERSION}", self.path,
                              "use the package of the onebit that wrote the log")
        self.status: str = _text(self.file["status"][()])

    @functools.cached_property
    def config(self) -> dict[str, str]:
        """The value of every option, as text."""
        with self._damage_in("config"):
            return _attributes(self.file["config"])

    @contextlib.contextmanager
    def _damage_in(self, name: str) -> Iterator[None]:
        """Raises OnebitError if h5py cannot read."""
        try:
            yield
        except _DAMAGE as error:
            raise OnebitError(f"cannot read log: damaged: {error}", f"{self.path}, /{name}", _DAMAGED_HINT) from error

    def close(self) -> None:
        """Closes the file; columns that have not been read can no longer be read."""
        self.file.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Columns:
        if name not in GROUPS:
            raise AttributeError(f"a log has no '{name}'")
        columns = Columns(self.file, name)
        setattr(self, name, columns)
        return columns

    @property
    def traffic(self) -> npt.NDArray[Any]:
        """Structured array; h5py.check_enum_dtype(log.traffic.dtype["collective"]) names the values."""
        with self._damage_in("traffic"):
            rows: npt.NDArray[Any] = self.file["traffic"][: int(self.file["committed/traffic"][()])]
        return rows

    @property
    def tensors_of_model(self) -> npt.NDArray[Any]:
        """Structured array with name, offset, size and rows of every tensor of the parameter vector."""
        with self._damage_in("model/tensors"):
            rows: npt.NDArray[Any] = self.file["model/tensors"][:]
        return rows

    def summary(self) -> str:
        """Returns the status, the losses, the bytes and the events in a few lines."""
        lines = [f"{self.path}: {self.status}, {self.steps.rows} steps, {self.header['workers']} workers"]
        if self.steps.rows:
            lines.append(f"loss {self.steps['loss'][0]:.6g} -> {self.steps['loss'][-1]:.6g}, "
                         f"{np.nansum(self.steps['bytes_up'] + self.steps['bytes_down']):.6g} bytes per worker")
        lines += [f"step {step}: {kind}: {text}"
                  for step, kind, text in zip(*(self.events[name] for name in ("step", "kind", "text")))]
        return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m onebit.logs LOG.h5")
    try:
        print(Log(sys.argv[1]).summary())
    except OnebitError as problem:
        sys.exit(f"onebit: error: {problem}")
