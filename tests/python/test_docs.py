"""The Python in the documentation and in the notebook runs as it is written."""
import functools
import json
import re
import unittest
from unittest import mock

import matplotlib.pyplot as plt
import onebit
from support import ROOT, InFolder

PAGES = ("python.md", "read-a-log.md")


class Snippets(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The notebook makes the comparison of python.md: in the same folder, it is trained once.
        once = mock.patch.object(onebit, "compare", functools.lru_cache(onebit.compare))
        once.start()
        cls.addClassCleanup(once.stop)

    def run_blocks(self, blocks, name):
        """Runs the blocks of a page one after the other."""
        self.addCleanup(plt.close, "all")
        self.assertTrue(blocks)
        names = {}
        for number, block in enumerate(blocks):
            exec(compile(block, f"{name}, block {number + 1}", "exec"), names)

    def test_pages(self):
        for page in PAGES:
            with self.subTest(page):
                text = (ROOT / "docs" / page).read_text()
                self.run_blocks(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL), page)

    def test_the_notebook_ends_in_a_picture(self):
        notebook = json.loads((ROOT / "docs" / "onebit.ipynb").read_text())
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.run_blocks(cells, "notebook")
        self.assertTrue(plt.gcf().axes[0].lines)
        self.assertIn("image/png", notebook["cells"][-1]["outputs"][0]["data"])


if __name__ == "__main__":
    unittest.main()
