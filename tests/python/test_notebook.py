"""The notebook of the docs runs in a kernel of Jupyter and ends in a picture; progress is one output of a cell; the stop
button ends a run with a complete log."""
import importlib.util
import os
import sys
import unittest

import support

os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or the debugger of notebooks warns
support.need("nbclient")
if importlib.util.find_spec("ipykernel") is None:
    support.skip("nbclient", "no python3 with ipykernel")

import nbclient
import nbformat

import onebit

RUN = "import onebit; onebit.run(model='mlp', data='synthetic', workers=2, batch=4, threads=1, steps={}, out='run.h5')"


class Client(nbclient.NotebookClient):
    """Executes a notebook in the working folder, and keeps what the kernel says."""

    def __init__(self, notebook):
        super().__init__(notebook, kernel_name="python3", timeout=200)
        self.updates = []

    def create_kernel_manager(self):
        manager = super().create_kernel_manager()
        manager.kernel_spec.argv[0] = sys.executable
        return manager

    def process_message(self, message, cell, index):
        if message["msg_type"] == "update_display_data":
            self.updates.append(message["content"]["data"]["text/plain"])
        return super().process_message(message, cell, index)

    def run(self):
        """Executes all cells, with inline pictures as in Jupyter, and without files in the home folder."""
        folders = {name: os.getcwd() for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
        kept = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
        return self.execute(env={**kept, **folders})


def notebook_of(*cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def kinds(cell):
    """What a cell shows, without the place of a progress line, which only slow machines have."""
    return [sorted(output.get("data", {"stream": ""})) for output in cell.outputs
            if output.get("data") != {"text/plain": ""}]


class Notebook(support.InOwnFolder):
    def test_the_notebook_of_the_docs_ends_in_a_picture(self):
        stored = nbformat.read(support.ROOT / "docs/onebit.ipynb", 4)
        run = Client(nbformat.from_dict(stored)).run()
        nbformat.validate(run)
        cells = [[cell for cell in each.cells if cell.cell_type == "code"] for each in (stored, run)]
        self.assertEqual(*([kinds(cell) for cell in each] for each in cells))
        self.assertIn("image/png", cells[1][-1].outputs[-1].data)
        self.assertGreater(len(cells[1][-1].outputs[-1].data["image/png"]), 5000)

    def test_progress_is_one_output(self):
        client = Client(notebook_of(RUN.format(3000) + ";"))
        cell = client.run().cells[0]
        self.assertEqual([output.get("data") for output in cell.outputs], [{"text/plain": ""}])
        self.assertGreater(len(client.updates), 1)
        for text in client.updates[:-1]:
            self.assertRegex(text, "/3000  loss ")

    def test_the_stop_button_ends_a_run_with_a_complete_log(self):
        stop = "import os, signal, threading; threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start(); "
        with self.assertRaisesRegex(nbclient.exceptions.CellExecutionError, "KeyboardInterrupt"):
            Client(notebook_of(stop + RUN.format(10_000_000))).run()
        self.assertEqual(onebit.load("run.h5").status, "stopped")


if __name__ == "__main__":
    unittest.main()
