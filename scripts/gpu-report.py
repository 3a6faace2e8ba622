#!/usr/bin/env python3
"""Prints one table of what gpu-check.sh found and writes it to OUT with the figures behind it. Usage: gpu-report.py
FOLDER OUT, where FOLDER holds facts.tsv (name, value), parts.tsv (part, result, detail), bench-*.log and peers.log
(JSON)."""
import json
import pathlib
import re
import sys


def table_of(path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]


def json_of(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def part_of(part, result, detail):
    counts = re.match(r"(\d+) passed, (\d+) failed, (\d+) skipped", detail)
    numbers = dict(zip(["passed", "failed", "skipped"], map(int, counts.groups()))) if counts else {}
    return {"part": part, "result": result, "detail": detail, **numbers}


def milliseconds(value):
    return f"{1000 * value:.3f} ms"


def details(figures):
    """Rows for the figures of those parts that gave some."""
    for report in (figures["bench-kernels"] or {}).get("devices", []):
        yield "", report["device"], f"copies {report['copy_bytes_per_second'] / 1e9:.0f} GB/s (read + written)"
        for row in report["kernels"]:
            yield "", row["kernel"], f"{milliseconds(row['seconds'])}, {row['share_of_copy']:.0%} of the copy"
    step, peer = figures["bench-step"], figures["peers"]
    for key in ["step", "floor", "big_batch", "forward", "backward", "encode", "exchange", "server", "update"]:
        if step:
            yield "", f"onebit {key}", milliseconds(step[f"{key}_seconds"])
    for key in ["onebit_step", "big_batch"]:
        if peer:
            yield "", f"PyTorch {key}", milliseconds(peer[f"{key}_seconds"])


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    facts, parts = dict(table_of(folder / "facts.tsv")), table_of(folder / "parts.tsv")
    figures = {name: json_of(folder / f"{name}.log") for name in ["bench-kernels", "bench-step", "peers"]}
    document = {**facts, "parts": [part_of(*row) for row in parts], **figures}
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    try:
        parts += details(figures)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # the figures are in OUT, whatever their shape
        parts.append(["", "figures", f"not shown: {error!r}"])
    rows = [["", name, value] for name, value in facts.items()] + parts
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for part, result, detail in rows:
        print(f"{part:<{widths[0]}}  {result:<{widths[1]}}  {detail}".rstrip())


main()
