"""Reads run logs of onebit: finished, killed, or still being written. Needs h5py and numpy; copy the file freely.

    import onebit_log
    log = onebit_log.Log("run.h5")
    log.steps["loss"]                  # numpy array, one value per committed step
    python3 onebit_log.py run.h5       # a short summary
"""
import os
import sys
from collections.abc import Mapping

import h5py
import numpy as np

FORMAT_VERSION = 1


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


class Columns(Mapping):
    """Columns of one group by name, cut to the committed rows."""

    def __init__(self, file, name):
        self._group = file.get(name, {})
        count = file.get("committed_rows" if name == "steps" else "committed/" + name)
        sizes = [column.shape[0] for column in self._group.values()]
        self.rows = min([int(count[()]), *sizes]) if count is not None and sizes else 0

    def __getitem__(self, name):
        values = self._group[name][: self.rows]
        return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values

    def __iter__(self):
        return iter(self._group)

    def __len__(self):
        return len(self._group)


class Log:
    """A snapshot of a log. Open another one to see what a live run has written since."""

    def __init__(self, path):
        with open(path, "rb") as file:
            start = file.read(48).ljust(48, b"\0")  # superblock: byte 8: version, byte 28: end of the file
        if start[8] == 3 and os.path.getsize(path) < max(48, int.from_bytes(start[28:36], "little")):
            raise OSError(f"{path}: the file is truncated")  # HDF5 would read its end as zeros, or hang
        try:
            self.file = h5py.File(path, "r")
        except OSError:  # a live or killed run: HDF5 opens it for SWMR reading only
            self.file = h5py.File(path, "r", swmr=True)
        self.header = {name: _text(value) for name, value in self.file.attrs.items()}
        version = self.header.get("format_version")
        if self.header.get("format") != "onebit-run" or version is None:
            raise OSError(f"{path}: not a run log of onebit; `onebit run -o FILE.h5` writes one")
        if version > FORMAT_VERSION:
            raise OSError(f"{path}: the log has format_version {version}, this script reads up to {FORMAT_VERSION}; "
                          "use the onebit_log.py of the onebit that wrote the log")
        self.config = {name: _text(value) for name, value in self.file["config"].attrs.items()}
        self.status = _text(self.file["status"][()])
        self.steps, self.workers, self.tensors, self.probes, self.evaluations, self.events = (
            Columns(self.file, name) for name in ("steps", "workers", "tensors", "probes", "evaluations", "events"))

    @property
    def traffic(self):
        """Structured array; h5py.check_enum_dtype(log.traffic.dtype["collective"]) names the values."""
        return self.file["traffic"][: int(self.file["committed/traffic"][()])]

    def summary(self):
        lines = [f"{self.file.filename}: {self.status}, {self.steps.rows} steps, {self.header['workers']} workers"]
        if self.steps.rows:
            lines.append(f"loss {self.steps['loss'][0]:.6g} -> {self.steps['loss'][-1]:.6g}, "
                         f"{np.nansum(self.steps['bytes_up'] + self.steps['bytes_down']):.6g} bytes per worker")
        lines += [f"step {step}: {kind}: {text}" for step, kind, text in zip(*map(self.events.get, ("step", "kind", "text")))]
        return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: onebit_log.py LOG.h5")
    print(Log(sys.argv[1]).summary())
