"""Kills a checkpointing run with SIGKILL repeatedly, resumes it, and compares it with an uninterrupted run.

    kill_resume.py PROGRAM FOLDER [--kills 200] [--seed 1]

Of three kills one comes at a random moment, one inside a flush of the log, one inside the writing of a checkpoint (the
program stops itself there, ONEBIT_PAUSE_AT, and is killed as it stands). After every kill the log has to open with
swmr=True and hold every row that was committed before; a resumed run has to end with the bits of the undisturbed one,
in the log and in the last checkpoint: weights, moments, errors of workers and servers.
"""
import argparse
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

EVERY = 7  # steps between checkpoints
STEPS = 63
FLUSH_POINTS = {"log.rows": 30, "log.flushed": 30, "log.counts": 210}  # and how often a run passes them
CHECKPOINT_POINTS = {"checkpoint.data": 60, "checkpoint.written": 8, "checkpoint.named": 8}
GROUPS = ["steps", "workers", "tensors", "probes", "evaluations", "events", "traffic"]


def command(program, optimizer, out):
    return [program, "run", "--model", "mlp", "--model.layers", "6,9,3", "--data", "synthetic", "--data.features", "6",
            "--data.classes", "3", "--data.examples", "300", "--workers", "8", "--batch", "2", "--threads", "1",
            "--optimizer", optimizer, "--optimizer.var-freeze-step", "20", "--freeze", "fixed:20", "--optimizer.clip",
            "3", "--steps", str(STEPS), "--eval.every", "9", "--log.workers-every", "4", "--log.tensors-every", "5",
            "--log.flush-every", "2", "--probe.every", "5", "--checkpoint.every", str(EVERY), "--resume", "-o", out]


def count_path(group):
    return "committed_rows" if group == "steps" else "committed/" + group


def columns(file, group, rows):
    """Committed rows by name, except times."""
    item = file[group]
    if isinstance(item, h5py.Dataset):
        return {group: item[:rows]}
    return {name: column[:rows] for name, column in item.items() if column.attrs["units"] != b"s"
            and column.attrs["units"] != "s"}


def read_log(path, swmr):
    """Committed rows of every group, and their number."""
    with h5py.File(path, "r", libver="latest", swmr=swmr) as file:
        counts = {group: int(file[count_path(group)][()]) for group in GROUPS}
        return counts, {group: columns(file, group, counts[group]) for group in GROUPS}


def training_events(data):
    events = data["events"]
    return [row for row in zip(events["step"], events["kind"], events["text"]) if row[1] not in (b"stop", b"resume")]


def mismatches(data, whole):
    """Groups whose rows are not the first rows of the uninterrupted log."""
    bad = []
    for group in GROUPS:
        if group == "events":
            here, there = training_events(data), training_events(whole)
            if here != there[: len(here)]:
                bad.append(group)
            continue
        for name, values in data[group].items():
            if values.tobytes() != whole[group][name][: len(values)].tobytes():
                bad.append(group + "/" + name)
    return bad


def read_checkpoint(log):
    """The state in the last checkpoint."""
    state = {}
    with h5py.File(f"{log}.checkpoint-{STEPS}", "r") as file:
        file.visititems(lambda name, item: state.update({name: item[()].tobytes()})
                        if isinstance(item, h5py.Dataset) and not name.startswith("run/") else None)
    return state


def resumptions(path):
    """Steps from which the run was resumed so far."""
    if not os.path.exists(path):
        return []
    with h5py.File(path, "r", libver="latest", swmr=True) as file:
        rows = int(file["committed/events"][()])
        kinds, steps = file["events/kind"][:rows], file["events/step"][:rows]
    return [int(step) for step, kind in zip(steps, kinds) if kind == b"resume"]


class Tally:
    def __init__(self):
        self.kills = self.in_flush = self.in_checkpoint = self.early = 0
        self.lost = self.mismatched = self.runs = self.most_recomputed = 0
        self.problems = []

    def problem(self, text):
        self.problems.append(text)


def live_once(args, log, pause, wait, tally):
    """Starts or resumes the run and kills it. Returns True if it ended before that."""
    environment = dict(os.environ, OMP_WAIT_POLICY="passive")
    if pause:
        environment["ONEBIT_PAUSE_AT"] = pause
    with open(log + ".out", "ab") as out:
        process = subprocess.Popen(command(args.program, args.optimizer, log), stdout=out, stderr=out, env=environment)
    if pause:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):  # it ended before the K-th passage
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
    else:
        time.sleep(wait)
        if process.poll() is not None:
            return process.returncode
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    tally.kills += 1
    tally.in_flush += pause.startswith("log.")
    tally.in_checkpoint += pause.startswith("checkpoint.")
    return None


