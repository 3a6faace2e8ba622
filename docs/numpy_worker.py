"""Softmax regression in numpy, trained by onebit with --model external --model.command 'python3 numpy_worker.py'"""
import numpy as np

import onebit.worker


class Softmax:
    def __init__(self, data):
        self.tensors = {"layer1.weight": (data.features, data.classes), "layer1.bias": (data.classes,)}

    def initialize(self, seed):
        return {name: np.zeros(shape) for name, shape in self.tensors.items()}

    def probabilities(self, weights, batch):
        logits = batch.features @ weights["layer1.weight"] + weights["layer1.bias"]
        logits = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
        return logits / logits.sum(axis=1, keepdims=True)

    def gradients(self, weights, batch):
        labels, every = batch.labels[:, 0], np.arange(batch.size)
        delta = self.probabilities(weights, batch)
        loss = -np.log(delta[every, labels]).mean()
        delta[every, labels] -= 1
        delta /= batch.size
        return loss, {"layer1.weight": batch.features.T @ delta, "layer1.bias": delta.sum(axis=0)}

    def evaluate(self, weights, batch):
        labels, p = batch.labels[:, 0], self.probabilities(weights, batch)
        return -np.log(p[np.arange(batch.size), labels]).sum(), (p.argmax(axis=1) == labels).sum(), batch.size


if __name__ == "__main__":
    onebit.worker.serve(Softmax)
