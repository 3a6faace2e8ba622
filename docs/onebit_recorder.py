"""Records gradients of any framework for `onebit replay`. Needs h5py and numpy; copy the file freely.

    from onebit_recorder import Recorder

    with Recorder("trace.h5", x0={"weight": w, "bias": b}, workers=4) as recorder:
        for batches in data:
            recorder.step([gradients_of(batch) for batch in batches])   # one dictionary or flat vector per worker

Each step is written immediately. A trace may be larger than memory, and an interrupted one holds all steps so far.
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
        self.file = h5py.File(path, "x")
        self.file["x0"], self.file["tensor_sizes"] = x0, np.array(tensor_sizes, dtype="int64")
        if self.shapes:
            self.file["tensor_shapes"] = np.array([self._matrix(s) for s in self.shapes.values()], dtype="int64")
        self.gradients = self.file.create_dataset("gradients", (0, workers, x0.size), "float32",
                                                  maxshape=(None, workers, x0.size), chunks=(1, 1, min(x0.size, 1 << 20)))

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

    def step(self, gradients):
        """Appends one step: the gradient of each worker, in the form of x0."""
        rows = [self._flat(gradient) for gradient in gradients]
        steps, workers, parameters = self.gradients.shape
        if len(rows) != workers or any(row.size != parameters for row in rows):
            raise ValueError(f"{[row.size for row in rows]} numbers by worker, expected {workers} times {parameters}")
        self.gradients.resize(steps + 1, axis=0)
        for worker, row in enumerate(rows):
            self.gradients[steps, worker] = row
        self.file.flush()

    def close(self):
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


if __name__ == "__main__":  # a small trace: noisy gradients of |x|^2 / 2
    import sys

    random = np.random.default_rng(1)
    x = {"weight": random.normal(size=(8, 4)), "bias": random.normal(size=4)}
    with Recorder(sys.argv[1], x, workers=4) as recorder:
        for _ in range(50):
            recorder.step([{name: value + random.normal(size=value.shape) for name, value in x.items()} for _ in range(4)])
