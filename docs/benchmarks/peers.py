#!/usr/bin/env python3
"""The same step in onebit, PyTorch and JAX, interleaved on one machine: N workers' gradients, then the compressed stage
of 1-bit Adam (momentum, a sign a number with a scale a tensor, errors fed back at workers and server, frozen
variance). float32, two cores. Prints a Markdown table.

    python3 -m venv peers && peers/bin/pip install numpy jax torch
    peers/bin/python docs/benchmarks/peers.py build/release/experiments/onebit

What is in favour of the frameworks: their batch lies ready (onebit samples, and masks tokens), their signs are not
packed to bits, and their server has one scale a tensor (onebit's has one for each of N chunks). Of bert-nano they
compute logits at the masked places alone. Each is first held against NumPy, on tiny sizes."""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

CORES = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, CORES)  # before the frameworks count them

import jax
import numpy as np
import torch

import peers_jax
import peers_reference as reference
import peers_torch

PROBLEMS = {
    "mlp": lambda: reference.mlp([784, 256, 256, 10], workers=64, batch=16),
    "bert-nano": lambda: reference.bert(vocabulary=257, width=128, heads=4, depth=2, context=64, chosen=10, workers=16,
                                        batch=4),
}
TINY = {
    "mlp": lambda: reference.mlp([5, 4, 3], workers=3, batch=2),
    "bert-nano": lambda: reference.bert(vocabulary=5, width=4, heads=2, depth=1, context=3, chosen=2, workers=2,
                                        batch=2),
}
LR = 1e-12  # as in `onebit bench step`: a variance from nowhere must not blow the weights up
STEPS = 5  # of each, a round


def peers(problem, lr, double=False):
    """Name -> step, all from the same state."""
    state = reference.initial_state(problem)
    steps = {name: peers_torch.Step(problem, state, lr, variant, torch.float64 if double else torch.float32)
             for name, variant in peers_torch.VARIANTS.items()}
    steps["JAX, jit of vmap"] = peers_jax.Step(problem, state, lr, np.float64 if double else np.float32)
    return steps


def check(make):
    """Two steps on tiny sizes, in double precision, are those of NumPy."""
    problem, lr = make(), 1e-2
    expected = reference.initial_state(problem)
    with jax.enable_x64(True):
        steps = peers(problem, lr, double=True)
        for _ in range(2):
            reference.step(problem, expected, lr)
            for step in steps.values():
                step()
        for framework, step in steps.items():
            for kind, tensors in expected.items():
                for name, value in tensors.items():
                    np.testing.assert_allclose(np.asarray(step.state[kind][name]), value, rtol=1e-5, atol=1e-7,
                                               err_msg=f"{framework}, {problem.name}: {kind} of {name}")


def onebit_seconds(program, problem):
    options = ["--workers", problem.workers, "--batch", problem.batch, "--optimizer", "onebit-adam",
               "--threads", len(CORES), "--rounds", STEPS, "--json"]
    return json.loads(printed_by(program, "bench", "step", *problem.onebit, *map(str, options)))["step_seconds"]


def seconds_of(step):
    """Median of a few steps, after one that wakes the threads up."""
    step()
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(program, problem, rounds):
    """Name -> median over the rounds."""
    contenders = {"onebit": lambda: onebit_seconds(program, problem)}
    for name, step in peers(problem, LR).items():
        step()  # compiles
        contenders[name] = lambda step=step: seconds_of(step)
    times = {name: [] for name in contenders}
    for done in range(rounds):
        for name, contender in contenders.items():
            times[name].append(contender())
            time.sleep(0.2)  # until idle threads of the last have gone to sleep
        print(f"{problem.name}: round {done + 1} of {rounds}", file=sys.stderr)
    return {name: statistics.median(each) for name, each in times.items()}


def printed_by(*command):
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=here).stdout.strip()


def machine():
    with open("/proc/cpuinfo") as info:
        names = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    return f"{len(CORES)} cores of {names[0] if names else platform.machine()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("onebit", help="path of the program")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--models", default=",".join(PROBLEMS))
    arguments = parser.parse_args()
    torch.set_num_threads(len(CORES))
    program = os.path.abspath(arguments.onebit)
    versions = [printed_by(program, "--version") + " at " + printed_by("git", "describe", "--always", "--dirty"),
                f"PyTorch {torch.__version__}", f"JAX {jax.__version__}", f"Python {platform.python_version()}"]
    print(f"{', '.join(versions)}; {machine()}; medians of {arguments.rounds} rounds of {STEPS} steps\n")
    print("| step | program | ms | times onebit's |\n|---|---|---|---|")
    for name in arguments.models.split(","):
        check(TINY[name])
        problem = PROBLEMS[name]()
        medians = measure(program, problem, arguments.rounds)
        label = f"{name}, {problem.workers} x {problem.batch}"
        for contender, seconds in medians.items():
            print(f"| {label} | {contender} | {1e3 * seconds:.1f} | {seconds / medians['onebit']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
