#!/usr/bin/env python3
"""Writes the corpora from which the fuzz targets start: corpus/<reader>/<seed>, valid inputs and near misses."""

import gzip
import json
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


def criteo_seeds():
    good = "\t".join(["1"] + ["5"] * 13 + ["05db9164"] * 26)
    sparse = "\t".join(["0"] + [""] * 39)
    lines = [good, sparse, good + "\t", good[:-9], good.replace("5\t", "-2\t", 1), good.replace("5\t", "x\t", 1),
             good.replace("05db", "z5db", 1), "2" + good[1:], "", "\r", good.replace("5\t", "9" * 20 + "\t", 1)]
    for i, line in enumerate(lines):
        yield f"line-{i}", b"\x07\0\xff" + (line + "\n").encode()
    yield "many", b"\xff\0\1" + "\n".join([good, sparse] * 4).encode()
    yield "crlf", b"\x03\x30\x10" + "\r\n".join([good, sparse] * 4).encode()


def libsvm_seeds():
    lines = [
        "+1 1:0.5 3:-2e1", "-1 2:1", "# comment", "", "1", "0 1:1 # more", "2 16777216:1", "2 16777217:1", "1 0:1",
        "1 2:1 2:1", "1 3:1 2:1", "nan 1:1", "1 1:inf", "1 1:1e39", "1 1", "1 :", "1 1:", "x", "1 -1:2", "1 qid:3",
        "1,2 1:1", "+-1", "1 1:0x10", "1 99999999999999999999:1", "1\t4:4 \t 5:5",
    ]
    for i, line in enumerate(lines):
        yield f"line-{i}", b"\x07" + (line + "\n").encode()
    good = "\n".join(line for line in lines[:7])
    yield "many", b"\xff" + good.encode()
    yield "crlf", b"\x03" + good.replace("\n", "\r\n").encode()


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
    compact = bytes(18) + b"\1"
    yield "compact", compact
    for which in range(12):
        yield f"compact-type-{which}", compact + bytes([3 + 4 * which, 0])
        yield f"compact-sizes-{which}", compact + bytes([0, 3 + 4 * which, 250 - which, 1, 2, 4])


def weights_seeds():
    """tests/fuzz/weights.cpp explains each byte."""
    yield "good", bytes([0, 0, 0, 0, 0, 0, 1])
    for which in range(12):
        yield f"type-{which}", bytes([3 + 4 * which, 0])
        yield f"names-{which}", bytes([0, 0, 0, 0, 3 + 4 * which, 0, 1])
        yield f"sizes-{which}", bytes([0, 3 + 4 * which, 250 - which, 3, 2, 4, 0, 0, 0, 0, 1])


def checkpoint_seeds():
    yield "whole", b""
    for place in range(0, 4096, 256):
        yield f"changed-{place}", struct.pack(">I", place << 8 | 0xFF) * 2
    for part in (1, 64, 128, 255):
        yield f"cut-{part}", bytes([part])


def measurement_seeds():
    csv = "nodes,gpus,bytes,seconds\n16,4,672452216,2.206\n8,4,672452216,2.173\n4,4,672452216,2.133\n2,4,672452216,1.897\n1,4,672452216,0.2398\n"
    tables = [
        csv, csv.replace("seconds", "seconds,collective").replace("\n16", ",all_reduce\n16"), "gpus,nodes,seconds,bytes\n4,2,1e-3,1e6\n",
        csv.replace("672452216", "1e400"), csv.replace("16,4", "-1,4"), csv.replace("2.206", "nan"), csv.replace("2.206", "0"), "", "nodes\n",
        "nodes,gpus,bytes,seconds,collective\n2,4,1e6,1e-3,all_to_all\n2,4,1e7,5e-3,all_gather\n2,4,1e3,1e-5,all_reduce\n",
    ]
    small = csv[: csv.index("16")] + csv[csv.index("4,4,") :]
    tables.append(small.replace("4,4,", "4,1,").replace("2,4,", "2,1,").replace("1,4,", "1,2,"))
    nccl = """# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
# Using devices
#   Rank  0 Pid   2001 on      node1 device  0 [0x07] NVIDIA A100
#   Rank  1 Pid   2002 on      node2 device  0 [0x0f] NVIDIA A100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    100.0   10.49   10.49      0    100.0   10.49   10.49      0
     2097152        524288     float     sum      -1    200.0   10.49   10.49      0    200.0   10.49   10.49      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 10.49
"""
    logs = ["".join(prefix + line + "\n" for line in nccl.splitlines()) for prefix in
            (" 0: ", "[1,0]<stdout>:", "\x1b[36m(head, rank=0, pid=3808)\x1b[0m ", "progress\r")]
    logs.append(nccl.replace("     2097152", "node1:21:27 [0] NCCL INFO Channel 00/02 : 0 1\n           0             0     float     sum      -1     0.00     nan     nan    N/A\n     2097152").replace("200.0", "2.0e+07"))
    for use in range(3):
        for i, text in enumerate(tables + [nccl, nccl.replace("# nThread", "# all_reduce_perf nThread"), nccl.replace("(us)", "(ms)")] + logs):
            yield f"table-{use}-{i}", bytes([use]) + text.encode()


