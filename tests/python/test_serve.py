"""onebit.torch.serve: gradients are those of torch, and runs those of the program's own model."""
import pathlib
import unittest

import support

support.need("torch", "h5py")

import h5py
import numpy as np
import torch
from torch import nn

from onebit.torch import _serve
from onebit.worker import Batch, Data, _Worker

# The program's own mlp, whose matrices are inputs x outputs.
MLP = """
import torch, onebit.torch

class Layer(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(inputs, outputs) / inputs ** 0.5)
        self.bias = torch.nn.Parameter(torch.zeros(outputs))
    def forward(self, x):
        return x @ self.weight + self.bias

class Mlp(torch.nn.Module):
    def __init__(self, data):
        super().__init__()
        self.layer1, self.layer2 = Layer(data.features, 6), Layer(6, data.classes)
    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))

onebit.torch.serve(Mlp, "cross_entropy")
"""
DROPOUT = """
import torch, onebit.torch
onebit.torch.serve(lambda data: torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(data.features, data.classes)),
                   torch.nn.CrossEntropyLoss())
"""
TOKENS = """
import torch, onebit.torch
onebit.torch.serve(lambda data: torch.nn.Sequential(torch.nn.Embedding(data.vocabulary, 4, sparse=True), torch.nn.Flatten(),
                   torch.nn.Linear(4 * data.context, data.vocabulary)), "cross_entropy")
"""
RUN = ("--data", "synthetic", "--data.features", 8, "--data.classes", 3, "--workers", 8, "--batch", 4,
       "--threads", 1)


class Runs(support.InOwnFolder):
    def write_weights(self, shapes):
        random = np.random.default_rng(2)
        with h5py.File("init.h5", "w") as file:
            file["weights"] = random.normal(scale=0.3, size=sum(map(np.prod, shapes.values()))).astype("f4")
            file["tensor_sizes"] = [int(np.prod(shape)) for shape in shapes.values()]
            file["tensor_names"] = np.array(list(shapes), dtype="S")

    def test_a_served_mlp_makes_the_runs_of_the_programs_own(self):
        self.write_weights({"layer1.weight": (8, 6), "layer1.bias": (6,), "layer2.weight": (6, 3), "layer2.bias": (3,)})
        names = "steps/loss", "steps/grad_norm", "evaluations/loss", "evaluations/accuracy"
        for optimizer in (("adam", "--steps", 100), ("local-sgd", "--steps", 12)):  # the latter has weights for each worker
            more = (*RUN, "--optimizer", *optimizer, "--optimizer.lr", 1e-2, "--model.init", "init.h5")
            self.onebit("run", "--model", "mlp", "--model.layers", "8,6,3", *more, "-o", "own.h5", "--overwrite")
            self.external(MLP, *more)
            for own, served in zip(support.columns("own.h5", *names), support.columns("served.h5", *names)):
                np.testing.assert_allclose(served, own, atol=1e-6)

    def test_dropout_is_the_same_for_any_groups_and_devices(self):
        more = (*RUN, "--optimizer", "adam", "--steps", 6)
        losses = []
        for words in ((), ("--devices", "cpu:2", "--worker-group", 1)):
            self.external(DROPOUT, *more, *words)
            losses.append(support.columns("served.h5", "steps/loss")[0].tolist())
        self.assertEqual(losses[0], losses[1])

    def test_text_arrives_as_tokens(self):
        pathlib.Path("text.txt").write_text("abcdefgh" * 2000)
        self.external(TOKENS, "--data", "text", "--data.path", "text.txt", "--model.context", 3, "--workers", 2, "--batch", 8,
                      "--steps", 40, "--optimizer", "adam", "--optimizer.lr", 0.1)
        loss, accuracy = support.columns("served.h5", "evaluations/loss", "evaluations/accuracy")
        self.assertLess(loss[-1], 0.1)
        self.assertEqual(accuracy[-1], 1)

    def test_a_module_that_cannot_be_served_is_refused_before_the_run(self):
        error = self.external(DROPOUT.replace("Dropout()", "BatchNorm1d(8)"), *RUN, "--optimizer", "adam", "--steps", 6,
                              status=2)
        self.assertIn("BatchNorm1d 0 keeps running statistics, which workers cannot keep: use GroupNorm", error)
        self.assertFalse(pathlib.Path("served.h5").exists())


DATA = Data(workers=4, data="synthetic", features=8, targets=1, classes=3)


