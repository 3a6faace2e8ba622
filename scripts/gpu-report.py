#!/usr/bin/env python3
"""Prints a table of the results of gpu-check.sh, and writes it to OUT together with all figures. Usage: gpu-report.py
FOLDER OUT, where FOLDER contains facts.tsv (name, value), parts.tsv (part, result, detail) and, for parts that measured
something, PART.log (JSON)."""
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


STEP_PARTS = ["floor", "big_batch", "sample", "forward", "backward", "encode", "exchange", "server", "update"]


def milliseconds(value):
    return f"{1000 * value:.3f} ms"


def details(figures):
    """Rows of the table for parts that have figures."""
    for part, figure in figures.items():
        if not part.startswith("kernels") or not figure:
            continue
        for report in figure["devices"]:
            yield part, report["device"], f"copies {report['copy_bytes_per_second'] / 1e9:.0f} GB/s (read + written)"
            for row in report["kernels"]:
                yield part, row["kernel"], f"{milliseconds(row['seconds'])}, {row['share_of_copy']:.0%} of the copy"
    for part, step in figures.items():
        if part.startswith("step-") and step:
            ratio = step["step_seconds"] / step["floor_seconds"]
            yield part[5:], milliseconds(step["step_seconds"]), f"{ratio:.2f} x floor; " + ", ".join(
                f"{key} {milliseconds(step[key + '_seconds'])}" for key in STEP_PARTS)
    for row in (figures.get("scaling") or {}).get("rows", []):
        yield "scaling", f"{row['workers']} workers", f"step {milliseconds(row['step_seconds'])}"
    for row in (figures.get("peers") or {}).get("steps", []):
        for program, seconds in row["seconds"].items():
            times = f"{seconds / row['seconds']['onebit']:.1f} x onebit's"
            yield row["step"], program, f"{milliseconds(seconds)}, {times}"


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    facts, parts = dict(table_of(folder / "facts.tsv")), table_of(folder / "parts.tsv")
    figures = {part: json_of(folder / f"{part}.log") for part, result, _ in parts if result == "measured"}
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
