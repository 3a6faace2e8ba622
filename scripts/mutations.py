#!/usr/bin/env python3
"""Checks whether the tests would notice a wrong formula. Draws random single-token changes of formulas in analysis/ and in
sim's probes (an operator or a bound is exchanged for a similar one, a number for another one), builds each in a copy of
the tree, and runs the tests of its room, beginning with those of the changed file. Prints one line per change, and at the
end all changes that no test noticed.

mutations.py FOLDER [--count 100] [--seed 1] [--from 0] [--only 3,17] [--jobs N] [--list]: FOLDER contains the copy of the
committed tree and its build, and is created if necessary. Changes are numbered in the order in which they are drawn. A
change that does not compile keeps its number but is not counted, and another one is drawn. --from continues an
interrupted run after that many changes; --only makes only the changes with these numbers. The tests' data are in
ONEBIT_SHARED, or in ../shared of this tree. A test that is skipped because its data are missing notices nothing; the
script reports such tests. A change that makes the tests run ten times as long, or take more than MEMORY, counts as
noticed ("hangs"). The exit status is 0 even if changes survive: some have no effect, which only a reader can tell."""
import argparse
import dataclasses
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of sim, all tests except slow ones that do not concern probes.
TESTS = {"analysis": ("test_analysis", ("~[.]",)), "sim": ("test_sim", ('~[.]~"plan:*"~"checkpoint:*"~"debug:*"',))}
SOURCES = ["analysis/**/*.cpp", "sim/probe/probe.cpp", "sim/probe/probe_kernels.hpp", "sim/probe/theory_probe.cpp",
           "sim/probe/theory_kernels.hpp"]
UNMUTATED = {"plot.cpp", "gnuplot.cpp"}  # they draw pictures
# Tests of a file, if they have another name.
FIRST = {"loss_window": "diagnosis", "recorded_phases": "exchanges", "stages": "timeline", "probe": "theory_probe",
         "theory_kernels": "theory_probe", "probe_kernels": "theory_probe", "job": "pricing",
         "job_price": "pricing", "price_sweep": "pricing", "stage_traffic": "pricing"}
MEMORY = 8 << 30
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

    def room(self):
        return self.path.split("/")[0]

    def own_test(self):
        """Arguments that select the tests of the changed file; if it has none, no test runs."""
        stem = pathlib.Path(self.path).stem
        return "--filenames-as-tags", f"[#{FIRST.get(stem, stem)}_test]"

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
    """Exit status (None if the limit was reached) and output."""
    def bounded():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
                               preexec_fn=bounded, **more)
        return ended.returncode, ended.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None, ""


class Copy:
    def __init__(self, folder, jobs):
        self.tree, self.build_folder, self.jobs = folder / "tree", folder / "build", str(jobs)
        self.seconds = {}  # duration of a room's tests without a change, by names of tests
        folder.mkdir(parents=True, exist_ok=True)
        if not self.tree.exists():
            subprocess.run(["git", "clone", "-q", ROOT, self.tree], check=True)
        git = ["git", "-C", self.tree]
        subprocess.run([*git, "fetch", "-q", ROOT, "HEAD"], check=True)
        subprocess.run([*git, "checkout", "-q", "--force", "--detach", "FETCH_HEAD"], check=True)

    def prepare(self, changes):
        shared = pathlib.Path(os.environ.get("ONEBIT_SHARED") or ROOT.parent / "shared").resolve()
        subprocess.run(["cmake", "-S", self.tree, "-B", self.build_folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DONEBIT_CUDA=OFF", "-DONEBIT_PCH=ON",
                        f"-DONEBIT_SHARED={shared}"], check=True, stdout=subprocess.DEVNULL)
        for room in sorted({change.room() for change in changes}):
            if self.build(room) != 0:
                sys.exit(f"mutations: {TESTS[room][0]} does not build without a change")
            self.measure(room, TESTS[room][1])
        for room, own in sorted({(change.room(), change.own_test()) for change in changes}):
            self.measure(room, own)

    def measure(self, room, names):
        began = time.monotonic()
        status, output = self.tests(room, names, 3600)
        self.seconds[room, names] = time.monotonic() - began
        if status != 0:
            sys.exit(f"mutations: tests of {room} ({names[-1]}) do not pass without a change\n{output[-2000:]}")
        for skipped in re.findall("ONEBIT-SKIPPED: .*", output):
            print(f"mutations: a test of {room} notices nothing: {skipped}", flush=True)

    def build(self, room):
        return run(["cmake", "--build", self.build_folder, "--target", TESTS[room][0], "--parallel", self.jobs], 3600)[0]

    def tests(self, room, names, limit):
        return run([self.build_folder / "tests" / room / TESTS[room][0], "--abort", *names], limit, cwd=self.tree,
                   env=os.environ | {"OMP_WAIT_POLICY": "passive"})

    def outcome(self, change):
        file = self.tree / change.path
        source = file.read_text()
        room = change.room()
        try:
            file.write_text(change.apply(source)[0])
            if self.build(room) != 0:
                return "does not compile"
            for names in (change.own_test(), TESTS[room][1]):
                status, output = self.tests(room, names, 30 + 10 * self.seconds[room, names])
                if status != 0:
                    return "hangs" if status is None or "bad_alloc" in output else "noticed"
            return "SURVIVED"
        finally:
            file.write_text(source)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--only", type=lambda text: {int(number) for number in text.split(",")}, default=set(),
                        help="numbers of changes, as printed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel jobs of the build")
    parser.add_argument("--list", action="store_true", help="print the changes without building them")
    options = parser.parse_args()
    if options.list:
        root = ROOT
    else:
        copy = Copy(options.folder.resolve(), options.jobs)
        root = copy.tree
    changes = all_changes(root)
    random.Random(options.seed).shuffle(changes)
    chosen = [(number, change) for number, change in enumerate(changes, 1)
              if (number in options.only if options.only else number > options.first)]
    wanted = len(chosen) if options.only else options.count - options.first
    if not options.list:
        copy.prepare([change for _, change in chosen])
    counts, survivors, done = {"noticed": 0, "hangs": 0, "SURVIVED": 0}, [], 0
    for number, change in chosen:
        if done >= wanted:
            break
        _, old, new = change.apply((root / change.path).read_text())
        line = f"{number:4}  {change.path}:{change.line + 1}: {old}  ->  {new}"
        if options.list:
            done += 1
            print(line)
            continue
        began = time.monotonic()
        result = copy.outcome(change)
        print(f"{result:9} {time.monotonic() - began:5.0f} s {line}", flush=True)
        if result == "does not compile":
            continue
        done += 1
        counts[result] += 1
        if result == "SURVIVED":
            survivors.append(line)
    if options.list:
        return
    print(f"\n{counts['noticed'] + counts['hangs']} of {sum(counts.values())} noticed, {counts['hangs']} of them because the "
          f"tests hang; {len(changes)} changes to draw from, seed {options.seed}")
    for line in survivors:
        print("survived: " + line)


if __name__ == "__main__":
    main()
