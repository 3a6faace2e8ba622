"""Connects your own model to onebit (--model external). Needs only numpy.

    import onebit.worker

    class Model:
        def __init__(self, data): ...               # data.features, data.classes, data.context and so on
            self.tensors = {"weight": (784, 10), "bias": (10,)}
        def initialize(self, seed): ...             # returns {name: array}; leave it out to start from --model.init FILE
        def gradients(self, weights, batch): ...    # returns loss and {name: array}, both means over one worker's batch
        def evaluate(self, weights, batch): ...     # returns sum of losses, correct examples, examples

    onebit.worker.serve(Model)

`onebit.torch.serve` and `onebit.jax.serve` make such a model from a module or a function.
"""
from __future__ import annotations

import mmap
import os
import sys
import traceback
from dataclasses import dataclass, fields
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Protocol, Tuple, Union

import numpy as np
import numpy.typing as npt

VERSION = "1"
REQUESTS = ("hello", "memory", "initialize", "gradients", "evaluate")

Arrays = Dict[str, npt.NDArray[np.float32]]
Tensors = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True)
class Data:
    """What is known about the run and its data before the first step. Numbers are 0 for what the data do not have."""

    workers: int = 0
    data: str = "none"  # name of the source
    features: int = 0  # numbers per example
    channels: int = 0  # size of an image, whose features are in the order channels, height, width
    height: int = 0
    width: int = 0
    context: int = 0  # tokens per example
    vocabulary: int = 0
    targets: int = 0  # labels per example
    classes: int = 0


@dataclass(frozen=True)
class Batch:
    """The examples of one worker. Arrays are views of the memory shared with onebit; None: the data have none."""

    size: int
    features: Optional[npt.NDArray[np.float32]]  # [size, features]
    tokens: Optional[npt.NDArray[np.int32]]  # [size, context]
    labels: Optional[npt.NDArray[np.int32]]  # [size, targets]
    worker: int = 0  # the keys of random numbers: worker, step, seed and draw
    step: int = 0
    seed: int = 0
    draw: int = 0
    again: bool = False  # an additional pass of the step, at other weights or with other examples
    training: bool = False  # for gradients; otherwise for an evaluation


class Model(Protocol):
    """A model may also have `initialize(seed)`, which returns the initial weights by name."""

    @property
    def tensors(self) -> Mapping[str, Tuple[int, ...]]:
        """Shapes by name, in the order of the parameter vector."""
        ...

    def gradients(self, weights: Arrays, batch: Batch) -> Tuple[float, Tensors]:
        """Returns the mean loss of one worker's batch and its gradient by name."""
        ...

    def evaluate(self, weights: Arrays, batch: Batch) -> Tuple[float, int, int]:
        """Returns the sum of the losses, the number of correct examples, and the number of examples."""
        ...


def _number(text: str) -> Union[int, str]:
    return int(text) if text.lstrip("-").isdigit() else text


def _words(line: str) -> Tuple[str, Dict[str, Any]]:
    """Splits a request into its name and its key=value words."""
    name, *words = line.split()
    return name, {key: _number(value) for key, value in (word.split("=", 1) for word in words)}


