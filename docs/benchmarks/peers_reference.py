"""The problems of peers.py, and one step on them in plain NumPy: textbook losses, gradients by central differences, and
the compressed stage of 1-bit Adam, one worker and one tensor at a time. It is slow and simple; the frameworks are
checked against it on tiny sizes."""
import math
from dataclasses import dataclass

import numpy as np

BETA, EPS = 0.9, 1e-8


@dataclass
class Problem:
    name: str
    shapes: dict  # maps names of tensors to shapes
    inputs: tuple  # arrays [workers, batch, ...]
    onebit: list  # options of `onebit bench step` for the same step
    heads: int = 0

    @property
    def workers(self):
        return len(self.inputs[0])

    @property
    def batch(self):
        return self.inputs[0].shape[1]


def mlp(widths, workers, batch):
    """Fully connected, ReLU, cross-entropy."""
    random = np.random.default_rng(1)
    shapes = {}
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        shapes[f"weight{i}"], shapes[f"bias{i}"] = (inputs, outputs), (outputs,)
    layers = ",".join(map(str, widths))
    x, labels = random.normal(size=(workers, batch, widths[0])), random.integers(widths[-1], size=(workers, batch))
    return Problem("mlp", shapes, (x, labels), ["--model", "mlp", "--model.layers", layers])


def bert(vocabulary, width, heads, depth, context, chosen, workers, batch):
    """An encoder like BERT's: learned positions, norms after the residual sums, exact GELU, one more layer, and logits
    from the embedding. Inputs are tokens, `chosen` positions of each example, and the labels at these positions."""
    random = np.random.default_rng(1)
    shapes = {"embedding": (vocabulary, width), "positions": (context, width)}

    def add_linear(name, inputs, outputs):
        shapes[name + ".weight"], shapes[name + ".bias"] = (inputs, outputs), (outputs,)

    def add_norm(name):
        shapes[name + ".scale"], shapes[name + ".shift"] = (width,), (width,)

    add_norm("norm")
    for i in range(depth):
        add_linear(f"{i}.qkv", width, 3 * width)
        add_linear(f"{i}.attended", width, width)
        add_norm(f"{i}.norm1")
        add_linear(f"{i}.in", width, 4 * width)
        add_linear(f"{i}.out", 4 * width, width)
        add_norm(f"{i}.norm2")
    add_linear("transform", width, width)
    add_norm("transform.norm")
    shapes["logits.bias"] = (vocabulary,)
    places = random.permuted(np.tile(np.arange(context), (workers, batch, 1)), axis=-1)[..., :chosen]
    tokens = random.integers(vocabulary, size=(workers, batch, context))
    labels = random.integers(vocabulary, size=places.shape)
    return Problem("bert-nano", shapes, (tokens, places, labels), ["--model", "bert-nano"], heads)


def initial_state(problem):
    """All that a step reads and writes, as if after some steps: tensors by name; `errors` has one row per worker."""
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


def normalised(params, name, x):
    x = x - x.mean(axis=-1, keepdims=True)
    return params[name + ".scale"] * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) + params[name + ".shift"]


def linear(params, name, x):
    return x @ params[name + ".weight"] + params[name + ".bias"]


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def attention(qkv, heads):
    """Computes one example and one head after the other."""
    result = []
    for example in qkv:
        parts = [np.split(each, heads, axis=-1) for each in np.split(example, 3, axis=-1)]
        own = []
        for q, k, v in zip(*parts):
            weights = np.exp(q @ k.T / q.shape[-1] ** 0.5)
            own.append(weights / weights.sum(axis=-1, keepdims=True) @ v)
        result.append(np.concatenate(own, axis=-1))
    return np.stack(result)


def bert_loss(params, tokens, places, labels, heads):
    x = normalised(params, "norm", params["embedding"][tokens] + params["positions"])
    for i in range(sum(name.endswith("qkv.weight") for name in params)):
        attended = attention(linear(params, f"{i}.qkv", x), heads)
        x = normalised(params, f"{i}.norm1", x + linear(params, f"{i}.attended", attended))
        hidden = gelu(linear(params, f"{i}.in", x))
        x = normalised(params, f"{i}.norm2", x + linear(params, f"{i}.out", hidden))
    x = normalised(params, "transform.norm", gelu(linear(params, "transform", x)))
    logits = x @ params["embedding"].T + params["logits.bias"]
    return cross_entropy(np.take_along_axis(logits, places[..., None], axis=1), labels)


def loss_of(problem, params, inputs):
    return bert_loss(params, *inputs, problem.heads) if problem.heads else mlp_loss(params, *inputs)


def gradients(loss, params, width=1e-6):
    result = {}
    for name, value in params.items():
        result[name] = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            kept = value[at]
            value[at] = kept + width
            above = loss(params)
            value[at] = kept - width
            result[name][at] = (above - loss(params)) / (2 * width)
            value[at] = kept
    return result


def compressed(vector):
    """What arrives: the signs times the root mean square."""
    return np.where(vector >= 0, 1.0, -1.0) * np.linalg.norm(vector) / vector.size**0.5


def step(problem, state, lr):
    """Each worker adds its gradient to the shared momentum and sends signs; the server sends the signs of the mean."""
    received = {name: 0.0 for name in problem.shapes}
    for worker in range(problem.workers):
        inputs = [each[worker] for each in problem.inputs]
        own = gradients(lambda params: loss_of(problem, params, inputs), state["params"])
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
