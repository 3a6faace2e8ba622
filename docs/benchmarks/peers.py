#!/usr/bin/env python3
"""Times the same step in onebit, PyTorch and JAX, interleaved on one machine, and prints a Markdown table or JSON.

The step computes N workers' gradients, then the compressed stage of 1-bit Adam (momentum, one sign per number and one
scale per tensor, errors fed back at workers and server, frozen variance), in float32, on two cores or a GPU.

    python3 -m venv peers && peers/bin/pip install numpy jax torch
    peers/bin/python docs/benchmarks/peers.py build/release/experiments/onebit

If JAX is not installed, or not for this device, the table omits it.

The frameworks have some advantages: their batch is prepared beforehand (onebit samples it and masks tokens), their
signs are not packed to bits, and their server has one scale per tensor (onebit's has one for each of N chunks). For
bert-nano they compute logits only at the masked positions. Each framework is first checked against NumPy, on tiny
sizes."""
import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time

ON_GPU = any(word.endswith("cuda") for word in sys.argv)
CORES = sorted(os.sched_getaffinity(0))[:2]
if not ON_GPU:
    os.sched_setaffinity(0, CORES)  # before the frameworks count them

import numpy as np
import torch

import peers_reference as reference
import peers_torch

try:
    import jax
    import peers_jax
    HAS_JAX = jax.devices()[0].platform == ("gpu" if ON_GPU else "cpu")
except (ImportError, RuntimeError):
    HAS_JAX = False

PROBLEMS = {
    "mlp": lambda: reference.mlp([784, 256, 256, 10], workers=256 if ON_GPU else 64, batch=16),
    "bert-nano": lambda: reference.bert(vocabulary=257, width=128, heads=4, depth=2, context=64, chosen=10,
                                        workers=64 if ON_GPU else 16, batch=4),
}
TINY = {
    "mlp": lambda: reference.mlp([5, 4, 3], workers=3, batch=2),
    "bert-nano": lambda: reference.bert(vocabulary=5, width=4, heads=2, depth=1, context=3, chosen=2, workers=2,
                                        batch=2),
}
LR = 1e-12  # as in `onebit bench step`: an arbitrary variance must not make the weights diverge
STEPS = 5  # of each program per round


def peers(problem, lr, variants, double=False):
    """Maps names to steps, all from the same state."""
    state = reference.initial_state(problem)
    steps = {name: peers_torch.Step(problem, state, lr, variant, torch.float64 if double else torch.float32)
             for name, variant in peers_torch.VARIANTS.items() if variant in variants}
    if HAS_JAX:
        steps["JAX, jit of vmap"] = peers_jax.Step(problem, state, lr, np.float64 if double else np.float32)
    return steps


def double_precision():
    return jax.enable_x64(True) if HAS_JAX else contextlib.nullcontext()


def check(make, variants):
    """Checks two steps on tiny sizes, in double precision, against NumPy."""
    problem, lr = make(), 1e-2
    expected = reference.initial_state(problem)
    with double_precision():
        steps = peers(problem, lr, variants, double=True)
        for _ in range(2):
            reference.step(problem, expected, lr)
            for step in steps.values():
                step()
        for framework, step in steps.items():
            for kind, tensors in expected.items():
                for name, value in tensors.items():
                    found = step.state[kind][name]
                    found = found.cpu() if isinstance(found, torch.Tensor) else found
                    np.testing.assert_allclose(np.asarray(found), value, rtol=1e-5, atol=1e-7,
                                               err_msg=f"{framework}, {problem.name}: {kind} of {name}")


def onebit_seconds(program, problem):
    options = ["--workers", problem.workers, "--batch", problem.batch, "--optimizer", "onebit-adam",
               *(["--devices", "cuda"] if ON_GPU else ["--threads", len(CORES)]), "--rounds", STEPS, "--json"]
    return json.loads(printed_by(program, "bench", "step", *problem.onebit, *map(str, options)))["step_seconds"]


def seconds_of(step):
    """Median time of STEPS steps, after one that wakes the threads."""
    step()
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(program, problem, variants, rounds):
    """Maps names to medians over the rounds."""
    contenders = {"onebit": lambda: onebit_seconds(program, problem)}
    for name, step in peers(problem, LR, variants).items():
        step()  # compiles
        contenders[name] = lambda step=step: seconds_of(step)
    times = {name: [] for name in contenders}
    for done in range(rounds):
        for name, contender in contenders.items():
            times[name].append(contender())
            time.sleep(0.2)  # until idle threads of the previous program sleep
        print(f"{problem.name}: round {done + 1} of {rounds}", file=sys.stderr)
    return {name: statistics.median(each) for name, each in times.items()}


def printed_by(*command):
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=here).stdout.strip()


def version_of(program):
    """The program's version, with the commit if there is one."""
    version = printed_by(program, "--version")
    try:
        return version + " at " + printed_by("git", "describe", "--always", "--dirty")
    except (OSError, subprocess.CalledProcessError):
        return version


def machine():
    if ON_GPU:
        return torch.cuda.get_device_name()
    with open("/proc/cpuinfo") as info:
        names = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    return f"{len(CORES)} cores of {names[0] if names else platform.machine()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("onebit", help="path of the program")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--models", default=",".join(PROBLEMS))
    parser.add_argument("--variants", default=",".join(peers_torch.VARIANTS.values()), help="variants of PyTorch")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    variants = arguments.variants.split(",")
    torch.set_default_device(arguments.device)
    torch.set_num_threads(len(CORES))
    program = os.path.abspath(arguments.onebit)
    versions = [version_of(program), f"PyTorch {torch.__version__}", *([f"JAX {jax.__version__}"] if HAS_JAX else []),
                f"Python {platform.python_version()}"]
    if not arguments.json:
        print(f"{', '.join(versions)}; {machine()}; medians of {arguments.rounds} rounds of {STEPS} steps\n")
        print("| step | program | ms | relative to onebit |\n|---|---|---|---|")
    results = []
    for name in arguments.models.split(","):
        check(TINY[name], variants)
        problem = PROBLEMS[name]()
        medians = measure(program, problem, variants, arguments.rounds)
        label = f"{name}, {problem.workers} x {problem.batch}"
        results.append({"step": label, "seconds": medians})
        for contender, seconds in medians.items():
            if not arguments.json:
                print(f"| {label} | {contender} | {1e3 * seconds:.2f} | {seconds / medians['onebit']:.1f} |", flush=True)
    if arguments.json:
        print(json.dumps({"versions": versions, "machine": machine(), "steps": results}))


if __name__ == "__main__":
    main()
