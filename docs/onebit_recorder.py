"""Records gradients of any framework for `onebit replay`. Needs h5py and numpy; copy the file freely.

    from onebit_recorder import Recorder

    with Recorder("trace.h5", x0={"weight": w, "bias": b}, workers=4) as recorder:
        for batches in data:
            recorder.step([gradients_of(batch) for batch in batches])   # one dictionary or flat vector per worker

Each step is written immediately. A trace may be larger than memory, and an interrupted one holds all steps so far.

CompactRecorder has the same arguments. It keeps no gradients, only norms and statistics of their signs: a few numbers
per tensor and step, which tell when the variance may be frozen.
"""
import h5py
import numpy as np


class Recorder:
    def __init__(self, path, x0, workers, tensor_sizes=None):
        """x0: parameters before the first step, as {name: array} or a flat vector. A vector of several tensors needs
        tensor_sizes."""
        self.shapes = {name: np.shape(x) for name, x in x0.items()} if isinstance(x0, dict) else None
        if tensor_sizes is None:
            tensor_sizes = [np.size(x) for x in x0.values()] if self.shapes else [np.size(x0)]
        x0 = self._flat(x0)
        if sum(tensor_sizes) != x0.size:
            raise ValueError(f"tensor_sizes sum to {sum(tensor_sizes)}, x0 has {x0.size} parameters")
        self.workers, self.parameters, self.steps = workers, x0.size, 0
        self.tensor_sizes = np.array(tensor_sizes, dtype="int64")
        self.file = h5py.File(path, "x")
        self.file["tensor_sizes"] = self.tensor_sizes
        self._create(x0)

    def _create(self, x0):
        self.file["x0"] = x0
        if self.shapes:
            self.file["tensor_shapes"] = np.array([self._matrix(s) for s in self.shapes.values()], dtype="int64")
        self.gradients = self._dataset("gradients", "float32", (self.workers, x0.size), (1, 1, min(x0.size, 1 << 20)))

    def _dataset(self, name, kind, shape, chunks):
        return self.file.create_dataset(name, (0, *shape), kind, maxshape=(None, *shape), chunks=chunks)

    @staticmethod
    def _matrix(shape):
        """Rows and columns: the first dimension and all others; 0 columns for a vector."""
        size = int(np.prod(shape))
        return [shape[0], size // shape[0]] if len(shape) > 1 and size else [size, 0]

    def _flat(self, values):
        if isinstance(values, dict):
            shapes = {name: np.shape(value) for name, value in values.items()}
            if shapes != self.shapes:
                raise ValueError(f"tensors {shapes}, those of x0 are {self.shapes}")
            values = np.concatenate([np.ravel(values[name]) for name in self.shapes])
        return np.ravel(values).astype("float32")

    def step(self, gradients, losses=None):
        """Appends one step: the gradient of each worker, in the form of x0, and the loss of each worker. Give losses in
        all steps, or in none."""
        rows = [self._flat(gradient) for gradient in gradients]
        if len(rows) != self.workers or any(row.size != self.parameters for row in rows):
            raise ValueError(
                f"{[row.size for row in rows]} numbers by worker, expected {self.workers} times {self.parameters}")
        if losses is not None and len(losses) != self.workers:
            raise ValueError(f"{len(losses)} losses, expected {self.workers}")
        if self.steps > 0 and (losses is None) == ("losses" in self.file):
            raise ValueError("losses in some steps only")
        if losses is not None and self.steps == 0:
            self._dataset("losses", "float64", (self.workers,), (1024, self.workers))
        self._write(rows)
        if losses is not None:
            self._append(self.file["losses"], losses)
        self.steps += 1
        self.file.flush()

    def _append(self, dataset, values):
        dataset.resize(self.steps + 1, axis=0)
        dataset[self.steps] = values

    def _write(self, rows):
        self.gradients.resize(self.steps + 1, axis=0)
        for worker, row in enumerate(rows):
            self.gradients[self.steps, worker] = row

    def close(self):
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class CompactRecorder(Recorder):
    def _create(self, x0):
        names, shape = ("gradient_squares", "gradient_l1", "sign_changes"), (len(self.tensor_sizes),)
        self.numbers = {name: self._dataset(name, "float64", shape, (64, *shape)) for name in names}
        self.negative = None  # the signs of the last step

    def _write(self, rows):
        mean = np.mean(rows, axis=0, dtype="float64")
        negative = np.signbit(mean)
        changed = np.full(mean.shape, np.nan) if self.negative is None else negative != self.negative
        self._append(self.numbers["gradient_squares"], self._sums(mean * mean))
        self._append(self.numbers["gradient_l1"], self._sums(np.abs(mean)))
        self._append(self.numbers["sign_changes"], self._sums(changed) / np.maximum(self.tensor_sizes, 1))
        self.negative = negative

    def _sums(self, values):
        ends = np.cumsum(self.tensor_sizes)
        return np.array([np.sum(values[end - size:end]) for size, end in zip(self.tensor_sizes, ends)], dtype="float64")


if __name__ == "__main__":  # a small trace: noisy gradients of |x|^2 / 2
    import sys

    recorder_class = CompactRecorder if "--compact" in sys.argv else Recorder
    random = np.random.default_rng(1)
    x = {"weight": random.normal(size=(8, 4)), "bias": random.normal(size=4)}
    loss = sum(np.sum(value ** 2) for value in x.values()) / 2
    with recorder_class(sys.argv[1], x, workers=4) as recorder:
        for _ in range(50):
            recorder.step([{name: value + random.normal(size=value.shape) for name, value in x.items()} for _ in range(4)],
                          losses=[loss] * 4)
