#!/usr/bin/env python3
"""When may the variance be frozen? Uses 'onebit analyze --validate' to run ten tasks of 1-bit Adam and three of 1-bit LAMB,
each with two values of beta2, five seeds and six freeze steps, in four arms: dense, frozen, compressed after the freeze,
and the same with a floor on the variance. Then determines for every criterion where it would have frozen, whether that
was safe, and how much of the best safe saving it keeps.

freeze-study.py PROGRAM FOLDER [--data FOLDER] [--jobs N] [--task NAME,...] [--seeds N]: runs everything that FOLDER does
not contain yet, so that it can be stopped and continued, or distributed over several machines with --task. Then judges the
results and writes FOLDER/study.json.

A criterion looks only at a seed's dense run, and freezes at the first of the six freeze steps at or after the step at
which it fires; if it fires after the last one, it does not freeze. It is false-safe on a task and beta2 if any seed
that it froze costs more than 2% of the final loss (of the loss above the minimum, if that is known). The saving is 1
minus the share of dense steps, averaged over the seeds. The saving kept is the ratio of this saving to that of the
earliest freeze step that is safe for every seed, as are all later ones. Parameters are chosen on the tasks marked
`chooses`, once for runs without a floor and once for runs with one, and judged on the other tasks. The tasks of 1-bit
LAMB use the parameters chosen for 1-bit Adam."""
import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import onebit.logs  # noqa: E402

SHARES = (0.04, 0.1, 0.2, 0.35, 0.5, 0.7)
MARGIN = 0.02
FLOOR = "mean:0.01"  # variance floor of the arm `floor`
COMMON = ("--workers 4 --log.workers-every 0 --threads 1 --schedule cosine").split()
ARMS = ("frozen", "compressed", "floor")


class Task:
    """beta2: two values; `chooses`: criteria are chosen on it, not judged."""

    def __init__(self, name, steps, beta2, options, chooses=False, optimizer="onebit-adam"):
        self.name, self.steps, self.beta2, self.chooses = name, steps, beta2, chooses
        self.options = ["--optimizer", optimizer, *options.split()]
        self.is_lamb = optimizer == "onebit-lamb"

    def freezes(self):
        return [round(share * self.steps) for share in SHARES]


def tasks(data):
    mnist = f"--data idx --data.path {data}/mnist/t10k-images-idx3-ubyte.gz,{data}/mnist/t10k-labels-idx1-ubyte.gz"
    text = f"--data text --data.path {data}/text/tinyshakespeare.txt"
    quadratic = "--model quadratic --model.spectrum power:2 --data none"
    return [
        Task("a9a", 1500, (0.9, 0.99), "--model logistic --data libsvm --data.features 123 --optimizer.lr 3e-3 "
             f"--data.path {data}/libsvm/a9a"),
        Task("mushrooms", 3000, (0.95, 0.995), "--model logistic --data libsvm --optimizer.lr 1e-2 "
             f"--data.path {data}/libsvm/mushrooms", True),
        Task("quadratic", 1500, (0.95, 0.99), f"{quadratic} --model.dimension 4096 --model.condition 1e4 --model.noise 0 "
             "--optimizer.lr 1e-3", True),
        Task("quadratic-noise", 1500, (0.95, 0.99), f"{quadratic} --model.dimension 512 --model.condition 1e3 "
             "--model.noise 1 --optimizer.lr 1e-2"),
        Task("softmax", 1000, (0.95, 0.99), f"--model softmax {mnist} --batch 16 --optimizer.lr 3e-3", True),
        Task("mlp", 1000, (0.95, 0.99), f"--model mlp --model.layers 784,64,10 {mnist} --batch 16 --optimizer.lr 1e-3"),
        Task("cnn", 300, (0.95, 0.98), f"--model cnn {mnist} --batch 4 --optimizer.lr 1e-3", True),
        Task("ngram", 1500, (0.95, 0.99), f"--model ngram {text} --batch 16 --optimizer.lr 1e-2", True),
        Task("gpt", 500, (0.95, 0.98), f"--model gpt-nano --model.context 16 {text} --batch 4 --optimizer.lr 2e-3 "
             "--schedule.warmup 25 --eval.examples 512"),
        Task("resnet20", 150, (0.9, 0.96), f"--model resnet20 {mnist} --batch 2 --optimizer.lr 3e-3 --eval.examples 1000"),
        Task("softmax-lamb", 1000, (0.95, 0.99), f"--model softmax {mnist} --batch 16 --optimizer.lr 1e-2",
             optimizer="onebit-lamb"),
        Task("mlp-lamb", 1000, (0.95, 0.99), f"--model mlp --model.layers 784,64,10 {mnist} --batch 16 --optimizer.lr 1e-2",
             optimizer="onebit-lamb"),
        Task("ngram-lamb", 1500, (0.95, 0.99), f"--model ngram {text} --batch 16 --optimizer.lr 1e-2",
             optimizer="onebit-lamb"),
    ]


