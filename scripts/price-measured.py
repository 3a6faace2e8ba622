#!/usr/bin/env python3
"""Compares predictions of `onebit price` with published measurements.

    price-measured.py PROGRAM [--shared FOLDER] [--check PAGE]

Prices every row of docs/measurements/collectives.csv and, if the folder holds data/network/measured.json, every
command of that file, and prints the tables of docs/price-measured.md. With --check, compares them with the page
instead, and the exit status is 1 if they differ.
"""
import argparse
import csv
import difflib
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG = 4e-3  # seconds; shorter collectives are dominated by latencies

# Presets that describe the machine of a command in measured.json.
PRESETS = {
    "--cluster roce100 --cluster.gpu-link nvlink3 --cluster.gpu a100 --cluster.nic.nominal 50GB/s "
    "--cluster.nic.effective 46GB/s": "--cluster aws-p4d",
    "--cluster ib200 --cluster.gpu-link nvlink4 --cluster.gpu h100 --cluster.nic.nominal 200GB/s "
    "--cluster.nic.effective 188GB/s": "--cluster gcp-a3-mega",
    "--cluster ib200 --cluster.gpu-link nvlink3 --cluster.gpu a100 --cluster.nic.nominal 200GB/s "
    "--cluster.nic.effective 188GB/s": "--cluster dgx-a100",
}

