"""onebit.jax.serve: runs are those of the program's own model, and random numbers are keyed."""
import re
import unittest

import support

support.need("jax", "h5py")

import h5py
import jax
import jax.numpy as jnp
import numpy as np

import onebit.jax
from onebit.worker import Batch, Data

SOFTMAX = re.search(r"```python\n# jax_model.py\n(.*?)```", (support.ROOT / "docs/external-model.md").read_text(), re.S)[1]
RUN = ("--data", "synthetic", "--data.features", 8, "--data.classes", 3, "--workers", 4, "--batch", 4, "--steps", 50,
       "--optimizer", "adam", "--optimizer.lr", 1e-2, "--threads", 1)


class Jax(support.InOwnFolder):
    def write_weights(self, path, tensors):
        with h5py.File(path, "w") as file:
            file["weights"] = np.concatenate([tensor.ravel() for tensor in tensors.values()]).astype("f4")
            file["tensor_sizes"] = [tensor.size for tensor in tensors.values()]
            file["tensor_names"] = np.array(list(tensors), dtype="S")

    def test_the_softmax_of_the_docs_makes_the_runs_of_the_programs_own(self):
        weight, bias = np.random.default_rng(1).normal(size=(8, 3)), np.arange(3.0)
        self.write_weights("own-init.h5", {"layer1.weight": weight, "layer1.bias": bias})
        self.write_weights("jax-init.h5", {"bias": bias, "weight": weight})
        self.onebit("run", "--model", "softmax", *RUN, "--model.init", "own-init.h5", "-o", "own.h5")
        found = []
        for words in (("--model.init", "jax-init.h5"), ("--worker-group", 1), ()):
            self.external(SOFTMAX, *RUN, *words)
            found.append(support.columns("served.h5", "steps/loss", "evaluations/loss", "evaluations/accuracy"))
        for own, served in zip(support.columns("own.h5", "steps/loss", "evaluations/loss", "evaluations/accuracy"), found[0]):
            np.testing.assert_allclose(served, own, atol=1e-6)
        self.assertEqual(found[1][0].tolist(), found[2][0].tolist())

    def serve(self, initialize, loss, data=Data(data="synthetic", features=8, targets=1, classes=3)):
        return onebit.jax._Served(data, initialize, loss)

    def test_names_keys_and_shapes(self):
        initialize = lambda key, data: {"layers": [jax.random.normal(key, (8,)), jnp.ones(())]}

        def loss(parameters, batch):
            scale = 0 if batch.key is None else jax.random.uniform(batch.key)
            return scale + (batch.features @ parameters["layers"][0]).mean() * parameters["layers"][1]

        served = self.serve(initialize, loss)
        self.assertEqual(served.tensors, {"layers.0": (8,), "layers.1": ()})
        weights = served.initialize(3)
        np.testing.assert_array_equal(weights["layers.0"], jax.random.normal(jax.random.PRNGKey(3), (8,)))
        x, y = np.ones((4, 8), "f4"), np.zeros((4, 1), "i4")
        value = lambda **keys: served.gradients(weights, Batch(4, x, None, y, training=True, **keys))[0]
        self.assertEqual(value(seed=1, step=2), value(seed=1, step=2))
        for key in ("seed", "step", "worker", "draw"):
            self.assertNotEqual(value(), value(**{key: 1}))
        total, correct, examples = served.evaluate(weights, Batch(4, x, None, y))
        self.assertAlmostEqual(total, 4 * float(weights["layers.0"].sum()), places=4)
        self.assertEqual((correct, examples), (0, 4))
        gradients = served.gradients(weights, Batch(4, x, None, y, training=True))[1]
        np.testing.assert_allclose(gradients["layers.0"], np.ones(8), rtol=1e-6)

    def test_errors_name_what_is_wrong(self):
        zeros = lambda key, data: {"w": jnp.zeros(3)}
        with self.assertRaisesRegex(ValueError, "there are no data"):
            self.serve(zeros, None, Data())
        with self.assertRaisesRegex(TypeError, "w has the type int32: workers train float32"):
            self.serve(lambda key, data: {"w": jnp.zeros(3, int)}, None)
        with self.assertRaisesRegex(ValueError, "two parameters have the same name"):
            self.serve(lambda key, data: {"a": {"b": jnp.zeros(3)}, "a.b": jnp.zeros(2)}, None)
        served = self.serve(zeros, lambda parameters, batch: parameters["w"])
        with self.assertRaisesRegex(ValueError, r"the loss has the shape \(3,\), expected one number"):
            served.gradients({"w": np.zeros(3, "f4")}, Batch(1, np.zeros((1, 8), "f4"), None, np.zeros((1, 1), "i4")))


if __name__ == "__main__":
    unittest.main()
