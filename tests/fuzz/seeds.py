#!/usr/bin/env python3
"""Writes the corpora from which the fuzz targets start: corpus/<reader>/<seed>, valid inputs and near misses."""

import gzip
import pathlib
import struct
import zlib


def gzip_seeds():
    for name, text in {"empty": b"", "word": b"hello", "repeats": b"ab" * 400, "zeros": bytes(3000)}.items():
        packed = gzip.compress(text, mtime=0)
        yield name, packed
        yield name + "-cut", packed[:-5]
        yield name + "-crc", packed[:-6] + b"x" + packed[-5:]
    yield "two", gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0)
    yield "tail", gzip.compress(b"one", mtime=0) + b"more"
    yield "header-fields", b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x04\x00extrname\0comment\0" + b"\0\0"
    raw = zlib.compressobj(9, zlib.DEFLATED, -15, 8, zlib.Z_FIXED)
    yield "fixed", b"\x1f\x8b\x08" + bytes(7) + raw.compress(b"fixed fixed fixed") + raw.flush()


def idx_seeds():
    def file(sizes, values):
        return struct.pack(">%dI" % (1 + len(sizes)), 0x800 + len(sizes), *sizes) + bytes(values)

    for selector, shapes in ((0, [(1, 1, 1), (3, 2, 2), (2, 5, 7)]), (1, [(1,), (9,)])):
        for shape in shapes:
            count = 1
            for size in shape:
                count *= size
            name = "x".join(map(str, shape))
            good = bytes([selector]) + file(shape, (i % 256 for i in range(count)))
            yield name, good
            yield name + "-cut", good[:-1]
            yield name + "-more", good + b"x"
    yield "zero", b"\0" + file((3, 0, 2), b"")
    yield "huge", b"\0" + file((0xFFFFFFFF,) * 3, b"")
    yield "wrap", b"\0" + file((1 << 31, 1 << 31, 4), b"")
    yield "magic", b"\0" + file((3,), b"abc")


def cifar_seeds():
    for selector, record in ((0, 3073), (1, 3074)):
        for records in (1, 2, 3):
            size = struct.pack(">H", records * record)
            yield f"{record}-{records}", bytes([selector]) + size + b"\x05"
            yield f"{record}-{records}-bad", bytes([selector]) + size + b"\xff"
            yield f"{record}-{records}-mixed", bytes([selector]) + size + b"\x03\x07\x80"
        yield f"{record}-cut", bytes([selector]) + struct.pack(">H", record - 1) + b"\0"
    yield "empty", b"\0\0\0"


def libsvm_seeds():
    lines = [
        "+1 1:0.5 3:-2e1", "-1 2:1", "# comment", "", "1", "0 1:1 # more", "2 16777216:1", "2 16777217:1", "1 0:1",
        "1 2:1 2:1", "1 3:1 2:1", "nan 1:1", "1 1:inf", "1 1:1e39", "1 1", "1 :", "1 1:", "x", "1 -1:2", "1 qid:3",
        "1,2 1:1", "+-1", "1 1:0x10", "1 99999999999999999999:1", "1\t4:4 \t 5:5",
    ]
    for i, line in enumerate(lines):
        yield f"line-{i}", (line + "\n").encode()
    good = "\n".join(line for line in lines[:7])
    yield "many", good.encode()
    yield "crlf", good.replace("\n", "\r\n").encode()


def token_seeds():
    def file(tokens, width, vocabulary=0):
        values = b"".join(token.to_bytes(width, "little") for token in tokens)
        return b"1BTOKENS" + struct.pack("<IIQQ", 1, width, vocabulary, len(tokens)) + values

    for width in (1, 2, 4):
        yield f"header-{width}", b"\0" + file([3, 200, 7], width)
        yield f"vocabulary-{width}", b"\0" + file([3, 200, 7], width, 201)
        yield f"outside-{width}", b"\0" + file([3, 200, 7], width, 200)
        yield f"raw-{width}", bytes([width if width < 4 else 3]) + (77).to_bytes(width, "little") * 5
        yield f"cut-{width}", b"\0" + file([3, 200, 7], width)[:-1]
        yield f"other-{width}", b"\3" + file([1, 2], width)
    yield "version", b"\0" + b"1BTOKENS" + struct.pack("<IIQQ", 2, 2, 0, 0)
    yield "huge", b"\0" + b"1BTOKENS" + struct.pack("<IIQQ", 1, 4, 0, 1 << 62)
    yield "none", b"\0" + file([], 2)


def word_piece_seeds():
    pieces = b"[UNK]\nun\n##aff\n##able\n,\n##a\naff\n[MASK]\n\xc3\xa9"
    for name, text in {"words": b"unaffable un, aff", "unknown": b"xyz Un UN", "long": b"a" * 300, "empty": b"",
                       "unicode": b"caf\xc3\xa9 \xc3\xa9", "spaces": b" \t\r\n\x7f!"}.items():
        yield name, b"\0" + pieces + b"\0" + text
        yield name + "-lower", b"\1" + pieces.replace(b"\n", b"\r\n") + b"\0" + text.upper()
    yield "cut-greedily", b"\0[UNK]\na\n##a\n##aa\0aaaaaaaaaa"
    yield "repeated", b"\0a\na\n[UNK]"
    yield "blank", b"\0a\n\n[UNK]"
    yield "no-unknown", b"\0a\nb"


