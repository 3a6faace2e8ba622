#!/usr/bin/env python3
"""What PyTorch takes for the step of `onebit bench step`: 64 workers x 16 examples, an MLP, every worker's gradient,
1-bit Adam's compressed stage with packed signs and both errors; beside it Adam on the 1,024 examples as one batch. No
TF32. Prints JSON, medians in seconds. Usage: gpu-peers.py [DEVICE]"""
import json
import statistics
import sys
import timeit

import torch
from torch import nn

WORKERS, BATCH, LR, BETA = 64, 16, 1e-3, 0.9
torch.set_default_device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
adam = torch.optim.Adam(model.parameters(), lr=LR)
x, y = torch.randn(WORKERS, BATCH, 784), torch.randint(10, (WORKERS, BATCH))
flat = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
pieces = zip(model.named_parameters(), flat.split([p.numel() for p in model.parameters()]))
views = {name: piece.view_as(p) for (name, p), piece in pieces}
P = flat.numel() // 512 * 512  # whole bytes in each of 64 servers' chunks; the few elements beyond are left out
state = {"m": torch.zeros(P), "v": torch.full((P,), 1e-4), "worker": torch.zeros(WORKERS, P), "server": torch.zeros(P)}
weights = 2 ** torch.arange(7, -1, -1, dtype=torch.uint8)
gradient = torch.func.grad(lambda p, x, y: nn.functional.cross_entropy(torch.func.functional_call(model, p, (x,)), y))


def sent(rows):
    """What arrives when the rows' signs travel as packed bits with a scale a row."""
    scale = rows.norm(dim=1, keepdim=True) / rows.shape[1] ** 0.5
    packed = ((rows >= 0).view(rows.shape[0], -1, 8) * weights).sum(2, dtype=torch.uint8)
    return ((packed.unsqueeze(2) & weights).ne(0).view(rows.shape) * 2.0 - 1.0) * scale


def onebit_step():
    gradients = torch.func.vmap(gradient, in_dims=(None, 0, 0))(views, x, y)
    rows = torch.cat([g.reshape(WORKERS, -1) for g in gradients.values()], 1)[:, :P]
    rows = BETA * state["m"] + (1 - BETA) * rows + state["worker"]
    arrived = sent(rows)
    state["worker"] = rows - arrived
    mean = (arrived.mean(0) + state["server"]).view(WORKERS, -1)  # a chunk a server
    state["m"] = sent(mean).view(-1)
    state["server"] = mean.view(-1) - state["m"]
    flat[:P] -= LR * state["m"] / (state["v"].sqrt() + 1e-8)


def big_batch():
    adam.zero_grad()
    nn.functional.cross_entropy(model(x.view(-1, 784)), y.view(-1)).backward()
    adam.step()


def seconds(step):
    once = timeit.repeat(lambda: (step(), flat.sum().item()), number=1, repeat=35)  # .item() waits for the device
    return statistics.median(once[5:])


print(json.dumps({"torch": torch.__version__, "onebit_step_seconds": seconds(onebit_step),
                  "big_batch_seconds": seconds(big_batch)}))