def check_killed(log, before, whole, tally):
    """Checks what a kill left behind. Returns the counts of committed rows."""
    if not os.path.exists(log):  # killed before the log had its name
        tally.early += 1
        return before
    try:
        counts, data = read_log(log, swmr=True)
    except OSError as error:
        tally.problem(f"kill {tally.kills}: the log does not open with swmr=True: {error}")
        return before
    for group in GROUPS:
        if counts[group] < before[group]:
            tally.lost += before[group] - counts[group]
            tally.problem(f"kill {tally.kills}: {group} had {before[group]} committed rows, has {counts[group]}")
    bad = mismatches(data, whole)
    if bad:
        tally.mismatched += 1
        tally.problem(f"kill {tally.kills}: rows differ in {', '.join(bad)}")
    return counts


def check_ended(args, log, status, whole, whole_state, tally):
    tally.runs += 1
    if status != 0:
        with open(log + ".out", encoding="utf-8") as out:
            tally.problem(f"run {tally.runs} ended with status {status}: {out.read()[-300:]}")
        return
    counts, data = read_log(log, swmr=False)
    bad = mismatches(data, whole)
    bad += [group for group in GROUPS if group != "events" and counts[group] != len(next(iter(whole[group].values())))]
    state = read_checkpoint(log)
    bad += [name for name in whole_state if state.get(name) != whole_state[name]]
    if bad:
        tally.mismatched += 1
        tally.problem(f"run {tally.runs} ended with other bits: {', '.join(bad)}")


def disturbed_run(args, number, whole, whole_state, seconds, tally, rng):
    log = os.path.join(args.folder, f"run{number}.h5")
    counts = dict.fromkeys(GROUPS, 0)
    while tally.kills < args.kills:
        kind = tally.kills % 3
        points = {1: FLUSH_POINTS, 2: CHECKPOINT_POINTS}.get(kind)
        pause = ""
        if points:
            name = rng.choice(sorted(points))
            pause = f"{name}:{rng.randint(1, points[name])}"
        committed, before = counts["steps"], len(resumptions(log))
        status = live_once(args, log, pause, rng.uniform(0, 1.1 * seconds), tally)
        for start in resumptions(log)[before:]:
            tally.most_recomputed = max(tally.most_recomputed, committed - start)
        if status is not None:
            check_ended(args, log, status, whole, whole_state, tally)
            return
        counts = check_killed(log, counts, whole, tally)
    with open(log + ".out", "ab") as out:
        status = subprocess.call(command(args.program, args.optimizer, log), stdout=out, stderr=out)
    check_ended(args, log, status, whole, whole_state, tally)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--optimizer", default="onebit-adam")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    os.makedirs(args.folder, exist_ok=True)
    whole_path = os.path.join(args.folder, "whole.h5")
    begin = time.monotonic()
    subprocess.check_call(command(args.program, args.optimizer, whole_path), stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    _, whole = read_log(whole_path, swmr=False)
    whole_state = read_checkpoint(whole_path)
    tally = Tally()
    number = 0
    while tally.kills < args.kills:
        number += 1
        disturbed_run(args, number, whole, whole_state, seconds, tally, rng)
        for left in glob.glob(os.path.join(args.folder, f"run{number}.h5*")):
            if not tally.problems:
                os.remove(left)
    if tally.most_recomputed > EVERY:
        tally.problem(f"{tally.most_recomputed} steps were computed again, the interval is {EVERY}")
    print(f"kills {tally.kills}: inside a flush {tally.in_flush}, inside a checkpoint {tally.in_checkpoint}, "
          f"before the log had its name {tally.early}")
    print(f"runs that were resumed to their end {tally.runs}, tensors and lists compared {len(whole_state)}")
    print(f"committed rows lost {tally.lost}")
    print(f"mismatches {tally.mismatched}")
    print(f"steps computed again, at most {tally.most_recomputed} of an interval of {EVERY}")
    for problem in tally.problems[:20]:
        print("PROBLEM", problem)
    if not tally.problems:
        shutil.rmtree(args.folder)
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
