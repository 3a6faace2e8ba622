"""1-bit Adam for DistributedDataParallel."""
from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

import torch
from torch.nn.parallel import DistributedDataParallel

from onebit._program import OnebitError
from onebit.torch._worker import Reporting, Worker


def _keep_local(_state: None, bucket: torch.distributed.GradBucket) -> Any:
    """A communication hook that leaves every rank its own gradients, because the optimizer does the exchange."""
    future: Any = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


_keep_local.__annotations__.clear()  # DistributedDataParallel refuses annotations that are texts


_LOCAL: Any = weakref.WeakSet()  # modules with this hook, which torch registers only once


class OnebitAdam(Reporting, torch.optim.Optimizer):  # type: ignore[misc]
    """1-bit Adam (Tang et al. 2021): Adam with a dense all-reduce until the variance is frozen, and with one-bit
    momenta and error feedback after that. It is the simulator's `onebit-adam`: the same gradients give the same bits.

    module: a DistributedDataParallel, whose gradients stay local from now on (this registers a communication hook), or
    a module whose ranks start with equal parameters. steps: steps of the whole run, which `freeze` needs: fraction:F of
    the run, fixed:K (after K steps), auto, published or never. The default is fraction:0.7 with a floor on the variance
    (docs/freeze.md explains why). warmup: steps of learning-rate warm-up. weight_decay is decoupled, as in torch's
    AdamW, not as in its Adam. clip: largest gradient norm, of the mean gradient until the freeze and of each worker's
    gradient after it; 0: no clipping. variance_floor: floor on the frozen variance, as in the program's
    optimizer.variance-floor. seed: for codecs that draw random numbers. options: further options by the program's
    names, such as {"codec": "qsgd", "optimizer.semantics": "deepspeed"}. group: a process group of gloo. threads:
    number of threads of the codecs.

    All parameters form one group, of which only the learning rate may change. torch's schedulers work; those that cycle
    the momentum need cycle_momentum=False.
    """

    def __init__(self, module: torch.nn.Module, lr: float = 1e-3, betas: Tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0.0, *, steps: Optional[int] = None,
                 freeze: str = "fraction:0.7", variance_floor: str = "mean:0.01", clip: float = 0.0, warmup: int = 0,
                 seed: int = 1, options: Optional[Mapping[str, Any]] = None, group: Optional[Any] = None,
                 threads: Optional[int] = None) -> None:
        if not isinstance(freeze, str):
            raise OnebitError("freeze is a text", f"freeze {freeze!r}", "pass freeze='fixed:K' or 'fraction:F'")
        if steps is None and freeze.startswith("fraction"):
            raise OnebitError("a fraction of an unknown number of steps", f"freeze {freeze}",
                              "pass steps=..., or freeze='fixed:K'")
        chosen = {"optimizer": "onebit-adam", "optimizer.lr": lr, "optimizer.beta1": betas[0],
                  "optimizer.beta2": betas[1], "optimizer.eps": eps, "optimizer.weight-decay": weight_decay,
                  "optimizer.clip": clip, "optimizer.variance-floor": variance_floor, "freeze": freeze, "seed": seed,
                  **(options or {})}
        self._worker = Worker("optimizer", module, chosen, group, threads, steps, warmup)
        self._vector, self._gradients = self._worker.flat()
        self._flat, self._parts = self._worker.flat()
        self._fixed: Dict[str, Any] = {"betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}
        super().__init__(list(self._worker.named.values()), {"lr": lr, **self._fixed})
        if isinstance(module, DistributedDataParallel) and module not in _LOCAL:
            try:
                module.register_comm_hook(None, _keep_local)
            except RuntimeError as error:
                raise OnebitError("the module has another communication hook", str(error),
                                  "OnebitAdam exchanges by itself: register no other hook") from None
            _LOCAL.add(module)

    @torch.no_grad()  # type: ignore[misc]
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """Exchanges with the other ranks, and updates the parameters. Collective. closure: as in torch.optim."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._refuse_changes()
        parameters = list(self._worker.named.values())
        for parameter, gradient, part in zip(parameters, self._gradients, self._parts):
            gradient.zero_() if parameter.grad is None else gradient.copy_(parameter.grad)
            part.copy_(parameter)
        self._worker.update(self.param_groups[0]["lr"], self._vector, self._flat)
        for parameter, part in zip(parameters, self._parts):
            parameter.copy_(part)
        return loss

    def _refuse_changes(self) -> None:
        for name, value in self._fixed.items():
            now = self.param_groups[0].get(name, value)
            if (tuple(now) if isinstance(now, (list, tuple)) else now) != value:
                raise OnebitError("only the learning rate may change", f"{name} {value}, now {now}",
                                  "pass cycle_momentum=False to the scheduler, or make a new OnebitAdam")

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Refuses a second group."""
        if self.param_groups:
            raise OnebitError("1-bit Adam has one group of parameters", "add_param_group",
                              "exempt tensors from weight decay with options={'optimizer.no-decay': ...}")
        super().add_param_group(param_group)

    def state_dict(self) -> Dict[str, Any]:
        """The moments, this rank's errors and the learning rate. Every rank has to save its own."""
        return {**super().state_dict(), "onebit": self._worker.state_dict()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restores what state_dict() returned on the same rank, with the same arguments. Collective: if it fails on
        one rank, it changes nothing on any."""
        own, before = dict(state_dict), super().state_dict()
        of_worker = own.pop("onebit", {})
        load = super().load_state_dict

        def load_groups() -> None:
            load(own)

        try:
            self._worker.load_state_dict(of_worker, load_groups)
        except Exception:
            load(before)
            raise
