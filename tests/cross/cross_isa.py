"""The contract across instruction sets: one variant, one input, equal bits everywhere.

Compiles each variant for every family, links each object with driver.c, runs it (aarch64
under qemu-user) and compares the hashes. A family that this machine cannot run is skipped
in words; at least two must have run.

Usage: cross_isa.py ATTNC_BINARY DRIVER_C
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ATTNC, DRIVER = sys.argv[1], sys.argv[2]
# Masks, integer division, lookups of none: variants without captures cover the arithmetic.
VARIANTS = ["std:causal", "std:softcap_causal", "std:alibi_geometric", "std:natten1d", "std:softmax_off_by_one"]
SHAPES = [("f32", 64, 70, 300), ("f32", 40, 5, 130), ("bf16", 64, 70, 300), ("bf16", 33, 7, 65)]


def cpu_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


def runners():
    """(family, compiler, how to run), or (family, reason) where it cannot run."""
    flags = cpu_flags()
    native = [shutil.which("clang-22") or "cc", "-O2"]
    needs = {
        "sse": {"sse4_2"},
        "avx2": {"avx2", "fma", "f16c"},
        "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
        "avx512_bf16": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16"},
    }
    for family, wanted in needs.items():
        if wanted <= flags:
            yield family, native, []
        else:
            yield family, f"host has no {', '.join(sorted(wanted - flags))}", None
    gcc, qemu = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64-static")
    if gcc and qemu:
        yield "neon", [gcc, "-O2", "-static"], [qemu]
    else:
        yield "neon", "aarch64-linux-gnu-gcc or qemu-aarch64-static is missing", None


def main():
    failures = 0
    ran = set()
    families = list(runners())
    for family, reason, run in families:
        if run is None:
            print(f"skipped: {family}: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        for variant in VARIANTS:
            for dtype, dim, queries, keys in SHAPES:
                hashes = {}
                for family, compiler, run in families:
                    if run is None:
                        continue
                    kernel, program = f"{folder}/kernel.o", f"{folder}/program"
                    subprocess.run(
                        [ATTNC, "dump", variant, "--emit=object", f"--target=cpu:{family}", f"--dtype={dtype}",
                         f"--head-dim={dim}", f"--value-dim={dim}", "--split-size=256", "-o", kernel],
                        check=True)
                    subprocess.run([*compiler, DRIVER, kernel, "-o", program, "-lm"], check=True)
                    result = subprocess.run([*run, program, dtype, str(dim), str(queries), str(keys)],
                                            check=True, capture_output=True, text=True)
                    hashes[family] = result.stdout.strip()
                    ran.add(family)
                equal = len(set(hashes.values())) == 1
                failures += not equal
                print(f"{'equal' if equal else 'DIFFERENT'}: {variant} {dtype} dim {dim} {queries}x{keys}: {hashes}")
    if len(ran) < 2:
        print("expected at least two families to run")
        return 1
    return 1 if failures else 0


sys.exit(main())
