#!/usr/bin/env python3
"""Makes one write of a command fail with EIO, for one write after the other, and checks how the program handles it.

    failing-writes.py PROGRAM INJECTOR FOLDER [--every 2] [--first N] [--cases run,compressed,resume,sweep,replay,text]

INJECTOR is the library libfailing_writes.so of the tests' build. For every case the command first runs without a
fault. Then it runs again from the same files with its 1st, 3rd, 5th, ... write failing, up to write N. Each outcome is one
of

    reported  an exit status other than 0 and one line of error; no finished file differs from the run without the
              fault, not even after the run was resumed on a good disk (the program may refuse to resume)
    harmless  exit status 0, and every file is the same as without the fault
    silent    anything else; then the exit status of this script is 1

Times, and other values that differ between any two runs, are not compared.
"""
import argparse
import os
import shutil
import struct
import subprocess
import sys

import h5py
import numpy as np

MODEL = ["--model", "mlp", "--model.layers", "6,9,3", "--data", "synthetic", "--data.features", "6", "--data.classes", "3",
         "--data.examples", "300", "--workers", "3", "--batch", "2", "--threads", "1"]
TRAINING = MODEL + ["--optimizer", "onebit-adam", "--freeze", "fixed:3", "--eval.every", "5",
                    "--log.tensors-every", "4"]
RUN = ["run"] + TRAINING + ["--checkpoint.every", "4", "-o", "run.h5"]
SWEEP = ["sweep"] + MODEL + ["--optimizer", "adam", "--steps", "6", "--axis", "optimizer.lr=0.01,0.02", "--jobs", "1", "-o", "sweep"]
TIMED = {"created_utc", "command_line", "memory"}  # attributes that differ between any two runs, besides columns in seconds


def write_trace(path):
    rng = np.random.default_rng(3)
    with h5py.File(path, "w") as file:
        file["gradients"] = rng.normal(size=(12, 2, 40)).astype("f4")
        file["x0"] = rng.normal(size=40).astype("f4")
        file["tensor_sizes"] = np.array([30, 10])


# Commands that run first, and the command that is tested.
CASES = {
    "run": ([], RUN + ["--steps", "8", "--weights-out", "weights.h5"]),
    "compressed": ([], RUN + ["--steps", "8", "--log.compression", "4"]),
    "resume": ([RUN + ["--steps", "4"]], RUN + ["--steps", "8", "--resume", "--resume.allow", "steps"]),
    "sweep": ([], SWEEP),
    "replay": ([["replay", "trace.h5", "--optimizer", "adam", "-o", "params.h5"]],
               ["replay", "trace.h5", "--optimizer", "momentum-sgd", "-o", "params.h5", "--overwrite"]),
    "text": ([RUN + ["--steps", "4"]], ["export", "run.h5", "--csv", "-o", "csv"]),
}


def contents(file):
    """Every dataset and attribute that is the same in any two runs, by name."""
    found = {}

    def add_attributes(name, item):
        found.update({f"{name} {key}": np.asarray(value).tobytes() for key, value in item.attrs.items()
                      if key not in TIMED})

    def add(name, item):
        add_attributes(name, item)
        timed = name == "run/log" or "seconds" in name or item.attrs.get("units") in (b"s", "s")
        if not isinstance(item, h5py.Dataset) or timed:
            return
        values = item[()]
        if name == "events/text":  # the event of a resumption names the command
            values = np.array([text for text in values if not text.startswith(b"from step")])
        found[name] = values.tobytes()

    add_attributes("", file)
    file.visititems(add)
    return found


def text_of(path):
    """Lines of text without the columns of seconds."""
    with open(path, "rb") as file:
        lines = [line.split(b",") for line in file.read().split(b"\n")]
    timed = [i for i, name in enumerate(lines[0]) if b"seconds" in name]
    return [[cell for i, cell in enumerate(line) if i not in timed] for line in lines]


def holds(path):
    """The contents of a file; None if a reader would not take it for a result."""
    if not h5py.is_hdf5(path):
        return text_of(path)
    try:
        with h5py.File(path, "r") as file:
            if "status" in file and file["status"].shape == () and file["status"][()] != b"finished":
                return None
            return contents(file)
    except OSError:  # a log whose writer has not closed it
        return None


def same(one, other, resumed):
    """Whether two files have the same contents; if resumed, apart from the events, which record resumptions."""
    def told(held):
        events = ("events", "committed/events", "run/rows_of_events")
        return {name: value for name, value in held.items() if not name.startswith(events)}

    if resumed and isinstance(one, dict) and isinstance(other, dict):
        return told(one) == told(other)
    return one == other


