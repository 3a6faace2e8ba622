"""The Python package of onebit, a laboratory for communication-compressed training.

`load` reads logs and folders of logs; `run`, `compare`, `sweep`, `price`, `freeze`, `validate`, `report`, `card` and
`verify` call the program; `plot` draws. Each module is imported when it is first used, so `import onebit` takes a few
milliseconds.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onebit import jax as jax, logs as logs, plot as plot, torch as torch
    from onebit._program import OnebitError as OnebitError, version as version
    from onebit.commands import (card as card, compare as compare, freeze as freeze, price as price, report as report,
                                 run as run, sweep as sweep, validate as validate, verify as verify)
    from onebit.runs import Run as Run, Runs as Runs, load as load

# The module that defines each public name; None: the name is a module itself.
_HOMES: dict[str, str | None] = {
    **dict.fromkeys(("OnebitError", "version"), "_program"),
    **dict.fromkeys(("Run", "Runs", "load"), "runs"),
    **dict.fromkeys(("card", "compare", "freeze", "price", "report", "run", "sweep", "validate", "verify"), "commands"),
    **dict.fromkeys(("jax", "logs", "plot", "torch"), None),
}

__all__ = sorted(set(_HOMES) - {"jax", "torch"})  # names that need only the package's own dependencies

if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'onebit' has no attribute '{name}'")
        home = _HOMES[name]
        if home is None:
            return importlib.import_module(f"onebit.{name}")
        value = getattr(importlib.import_module(f"onebit.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