def batch(labels=3, size=4, **keys):
    random = np.random.default_rng(7)
    return Batch(size=size, features=random.normal(size=(size, 8)).astype("f4"), tokens=None,
                 labels=random.integers(labels, size=(size, 1)).astype("i4"), **{"training": True, **keys})


def serve(module, loss="cross_entropy", data=DATA, examples=None):
    return _serve._Served(data, module, loss, examples)


def gradients(module, loss="cross_entropy", labels=3, **keys):
    served = serve(module, loss)
    return served.gradients({name: np.array(w) for name, w in served.initialize(1).items()}, batch(labels, **keys))


class Modules(unittest.TestCase):
    def test_initial_weights(self):
        served = serve(lambda data: nn.Linear(data.features, data.classes))
        torch.manual_seed(5)
        expected = nn.Linear(8, 3)
        np.testing.assert_array_equal(served.initialize(5)["weight"], expected.weight.detach())
        self.assertFalse((served.initialize(5)["weight"] == served.initialize(6)["weight"]).any())
        served = serve(expected)  # a module's own weights, even after others were bound to it
        first = served.initialize(1)["weight"].copy()
        served.gradients({"weight": np.zeros((3, 8), "f4"), "bias": np.zeros(3, "f4")}, batch())
        np.testing.assert_array_equal(served.initialize(2)["weight"], first)

    def test_the_weights_are_the_shared_memory(self):
        served = serve(lambda: nn.Linear(8, 3))
        weights = {"weight": np.ones((3, 8), "f4"), "bias": np.zeros(3, "f4")}
        served.gradients(weights, batch())
        self.assertEqual(served.module.weight.data_ptr(), weights["weight"].ctypes.data)

    def test_gradients_are_those_of_torch(self):
        torch.manual_seed(1)
        module = nn.Sequential(nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 3))
        given = batch()
        loss = nn.functional.cross_entropy(module(torch.from_numpy(given.features)), torch.from_numpy(given.labels[:, 0]).long())
        loss.backward()
        each = lambda outputs, labels: nn.functional.cross_entropy(outputs, labels, reduction="none")
        for way in ("cross_entropy", nn.CrossEntropyLoss(), each):
            mean, found = gradients(module, way)
            self.assertAlmostEqual(mean, loss.item(), places=6)
            for name, p in module.named_parameters():
                np.testing.assert_allclose(found[name], p.grad, atol=1e-7)

    def test_parameters_without_a_gradient(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused, self.fixed = nn.Linear(8, 3), nn.Linear(2, 2), nn.Linear(3, 3)
                self.fixed.requires_grad_(False)

            def forward(self, x):
                return self.fixed(self.used(x))

        found = gradients(Net)[1]
        self.assertEqual(set(found), {"used.weight", "used.bias", "unused.weight", "unused.bias"})
        self.assertTrue((found["unused.weight"] == 0).all() and found["unused.weight"].shape == (2, 2))
        self.assertTrue((found["used.weight"] != 0).any())
        first, other = (serve(Net).module.fixed.weight for _ in range(2))
        self.assertTrue(torch.equal(first, other))

    def test_a_parameter_of_two_layers_is_one_tensor(self):
        def tied():
            module = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
            module[1].weight = module[0].weight
            return module

        served = serve(tied)
        self.assertEqual(list(served.tensors), ["0.weight", "0.bias", "1.bias"])
        weights = served.initialize(1)
        served.gradients(weights, batch())
        self.assertEqual(served.module[1].weight.data_ptr(), served.module[0].weight.data_ptr())

    def test_random_numbers_are_keyed(self):
        served = serve(lambda: nn.Sequential(nn.Dropout(), nn.Linear(8, 3)))
        weights = served.initialize(1)
        draw = lambda **keys: served.gradients(weights, batch(**keys))[0]
        first = draw(seed=1, step=2, worker=3, draw=4)
        self.assertEqual(first, draw(seed=1, step=2, worker=3, draw=4, again=True))
        for key in ("seed", "step", "worker", "draw"):
            self.assertNotEqual(first, draw(**{**dict(seed=1, step=2, worker=3, draw=4), key: 9}))
        evaluate = lambda: served.evaluate(weights, batch(training=False))
        self.assertEqual(evaluate(), evaluate())
        plain = nn.functional.linear(torch.from_numpy(batch().features), *map(torch.from_numpy, weights.values()))
        labels = torch.from_numpy(batch().labels[:, 0]).long()
        loss, correct, examples = evaluate()
        self.assertAlmostEqual(loss, 4 * nn.functional.cross_entropy(plain, labels).item(), places=5)
        self.assertEqual((correct, examples), ((plain.argmax(1) == labels).sum(), 4))

    def test_losses_of_numbers_and_their_accuracy(self):
        served = serve(lambda: nn.Linear(8, 1), "binary_cross_entropy_with_logits")
        weights, given = served.initialize(1), batch(labels=2, training=False)
        outputs = given.features @ weights["weight"].T + weights["bias"]
        loss, correct, _ = served.evaluate(weights, given)
        self.assertEqual(correct, ((outputs > 0) == given.labels).sum())
        served = serve(lambda: nn.Linear(8, 1), "mse_loss")
        self.assertAlmostEqual(served.evaluate(weights, given)[0], ((outputs - given.labels) ** 2).sum(), places=4)
        self.assertEqual(served.evaluate(weights, given)[1], 0)

    def test_images_and_examples_of_ones_own(self):
        image = Data(data="idx", features=8, channels=2, height=2, width=2, targets=1, classes=3)
        shapes = []

        class Net(nn.Linear):
            def forward(self, x):
                shapes.append(tuple(x.shape))
                return super().forward(x.flatten(1))

        served = serve(lambda: Net(8, 3), data=image)
        served.gradients(served.initialize(1), batch())
        self.assertEqual(shapes, [(4, 2, 2, 2)])
        examples = lambda batch: (torch.randn(5 if batch.training else 9, 8), None)
        square = serve(lambda: nn.Linear(8, 1), lambda outputs, labels: (outputs ** 2).mean(), Data(), examples)
        self.assertEqual(square.evaluate(square.initialize(1), batch(training=False))[1:], (0, 9))
        self.assertEqual(square.gradients(square.initialize(1), batch())[0], square.gradients(square.initialize(1), batch())[0])

    def refuse(self, message, module, loss="cross_entropy", **more):
        with self.assertRaisesRegex(Exception, message):
            gradients(module, loss, **more)

    def test_errors_name_what_is_wrong(self):
        class Raises(nn.Linear):
            def forward(self, x):
                raise KeyError("no such key")

        class Counts(nn.Linear):
            def __init__(self):
                super().__init__(8, 3)
                self.register_buffer("calls", torch.zeros(1))

            def forward(self, x):
                self.calls += 1
                return super().forward(x)

        linear = lambda: nn.Linear(8, 3)
        self.refuse(r"KeyError: 'no such key' \(inputs float32\[4, 8\]; labels int64\[4\]\)", lambda: Raises(8, 3))
        self.refuse(r"shapes cannot be multiplied \(4x8 and 9x3\) \(inputs float32\[4, 8\]", lambda: nn.Linear(9, 3))
        self.refuse("module changes calls in the forward pass", Counts)
        self.refuse("BatchNorm1d itself keeps running statistics", lambda: nn.BatchNorm1d(8))
        self.refuse("weight has the type torch.float64: .*module.float", lambda: linear().double())
        self.refuse("no parameter to train", lambda: nn.ReLU())
        self.refuse("making the module needs in_features, out_features", nn.Linear)
        self.refuse("returned a NoneType", lambda: None)
        self.refuse("module has the type int", 3)
        self.refuse("no loss cross_entropie", linear, "cross_entropie")
        self.refuse("is invalid for input of size 4.*labels int64", linear, "mse_loss")
        self.refuse("loss has the type float", linear, lambda outputs, labels: 1.0)
        self.refuse(r"loss is float32\[4, 3\], expected the mean over the batch, or 4 numbers", linear, lambda o, y: o)
        self.refuse("does not depend on any parameter", linear, lambda outputs, labels: torch.zeros(()))
        with self.assertRaisesRegex(ValueError, "there are no data: give --data"):
            serve(linear, data=Data())
        with self.assertRaisesRegex(ValueError, "the tensor name 'a b.weight' is empty or contains a blank"):
            _Worker(lambda data: serve(nn.ModuleDict({"a b": linear()}))).hello(version=1)
        shared = linear()
        shared.other = nn.Parameter(torch.zeros(0))
        shared.other.data = shared.weight.data
        self.refuse("weight shares the memory of other|other shares the memory of weight", shared)

    def test_normalization_without_running_statistics(self):
        module = lambda: nn.Sequential(nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 3))
        self.assertEqual(gradients(module)[0], gradients(module)[0])


if __name__ == "__main__":
    unittest.main()
