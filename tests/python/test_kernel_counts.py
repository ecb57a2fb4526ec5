"""CUDA kernels keep their size: registers, spills, and the instructions of a tile, counted in machine code.

The figures are of NVRTC 13.0; another ptxas may need others. A count above its figure is a regression to explain;
one below it lowers the figure.
"""

import collections
import functools
import json
import os
import subprocess

import pytest

VARIANTS = ["causal", "alibi", "softcap", "sliding_window", "document"]
DTYPES = ["bf16", "f16"]
DIMS = [64, 128, 256]
ARCHES = {"sm_80": 80, "sm_90a": 90}

# At most: registers, and instructions of a warp for a full tile, by head dimension, the larger of both architectures
# and dtypes. Registers are Q (d / 4 up to d = 128), the output (d / 2), the scores (32, at 256 16), and addresses;
# what a variant keeps for its rows comes on top.
FIGURES = {
    64: {"causal": (163, 396), "alibi": (162, 553), "softcap": (164, 972), "sliding_window": (163, 396),
         "document": (170, 404)},
    128: {"causal": (218, 535), "alibi": (219, 692), "softcap": (241, 1111), "sliding_window": (218, 535),
          "document": (219, 544)},
    256: {"causal": (255, 589), "alibi": (255, 655), "softcap": (255, 877), "sliding_window": (255, 589),
          "document": (254, 596)},
}

# Executed by a warp for a full 64 x 64 tile at d = 64 in a hand-written FlashAttention-2 kernel (mma.sync, tiles of
# 64 x 64, compiled for sm_80 by nvcc 13.0 with -fmad=false): the shortest path through its loop of 585 instructions
# that copies the next tile. 434 with fused multiplications, which change the bits.
BASELINE_FULL_TILE = 462


def tool(*arguments):
    return subprocess.run([os.environ["ATTNC_BIN"], "--cache-dir=none", *arguments], text=True, capture_output=True)


@functools.cache
def nvrtc_problem():
    done = tool("stats", "std:full")
    assert done.returncode == 0 or "NVRTC, which compiles CUDA kernels, was not found" in done.stderr, done.stderr
    return done.stderr


@functools.cache
def kernels_of(dtype, dim):
    """By variant and architecture; one compile each."""
    names = [f"std:{name}" for name in [*VARIANTS, "full"]]
    done = tool("stats", *names, f"--dtype={dtype}", f"--head-dim={dim}", f"--value-dim={dim}",
                f"--target={','.join(ARCHES)}", "--json", "--listing")
    assert done.returncode == 0, done.stderr
    return {(kernel["source"].removeprefix("std:"), kernel["sm"]): kernel for kernel in json.loads(done.stdout)["kernels"]}


@pytest.fixture(params=[(dtype, dim) for dtype in DTYPES for dim in DIMS], ids=lambda p: f"{p[0]}-{p[1]}", scope="module")
def shape(request):
    if nvrtc_problem():
        pytest.skip("no NVRTC on this machine")
    return request.param


def successors(listing, index):
    mnemonic, *branch = listing[index]
    if branch:
        target, is_conditional = branch
        return [target, index + 1] if is_conditional else [target]
    return [] if mnemonic in ("EXIT", "RET") and index + 1 == len(listing) else [index + 1]


def shortest(listing, start, end):
    """The fewest instructions from one to the other, both included."""
    before, queue = {start: None}, collections.deque([start])
    while queue:
        at = queue.popleft()
        if at == end:
            path = [end]
            while before[path[-1]] is not None:
                path.append(before[path[-1]])
            return path[::-1]
        for after in successors(listing, at):
            if 0 <= after < len(listing) and after not in before:
                before[after] = at
                queue.append(after)
    raise AssertionError(f"no way from {start} to {end}")


def main_loop(kernel):
    """The loop over tiles, with the products of scores and of the output."""
    return max((loop for loop in kernel["loops"]), key=lambda loop: loop["by_mnemonic"].get("HMMA", 0))


def turn_of_loop(kernel, stops):
    """Indices of what a warp executes in the cheapest turn of the loop that passes all of `stops`."""
    loop = main_loop(kernel)
    path = [loop["first"]]
    for stop in [*sorted(stops), loop["last"]]:
        path += shortest(kernel["listing"], path[-1], stop)[1:]
    return path


def places(kernel, mnemonic):
    loop = main_loop(kernel)
    return [i for i in range(loop["first"], loop["last"] + 1) if kernel["listing"][i][0] == mnemonic]


def count(kernel, path):
    return collections.Counter(kernel["listing"][i][0] for i in path)


def full_tile(kernel):
    """With the copy of the next tile, without masks and ends of splits."""
    return count(kernel, turn_of_loop(kernel, places(kernel, "LDGSTS")[:1]))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_registers_and_instructions(shape, variant, arch):
    dtype, dim = shape
    kernel = kernels_of(dtype, dim)[variant, ARCHES[arch]]
    assert kernel["stack_bytes"] == 0 and kernel["by_class"]["local"] == 0, "spills"
    measured = (kernel["registers"], full_tile(kernel).total())
    assert all(m <= f for m, f in zip(measured, FIGURES[dim][variant])), measured


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_products_and_loads_are_what_the_shape_needs(shape, variant, arch):
    dtype, dim = shape
    keys = 64 if dim <= 128 else 32  # of a tile
    # A product is 16 x 8 x 16: scores are 16 x keys over dim, the output 16 x dim over keys.
    products = keys // 8 * (dim // 16) + dim // 8 * (keys // 16)
    # A load feeds two products; Q is loaded again where it does not stay in registers.
    loads = products // 2 + (dim // 16 if dim == 256 else 0)
    counts = full_tile(kernels_of(dtype, dim)[variant, ARCHES[arch]])
    assert (counts["HMMA"], counts["LDSM"]) == (products, loads)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("variant", ["causal", "sliding_window", "document"])
def test_full_tiles_have_no_mask(shape, variant, arch):
    """A full tile takes what it takes in the kernel without a mask; the loop holds a choice of each score beside."""
    dtype, dim = shape
    kernel, plain = kernels_of(dtype, dim)[variant, ARCHES[arch]], kernels_of(dtype, dim)["full", ARCHES[arch]]
    full, without = full_tile(kernel), full_tile(plain)
    for mnemonic in ("FSEL", "SEL", "R2P", "B2R", "FSETP", "FMNMX", "FMUL", "FADD", "FFMA", "MUFU"):
        assert full[mnemonic] <= without[mnemonic], mnemonic
    scores = 16 * (64 if dim <= 128 else 32) // 32  # of a lane
    assert len(places(kernel, "FSEL")) >= full["FSEL"] + scores


def test_causal_takes_no_more_than_the_baseline():
    if nvrtc_problem():
        pytest.skip("no NVRTC on this machine")
    for dtype in DTYPES:
        assert full_tile(kernels_of(dtype, 64)["causal", 80]).total() <= BASELINE_FULL_TILE
