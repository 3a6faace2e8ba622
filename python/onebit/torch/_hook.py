"""The codecs as a communication hook of DistributedDataParallel."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import torch
import torch.distributed as dist
from torch import Tensor

from onebit._program import OnebitError
from onebit.torch._worker import Reporting, Worker

Future = torch.futures.Future  # generic only in newer versions


class Hook(Reporting):
    """The state of a hook: collects the buckets of a backward pass, exchanges once, and completes all their futures.

    The exchange is that of the simulator: all parameters in the module's order, each tensor with its own scale
    (granularity tensor) or all as one vector (fused). So results and errors depend neither on the sizes of the buckets
    nor on their order, which DistributedDataParallel changes after the first step.
    """

    def __init__(self, module: torch.nn.Module, options: Mapping[str, Any], group: Optional[Any],
                 threads: Optional[int]) -> None:
        self._worker = Worker("mean", module, options, group, threads)
        self._vector, gradients = self._worker.flat()
        self._mean, means = self._worker.flat()
        self._places = {p: (gradient, mean) for p, gradient, mean in zip(self._worker.named.values(), gradients, means)}
        self._waiting: List[Tuple[List[Tensor], List[Tensor], Tensor, Any]] = []

    @property
    def step(self) -> int:
        """Number of exchanges so far."""
        return self._worker.step

    def take(self, bucket: dist.GradBucket) -> Any:
        """Takes a bucket's gradients. Exchanges when the last bucket has arrived."""
        future: Any = Future()
        parameters, gradients = bucket.parameters(), bucket.gradients()
        for parameter, gradient in zip(parameters, gradients):
            if parameter not in self._places:
                raise OnebitError("the hook was made for another module", "a parameter of this bucket is not in it",
                                  "pass the module that register_comm_hook belongs to")
            self._places[parameter][0].copy_(gradient)
        self._waiting.append((parameters, gradients, bucket.buffer(), future))
        if bucket.is_last():
            self._exchange()
        return future

    def _exchange(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._worker.mean(self._vector, self._mean)
        for parameters, gradients, buffer, future in waiting:
            for parameter, gradient in zip(parameters, gradients):
                gradient.copy_(self._places[parameter][1])
            future.set_result(buffer)

    def state_dict(self) -> Dict[str, Any]:
        """This rank's errors and what codecs keep from step to step. Every rank has to save its own."""
        return self._worker.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what state_dict() returned on the same rank, with the same module and options. Collective."""
        self._worker.load_state_dict(state)


def _take(state: Hook, bucket: dist.GradBucket) -> Any:
    return state.take(bucket)


_take.__annotations__.clear()  # DistributedDataParallel refuses annotations that are texts, as they are in this file


def ddp_hook(module: torch.nn.Module, codec: str = "sign-l2", feedback: str = "auto", channel: str = "auto", *,
             granularity: str = "tensor", seed: int = 1, options: Optional[Mapping[str, Any]] = None,
             group: Optional[Any] = None, threads: Optional[int] = None
             ) -> Tuple[Hook, Callable[[Hook, dist.GradBucket], Any]]:
    """Returns the two arguments of DistributedDataParallel.register_comm_hook.

    The hook replaces the mean of the gradients by the compressed mean that `onebit run` computes with the same codec,
    feedback (auto, ef, none) and channel (auto, server, gather, linear), to the bit. options: further options by the
    program's names, such as {"codec.k": 0.01, "codec.down": "fp16"}. module: the DistributedDataParallel or the
    module inside it, on a CPU and in float32. group: a process group of gloo, by default that of the
    DistributedDataParallel. Collective: raises an error on every rank if the ranks' modules or options differ.
    threads: number of threads of the codecs, by default torch's.
    """
    chosen = {"codec": codec, "feedback": feedback, "channel": channel, "optimizer.granularity": granularity,
              "seed": seed, **(options or {})}
    return Hook(module, chosen, group, threads), _take
