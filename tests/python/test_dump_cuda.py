"""CUDA kernels without a GPU: every std variant compiles, and what is unsupported is named."""

import os
import re
import shutil
import subprocess

import pytest

ARCHES = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"]
# One of each operation; only its compiling is checked here, so every value may be nonsense.
ALL_OPERATIONS = """
score_mod all(t: f32[?], i: i32[?], n: f32) {
  let a = q_idx // (kv_idx - 3) + q_idx % (kv_idx + 1) + q_idx // 8 - q_idx % 16;
  let c = min(max(abs(a), i[kv_idx]), 1000);
  let f = exp(score) + exp2(score) + log(score) + log2(score) + tanh(score) + sin(score) + cos(score) + erf(score);
  let g = floor(f) + ceil(f) + round(f) + sqrt(f) + rsqrt(f) + pow(f, n) + abs(f) + min(f, n) + max(f, n);
  return clamp(relu(g / f), -5.0, n) + t[c] + i32(g) - (-f);
}
variant all_operations { tensor t: f32[?]; tensor i: i32[?]; param n: f32; score_mod = all(t, i, n); }
"""


def has_nvrtc(attnc):
    tool = [os.environ["ATTNC_BIN"], "dump", "std:full", "--emit=ptx"]
    done = subprocess.run(tool, text=True, capture_output=True, env=attnc.environment)
    assert done.returncode == 0 or "NVRTC, which compiles CUDA kernels, was not found" in done.stderr, done.stderr
    return done.returncode == 0


@pytest.fixture
def nvrtc(attnc):
    if not has_nvrtc(attnc):
        pytest.skip("no NVRTC on this machine")
    return attnc


def spilled_bytes(folder, name, arch):
    done = subprocess.run([shutil.which("ptxas"), "-v", f"-arch={arch}", name, "-o", "/dev/null"], cwd=folder, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in re.findall(r"(\d+) bytes spill", done.stderr)]


def test_every_std_variant_compiles_without_spills(nvrtc):
    if not shutil.which("ptxas"):
        pytest.skip("no ptxas on this machine")
    names = [line.split()[0] for line in nvrtc("list", "std").stdout.splitlines()]
    assert len(names) > 30
    for name in names:
        nvrtc("dump", name, "--emit=ptx", "--head-dim=64", "--value-dim=64", "-o", "kernel.ptx")
        assert spilled_bytes(nvrtc.folder, "kernel.ptx", "sm_80") == [0, 0], name


@pytest.mark.parametrize("head_dim, value_dim", [(40, 24), (96, 128), (192, 128), (256, 256)])
def test_head_dimensions_compile_without_spills(nvrtc, head_dim, value_dim):
    if not shutil.which("ptxas"):
        pytest.skip("no ptxas on this machine")
    nvrtc("dump", "std:gemma2_local", "--emit=ptx", f"--head-dim={head_dim}", f"--value-dim={value_dim}", "-o", "k.ptx")
    assert spilled_bytes(nvrtc.folder, "k.ptx", "sm_80") == [0, 0]


@pytest.mark.parametrize("arch", ARCHES)
def test_every_arch_gives_a_cubin(nvrtc, arch):
    nvrtc("dump", "std:gpt_oss", "--emit=cubin", f"--target={arch}", "--dtype=f16", "-o", "kernel.cubin")
    assert (nvrtc.folder / "kernel.cubin").read_bytes()[:4] == b"\x7fELF"


def test_every_operation_compiles(nvrtc):
    nvrtc.write("all.attn", ALL_OPERATIONS)
    ptx = nvrtc("dump", "all.attn", "--emit=ptx").stdout
    assert ".entry attnc_forward" in ptx
    assert "all.attn" in ptx  # the user's file, for profilers


def test_roundings_are_explicit(nvrtc):
    ptx = nvrtc("dump", "std:alibi_causal", "--emit=ptx").stdout
    assert re.search(r"\bfma\.rn\.f32", ptx)
    # Without .rn ptxas may fuse a multiplication and an addition.
    assert not re.search(r"\b(add|sub|mul)(\.ftz)?\.f32", ptx)


def test_a_missing_nvrtc_is_explained(attnc):
    attnc.environment["ATTNC_NVRTC"] = "/nonexistent/libnvrtc.so"
    message = attnc("dump", "std:causal", "--emit=ptx", code=1).stderr
    assert "/nonexistent/libnvrtc.so" in message and "nvidia-cuda-nvrtc" in message
    assert "attnc_forward" in attnc("dump", "std:causal", "--emit=cuda").stdout


def test_running_says_what_is_missing(attnc, rng):
    def run(dtype, target, code):
        x = rng.standard_normal((1, 1, 8, 64)).astype(dtype)
        for name in ("q", "k", "v"):
            attnc.save(name + ".npy", x)
        return attnc("run", "std:causal", "--query=q.npy", "--key=k.npy", "--value=v.npy", f"--target={target}",
                     "--compare", code=code)

    assert "CUDA kernels take f16 and bf16" in run("float32", "sm_80", 1).stderr
    attnc.environment["ATTNC_CUDA_DRIVER"] = "/nonexistent/libcuda.so"
    message = run("float16", "sm_80", 1).stderr
    assert "sm_80" in message and "/nonexistent/libcuda.so" in message and "emulated device" in message
    assert "within the tolerance" in run("float16", "emulated", 0).stdout
