"""onebit.torch against the simulator.

Processes that talk over gloo train small modules; the program replays their gradients. Everything has to have the same
bits. Skipped where torch is missing, unless ONEBIT_REQUIRE names it."""
from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import h5py
import numpy as np

import support

support.need("torch")

import torch.distributed

if not torch.distributed.is_gloo_available():
    support.skip("torch", "torch has no gloo")

import ddp_jobs
from onebit.torch import _library
from support import PROGRAM

HERE = pathlib.Path(__file__).resolve().parent
# By default, every process has one thread per core, and on a machine with few cores they have to take turns.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
               "PYTHONPATH": f"{HERE.parent.parent / 'python'}:{HERE}"}


@functools.lru_cache(maxsize=None)
def everything_seen():
    """Runs all jobs in processes, which start once. Returns what each of them saw."""
    with tempfile.TemporaryDirectory() as folder:
        processes = [subprocess.Popen([sys.executable, HERE / "ddp_jobs.py", str(rank), folder], env=ENVIRONMENT)
                     for rank in range(max(ddp_jobs.JOBS))]
        try:
            if any([process.wait(timeout=280) for process in processes]):
                raise AssertionError("a process failed")
        finally:
            for process in processes:
                process.kill()
        return [dict(np.load(f"{folder}/{rank}.npz")) for rank in range(len(processes))]


def results(job, size):
    """Returns what each process saw in a job of `size` processes."""
    start = f"{size} {job}/"
    return [{name[len(start):]: values for name, values in rank.items() if name.startswith(start)}
            for rank in everything_seen()[:size]]


class Ranks(unittest.TestCase):
    shapes = [tuple(p.shape) for p in ddp_jobs.net().parameters()]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def onebit(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], env=ENVIRONMENT, cwd=self.folder, check=True,
                              capture_output=True, text=True).stdout

    def replay(self, name, ranks, case, *options):
        """Replays the gradients that the ranks recorded. Returns the parameters after each step, and the log."""
        with h5py.File(self.folder / f"{name}.h5", "w") as trace:
            trace["gradients"] = np.stack([rank[f"{case}/gradients"] for rank in ranks], axis=1)
            trace["x0"] = ranks[0][f"{case}/x0"]
            trace["tensor_sizes"] = np.array([int(np.prod(shape)) for shape in self.shapes])
            trace["tensor_shapes"] = np.array([shape if len(shape) > 1 else (shape[0], 0) for shape in self.shapes])
        self.onebit("replay", f"{name}.h5", *options, "-o", f"{name}-out.h5", "--log", f"{name}-log.h5")
        with h5py.File(self.folder / f"{name}-out.h5") as out:
            return out["params"][:], h5py.File(self.folder / f"{name}-log.h5")

    def require_traffic(self, ranks, case, log):
        """Checks that each rank counts what the log counts. Returns the bytes that all ranks together really sent in
        each step, and those that the log counts for all of them."""
        steps = log["steps"]
        for rank in ranks:
            for name, column in (("up", "bytes_up"), ("down", "bytes_down"), ("messages", "messages")):
                np.testing.assert_array_equal(rank[f"{case}/{name}"], steps[column][:], f"{case} {name}")
        return sum(rank[f"{case}/sent"] for rank in ranks), len(ranks) * (steps["bytes_up"][:] + steps["bytes_down"][:])

    def require_bits(self, ranks, case, params):
        for rank in ranks:
            np.testing.assert_array_equal(rank[f"{case}/params"].view(np.uint32), params.view(np.uint32), case)
        self.assertGreater(np.abs(np.diff(params, axis=0)).max(), 0)


