"""Where the program's messages and its progress line appear: a terminal, a notebook or a file."""
from __future__ import annotations

import importlib
import re
import shutil
import sys
from typing import Any

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def _in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules


class _NotebookLine:
    """A line in a cell's output, which is replaced in place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        bundle = {"text/plain": text}
        if self._handle is None:
            display = importlib.import_module("IPython.display").display
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


class Screen:
    """Shows lines on sys.stderr, and one progress line that overwrites itself, there or in a notebook's cell."""

    def __init__(self) -> None:
        self._notebook = _NotebookLine() if _in_notebook() else None
        self._shown = 0  # characters of the progress line that is there now
        self.overwrites = self._notebook is not None or sys.stderr.isatty()

    def tell(self, line: str) -> None:
        """Prints a line, in place of the progress line if there is one."""
        self.progress("")
        print(line, file=sys.stderr, flush=True)

    def progress(self, text: str) -> None:
        """Replaces the progress line; an empty text removes it."""
        if not text and not self._shown:
            return
        columns = 100 if self._notebook is not None else shutil.get_terminal_size().columns - 1
        text = _ESCAPES.sub("", text)[:columns]
        self._replace(text, columns)
        self._shown = len(text)

    def _replace(self, text: str, columns: int) -> None:
        if self._notebook is not None:
            self._notebook.show(text)
            return
        sys.stderr.write(f"\r{text.ljust(min(self._shown, columns))}\r")
        sys.stderr.flush()
