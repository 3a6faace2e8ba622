"""onebit.torch.record: traces hold each worker's gradients, from a loop in one process and from two processes of
DistributedDataParallel, and their replays end where torch's own optimizer did."""
import functools
import json
import multiprocessing
import os
import pathlib
import unittest

import support

support.need("torch", "h5py")

import h5py
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import onebit.torch

STEPS, WORKERS = 8, 2


def network():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Tanh(), nn.Flatten(), nn.Linear(27, 5), nn.ReLU(), nn.Linear(5, 3))
    return module.to(memory_format=torch.channels_last)


def loss_of(module, step, worker):
    generator = torch.Generator().manual_seed(100 * step + worker)
    x = torch.randn(6, 2, 4, 4, generator=generator)
    return nn.functional.cross_entropy(module(x), x.flatten(1)[:, :3].argmax(1))


def train_in_one_process(path, **more):
    """Returns the module after a recorded training with Adam."""
    module = network()
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
    with onebit.torch.record(path, module, WORKERS, **more) as trace:
        for step in range(STEPS):
            trace.backward(loss_of(module, step, worker) for worker in range(WORKERS))
            optimizer.step()
    return module


def train_as_a_rank(rank):
    """Trains and records as one of two processes, in several ways."""
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=rank, world_size=WORKERS)
    state = powerSGD_hook.PowerSGDState(process_group=None, start_powerSGD_iter=2, min_compression_rate=0.1)
    ways = {"ddp.h5": {}, "ddp-compact.h5": {"compact": True}, "power.h5": {"hook": powerSGD_hook.powerSGD_hook, "state": state}}
    for path, more in ways.items():
        module = DistributedDataParallel(network(), bucket_cap_mb=1e-4)  # a bucket for each tensor
        optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
        with onebit.torch.record(path, module, **more) as trace:
            for step in range(STEPS):
                optimizer.zero_grad()
                loss = loss_of(module, step, rank)
                if path != "power.h5":
                    trace.loss(loss if step % 2 else loss.item())
                loss.backward()
                optimizer.step()
        optimizer.zero_grad()
        loss_of(module, STEPS, rank).backward()  # after the trace is closed
    errors = []
    for steps_with_losses in (((), (0, 1)), ((0,),), ((0, 1), ())):  # the ranks that give a loss, in each step
        module = DistributedDataParallel(network())
        with onebit.torch.record(f"refused{len(errors)}.h5", module) as trace:
            try:
                for ranks in steps_with_losses:
                    loss = loss_of(module, 0, rank)
                    if rank in ranks:
                        trace.loss(loss)
                    loss.backward()
            except RuntimeError as error:
                errors.append(str(error))
    for call in (lambda: [trace.loss(0.5) for trace in [onebit.torch.record("twice.h5", DistributedDataParallel(network()))]
                          for _ in range(2)], lambda: trace.loss(0.5)):
        try:
            call()
        except ValueError as error:
            errors.append(str(error))
    pathlib.Path(f"errors{rank}.json").write_text(json.dumps(errors))
    dist.destroy_process_group()


