#!/usr/bin/env python3
"""Measures this machine and writes its section of docs/performance.md (make bench).

Sections are keyed by processor: another machine's are never touched. PyTorch is measured
beside attnc if .venv-bench exists (python3 -m venv .venv-bench && .venv-bench/bin/pip install
-r benchmarks/requirements.txt). Raw rows go to build/bench.json.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
# Per cent of the measured peak at D = 64 and 128, S >= 2048: (instruction set, dtype, variant).
TARGETS = {("avx512", "f32", "full"): (78, 83), ("avx512", "f32", "causal"): (72, 78),
           ("avx512", "bf16", "full"): (62, 68), ("avx512", "bf16", "causal"): (55, 62),
           ("avx2", "f32", "full"): (75, 80), ("avx2", "f32", "causal"): (70, 75),
           ("avx2", "bf16", "full"): (50, 55)}


def run_json(command):
    if not Path(command[0]).exists():
        sys.exit(f"report: no '{command[0]}': build it first (make build)")
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"report: {' '.join(map(str, command))} failed")
    return done.stdout


def verdict(value, target, more=True):
    if target is None:
        return ""
    return f"{'met' if (value >= target if more else value <= target) else '**missed**'} ({target:g})"


def mark(row):
    """Beside a time that no quiet stretch of the machine confirmed."""
    return "" if row.get("quiet", True) else " †"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]) + "\n"


def forward_tables(data):
    peaks = {(p["what"], p["threads"]): p["best"] for p in data["peaks"]}
    rows = []
    for row in data["rows"]:
        if row["group"] != "forward":
            continue
        peak = peaks.get((row["peak"], row["threads"]))
        percent = 100 * row["gflops"] / peak
        family = "avx512" if "avx512" in row["target"] else "avx2"
        target = TARGETS.get((family, row["dtype"], row["variant"]))
        goal = target[row["D"] == 128] if target and row["Q"] >= 2048 and row["H"] == row["Hkv"] else None
        rows.append([row["variant"], row["dtype"], row["target"], row["D"], f'{row["Q"]} x {row["KV"]}',
                     f'{row["H"]}/{row["Hkv"]}', f'{row["best_ms"]:.2f}{mark(row)}', f'{row["median_ms"]:.2f}',
                     f'{row["gflops"]:.0f}',
                     f"{percent:.0f} %", verdict(percent, goal)])
    return table(["variant", "dtype", "target", "D", "Q x KV", "heads", "best ms", "median ms", "GFLOP/s", "of peak",
                  "goal"], rows)


def group_table(data, group, columns, rows):
    found = [rows(r) for r in data["rows"] if r["group"] == group]
    return table(columns, found) if found else ""


def peers_table(lines):
    rows, own = [], 0.0
    for r in lines:
        if r["impl"] == "attnc":  # the first of each case
            own = r["best_ms"]
            continue
        goal = {"sdpa": 1.05, "flex": 2.0}.get(r["impl"])
        goal = goal if r["variant"] in ("full", "causal") and r["dtype"] == "float32" else None
        rows.append([r["variant"], r["dtype"], r["D"], r["S"], r["impl"], f'{r["best_ms"]:.2f}{mark(r)}',
                     f"{own:.2f}", f'{r["ratio_best"]:.2f}x', f'{r["ratio_median"]:.2f}x', verdict(r["ratio_best"], goal)])
    return table(["variant", "dtype", "D", "S", "peer", "peer best ms", "attnc best ms", "peer / attnc, best", "median", "goal"], rows)


def section(data, peers, commit):
    parts = [f"## {data['processor']}\n", f"{data['threads']} threads, commit {commit}; best family `{data['best_target']}`.\n"]
    parts.append(table(["peak", "threads", "best", "unit"],
                       [[p["what"], p["threads"], f'{p["best"]:.1f}', p["unit"]] for p in data["peaks"]]))
    parts.append("### Forward\n\nGFLOP/s over visible points (4 D a point), best of the rounds; full and causal against their goals.\n")
    parts.append(forward_tables(data))
    parts.append("### Mods\n\nTime beside the same kernel without the mod, in turn. Goals: cheap mods at most 5 %, soft-cap 15 %.\n")
    parts.append(group_table(data, "mods", ["mod", "over", "dtype", "target", "overhead, best", "median", "goal"],
                             lambda r: [r["variant"], r["base"], r["dtype"], r["target"],
                                        f'{100 * r["overhead_best"]:.1f} %', f'{100 * r["overhead_median"]:.1f} %',
                                        verdict(100 * r["overhead_best"], 15 if "softcap" in r["variant"] else 5, False)]))
    parts.append("### Block-sparse\n\nRate per visited tile against the dense rate. Goal: 0.90 at a density of 0.25.\n")
    parts.append(group_table(data, "sparse", ["density", "dtype", "D", "target", "GFLOP/s", "of dense, best", "median", "goal"],
                             lambda r: [r["density"], r["dtype"], r["D"], r["target"], f'{r["gflops"]:.0f}',
                                        f'{r["rate_of_dense"]:.2f}', f'{r["rate_of_dense_median"]:.2f}',
                                        verdict(r["rate_of_dense"], 0.9 if r["density"] >= 0.25 else None)]))
    goals = {"cold compile": 150, "cache hit to the end of the first call": 1}
    parts.append("### Latency\n")
    parts.append(group_table(data, "latency", ["what", "variant", "dtype", "D", "best ms", "median ms", "goal"],
                             lambda r: [r["what"], r["variant"], r["dtype"], r["D"], f'{r["best_ms"]:.2f}',
                                        f'{r["median_ms"]:.2f}', verdict(r["best_ms"], goals.get(r["what"]), False)]))
    parts.append(group_table(data, "tiny", ["tiny call", "variant", "Q", "best us", "median us", "goal"],
                             lambda r: [r["what"], r["variant"], r["Q"], f'{r["best_us"]:.1f}', f'{r["median_us"]:.1f}',
                                        verdict(r["best_us"], 10, False)]))
    parts.append("### Memory\n\nResident memory at a call's peak beyond what was resident before; `S x S` is what a "
                 "matrix of scores would take.\n")
    parts.append(group_table(data, "memory", ["variant", "Q", "H", "D", "tensors MiB", "beyond them MiB", "S x S MiB"],
                             lambda r: [r["variant"], r["Q"], r["H"], r["D"], f'{r["tensors_mib"]:.0f}',
                                        f'{r["extra_mib"]:.1f}', f'{r["scores_mib"]:.0f}']))
    parts.append("### Decode\n\nOne query; no goal yet. GB/s of query, keys, values and output; compare with `read` above.\n")
    parts.append(group_table(data, "decode", ["variant", "dtype", "heads", "KV", "D", "best ms", "median ms", "GB/s"],
                             lambda r: [r["variant"], r["dtype"], f'{r["H"]}/{r["Hkv"]}', r["KV"], r["D"],
                                        f'{r["best_ms"]:.2f}{mark(r)}', f'{r["median_ms"]:.2f}', f'{r["gb_per_s"]:.1f}']))
    if peers:
        parts.append("### Beside PyTorch\n\nIn one process, in turn. Goals: full and causal f32 at least 1.05x SDPA and 2x "
                     "compiled flex_attention.\n")
        parts.append(peers_table(peers))
    text = "\n".join(parts)
    met, missed = text.count("| met ("), text.count("| **missed** (")
    marks = " † stands where no quiet stretch of the machine was found." if "†" in text else ""
    return text.replace("\n", f"\n\n{met} of {met + missed} goals met, {missed} missed (in bold below).{marks}\n", 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small sizes: tries the flow, says nothing about speed")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    quick = ["--quick"] if options.quick else []
    data = json.loads(run_json([ROOT / "build/release/bin/attnc_bench", *quick]))
    python, peers = ROOT / ".venv-bench/bin/python", []
    if python.exists() and not options.no_peers:
        peers = [json.loads(line) for line in run_json([python, "benchmarks/peers.py", *quick]).splitlines()]
    (ROOT / "build" / "bench.json").write_text(json.dumps({**data, "peers": peers}, indent=1))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    text = section(data, peers, commit)
    print(text)
    if options.quick:
        return
    page = PAGE.read_text() if PAGE.exists() else ""
    head = page.split("\n## ")[0].rstrip() if page else ("# Performance\n\nMeasured by `make bench`, one section a processor; "
                                                          "goals in brackets. Ratios are of one run.")
    old = re.split(r"\n(?=## )", page)[1:] if page else []
    kept = [s.rstrip() for s in old if not s.startswith(f"## {data['processor']}\n")]
    PAGE.write_text("\n\n".join([head, *kept, text.rstrip()]) + "\n")


if __name__ == "__main__":
    main()
