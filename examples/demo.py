#!/usr/bin/env python3
"""Attention variants over the tensors of a real model, each compiled by attnc and checked.

    make demo        (or: .venv/bin/python examples/demo.py)

Inputs: query, key and value of a MiniLM layer over real text (derive_qkv.py, docs/data.md).
Every row runs the attnc command as a user would and compares its output with the float64
reference that is built into attnc; the first one is compared with NumPy's float64 too.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import minilm

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "build" / "demo"


@dataclass
class Row:
    label: str
    variant: str  # as the attnc command takes it
    computes: str
    tensors: str = "packed"  # or "padded": one document a batch entry
    captures: tuple[str, ...] = ()  # names of files in DATA
    params: dict[str, float] = field(default_factory=dict)


ROWS = [
    Row("padding", "std:padding", "each document alone, padded", "padded", ("lengths",)),
    Row("documents", "std:document_sorted", "all documents packed in one row", captures=("doc",)),
    Row("packed causal", "examples/packed.attn:packed", "causal inside each document", captures=("doc",)),
    Row("causal", "std:causal", "no key after the query"),
    Row("ALiBi", "examples/alibi.attn:alibi", "causal, penalty by distance", captures=("slopes",)),
    Row("window", "std:sliding_window", "the last 128 keys", params={"window": 128}),
    Row("soft-cap", "std:softcap_causal", "causal, 5 tanh(score / 5)", params={"cap": 5.0}),
    Row("sink", "examples/sinks.attn:learned_sink", "window, extra logit per head", captures=("sinks",)),
    Row("T5 bias", "examples/t5.attn:t5_decoder", "causal, table by log distance", captures=("table",)),
]


class Attnc:
    """The attnc command; `run` returns what it says about one call as a dictionary."""

    def __init__(self, program: Path):
        if not program.exists():
            sys.exit(f"demo: no attnc at '{program}': build it (make build), or give its path with --attnc")
        self.program = program

    def run(self, variant: str, tensors: str | dict[str, Path], captures=(), params={}, options=()) -> dict:
        if isinstance(tensors, str):
            tensors = {name: DATA / f"{tensors}_{name}.npy" for name in ("query", "key", "value")}
        command = [str(self.program), "run", variant, *options, "--json", "--output", str(DATA / "output.npy"),
                   "--lse", str(DATA / "lse.npy")]
        for name, path in tensors.items():
            command += [f"--{name}", str(path)]
        for name in captures:
            path = name if "=" in name else f"{name}={DATA / name}.npy"
            command += ["--capture", path]
        for name, value in params.items():
            command += ["--param", f"{name}={value}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"demo: {' '.join(command)}\n{done.stderr.strip()}")
        return json.loads(done.stdout)

    def output(self) -> np.ndarray:
        return np.load(DATA / "output.npy")

    def lse(self) -> np.ndarray:
        return np.load(DATA / "lse.npy")


def write_captures() -> None:
    """What a model would have learned or fixed for its 12 heads; MiniLM itself has none."""
    heads = minilm.HEADS
    np.save(DATA / "slopes.npy", (2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)).astype(np.float32))
    np.save(DATA / "sinks.npy", np.linspace(-1, 2, heads).astype(np.float32))
    distance = np.arange(32)[:, None] / 32
    np.save(DATA / "table.npy", (-4 * distance * np.linspace(0, 1, heads)).astype(np.float32))


def load(prefix: str) -> tuple[np.ndarray, ...]:
    return tuple(np.load(DATA / f"{prefix}_{name}.npy") for name in ("query", "key", "value"))


def print_table(attnc: Attnc) -> dict[str, np.ndarray]:
    """Runs every row; the outputs by label."""
    print(f"{'variant':14} {'computes':32} {'shape':16} {'error':>8} {'compile':>10} {'run':>9} {'GFLOP/s':>8} {'skipped':>8}")
    outputs = {}
    for row in ROWS:
        first = attnc.run(row.variant, row.tensors, row.captures, row.params, ("--compare",))
        # The best of three calls, each in a process of its own, with the kernel from the cache.
        again = [attnc.run(row.variant, row.tensors, row.captures, row.params) for _ in range(3)]
        info = min(again, key=lambda call: call["run_ms"])
        outputs[row.label] = attnc.output()
        shape = "x".join(map(str, info["shape"]))
        cold = "cached" if first["cached"] else f"{first['compile_ms']:.0f} ms"
        skipped = info["tiles_skipped"] / info["tiles"]
        print(f"{row.label:14} {row.computes:32} {shape:16} {first['max_abs_error']:8.1e} {cold:>10} "
              f"{info['run_ms']:6.1f} ms {info['gflops']:8.0f} {skipped:8.0%}")
    print("error: largest difference from the float64 reference. GFLOP/s: over the tiles of 64 x 64 that are not skipped.")
    return outputs


def check_against_numpy(outputs: dict[str, np.ndarray]) -> None:
    """The two bidirectional rows against attention written out in NumPy, in float64."""
    query, key, value = (tensor.astype(np.float64) for tensor in load("padded"))
    lengths, starts = np.load(DATA / "lengths.npy"), np.load(DATA / "starts.npy")
    padded_error = packed_error = 0.0
    for i, n in enumerate(lengths):
        expected = minilm.attention(query[i, :, :n], key[i, :, :n], value[i, :, :n])
        padded_error = max(padded_error, np.abs(outputs["padding"][i, :, :n] - expected).max())
        packed_error = max(packed_error, np.abs(outputs["documents"][0, :, starts[i] : starts[i] + n] - expected).max())
    for label, error in (("padding", padded_error), ("documents", packed_error)):
        if not error < 1e-5:
            sys.exit(f"demo: '{label}' differs from NumPy's float64 by {error:.1e}, expected below 1e-5")
    print(f"\nNumPy in float64, one document at a time: padding differs by {padded_error:.1e}, documents by {packed_error:.1e}.")
    print("Keys and values behind a document are NaN in these files. None of them shows.")


def check_bits(attnc: Attnc, outputs: dict[str, np.ndarray]) -> None:
    """One document alone, with one thread, in two pieces: the same bits as in the batch."""
    alone = {}
    for name, tensor in zip(("query", "key", "value"), load("padded")):
        alone[name] = DATA / f"alone_{name}.npy"
        np.save(alone[name], tensor[2:3])
    np.save(DATA / "alone_lengths.npy", np.load(DATA / "lengths.npy")[2:3])
    captures = (f"lengths={DATA / 'alone_lengths.npy'}",)
    expected = outputs["padding"][2:3]
    attnc.run("std:padding", alone, captures, options=("--threads", "1"))
    same = [np.array_equal(attnc.output().view(np.uint32), expected.view(np.uint32))]

    query = np.load(alone["query"])
    cut = 101  # in the middle of a tile
    np.save(DATA / "alone_query.npy", query[:, :, cut:])
    attnc.run("std:padding", alone, captures)
    same.append(np.array_equal(attnc.output().view(np.uint32), expected[:, :, cut:].view(np.uint32)))
    print(f"\nDocument 2 alone on one thread: {'equal bits' if same[0] else 'OTHER BITS'}. "
          f"Its rows from {cut} on as a call of their own: {'equal bits' if same[1] else 'OTHER BITS'}.")
    if not all(same):
        sys.exit("demo: a result depends on what else was in the call")


def show_attention(attnc: Attnc) -> None:
    """What single tokens attend to: weights are exp(score - lse), with attnc's own lse."""
    documents = json.loads((DATA / "tokens.json").read_text())["documents"]
    names = list(documents)
    attnc.run("std:padding", "padded", ("lengths",))
    lse = attnc.lse().astype(np.float64)
    query, key, _ = (tensor.astype(np.float64) for tensor in load("padded"))
    print("\nMost attended tokens, weights from the returned log-sum-exp:")
    for name, word in (("moby_dick", "sea"), ("gettysburg", "nation"), ("alice", "rabbit")):
        i, tokens = names.index(name), documents[name]
        n, at = len(tokens), tokens.index(word)
        scores = np.einsum("hd,hkd->hk", query[i, :, at], key[i, :, :n]) / math.sqrt(query.shape[-1])
        weights = np.exp(scores - lse[i, :, at, None])
        if not np.allclose(weights.sum(-1), 1, atol=1e-5):
            sys.exit("demo: attention weights do not sum to 1")
        # The most focused head, [CLS] and [SEP] aside, where heads park what they do not need.
        inner = weights[:, 1 : n - 1]
        head = int(inner.max(-1).argmax())
        best = np.argsort(-inner[head])[:5] + 1
        shown = ", ".join(f"{tokens[j]}@{j} {weights[head, j]:.2f}" for j in best)
        print(f"  {name}: '{word}'@{at}, head {head}: {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attnc", type=Path, default=Path(os.environ.get("ATTNC", ROOT / "build/release/bin/attnc")),
                        help="path of the attnc command")
    args = parser.parse_args()
    attnc = Attnc(args.attnc.resolve())
    subprocess.run([sys.executable, str(ROOT / "examples/derive_qkv.py"), "--out", str(DATA)], check=True)
    write_captures()

    index = json.loads((DATA / "tokens.json").read_text())
    print(f"\nLayer {index['layer']} of MiniLM: {minilm.HEADS} heads x 32, {len(index['documents'])} documents, "
          f"{sum(map(len, index['documents'].values()))} tokens, float32\n")
    outputs = print_table(attnc)
    check_against_numpy(outputs)
    check_bits(attnc, outputs)
    show_attention(attnc)
    print("\nNext: write a variant of your own (docs/language.md, examples/*.attn), look at it with"
          f"\n  {args.attnc} dump std:alibi --emit=staged"
          f"\n  {args.attnc} mask std:sliding_window --size 2048 --param window=256"
          "\nand measure this machine with `make bench` (docs/performance.md).")


if __name__ == "__main__":
    main()
