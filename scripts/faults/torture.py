#!/usr/bin/env python3
"""Kills runs and sweeps with SIGKILL, resumes them, and compares them with undisturbed ones.

    torture.py PROGRAM INJECTOR FOLDER [--kills 1000] [--seed 1]

Every victim is a sweep, or a short run that writes checkpoints. Victims go through all optimizers, and vary in codec,
type of stored errors, probes, compression of the log and MPI ranks. Each is killed up to six times in a row: before a
write, inside a write at a page boundary, or at a random moment; then it runs to its end. After every kill

    readable   another process reads all committed rows of every log with h5py within 20 s, they are the first rows of
               the undisturbed log, and no committed row is lost; `onebit inspect` finds nothing damaged
    resumable  the same command with --resume ends with status 0
    same bits  at the end every column of the log, except times, and every dataset of the last checkpoint are those of
               the undisturbed run, and no other file is left

If any of that does not hold, the exit status is 1, and the folder is kept.
"""
import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from results import committed_rows, defect_of_log, held, same

BASE = ["--model", "mlp", "--model.layers", "6,9,3", "--data", "synthetic", "--data.features", "6", "--data.classes", "3",
        "--data.examples", "300", "--workers", "8", "--batch", "2", "--threads", "1"]
RUN = ["--checkpoint.every", "5", "--eval.every", "7", "--log.flush-every", "2", "--log.tensors-every", "3",
       "--log.workers-every", "4"]
TWO_STAGE = ("onebit-", "adam-naive", "zeroone")
ANY_CODEC = ("ef-", "ef21", "dist-ef", "dgc", "onebit-adam", "onebit-lamb", "adam-naive-ec")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]


def names(program, kind):
    lines = subprocess.run([program, "list", kind], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[0] for line in lines[1:] if line.startswith("  ")]


class Victim:
    """A command with its folder and what it leaves if nothing disturbs it."""

    def __init__(self, args, number, command, ranks):
        self.args, self.command, self.ranks = args, command, ranks
        self.folder = os.path.join(args.folder, str(number))
        self.whole = os.path.join(self.folder, "whole")
        self.work = os.path.join(self.folder, "work")
        self.counts = os.path.join(self.folder, "counts")
        os.makedirs(self.whole)
        os.makedirs(self.work)

    def text(self):
        return " ".join((MPIRUN if self.ranks else []) + ["onebit"] + self.command)

    def start(self, folder, fault="", resume=True):
        with open(self.counts, "wb") as file:
            file.write(bytes(7 * 8))
        environment = dict(os.environ, LD_PRELOAD=self.args.injector, ONEBIT_FAULT_COUNTS=self.counts, ONEBIT_FAULT=fault,
                           ONEBIT_FAULT_UNDER=os.path.realpath(folder), OMP_WAIT_POLICY="passive",
                           OMPI_MCA_mpi_yield_when_idle="1")
        if not fault:
            del environment["ONEBIT_FAULT"]
        command = (MPIRUN if self.ranks else []) + [self.args.program] + self.command
        if resume and self.command[0] == "run":
            command = command + ["--resume"]
        with open(os.path.join(self.folder, "output"), "ab") as output:
            return subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output,
                                    start_new_session=True)

    def writes(self):
        with open(self.counts, "rb") as file:
            return int.from_bytes(file.read(8), sys.byteorder)

    def logs(self, folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, files in os.walk(folder)
                      for name in files if name.endswith(".h5") and name != "index.h5")

    def prepare(self):
        """Runs undisturbed. Returns False if the program refuses the options or the run diverges."""
        begin = time.monotonic()
        status = self.start(self.whole, resume=False).wait()
        self.seconds = time.monotonic() - begin
        self.total = self.writes()
        if status != 0:
            self.require_line(status)
            return False
        self.rows = {name: committed_rows(os.path.join(self.whole, name)) for name in self.logs(self.whole)}
        self.files = self.results(self.whole)
        return True

    def require_line(self, status):
        """Ends the script if an undisturbed command was ended by a signal or failed without an error message."""
        with open(os.path.join(self.folder, "output"), "rb") as file:
            output = file.read().decode(errors="replace")
        if status < 0 or status >= 128 or "onebit: error: " not in output:
            sys.exit(f"undisturbed, status {status}: {self.text()}\n{output[-1000:]}")

    def results(self, folder):
        """Contents of all files that a finished command leaves, except those that differ between any two runs."""
        found = {}
        for where, _, files in os.walk(folder):
            for name in files:
                path = os.path.join(where, name)
                short = os.path.relpath(path, folder)
                if name == "index.h5":  # its times differ
                    found[short] = "index"
                elif ".checkpoint-" in name or name.endswith(".h5"):
                    found[short] = held(path)
                else:
                    found[short] = "left"
        return found

    def kill(self, rng):
        """Starts or continues the command and kills it. Returns the kind of kill (None if the command ended before it)
        and what is wrong (empty if nothing is)."""
        kind = rng.choice(["write", "tear", "moment"])
        fault = {"write": f"write:{rng.randint(1, self.total)}:kill", "tear": f"write:{rng.randint(1, self.total)}:tear",
                 "moment": ""}[kind]
        process = self.start(self.work, fault)
        if kind == "moment":
            time.sleep(rng.uniform(0, self.seconds))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        self.settle(process.pid)
        if status == 0:
            return None, ""
        if not self.ranks and self.command[0] == "run" and status != -signal.SIGKILL:
            return kind, f"ended with status {status} instead of being killed"
        return kind, ""

    @staticmethod
    def settle(group):
        """Waits until all processes of the command are gone: ranks and points of a sweep end a moment later."""
        for i in range(500):
            try:
                os.killpg(group, 0 if i < 100 else signal.SIGKILL)
            except ProcessLookupError:
                return
            time.sleep(0.02)

    def defect(self, before):
        """What is wrong with the logs after a kill. Updates the numbers of their committed rows."""
        for name in self.logs(self.work):
            path = os.path.join(self.work, name)
            if name not in self.rows:
                return f"unknown log {name}"
            if text := defect_of_log(path, self.rows[name]):
                return f"{name} is {text}"
            counts = {group: len(next(iter(columns.values()))) for group, columns in committed_rows(path).items()}
            for group, count in before.get(name, {}).items():
                if counts[group] < count:
                    return f"{name}: {group} had {count} committed rows and has {counts[group]}"
            before[name] = counts
            shown = subprocess.run([self.args.program, "inspect", path, "--json"], capture_output=True, timeout=60,
                                   check=False)
            if shown.returncode != 0:
                return f"inspect of {name} ended with status {shown.returncode}: {shown.stderr.decode()[-300:]}"
            if damaged := json.loads(shown.stdout)["damaged"]:
                return f"inspect of {name} finds damage in {', '.join(damaged)}"
        return ""

    def finish(self):
        """Runs the command to its end. Returns the kind of problem and a sentence about it, or two empty texts."""
        status = self.start(self.work).wait()
        if status != 0:
            with open(os.path.join(self.folder, "output"), "rb") as output:
                return "not resumable", f"status {status}: {output.read()[-300:].decode(errors='replace')}"
        found = self.results(self.work)
        bad = sorted(name for name in found.keys() | self.files.keys()
                     if not same(self.files.get(name), found.get(name), True))
        return ("other bits", ", ".join(bad)) if bad else ("", "")