class Hook(Ranks):
    def check(self, size):
        ranks = results("hooks", size)
        for number, (case, (codec, feedback, options)) in enumerate(ddp_jobs.cases(size).items()):
            with self.subTest(case=case, ranks=size):
                # A trace has no names of tensors.
                dashes = [word for name, value in options.items()
                          for word in (f"--{name}", str(value).replace("*bias", "tensor1,tensor3,tensor5"))]
                params, log = self.replay(f"case{number}", ranks, case, "--optimizer", "ef-sgd", "--optimizer.lr",
                                          repr(ddp_jobs.LR), "--codec", codec, "--feedback", feedback, *dashes)
                self.require_bits(ranks, case, params)
                sent, logged = self.require_traffic(ranks, case, log)
                # The log rounds the servers' chunks of a tensor up to their mean; terngrad's scales are no payload.
                exact = codec in ("sign-l2", "top-k", "power-sgd", "count-sketch") and not {
                    "codec.down", "codec.packing"} & set(options)
                slack = 0 if exact else len(self.shapes) * size * (size - 1) * (5 if codec == "terngrad" else 1)
                if codec == "qsgd" and "codec.packing" in options:  # the chunks that stay on their rank differ in size
                    slack += 0.02 * logged.min()
                self.assertLessEqual(np.abs(sent - logged).max(), slack + 1e-6, case)  # thirds are rounded

    def test_two_ranks_have_the_bits_of_the_simulator(self):
        self.check(2)

    def test_three_ranks_have_the_bits_of_the_simulator(self):
        self.check(3)

    def test_pytorchs_power_sgd_hook_differs_from_ours_by_rounding(self):
        rank = results("power_sgd", 2)[0]
        ours, theirs = (rank[f"{name}/means"].astype(np.float64) for name in ("ours", "theirs"))
        difference = np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)
        self.assertLess(difference[0], 5e-7)
        self.assertLess(difference.max(), 5e-6)
        self.assertGreater(difference.max(), 0)

    def test_the_group_is_that_of_the_module(self):
        for rank, gradient, sign in zip(results("groups", 2), (1, -3), (1, -1)):
            self.assertEqual(rank["hook"], gradient)
            np.testing.assert_allclose(rank["optimizer"], -sign, rtol=1e-6)

    def test_what_does_not_fit_is_refused_in_one_line(self):
        expected = {
            "codec": "unknown codec (topk); did you mean top-k?",
            "option": "unknown option (codec.kk); did you mean codec.k?",
            "unread option": "option has no effect (codec.k with codec sign-l2); leave it out",
            "value": "malformed option value (codec.k 'many'); expected: a finite number",
            "channel": "codec does not fit its channel: its payloads cannot be added up (codec sign-l1, channel",
            "tree": "the channel tree exists in simulations only",
            "dense": "pattern matches no tensor (codec.dense nothing*); the tensors are 0.weight, 0.bias, 2.weight",
            "device": "the codecs take tensors on a CPU only (weight is on meta); move the module to the CPU",
            "type": "the codecs take float32 only (weight is torch.float64); call module.float()",
            "freeze": "a fraction of an unknown number of steps (freeze fraction:0.7); pass steps=...",
            "late freeze": "the run would never reach the compression stage (freeze fixed:10 needs more than 10 steps",
            "state": "the state does not fit (option codec: saved sign-l2, now sign-l1); every rank loads",
            "state of a shorter run": "the state does not fit (steps: saved 10, now 40)",
            "incomplete state": "a part of the state is missing (",
            "no step": "not a state of the codecs ('step' is missing); load what",
            "ranks' options": "the ranks differ (option codec.levels: 7 on rank 0, 5 on rank 1); give every rank",
            "ranks' codecs": "the ranks differ (option codec: sign-l2 on rank 0, top-k on rank 1)",
            "ranks' modules": "the ranks differ (tensor 4: None on rank 0, 4.weight, 85 elements, 5 rows on rank 1)",
            "ranks' steps": "the ranks differ (step: 1 on rank 0, 2 on rank 1)",
            "outside": "this process is not in the process group (rank ",
            "other ranks": "the group has other ranks than the module's process_group ([",
            "two hooks": "the module has another communication hook (",
            "parameters": "the codecs take a module (got a generator); pass the module itself, not its parameters",
            "number": "freeze is a text (freeze 5); pass freeze='fixed:K'",
            "ranks' parameters": "the ranks differ (the parameters' hash: ",
            "momentum": "only the learning rate may change (betas (0.9, 0.999), now (0.5, 0.999)); pass cycle_",
            "decay": "only the learning rate may change (weight_decay 0.0, now 0.1); ",
        }
        for number, rank in enumerate(results("failures", 2)):
            texts = {name: str(rank[name]) for name in rank}
            for name, text in expected.items():
                self.assertIn(f"OnebitError: {text}", texts[name])
            self.assertIn("parameter group", texts["no groups"])
            self.assertEqual(texts["step after it"], "2")
            refused = ("the ranks differ (state: loaded on rank 0, refused on rank 1)", "not a state of the codecs")
            self.assertIn(f"OnebitError: {refused[number]}", texts["one rank's state"])
            vector = "worker 1's vector for tensor 0.weight" if number == 1 else ""
            self.assertIn(f"OnebitError: {vector or 'the update'} is not finite (step 3); ", texts["not finite"])
            self.assertIn(f"OnebitError: {vector or 'the mean'} is not finite (step 1); ", texts["not finite, hook"])


