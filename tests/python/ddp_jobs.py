"""What one process of a test with torch.distributed does: ddp_jobs.py RANK FOLDER"""
import os
import pathlib
import re
import sys
import tempfile
import types

import h5py
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import onebit.torch

STEPS = 50
LR = 2.0 ** -4  # products with a power of two are exact, so torch's SGD and the simulator's round alike
ADAM = {"lr": 0.01, "betas": (0.9, 0.99), "weight_decay": 0.01, "freeze": "fixed:20"}

# Name of a case: codec, feedback, further options.
CASES = {f"{codec} {feedback}": (codec, feedback, options)
         for codec, options in (("sign-l2", {}), ("top-k", {"codec.k": 0.05}), ("qsgd", {"codec.levels": 7}),
                                ("power-sgd", {"codec.rank": 2}))
         for feedback in ("ef", "none")}
MORE_CASES = {
    "sign-l2 fused": ("sign-l2", "auto", {"optimizer.granularity": "fused"}),
    "top-k through servers": ("top-k", "ef", {"codec.k": 0.05, "codec.down": "fp16"}),
    "terngrad": ("terngrad", "auto", {}),
    "count-sketch": ("count-sketch", "ef", {"codec.k": 20}),
    "threshold": ("threshold", "ef", {}),
    "dct": ("dct", "ef", {}),
    "top-k, packed": ("top-k", "ef", {"codec.k": 0.05, "codec.packing": "delta"}),
    "qsgd, packed": ("qsgd", "auto", {"codec.packing": "elias"}),
    "int8, some dense": ("int8", "ef", {"codec.dense": "*bias", "codec.dense-steps": 3, "feedback.dtype": "bf16"}),
}


def cases(size):
    return {**CASES, **MORE_CASES} if size == 2 else CASES


def net():
    return torch.nn.Sequential(torch.nn.Linear(13, 24), torch.nn.ReLU(), torch.nn.Linear(24, 17), torch.nn.ReLU(),
                               torch.nn.Linear(17, 5))


def examples(batch):
    """Inputs and labels of a batch: classes whose means differ, drawn from (seed, step, worker)."""
    random = np.random.default_rng([batch.seed, batch.step, batch.worker])
    labels = random.integers(0, 5, 16)
    means = np.random.default_rng(7).normal(size=(5, 13))
    return torch.tensor(means[labels] + random.normal(size=(16, 13)), dtype=torch.float32), torch.tensor(labels)


class Batch:
    def __init__(self, step, worker, seed=1):
        self.step, self.worker, self.seed = step, worker, seed


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors]).numpy().copy()


def wrapped():
    """A module in several small buckets, which are rebuilt after the first step."""
    torch.manual_seed(1)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 600
    return DistributedDataParallel(net(), bucket_cap_mb=0.001)


def train_through(case, rank):
    """Trains with SGD through a hook. Returns the gradients before it, and parameters and numbers after each step."""
    model = wrapped()
    state, hook = make(model, case)
    names = {p: i for i, p in enumerate(model.module.parameters())}
    local, layouts = [None] * len(names), []  # gradients; in each step, the parameters of each bucket

    def recording(_, bucket):
        for p, g in zip(bucket.parameters(), bucket.gradients()):
            local[names[p]] = g.clone()
        layouts[-1].append([names[p] for p in bucket.parameters()])
        return hook(state, bucket)

    model.register_comm_hook(None, recording)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    rows = {"x0": flat(model.module.parameters()), "gradients": [], "params": [], "up": [], "down": [], "messages": [],
            "sent": []}
    for step in range(1, STEPS + 1):
        inputs, labels = examples(Batch(step, rank))
        layouts.append([])
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        rows["gradients"].append(flat(local))
        rows["params"].append(flat(model.module.parameters()))
        report = state.report
        for name, value in (("up", report.bytes_up), ("down", report.bytes_down), ("messages", report.messages),
                            ("sent", state.sent_bytes)):
            rows[name].append(value)
        if step == STEPS // 2:  # a new state takes over what the old one saved
            saved = state.state_dict()
            state, _ = make(model, case)
            state.load_state_dict(saved)
    assert len(layouts[1]) > 1 and layouts[1] != layouts[0], f"the test needs buckets that are rebuilt: {layouts[:2]}"
    return rows


