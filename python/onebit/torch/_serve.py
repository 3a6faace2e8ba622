"""Serves a torch module as a model of onebit."""
from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

import numpy as np
import torch
from torch import Tensor

from onebit import worker
from onebit.worker import Arrays, Batch, Data

Module = Union[torch.nn.Module, Callable[..., torch.nn.Module]]
Loss = Union[str, Callable[[Any, Any], Tensor]]
Examples = Callable[[Batch], Tuple[Any, Any]]

# Losses of torch.nn.functional whose labels are classes. The labels of all others are numbers.
_OF_CLASSES = ("cross_entropy", "nll_loss", "multi_margin_loss")
# Losses of two classes, and the output above which the class is 1.
_THRESHOLDS = {"binary_cross_entropy_with_logits": 0.0, "binary_cross_entropy": 0.5}


class ForwardError(RuntimeError):
    """The module or the loss failed."""


def _make(module: Module, data: Data, seed: int) -> torch.nn.Module:
    """Returns the module itself, or the one that a function or class makes after torch.manual_seed(seed)."""
    if isinstance(module, torch.nn.Module):
        return module
    if not callable(module):
        raise TypeError(f"the module has the type {type(module).__name__}: expected a torch.nn.Module, or a function "
                        "or class that makes one")
    required = [name for name, parameter in inspect.signature(module).parameters.items()
                if parameter.default is parameter.empty
                and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    if len(required) > 1:
        raise TypeError(f"making the module needs {', '.join(required)}: give lambda data: Net(data.features, ...)")
    torch.manual_seed(seed)
    made = module(data) if required else module()
    if not isinstance(made, torch.nn.Module):
        raise TypeError(f"the function that makes the module returned a {type(made).__name__}, not a torch.nn.Module")
    return made


def _trained(module: torch.nn.Module) -> Dict[str, torch.nn.Parameter]:
    """Returns the parameters that are trained. Refuses modules that cannot be served."""
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    if not parameters:
        raise ValueError("the module has no parameter to train: none has requires_grad")
    owners: Dict[int, str] = {}
    for name, p in parameters.items():
        if p.dtype != torch.float32:
            raise TypeError(f"{name} has the type {p.dtype}: workers train float32 weights, use module.float()")
        if p.device.type != "cpu":
            raise TypeError(f"{name} is on {p.device}: serve computes on the CPU, use module.cpu()")
        if p.data_ptr() in owners:
            raise ValueError(f"{name} shares the memory of {owners[p.data_ptr()]}: share the parameter itself")
        owners[p.data_ptr()] = name
    for name, layer in module.named_modules():
        if getattr(layer, "track_running_stats", False):
            raise ValueError(f"{type(layer).__name__} {name or 'itself'} keeps running statistics, which workers "
                             "cannot keep: use GroupNorm, or track_running_stats=False")
    return parameters


def _examples(data: Data) -> Examples:
    """Returns a function from a batch to the module's inputs and the labels."""
    if data.data == "none":
        raise ValueError("there are no data: give --data, or serve(..., examples=) to make your own")

    def examples(batch: Batch) -> Tuple[Any, Any]:
        inputs: List[Tensor] = []
        if batch.features is not None:
            features = torch.from_numpy(batch.features)
            image = (data.channels, data.height, data.width)
            inputs.append(features.view(batch.size, *image) if data.channels else features)
        if batch.tokens is not None:
            inputs.append(torch.from_numpy(batch.tokens).long())
        labels = None if batch.labels is None else torch.from_numpy(batch.labels).long()
        return tuple(inputs), labels[:, 0] if labels is not None and data.targets == 1 else labels

    return examples


def _loss(loss: Loss) -> Callable[[Any, Any], Tensor]:
    if callable(loss):
        return loss
    if not hasattr(torch.nn.functional, loss):
        raise ValueError(f"torch.nn.functional has no loss {loss}: give one of its names, such as cross_entropy")
    named: Callable[[Any, Any], Tensor] = getattr(torch.nn.functional, loss)
    if loss in _OF_CLASSES:
        return named
    return lambda outputs, labels: named(outputs, labels.to(outputs.dtype).view_as(outputs))


def _shape(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_shape, value))
    return f"{str(value.dtype)[6:]}{list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def _key(batch: Batch) -> int:
    """The seed of torch's random numbers for a batch."""
    numbers = f"{batch.seed} {batch.step} {batch.worker} {batch.draw}"
    return int.from_bytes(hashlib.blake2b(numbers.encode(), digest_size=4).digest(), "little")


