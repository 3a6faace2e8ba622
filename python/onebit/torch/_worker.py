"""A worker of the library whose ranks are the processes of torch.distributed, and whose tensors are a module's."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from onebit._program import OnebitError
from onebit.torch import _library
from onebit.torch._library import Array, Report


def _bytes_at(address: Any, count: int) -> Tensor:
    """A tensor of the bytes at an address."""
    if count == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer((ctypes.c_uint8 * count).from_address(address), dtype=torch.uint8)


def _named_parameters(module: torch.nn.Module) -> Dict[str, Tensor]:
    """The trained parameters, in the module's order, by the names that they have without DistributedDataParallel."""
    if isinstance(module, DistributedDataParallel):
        module = module.module
    named = {name: p for name, p in module.named_parameters() if p.requires_grad}
    for name, p in named.items():
        if p.device.type != "cpu":
            raise OnebitError("the codecs take tensors on a CPU only", f"{name} is on {p.device}",
                              "move the module to the CPU; no GPU has run this code yet")
        if p.dtype != torch.float32:
            raise OnebitError("the codecs take float32 only", f"{name} is {p.dtype}", "call module.float()")
    if not named:
        raise OnebitError("the module has no parameters that are trained")
    return named


def _described(name: str, parameter: Tensor) -> Tuple[str, int, int]:
    """Name, elements and rows: a tensor of two or more dimensions is a matrix, any other a vector."""
    return name, parameter.numel(), parameter.shape[0] if parameter.dim() > 1 and parameter.numel() > 0 else 1


class Worker:
    """What the hook and the optimizer share: flat vectors of the module's size, the library's worker, its state."""

    def __init__(self, kind: str, module: torch.nn.Module, options: Mapping[str, Any],
                 group: Optional[Any], threads: Optional[int], steps: int = 0, warmup: int = 0) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise OnebitError("there are no processes to exchange with", "torch.distributed",
                              "call torch.distributed.init_process_group('gloo') first")
        if dist.get_backend(group) != "gloo":
            raise OnebitError("the codecs exchange over gloo only", f"the backend is {dist.get_backend(group)}",
                              "pass group=torch.distributed.new_group(backend='gloo')")
        self.group, self.rank, self.size = group, dist.get_rank(group), dist.get_world_size(group)
        self.named = _named_parameters(module)
        self.step, self.sent_bytes, self.report = 0, 0, Report(0, 0, 0, "", [])
        self._facts = {"kind": kind, "rank": self.rank, "size": self.size,
                       "options": {name: value for name, value in options.items() if value is not None},
                       "tensors": [_described(name, p) for name, p in self.named.items()]}
        self._threads = torch.get_num_threads() if threads is None else threads
        self._steps, self._warmup = steps, warmup
        self._library = self._make()

    def _make(self) -> _library.Worker:
        return _library.Worker(self._facts["kind"], self.rank, self.size, self._exchange, self._facts["tensors"],
                               self._facts["options"], self._threads, self._steps, self._warmup)

    def _exchange(self, kind: int, send: Any, send_bytes: List[int], receive: Any, receive_bytes: List[int]) -> None:
        dist.all_to_all_single(_bytes_at(receive, sum(receive_bytes)), _bytes_at(send, sum(send_bytes)), receive_bytes,
                               send_bytes, group=self.group)
        if kind == _library.PAYLOAD:
            self.sent_bytes += sum(send_bytes)

    def flat(self) -> Tuple[Array, List[Tensor]]:
        """A vector of all parameters, and its parts in the parameters' shapes."""
        vector = np.zeros(sum(p.numel() for p in self.named.values()), np.float32)
        parts = torch.from_numpy(vector).split([p.numel() for p in self.named.values()])
        return vector, [part.view(p.shape) for part, p in zip(parts, self.named.values())]

    def mean(self, vector: Array, mean: Array) -> None:
        self._begin()
        self._library.mean(self.step, vector, mean)
        self.report = self._library.report()

    def update(self, lr: float, gradient: Array, parameters: Array) -> None:
        self._begin()
        self._library.step(self.step, lr, gradient, parameters)
        self.report = self._library.report()

    def _begin(self) -> None:
        self.step += 1
        self.sent_bytes = 0

    def state_dict(self) -> Dict[str, Any]:
        items = {name: values.view(np.int16) if values.dtype == np.uint16 else values  # torch has no uint16
                 for name, values in self._library.save().items()}
        tensors = {name: torch.from_numpy(values) for name, values in items.items()}
        return {**self._facts, "step": self.step, "items": tensors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        _require_same(self._facts, state)
        self._library = self._make()
        items = {name: item.numpy() for name, item in state["items"].items()}
        self._library.load({name: values.view(np.uint16) if values.dtype == np.int16 else values
                            for name, values in items.items()})
        self.step = state["step"]


def _require_same(own: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    """Refuses a state that belongs to another rank, module or configuration."""
    for name in own:
        if name not in saved:
            raise OnebitError("this is no state of the codecs", f"'{name}' is missing",
                              "load what state_dict() returned")
        if own[name] != saved[name]:
            raise OnebitError("the state does not fit", f"{name}: saved {saved[name]}, now {own[name]}",
                              "every rank loads what it saved, with the same module and options")