def make(model, case):
    codec, feedback, options = {**CASES, **MORE_CASES}[case]
    return onebit.torch.ddp_hook(model, codec, feedback, options=options)


def hooks(rank, size):
    """Trains through every case."""
    results = {}
    for case in cases(size):
        for name, values in train_through(case, rank).items():
            results[f"{case}/{name}"] = np.array(values)
    return results


def adam(rank, size):
    """Trains with 1-bit Adam, and once more with a stop in the middle."""
    results = {}
    for case in ("through", "resumed"):
        model = wrapped()
        module = model if case == "through" else model.module

        def make_optimizer():
            return onebit.torch.OnebitAdam(module, steps=STEPS, **ADAM)

        optimizer = make_optimizer()
        lists = ("gradients", "params", "losses", "up", "down", "messages", "sent", "phases", "events")
        rows = {"x0": flat(model.module.parameters()), **{name: [] for name in lists}}
        for step in range(1, STEPS + 1):
            inputs, labels = examples(Batch(step, rank))
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(inputs), labels)
            loss.backward()
            rows["gradients"].append(flat(p.grad for p in model.module.parameters()))
            optimizer.step()
            rows["losses"].append(loss.item())
            rows["params"].append(flat(model.module.parameters()))
            report = optimizer.report
            for name, value in (("up", report.bytes_up), ("down", report.bytes_down), ("messages", report.messages),
                                ("sent", optimizer.sent_bytes), ("phases", report.phase)):
                rows[name].append(value)
            rows["events"] += report.events
            if case == "resumed" and step in (10, 30):
                saved = optimizer.state_dict()
                optimizer = make_optimizer()
                optimizer.load_state_dict(saved)
        results.update({f"{case}/{name}": np.array(values) for name, values in rows.items()})
    return results


