"""PyTorch: your own modules as onebit's workers, traces of gradients, and the codecs in DistributedDataParallel."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onebit.torch._adam import OnebitAdam as OnebitAdam
    from onebit.torch._hook import Hook as Hook, ddp_hook as ddp_hook
    from onebit.torch._record import record as record
    from onebit.torch._serve import serve as serve

_HOMES = {"Hook": "_hook", "OnebitAdam": "_adam", "ddp_hook": "_hook", "record": "_record", "serve": "_serve"}

__all__ = sorted(_HOMES)


if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'onebit.torch' has no attribute '{name}'")
        return getattr(importlib.import_module(f"onebit.torch.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
