"""Calls of the program: keyword arguments, errors, progress, interrupts; and what importing the package costs."""
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import types
import unittest
from unittest import mock

import numpy as np
import onebit
from onebit import _options, _program
from support import PROGRAM, SMALL, InFolder, InOwnFolder

OPTIONS = {"model": "mlp", "data": "synthetic", "workers": 2, "batch": 4, "threads": 1, "steps": 20}


class Keywords(unittest.TestCase):
    def test_a_keyword_is_the_options_name_with_underscores(self):
        cases = [({"optimizer_lr": 1e-3}, ["--optimizer.lr", "0.001"]), ({"lr": 0.1}, ["--optimizer.lr", "0.1"]),
                 ({"optimizer.weight-decay": 0}, ["--optimizer.weight-decay", "0"]), ({"o": "a.h5"}, ["--out", "a.h5"]),
                 ({"overwrite": True}, ["--overwrite"]), ({"overwrite": False}, []), ({"lr": None}, []),
                 ({"model_tied": False}, ["--model.tied", "false"]), ({"model_layers": [8, 4]}, ["--model.layers", "8,4"]),
                 ({"log_workers_every": 5}, ["--log.workers-every", "5"]), ({"rate_of_all": 3}, ["--rate-of-all", "3"])]
        for settings, words in cases:
            self.assertEqual(_options.command_line("run", settings), words)

    def test_options_that_may_be_repeated_take_lists_and_mappings(self):
        line = _options.command_line("sweep", {"axis": {"optimizer": ["adam", "sgd"], "lr": "1e-3:1e-1:log:3"}})
        self.assertEqual(line, ["--axis", "optimizer=adam,sgd", "--axis", "optimizer.lr=1e-3:1e-1:log:3"])
        line = _options.command_line("compare", {"arm": {"slow": {"optimizer": "adam", "lr": 1e-4}}})
        self.assertEqual(line, ["--arm", "slow:optimizer=adam,optimizer.lr=0.0001"])
        line = _options.command_line("sweep", {"axis": {"optimizer_weight_decay": [np.float32(0.5)], "workers": np.arange(2)}})
        self.assertEqual(line, ["--axis", "optimizer.weight-decay=0.5", "--axis", "workers=0,1"])
        self.assertEqual(_options.command_line("compare", {"arm": "a:lr=1"}), ["--arm", "a:lr=1"])
        self.assertEqual(_options.command_line("compare", {"optimizers": ("adam", "sgd")}), ["--optimizers", "adam,sgd"])

    def test_lists_on_an_axis_are_values(self):
        for values, text in (([["*.bias"], ["a.weight", "b.weight"]], "*.bias;a.weight,b.weight"),
                             ([[32, 8, 10], (32, 4, 10)], "32,8,10;32,4,10"), ([[1], [2]], "1,2"), ("1;2,3", "1;2,3")):
            self.assertEqual(_options.command_line("sweep", {"axis": {"model_layers": values}})[1], f"model.layers={text}")
        with self.assertRaisesRegex(onebit.OnebitError, r"an axis with a single list \(8,4\)"):
            _options.command_line("sweep", {"axis": {"model_layers": [[8, 4]]}})

    def test_a_command_to_continue_with_is_a_call_in_python(self):
        cases = {"run": {"steps": 10, "lr": 1e-4, "model": "mlp", "model_layers": [8, 4], "out": "a run's.h5"},
                 "compare": {"arm": {"a": {"lr": 0.1}, "b": {"lr": 0.2}}, "optimizers": ["adam", "sgd"], "resume": True},
                 "sweep": {"axis": {"lr": [1e-3, 1e-2], "seed": [1, 2]}, "out": "s"}, "freeze": {"seeds": 5, "out": "f-1"},
                 "validate": {"freeze_at": [10, 20]}}
        for name, settings in cases.items():
            command, more = ("analyze", {"validate": True}) if name == "validate" else (name, {})
            words = _options.command_line(command, {**settings, **more, "json": True})
            line = _options.in_python(f"onebit: stopped; to continue: onebit {command} {shlex.join(words)}")
            start = f"onebit: stopped; to continue: onebit.{name}("
            self.assertTrue(line.startswith(start), line)
            again = eval(f"dict({line[len(start):]}")
            self.assertNotIn("json", again)
            self.assertEqual(_options.command_line(command, again), _options.command_line(command, settings))
        newer = "onebit: stopped; to continue: onebit run --newer 1"
        self.assertEqual(_options.in_python(newer), newer)
        line = _options.in_python("onebit: stopped; to continue: onebit run -o r.h5 --lr 0.1 --resume")
        self.assertEqual(line, "onebit: stopped; to continue: onebit.run(out='r.h5', optimizer_lr=0.1, resume=True)")

    def test_no_two_options_of_a_command_share_a_keyword(self):
        for command in ("run", "compare", "sweep", "price", "freeze", "analyze", "report"):
            keywords = [_options._keyword(name) for option in _options.options_of(command)
                        for name in (option.name, option.short) if name]
            self.assertEqual(len(keywords), len(set(keywords)), command)