def power_sgd(rank, size):
    """PyTorch's own PowerSGD hook and ours, from the same right factors, on the same gradients."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as theirs
    results = {}
    gradients = np.random.default_rng([5, rank]).normal(size=(STEPS, 24 * 13)).astype(np.float32)
    common = np.random.default_rng(6).normal(size=(24, 3)) @ np.random.default_rng(7).normal(size=(3, 13)) * 4
    given = [torch.from_numpy((g.reshape(24, 13) + common).astype(np.float32)) for g in gradients]
    for name in ("ours", "theirs"):
        module = torch.nn.Linear(13, 24, bias=False)
        model = DistributedDataParallel(module)
        state, hook = onebit.torch.ddp_hook(model, "power-sgd", options={"codec.rank": 2})
        if name == "theirs":
            start = state.state_dict()["items"]["right_factors"]
            state = theirs.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
            hook = theirs.powerSGD_hook
            state.iter = 2  # compress from the first step
            state.p_memory_dict[0], state.q_memory_dict[0] = torch.zeros(24 * 2), start.clone()
        model.register_comm_hook(state, hook)
        means = []
        for gradient in given:
            module.zero_grad()
            (model(torch.eye(13)) * gradient.t()).sum().backward()
            means.append(flat([module.weight.grad]))
        results[f"{name}/means"] = np.array(means)
    results["gradients"] = np.array([flat([g]) for g in given])
    return results


def groups(rank, size):
    """The means of modules that are trained by one rank each; two optimizers of one module, one after the other."""
    results = {}
    groups = [dist.new_group([each]) for each in range(size)]
    for name in ("hook", "optimizer"):
        model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False), process_group=groups[rank])
        torch.nn.init.zeros_(model.module.weight)
        if name == "hook":
            options = {"codec.k": 1, "codec.shared": np.bool_(False)}
            model.register_comm_hook(*onebit.torch.ddp_hook(model, "random-k", options=options))
        else:
            onebit.torch.OnebitAdam(model, steps=10)
            optimizer = onebit.torch.OnebitAdam(model, lr=1, steps=10)
        model(torch.full((1, 1), 1.0 if rank == 0 else -3.0)).sum().backward()
        if name == "optimizer":
            optimizer.step()
        results[name] = flat([model.module.weight.grad if name == "hook" else model.module.weight])
    return results


def failures(rank, size):
    """Errors that users see, as texts."""
    texts = {}

    def refuse(name, work):
        try:
            work()
            texts[name] = "nothing was refused"
        except Exception as error:
            texts[name] = f"{type(error).__name__}: {error}"

    module = net()
    refuse("codec", lambda: onebit.torch.ddp_hook(module, "topk"))
    refuse("option", lambda: onebit.torch.ddp_hook(module, options={"codec.kk": 1}))
    refuse("unread option", lambda: onebit.torch.ddp_hook(module, options={"codec.k": 0.1}))
    refuse("value", lambda: onebit.torch.ddp_hook(module, "top-k", options={"codec.k": "many"}))
    refuse("channel", lambda: onebit.torch.ddp_hook(module, "sign-l1", channel="linear"))
    refuse("tree", lambda: onebit.torch.ddp_hook(module, "top-k", channel="tree"))
    refuse("dense", lambda: onebit.torch.ddp_hook(module, options={"codec.dense": "nothing*"}))
    refuse("device", lambda: onebit.torch.ddp_hook(torch.nn.Linear(2, 2, device="meta")))
    refuse("type", lambda: onebit.torch.ddp_hook(torch.nn.Linear(2, 2).double()))
    refuse("freeze", lambda: onebit.torch.OnebitAdam(module))
    refuse("late freeze", lambda: onebit.torch.OnebitAdam(module, steps=10, freeze="fixed:10"))
    saved = onebit.torch.ddp_hook(module)[0].state_dict()
    refuse("state", lambda: onebit.torch.ddp_hook(module, "sign-l1")[0].load_state_dict(saved))
    refuse("ranks' options", lambda: onebit.torch.ddp_hook(module, "qsgd", options={"codec.levels": 7 - 2 * rank}))
    refuse("ranks' codecs", lambda: onebit.torch.ddp_hook(module, "sign-l2" if rank == 0 else "top-k"))
    refuse("ranks' modules", lambda: onebit.torch.OnebitAdam(net()[:3 + 2 * rank], steps=10))
    refuse("ranks' steps", lambda: onebit.torch.ddp_hook(module)[0].load_state_dict({**saved, "step": 1 + rank}))
    refuse("one rank's state", lambda: onebit.torch.ddp_hook(module)[0].load_state_dict(saved if rank == 0 else {}))
    refuse("no step", lambda: onebit.torch.ddp_hook(module)[0].load_state_dict({"facts": {}, "items": {}}))
    groups = [dist.new_group([each]) for each in range(size)]
    refuse("outside", lambda: onebit.torch.ddp_hook(module, group=groups[1 - rank]))
    refuse("other ranks", lambda: onebit.torch.ddp_hook(wrapped(), group=groups[rank]))
    model = wrapped()
    model.register_comm_hook(*onebit.torch.ddp_hook(model))
    refuse("two hooks", lambda: onebit.torch.OnebitAdam(model, steps=10))
    optimizer = onebit.torch.OnebitAdam(module, steps=10, freeze="fixed:1", variance_floor="0")
    for step in range(3):
        for p in module.parameters():
            p.grad = torch.ones_like(p)
        if step == 2 and rank == 1:
            list(module.parameters())[0].grad[0, 0] = float("nan")
        if step < 2:
            optimizer.step()
    saved = optimizer.state_dict()
    items = saved["onebit"]["items"]
    without = {**saved["onebit"], "items": {name: items[name] for name in list(items)[:-1]}}
    refuse("incomplete state", lambda: optimizer.load_state_dict({**saved, "onebit": without}))
    now = optimizer.state_dict()["onebit"]
    assert now["step"] == 2 and all(torch.equal(now["items"][name], items[name]) for name in items)
    refuse("no groups", lambda: optimizer.load_state_dict({**saved, "param_groups": []}))
    texts["step after it"] = str(optimizer.state_dict()["onebit"]["step"])
    refuse("parameters", lambda: onebit.torch.OnebitAdam(module.parameters(), steps=10))
    refuse("number", lambda: onebit.torch.OnebitAdam(module, steps=10, freeze=5))
    own = net()
    with torch.no_grad():
        next(own.parameters()).add_(rank)
    refuse("ranks' parameters", lambda: onebit.torch.OnebitAdam(own, steps=10))
    for name, key, value in (("momentum", "betas", (0.5, 0.999)), ("decay", "weight_decay", 0.1)):
        other = onebit.torch.OnebitAdam(module, steps=10)
        other.param_groups[0][key] = value
        refuse(name, other.step)
    longer = onebit.torch.OnebitAdam(module, steps=40, freeze="fixed:1", variance_floor="0")
    refuse("state of a shorter run", lambda: longer.load_state_dict(saved))
    refuse("not finite", optimizer.step)
    model = wrapped()
    state, hook = make(model, "sign-l2 ef")
    model.register_comm_hook(state, hook)
    inputs = torch.full((1, 13), float("nan") if rank == 1 else 1.0)
    refuse("not finite, hook", lambda: model(inputs).sum().backward())
    return {name: np.array(text) for name, text in texts.items()}


def blocks(page):
    """The Python in a page that names no file of its own."""
    text = (pathlib.Path(__file__).parents[2] / "docs" / page).read_text()
    return [block for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            if not block.startswith("# ")]


def docs(rank, size):
    """Runs the Python in torch.md and replay.md as it is written, in a folder of its own."""
    loss, results = torch.nn.functional.cross_entropy, {}
    batch, ones = examples(Batch(1, rank)), np.ones(2)
    for page in ("torch.md", "replay.md"):
        for number, block in enumerate(blocks(page)):
            ddp = wrapped()
            names = {
                "onebit": onebit, "DistributedDataParallel": DistributedDataParallel, "module": net(), "model": ddp,
                "steps": 10, "batches": iter([batch] * 10),
                "loss_of": lambda model, batch: loss(model(batch[0]), batch[1]),
                "scheduler": types.SimpleNamespace(step=lambda: None),
                "optimizer": types.SimpleNamespace(step=lambda: None),
                "ddp_module": ddp, "loader": [batch] * 2,
                "weight": ones, "bias": ones, "data": [range(4)] * 3,
                "gradients_of": lambda batch: {"weight": ones * batch, "bias": ones}}
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                exec(compile(block, f"{page}, block {number + 1}", "exec"), names)
                if "state" in names:
                    names["loss_of"](names["model"], batch).backward()
                    results["steps of the hook"] = names["state"].step
                if isinstance(names["optimizer"], onebit.torch.OnebitAdam):
                    results["phase of the optimizer"] = names["optimizer"].report.phase
                if os.path.exists("trace.h5"):
                    with h5py.File("trace.h5", "r") as trace:
                        results[f"gradients {number}"] = trace["gradients"].shape
                        results[f"losses {number}"] = len(trace.get("losses", ()))
                os.chdir("/")
    return {name: np.array(value) for name, value in results.items()}


JOBS = {3: (hooks,), 2: (hooks, adam, power_sgd, groups, docs, failures)}  # by the number of ranks


def main():
    rank, folder = int(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    results = {}
    for size, jobs in JOBS.items():
        if rank < size:
            dist.init_process_group("gloo", init_method=f"file://{folder}/meet{size}", rank=rank, world_size=size)
            for job in jobs:
                results.update({f"{size} {job.__name__}/{name}": values for name, values in job(rank, size).items()})
            dist.barrier()
            dist.destroy_process_group()
    np.savez(f"{folder}/{rank}.npz", **results)


if __name__ == "__main__":
    main()
