"""Connects a model of your own to onebit (--model external). Needs numpy; copy the file freely.

    import onebit_worker

    class Model:
        def __init__(self, data): ...               # data.features, data.classes, data.context and so on
            self.tensors = {"weight": (784, 10), "bias": (10,)}
        def initialize(self, seed): ...             # returns {name: array}; leave it out to start from --model.init FILE
        def gradients(self, weights, batch): ...    # returns loss and {name: array}, both means over one worker's batch
        def evaluate(self, weights, batch): ...     # returns sum of losses, correct examples, examples

    onebit_worker.serve(Model)
"""
import mmap
import os
import sys
import traceback
from types import SimpleNamespace

import numpy as np

VERSION = "1"
REQUESTS = ("hello", "memory", "initialize", "gradients", "evaluate")


def _number(text):
    return int(text) if text.lstrip("-").isdigit() else text


def _words(line):
    """Splits a request into its name and its key=value words."""
    name, *words = line.split()
    return name, {key: _number(value) for key, value in (word.split("=", 1) for word in words)}


class _Worker:
    """Answers requests. Arrays are views of the memory shared with onebit."""

    def __init__(self, make_model):
        self.make_model, self.shared = make_model, None

    def hello(self, version, **facts):
        self.data = SimpleNamespace(**facts)
        self.model = self.make_model(self.data)
        self.sizes = {name: int(np.prod(shape)) for name, shape in self.model.tensors.items()}
        self.parameters = sum(self.sizes.values())
        lines = [f"hello version={VERSION} initial={'yes' if hasattr(self.model, 'initialize') else 'no'}"]
        lines += [" ".join(map(str, ("tensor", name, *shape))) for name, shape in self.model.tensors.items()]
        return "\n".join([*lines, "ready"])

    def memory(self, path, bytes, **later):
        descriptor = os.open(path, os.O_RDWR)
        self.shared = mmap.mmap(descriptor, bytes)
        os.close(descriptor)
        return "ok"

    def initialize(self, seed, weights, **later):
        self._write(self.model.initialize(seed), self._array(weights, np.float32, 1, self.parameters)[0])
        return "ok"

    def gradients(self, first, workers, gradients, losses, **request):
        rows = self._array(gradients, np.float32, workers, self.parameters)
        means = self._array(losses, np.float64, workers)
        for worker, (weights, batch) in enumerate(self._batches(workers=workers, first=first, **request)):
            means[worker], tensors = self.model.gradients(weights, batch)
            self._write(tensors, rows[worker])
        return "ok"

    def evaluate(self, **request):
        (weights, batch), = self._batches(**request)
        loss, correct, examples = self.model.evaluate(weights, batch)
        return f"ok loss={float(loss)!r} correct={int(correct)} examples={int(examples)}"

    def _array(self, offset, dtype, *shape):
        return np.ndarray(shape, dtype, self.shared, offset)

    def _tensors(self, row):
        """The named tensors of a row of weights, read-only."""
        row.flags.writeable = False
        ends = np.cumsum(list(self.sizes.values()))
        return {name: row[end - size:end].reshape(self.model.tensors[name])
                for (name, size), end in zip(self.sizes.items(), ends)}

    def _write(self, tensors, row):
        if set(tensors) != set(self.sizes):
            raise ValueError(f"tensors {sorted(tensors)}, expected {sorted(self.sizes)}")
        at = 0
        for name, size in self.sizes.items():
            values = np.asarray(tensors[name])
            if values.shape != tuple(self.model.tensors[name]):
                raise ValueError(f"{name} has the shape {values.shape}, expected {tuple(self.model.tensors[name])}")
            row[at:at + size] = values.ravel()
            at += size

    def _batches(self, workers, batch, rows, weights, first=0, features=None, tokens=None, labels=None, step=0, seed=0,
                 draw=0, again="no", **later):
        """Yields the weights and the examples of each worker."""
        def examples(offset, dtype, width):
            return None if offset is None else self._array(offset, dtype, workers, batch, width)
        x = examples(features, np.float32, self.data.features)
        ids = examples(tokens, np.int32, self.data.context)
        y = examples(labels, np.int32, self.data.targets)
        matrix = self._array(weights, np.float32, rows, self.parameters)
        for worker in range(workers):
            own = SimpleNamespace(size=batch, worker=first + worker, step=step, seed=seed, draw=draw, again=again == "yes",
                                  features=None if x is None else x[worker], tokens=None if ids is None else ids[worker],
                                  labels=None if y is None else y[worker])
            yield self._tensors(matrix[worker if rows > 1 else 0]), own


def serve(make_model):
    """Answers onebit's requests until it closes the input. make_model(data) returns the model."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the model prints must not mix with the answers
    worker = _Worker(make_model)
    for line in sys.stdin:
        name, values = _words(line)
        try:
            if name not in REQUESTS:
                raise ValueError(f"unknown request {name}")
            answer = getattr(worker, name)(**values)
        except Exception as error:
            traceback.print_exc()
            answer = " ".join(f"error {type(error).__name__}: {error}".split())
        answers.write(answer + "\n")
        answers.flush()