def command(rng, optimizers, codecs, number):
    """The command of victim `number`, and whether it has two ranks."""
    optimizer = optimizers[number % len(optimizers)]
    text = ["--optimizer", optimizer]
    if optimizer.startswith(TWO_STAGE):
        text += ["--freeze", "fixed:8"]
    if optimizer.startswith(ANY_CODEC) and rng.random() < 0.8:
        text += ["--codec", rng.choice(codecs)]
    if optimizer.startswith(ANY_CODEC) and rng.random() < 0.3:
        text += ["--feedback.dtype", rng.choice(["bf16", "int8"])]
    if number % 9 == 8:
        return ["sweep"] + BASE + text + ["--steps", "8", "--axis", "optimizer.lr=0.01,0.02", "--jobs", "2", "-o", "sweep"], False
    text += RUN + ["--steps", "24", "-o", "run.h5"]
    if rng.random() < 0.4:
        text += ["--probe.every", "5"]
    if rng.random() < 0.2:
        text += ["--log.compression", "4"]
    return ["run"] + BASE + text, shutil.which("mpirun") is not None and number % 7 == 6


class Tally:
    def __init__(self):
        self.kills, self.problems, self.optimizers = collections.Counter(), collections.Counter(), set()
        self.victims = self.refused = 0
        self.texts = []

    def problem(self, victim, kind, text):
        self.problems[kind] += 1
        self.texts.append(f"{victim.folder}: {kind}: {text}\n    {victim.text()}")

    def total(self):
        return sum(self.kills.values())


def torture(victim, rng, tally, most):
    before = {}
    for _ in range(rng.randint(min(2, most), most)):
        kind, wrong = victim.kill(rng)
        if kind is None:
            break
        tally.kills[kind + (" of ranks" if victim.ranks else " of a sweep" if victim.command[0] == "sweep" else "")] += 1
        if wrong:
            return tally.problem(victim, "not resumable", wrong)
        if defect := victim.defect(before):
            return tally.problem(victim, "unreadable", defect)
    kind, text = victim.finish()
    if kind:
        return tally.problem(victim, kind, text)
    return shutil.rmtree(victim.folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("injector")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.program, args.injector = os.path.abspath(args.program), os.path.abspath(args.injector)
    os.makedirs(args.folder, exist_ok=True)
    rng, tally, begin = random.Random(args.seed), Tally(), time.monotonic()
    optimizers, codecs = names(args.program, "optimizers"), names(args.program, "codecs")
    number = 0
    while tally.total() < args.kills:
        options, ranks = command(rng, optimizers, codecs, number)
        victim = Victim(args, tally.victims + tally.refused, options, ranks)
        if victim.prepare():
            tally.victims += 1
            tally.optimizers.add(options[options.index("--optimizer") + 1])
            torture(victim, rng, tally, min(6, args.kills - tally.total()))
            number += 1
        else:  # a combination that the program refuses, or a run that diverges: draw another one
            tally.refused += 1
            shutil.rmtree(victim.folder)
            number += tally.refused % 20 == 0
    print(f"kills {tally.total()}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(tally.kills.items())))
    print(f"commands {tally.victims}, optimizers {len(tally.optimizers)} of {len(optimizers)}")
    print(", ".join(f"{tally.problems[kind]} {kind}" for kind in ["unreadable", "not resumable", "other bits"]))
    print(f"seconds {time.monotonic() - begin:.0f}")
    for text in tally.texts[:20]:
        print("PROBLEM", text)
    sys.exit(bool(tally.texts))


if __name__ == "__main__":
    main()