def folder_of(root, task, beta2):
    return root / f"{task.name}-{beta2}"


def validate(program, root, task, beta2, seeds):
    """Returns the seconds that the runs took; 0 if their result existed already."""
    folder = folder_of(root, task, beta2)
    result = folder / "validation.json"
    if result.exists():
        return 0.0
    folder.mkdir(parents=True, exist_ok=True)
    every = max(1, task.steps // 100)
    command = [program, "analyze", "--validate", *COMMON, *task.options, "--steps", task.steps, "--optimizer.beta2", beta2,
               "--seeds", seeds, "--freeze-at", ",".join(map(str, task.freezes())), "--log.tensors-every", every,
               "--probe.every", every, "--arm", f"floor:optimizer.variance-floor={FLOOR}", "--margin", MARGIN, "--resume", "--json", "-o", folder]
    began = time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{folder.name}: {done.stderr.strip()}")
    result.with_suffix(".part").write_text(done.stdout)
    result.with_suffix(".part").rename(result)
    return time.monotonic() - began


class Dense:
    """The quantities of a seed's dense run that criteria use."""

    def __init__(self, path):
        log = onebit.logs.Log(path)
        steps, tensors, probes = log.steps, log.tensors, log.probes
        self.beta2 = float(log.config["optimizer.beta2"])
        self.warmup = int(log.config["schedule.warmup"])
        self.step = np.asarray(steps["step"])
        self.loss = np.asarray(steps["loss"])
        self.total = int(self.step[-1])
        self.lag = round(1 / (1 - self.beta2))
        self.raw = np.asarray(steps["variance_ratio"])
        self.l1 = np.asarray(steps["variance_ratio_corrected"])
        weight = 1 - self.beta2 ** self.step
        self.l2 = self.ratio(np.asarray(steps["variance_l2"]) / weight, self.lag)
        self.rows = np.asarray(tensors["step"])
        sizes = np.asarray(log.file["model/tensors"]["size"], dtype=float)
        momentum = np.asarray(tensors["momentum_l2"]) / np.sqrt(sizes)
        with np.errstate(all="ignore"):
            self.longest = np.nanmax(momentum / np.asarray(tensors["least_denominator"]), axis=1)
            self.high = np.nanmax(momentum / np.asarray(tensors["low_denominator"]), axis=1)
        cadence = int(self.rows[2] - self.rows[1])
        behind = max(1, round(self.lag / cadence))
        norms = np.asarray(tensors["variance_l1"]) / (1 - self.beta2 ** self.rows)[:, None]
        norms[norms <= 0] = np.nan
        ratio = np.full(norms.shape, np.nan)
        first = 1 if self.rows[0] != cadence else 0  # the row of step 1 is off the cadence
        now, then = norms[first + behind :], norms[first:-behind]
        ratio[first + behind :] = np.minimum(now / then, then / now)
        with np.errstate(all="ignore"):
            self.tensor = np.nanmin(ratio, axis=1)
        self.probes = np.asarray(probes["step"])
        self.drift = np.asarray(probes["rate_drift"]) * self.lag / max(1, int(self.probes[1] - self.probes[0]))
        self.moved = np.asarray(probes["moved_share"])
        self.fall = self.relative_fall()

    @staticmethod
    def ratio(norms, lag):
        result = np.full(len(norms), np.nan)
        with np.errstate(all="ignore"):
            result[lag:] = np.minimum(norms[lag:] / norms[:-lag], norms[:-lag] / norms[lag:])
        return result

    def relative_fall(self):
        """Fall of the training loss over one lag, relative to its fall since the first steps. Losses are averaged over a tenth
        of a lag."""
        width = max(5, self.lag // 10)
        mean = np.convolve(self.loss, np.ones(width) / width, mode="full")[: len(self.loss)]
        fall = np.full(len(mean), np.nan)
        start = max(width, self.lag)
        with np.errstate(all="ignore"):
            fall[start + width :] = (mean[width:-start] - mean[start + width :]) / np.maximum(
                mean[width] - mean[start + width :], 1e-300)
        return np.abs(fall)

    def stays(self, steps, good, dwell):
        """The first step at which `good` has held for `dwell` steps; None if there is none."""
        begun = None
        for step, holds in zip(steps, good):
            if step < max(1, self.warmup) or not holds:
                begun = None
                continue
            begun = step if begun is None else begun
            if step - begun + 1 >= dwell:
                return int(step)
        return None


def later(*fired):
    return None if any(step is None for step in fired) else max(fired)


def families():
    """Criteria by family, each a name and a function of a dense run."""
    thresholds = (0.5, 0.8, 0.9, 0.96, 0.99)
    dwells = (0, 0.1, 0.5, 1)

    def sustained(series, threshold, share):
        return lambda run: run.stays(run.step, getattr(run, series) >= threshold, max(1, round(share * run.lag)))

    def below(steps, series, limit, share=0):
        return lambda run: run.stays(getattr(run, steps), getattr(run, series) <= limit, max(1, round(share * run.lag)))

    def after(share):
        return lambda run: math.ceil(share * run.total)

    def both(*criteria):
        return lambda run: later(*(criterion(run) for criterion in criteria))

    corrected = {t: {d: sustained("l1", t, d) for d in dwells} for t in thresholds}
    return {
        "--freeze published": {"0.96": sustained("raw", 0.96, 0)},
        "--freeze auto": {"0.96, dwell 0.1 lag": corrected[0.96][0.1]},
        "a share of the run": {f"{share}": after(share) for share in (0.04, 0.1, 0.15, 0.2, 0.35, 0.5, 0.7)},
        "published: raw ratio": {f"{t}": sustained("raw", t, 0) for t in thresholds},
        "corrected ratio, l1": {f"{t}, dwell {d} lag": corrected[t][d] for t in thresholds for d in dwells},
        "corrected ratio, l2": {f"{t}, dwell {d} lag": sustained("l2", t, d) for t in thresholds for d in dwells},
        "smallest ratio of a tensor": {f"{t}": (lambda run, t=t: run.stays(run.rows, run.tensor >= t, 1)) for t in thresholds},
        "drift of rates over a lag": {f"{x}": below("probes", "drift", x) for x in (1, 0.5, 0.2, 0.1, 0.05)},
        "coordinates that moved": {f"{x}": below("probes", "moved", x) for x in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)},
        "longest step of one bit": {f"{x}": below("rows", "longest", x) for x in (10000, 1000, 300, 100, 30, 10)},
        "step of one bit, 1% above": {f"{x}": below("rows", "high", x) for x in (1000, 100, 30, 10, 5, 3)},
        "fall of the loss over a lag": {f"{x}": below("step", "fall", x, 0.1) for x in (0.2, 0.1, 0.05, 0.02, 0.01)},
        "corrected l1 and fall": {f"{t}, {x}": both(corrected[t][0.1], below("step", "fall", x, 0.1))
                                  for t in (0.9, 0.96) for x in (0.1, 0.05, 0.02)},
        "corrected l1 and longest step": {f"{t}, {x}": both(corrected[t][0.1], below("rows", "longest", x))
                                          for t in (0.9, 0.96) for x in (1000, 300, 100)},
        "corrected l1 and a share": {f"{t}, {share}": both(corrected[t][0.1], after(share))
                                     for t in (0.8, 0.9, 0.96) for share in (0.1, 0.2, 0.35)},
        "corrected l1, a share, longest step": {
            f"{t}, dwell {d} lag, {share}, 1000": both(sustained("l1", t, d), after(share), below("rows", "longest", 1000))
            for t in (0.9, 0.96, 0.98, 0.99) for d in (0.1, 0.5, 1) for share in (0.2, 0.35, 0.5)},
    }


class Cell:
    """A task with one beta2: its dense runs, and the cost of every freeze step for every seed."""

    def __init__(self, task, beta2, folder):
        self.task, self.beta2, self.name = task, beta2, f"{task.name} {beta2}"
        result = json.loads((folder / "validation.json").read_text())
        dense = {row["seed"]: row["loss"] for row in result["dense"]}
        self.seeds = sorted(dense)
        known = result["reference"].startswith("the known minimum")
        reference = float(result["reference"].split(",")[-1]) if known else 0.0
        losses = np.array([dense[seed] for seed in self.seeds])
        excess = losses.mean() - reference
        self.margin = MARGIN
        self.freezes = task.freezes()
        self.costs = {arm: {} for arm in ARMS}
        for trial in result["trials"]:
            for arm, costs in self.costs.items():
                loss = trial[arm]["loss"]
                cost = math.inf if loss is None else (loss - dense[trial["seed"]]) / excess
                costs[trial["seed"], trial["freeze_step"]] = cost
        self.runs = {seed: Dense(str(folder / f"dense-{seed}.h5")) for seed in self.seeds}

    def saving(self, step):
        return 0.0 if step is None else 1 - step / self.task.steps

    def is_safe(self, arm, seed, step):
        return step is None or self.costs[arm][seed, step] <= self.margin

    def best(self, arm):
        """The earliest freeze step that is safe for every seed, as are all later ones; None if there is none."""
        best = None
        for step in reversed(self.freezes):
            if not all(self.is_safe(arm, seed, step) for seed in self.seeds):
                break
            best = step
        return best

    def frozen_at(self, criterion):
        """The step at which a criterion freezes, by seed; None if it does not freeze."""
        steps = {}
        for seed, run in self.runs.items():
            fired = criterion(run)
            steps[seed] = next((s for s in self.freezes if fired is not None and s >= fired), None)
        return steps

    def judge(self, criterion):
        steps = self.frozen_at(criterion)
        outcome = {"steps": steps, "saving": float(np.mean([self.saving(s) for s in steps.values()]))}
        for arm in self.costs:
            best = self.saving(self.best(arm))
            safe = all(self.is_safe(arm, seed, step) for seed, step in steps.items())
            kept = None if best == 0 else outcome["saving"] / best
            outcome[arm] = {"safe": safe, "kept": kept}
        return outcome


def total(cells, criterion):
    outcomes = [cell.judge(criterion) for cell in cells]
    result = {}
    for arm in ARMS:
        kept = [outcome[arm]["kept"] for outcome in outcomes if outcome[arm]["kept"] is not None and outcome[arm]["safe"]]
        result[arm] = {"false_safe": sum(not outcome[arm]["safe"] for outcome in outcomes), "of": len(outcomes),
                       "kept": float(np.median(kept)) if kept else None}
    return result


def rank(figures, arms):
    return (sum(figures[arm]["false_safe"] for arm in arms), -(figures[arms[0]]["kept"] or 0))


def study(cells, arms):
    """One row per family, whose parameters are chosen with these arms."""
    choosing = [cell for cell in cells if cell.task.chooses]
    judged = [cell for cell in cells if not cell.task.chooses and not cell.task.is_lamb]
    lamb = [cell for cell in cells if cell.task.is_lamb]
    rows = []
    for family, criteria in families().items():
        parameters = min(criteria, key=lambda name: rank(total(choosing, criteria[name]), arms))
        best = criteria[parameters]
        rows.append({"criterion": family, "parameters": parameters, "arms": arms, "chosen_on": total(choosing, best),
                     "judged": total(judged, best), "lamb": total(lamb, best),
                     "fires": {cell.name: list(cell.frozen_at(best).values()) for cell in cells},
                     "all": {name: {"chosen_on": total(choosing, criterion), "judged": total(judged, criterion)}
                             for name, criterion in criteria.items()}})
    return rows


def figures_text(figures, arms):
    def arm(name):
        kept = figures[name]["kept"]
        return f"{figures[name]['false_safe']:2}/{figures[name]['of']:<2} {'-' if kept is None else f'{100 * kept:.0f}%':>5}"
    return "   ".join(arm(name) for name in arms)


def print_cells(cells):
    print("best safe freeze as a share of the steps, and its cost for the worst seed")
    print(f"{'task, beta2':22} " + " ".join(f"{arm:>16}" for arm in ARMS))
    for cell in cells:
        texts = []
        for arm in ARMS:
            best = cell.best(arm)
            worst = "" if best is None else f" ({100 * max(cell.costs[arm][s, best] for s in cell.seeds):+.2f}%)"
            texts.append("none" if best is None else f"{best / cell.task.steps:.2f}{worst}")
        print(f"{cell.name:22} " + " ".join(f"{text:>16}" for text in texts) + ("   chooses" if cell.task.chooses else ""))


def print_study(rows, arms):
    print(f"\nfalse-safe and median saving kept, arms {', '.join(arms)}: choosing tasks | judged tasks | 1-bit LAMB")
    for row in rows:
        name = f"{row['criterion']} {row['parameters']}"
        print(f"{name:52} " + "  |  ".join(figures_text(row[part], arms) for part in ("chosen_on", "judged", "lamb")))


def gnuplot(path, settings, series):
    """Draws series, each a tuple (title, x, y, style). Values that are not finite are left out."""
    plots, data = [], []
    for title, x, y, style in series:
        plots.append(f"'-' using 1:2 title '{title}' {style}")
        data.append("".join(f"{a} {b}\n" for a, b in zip(x, y) if math.isfinite(a) and math.isfinite(b)) + "e\n")
    script = f"set term pngcairo size 960,480 font ',11'\nset output '{path}'\nset grid\n{settings}\nplot {', '.join(plots)}\n"
    subprocess.run(["gnuplot"], input=script + "".join(data), text=True, check=True)


def draw_costs(cells, path):
    """Plots the number of 1-bit Adam's cells in which some seed's cost exceeds the margin, against the freeze step."""
    adam = [cell for cell in cells if not cell.task.is_lamb]
    series = []
    for arm, title, colour in (("compressed", "one bit", "#d55e00"), ("frozen", "32 bits", "#0072b2"),
                               ("floor", f"one bit, floor {FLOOR}", "#009e73")):
        beyond = [sum(not all(cell.is_safe(arm, seed, step) for seed in cell.seeds)
                      for cell in adam for step in [round(share * cell.task.steps)]) for share in SHARES]
        series.append((title, SHARES, beyond, f"with linespoints lc rgb '{colour}' lw 2 pt 7 ps 1"))
    gnuplot(path, f"set yrange [0:{len(adam)}]\nset xlabel 'freeze, share of the run'\n"
            f"set ylabel 'cases of {len(adam)} in which a seed costs over {100 * MARGIN:.0f}%'\nset key top right", series)


def draw_criteria(rows, path):
    """Plots how often each criterion was false-safe, and the saving it keeps, over all tasks."""
    series = []
    for row in rows:
        points = [(sum(figures[part][arm]["false_safe"] for part in figures for arm in ARMS[:2]),
                   figures["judged"]["frozen"]["kept"]) for figures in row["all"].values()]
        points = [(x, 100 * y) for x, y in points if y is not None]
        if points:
            series.append((row["criterion"], *zip(*points), "with points ps 1.2"))
    gnuplot(path, "set xlabel 'false-safe, both arms, all tasks'\nset ylabel 'saving kept on judged tasks, median, %'\n"
            "set key outside", series)


def draw_ratios(cell, path):
    """Plots the stability ratios of the stored and the corrected variance of a dense run."""
    run = next(iter(cell.runs.values()))
    gnuplot(path, f"set xlabel 'step, {cell.name}'\nset ylabel 'min(r, 1/r) of the l1 norm over a lag'\nset yrange [0:1.02]\nset key bottom right",
            [("stored variance (published rule)", run.step, run.raw, "with lines lw 2 lc rgb '#d55e00'"),
             ("without its bias (auto)", run.step, run.l1, "with lines lw 2 lc rgb '#0072b2'"),
             ("0.96", [0, run.total], [0.96, 0.96], "with lines dt 2 lc rgb 'black'")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--task", help="only these tasks, separated by commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pictures", type=pathlib.Path, help="folder for three pictures (needs gnuplot)")
    options = parser.parse_args()
    wanted = [(task, beta2) for task in tasks(options.data.resolve()) for beta2 in task.beta2
              if not options.task or task.name in options.task.split(",")]
    program, began = str(options.program.resolve()), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(validate, program, options.folder, task, beta2, options.seeds): f"{task.name} {beta2}"
                for task, beta2 in wanted}
        for job in concurrent.futures.as_completed(jobs):
            if job.result() > 0:
                print(f"{jobs[job]}: {job.result():.0f} s", file=sys.stderr, flush=True)
    seconds = time.monotonic() - began
    cells = [Cell(task, beta2, folder_of(options.folder, task, beta2)) for task, beta2 in wanted]
    print_cells(cells)
    rows = study(cells, ARMS[:2])
    print_study(rows, ARMS[:2])
    with_floor = study(cells, ARMS[2:])
    print_study(with_floor, ARMS[2:])
    print(f"\nwall time of the runs: {seconds:.0f} s, {options.jobs} at a time")
    if options.pictures:
        draw_costs(cells, options.pictures / "freeze-study-costs.png")
        draw_criteria(rows, options.pictures / "freeze-study-criteria.png")
        draw_ratios(next(cell for cell in cells if cell.name == "a9a 0.99"), options.pictures / "freeze-study-ratios.png")
    costs = {cell.name: {arm: [{"seed": s, "step": t, "cost": c} for (s, t), c in costs.items()]
                         for arm, costs in cell.costs.items()} for cell in cells}
    (options.folder / "study.json").write_text(json.dumps({"rows": rows, "with_floor": with_floor, "costs": costs, "seconds": seconds}, indent=1))


if __name__ == "__main__":
    main()
