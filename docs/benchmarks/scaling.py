#!/usr/bin/env python3
"""Measures the cost of dividing one batch among more and more workers; prints a Markdown table and draws a picture.

    docs/benchmarks/scaling.py build/release/experiments/onebit scaling.png [options of bench scaling]

Needs gnuplot."""
import json
import subprocess
import sys

PROBLEM = ["--model", "mlp", "--model.layers", "784,256,256,10", "--optimizer", "onebit-adam"]
PICTURE = """
set terminal pngcairo size 900,560 font ',11'
set output '{picture}'
set title '{model}, {optimizer}, {batch} examples per step' noenhanced
set xlabel 'workers'
set ylabel 'ms'
set logscale x 2
set yrange [0:*]
set key top left
set grid lc rgb '#dddddd'
plot '-' with linespoints lw 2 pt 7 title 'whole step', '-' with linespoints lw 2 pt 7 title 'gradients'
"""


def points(rows, what):
    return "".join(f"{row['workers']} {1e3 * row[what]}\n" for row in rows) + "e\n"


def main(program, picture, *options):
    run = subprocess.run([program, "bench", "scaling", *PROBLEM, "--json", *options], check=True, capture_output=True)
    report = json.loads(run.stdout)
    print("| workers | examples of each | gradients | relative to one worker | step | relative to one worker | N x P |\n" +
          "|---" * 7 + "|")
    for row in report["rows"]:
        print(f"| {row['workers']} | {row['batch']} | {1e3 * row['gradient_seconds']:.1f} ms | {row['gradient_of_one']:.2f} | "
              f"{1e3 * row['step_seconds']:.1f} ms | {row['step_of_one']:.2f} | {row['gradient_bytes'] / 1e6:.1f} MB |")
    script = PICTURE.format(picture=picture, model=report["model"], optimizer=report["optimizer"],
                            batch=report["global_batch"])
    subprocess.run(["gnuplot"], check=True, text=True,
                   input=script + points(report["rows"], "step_seconds") + points(report["rows"], "gradient_seconds"))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
