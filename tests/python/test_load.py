"""onebit.load: single logs, folders, live and killed runs, damaged files."""
import importlib.util
import os
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np
import onebit
from support import PROGRAM, SMALL, InFolder, program

TENSORS = ["layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias"]


class OneLog(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program(f"run {SMALL} --steps 40 --optimizer onebit-adam --freeze fixed:10 --model.layers 32,8,10 --wd 0.5 "
                "--optimizer.no-decay *.bias --log.workers-every 20 --eval.every 10 -o run.h5")
        cls.run_ = onebit.load("run.h5")
        cls.file = h5py.File("run.h5")
        cls.addClassCleanup(cls.file.close)

    def test_settings_have_the_types_of_the_programs_table(self):
        config = self.run_.config
        expected = {"steps": 40, "optimizer.lr": 0.001, "optimizer.nesterov": False, "optimizer.bias-correction": True,
                    "model.layers": [32, 8, 10], "model.top": [], "optimizer.no-decay": ["*.bias"], "data.path": [],
                    "freeze": "fixed:10", "codec.down": "", "log.flush": 2.0, "memory": 0}
        for name, value in expected.items():
            self.assertEqual(config[name], value)
            self.assertIs(type(config[name]), type(value), name)
        self.assertEqual(config["lr"], 0.001)
        self.assertEqual(config["optimizer_weight_decay"], config["wd"])
        self.assertEqual((config.get("lr"), config.get("rate"), config.get("rate", 3)), (0.001, None, 3))
        self.assertTrue("lr" in config and "optimizer_lr" in config and "rate" not in config)
        with self.assertRaises(KeyError):
            config["learning-rate"]
        self.assertEqual(len(config), len(self.file["config"].attrs))

    def test_frames_hold_what_the_file_holds(self):
        run = self.run_
        self.assertEqual(run.evaluations.step.tolist(), [0, 10, 20, 30, 40])
        np.testing.assert_array_equal(run.evaluations.loss, self.file["evaluations/loss"][:])
        self.assertEqual(len(run.steps), 40)
        for name, column in run.steps.items():
            np.testing.assert_array_equal(column, self.file["steps"][name][:], name)
        self.assertEqual(list(run.read("steps", ["loss"])), ["step", "loss"])
        self.assertEqual(list(run.read("steps", "loss")), ["step", "loss"])
        last = run.evaluations.groupby(["optimizer", "lr"]).loss.last()
        self.assertEqual(last["onebit-adam", 0.001], run.evaluations.loss.iloc[-1])
        self.assertEqual(run.events.kind.tolist(), ["freeze"])
        self.assertIn("frozen after 10 dense updates", run.events.text[0])
        self.assertEqual(len(run.probes), 0)

    def test_a_run_is_read_from_any_folder(self):
        run, here = onebit.load("run.h5"), os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir("/")
        self.assertEqual((run.path, len(run.steps)), ("run.h5", 40))

    def test_rows_of_workers_and_tensors_are_named(self):
        workers, tensors = self.run_.workers, self.run_.tensors
        self.assertEqual(workers.worker.tolist(), [0, 1] * (len(workers) // 2))
        losses = workers.pivot(index="step", columns="worker", values="loss")
        np.testing.assert_array_equal(losses, self.file["workers/loss"][:])
        self.assertEqual(tensors.tensor[:4].tolist(), TENSORS)
        wide = tensors.pivot(index="step", columns="tensor", values="variance_l1")[TENSORS]
        np.testing.assert_array_equal(wide, self.file["tensors/variance_l1"][:])

    def test_exchanges_are_in_words(self):
        traffic = self.run_.traffic
        self.assertEqual(set(traffic.collective), {"all_reduce", "all_to_all", "all_gather"})
        self.assertEqual(traffic.payload_bytes.sum(), self.file["traffic"]["payload_bytes"].sum())
        for step, dense in ((1, True), (40, False)):
            rows = traffic[traffic.step == step]
            self.assertEqual(set(rows.collective) == {"all_reduce"}, dense)
        compressed = traffic[traffic.direction == "up"]
        self.assertEqual(set(compressed.tensor), set(TENSORS))
        numbers = self.file["traffic"]["tensor"]
        self.assertEqual((traffic.tensor == "fused").sum(), (numbers == -1).sum())

    def test_repr_says_what_ran_and_how_it_ended(self):
        text = repr(self.run_)
        for part in ("run.h5: finished at step 40 of 40", "onebit-adam, lr 0.001, on mlp and synthetic", "2 workers x 4",
                     "seed 1", "held-out loss", "sent by each worker"):
            self.assertIn(part, text)

    def test_an_unknown_column_is_named(self):
        with self.assertRaisesRegex(onebit.OnebitError, "no column of that name: losses.*run.h5, /steps.*one of"):
            self.run_.read("steps", ["losses"])
        with self.assertRaisesRegex(onebit.OnebitError, "no group of that name: step .*one of steps, workers"):
            self.run_.read("step")

    def test_what_identifies_a_row_is_always_read(self):
        for group, columns, expected in (("workers", ["step", "loss"], ["step", "worker", "loss"]),
                                         ("workers", ["step"], ["step", "worker"]), ("evaluations", [], ["step"]),
                                         ("tensors", ["tensor", "variance_l1"], ["step", "tensor", "variance_l1"]),
                                         ("traffic", ["payload_bytes"], ["step", "payload_bytes"])):
            frame = self.run_.read(group, columns)
            self.assertEqual(list(frame), expected)
            self.assertEqual(len(frame), len(getattr(self.run_, group)))

    def test_a_log_that_lacks_a_dataset_is_damaged(self):
        shutil.copy("run.h5", "lacks.h5")
        with h5py.File("lacks.h5", "r+") as file:
            del file["traffic"], file["model/tensors"]
        run = onebit.load("lacks.h5")
        for name in ("traffic", "tensors"):
            with self.assertRaisesRegex(onebit.OnebitError, "cannot read log: damaged.*lacks.h5, /.*restore the log"):
                getattr(run, name)

    @unittest.skipUnless(importlib.util.find_spec("xarray"), "xarray is not installed")
    def test_dataset_is_step_by_tensor(self):
        data = self.run_.dataset()
        self.assertEqual(data.tensor.values.tolist(), TENSORS)
        np.testing.assert_array_equal(data.variance_l1, self.file["tensors/variance_l1"][:])

    @unittest.skipIf(importlib.util.find_spec("xarray"), "xarray is installed")
    def test_dataset_says_that_xarray_is_missing(self):
        with self.assertRaisesRegex(onebit.OnebitError, "xarray is not installed.*pip install xarray"):
            self.run_.dataset()


class Replays(InFolder):
    def test_the_log_of_a_replay_has_fewer_settings(self):
        with h5py.File("trace.h5", "w") as trace:
            trace["gradients"] = np.random.default_rng(1).normal(size=(5, 2, 6)).astype("f4")
            trace["x0"] = np.zeros(6, "f4")
            trace["tensor_sizes"] = [4, 2]
        program("replay trace.h5 --optimizer adam --log replay.h5 -o params.h5")
        run = onebit.load("replay.h5")
        self.assertEqual((len(run.steps), len(run.evaluations)), (5, 0))
        self.assertIn("adam, lr 0.001, 2 workers", repr(run))
        self.assertEqual(onebit.Runs([run]).table.optimizer.tolist(), ["adam"])


class Folders(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program(f"sweep {SMALL} --steps 20 --axis optimizer=adam,sgd --axis lr=1e-3,1e-2 --axis model.hidden=128 "
                "--model ngram --data text --data.path /usr/share/common-licenses/GPL-3 --model.context 4 -o sweep")
        program(f"compare {SMALL} --steps 20 --freeze fixed:5 --seeds 2 -o compare")
        program(f"analyze --validate {SMALL} --steps 30 --optimizer onebit-adam --seeds 3 --freeze-at 10 -o validate")

    def test_a_sweep_groups_by_what_it_varies(self):
        r = onebit.load("sweep")
        losses = r.evaluations.groupby(["optimizer", "lr"]).loss.last()
        with h5py.File("sweep/index.h5") as index:
            self.assertEqual(len(losses), len(index["eval_loss"]))
            np.testing.assert_array_equal(sorted(losses), sorted(index["eval_loss"][:]))
        self.assertEqual(r.varied, ["optimizer", "optimizer.lr"])
        best = r.table.loc[r.table.loss.idxmin()]
        self.assertEqual(losses[best.optimizer, best.lr], best.loss)
        self.assertEqual([run.config["lr"] for run in r.where(optimizer="sgd", lr=1e-2)], [0.01])
        part = onebit.Runs([run for run in r if (run.config["optimizer"], run.config["lr"]) != ("sgd", 0.01)])
        self.assertEqual(len(part.evaluations.groupby(["optimizer", "lr"]).loss.last()), 3)

    def test_what_is_not_there_is_named(self):
        runs = onebit.load("compare")
        for code, text in ((lambda: runs["adm-1"], r"no run of that name: adm-1 \(compare\); did you mean adam-1"),
                           (lambda: runs["x"], "one of adam-1, adam-2, onebit-adam-1, onebit-adam-2$"),
                           (lambda: runs.where(optimzer="adam"), "no setting of that name: optimzer.*mean optimizer")):
            with self.assertRaisesRegex(onebit.OnebitError, text):
                code()
        nothing = runs.where(lr=5)
        self.assertEqual(len(nothing), 0)
        self.assertEqual((len(nothing.evaluations), len(nothing.evaluations.loss)), (0, 0))
        self.assertEqual([run.name for run in runs.where(arm="adam", seed=2)], ["adam-2"])

    def test_a_run_that_diverged_has_no_result(self):
        program(f"compare {SMALL} --steps 30 --arm good:lr=1e-2 --arm bad:optimizer=sgd,lr=1e30 -o diverged")
        table = onebit.load("diverged").table.set_index("run")
        self.assertEqual(table.status["bad-1"], "diverged")
        self.assertTrue(np.isnan(table.loss["bad-1"]) and np.isnan(table.accuracy["bad-1"]))
        self.assertEqual(table.loss.idxmin(), "good-1")
        self.assertIn("before it diverged: held-out loss", repr(onebit.load("diverged/bad-1.h5")))
        self.assertGreater(len(onebit.load("diverged/bad-1.h5").evaluations), 0)

    def test_a_sweep_has_the_order_of_its_points(self):
        self.assertEqual([(run.config["optimizer"], run.config["lr"]) for run in onebit.load("sweep")],
                         [("adam", 1e-3), ("adam", 1e-2), ("sgd", 1e-3), ("sgd", 1e-2)])

    def test_the_setting_has_its_long_name_where_a_column_has_the_short_one(self):
        steps = onebit.load("sweep").read("steps", ["lr", "loss"])
        self.assertEqual(list(steps), ["run", "optimizer", "optimizer.lr", "seed", "step", "lr", "loss"])
        np.testing.assert_allclose(steps["optimizer.lr"].astype(float), steps.lr)
        self.assertEqual(len(steps), 4 * 20)

    def test_a_comparison_has_arms_and_seeds(self):
        runs = onebit.load("compare")
        self.assertEqual([(run.arm, run.config["seed"]) for run in runs],
                         [("adam", 1), ("adam", 2), ("onebit-adam", 1), ("onebit-adam", 2)])
        self.assertIs(runs["adam-2"], runs[1])
        self.assertIs(runs[np.int64(1)], runs[1])
        self.assertEqual(len(runs[1:3]), 2)
        self.assertIn("4 runs, which differ in optimizer, ", repr(runs))
        self.assertEqual(runs.table.status.tolist(), ["finished"] * 4)
        self.assertEqual(set(runs.events.optimizer), {"onebit-adam"})

    def test_a_validation_loads(self):
        runs = onebit.load("validate")
        self.assertEqual({run.arm for run in runs}, {"dense", "frozen-10", "compressed-10"})
        self.assertEqual(len(runs.evaluations.groupby("run").loss.last()), 9)

    def test_damaged_logs_are_named_and_lose_no_others(self):
        shutil.copytree("sweep", "damaged")
        first, second, third, _ = sorted(name for name in os.listdir("damaged") if name.endswith(".h5"))[:4]
        os.truncate(f"damaged/{first}", 100_000)
        with open(f"damaged/{second}", "wb") as file:
            file.write(b"no log")
        with open(f"damaged/{third}", "r+b") as file:  # superblock intact, the rest not
            file.seek(48)
            file.write(b"\xff" * 8000)
        with self.assertWarnsRegex(UserWarning, "left out: cannot read log") as caught:
            runs = onebit.load("damaged")
        self.assertEqual((len(runs), len(runs.problems)), (1, 3))
        for name in (first, second, third):
            (problem,) = (each for each in runs.problems if name in each.where)
            self.assertIn(f"cannot be read: {problem}", repr(runs))
            if name == first:
                self.assertIn("truncated to 100000 of", str(problem))
        self.assertEqual(caught.filename, __file__)
        with self.assertRaisesRegex(onebit.OnebitError, "truncated"):
            onebit.load(f"damaged/{first}")

    def test_a_place_without_logs_is_an_error(self):
        os.mkdir("empty")
        open("empty.h5", "w").close()
        for path, text in (("empty", "the folder has no logs"), ("empty.h5", "is empty.*the run has just started"), ("nowhere", "no such file"),
                           ("sweep/index.h5", "not a run log"),
                           ("sweep/sweep.ini", "not an HDF5 file.*or the run has just started")):
            with self.assertRaisesRegex(onebit.OnebitError, text) as caught:
                onebit.load(path)
            self.assertIn(path, caught.exception.where)


class LiveRun(InFolder):
    def test_a_run_loads_while_it_is_going_on_and_after_it_was_killed(self):
        with subprocess.Popen([PROGRAM, *f"run {SMALL} --steps 10000000 --log.flush-every 50 -o run.h5".split()],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                while not os.path.exists("run.h5") or self.rows() < 100:
                    time.sleep(0.05)
                    self.assertIsNone(process.poll())
                before = onebit.load("run.h5")
                self.assertEqual(before.status, "running")
                self.assertGreaterEqual(len(before.steps), before.step)
            finally:
                process.send_signal(signal.SIGKILL)
        after = onebit.load("run.h5")
        self.assertEqual(after.status, "running")
        self.assertEqual(after.steps.step.tolist(), list(range(1, after.step + 1)))
        self.assertGreaterEqual(after.step, before.step)
        self.assertIn("running at step", repr(after))

    @staticmethod
    def rows():
        try:
            return onebit.load("run.h5").step
        except onebit.OnebitError:  # the file is being made
            return 0


if __name__ == "__main__":
    unittest.main()