class Record(support.InOwnFolder):
    def trace(self, path):
        with h5py.File(path, "r") as file:
            return {name: file[name][...] for name in file}

    def test_a_replay_goes_where_torch_went(self):
        module = train_in_one_process("loop.h5")
        trace = self.trace("loop.h5")
        self.assertEqual(trace["gradients"].shape, (STEPS, WORKERS, trace["x0"].size))
        self.assertEqual(trace["tensor_shapes"].tolist(), [[3, 8], [3, 0], [5, 27], [5, 0], [3, 5], [3, 0]])
        start = network()
        for worker in range(WORKERS):
            start.zero_grad()
            loss = loss_of(start, 0, worker)
            loss.backward()
            flat = torch.cat([p.grad.flatten() for p in start.parameters()])
            np.testing.assert_allclose(trace["gradients"][0, worker], flat, atol=1e-7)
            self.assertAlmostEqual(trace["losses"][0, worker], loss.item(), places=6)
        self.onebit("replay", "loop.h5", "--optimizer", "adam", "--optimizer.lr", 1e-2, "-o", "params.h5", "--log", "log.h5")
        end = torch.cat([p.detach().flatten() for p in module.parameters()])
        self.assertGreater(np.abs(trace["x0"] - end.numpy()).max(), 0.05)
        np.testing.assert_allclose(support.columns("params.h5", "params")[0][-1], end, atol=1e-6)
        np.testing.assert_allclose(support.columns("log.h5", "steps/loss")[0], trace["losses"].mean(axis=1), rtol=1e-12)

    def test_compact_traces_hold_the_norms(self):
        train_in_one_process("loop.h5")
        train_in_one_process("compact.h5", compact=True)
        full, compact = self.trace("loop.h5"), self.trace("compact.h5")
        ends = np.cumsum(full["tensor_sizes"])[:-1]
        squares = [[(part ** 2).sum() for part in np.split(mean, ends)] for mean in full["gradients"].mean(axis=1)]
        np.testing.assert_allclose(compact["gradient_squares"], squares, rtol=1e-5)
        np.testing.assert_array_equal(compact["losses"], full["losses"])

    def test_each_rank_is_a_worker(self):
        train_in_one_process("loop.h5")
        train_in_one_process("compact.h5", compact=True)
        fork = multiprocessing.get_context("fork")
        ranks = [fork.Process(target=train_as_a_rank, args=(rank,)) for rank in range(WORKERS)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(120)
            rank.kill()
            self.assertEqual(rank.exitcode, 0)
        loop, ddp, power = map(self.trace, ("loop.h5", "ddp.h5", "power.h5"))
        for name in ("x0", "tensor_sizes", "tensor_shapes"):
            np.testing.assert_array_equal(ddp[name], loop[name])
        np.testing.assert_allclose(ddp["gradients"], loop["gradients"], atol=1e-6)
        self.assertEqual(power["gradients"].shape, ddp["gradients"].shape)
        np.testing.assert_allclose(power["gradients"][:3], loop["gradients"][:3], atol=1e-6)  # before it compresses
        self.assertGreater(np.abs(power["gradients"][-1] - loop["gradients"][-1]).max(), 1e-4)
        one, two = self.trace("compact.h5"), self.trace("ddp-compact.h5")
        for name in ("gradient_squares", "gradient_l1", "sign_changes"):
            np.testing.assert_allclose(two[name], one[name], rtol=1e-4)
        np.testing.assert_allclose(ddp["losses"], loop["losses"], rtol=1e-5)
        np.testing.assert_allclose(two["losses"][:, 0], loop["losses"].mean(axis=1), rtol=1e-5)
        self.assertNotIn("losses", power)
        self.onebit("replay", "ddp.h5", "--optimizer", "adam", "--log", "log.h5")
        np.testing.assert_allclose(support.columns("log.h5", "steps/loss")[0], loop["losses"].mean(axis=1), rtol=1e-5)
        hint = "call loss() before each backward() on every rank, or never"
        expected = (f"ValueError: step 2 has losses, unlike the steps before: {hint}",
                    f"ValueError: step 1 has losses of ranks [0] only: {hint}",
                    f"ValueError: step 2 has no loss, unlike the steps before: {hint}",
                    "the loss of this step has already been given: give it once, before backward()", "the trace is closed")
        for rank in range(WORKERS):
            errors = json.loads(pathlib.Path(f"errors{rank}.json").read_text())
            self.assertEqual(len(errors), len(expected))
            for error, text in zip(errors, expected):
                self.assertIn(text, error)

    def test_what_is_not_trained_is_left_out(self):
        module = nn.ModuleDict({"used": nn.Linear(2, 1), "unused": nn.Linear(3, 1), "fixed": nn.Linear(1, 1).requires_grad_(False)})
        with onebit.torch.record("trace.h5", module, 2) as trace:
            trace.backward(module["fixed"](module["used"](torch.ones(1, 2))).sum() for _ in range(2))
        self.assertIsNone(module["unused"].weight.grad)
        self.assertIsNotNone(module["used"].weight.grad)
        gradients = self.trace("trace.h5")["gradients"]
        self.assertEqual(gradients.shape, (1, 2, 7))
        self.assertTrue((gradients[..., 3:] == 0).all() and (gradients[..., :3] != 0).all())

    def test_errors_name_what_is_wrong(self):
        module = nn.Linear(2, 1)
        refuse = functools.partial(self.assertRaisesRegex, Exception)
        with refuse("give the number of workers"):
            onebit.torch.record("trace.h5", module)
        with refuse("a hook needs a DistributedDataParallel"):
            onebit.torch.record("trace.h5", module, 2, hook=print)
        with refuse("no parameter to train"):
            onebit.torch.record("trace.h5", nn.ReLU(), 2)
        trace = onebit.torch.record("trace.h5", module, 2)
        with refuse(r"gradients with \[3\] elements, expected 2 with 3 each"):
            trace.backward([module(torch.ones(2)).sum()])
        trace.close()
        with refuse("the trace is closed"):
            trace.backward([])
        with refuse("^trace.h5 already exists; remove it, or record to another path$"):
            onebit.torch.record("trace.h5", module, 2)


if __name__ == "__main__":
    unittest.main()