class Docs(Ranks):
    def test_the_python_in_the_docs_runs_as_it_is_written(self):
        for number, rank in enumerate(results("docs", 2)):
            seen = {name: value.tolist() for name, value in rank.items()}
            ddp = {"gradients 0": [2, 2, sum(map(np.prod, self.shapes))], "losses 0": 2} if number == 0 else {}
            self.assertEqual(seen, {"steps of the hook": 1, "phase of the optimizer": "compression", **ddp,
                                    "gradients 1": [3, 4, 4], "losses 1": 0})


class Library(unittest.TestCase):
    def test_the_variable_wins_and_an_old_cpu_gets_the_second_library(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder)
            libraries = [package / "program/lib/onebit" / name for name in (_library.NAME, _library.OLDER)]
            libraries[0].parent.mkdir(parents=True)

            def found(variable="", old_cpu=False):
                with unittest.mock.patch.dict(os.environ, ONEBIT_CODECS=str(variable)), \
                        unittest.mock.patch.object(_library, "_PACKAGE", package), \
                        unittest.mock.patch.object(_library._program, "find", return_value=folder + "/bin/onebit"), \
                        unittest.mock.patch.object(_library, "_has_x86_64_v3", return_value=not old_cpu):
                    return pathlib.Path(_library.find())

            self.assertRaisesRegex(_library.OnebitError, "the library of the codecs was not found", found)
            installed = package / "lib/onebit" / _library.NAME  # as cmake --install places program and library
            installed.parent.mkdir(parents=True)
            installed.touch()
            self.assertEqual(found(), installed.resolve())
            libraries[0].touch()
            self.assertEqual([found(), found(old_cpu=True)], [libraries[0], libraries[0]])
            libraries[1].touch()
            self.assertEqual([found(), found(old_cpu=True)], libraries)
            self.assertEqual(found(variable=__file__), pathlib.Path(__file__).absolute())
            self.assertRaisesRegex(_library.OnebitError, "ONEBIT_CODECS=nowhere", found, "nowhere")

    def test_ranks_and_tensors_that_make_no_sense_are_refused(self):
        for rank, rows, text in ((2, 2, "^invalid ranks (rank 2 of 2); "),
                                 (0, 3, "^the size of a tensor is not a multiple of its rows (w: 4 elements, 3 rows); ")):
            with self.assertRaisesRegex(_library.OnebitError, text.replace("(", "\\(").replace(")", "\\)")):
                _library.Worker("mean", rank, 2, None, [("w", 4, rows)], {}, 1, 1, 0)


class Adam(Ranks):
    OPTIONS = ("--optimizer", "onebit-adam", "--optimizer.lr", ddp_jobs.ADAM["lr"], "--optimizer.beta2",
               ddp_jobs.ADAM["betas"][1], "--optimizer.weight-decay", ddp_jobs.ADAM["weight_decay"], "--freeze",
               ddp_jobs.ADAM["freeze"], "--optimizer.variance-floor", "mean:0.01")

    def test_two_ranks_have_the_bits_of_the_simulator(self):
        ranks = results("adam", 2)
        for case in ("through", "resumed"):
            params, log = self.replay(case, ranks, case, *self.OPTIONS)
            self.require_bits(ranks, case, params)
            sent, logged = self.require_traffic(ranks, case, log)
            np.testing.assert_array_equal(sent, logged)
        self.compare_training(ranks)

    def compare_training(self, ranks):
        """The simulator trains the same module."""
        (self.folder / "worker.py").write_text(
            "import ddp_jobs, onebit.torch, torch\ntorch.set_num_threads(1)\n"
            "onebit.torch.serve(ddp_jobs.net, 'cross_entropy', examples=ddp_jobs.examples)\n")
        self.onebit("run", "--model", "external", "--model.command", f"{sys.executable} worker.py", "--workers", 2,
                    "--batch", 16, "--steps", ddp_jobs.STEPS, *self.OPTIONS, "--log.every", 1, "-o", "run.h5")
        losses = np.mean([rank["through/losses"] for rank in ranks], axis=0)
        with h5py.File(self.folder / "run.h5") as log:
            np.testing.assert_array_equal(losses, log["steps/loss"][:])
            self.require_traffic(ranks, "through", log)
        self.assertLess(losses[-1], 0.1 * losses[0])
