"""The problems of peers.py, and one step on them in plain NumPy: losses by the book, gradients by central differences,
the compressed stage of 1-bit Adam a worker and a tensor at a time. Slow and simple: what the frameworks are held
against, on tiny sizes."""
from dataclasses import dataclass

import numpy as np

BETA, EPS = 0.9, 1e-8


@dataclass
class Problem:
    name: str
    shapes: dict  # name of a tensor -> shape
    x: np.ndarray  # [workers, batch, ...]
    labels: np.ndarray  # [workers, batch]
    onebit: list  # options of `onebit bench step` for the same step

    @property
    def workers(self):
        return len(self.x)


def mlp(widths, workers, batch):
    """Fully connected, ReLU, cross-entropy."""
    random = np.random.default_rng(1)
    shapes = {}
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        shapes[f"weight{i}"], shapes[f"bias{i}"] = (inputs, outputs), (outputs,)
    layers = ",".join(map(str, widths))
    return Problem("mlp", shapes, random.normal(size=(workers, batch, widths[0])),
                   random.integers(widths[-1], size=(workers, batch)), ["--model", "mlp", "--model.layers", layers])


def initial_state(problem):
    """What a step reads and writes, as if the stage had run for a while: tensors by name; `errors` has a row a worker."""
    random = np.random.default_rng(2)

    def normals(scale, workers=()):
        return {name: random.normal(size=(*workers, *shape)) * scale / shape[0] ** 0.5
                for name, shape in problem.shapes.items()}

    return {"params": normals(1.0), "momentum": normals(1e-3), "errors": normals(1e-3, (problem.workers,)),
            "server": normals(1e-3), "variance": {name: value**2 + 1e-6 for name, value in normals(1e-2).items()}}


def cross_entropy(logits, labels):
    logits = logits - logits.max(axis=-1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, labels[..., None], axis=-1).mean()


def mlp_loss(params, x, labels):
    layers = len(params) // 2
    for i in range(layers):
        x = x @ params[f"weight{i}"] + params[f"bias{i}"]
        if i + 1 < layers:
            x = np.maximum(x, 0)
    return cross_entropy(x, labels)


LOSSES = {"mlp": mlp_loss}


def gradients(loss, params, x, labels, width=1e-6):
    result = {}
    for name, value in params.items():
        result[name] = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            kept = value[at]
            value[at] = kept + width
            above = loss(params, x, labels)
            value[at] = kept - width
            result[name][at] = (above - loss(params, x, labels)) / (2 * width)
            value[at] = kept
    return result


def compressed(vector):
    """What arrives: the signs, times the root mean square."""
    return np.where(vector >= 0, 1.0, -1.0) * np.linalg.norm(vector) / vector.size**0.5


def step(problem, state, lr):
    """Each worker adds its gradient to the shared momentum and sends the signs; the server sends those of the mean."""
    received = {name: 0.0 for name in problem.shapes}
    for worker in range(problem.workers):
        own = gradients(LOSSES[problem.name], state["params"], problem.x[worker], problem.labels[worker])
        for name, gradient in own.items():
            wanted = BETA * state["momentum"][name] + (1 - BETA) * gradient + state["errors"][name][worker]
            sent = compressed(wanted)
            state["errors"][name][worker] = wanted - sent
            received[name] = received[name] + sent / problem.workers
    for name, mean in received.items():
        wanted = mean + state["server"][name]
        state["momentum"][name] = compressed(wanted)
        state["server"][name] = wanted - state["momentum"][name]
        state["params"][name] -= lr * state["momentum"][name] / (np.sqrt(state["variance"][name]) + EPS)
