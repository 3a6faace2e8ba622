"""Where the program's messages and its progress line appear: a terminal, a notebook or a file."""
from __future__ import annotations

import re
import shutil
import sys

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def _in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules


class Screen:
    """Shows lines and one progress line, which overwrites itself, on sys.stderr."""

    def __init__(self) -> None:
        self._in_notebook = _in_notebook()
        self._shown = 0  # characters of the progress line that is there now
        self.overwrites = self._in_notebook or sys.stderr.isatty()

    def tell(self, line: str) -> None:
        """Prints a line, above the progress line if there is one."""
        self.progress("")
        print(line, file=sys.stderr, flush=True)

    def progress(self, text: str) -> None:
        """Replaces the progress line; an empty text removes it."""
        if not text and not self._shown:
            return
        columns = 100 if self._in_notebook else shutil.get_terminal_size().columns - 1
        text = _ESCAPES.sub("", text)[:columns]
        sys.stderr.write(f"\r{text.ljust(min(self._shown, columns))}\r")
        sys.stderr.flush()
        self._shown = len(text)
