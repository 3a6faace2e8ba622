#!/usr/bin/env python3
"""Damages HDF5 files in their inner structures and checks that every command that reads them ends well.

    damaged-files.py PROGRAM FOLDER [--count N] [--seed S] [--cases log,old-log,live,trace,...] [--seconds 10]

Each file is a copy of a log, a trace, a file of weights or a checkpoint in which 1 to 4 fields in each of one or two
structures (heaps, B-trees, object headers, chunk indexes) are changed. The checksum of a structure and the seal of a
checkpoint are computed anew, so that they do not reveal the damage. Each outcome is one of

    read      exit status 0
    refused   another exit status and a one-line error message
    bad       anything else: a death by a signal, more than --seconds, more than 1 GiB of memory, or several lines. The
              files are kept in FOLDER/bad, and the exit status of this script is 1

The files depend only on the seed, N and the program that writes the undamaged ones.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

import h5py
import numpy as np

MODEL = ["--model", "mlp", "--model.layers", "6,9,3", "--data", "synthetic", "--data.features", "6", "--data.classes",
         "3", "--data.examples", "300", "--workers", "3", "--batch", "2", "--threads", "1", "--optimizer",
         "onebit-adam", "--freeze", "fixed:3", "--eval.every", "5", "--log.tensors-every", "4"]
RUN = ["run"] + MODEL
INSPECT = ["inspect", "FILE"]
EXPORT = ["export", "FILE", "--jsonl", "--group", "steps", "-o", "rows", "--overwrite"]
REPLAY = ["replay", "FILE", "--optimizer", "adam", "-o", "params.h5", "--overwrite"]
BEGIN = RUN + ["--steps", "4", "--model.init", "FILE", "-o", "begun.h5", "--overwrite"]
RESUME = RUN + ["--steps", "9", "--resume", "--resume.allow", "steps", "-o", "run.h5"]
SMALL_LOG = ["run", "--model", "logistic", "--data", "synthetic", "--data.features", "3", "--data.classes", "2", "--data.examples", "50",
             "--workers", "2", "--batch", "2", "--threads", "1", "--optimizer", "adam", "--steps", "3"]

MASK = 0xffffffff
WITH_CHECKSUM = (b"OHDR", b"OCHK", b"FRHP", b"FHIB", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB",
                 b"EASB", b"EADB", b"SMTB", b"SMLI", b"FSHD", b"FSSE")
PLAIN = (b"TREE", b"SNOD", b"HEAP", b"GCOL")
SIGNATURES = re.compile(b"|".join(WITH_CHECKSUM + PLAIN + (b"FHDB",)))


def lookup3(words, lengths):
    """Bob Jenkins' hash of the first `length` bytes, for every length in `lengths` (above 0).
    words: the bytes, padded with zeros to a multiple of 12, as little-endian uint32."""
    def rot(x, k):
        return (x << np.uint32(k)) | (x >> np.uint32(32 - k))

    last = (lengths - 1) // 12  # the block that goes into the final mixing
    a = (np.uint32(0xdeadbeef) + lengths.astype(np.uint32))
    b, c = a.copy(), a.copy()
    for block in range(int(last.max())):
        live = last > block
        x, y, z = words[3 * block:3 * block + 3]
        p, q, r = a[live] + x, b[live] + y, c[live] + z
        p = (p - r) ^ rot(r, 4); r = r + q
        q = (q - p) ^ rot(p, 6); p = p + r
        r = (r - q) ^ rot(q, 8); q = q + p
        p = (p - r) ^ rot(r, 16); r = r + q
        q = (q - p) ^ rot(p, 19); p = p + r
        r = (r - q) ^ rot(q, 4); q = q + p
        a[live], b[live], c[live] = p, q, r
    rest = lengths - 12 * last
    for part, start in enumerate((0, 4, 8)):
        bytes_in = np.clip(rest - start, 0, 4)
        mask = ((np.uint64(1) << (8 * bytes_in).astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
        word = words[3 * last + part] & mask
        if part == 0: a = a + word
        elif part == 1: b = b + word
        else: c = c + word
    c = (c ^ b) - rot(b, 14); a = (a ^ c) - rot(c, 11); b = (b ^ a) - rot(a, 25); c = (c ^ b) - rot(b, 16)
    a = (a ^ c) - rot(c, 4); b = (b ^ a) - rot(a, 14); c = (c ^ b) - rot(b, 24)
    return c


def words_of(data):
    return np.frombuffer(data + bytes(12 + -len(data) % 12), dtype="<u4").astype(np.uint32)


def checksum(data):
    return int(lookup3(words_of(bytes(data)), np.array([len(data)]))[0])


class Structure:
    """A part of a file: its bytes, and where its checksum is (None: it has none)."""
    def __init__(self, start, end, sum_at=None):
        self.start, self.end, self.sum_at = start, end, sum_at

    def seal(self, data):
        if self.sum_at is None:
            return
        part = bytearray(data[self.start:self.end])
        if self.sum_at < self.end:  # inside: counts as zero
            part[self.sum_at - self.start:self.sum_at - self.start + 4] = bytes(4)
        data[self.sum_at:self.sum_at + 4] = checksum(part).to_bytes(4, "little")


def with_checksum(data, start):
    """Finds the end of a structure: where the bytes so far have the checksum that follows them."""
    for most in (256, 2048, 16384):
        part = data[start:start + most]
        lengths = np.arange(8, len(part) - 3)
        if len(lengths) == 0:
            return None
        values = np.frombuffer(part, dtype=np.uint8).astype(np.uint32)
        stored = sum(values[lengths + k] << np.uint32(8 * k) for k in range(4))
        found = lengths[lookup3(words_of(part), lengths) == stored]
        if len(found) > 0:
            return Structure(start, start + int(found[0]), start + int(found[0]))
    return None


def direct_block(data, start):
    """A heap's direct block has its checksum inside, after an offset of 1 to 8 bytes."""
    for size in (2 ** k for k in range(9, 17)):
        for width in range(1, 9):
            at = start + 13 + width
            block = Structure(start, start + size, at)
            if start + size > len(data):
                return None
            copy = bytearray(data)
            block.seal(copy)
            if copy[at:at + 4] == data[at:at + 4]:
                return block
    return Structure(start, min(start + 512, len(data)))


