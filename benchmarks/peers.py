#!/usr/bin/env python3
"""attnc beside PyTorch on this CPU, in one process and on the same memory.

Times attnc, scaled_dot_product_attention and compiled flex_attention in turn. Rounds in which
other processes were busy are thrown away; the minimum and the median of the others are kept,
and every output is compared with attnc's.
Run by report.py with the Python of .venv-bench; prints one JSON object a line.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from pathlib import Path

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # presets that slow NumPy's and torch's BLAS
    os.environ.pop(name, None)

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

ROOT = Path(__file__).resolve().parent.parent
I64 = ctypes.c_int64


class Capture(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("data", ctypes.c_void_p), ("rank", ctypes.c_int),
                ("shape", ctypes.POINTER(I64))]


class CallSpec(ctypes.Structure):
    _fields_ = ([(n, ctypes.c_char_p) for n in ("file", "variant", "dtype", "target")]
                + [(n, I64) for n in ("batch", "heads", "kvHeads", "queries", "keys", "headDim")]
                + [(n, ctypes.c_void_p) for n in ("query", "key", "value", "output")]
                + [("captureCount", ctypes.c_int), ("captures", ctypes.POINTER(Capture)), ("makesMask", ctypes.c_int)])


class Attnc:
    def __init__(self, library, threads):
        self.lib = ctypes.CDLL(str(library))
        for name in ("shim_context", "shim_prepare"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        self.lib.shim_error.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p(self.lib.shim_context(threads))

    def prepare(self, variant, q, k, v, out, slopes):
        dtype = {torch.float32: b"f32", torch.bfloat16: b"bf16"}[q.dtype]
        shape = (I64 * 1)(slopes.numel())
        captures = (Capture * 1)(Capture(b"slopes", b"f32", slopes.data_ptr(), 1, shape))
        count = 1 if variant == "alibi" else 0
        spec = CallSpec(str(ROOT / "benchmarks" / "bench.attn").encode(), variant.encode(), dtype, b"", q.shape[0],
                        q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], q.data_ptr(), k.data_ptr(),
                        v.data_ptr(), out.data_ptr(), count, captures, 1)
        call = ctypes.c_void_p(self.lib.shim_prepare(self.context, ctypes.byref(spec)))
        if not call:
            sys.exit(f"peers: {self.lib.shim_error().decode()}")

        def run():
            if self.lib.shim_run(call):
                sys.exit(f"peers: {self.lib.shim_error().decode()}")
            return out

        return run


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q >= k) & (q - k < 256)


def peers_of(variant, q, k, v, slopes):
    """Name to callable; only what PyTorch can say."""
    length = q.shape[2]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    flex = torch.compile(flex_attention, dynamic=False)
    mask = {"full": None, "window": window}.get(variant, causal)
    block = create_block_mask(mask, None, None, length, length, device="cpu") if mask else None
    noop = create_block_mask(lambda b, h, q, k: q >= 0, None, None, length, length, device="cpu")
    score = {"alibi": lambda s, b, h, q, k: s + slopes[h] * (k - q),
             "softcap": lambda s, b, h, q, k: 20.0 * torch.tanh(s / 20.0)}.get(variant)
    found = {"flex": lambda: flex(q, k, v, score_mod=score, block_mask=block)}
    if variant == "full":
        found["flex, noop mask"] = lambda: flex(q, k, v, block_mask=noop)
        found["sdpa"] = lambda: sdpa(q, k, v)
    elif variant == "causal":
        found["sdpa"] = lambda: sdpa(q, k, v, is_causal=True)
    elif variant == "window":
        i = torch.arange(length)
        dense = window(0, 0, i[:, None], i[None, :])
        found["sdpa, mask"] = lambda: sdpa(q, k, v, attn_mask=dense)
    return found


def busy_seconds():
    """(of all processors, of this process): what others use is the difference."""
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    own = os.times()
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK"), own.user + own.system


def measure(calls, seconds, patience=20.0, min_rounds=5):
    """Times in ms by name, and whether they come from quiet rounds."""
    quiet, noisy = ({name: [] for name in calls} for _ in range(2))
    begin, used = time.perf_counter(), 0.0
    while True:
        block = {}
        start, (all_before, own_before) = time.perf_counter(), busy_seconds()
        for name, call in calls.items():
            # The last one's OpenMP workers still spin for a while, and an idle thread wakes slowly:
            # wait, run once untimed, then time.
            time.sleep(0.01)
            call()
            before = time.perf_counter()
            call()
            block[name] = (time.perf_counter() - before) * 1e3
        wall, (all_after, own_after) = time.perf_counter() - start, busy_seconds()
        others = (all_after - all_before) - (own_after - own_before)
        is_quiet = others < max(0.1 * wall, 0.03)
        for name, value in block.items():
            (quiet if is_quiet else noisy)[name].append(value)
        used += wall if is_quiet else 0
        rounds = len(quiet["attnc"])
        if rounds >= min_rounds and used >= seconds:
            return quiet, True
        if time.perf_counter() - begin > patience + seconds:
            return (quiet, True) if rounds >= 3 else ({n: noisy[n] + quiet[n] for n in calls}, False)


def measure_case(attnc, variant, dtype, dim, length, seconds):
    # Each variant is a fresh start for dynamo: past its recompile limit flex would turn eager.
    torch._dynamo.reset()
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 8, length, dim).to(dtype) for _ in range(3))
    out, slopes = torch.empty_like(q), torch.tensor([2.0 ** -(i + 1) for i in range(8)])
    calls = {"attnc": attnc.prepare(variant, q, k, v, out, slopes)}
    expected, differences = calls["attnc"]().float().clone(), {}
    for name, call in peers_of(variant, q, k, v, slopes).items():
        try:
            differences[name] = (call().float() - expected).abs().max().item()  # compiles and warms up
            calls[name] = call
        except Exception as error:  # a peer that cannot is a result, too
            print(f"peers: {variant} {dtype} D={dim} S={length} {name}: {error}", file=sys.stderr)
    times, is_quiet = measure(calls, seconds)
    base = times["attnc"]
    for name, row in times.items():
        print(json.dumps({"variant": variant, "dtype": str(dtype).split(".")[1], "D": dim, "S": length, "impl": name,
                          "best_ms": min(row), "median_ms": statistics.median(row), "ratio_best": min(row) / min(base),
                          "ratio_median": statistics.median(row) / statistics.median(base),
                          "difference": differences.get(name, 0.0), "rounds": len(row), "quiet": is_quiet}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default=ROOT / "build/release/lib/libattnc_bench_shim.so")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=3.0, help="of quiet rounds for a row")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    attnc = Attnc(options.library, options.threads)
    with torch.inference_mode():
        for dtype in (torch.float32, torch.bfloat16):
            for dim in (64, 128):
                for variant in ("full", "causal", "window", "alibi", "softcap"):
                    # The long ones and D = 128 where there is a goal.
                    has_goal = variant in ("full", "causal")
                    lengths = (512,) if options.quick else (2048, 4096) if has_goal else (2048,)
                    for length in lengths if has_goal or dim == 64 else ():
                        measure_case(attnc, variant, dtype, dim, length, options.seconds)


if __name__ == "__main__":
    main()
