"""Finds the program, runs it, and turns its one-line errors into exceptions."""
from __future__ import annotations

import codecs
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from onebit._screen import Screen

# If this variable is set, the program shows its progress line, because another program passes stderr on to a person.
_PASSED_ON = "ONEBIT_STDERR_IS_PASSED_ON"

# This variable names the process that starts the program. When the thread that started the program ends, the program
# stops with a complete log.
_ENDS_WITH = "ONEBIT_ENDS_WITH"

_ERROR_START = "onebit: error: "
_PARTS = re.compile(r"(?P<what>.*?)(?: \((?P<where>.*?)\))?(?:; (?P<hint>.*))?", re.DOTALL)


class OnebitError(Exception):
    """An error with its parts: `what` happened, `where`, and a `hint` about what to do; the last two may be empty.

    `status` is the exit status of the program: 1 if a run failed, 2 if options or input were bad, 130 if it was
    stopped. It is None if the package itself found the error.
    """

    def __init__(self, what: str, where: str = "", hint: str = "", status: int | None = None) -> None:
        self.what, self.where, self.hint, self.status = what, where, hint, status
        super().__init__(what + (f" ({where})" if where else "") + (f"; {hint}" if hint else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.where, self.hint, self.status)


def parse_error(text: str, status: int | None = None) -> OnebitError:
    """Returns the exception for a message "what (where); hint"."""
    parts = _PARTS.fullmatch(text)
    assert parts is not None  # `what` alone matches every text
    return OnebitError(parts["what"], parts["where"] or "", parts["hint"] or "", status)


def _has_x86_64_v3() -> bool:
    """Returns whether this CPU can run code compiled for x86-64-v3; True if unknown."""
    try:
        flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return True
    return flags is None or {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"} <= set(flags[1].split())


def _in_package() -> str | None:
    """Returns the program in the package. A wheel has a second one, for CPUs without x86-64-v3."""
    folder = pathlib.Path(__file__).parent / "program" / "bin"
    program, older = folder / "onebit", folder / "onebit-x86-64-v2"
    if older.exists() and not _has_x86_64_v3():
        program = older
    return str(program) if program.exists() else None


def find() -> str:
    """Returns the path of the program: $ONEBIT_PROGRAM, otherwise the one in the package, otherwise the one in PATH."""
    named = os.environ.get("ONEBIT_PROGRAM")
    if named:
        if not os.access(named, os.X_OK):
            raise OnebitError("cannot execute the program", f"ONEBIT_PROGRAM={named}",
                              "set it to the path of onebit, or unset it")
        return os.path.abspath(named)
    packaged = _in_package()
    if packaged is not None:
        return packaged
    in_path = shutil.which("onebit")
    if in_path is None:
        raise OnebitError("the program was not found", "neither in the package nor in PATH",
                          "install the wheel, or set ONEBIT_PROGRAM to the path of onebit")
    return in_path


class _Child:
    """The program while it runs: collects its stdout, and shows and collects the lines of its stderr."""

    def __init__(self, program: str, words: Sequence[str], screen: Screen, reword: Callable[[str], str]) -> None:
        environment = {**os.environ, _ENDS_WITH: str(os.getpid())}  # this thread waits for the program
        if screen.overwrites:
            environment[_PASSED_ON] = "1"
        # The program gets its own session, so that Ctrl-C in the terminal does not reach it: a second signal would kill
        # a run.
        self._process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, env=environment, start_new_session=True)
        self._screen, self._reword = screen, reword
        self._rest = ""  # the beginning of a line
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._out: list[bytes] = []
        self._reader = threading.Thread(target=self._read_stdout, daemon=True)
        self._reader.start()
        self.lines: list[str] = []

    def _read_stdout(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            self._out.append(stdout.read())

    def _take(self, text: str) -> None:
        """Takes text from stderr. A line ends with a line feed, and a progress line with a carriage return."""
        *pieces, self._rest = re.split(r"(?<=[\r\n])", self._rest + text)
        for piece in pieces:
            if piece.endswith("\r"):
                if len(piece) > 1:  # a progress line also begins with a carriage return
                    self._screen.progress(piece[:-1])
                continue
            self.lines.append(piece.rstrip("\n"))
            if not piece.startswith(_ERROR_START):
                self._screen.tell(self._reword(self.lines[-1]))

    def wait(self) -> tuple[int, str]:
        """Returns the exit status and what was printed on stdout. May be called again after an interrupt."""
        assert self._process.stderr is not None
        while piece := os.read(self._process.stderr.fileno(), 1 << 16):
            self._take(self._decoder.decode(piece))
        self._take("\n" if self._rest else "")
        self._screen.progress("")
        self._process.stderr.close()
        status = self._process.wait()
        self._reader.join()
        return status, b"".join(self._out).decode("utf-8", "replace")

    def stop(self) -> None:
        """Asks the program to end with a complete log, and waits until it has. A further interrupt kills it."""
        self._process.terminate()
        try:
            self.wait()
        except BaseException:
            self._process.kill()
            raise


def _error_of(status: int, lines: Sequence[str]) -> OnebitError:
    """Returns the exception for a run of the program that failed."""
    for line in lines:
        if line.startswith(_ERROR_START):
            return parse_error(line[len(_ERROR_START):], status)
    if status < 0:
        return OnebitError(f"the program was ended by signal {-status}", status=status)
    return OnebitError(lines[-1].removeprefix("onebit: ") if lines else f"the program ended with status {status}",
                       status=status)


def call(words: Sequence[str], program: str | None = None, answers: Sequence[int] = (0,),
         reword: Callable[[str], str] = str) -> str:
    """Runs the program with these words of a command line, and returns what it prints on stdout.

    Warnings and notices go to sys.stderr, and so does a progress line in a terminal or a notebook. An error becomes an
    OnebitError. Ctrl-C, or the stop button of a notebook, lets the program complete its logs before this
    function raises KeyboardInterrupt; a second interrupt kills the program. answers: the exit statuses that come with
    an answer. reword: rewrites each line before it goes to sys.stderr.
    """
    child = _Child(program or find(), words, Screen(), reword)
    try:
        status, out = child.wait()
    except BaseException:
        child.stop()
        raise
    if status not in answers or any(line.startswith(_ERROR_START) for line in child.lines):
        raise _error_of(status, child.lines)
    return out


def version() -> str:
    """Returns the version of the program."""
    return call(["--version"]).split()[-1]


def main() -> NoReturn:
    """Replaces this process by the program, with the same arguments."""
    try:
        program = find()
    except OnebitError as error:
        sys.exit(f"{_ERROR_START}{error}")
    if os.path.realpath(program) == os.path.realpath(sys.argv[0]):  # this very script is the onebit in PATH
        sys.exit(f"{_ERROR_START}the package lacks its program ({__file__}); install the wheel")
    os.execv(program, [program, *sys.argv[1:]])