class Commands(InFolder):
    def test_run_compare_and_sweep_return_their_runs(self):
        run = onebit.run(**OPTIONS, lr=1e-2, out="run.h5")
        self.assertEqual((run.path, run.status, run.config["lr"], run.step), ("run.h5", "finished", 0.01, 20))
        runs = onebit.compare(**OPTIONS, optimizers=["adam", "sgd"], out="compared")
        self.assertEqual([each.arm for each in runs], ["adam", "sgd"])
        self.assertEqual(runs.answer["runs"][1]["run"]["final_loss"], runs[1].last("loss"))
        runs = onebit.sweep(**OPTIONS, axis={"lr": [1e-3, 1e-2]}, out="sweep")
        self.assertEqual(len(runs.evaluations.groupby("lr").loss.last()), 2)
        self.assertEqual(len(runs.answer["points"]), 2)

    def test_price_and_report_return_what_the_program_computes(self):
        price = onebit.price(workload="bert-large", cluster="eth10", workers=16, optimizer="onebit-adam")
        self.assertEqual((price["cluster"], price["workers"]), ("eth10", 16))
        runs = onebit.compare(**OPTIONS, optimizers=["adam", "sgd"], seeds=2, out="reported")
        answer = onebit.report(runs, out="page.html", cluster=["eth1", "eth10"])
        self.assertEqual([arm["name"] for arm in answer["arms"]], ["adam", "sgd"])
        self.assertEqual(list(answer["arms"][0]["seconds"]), ["eth1", "eth10"])
        self.assertTrue(os.path.getsize("page.html") > 1000)
        self.assertIn("cluster", onebit.price(runs[0], cluster="eth1"))

    def test_runs_are_taken_where_logs_are_meant(self):
        runs = onebit.compare(**OPTIONS, optimizers=["adam", "sgd"], out="taken")
        each = [onebit.price(run.path, cluster="eth1") for run in runs]
        self.assertNotEqual(*each)
        for several in (runs, list(runs), [runs[:1], runs[1].path]):
            self.assertEqual(onebit.price(several, cluster="eth1"), each)
        self.assertEqual(onebit.price(runs[0], cluster="eth1"), each[0])
        pages = [onebit.report(*logs, out="taken.html", overwrite=True)["arms"] for logs in ((runs,), (list(runs),), runs)]
        self.assertEqual(pages[1:], pages[:1] * 2)
        self.assertEqual(onebit.load(runs[0]).path, runs[0].path)
        for call in (onebit.price, onebit.report, onebit.card):
            with self.assertRaisesRegex(onebit.OnebitError, rf"^not a log \({call.__name__}, dict\); give a path, a run or"):
                call([{}])
        with self.assertRaisesRegex(onebit.OnebitError, r"^not the path of a card \(verify, Runs\); card\(runs, out="):
            onebit.verify(runs)

    def test_validate_and_freeze_make_up_a_folder(self):
        options = {**OPTIONS, "steps": 40, "optimizer": "onebit-adam", "beta2": 0.9, "seeds": 3}
        runs = onebit.validate(**options, freeze_at=[10])
        self.assertEqual((runs.path, len(runs), runs.answer["rows"][0]["candidate"]), ("validate-1", 9, "step 10"))
        runs = onebit.freeze(**options)
        self.assertEqual(runs.path, "freeze-1")
        self.assertIn("freeze_step", runs.answer)

    def test_errors_have_what_where_and_hint(self):
        with self.assertRaises(onebit.OnebitError) as caught:
            onebit.run(**OPTIONS, learning_rate=1)
        error = caught.exception
        self.assertEqual((error.what, error.where, error.status), ("unknown option", "--learning-rate", 2))
        self.assertIn("lr", error.hint)
        self.assertEqual(str(error), f"{error.what} ({error.where}); {error.hint}")
        with self.assertRaises(onebit.OnebitError) as caught:
            onebit.run(**OPTIONS, optimizer="sgd", lr=1e30, out="diverged.h5")
        self.assertEqual(caught.exception.status, 1)
        self.assertIn("not finite", caught.exception.what)
        self.assertEqual(onebit.load("diverged.h5").status, "diverged")

    def test_parts_of_errors(self):
        cases = {"a": ("a", "", ""), "a (b)": ("a", "b", ""), "a (b); c; d (e)": ("a", "b", "c; d (e)"),
                 "a; c": ("a", "", "c"), "a (b) c": ("a (b) c", "", "")}
        for text, parts in cases.items():
            error = _program.parse_error(text)
            self.assertEqual((error.what, error.where, error.hint), parts)
            self.assertEqual(str(error), text)

    def test_without_a_program_the_error_says_what_to_do(self):
        for environment, text in (({"ONEBIT_PROGRAM": "/nowhere"}, "ONEBIT_PROGRAM=/nowhere"),
                                  ({"ONEBIT_PROGRAM": "", "PATH": "/nowhere"}, "install the wheel"),
                                  ({"ONEBIT_PROGRAM": shutil.which("echo")}, r"differ in version \(.*/echo\); install both")):
            with mock.patch.dict(os.environ, environment), self.assertRaisesRegex(onebit.OnebitError, text):
                onebit.run(steps=1)

    def test_a_wheel_has_a_second_program_for_older_cpus(self):
        folder = self.folder / "program" / "bin"
        folder.mkdir(parents=True)
        with mock.patch.object(_program, "__file__", str(self.folder / "_program.py")):
            self.assertIsNone(_program._in_package())
            for names, is_new, expected in ((["onebit"], False, "onebit"), (["onebit-x86-64-v2"], True, "onebit"),
                                            ([], False, "onebit-x86-64-v2")):
                for name in names:
                    (folder / name).touch()
                with mock.patch.object(_program, "_has_x86_64_v3", lambda is_new=is_new: is_new):
                    self.assertEqual(_program._in_package(), str(folder / expected))
        self.assertIsInstance(_program._has_x86_64_v3(), bool)

    def test_what_leaves_nothing_to_return_is_refused(self):
        with self.assertRaisesRegex(onebit.OnebitError, r"leaves nothing to return \(run, dry_run\); use it in a shell"):
            onebit.run(**OPTIONS, dry_run=True)


