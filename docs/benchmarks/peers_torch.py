"""The step in PyTorch: every worker's gradient from a loop or from vmap, then the compressed stage for all workers at
once; the vmap variant also compiled as a whole."""
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


LOSSES = {"mlp": mlp_loss}


def looped(loss):
    """Backward passes one after the other, gradients copied to the rows of one buffer."""
    buffers = {}

    def gradients(params, x, labels):
        leaves = {name: value.detach().requires_grad_() for name, value in params.items()}
        for worker in range(len(x)):
            own = torch.autograd.grad(loss(leaves, x[worker], labels[worker]), list(leaves.values()))
            for name, gradient in zip(leaves, own):
                if name not in buffers:
                    buffers[name] = torch.empty((len(x), *gradient.shape), dtype=gradient.dtype)
                buffers[name][worker].copy_(gradient)
        return buffers

    return gradients


def vectorised(loss):
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))


def compress(state, gradients, lr):
    """In place: the errors become what is to be sent, then what was not."""
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
    """One variant on one problem: call it for a step; `state` holds what it wrote."""

    def __init__(self, problem, state, lr, variant, dtype=torch.float32):
        self.state = to_torch(state, dtype)
        floating = problem.x.dtype.kind == "f"
        x, labels = torch.tensor(problem.x, dtype=dtype if floating else None), torch.tensor(problem.labels)
        gradients = (looped if variant == "loop" else vectorised)(LOSSES[problem.name])

        def step(state):
            rows = gradients(state["params"], x, labels)
            with torch.no_grad():
                compress(state, rows, lr)

        self._step = torch.compile(step, dynamic=False) if variant == "compiled" else step

    def __call__(self):
        self._step(self.state)


VARIANTS = {"PyTorch, loop": "loop", "PyTorch, vmap": "vmap", "PyTorch, vmap, compiled": "compiled"}