def cluster_seeds():
    clusters = [
        "", "doc = ours\ngpus-per-node = 4\ngpu = a100\ngpu-link = nvlink3\noversubscription = 2\n[nic]\nnominal = 100Gb/s\neffective = 4.5GB/s\n"
        "latency = 30us\nstream-cap = 1.2GB/s\nscale-penalty = 0.015\n", "nic.nominal = 10Gb/s\nnic.effective = 1GB/s\nnic-shares = 3:0.5\nstragglers = 3:1.2\njitter = 0.05\n",
        "placement = random\nall-reduce = cheapest\nnodes = 8\n", "nodes = 4611686018427387904\n", "gpus-per-node = 1e9\n", "nic.latency = -1\n",
    ]
    workloads = [
        "parameters = 60000000\nbatch = 32\nforward = 21ms\nbackward = 43ms\noptimizer = 4ms\ngpu = v100\n", "parameters = 1\n",
        "parameters = -1\nbatch = 0\n", "forward = nan\n", "parameters = 1e30\nbatch = 1\nforward = 1s\nbackward = 1us\n",
    ]
    for i, text in enumerate(clusters):
        yield f"cluster-{i}", b"\0" + text.encode()
    for i, text in enumerate(workloads):
        yield f"workload-{i}", b"\1" + text.encode()


def expected_seeds():
    head = "arm,seed,status,steps,freeze_step,final_loss,bytes_per_worker,other\n"
    rows = ["adam,1,finished,200,0,1.25,4000,x", "adam,2,diverged,200,0,nan,4000,x", "onebit-adam,1,finished,200,40,1.26,400,", "a,b", "a,-1,,,,,",
            "\"a,b\",1,finished,1,1,1,1,1", "adam,4294967296,finished,1,1,1,1,1", "adam,1,finished,9223372036854775807,1,1e308,inf,1"]
    yield "many", (head + "\n".join(rows[:3]) + "\n").encode()
    for i, row in enumerate(rows):
        yield f"row-{i}", (head + row + "\n").encode()
    yield "no-header", rows[0].encode()


def sweep_seeds():
    sweeps = [
        "model = mlp\nsteps = 10\naxis = optimizer=adam,sgd\naxis = optimizer.lr=1e-3:1e-1:log:3\nseeds = 2\n",
        "optimizers = adam,onebit-adam\ntune = optimizer.lr=1e-4:1e-1\ntune-points = 5\nseeds = 1\n",
        "axis = workers=1,2,4\naxis = batch=4,2,1\nzip = workers,batch\nskip = workers=2\n", "arm = a:optimizer=adam\narm = b:optimizer=lamb,seed=3\n",
        "axis = optimizer.lr=1:2:lin:1000000000\n", "axis = seed=1:2:lin\n", "skip = a=b\n", "seeds = 99999999999\n", "tune = optimizer.lr=0:inf\n",
    ]
    for i, text in enumerate(sweeps):
        yield f"sweep-{i}", text.encode()


def card_seeds():
    def card(version=1, **changes):
        run = {"log": "adam-1.h5", "seed": 1, "status": "finished", "steps": 6, "freeze_step": 0, "final_loss": 1.5, "bytes_per_worker": 1032,
               "curve_hash": "9c2b", "data_hash": "66f5", "program_version": "0.1.0", "git_commit": "abc", "created_utc": "2026-11-27T23:11:32Z",
               "host": "host", "devices": "cpu", "command_line": "onebit compare", "not_repeated": "", "options": {}, **changes}
        verdict = {"arm": "onebit-adam", "baseline": "adam", "judgement": "too_few_seeds", "sentence": "too few seeds"}
        return {"format": "onebit-card", "format_version": version, "criteria": {"baseline": "", "margin": 0.01}, "verdicts": [verdict],
                "no_verdicts": "", "left_out": ["x.h5: damaged"], "options": {"model": "mlp", "steps": "6"},
                "arms": [{"name": "adam", "options": {"optimizer": "adam"}, "runs": [run]}]}

    cards = {"one-run": card(), "diverged": card(status="diverged", final_loss=None), "seed": card(seed=-1), "newer": card(version=2),
             "no-run": {**card(), "arms": []}, "no-arms": {key: value for key, value in card().items() if key != "arms"}}
    for name, tree in cards.items():
        yield name, json.dumps(tree, separators=(",", ":")).encode()


def main():
    corpus = pathlib.Path(__file__).parent / "corpus"
    for reader, seeds in {"card": card_seeds, "gzip": gzip_seeds, "idx": idx_seeds, "cifar": cifar_seeds, "criteo": criteo_seeds,
                          "libsvm": libsvm_seeds, "tokens": token_seeds, "word_pieces": word_piece_seeds,
                          "text": text_seeds, "split": split_seeds, "options": option_seeds, "log": log_seeds,
                          "deepspeed": deepspeed_seeds, "trace": trace_seeds, "weights": weights_seeds,
                          "checkpoint": checkpoint_seeds, "measurements": measurement_seeds,
                          "clusters": cluster_seeds, "expected": expected_seeds, "sweep": sweep_seeds}.items():
        (corpus / reader).mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (corpus / reader / name).write_bytes(content)


if __name__ == "__main__":
    main()