class _Worker:
    """Answers requests. Arrays are views of the memory shared with onebit."""

    def __init__(self, make_model: Callable[[Data], Model]) -> None:
        self.make_model = make_model

    def hello(self, version: int, **facts: Any) -> str:
        known = {field.name for field in fields(Data)}
        self.data = Data(**{name: value for name, value in facts.items() if name in known})
        self.model = self.make_model(self.data)
        for name in self.model.tensors:
            if len(name.split()) != 1:
                raise ValueError(f"the tensor name {name!r} is empty or contains a blank")
        self.sizes = {name: int(np.prod(shape)) for name, shape in self.model.tensors.items()}
        self.parameters = sum(self.sizes.values())
        lines = [f"hello version={VERSION} initial={'yes' if hasattr(self.model, 'initialize') else 'no'}"]
        lines += [" ".join(map(str, ("tensor", name, *shape))) for name, shape in self.model.tensors.items()]
        return "\n".join([*lines, "ready"])

    def memory(self, path: str, bytes: int, **later: Any) -> str:
        descriptor = os.open(path, os.O_RDWR)
        self.shared = mmap.mmap(descriptor, bytes)
        os.close(descriptor)
        self.last: Tuple[int, Arrays] = (-1, {})  # offset of a row of weights, and its tensors
        return "ok"

    def initialize(self, seed: int, weights: int, **later: Any) -> str:
        initial: Callable[[int], Tensors] = getattr(self.model, "initialize")
        self._write(initial(seed), self._array(weights, np.float32, self.parameters))
        return "ok"

    def gradients(self, first: int, workers: int, gradients: int, losses: int, **request: Any) -> str:
        rows = self._array(gradients, np.float32, workers, self.parameters)
        means = self._array(losses, np.float64, workers)
        for worker, (weights, batch) in enumerate(self._batches(True, workers=workers, first=first, **request)):
            means[worker], tensors = self.model.gradients(weights, batch)
            self._write(tensors, rows[worker])
        return "ok"

    def evaluate(self, **request: Any) -> str:
        (weights, batch), = self._batches(False, **request)
        loss, correct, examples = self.model.evaluate(weights, batch)
        return f"ok loss={float(loss)!r} correct={int(correct)} examples={int(examples)}"

    def _array(self, offset: int, dtype: Any, *shape: int) -> Any:
        return np.ndarray(shape, dtype, self.shared, offset)

    def _tensors(self, offset: int) -> Arrays:
        """The named tensors of a row of weights, read-only. The same offset gives the same object."""
        if self.last[0] != offset:
            row = self._array(offset, np.float32, self.parameters)
            row.flags.writeable = False
            ends = np.cumsum(list(self.sizes.values()))
            self.last = offset, {name: row[end - size:end].reshape(self.model.tensors[name])
                                 for (name, size), end in zip(self.sizes.items(), ends)}
        return self.last[1]

    def _write(self, tensors: Tensors, row: npt.NDArray[np.float32]) -> None:
        if set(tensors) != set(self.sizes):
            raise ValueError(f"tensors {sorted(tensors)}, expected {sorted(self.sizes)}")
        at = 0
        for name, size in self.sizes.items():
            values, shape = np.asarray(tensors[name]), tuple(self.model.tensors[name])
            if values.shape != shape:
                raise ValueError(f"{name} has the shape {values.shape}, expected {shape}")
            row[at:at + size].reshape(shape)[...] = values
            at += size

    def _batches(self, training: bool, workers: int, batch: int, rows: int, weights: int, first: int = 0,
                 features: Optional[int] = None, tokens: Optional[int] = None, labels: Optional[int] = None,
                 step: int = 0, seed: int = 0, draw: int = 0, again: str = "no",
                 **later: Any) -> Iterator[Tuple[Arrays, Batch]]:
        """Yields the weights and the examples of each worker."""
        def examples(offset: Optional[int], dtype: Any, width: int) -> Any:
            return [None] * workers if offset is None else self._array(offset, dtype, workers, batch, width)
        x = examples(features, np.float32, self.data.features)
        ids = examples(tokens, np.int32, self.data.context)
        y = examples(labels, np.int32, self.data.targets)
        for worker in range(workers):
            own = Batch(size=batch, features=x[worker], tokens=ids[worker], labels=y[worker], worker=first + worker,
                        step=step, seed=seed, draw=draw, again=again == "yes", training=training)
            row = weights + (worker if rows > 1 else 0) * self.parameters * np.dtype(np.float32).itemsize
            yield self._tensors(row), own


def serve(make_model: Callable[[Data], Model]) -> None:
    """Answers onebit's requests until onebit closes the input. make_model(data) returns the model."""
    if sys.stdin.isatty():
        sys.exit("this program answers the requests of onebit: give its command to onebit run --model external "
                 f"--model.command 'python3 {sys.argv[0]}'")
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
