#!/usr/bin/env python3
"""Disturbs one system call of a command at a time, and checks how the program handles it.

    walk.py PROGRAM INJECTOR FOLDER [--most 300] [--cases run,compressed,...] [--faults write=EIO+kill,...] [--verbose]

INJECTOR is the library libinject_faults.so of the tests' build; tests/faults/inject.cpp lists the calls and the faults.
For every case the command first runs undisturbed. Then it runs again from the same files, with one call disturbed: at
most `most` calls of each kind, evenly spread. Each outcome is one of

    reported  an exit status other than 0 and a one-line error message; no finished file differs from those of the
              undisturbed command. With --resume a run then ends with the undisturbed bits, and so does another command
              when it runs again
    refused   the same, but --resume refuses and says that the log is damaged
    harmless  exit status 0, and every file is the same as without the fault
    killed    the fault has killed the process: the committed rows of its log are right, and the repetition gives the
              undisturbed bits
    crashed   another signal has ended the process; otherwise the same as killed
    silent    anything else; then the exit status of this script is 1

Times, and other values that differ between any two runs, are not compared.
"""
import argparse
import collections
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

import h5py
import numpy as np

from results import committed_rows, defect_of_log, results, same

CALLS = ["write", "sync", "rename", "read", "open", "map", "alloc"]
FAULTS = ("write=EIO+ENOSPC+EINTR+short+kill+tear,sync=EIO+kill,rename=EIO+kill,read=EIO+EINTR+short,open=EIO+EMFILE,"
          "map=ENOMEM,alloc=ENOMEM")

MODEL = ["--model", "mlp", "--model.layers", "6,9,3", "--data", "synthetic", "--data.features", "6", "--data.classes", "3",
         "--data.examples", "300", "--workers", "3", "--batch", "2", "--threads", "1"]
TRAINING = MODEL + ["--optimizer", "onebit-adam", "--freeze", "fixed:3", "--eval.every", "5",
                    "--log.tensors-every", "4"]
RUN = ["run"] + TRAINING + ["--checkpoint.every", "4", "-o", "run.h5"]
SWEEP = ["sweep"] + MODEL + ["--optimizer", "adam", "--steps", "6", "--axis", "optimizer.lr=0.01,0.02", "--jobs", "1", "-o", "sweep"]
COMPARE = ["compare"] + MODEL + ["--steps", "6", "--freeze", "fixed:3", "--arm", "a:optimizer=adam", "--arm",
                                 "b:optimizer=onebit-adam", "-o", "compared"]


# Files of a sweep that say how it went; they are not results. A point's options (.ini) also depend on whether an
# earlier attempt has begun its log: if so, some are taken from the log's header instead.
WORKING = re.compile(r"sweep/(index.*|lock-.*|[0-9a-f]*\.(out|failed|ini))$")


def write_trace(path):
    rng = np.random.default_rng(3)
    with h5py.File(path, "w") as file:
        file["gradients"] = rng.normal(size=(12, 2, 40)).astype("f4")
        file["x0"] = rng.normal(size=40).astype("f4")
        file["tensor_sizes"] = np.array([30, 10])


# Commands that run first, the command that is tested, and what is added to repeat it.
CASES = {
    "run": ([], RUN + ["--steps", "8", "--weights-out", "weights.h5"], ["--resume"]),
    "compressed": ([], RUN + ["--steps", "8", "--log.compression", "4", "--weights-out", "weights.h5"], ["--resume"]),
    "resume": ([RUN + ["--steps", "4"]], RUN + ["--steps", "8", "--resume", "--resume.allow", "steps"], []),
    "sweep": ([], SWEEP, []),
    "compare": ([], COMPARE, ["--resume"]),
    "replay": ([["replay", "trace.h5", "--optimizer", "adam", "-o", "params.h5"]],
               ["replay", "trace.h5", "--optimizer", "momentum-sgd", "-o", "params.h5", "--overwrite"], []),
    "logged": ([], ["replay", "trace.h5", "--optimizer", "onebit-adam", "--freeze", "fixed:4", "--log", "log.h5",
                    "--log.flush-every", "2", "--overwrite"], []),
    "text": ([RUN + ["--steps", "4"]], ["export", "run.h5", "--csv", "-o", "csv", "--overwrite"], []),
    "report": ([RUN + ["--steps", "4"]], ["report", "run.h5", "-o", "report.html", "--overwrite"], []),
}