def structures(data):
    """All structures of a file. In old files, object headers have no signature, so the whole file counts as well."""
    found = []
    begin = data.find(b"\x89HDF\r\n\x1a\n")
    if data[begin + 8] >= 2:
        found.append(Superblock(begin))
    for match in SIGNATURES.finditer(data):
        start, name = match.start(), match.group()
        if name == b"FHDB":
            found.append(direct_block(data, start))
        elif name in PLAIN:
            found.append(Structure(start, min(start + 4096, len(data))))
        else:
            found.append(with_checksum(data, start))
    if data[begin + 8] < 2:
        found += [Structure(begin, len(data))] * 3
    return [one for one in found if one is not None]


class Superblock(Structure):
    def __init__(self, begin):
        super().__init__(begin + 8, begin + 44, begin + 44)
        self.begin = begin

    def seal(self, data):
        data[self.sum_at:self.sum_at + 4] = checksum(data[self.begin:self.sum_at]).to_bytes(4, "little")


def damage(data, parts, chance):
    """Changes 1 to 4 fields in each of one or two structures."""
    data = bytearray(data)
    touched = [chance.choice(parts) for _ in range(chance.choice((1, 1, 2)))]
    for part in touched:
        first = part.start + (4 if part.end - part.start > 8 else 0)
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            # Most fields that matter are at the start of a structure.
            span = chance.choice((32, 128, part.end - first))
            at = first + chance.randrange(max(1, min(span, part.end - first)))
            width = chance.choice((1, 1, 1, 2, 4, 8))
            value = chance.choice((0, 1, (1 << 8 * width) - 1, 1 << (8 * width - 1), chance.getrandbits(8 * width),
                                   part.start, chance.choice(parts).start, len(data), chance.randrange(16), 1 << 30))
            new = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            data[at:at + width] = new[:max(0, min(width, part.end - at))]
    for part in touched:
        part.seal(data)
    return bytes(data)


def sealed(data):
    """A checkpoint with the length and the checksum of its bytes; the checksum of its values is left out, as in early
    checkpoints."""
    rest = data[512:]
    return f"onebit-checkpoint 1\nbytes {len(rest)}\ncrc32 {zlib.crc32(rest):08x}\n".encode().ljust(512, b"\0") + rest


def rewritten(source, target, version):
    """Copies a file through h5py: texts of variable length, another file format, compressed rows."""
    def copy(group, into):
        for name, value in group.attrs.items():
            into.attrs[name] = value.decode() if isinstance(value, bytes) else value
        for name, item in group.items():
            if isinstance(item, h5py.Group):
                copy(item, into.create_group(name))
                continue
            chunks = item.shape and item.shape[0] > 0 and 0 not in item.shape
            packing = {"compression": "gzip", "chunks": True} if chunks and item.chunks else {}
            dataset = into.create_dataset(name, data=item[()], dtype=item.dtype, **packing)
            for key, value in item.attrs.items():
                dataset.attrs[key] = value

    with h5py.File(source, "r") as file, h5py.File(target, "w", libver=version) as new:
        copy(file, new)


def write_trace(path, version):
    rng = np.random.default_rng(3)
    with h5py.File(path, "w", libver=version) as file:
        file.create_dataset("gradients", data=rng.normal(size=(12, 2, 40)).astype("f4"), chunks=(2, 2, 20),
                            compression="gzip")
        file["x0"] = rng.normal(size=40).astype("f4")
        file["tensor_sizes"] = np.array([30, 10])
        for k in range(12):
            group = file.create_group(f"case{k}")
            for j in range(10):
                group.attrs[f"option{j}"] = "text" * j


