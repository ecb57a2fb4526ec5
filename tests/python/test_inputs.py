"""Wrong input of every kind: the exit code, and a message that names the thing and a way out."""

import os
import subprocess

import numpy as np
import pytest

COMMANDS = ["check", "list", "dump", "run", "mask", "bench", "cache", "warm", "completion"]


@pytest.fixture
def tensors(attnc):
    for name in "qkv":
        attnc.save(name + ".npy", np.zeros((1, 2, 16, 8), np.float32))
    return ["--query", "q.npy", "--key", "k.npy", "--value", "v.npy"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(attnc, command):
    assert f"attnc {command}" in attnc(command, "--help").stdout


def test_usage(attnc):
    attnc(code=2)
    attnc("frobnicate", code=2)
    attnc("dump", "std:causal", "--emit=frob", code=2)
    message = attnc("run", "std:causal", code=2).stderr
    assert message.startswith("attnc: error: ") and "--query" in message and "'attnc run --help'" in message
    assert attnc("--version").stdout.startswith("attnc ")


def test_output_that_cannot_be_written(attnc):
    with open("/dev/full", "w") as full:
        done = subprocess.run([os.environ["ATTNC_BIN"], "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot write" in done.stderr
    assert "/dev/full" in attnc("dump", "std:causal", "--emit=source", "-o", "/dev/full", code=1).stderr


def test_unknown_names(attnc, tensors):
    assert "nowhere.attn" in attnc("dump", "nowhere.attn", code=1).stderr
    assert "did you mean 'causal'" in attnc("dump", "std:causl", code=1).stderr
    assert "nowhere.npy" in attnc("run", "std:causal", *tensors[:-1], "nowhere.npy", code=1).stderr
    assert "target" in attnc("dump", "std:causal", "--emit=asm", "--target=gpu", code=1).stderr


def test_wrong_variants(attnc):
    bad = attnc.write("bad.attn", "variant v { mask_mod = q_idx + 1; }\nvariant w { mask_mod = causl; }\n")
    errors = attnc("check", bad, code=1).stderr
    assert "bad.attn:1:" in errors and "bad.attn:2:" in errors and "^" in errors
    two = attnc.write("two.attn", "variant a { mask_mod = q_idx >= kv_idx; }\nvariant b { }\n")
    assert "two.attn: 2 variants" in attnc("check", two).stdout
    assert "a" in attnc("dump", two, code=1).stderr  # which one?
    assert attnc("list", two).stdout.split() == ["two.attn:a", "two.attn:b"]


def test_wrong_tensors(attnc, tensors):
    attnc.save("short.npy", np.zeros((1, 2, 16, 9), np.float32))
    message = attnc("run", "std:causal", *tensors[:2], "--key", "short.npy", *tensors[4:], code=1).stderr
    assert "key" in message and "8" in message and "9" in message
    attnc.save("flat.npy", np.zeros(4, np.float32))
    assert "query" in attnc("run", "std:causal", "--query", "flat.npy", *tensors[2:], code=1).stderr
    attnc.save("int.npy", np.zeros((1, 2, 16, 8), np.int32))
    assert "query" in attnc("run", "std:causal", "--query", "int.npy", *tensors[2:], code=1).stderr
    whole = (attnc.folder / "q.npy").read_bytes()
    for size in (0, 5, 60, len(whole) - 1):
        (attnc.folder / "cut.npy").write_bytes(whole[:size])
        assert "cut.npy" in attnc("run", "std:causal", "--query", "cut.npy", *tensors[2:], code=1).stderr
    attnc.write("text.txt", "hello")
    assert "text.txt" in attnc("run", "std:causal", "--query", "text.txt", *tensors[2:], code=1).stderr
    assert "/no/such" in attnc("run", "std:causal", *tensors, "--output", "/no/such/o.npy", code=1).stderr


def test_wrong_captures_and_params(attnc, tensors):
    attnc.save("s.npy", np.zeros(2, np.float32))
    attnc.save("long.npy", np.zeros(3, np.float32))
    assert "slopes" in attnc("run", "std:alibi", *tensors, code=1).stderr
    assert "H = 2" in attnc("run", "std:alibi", *tensors, "--capture", "slopes=long.npy", code=1).stderr
    assert "frob" in attnc("run", "std:alibi", *tensors, "--capture", "slopes=s.npy", "--capture", "frob=s.npy", code=1).stderr
    assert "NAME=VALUE" in attnc("run", "std:alibi", *tensors, "--capture", "slopes", code=1).stderr
    assert "window" in attnc("run", "std:sliding_window", *tensors, "--param", "window=1.5", code=1).stderr
    assert "not a number" in attnc("run", "std:sliding_window", *tensors, "--param", "window=wide", code=1).stderr
    assert "windw" in attnc("run", "std:sliding_window", *tensors, "--param", "windw=8", code=1).stderr


def test_cache(attnc, tensors):
    assert "cache" in attnc("cache", "path").stdout
    message = attnc("--forbid-jit", "run", "std:causal", *tensors, code=1).stderr
    assert "causal" in message
    attnc("run", "std:causal", *tensors)
    assert "1 kernels" in attnc("cache", "ls").stdout
    assert "removed 1 kernels" in attnc("cache", "clear").stdout
    assert "0 kernels" in attnc("cache", "ls").stdout


def test_a_damaged_cache_is_compiled_again(attnc, tensors):
    attnc("run", "std:causal", *tensors, "--output", "a.npy")
    for path in (attnc.folder / "cache").rglob("*.o"):
        path.write_bytes(path.read_bytes()[:100])
    attnc("run", "std:causal", *tensors, "--output", "b.npy")
    assert attnc.load("a.npy").tobytes() == attnc.load("b.npy").tobytes()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_commands_and_options(attnc, shell):
    script = attnc("completion", shell).stdout
    for word in [*COMMANDS, "query-offset", "threads", "clear"]:
        assert word in script


def test_bash_completes(attnc):
    attnc.write("completion.bash", attnc("completion", "bash").stdout)

    def complete(*words):
        script = 'source completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _attnc; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", "attnc", *words], cwd=attnc.folder, text=True,
                              capture_output=True, check=True)
        return done.stdout.split()

    assert complete("ma") == ["mask"]
    assert complete("run", "--que") == ["--query", "--query-offset"]
    assert complete("--threads", "2", "cache", "cl") == ["clear"]
    assert complete("run", "--thr") == ["--threads"]


@pytest.mark.parametrize("stage", ["source", "attn", "staged", "vector", "llvm", "asm"])
def test_dump_stages(attnc, stage):
    text = attnc("dump", "std:softcap_causal", f"--emit={stage}", "--target=cpu:avx2").stdout
    assert {"source": "attn.variant", "attn": "attn.mask_mod", "staged": "attn.per_element", "vector": "math.fma",
            "llvm": "define void @attnc_split_wide", "asm": "attnc_split_wide:"}[stage] in text