def text_seeds():
    for target in range(3):
        for split in range(4):
            yield f"{target}-{split}", bytes([20, 4, split, 3, target, split % 2]) + b"some text, and some more text."
    yield "short", bytes([20, 8, 0, 0, 0, 0]) + b"short"
    yield "all-held-out", bytes([255, 1, 0, 0, 0, 0]) + b"some text"


def split_seeds():
    rules = ["iid", "label", "size", "size:0", "size:1.5", "size:1e300", "dirichlet:0.1", "dirichlet:1e-9", "dirichlet:1e9",
             "dirichlet:0", "dirichlet:", "label:", "dirichlet:nan", "size:-1", "idd", "dirichlet:1e-320"]
    for i, rule in enumerate(rules):
        yield f"rule-{i}", bytes([4]) + rule.encode() + bytes(j % 5 for j in range(60))
    yield "few", bytes([7]) + b"label\0\1\2"


def option_seeds():
    files = [
        "", "workers = 4\nbatch = 8\n", "[optimizer]\nlr = 1e-3 # rate\nname = lamb\n[freeze]\nlag = 100\n",
        "optimizer = onebit-adam\nfreeze = fraction:0.15\nschedule = cosine\n", "arm = a:optimizer=adam\narm = b:seed=2,steps=3\n",
        "model = mlp\n[model]\nlayers = 784,128,10\n[data]\npath = x\n", "[a\n]\n=", "workers\n", "workers = 1\nworkers = 2\n",
        "zeroone.var-freeze-step = 9223372036854775807\n", "optimizer.lr = nan\n", "steps = -1\n", "[log]\nevery = 2\nflush = 1e308\n",
        "memory = 3.5 GiB\nthreads = 2\ndevices = cpu:2\n", "seeds = 3\nout = somewhere\njson = true\n", "codec = top-k\nexchange = gather\n",
    ]
    for i, text in enumerate(files):
        yield f"file-{i}", b"\0" + text.encode()
    lines = [
        "--workers\n4\n--batch\n8", "--workers=4", "--optimizer.lr\n1e-3\n--overwrite", "-o\nrun.h5", "--optimizers\nadam,onebit-adam",
        "--arm\na:optimizer=adam\n--arm\na:optimizer=lamb", "--seeds", "--", "positional", "-x", "--wrokers\n3", "--freeze\nfixed:10\n--steps\n20",
        "--help", "--json\n--seeds\n9", "--schedule\nstep:10,20\n--schedule.gamma\n0.1",
    ]
    for i, text in enumerate(lines):
        yield f"line-{i}", b"\1" + text.encode()


def log_seeds():
    for which in range(3):
        yield f"whole-{which}", struct.pack(">H", which)
        yield f"changed-{which}", struct.pack(">H", which) + b"\x00\x10\x00\xff" * 3
        yield f"cut-{which}", struct.pack(">H", which) + b"\x80"
    for which in range(3, 298, 10):
        yield f"other-{which}", struct.pack(">H", which)


def deepspeed_seeds():
    files = [
        "", "{}", "[1, 2]", '{"optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-3, "betas": [0.9, 0.99], "freeze_step": 40}}}',
        '{"optimizer": {"type": "ZeroOneAdam", "params": {"local_step_scaler": 1000}}, "gradient_clipping": 1.0, "fp16": {"enabled": true}}',
        '{"optimizer": {"type": "OneBitLamb", "params": {"max_coeff": 0.3, "lr": "auto"}}, "train_micro_batch_size_per_gpu": 16}',
        '{"optimizer": {"type": "Adam"}, "other": "\\"[[{{\\u0000"}', '{"optimizer": ' * 40, "[" * 101 + "]" * 101, '{"a": {"a": 1}, "a": []}',
    ]
    for i, text in enumerate(files):
        yield f"file-{i}", text.encode()


def trace_seeds():
    """tests/fuzz/trace.cpp explains each byte."""
    yield "good", b""
    for which in range(12):
        yield f"dataset-{which}", bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, which, 0, which, 7, 200, which, 11, 3, 1])
        yield f"type-{which}", bytes([3 + 4 * which, 0])
        yield f"sizes-{which}", bytes([0, 3 + 4 * which, 250 - which, 3, 2, 4])


def main():
    corpus = pathlib.Path(__file__).parent / "corpus"
    for reader, seeds in {"gzip": gzip_seeds, "idx": idx_seeds, "cifar": cifar_seeds, "libsvm": libsvm_seeds,
                          "tokens": token_seeds, "word_pieces": word_piece_seeds, "text": text_seeds,
                          "split": split_seeds, "options": option_seeds, "log": log_seeds,
                          "deepspeed": deepspeed_seeds, "trace": trace_seeds}.items():
        (corpus / reader).mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (corpus / reader / name).write_bytes(content)


if __name__ == "__main__":
    main()