def price(program, arguments):
    done = subprocess.run([program, "price", "--json", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def percent(error):
    return f"{100 * error:+.1f}%"


def collectives(program):
    """Rows of collectives.csv, each with its error."""
    with open(ROOT / "docs/measurements/collectives.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    groups = {}
    for row in rows:
        groups.setdefault((row["cluster"], row["options"], row["gpus"], row["collective"]), []).append(row)
    for (cluster, options, gpus, collective), members in groups.items():
        sizes = sorted({int(row["bytes"]) for row in members})
        told = price(program, ["--collective", collective, "--bytes", ",".join(map(str, sizes)), "--cluster", cluster,
                               "--workers", gpus, *shlex.split(options)])
        seconds = {int(size["bytes"]): size["seconds"] for size in told["sizes"]}
        for row in members:
            row["error"] = seconds[int(row["bytes"])] / float(row["seconds"]) - 1
            row["nodes"] = told["nodes"]
    return rows


def worst(errors):
    return percent(max(errors, key=abs)) if errors else "-"


def spread(errors):
    return f"{100 * statistics.median(map(abs, errors)):.1f}%" if errors else "-"


def machines_table(rows):
    yield "| machine | preset | GPUs | collective | rows | 4 ms and longer: median, worst | shorter: median, worst |"
    yield "|---|---|---|---|---|---|---|"
    groups = {}
    for row in rows:
        mark = " *" if row["sets_a_preset"] == "yes" else ""
        groups.setdefault((row["machine"] + mark, row["cluster"], row["gpus"], row["collective"]), []).append(row)
    for (machine, cluster, gpus, collective), members in sorted(groups.items(), key=lambda item: (item[0][1], item[0])):
        long = [row["error"] for row in members if float(row["seconds"]) >= LONG]
        short = [row["error"] for row in members if float(row["seconds"]) < LONG]
        yield (f"| {machine} | `{cluster}` | {gpus} | {collective} | {len(members)} | {spread(long)}, {worst(long)} | "
               f"{spread(short)}, {worst(short)} |")


def summary_table(rows):
    yield "| rows | number | median | 90% are within | worst |"
    yield "|---|---|---|---|---|"
    for collective in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all"):
        for sets, machines in (("yes", "machines used to set a preset"), ("no", "other machines")):
            for long in (True, False):
                errors = sorted((row["error"] for row in rows if row["collective"] == collective
                                 and row["sets_a_preset"] == sets and (float(row["seconds"]) >= LONG) == long), key=abs)
                if errors:
                    yield (f"| {collective}, {'4 ms and longer' if long else 'shorter'}, {machines} | {len(errors)} | "
                           f"{spread(errors)} | {100 * abs(errors[int(0.9 * (len(errors) - 1))]):.1f}% | "
                           f"{worst(errors)} |")


def arguments_of(command):
    return [word for word in shlex.split(command)[2:] if word != "--json"]


def with_preset(command):
    for options, preset in PRESETS.items():
        command = command.replace(options, preset)
    return command


def value_at(told, path):
    for name in path.split("."):
        told = told[name]
    return told


REWORDED = {
    "SQuAD points (but for 1 GPU) fitted nothing": "apart from the 1-GPU point, no SQuAD point was used for a fit",
    "GPU model not told": "GPU model not stated",
    "4 Pascal GPUs a node": "4 Pascal GPUs per node",
    "TCP gets 0.64 of the line (preset eth25), RDMA 0.92, PCIe 3, a third of the single-GPU time forward":
        "TCP reaches 0.64 of the line rate (preset eth25), and RDMA 0.92; links within a node are PCIe 3; the forward "
        "pass takes a third of the step on one GPU",
    "dense Adam, never fitted; one-GPU step of the figure (164 ms) given":
        "dense Adam, never used for a fit; the command states the step time on one GPU (164 ms) from the figure",
    "0.64 of line as preset eth25": "0.64 of the line rate, as in the preset eth25",
    "effective 0.92 of line, latency 14 us": "0.92 of the line rate, latency 14 us",
}


def in_plain_words(note):
    """Rewords the notes of measured.json."""
    for told, plain in REWORDED.items():
        note = note.replace(told, plain)
    return re.sub("  Digitised by .*", ". Read off the chart; not checked a second time.", note)


def source_in_plain_words(source):
    """Rewords the sources of measured.json."""
    source = source.replace("chart images digitised in reference/papers.md 1.7 (+-1.5%)", "read off the charts (±1.5%)")
    return source.replace("tutorial in GitHub", "tutorial on GitHub").replace("  ", " ")


def commands_table(program, rows):
    yield "| measurement | measured | predicted | error of the time | guessed |"
    yield "|---|---|---|---|---|"
    kept = {"nothing guessed": [], "a preset in place of guessed links": [], "guessed": [], "all rows": []}
    for row in rows:
        command = with_preset(row["example_command"])
        predicted, measured = value_at(price(program, arguments_of(command)), row["what"]), row["measured"]
        error = predicted / measured - 1 if row["unit"] == "s" else measured / predicted - 1
        guess = in_plain_words(row["parameters_that_had_to_be_guessed"])
        kind = "nothing guessed" if guess.startswith("nothing guessed") else "guessed"
        if command != row["example_command"]:
            guess = "a preset replaces the links of the command; the note on those links: " + guess
            if "GPU model not stated" not in guess:
                kind = "a preset in place of guessed links"
        kept["all rows"].append(error)
        kept[kind].append(error)
        yield (f"| {source_in_plain_words(row['source'])}: `{' '.join(arguments_of(command))}` | {measured:.4g} {row['unit']} | {predicted:.4g} | {percent(error)} | "
               f"{'' if kind == 'nothing guessed' else guess} |")
    for name, errors in kept.items():
        yield f"| **{name}**: {len(errors)} | | | median {spread(errors)}, worst {worst(errors)} | |"


def nodes_table(rows):
    yield "| all-reduces of 4 ms and longer, machines not used to set a preset | number | median | worst |"
    yield "|---|---|---|---|"
    kept = [row for row in rows if row["collective"] == "all-reduce" and row["sets_a_preset"] == "no"
            and float(row["seconds"]) >= LONG]
    for name, holds in (("one node or NVLink domain", lambda row: row["nodes"] == 1),
                        ("two nodes", lambda row: row["nodes"] == 2),
                        ("four and eight nodes", lambda row: row["nodes"] > 2)):
        errors = [row["error"] for row in kept if holds(row)]
        yield f"| {name} | {len(errors)} | {spread(errors)} | {worst(errors)} |"


def page(program, shared):
    rows = collectives(program)
    yield "## Collectives\n"
    yield from summary_table(rows)
    yield ""
    yield from nodes_table(rows)
    yield ""
    yield from machines_table(rows)
    measured = pathlib.Path(shared) / "data/network/measured.json"
    if measured.exists():
        yield "\n## Steps and collectives with their commands\n"
        yield from commands_table(program, json.loads(measured.read_text(encoding="utf-8")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shared", default=ROOT.parent / "shared")
    parser.add_argument("--check")
    args = parser.parse_args()
    text = "\n".join(page(args.program, args.shared))
    if not args.check:
        print(text)
        return
    held = pathlib.Path(args.check).read_text(encoding="utf-8")
    here = held[held.index("## Collectives"):].rstrip("\n")
    if "## Steps and" not in text:
        here = here.split("\n\n## Steps and")[0]
    if here != text:
        print("\n".join(difflib.unified_diff(here.split("\n"), text.split("\n"), "page", "now", lineterm="")))
        sys.exit(1)


if __name__ == "__main__":
    main()
