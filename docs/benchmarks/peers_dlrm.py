#!/usr/bin/env python3
"""Times a step of a recommendation model in onebit and in PyTorch, alternately on one machine: N workers' hybrid step
in onebit, and one process with the whole batch in PyTorch (nn.EmbeddingBag with sparse gradients, SGD), in float32 on
two cores. Prints a Markdown table.

    python3 -m venv peers && peers/bin/pip install numpy torch
    peers/bin/python docs/benchmarks/peers_dlrm.py build/release/experiments/onebit

Both draw random rows. PyTorch's batches are prepared beforehand; onebit samples its own in the step."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

CORES = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, CORES)
os.environ.setdefault("OMP_NUM_THREADS", str(len(CORES)))

import torch
from torch import nn
from torch.nn import functional as F

FEATURES = 13
PARTS = ("sample", "forward", "backward", "tables", "exchange", "server", "update")


class Dlrm(nn.Module):
    def __init__(self, rows, tables, width, bottom, top):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for _ in range(tables))
        features = tables + 1
        self.bottom = layers([FEATURES, *bottom, width], ends=False)
        self.top = layers([width + features * (features - 1) // 2, *top, 1], ends=True)
        self.pairs = torch.tril_indices(features, features, offset=-1)

    def forward(self, dense, bags):
        z = self.bottom(dense)
        vectors = torch.stack([z, *(bag(rows) for bag, rows in zip(self.bags, bags))], dim=1)
        products = torch.bmm(vectors, vectors.mT)[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([z, products], dim=1)).squeeze(1)


def layers(widths, ends):
    parts = []
    for i in range(1, len(widths)):
        parts.append(nn.Linear(widths[i - 1], widths[i]))
        if not (ends and i + 1 == len(widths)):
            parts.append(nn.ReLU())
    return nn.Sequential(*parts)


class TorchStep:
    def __init__(self, options, bottom, top):
        torch.manual_seed(1)
        self.model = Dlrm(options.rows, options.tables, options.width, bottom, top)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        batch = options.workers * options.batch
        self.batches = [(torch.rand(batch, FEATURES), [torch.randint(options.rows, (batch, options.bag))
                                                       for _ in range(options.tables)],
                         torch.randint(2, (batch,)).float()) for _ in range(8)]
        self.next = 0

    def run(self, steps):
        times = []
        for _ in range(steps):
            dense, bags, labels = self.batches[self.next % len(self.batches)]
            self.next += 1
            start = time.perf_counter()
            self.optimizer.zero_grad(set_to_none=True)
            F.binary_cross_entropy_with_logits(self.model(dense, bags), labels).backward()
            self.optimizer.step()
            times.append(time.perf_counter() - start)
        return statistics.median(times)


def onebit_step(options, steps):
    command = [options.program, "bench", "step", "--json", "--rounds", str(steps), "--model", options.model,
               "--workers", str(options.workers), "--batch", str(options.batch), "--data", "clicks-random",
               "--data.tables", str(options.tables), "--data.rows", str(options.rows), "--data.bag", str(options.bag),
               "--data.fixed-bag", "true", "--data.examples", "50000", "--optimizer", "sgd", "--threads",
               str(len(CORES))]
    if options.workers > options.tables:
        command += ["--tables.split", "row"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", default="dlrm-nano", choices=["dlrm-nano", "dlrm-kaggle"])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=256, help="examples per worker")
    parser.add_argument("--tables", type=int, default=26)
    parser.add_argument("--rows", type=int, default=100000, help="rows of every table")
    parser.add_argument("--bag", type=int, default=1, help="rows in a bag")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    options.width = 16
    bottom, top = {"dlrm-nano": ([64], [64]), "dlrm-kaggle": ([512, 256, 64], [512, 256])}[options.model]
    peer = TorchStep(options, bottom, top)
    peer.run(5)
    ours, theirs, last = [], [], None
    for _ in range(options.rounds):
        last = onebit_step(options, 20)
        ours.append(last["step_seconds"])
        theirs.append(peer.run(20))
    touched = options.workers * options.batch * options.tables * options.bag
    print(f"{options.model}, {options.workers} workers x {options.batch}, {options.tables} tables x {options.rows} rows"
          f" x {options.width}, bags of {options.bag}; torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print("| step of | median | fastest |\n|---|---|---|")
    for name, times in (("onebit, all workers", ours), ("PyTorch, one process, whole batch", theirs)):
        print(f"| {name} | {1e3 * statistics.median(times):.2f} ms | {1e3 * min(times):.2f} ms |")
    print(f"\ntouched rows: at most {touched}, {touched * options.width * 8 / 1e6:.2f} MB read and written")
    print("parts of onebit's step: " + ", ".join(f"{name} {1e3 * last[name + '_seconds']:.2f} ms" for name in PARTS))


if __name__ == "__main__":
    main()
