"""A worker of the library whose ranks are the processes of torch.distributed, and whose tensors are a module's."""
from __future__ import annotations

import ctypes
import hashlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from onebit._options import _text
from onebit._program import OnebitError
from onebit.torch import _library
from onebit.torch._library import Array, Report

_ENDLESS = 1 << 62  # steps of a run of unknown length


def _bytes_at(address: Any, count: int) -> Tensor:
    """A tensor of the bytes at an address."""
    if count == 0:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer((ctypes.c_uint8 * count).from_address(address), dtype=torch.uint8)


def _named_parameters(module: torch.nn.Module) -> Dict[str, Tensor]:
    """The trained parameters, in the module's order, by the names that they have without DistributedDataParallel."""
    if not isinstance(module, torch.nn.Module):
        raise OnebitError("the codecs take a module", f"got a {type(module).__name__}",
                          "pass the module itself, not its parameters")
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


def _first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> Optional[str]:
    """The name of the first fact that differs, if one does."""
    return next((name for name in {**one, **other} if one.get(name) != other.get(name)), None)


def _digest(named: Mapping[str, Tensor]) -> str:
    """A hash of all parameters."""
    digest = hashlib.sha256()
    for p in named.values():
        digest.update(p.detach().contiguous().numpy())
    return digest.hexdigest()[:16]


def _described(name: str, parameter: Tensor) -> Tuple[str, int, int]:
    """Name, elements and rows: a tensor of two or more dimensions is a matrix, any other a vector."""
    return name, parameter.numel(), parameter.shape[0] if parameter.dim() > 1 and parameter.numel() > 0 else 1


def _ranks(group: Any) -> List[int]:
    """The ranks of a group, as the default group counts them."""
    return sorted(dist.get_global_rank(group, rank) for rank in range(dist.get_world_size(group)))


def _group_of(module: torch.nn.Module, group: Optional[Any]) -> Any:
    """The process group to exchange in: the given one, by default that of the DistributedDataParallel."""
    if not dist.is_available() or not dist.is_initialized():
        raise OnebitError("there are no processes to exchange with", "torch.distributed",
                          "call torch.distributed.init_process_group('gloo') first")
    own = module.process_group if isinstance(module, DistributedDataParallel) else dist.group.WORLD
    chosen = own if group is None else group
    if dist.get_rank(chosen) < 0:
        raise OnebitError("this process is not in the process group", f"rank {dist.get_rank()}",
                          "pass a group that contains it")
    if dist.get_backend(chosen) != "gloo":
        raise OnebitError("the codecs exchange over gloo only", f"the backend is {dist.get_backend(chosen)}",
                          "pass group=torch.distributed.new_group(backend='gloo')")
    if isinstance(module, DistributedDataParallel) and _ranks(chosen) != _ranks(own):
        raise OnebitError("the group has other ranks than the module's process_group",
                          f"{_ranks(chosen)}, the module has {_ranks(own)}",
                          "pass a group of gloo with the module's ranks")
    return chosen


class Worker:
    """What the hook and the optimizer share: flat vectors of the module's size, the library's worker, and its state."""

    def __init__(self, kind: str, module: torch.nn.Module, options: Mapping[str, Any], group: Optional[Any],
                 threads: Optional[int], steps: Optional[int] = None, warmup: int = 0) -> None:
        self.group = _group_of(module, group)
        self.rank, self.size = dist.get_rank(self.group), dist.get_world_size(self.group)
        self.named = _named_parameters(module)
        self.step, self.sent_bytes, self.report = 0, 0, Report(0, 0, 0, "", [])
        self._kind, self._steps, self._warmup = kind, steps, warmup
        self._options = {name: _text(value) for name, value in options.items() if value is not None}
        self._tensors = [_described(name, p) for name, p in self.named.items()]
        self._threads = torch.get_num_threads() if threads is None else threads
        self._facts = {"kind": kind, "ranks": self.size, "steps": steps, "warmup": warmup,
                       **{f"option {name}": text for name, text in self._options.items()},
                       **{f"tensor {i}": f"{name}, {elements} elements, {rows} rows"
                          for i, (name, elements, rows) in enumerate(self._tensors)}}
        compared = [self._facts]
        if kind == "optimizer":
            compared.append({"the parameters' hash": _digest(self.named)})
        for facts in compared:
            difference = self._difference_of_ranks(facts)
            if difference is not None:
                raise difference
        self._library = self._make()

    def _make(self) -> _library.Worker:
        return _library.Worker(self._kind, self.rank, self.size, self._exchange, self._tensors, self._options,
                               self._threads, _ENDLESS if self._steps is None else self._steps, self._warmup)

    def _difference_of_ranks(self, own: Mapping[str, Any]) -> Optional[OnebitError]:
        """Returns an error if the ranks have different facts, the same one on every rank. Collective."""
        of_ranks: List[Any] = [None] * self.size
        dist.all_gather_object(of_ranks, own, group=self.group)
        for rank, facts in enumerate(of_ranks):
            name = _first_difference(of_ranks[0], facts)
            if name is not None:
                return OnebitError("the ranks differ",
                                   f"{name}: {of_ranks[0].get(name)} on rank 0, {facts.get(name)} on rank {rank}",
                                   "give every rank the same module, options, step and parameters")
        return None

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
        return {"facts": {"rank": self.rank, **self._facts}, "step": self.step, "items": tensors}

    def load_state_dict(self, state: Mapping[str, Any], first: Callable[[], None] = lambda: None) -> None:
        """Loads on all ranks, or changes nothing and raises an error on all ranks. Collective. first: work that
        must also succeed on all ranks."""
        library = self._make()
        failure: Optional[Exception] = None
        try:
            first()
            self._load(library, state)
        except Exception as error:  # the other ranks wait for this one
            failure = error
        difference = self._difference_of_ranks({"state": "loaded", "step": state["step"]} if failure is None else
                                               {"state": "refused"})
        if failure is not None:
            raise failure
        if difference is not None:
            raise difference
        self._library, self.step = library, state["step"]

    def _load(self, library: _library.Worker, state: Mapping[str, Any]) -> None:
        for name in ("facts", "step", "items"):
            if name not in state:
                raise OnebitError("not a state of the codecs", f"'{name}' is missing",
                                  "load what state_dict() returned")
        own, saved = {"rank": self.rank, **self._facts}, state["facts"]
        differs = _first_difference(own, saved)
        if differs is not None:
            raise OnebitError("the state does not fit",
                              f"{differs}: saved {saved.get(differs)}, now {own.get(differs)}",
                              "every rank loads what it saved, with the same module and options")
        items = {name: item.numpy() for name, item in state["items"].items()}
        library.load({name: values.view(np.uint16) if values.dtype == np.int16 else values
                      for name, values in items.items()})


class Reporting:
    """The properties of an object that owns a worker and sends through it."""

    _worker: Worker

    @property
    def report(self) -> Report:
        """What this rank sent in the last step, counted as in a log's columns; the step's phase; and its events."""
        return self._worker.report

    @property
    def sent_bytes(self) -> int:
        """Bytes of payloads that this rank handed to torch.distributed in the last step, for other ranks."""
        return self._worker.sent_bytes