class Screens(InFolder):
    LONG = {**OPTIONS, "steps": 3000}

    def shown(self, is_terminal, modules=None):
        stderr = io.StringIO()
        stderr.isatty = lambda: is_terminal
        found = modules or {}
        with mock.patch.object(sys, "stderr", stderr), mock.patch.dict(sys.modules, found):
            onebit.run(**self.LONG, out="shown.h5", overwrite=True)
        return stderr.getvalue()

    def test_progress_overwrites_itself_in_terminals_only(self):
        text = self.shown(True)
        self.assertRegex(text, r"\r[^\n]*/3000  loss [^\n]*\r")
        self.assertNotIn("\x1b", text)
        self.assertEqual(text.rstrip("\r").split("\r")[-1].strip(), "")  # nothing stays
        self.assertEqual(self.shown(False), "")

    def test_progress_in_a_notebook_is_one_output_that_changes(self):
        display, handle = mock.Mock(), mock.Mock()
        display.display.return_value = handle
        modules = {"ipykernel": types.ModuleType("ipykernel"), "IPython": mock.Mock(display=display),
                   "IPython.display": display}
        self.assertEqual(self.shown(False, modules), "")
        display.display.assert_called_once()
        (first,), how = display.display.call_args
        states = [first, *(call.args[0] for call in handle.update.call_args_list)]
        self.assertRegex(states[0]["text/plain"], "/3000  loss ")
        self.assertEqual((how, states[-1]), ({"raw": True, "display_id": True}, {"text/plain": ""}))

    def test_notices_are_passed_on(self):
        stderr = io.StringIO()
        with mock.patch.object(sys, "stderr", stderr):
            onebit.run(**OPTIONS)
        self.assertRegex(stderr.getvalue(), r"onebit: the output is run-.*\.h5; out=\.\.\. gives it another name\n$")


