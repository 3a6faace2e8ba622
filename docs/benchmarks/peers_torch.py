"""The step in PyTorch: every worker's gradient from a loop or from vmap, then the compressed stage for all workers at
once. The vmap variant can also be compiled as a whole."""
import functools

import torch
from torch.nn import functional as F

from peers_reference import BETA, EPS


def mlp_loss(params, x, labels):
    layers = len(params) // 2
    for i in range(layers):
        x = torch.addmm(params[f"bias{i}"], x, params[f"weight{i}"])
        if i + 1 < layers:
            x = F.relu(x)
    return F.cross_entropy(x, labels)


def bert_loss(params, tokens, places, labels, heads):
    def linear(name, x):
        return x @ params[name + ".weight"] + params[name + ".bias"]

    def normalised(name, x):
        return F.layer_norm(x, x.shape[-1:], params[name + ".scale"], params[name + ".shift"])

    def attention(qkv):
        q, k, v = qkv.unflatten(-1, (3, heads, -1)).movedim(-3, 0).transpose(-3, -2)
        weights = torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, dim=-1)
        return (weights @ v).transpose(-3, -2).flatten(-2)

    x = normalised("norm", F.embedding(tokens, params["embedding"]) + params["positions"])
    for i in range(sum(name.endswith("qkv.weight") for name in params)):
        x = normalised(f"{i}.norm1", x + linear(f"{i}.attended", attention(linear(f"{i}.qkv", x))))
        x = normalised(f"{i}.norm2", x + linear(f"{i}.out", F.gelu(linear(f"{i}.in", x))))
    x = torch.gather(x, 1, places.unsqueeze(-1).expand(-1, -1, x.shape[-1]))  # other positions predict nothing
    x = normalised("transform.norm", F.gelu(linear("transform", x)))
    return F.cross_entropy((x @ params["embedding"].T + params["logits.bias"]).flatten(0, 1), labels.flatten())


def loss_of(problem):
    return functools.partial(bert_loss, heads=problem.heads) if problem.heads else mlp_loss


def looped(loss):
    """Runs one backward pass after the other and copies the gradients to the rows of one buffer."""
    buffers = {}

    def gradients(params, inputs):
        leaves = {name: value.detach().requires_grad_() for name, value in params.items()}
        workers = len(inputs[0])
        for worker in range(workers):
            own = torch.autograd.grad(loss(leaves, *(each[worker] for each in inputs)), list(leaves.values()))
            for name, gradient in zip(leaves, own):
                if name not in buffers:
                    buffers[name] = torch.empty((workers, *gradient.shape), dtype=gradient.dtype)
                buffers[name][worker].copy_(gradient)
        return buffers

    return gradients


def vectorised(loss):
    return torch.func.vmap(lambda params, inputs: torch.func.grad(loss)(params, *inputs), in_dims=(None, 0))


def compress(state, gradients, lr):
    """Works in place: the errors become the vectors to be sent, and then the part that was not sent."""
    for name, gradient in gradients.items():
        wanted, momentum, server = state["errors"][name], state["momentum"][name], state["server"][name]
        root = momentum.numel() ** 0.5
        wanted.add_(gradient, alpha=1 - BETA).add_(momentum, alpha=BETA)
        scale = torch.linalg.vector_norm(wanted, dim=tuple(range(1, wanted.dim())), keepdim=True) / root
        sent = torch.where(wanted >= 0, scale, -scale)
        wanted.sub_(sent)
        server.add_(sent.mean(0))
        scale = torch.linalg.vector_norm(server) / root
        momentum.copy_(torch.where(server >= 0, scale, -scale))
        server.sub_(momentum)
        state["params"][name].addcdiv_(momentum, state["variance"][name].sqrt().add_(EPS), value=-lr)


def to_torch(state, dtype):
    return {kind: {name: torch.tensor(value, dtype=dtype) for name, value in tensors.items()}
            for kind, tensors in state.items()}


class Step:
    """One variant on one problem. Each call runs one step; `state` holds the result."""

    def __init__(self, problem, state, lr, variant, dtype=torch.float32):
        self.state = to_torch(state, dtype)
        inputs = tuple(torch.tensor(each, dtype=dtype if each.dtype.kind == "f" else None) for each in problem.inputs)
        gradients = (looped if variant == "loop" else vectorised)(loss_of(problem))

        def step(state):
            rows = gradients(state["params"], inputs)
            with torch.no_grad():
                compress(state, rows, lr)

        self._step = torch.compile(step, dynamic=False) if variant == "compiled" else step

    def __call__(self):
        self._step(self.state)
        if torch.cuda.is_available():
            torch.cuda.synchronize()


VARIANTS = {"PyTorch, loop": "loop", "PyTorch, vmap": "vmap", "PyTorch, vmap, compiled": "compiled"}