class Maker:
    """Writes the undamaged files."""
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        subprocess.run([self.program, *arguments], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def make(self):
        self.run(*RUN, "--steps", "8", "--checkpoint.every", "4", "--weights-out", "weights.h5", "-o", "run.h5")
        self.run(*SMALL_LOG, "-o", "small.h5")
        self.run(*SMALL_LOG, "--log.compression", "4", "-o", "packed.h5")
        rewritten(self.path("small.h5"), self.path("old.h5"), "earliest")
        rewritten(self.path("small.h5"), self.path("new.h5"), "latest")
        with open(self.path("small.h5"), "rb") as file:
            live = bytearray(file.read())
        live[11] |= 5  # as if it were being written
        Superblock(0).seal(live)
        with open(self.path("live.h5"), "wb") as file:
            file.write(live)
        write_trace(self.path("trace.h5"), "earliest")
        write_trace(self.path("new-trace.h5"), "latest")
        rewritten(self.path("weights.h5"), self.path("old-weights.h5"), "earliest")


# The damaged file, and the commands that read it.
CASES = {
    "log": ("small.h5", [INSPECT, EXPORT]),
    "packed": ("packed.h5", [INSPECT, EXPORT]),
    "old-log": ("old.h5", [INSPECT, EXPORT]),
    "new-log": ("new.h5", [INSPECT]),
    "live": ("live.h5", [INSPECT]),
    "trace": ("trace.h5", [REPLAY]),
    "new-trace": ("new-trace.h5", [REPLAY]),
    "weights": ("weights.h5", [BEGIN]),
    "old-weights": ("old-weights.h5", [BEGIN]),
    "checkpoint": ("run.h5.checkpoint-8", [RESUME]),
    "resumed-log": ("run.h5", [RESUME]),
}


class Case:
    def __init__(self, args, name):
        self.args, self.name = args, name
        self.file, self.commands = CASES[name]
        with open(os.path.join(args.folder, "start", self.file), "rb") as file:
            self.data = file.read()
        self.parts = structures(self.data)

    def damaged(self, chance):
        data = damage(self.data, self.parts, chance)
        return sealed(data) if self.name == "checkpoint" else data

    def prepare(self, data):
        work = os.path.join(self.args.folder, "work")
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        if RESUME in self.commands:
            for name in ("run.h5", "run.h5.checkpoint-8"):
                shutil.copy(os.path.join(self.args.folder, "start", name), work)
        with open(os.path.join(work, self.file), "wb") as file:
            file.write(data)
        return work

    def verdict(self, data, command):
        work = self.prepare(data)
        words = [self.args.program] + [self.file if word == "FILE" else word for word in command]
        with open(os.path.join(self.args.folder, "err"), "w+b") as err:
            child = subprocess.Popen(words, cwd=work, stdout=subprocess.DEVNULL, stderr=err, stdin=subprocess.DEVNULL)
            end = time.monotonic() + self.args.seconds
            status = usage = None
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid != 0 or time.monotonic() > end:
                    break
                time.sleep(0.002)
            if pid == 0:
                child.kill()
                os.wait4(child.pid, 0)
                child.returncode = -9
                return "bad", f"more than {self.args.seconds} s"
            child.returncode = status
            err.seek(0)
            text = err.read().decode(errors="replace")
        if usage.ru_maxrss > 1 << 20:
            return "bad", f"{usage.ru_maxrss // 1024} MiB"
        if os.WIFSIGNALED(status):
            return "bad", f"ends by {signal.Signals(os.WTERMSIG(status)).name}"
        if status == 0:
            return "read", text
        errors = sum(line.startswith("onebit: error: ") for line in text.splitlines())
        return ("refused", text.strip()) if errors == 1 else ("bad", f"{errors} error lines: {text[-200:]}")


def keep(args, case, number, data, command, why):
    os.makedirs(os.path.join(args.folder, "bad"), exist_ok=True)
    path = os.path.join(args.folder, "bad", f"{case.name}-{args.seed}-{number}.h5")
    with open(path, "wb") as file:
        file.write(data)
    print(f"bad: {case.name} {number}, {command[0]}: {why}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", help="must not exist")
    parser.add_argument("--count", type=int, default=100, help="files per case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    args.program, args.folder = os.path.abspath(args.program), os.path.abspath(args.folder)
    os.makedirs(os.path.join(args.folder, "start"))
    os.environ["OMP_WAIT_POLICY"] = "passive"
    Maker(args.program, os.path.join(args.folder, "start")).make()
    total = {"read": 0, "refused": 0, "bad": 0}
    for name in args.cases.split(","):
        case, counts, slowest = Case(args, name), dict.fromkeys(total, 0), 0.0
        for number in range(args.count):
            data = case.damaged(random.Random(f"{name} {args.seed} {number}"))
            for command in case.commands:
                start = time.monotonic()
                kind, why = case.verdict(data, command)
                slowest = max(slowest, time.monotonic() - start)
                counts[kind] += 1
                if kind == "bad":
                    keep(args, case, number, data, command, why)
        print(f"{name}: {len(case.parts)} structures; {counts}; slowest {slowest:.1f} s", flush=True)
        for kind, count in counts.items():
            total[kind] += count
    print(f"{total['read']} read, {total['refused']} refused, {total['bad']} bad")
    return 1 if total["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
