"""Records the gradients of a torch module for `onebit replay`."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterable, List, Optional, Union, overload

import numpy as np
import torch
import torch.distributed
from torch import Tensor
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from onebit.recorder import CompactRecorder, Recorder

dist: Any = torch.distributed  # its functions have no types
Path = Union[str, "os.PathLike[str]"]
Hook = Callable[[Any, Any], Any]


def _array(tensor: Tensor) -> Any:
    return (tensor.to_dense() if tensor.is_sparse else tensor).detach().float().cpu().numpy()


class _Recording:
    """What both kinds of recordings share: the trained parameters, the recorder, and the end of a `with` block."""

    recorder: Optional[Recorder]  # None on ranks that do not write

    def __init__(self, module: torch.nn.Module) -> None:
        self.parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not self.parameters:
            raise ValueError("the module has no parameter to train: none has requires_grad")

    def _open(self, path: Path, workers: int, compact: bool) -> Recorder:
        x0 = {name: _array(p) for name, p in self.parameters.items()}
        return (CompactRecorder if compact else Recorder)(path, x0, workers)

    def close(self) -> None:
        """Ends the trace."""
        if self.recorder is not None:
            self.recorder.close()
            self.recorder = None

    def __exit__(self, *_: object) -> None:
        self.close()


class LoopRecording(_Recording):
    """Records a loop of one process, in which each worker's loss is computed in turn."""

    def __init__(self, path: Path, module: torch.nn.Module, workers: int, compact: bool) -> None:
        super().__init__(module)
        self.recorder = self._open(path, workers, compact)

    def __enter__(self) -> LoopRecording:
        return self

    def backward(self, losses: Iterable[Tensor]) -> None:
        """Takes the place of loss.backward(): computes and records the gradient of each worker's mean loss, and sets
        the parameters' grad to the mean over the workers. If losses is a generator, only one graph is in memory at
        a time."""
        if self.recorder is None:
            raise ValueError("the trace is closed")
        sums: Dict[str, Optional[Tensor]] = dict.fromkeys(self.parameters)
        gradients: List[Dict[str, Any]] = []
        values: List[float] = []
        for loss in losses:
            own = torch.autograd.grad(loss, list(self.parameters.values()), allow_unused=True)
            gradients.append({name: np.zeros(p.shape, np.float32) if g is None else _array(g)
                              for (name, p), g in zip(self.parameters.items(), own)})
            values.append(loss.item())
            for name, g in zip(self.parameters, own):
                before = sums[name]
                sums[name] = before if g is None else g if before is None else before + g
        self.recorder.step(gradients, values)
        for name, p in self.parameters.items():
            total = sums[name]
            p.grad = None if total is None else total / len(values)