def results(folder):
    """Files by name, without unfinished logs and leftovers with temporary names."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            short = os.path.relpath(path, folder)
            if name.endswith((".h5", ".csv")) or ".checkpoint-" in name and not name.endswith(".part"):
                found[short] = holds(path)
    return {name: held for name, held in found.items() if held is not None}


class Case:
    def __init__(self, args, name):
        self.args, self.name = args, name
        self.before, self.command = CASES[name]
        self.start = os.path.join(args.folder, name + ".start")
        self.work = os.path.join(args.folder, name)
        self.counter = os.path.join(args.folder, name + ".count")

    def prepare(self):
        os.makedirs(self.start)
        write_trace(os.path.join(self.start, "trace.h5"))
        for command in self.before:
            subprocess.run([self.args.program] + command, cwd=self.start, check=True, stdout=subprocess.DEVNULL)

    def begin(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.start, self.work)

    def run(self, victim, more=()):
        """Exit status, standard error and number of writes of the command; the write `victim` fails (0: none)."""
        with open(self.counter, "wb") as file:
            file.write(bytes(8))
        environment = dict(os.environ, LD_PRELOAD=self.args.injector, ONEBIT_WRITE_COUNT=self.counter,
                           ONEBIT_FAIL_WRITE=str(victim), OMP_WAIT_POLICY="passive")
        options = environment.get("ASAN_OPTIONS", "")
        environment["ASAN_OPTIONS"] = options + ":verify_asan_link_order=0"
        done = subprocess.run([self.args.program, *self.command, *more], cwd=self.work, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        with open(self.counter, "rb") as file:
            count = struct.unpack("=Q", file.read(8))[0]
        return done.returncode, done.stderr, count

    def verdict(self, victim, whole, earlier):
        self.begin()
        status, err, _ = self.run(victim)
        found = results(self.work)
        resumes = self.command[0] == "sweep"  # it resumes points that failed
        if status == 0:
            different = sorted(name for name in whole.keys() | found.keys()
                               if not same(whole.get(name), found.get(name), resumes))
            return ("silent", "status 0, but different contents: " + ", ".join(different)) if different else ("harmless", "")
        lines = [line for line in err.splitlines() if line.startswith("onebit: error: ")]
        if status < 0 or len(lines) != 1:
            return "silent", f"status {status}, {len(lines)} lines of error: {err.strip()[-300:]}"
        wrong = sorted(name for name, held in found.items() if not name.startswith("sweep/index")
                       and not any(same(held, files.get(name), resumes) for files in (whole, earlier)))
        if wrong:
            return "silent", f"status {status}, but finished files have different contents: " + ", ".join(wrong)
        return ("silent", lost) if (lost := self.lost_after_resumption(whole)) else ("reported", lines[0])

    def lost_after_resumption(self, whole):
        """Names results that a resumed run lacks although it reports success. The resumption itself is an event."""
        if self.command[0] != "run":
            return ""
        status, _, _ = self.run(0, [] if "--resume" in self.command else ["--resume"])
        if status != 0:
            return ""
        found = results(self.work)
        different = sorted(name for name in whole if not same(whole[name], found.get(name), True))
        return "after --resume, status 0 but different contents: " + ", ".join(different) if different else ""

    def faults(self):
        self.prepare()
        self.begin()
        status, err, count = self.run(0)
        if status != 0:
            sys.exit(f"{self.name}: the run without a fault ended with status {status}: {err}")
        whole, earlier = results(self.work), results(self.start)
        tally = {"reported": 0, "harmless": 0, "silent": 0}
        victims = range(1, min(count, self.args.first) + 1, self.args.every)
        for victim in victims:
            kind, text = self.verdict(victim, whole, earlier)
            tally[kind] += 1
            if kind == "silent" or self.args.verbose:
                print(f"  {self.name}: write {victim}: {kind}: {text}")
        print(f"{self.name}: {count} writes, {len(victims)} faults: {tally['reported']} reported, "
              f"{tally['harmless']} harmless, {tally['silent']} silent", flush=True)
        return tally


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("injector")
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--first", type=int, default=sys.maxsize)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    args.program, args.injector = os.path.abspath(args.program), os.path.abspath(args.injector)
    total = {"reported": 0, "harmless": 0, "silent": 0}
    for name in args.cases.split(","):
        for kind, number in Case(args, name).faults().items():
            total[kind] += number
    print(f"{sum(total.values())} faults: {total['reported']} reported, {total['harmless']} harmless, "
          f"{total['silent']} silent")
    sys.exit(total["silent"] > 0)


if __name__ == "__main__":
    main()
