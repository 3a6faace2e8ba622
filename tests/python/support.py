"""What the tests of the Python package share: the program, and a temporary folder."""
from __future__ import annotations

import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import h5py

PROGRAM = os.environ["ONEBIT_PROGRAM"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL = "--model mlp --data synthetic --workers 2 --batch 4 --threads 1"


def program(line: str) -> str:
    """Runs the program without the package's help, and returns its output."""
    return subprocess.run([PROGRAM, *line.split()], check=True, capture_output=True, text=True).stdout


class InFolder(unittest.TestCase):
    """Test cases that work in a temporary folder, which all cases of the class share."""

    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="onebit-python-")
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        cls.folder = pathlib.Path(folder.name)


class InOwnFolder(unittest.TestCase):
    """Test cases that each work in a temporary folder, and run the program on models of their own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="onebit-python-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def onebit(self, *words: object, status: int = 0) -> str:
        """Runs the program. Returns its output, or its errors if it has to fail."""
        run = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stderr if status else run.stdout

    def external(self, model: str, *words: object, log: str = "served.h5", status: int = 0) -> str:
        """Runs the program on a model, which is the text of a Python program."""
        pathlib.Path("model.py").write_text(model)
        command = f"OMP_NUM_THREADS=1 '{sys.executable}' model.py"
        return self.onebit("run", "--model", "external", "--model.command", command, *words, "-o", "served.h5",
                           "--overwrite", status=status)


def columns(path: str, *names: str) -> list[Any]:
    """Returns datasets of a file, such as steps/loss of the log of a finished run."""
    with h5py.File(path, "r") as file:
        return [file[name][...] for name in names]


def skip(capability: str, reason: str) -> None:
    """Ends the test as skipped, in the words that scripts/count-tests reads, or as failed where ONEBIT_REQUIRE names the
    capability."""
    if capability in os.environ.get("ONEBIT_REQUIRE", "").split(","):
        sys.exit(f"ONEBIT_REQUIRE names {capability}, but: {reason}")
    print(f"ONEBIT-SKIPPED: {reason}\nOK (skipped)")
    sys.exit()


def need(*modules: str) -> None:
    """Skips the test unless all modules are installed."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            skip(module, f"no python3 with {module}: {error}")
