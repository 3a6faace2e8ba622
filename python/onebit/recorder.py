"""Records gradients of any framework for `onebit replay`. Needs h5py and numpy.

    from onebit.recorder import Recorder

    with Recorder("trace.h5", x0={"weight": w, "bias": b}, workers=4) as recorder:
        for batches in data:
            recorder.step([gradients_of(batch) for batch in batches])   # one dictionary or flat vector per worker

Each step is written immediately. A trace may be larger than memory, and an interrupted one contains all steps so far.

CompactRecorder has the same arguments. It keeps no gradients, only norms and statistics of their signs: a few numbers
per tensor and step, which show when the variance may be frozen.

`onebit.torch.record` records the gradients of a torch module.
"""
from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import h5py
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Values = Union[npt.ArrayLike, Mapping[str, npt.ArrayLike]]


class Recorder:
    """Writes a trace of gradients."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], x0: Values, workers: int,
                 tensor_sizes: Optional[Sequence[int]] = None) -> None:
        """x0: parameters before the first step, as {name: array} or a flat vector. A vector of several tensors needs
        tensor_sizes."""
        self.shapes = {name: np.shape(x) for name, x in x0.items()} if isinstance(x0, Mapping) else None
        if tensor_sizes is None:
            tensor_sizes = [np.size(x) for x in x0.values()] if isinstance(x0, Mapping) else [np.size(x0)]
        start = self._flat(x0)
        if sum(tensor_sizes) != start.size:
            raise ValueError(f"tensor_sizes sum to {sum(tensor_sizes)}, x0 has {start.size} parameters")
        self.workers, self.parameters, self.steps = workers, start.size, 0
        self.tensor_sizes = np.array(tensor_sizes, dtype="int64")
        if os.path.exists(path):
            raise FileExistsError(f"{os.fspath(path)} already exists; remove it, or record to another path")
        self.file = h5py.File(path, "x")
        self.file["tensor_sizes"] = self.tensor_sizes
        self._create(start)

    def _create(self, x0: Vector) -> None:
        self.file["x0"] = x0
        if self.shapes:
            self.file["tensor_shapes"] = np.array([self._matrix(s) for s in self.shapes.values()], dtype="int64")
        self.gradients = self._dataset("gradients", "float32", (self.workers, x0.size), (1, 1, min(x0.size, 1 << 20)))

    def _dataset(self, name: str, kind: str, shape: Tuple[int, ...], chunks: Tuple[int, ...]) -> Any:
        return self.file.create_dataset(name, (0, *shape), kind, maxshape=(None, *shape), chunks=chunks)

    @staticmethod
    def _matrix(shape: Tuple[int, ...]) -> List[int]:
        """Rows and columns: the first dimension and all others; 0 columns for a vector."""
        size = int(np.prod(shape))
        return [shape[0], size // shape[0]] if len(shape) > 1 and size else [size, 0]

    def _flat(self, values: Values) -> Vector:
        if isinstance(values, Mapping):
            shapes = {name: np.shape(value) for name, value in values.items()}
            if shapes != self.shapes:
                raise ValueError(f"the tensors are {shapes}, but those of x0 are {self.shapes}")
            values = np.concatenate([np.ravel(values[name]) for name in self.shapes])
        return np.asarray(values, dtype=np.float32).ravel()

    def step(self, gradients: Sequence[Values], losses: Optional[Sequence[float]] = None) -> None:
        """Appends one step: the gradient of each worker, in the form of x0, and the loss of each worker. Give losses in
        all steps, or in none."""
        rows = [self._flat(gradient) for gradient in gradients]
        if len(rows) != self.workers or any(row.size != self.parameters for row in rows):
            raise ValueError(
                f"gradients with {[row.size for row in rows]} elements, expected {self.workers} with {self.parameters} "
                "each")
        if losses is not None and len(losses) != self.workers:
            raise ValueError(f"{len(losses)} losses, expected {self.workers}")
        if self.steps > 0 and (losses is None) == ("losses" in self.file):
            raise ValueError("losses in some steps only: give them in all steps, or in none")
        if losses is not None and self.steps == 0:
            self._dataset("losses", "float64", (self.workers,), (1024, self.workers))
        self._write(rows)
        if losses is not None:
            self._append(self.file["losses"], losses)
        self.steps += 1
        self.file.flush()

    def _append(self, dataset: Any, values: Any) -> None:
        dataset.resize(self.steps + 1, axis=0)
        dataset[self.steps] = values

    def _write(self, rows: List[Vector]) -> None:
        self.gradients.resize(self.steps + 1, axis=0)
        for worker, row in enumerate(rows):
            self.gradients[self.steps, worker] = row

    def close(self) -> None:
        """Ends the trace."""
        self.file.close()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class CompactRecorder(Recorder):
    """Writes a compact trace: norms and statistics of the signs of each step's mean gradient."""

    def _create(self, x0: Vector) -> None:
        names, shape = ("gradient_squares", "gradient_l1", "sign_changes"), (len(self.tensor_sizes),)
        self.numbers = {name: self._dataset(name, "float64", shape, (64, *shape)) for name in names}
        self.negative: Optional[npt.NDArray[np.bool_]] = None  # the signs of the last step

    def _write(self, rows: List[Vector]) -> None:
        mean = np.mean(rows, axis=0, dtype="float64")
        negative = np.signbit(mean)
        changed = np.full(mean.shape, np.nan) if self.negative is None else negative != self.negative
        self._append(self.numbers["gradient_squares"], self._sums(mean * mean))
        self._append(self.numbers["gradient_l1"], self._sums(np.abs(mean)))
        self._append(self.numbers["sign_changes"], self._sums(changed) / np.maximum(self.tensor_sizes, 1))
        self.negative = negative

    def _sums(self, values: Any) -> npt.NDArray[np.float64]:
        ends = np.cumsum(self.tensor_sizes)
        return np.array([np.sum(values[end - size:end]) for size, end in zip(self.tensor_sizes, ends)], dtype="float64")


def _demo(path: str, compact: bool) -> None:
    """Writes a small trace: noisy gradients of |x|^2 / 2."""
    random = np.random.default_rng(1)
    x: Dict[str, Any] = {"weight": random.normal(size=(8, 4)), "bias": random.normal(size=4)}
    loss = sum(np.sum(value ** 2) for value in x.values()) / 2
    with (CompactRecorder if compact else Recorder)(path, x, workers=4) as recorder:
        for _ in range(50):
            recorder.step([{name: value + random.normal(size=value.shape) for name, value in x.items()}
                           for _ in range(4)], losses=[loss] * 4)


if __name__ == "__main__":
    import sys

    _demo(sys.argv[1], "--compact" in sys.argv)
