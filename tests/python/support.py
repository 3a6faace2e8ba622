"""What the tests of the Python package share: the program, and a temporary folder."""
from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import unittest

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