class DdpRecording(_Recording):
    """Records what each rank of DistributedDataParallel computes, in a hook before the gradients are averaged. Rank 0
    writes the trace."""

    def __init__(self, path: Path, module: DistributedDataParallel, compact: bool, hook: Optional[Hook],
                 state: Any) -> None:
        super().__init__(module.module)
        if dist.get_world_size(module.process_group) != dist.get_world_size():
            raise ValueError("the module is trained by some ranks only: record needs all ranks of the process group")
        # A group of its own: the exchanges of other hooks may run at any time, in an order that differs between ranks.
        self.group = dist.new_group(backend="gloo")
        self.compact, self.workers, self.writes = compact, dist.get_world_size(), dist.get_rank() == 0
        self.recorder = self._open_on_all(path)
        self.names = {p: name for name, p in self.parameters.items()}
        self.rows: List[Dict[str, Any]] = []  # the gradients so far in this step, by worker
        self.own_loss: Optional[float] = None  # of this rank in this step
        self.steps, self.has_losses = 0, False
        self.active = True
        inner: Hook = allreduce_hook if hook is None else hook

        # This function has no annotations: DistributedDataParallel refuses those that are strings.
        def collect(state, bucket):  # type: ignore[no-untyped-def]
            self._collect(bucket)
            return inner(state, bucket)

        ddp: Any = module
        ddp.register_comm_hook(module.process_group if hook is None else state, collect)

    def _open_on_all(self, path: Path) -> Optional[Recorder]:
        """Opens the trace on rank 0; all ranks raise an error if that fails."""
        recorder, failure = None, None
        try:
            recorder = self._open(path, 1 if self.compact else self.workers, self.compact) if self.writes else None
        except Exception as error:  # the other ranks wait for this one
            failure = error
        told = [None if failure is None else str(failure)]
        dist.broadcast_object_list(told, 0, group=self.group)
        if failure is not None:
            raise failure
        if told[0] is not None:
            raise RuntimeError(f"rank 0 cannot write the trace: {told[0]}")
        return recorder

    def __enter__(self) -> DdpRecording:
        return self

    def loss(self, value: Union[Tensor, float]) -> None:
        """Takes this rank's loss of the step that the next backward pass computes. Call it before each backward() on
        every rank, or never."""
        if not self.active:
            raise ValueError("the trace is closed")
        if self.own_loss is not None:
            raise ValueError("the loss of this step has already been given: give it once, before backward()")
        self.own_loss = float(value)

    def close(self) -> None:
        """Ends the trace. From now on the hook exchanges gradients but records nothing."""
        self.active = False
        super().close()

    def _collect(self, bucket: Any) -> None:
        """Brings the bucket's gradients of all ranks to rank 0, and writes a step once they are complete."""
        if not self.active:
            return
        rows = self._gather(bucket.buffer().detach().float().cpu())
        if self.writes:
            self._take(bucket, rows)
        if not bucket.is_last():
            return
        losses = self._losses()
        if self.recorder is not None:
            self.recorder.step(self.rows, losses)
        self.rows, self.own_loss = [], None
        self.steps += 1

    def _take(self, bucket: Any, rows: List[Tensor]) -> None:
        self.rows = self.rows or [{} for _ in rows]
        start = 0
        for p in bucket.parameters():
            # A bucket holds gradients in the memory format of their parameters.
            for gradients, row in zip(self.rows, rows):
                gradients[self.names[p]] = row.as_strided(p.size(), p.stride(), start).numpy()
            start += p.numel()

    def _losses(self) -> Optional[List[float]]:
        """Returns all ranks' losses, or their mean if only that is needed; None if no rank gives any. Collective:
        raises an error on every rank if only some give a loss, or if they do so in some steps only."""
        own = torch.tensor([self.own_loss is not None, self.own_loss or 0.0], dtype=torch.float64)
        of_ranks = [torch.empty_like(own) for _ in range(self.workers)]
        dist.all_gather(of_ranks, own, group=self.group)
        given = [rank for rank, (is_given, _) in enumerate(of_ranks) if is_given]
        step, hint = self.steps + 1, "call loss() before each backward() on every rank, or never"
        if 0 < len(given) < self.workers:
            raise ValueError(f"step {step} has losses of ranks {given} only: {hint}")
        if step > 1 and self.has_losses != bool(given):
            raise ValueError(f"step {step} has {'losses' if given else 'no loss'}, unlike the steps before: {hint}")
        self.has_losses = bool(given)
        losses = [float(loss) for _, loss in of_ranks]
        if not given:
            return None
        return [sum(losses) / len(losses)] if self.compact else losses

    def _gather(self, own: Tensor) -> List[Tensor]:
        """On rank 0, returns all ranks' gradients, or their mean if only that is needed."""
        if self.compact:
            total = own.clone()
            dist.reduce(total, 0, group=self.group)
            return [total / self.workers]
        rows = [torch.empty_like(own) for _ in range(self.workers)] if self.writes else None
        dist.gather(own, rows, 0, group=self.group)
        return rows or []


@overload
def record(path: Path, module: DistributedDataParallel, *, compact: bool = False, hook: Optional[Hook] = None,
           state: Any = None) -> DdpRecording: ...


@overload
def record(path: Path, module: torch.nn.Module, workers: int, *, compact: bool = False) -> LoopRecording: ...


def record(path: Path, module: torch.nn.Module, workers: Optional[int] = None, *, compact: bool = False,
           hook: Optional[Hook] = None, state: Any = None) -> Union[LoopRecording, DdpRecording]:
    """Starts a trace of the module's gradients, for use with `with`.

    module: a module whose loop runs in one process, or a DistributedDataParallel. In one process, give the number of
        workers, and replace loss.backward() by the returned object's `backward`, with each worker's loss. With
        DistributedDataParallel, each rank is a worker, and the loop stays as it is. For losses in the trace, give the
        rank's loss to the returned object's `loss` before each backward(). All ranks must call record, and none may
        call register_comm_hook.
    compact: keeps no gradients, only the norms of their mean and statistics of its signs.
    hook, state: what register_comm_hook would get. By default the gradients are averaged.
    """
    if isinstance(module, DistributedDataParallel):
        if workers is not None:
            raise TypeError("the ranks of DistributedDataParallel are the workers: leave out workers")
        return DdpRecording(path, module, compact, hook, state)
    if workers is None:
        raise TypeError("give the number of workers: record(path, module, workers)")
    if hook is not None or state is not None:
        raise TypeError("a hook needs a DistributedDataParallel")
    return LoopRecording(path, module, workers, compact)
