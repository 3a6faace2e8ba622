"""Finds the program, runs it, and turns its one-line errors into exceptions."""
from __future__ import annotations

import codecs
import functools
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

# The program shows its progress line if this variable says that stderr reaches a person through another program.
_PASSED_ON = "ONEBIT_STDERR_IS_PASSED_ON"

_ERROR = re.compile(r"onebit: error: (?P<what>.*?)(?: \((?P<where>.*)\))?(?:; (?P<hint>.*))?", re.DOTALL)


class OnebitError(Exception):
    """An error with its parts: `what` happened, `where`, and a `hint` at what to do; the last two may be empty.

    `status` is the exit status of the program: 1 if a run failed, 2 if options or input were bad, 130 if it was
    stopped. It is None if the package itself found the error.
    """

    def __init__(self, what: str, where: str = "", hint: str = "", status: int | None = None) -> None:
        self.what, self.where, self.hint, self.status = what, where, hint, status
        super().__init__(what + (f" ({where})" if where else "") + (f"; {hint}" if hint else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.where, self.hint, self.status)


@functools.lru_cache(maxsize=1)
def find() -> str:
    """Returns the path of the program: $ONEBIT_PROGRAM, else the one in the package, else the one in PATH."""
    named = os.environ.get("ONEBIT_PROGRAM")
    if named:
        if not os.access(named, os.X_OK):
            raise OnebitError("no program", f"ONEBIT_PROGRAM={named}", "set it to the path of onebit, or unset it")
        return os.path.abspath(named)
    packaged = pathlib.Path(__file__).parent / "program" / "bin" / "onebit"
    if packaged.exists():
        return str(packaged)
    in_path = shutil.which("onebit")
    if in_path is None:
        raise OnebitError("the program was not found", "neither in the package nor in PATH",
                          "install the wheel, or set ONEBIT_PROGRAM to the path of onebit")
    return in_path


def main() -> NoReturn:
    """Becomes the program, with the arguments of this process."""
    try:
        program = find()
    except OnebitError as error:
        sys.exit(f"onebit: error: {error}")
    os.execv(program, [program, *sys.argv[1:]])