class _Served:
    """The model that answers onebit's requests."""

    def __init__(self, data: Data, module: Module, loss: Loss, examples: Optional[Examples]) -> None:
        self.data, self.source, self.loss = data, module, _loss(loss)
        self.threshold = _THRESHOLDS.get(loss) if isinstance(loss, str) else None
        self.examples = examples or _examples(data)
        self.module = _make(module, data, seed=0)
        self.parameters = _trained(self.module)
        self.tensors = {name: tuple(p.shape) for name, p in self.parameters.items()}
        self.own = {name: p.data for name, p in self.parameters.items()} if self.module is module else {}
        self.bound: Optional[Arrays] = None

    def initialize(self, seed: int) -> Dict[str, Any]:
        if self.own:
            return {name: weights.numpy() for name, weights in self.own.items()}
        made = _trained(_make(self.source, self.data, seed))
        return {name: p.detach().numpy() for name, p in made.items()}

    def gradients(self, weights: Arrays, batch: Batch) -> Tuple[float, Dict[str, Any]]:
        loss, _, _, _ = self._forward(weights, batch)
        if not loss.requires_grad:
            raise ValueError("the loss does not depend on any parameter that is trained")
        gradients = torch.autograd.grad(loss, list(self.parameters.values()), allow_unused=True)
        return loss.item(), {name: self._array(name, g) for name, g in zip(self.parameters, gradients)}

    def evaluate(self, weights: Arrays, batch: Batch) -> Tuple[float, int, int]:
        with torch.no_grad():
            loss, size, outputs, labels = self._forward(weights, batch)
        return loss.item() * size, self._correct(outputs, labels), size

    def _forward(self, weights: Arrays, batch: Batch) -> Tuple[Tensor, int, Any, Any]:
        """Returns the mean loss, the number of examples, the outputs and the labels."""
        self._bind(weights)
        if self.module.training != batch.training:
            self.module.train(batch.training)
        torch.default_generator.manual_seed(_key(batch))
        before = self._state()
        inputs, labels = self.examples(batch)
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        size = len(inputs[0]) if inputs else batch.size
        try:
            outputs = self.module(*inputs)
            loss = self.loss(outputs, labels)
        except Exception as error:
            given = f"inputs {_shape(inputs)}; labels {_shape(labels)}"
            raise ForwardError(f"{type(error).__name__}: {error} ({given})") from error
        none = (None, None, None)
        for (name, tensor, changes), (_, now, later) in itertools.zip_longest(before, self._state(), fillvalue=none):
            if tensor is not now or changes != later:
                raise ValueError(f"the module changes {name or 'its buffers'} in the forward pass, so a gradient would "
                                 "depend on earlier ones")
        return self._mean(loss, size), size, outputs, labels

    def _bind(self, weights: Arrays) -> None:
        """Makes the parameters use the memory shared with onebit."""
        if weights is not self.bound:
            for name, parameter in self.parameters.items():
                parameter.data = torch.from_numpy(weights[name])
            self.bound = weights

    def _state(self) -> List[Tuple[Optional[str], Optional[Tensor], Optional[int]]]:
        """What a forward pass must not change, with the number of changes so far."""
        tensors: Iterator[Tuple[str, Tensor]] = itertools.chain(self.parameters.items(), self.module.named_buffers())
        return [(name, tensor, tensor._version) for name, tensor in tensors]

    @staticmethod
    def _mean(loss: Any, size: int) -> Tensor:
        if not isinstance(loss, Tensor):
            raise TypeError(f"the loss has the type {type(loss).__name__}, expected a tensor")
        if loss.numel() == 1:
            return loss.view(())
        if loss.shape != (size,):
            raise ValueError(f"the loss is {_shape(loss)}, expected the mean over the batch, or {size} numbers")
        return loss.mean()

    def _correct(self, outputs: Any, labels: Any) -> int:
        """The number of correct examples; 0 if the outputs are not those of a classifier."""
        if not isinstance(outputs, Tensor) or not isinstance(labels, Tensor):
            return 0
        if self.threshold is not None:
            return int(((outputs > self.threshold) == labels.view_as(outputs)).sum())
        if outputs.ndim == 2 and outputs.shape[1] > 1 and labels.ndim == 1:
            return int((outputs.argmax(1) == labels).sum())
        return 0

    def _array(self, name: str, gradient: Optional[Tensor]) -> Any:
        """A gradient as an array; zeros if the loss does not depend on the parameter."""
        if gradient is None:
            return np.broadcast_to(np.float32(0), self.tensors[name])
        return (gradient.to_dense() if gradient.is_sparse else gradient).numpy()


def serve(module: Module, loss: Loss, *, examples: Optional[Examples] = None) -> None:
    """Lets onebit train a torch module: answers onebit's requests until onebit closes the input.

    module: a function of the `onebit.worker.Data` of the run, or a class, that makes the module. The initial weights of
        a seed are those of the module that is made after torch.manual_seed(seed). With every seed, buffers
        and parameters that are not trained keep the values of seed 0. An existing module starts from its own weights
        with every seed.
    loss: a function of the module's outputs and the labels, which returns the mean over the batch or one number per
        example; or the name of a loss in torch.nn.functional. Labels are int64 [size]. For a loss given by name, except
        cross_entropy, nll_loss and multi_margin_loss, they are numbers in the shape of the outputs.
    examples: a function of an `onebit.worker.Batch` that returns the module's inputs (a tuple of several) and the
        labels. Without it the inputs are float32 [size, features]; for images, float32 [size, channels, height, width];
        for text, int64 [size, context]; for data that have features and text, both.

    torch's random numbers are keyed by seed, step, worker and draw, so a run is reproducible for any --worker-group and
    --devices. Evaluations run in eval mode. torch uses one thread unless OMP_NUM_THREADS is set.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "The given NumPy array is not writable")
    worker.serve(lambda data: _Served(data, module, loss, examples))