def differing_lines(one, other):
    return {i for i, (here, there) in enumerate(zip(one, other, strict=True)) if here != there}


class Case:
    def __init__(self, args, name):
        self.args, self.name = args, name
        self.before, self.command, self.again = CASES[name]
        self.start = os.path.join(args.folder, name + ".start")
        self.work = os.path.join(args.folder, name)
        self.counter = os.path.join(args.folder, name + ".counts")

    def prepare(self, asked):
        """Runs the undisturbed command, which must make the calls that are asked for. Returns the number of each kind."""
        os.makedirs(self.start)
        write_trace(os.path.join(self.start, "trace.h5"))
        for command in self.before:
            subprocess.run([self.args.program] + command, cwd=self.start, check=True, stdout=subprocess.DEVNULL)
        self.earlier = results(self.start)
        other, _ = self.undisturbed()
        self.whole, counts = self.undisturbed()
        self.times = {name: differing_lines(held, other[name]) for name, held in self.whole.items()
                      if isinstance(held, list) and not WORKING.match(name)}
        self.whole = self.comparable(self.whole)
        self.rows = {name: committed_rows(os.path.join(self.work, name)) for name in self.logs()}
        if missing := [call for call in asked if counts[call] == 0 and call not in ("sync", "map")]:
            sys.exit(f"{self.name}: the injector sees no calls of {', '.join(missing)}")
        return counts

    def undisturbed(self):
        self.begin()
        status, err, counts = self.run("")
        if status != 0:
            sys.exit(f"{self.name}: the undisturbed command ended with status {status}: {err}")
        return results(self.work), dict(zip(CALLS, counts))

    def comparable(self, found):
        """The files without what differs between two undisturbed commands: contents of working files, lines of text."""
        def part(name, held):
            if WORKING.match(name):
                return "working"
            if isinstance(held, list) and name in self.times:
                return [line for i, line in enumerate(held) if i not in self.times[name]]
            return held

        return {name: part(name, held) for name, held in found.items()}

    def begin(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.start, self.work)

    def logs(self):
        found = [os.path.relpath(os.path.join(where, name), self.work) for where, _, names in os.walk(self.work)
                 for name in names if name.endswith(".h5")]
        return [name for name in found if os.path.basename(name) not in ("trace.h5", "params.h5", "weights.h5")]

    def run(self, fault, more=()):
        """Exit status, standard error and numbers of calls of the command."""
        with open(self.counter, "wb") as file:
            file.write(bytes(8 * len(CALLS)))
        environment = dict(os.environ, LD_PRELOAD=self.args.injector, ONEBIT_FAULT_COUNTS=self.counter,
                           ONEBIT_FAULT_UNDER=os.path.realpath(self.work), OMP_WAIT_POLICY="passive")
        if fault:
            environment["ONEBIT_FAULT"] = fault
        options = environment.get("ASAN_OPTIONS", "")
        environment["ASAN_OPTIONS"] = options + ":verify_asan_link_order=0"
        done = subprocess.run([self.args.program, *self.command, *more], cwd=self.work, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        with open(self.counter, "rb") as file:
            counts = struct.unpack(f"={len(CALLS)}Q", file.read(8 * len(CALLS)))
        return done.returncode, done.stderr.decode(errors="replace"), counts

    def wrong(self, found, resumed):
        """Finished files with contents that neither the undisturbed command nor an earlier one gives them. A run that is
        asked to stop writes a checkpoint of its last step, whatever that is; the repetition shows whether it is right."""
        resumed = resumed or self.command[0] in ("sweep", "compare")  # they resume runs that failed
        known = self.whole.keys() | self.earlier.keys()
        return sorted(name for name, held in found.items() if not WORKING.match(name)
                      and (name in known or ".checkpoint-" not in name)
                      and not any(same(held, files.get(name), resumed) for files in (self.whole, self.earlier)))

    def lost(self):
        """Files that were there before the command and are gone, except checkpoints: it keeps only the newest ones."""
        return sorted(name for name in self.earlier if ".checkpoint-" not in name
                      and not os.path.exists(os.path.join(self.work, name)))

    def verdict(self, fault):
        self.begin()
        status, err, _ = self.run(fault)
        found = self.comparable(results(self.work))
        if status == 0:
            resumed = self.command[0] == "sweep"
            different = sorted(name for name in self.whole.keys() | found.keys()
                               if not same(self.whole.get(name), found.get(name), resumed))
            return ("silent", "status 0, but different contents: " + ", ".join(different)) if different else ("harmless", "")
        lines = [line for line in err.splitlines() if line.startswith("onebit: error: ")]
        if status > 0 and len(lines) != 1:
            return "silent", f"status {status}, {len(lines)} error lines: {err.strip()[-300:]}"
        if wrong := self.wrong(found, False):
            return "silent", f"status {status}, but finished files have different contents: " + ", ".join(wrong)
        if lost := self.lost():
            return "silent", f"status {status}, but files are gone: " + ", ".join(lost)
        killed = status == -signal.SIGKILL
        kind = "reported" if status > 0 else "killed" if killed else "crashed"
        text = lines[0] if status > 0 else f"signal {-status}"
        if killed and (defect := self.defect()):
            return "silent", "after a kill " + defect
        refused, defect = self.repetition()
        if defect:
            return "silent", f"{text}; {defect}"
        if refused and killed:
            return "silent", f"{text}; after a kill, the repetition refuses: {refused}"
        if kind == "crashed" and not fault.startswith("alloc:"):
            return "silent", text
        return ("refused", f"{text}; {refused}") if refused else (kind, text)

    def defect(self):
        """What is wrong with the rows of the logs that a kill left."""
        for name in self.logs():
            if name in self.rows and (defect := defect_of_log(os.path.join(self.work, name), self.rows[name])):
                return f"{name} is {defect}"
        return ""

    def repetition(self):
        """Repeats the command. Returns the error of a resumption that refuses, and what is wrong otherwise."""
        again = list(self.again)
        if self.command[0] == "replay" or "--overwrite" in self.command:
            again = []
        status, err, _ = self.run("", again)
        if status != 0:
            text = f"the repetition ended with status {status}: {err.strip()[-300:]}"
            return (text, "") if status == 2 and "damaged" in err else ("", text)
        found = self.comparable(results(self.work))
        different = sorted(name for name in self.whole if not same(self.whole[name], found.get(name), True))
        if different:
            return "", "after the repetition, status 0 but different contents: " + ", ".join(different)
        left = sorted(set(found) - set(self.whole) - set(self.earlier))
        return "", "after the repetition, files are left: " + ", ".join(left) if left else ""

    def faults(self, asked):
        total = collections.Counter()
        for call, number in self.prepare(asked).items():
            most = min(self.args.most, number)
            for what in asked.get(call, ()):
                tally = collections.Counter()
                for i in range(most):
                    fault = f"{call}:{1 + i * number // most}:{what}"
                    kind, text = self.verdict(fault)
                    tally[kind] += 1
                    if kind == "silent" or self.args.verbose:
                        print(f"  {self.name}: {fault}: {kind}: {text}", flush=True)
                told = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.items()))
                print(f"{self.name}: {number} calls of {call}, {what} at {most}: {told}", flush=True)
                total += tally
        return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("injector")
    parser.add_argument("folder")
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--faults", default=FAULTS)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    args.program, args.injector = os.path.abspath(args.program), os.path.abspath(args.injector)
    asked = {call: what.split("+") for call, what in (fault.split("=") for fault in args.faults.split(","))}
    total = collections.Counter(silent=0)
    for name in args.cases.split(","):
        total += Case(args, name).faults(asked)
    print(f"{sum(total.values())} faults: " + ", ".join(f"{total[kind]} {kind}" for kind in
          ["reported", "refused", "harmless", "killed", "crashed", "silent"]))
    sys.exit(total["silent"] > 0)


if __name__ == "__main__":
    main()
