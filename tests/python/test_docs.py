"""The Python in the documentation runs as it is written."""
import re
import unittest

import matplotlib.pyplot as plt
import onebit
from support import ROOT, InFolder

# Pages whose blocks run one after the other, and what a reader has before them.
PAGES = {
    "docs/python.md": "",
    "docs/read-a-log.md": "",
    "python/README.md": "",
    "docs/data.md": """
import numpy
images, labels = numpy.zeros((20, 4, 3), numpy.uint8), numpy.arange(20, dtype=numpy.uint8) % 3
tokens, vocabulary = numpy.arange(500, dtype=numpy.uint16) % 50, 50
""",
    "docs/weights.md": """
import numpy
tensors = {"layer1.weight": numpy.zeros((4, 3)), "layer1.bias": numpy.zeros(3)}
""",
    "docs/checkpoints.md": """
import onebit
onebit.run(model="mlp", data="synthetic", workers=16, steps=101, optimizer="onebit-adam", freeze="fixed:5", batch=2,
           checkpoint_every=100, eval_every=101, out="run.h5", overwrite=True)
""",
}
# Code that uses what the blocks have written.
READS = {
    "docs/data.md": """
onebit.run(model="mlp", data="idx", data_path="images.idx3-ubyte,labels.idx1-ubyte", steps=2, workers=1, batch=2,
           out="idx.h5")
onebit.run(model="bert-nano", model_context=8, data="tokens", data_path="train.tokens", steps=1, workers=1, batch=2,
           out="tokens.h5")
""",
    "docs/weights.md": """
onebit.run(model="mlp", model_layers=[4, 3], data="synthetic", data_features=4, data_classes=3, model_init="weights.h5",
           steps=1, workers=1, batch=2, out="init.h5")
""",
    "docs/checkpoints.md": "assert errors.shape[0] == 16 and abs(errors).max() > 0",
}


class Snippets(InFolder):
    def run_blocks(self, blocks, name, names):
        """Runs the blocks of a page one after the other."""
        self.addCleanup(plt.close, "all")
        self.assertTrue(blocks)
        for number, block in enumerate(blocks):
            exec(compile(block, f"{name}, block {number + 1}", "exec"), names)

    def test_pages(self):
        for page, before in PAGES.items():
            with self.subTest(page):
                text = (ROOT / page).read_text()
                names = {"onebit": onebit}
                exec(before, names)
                self.run_blocks(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL), page, names)
                exec(READS.get(page, ""), names)


if __name__ == "__main__":
    unittest.main()
