#!/usr/bin/env python3
"""Asks whether the tests would notice a wrong formula. Draws single-token changes of formulas in analysis/ and in sim's
probes from a seed (an operator or a bound for its like, a number for another one), builds each in a copy of the tree,
and runs the tests of its room. Prints a line a change, and at the end every one that no test noticed.

mutations.py FOLDER [--count 100] [--seed 1] [--from 0] [--list]: the copy and its build are in FOLDER, which is made
where it is not there; --from goes on behind so many changes of a run that was broken off. A change that does not
compile is drawn again. Exits 0 whatever survives: some changes are of no consequence, which only a reader can say."""
import argparse
import dataclasses
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = {"analysis": ("test_analysis", []), "sim": ("test_sim", ["*prob*,*shadow*,*denominators*,*quadratic*,*gradient*"])}
SOURCES = ["analysis/*.cpp", "sim/probe.cpp", "sim/probe_kernels.hpp", "sim/theory_probe.cpp",
           "sim/theory_kernels.hpp"]
UNMUTATED = {"plot.cpp", "gnuplot.cpp"}  # they draw
SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "==",
         "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
OPERATOR = re.compile(r"(?<= )(\+|-|\*|/|<|>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=)(?= )")
NUMBER = re.compile(r"(?<![\w.\"])(\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.\"])")
BOUND = re.compile(r"\b(min|max|fmin|fmax|first|last|front|back|sqrt)\(")
BOUNDS = {"min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin", "front": "back", "back": "front",
          "sqrt": "abs"}


@dataclasses.dataclass(frozen=True)
class Change:
    path: str
    line: int
    begin: int
    end: int
    text: str

    def apply(self, source):
        lines = source.split("\n")
        old = lines[self.line]
        lines[self.line] = old[: self.begin] + self.text + old[self.end :]
        return "\n".join(lines), old.strip(), lines[self.line].strip()


def other_number(text):
    real = "." in text or "e" in text
    return str(int(text) + 1) if not real else str(float(text) * 2) if float(text) != 0 else "1.0"


def is_formula(line):
    code = line.strip()
    quoted = '"' in code or "'" in code
    return not quoted and not code.startswith(("//", "#", "template", "namespace", "constexpr std::string", "* "))


def changes_of(path, source):
    changes = []
    for number, line in enumerate(source.split("\n")):
        if not is_formula(line):
            continue
        code = line.split("//")[0]
        for match in OPERATOR.finditer(code):
            changes.append((number, match.start(1), match.end(1), SWAPS[match.group(1)]))
        for match in NUMBER.finditer(code):
            changes.append((number, match.start(1), match.end(1), other_number(match.group(1))))
        for match in BOUND.finditer(code):
            if match.group(1) in BOUNDS:
                changes.append((number, match.start(1), match.end(1), BOUNDS[match.group(1)]))
    return [Change(path, *change) for change in changes]


def all_changes(root):
    changes = []
    for pattern in SOURCES:
        for file in sorted(root.glob(pattern)):
            if file.name not in UNMUTATED:
                changes += changes_of(str(file.relative_to(root)), file.read_text())
    return changes


def run(command, limit, **more):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, **more).returncode
    except subprocess.TimeoutExpired:
        return -1


def build(folder, room):
    return run(["cmake", "--build", folder / "build", "--target", TESTS[room][0], "--parallel"], 1200)


def prepare(folder):
    if not (folder / "tree").exists():
        subprocess.run(["git", "clone", "-q", ROOT, folder / "tree"], check=True)
    subprocess.run(["git", "-C", folder / "tree", "checkout", "-q", "."], check=True)
    subprocess.run(["cmake", "-S", folder / "tree", "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DONEBIT_CUDA=OFF", "-DONEBIT_PCH=ON"],
                   check=True, stdout=subprocess.DEVNULL)
    for room in TESTS:
        if build(folder, room) != 0 or tests_notice(folder, room):
            sys.exit(f"mutations: the tests of {room} do not pass as they are")


def tests_notice(folder, room):
    program, names = TESTS[room]
    return run([folder / "build/tests" / room / program, "--abort", *names], 600, cwd=folder / "tree") != 0


def outcome(folder, change):
    file = folder / "tree" / change.path
    source = file.read_text()
    room = change.path.split("/")[0]
    try:
        file.write_text(change.apply(source)[0])
        if build(folder, room) != 0:
            return "does not compile"
        return "noticed" if tests_notice(folder, room) else "SURVIVED"
    finally:
        file.write_text(source)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="the changes, unbuilt")
    options = parser.parse_args()
    changes = all_changes(ROOT)
    random.Random(options.seed).shuffle(changes)
    if not options.list:
        shutil.os.makedirs(options.folder, exist_ok=True)
        prepare(options.folder.resolve())
    counts, survivors, done = {"noticed": 0, "SURVIVED": 0}, [], 0
    for change in changes:
        if done >= options.count:
            break
        _, old, new = change.apply((ROOT / change.path).read_text())
        line = f"{change.path}:{change.line + 1}: {old}  ->  {new}"
        if options.list or done < options.first:
            done += 1
            if options.list:
                print(line)
            continue
        began = time.monotonic()
        result = outcome(options.folder.resolve(), change)
        if result == "does not compile":
            continue
        done += 1
        counts[result] += 1
        if result == "SURVIVED":
            survivors.append(line)
        print(f"{done:4} {result:9} {time.monotonic() - began:5.0f} s  {line}", flush=True)
    if options.list:
        return
    print(f"\n{counts['noticed']} of {sum(counts.values())} noticed; {len(changes)} changes to draw from, seed {options.seed}")
    for line in survivors:
        print("survived: " + line)


if __name__ == "__main__":
    main()