class Interrupts(InOwnFolder):
    def interrupted(self, options, group):
        """Trains, and sends SIGINT once the log is there: to Python alone, or to its process group as a terminal does."""
        with self.python(f"onebit.run(**{ {**OPTIONS, **options, 'steps': 10_000_000} }, out='run.h5')") as process:
            (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
            err = process.communicate(timeout=100)[1]
        self.assertIn("KeyboardInterrupt", err)
        self.assertRegex(err, r"onebit: stopped; to continue: onebit.run\(model='mlp', .*, out='run.h5', resume=True\)\n")
        self.assert_resumable()

    def python(self, code):
        """Starts Python with the package, and returns it once run.h5 is there."""
        process = subprocess.Popen([sys.executable, "-c", f"import onebit; {code}"], stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.wait_for(lambda: os.path.exists("run.h5") or process.poll() is not None)
        time.sleep(0.3)
        return process

    def wait_for(self, condition):
        end = time.monotonic() + 100
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def assert_resumable(self):
        self.assertEqual(onebit.load("run.h5").status, "stopped")
        self.assertTrue([name for name in os.listdir(".") if name.startswith("run.h5.checkpoint-")])

    def test_an_interrupt_leaves_a_complete_log_and_a_checkpoint(self):
        self.interrupted({}, False)

    def test_so_does_the_interrupt_of_a_terminal(self):
        self.interrupted({}, True)

    def test_the_program_stops_with_a_python_that_is_killed(self):
        screen = "import onebit._screen, sys; sys.stderr.isatty = lambda: True"  # progress lines, which nobody reads then
        call = f"onebit.run(**{ {**OPTIONS, 'steps': 10_000_000} }, out='run.h5')"
        in_thread = f"import threading; t = threading.Thread(target=lambda: {call}); t.start(); t.join()"
        for number, code in enumerate((call, f"{screen}; {in_thread}")):
            with self.subTest(number):
                os.makedirs(str(number))
                os.chdir(str(number))
                with self.python(code) as process:
                    process.kill()
                self.wait_for(lambda: onebit.load("run.h5").status != "running")
                self.assert_resumable()
                os.chdir("..")

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    @unittest.skipUnless(os.path.exists(f"{os.path.dirname(PROGRAM)}/libonebit_mpi.so"), "there is no plugin for MPI")
    def test_a_terminals_interrupt_stops_the_ranks_once(self):
        # Steps take so long that a second signal would come before the ranks have stopped.
        self.interrupted({"workers": 8, "batch": 1024, "model_layers": [32, 1024, 1024, 10], "ranks": 2}, True)


class Import(unittest.TestCase):
    def test_importing_the_package_imports_nothing_heavy(self):
        code = "import onebit, sys; print([m for m in ('numpy', 'h5py', 'pandas', 'matplotlib') if m in sys.modules])"
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        self.assertEqual(out, "[]\n")

    def test_every_public_name_is_there_and_documented(self):
        for name in onebit.__all__:
            if name in ("jax", "torch"):  # need other packages
                continue
            self.assertTrue(getattr(onebit, name).__doc__, name)
        for place in (onebit.Run, onebit.Runs, onebit.plot, onebit.logs.Log):
            for name, value in vars(place).items():
                if not name.startswith("_") and getattr(value, "__module__", "").startswith("onebit"):
                    self.assertTrue(value.__doc__, f"{place.__name__}.{name}")
        with self.assertRaises(AttributeError):
            onebit.nothing

    def test_the_package_is_the_program(self):
        for words in (["--version"], ["run", "--nothing"]):
            runs = [subprocess.run([*start, *words], capture_output=True, text=True)
                    for start in ([PROGRAM], [sys.executable, "-m", "onebit"])]
            self.assertEqual(*((run.returncode, run.stdout, run.stderr) for run in runs))
        self.assertIn(onebit.version(), subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout)


if __name__ == "__main__":
    unittest.main()
