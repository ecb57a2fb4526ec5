"""attnc cache and attnc warm: kernels made ahead of time, checked, carried to where nothing may be compiled."""

import json
import os
import subprocess

import numpy as np
import pytest

# The fake compiler of the unit tests, where there is no real one: f32 with head dim 8 and value dim 4.
DIMS = ["--head-dim=8x4"]
SPLITS = (64, 128, 192)
# Its kernel reads a param, and masks where that is 1.
CAUSAL = "variant causal { param is_causal: bool = true; mask_mod = is_causal and q_idx >= kv_idx; }\n"


@pytest.fixture(autouse=True)
def compiler(attnc):
    if "FAKE_COMPILER" in os.environ:
        attnc.environment["ATTNC_COMPILER"] = os.environ["FAKE_COMPILER"]


@pytest.fixture
def warmed(attnc):
    for split in SPLITS:
        attnc("warm", "std:full", *DIMS, "--split-size", split)
    return attnc


def kernels(attnc, *options):
    return [line.split() for line in attnc(*options, "cache", "ls").stdout.splitlines()[:-1]]


def files(attnc, extension):
    return sorted((attnc.folder / "cache").glob("*" + extension))


def tensors(attnc):
    for name, dim in (("q", 8), ("k", 8), ("v", 4)):
        attnc.save(name + ".npy", np.ones((1, 2, 16, dim), np.float32))
    return ["--query", "q.npy", "--key", "k.npy", "--value", "v.npy"]


def test_warm_makes_what_run_needs(attnc):
    attnc.write("causal.attn", CAUSAL)
    run = ["--forbid-jit", "run", "causal.attn", *tensors(attnc), "--output", "o.npy"]
    message = attnc(*run, code=1).stderr
    # The message holds the command that helps, but for the file's name.
    command = message.split("`")[1].replace("FILE:", "causal.attn:").split()
    assert command[0] == "attnc"
    assert "1 compiled, 0 were there, 0 failed" in attnc(*command[1:]).stdout
    attnc(*run)
    assert np.allclose(attnc.load("o.npy"), 1)
    assert "0 compiled, 1 were there" in attnc(*command[1:]).stdout


def test_warm_takes_all_combinations(attnc):
    attnc.write("two.attn", "variant a { mask_mod = q_idx >= kv_idx; }\nvariant b { mask_mod = q_idx > kv_idx; }\n")
    done = attnc("warm", "two.attn", "std:full", *DIMS, "--target=cpu,cpu:sse", "--jobs=2")
    assert "6 kernels: 6 compiled" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()[:-1]]
    assert {line[1] for line in lines} == {"a", "b", "full"} and {line[2] for line in lines} == {"cpu", "cpu:sse"}
    assert len({line[0] for line in lines}) == 6
    assert {line[0] for line in kernels(attnc)} == {line[0] for line in lines}


def test_warm_goes_on_past_failures(attnc):
    done = attnc("warm", "std:full", *DIMS, "--target=cpu,cpu:mmx,sm_1", code=1)
    assert "3 kernels: 1 compiled, 0 were there, 2 failed" in done.stdout and "cpu:mmx" in done.stdout
    assert len(kernels(attnc)) == 1


def test_warm_wrong_usage(attnc):
    assert "required" in attnc("warm", code=2).stderr
    assert "192x128" in attnc("warm", "std:full", "--head-dim=eight", code=1).stderr
    assert "f16" in attnc("warm", "std:full", "--dtype=f8", code=1).stderr
    assert "NAME=DTYPE" in attnc("warm", "std:alibi", "--capture-dtype=slopes", code=1).stderr
    assert "no capture 'slops'" in attnc("warm", "std:alibi", "--capture-dtype=slops=bf16", code=1).stdout
    assert "did you mean 'full'" in attnc("warm", "std:ful", code=1).stderr
    assert "in memory only" in attnc("--cache-dir=none", "warm", "std:full", code=1).stderr
    attnc("warm", "std:full", "--jobs=0", code=2)
    with open("/dev/full", "w") as full:
        done = subprocess.run([os.environ["ATTNC_BIN"], "warm", "std:full", *DIMS], stdout=full,
                              stderr=subprocess.PIPE, text=True, env=attnc.environment)
    assert done.returncode == 1 and "cannot write" in done.stderr


def test_every_compile_is_told(attnc):
    done = attnc("-v", "warm", "std:full", *DIMS)
    assert done.stderr.count(" starts, key ") == 1 and done.stderr.count(" done in ") == 1
    assert attnc("-v", "warm", "std:full", *DIMS).stderr == ""


def test_show(warmed):
    keys = [line[0] for line in kernels(warmed)]
    assert len(keys) == 3
    shown = json.loads(warmed("cache", "show", keys[0]).stdout)
    assert shown["key"].startswith(keys[0]) and shown["name"] == "full" and shown["kind"] == "o"
    assert shown["fields"]["backend"] == "cpu" and "attn.variant" in shown["fields"]["ir"]
    assert shown["report"]["schedules"] and shown["compile_ms"] > 0
    assert json.loads(warmed("cache", "show", shown["key"]).stdout) == shown
    assert "hexadecimal" in warmed("cache", "show", "../cache", code=1).stderr
    assert "no kernel" in warmed("cache", "show", "f" * 64, code=1).stderr
    warmed("cache", "show", code=2)


@pytest.mark.parametrize("extension", [".o", ".json"])
def test_verify(warmed, extension):
    assert "3 kernels, 0 corrupt" in warmed("cache", "verify").stdout
    path = files(warmed, extension)[1]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = warmed("cache", "verify", code=5)
    assert "3 kernels, 1 corrupt" in done.stdout and path.name[:12] in done.stdout and "--delete" in done.stderr
    done = warmed("cache", "verify", "--delete")
    assert "removed" in done.stdout
    assert "2 kernels, 0 corrupt" in warmed("cache", "verify").stdout
    assert len(files(warmed, ".o")) == len(files(warmed, ".json")) == 2


def test_folder_that_others_can_write(warmed):
    (warmed.folder / "cache").chmod(0o777)
    assert "only its owner" in warmed("cache", "verify", code=5).stdout
    done = warmed("-v", "warm", "std:full", *DIMS, "--split-size=64")
    assert "1 compiled" in done.stdout and "is not used" in done.stderr
    assert kernels(warmed) == []


def test_files_are_private(attnc):
    old = os.umask(0)
    try:
        attnc("warm", "std:full", *DIMS)
    finally:
        os.umask(old)
    assert (attnc.folder / "cache").stat().st_mode & 0o777 == 0o700
    for path in (attnc.folder / "cache").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_export_and_import(warmed):
    warmed.write("causal.attn", CAUSAL)
    warmed("warm", "causal.attn", *DIMS)
    assert "exported 4 kernels" in warmed("cache", "export", "k.attnc").stdout
    other = ["--cache-dir", "other"]
    assert "imported 4 kernels, 0 were there, 0 refused" in warmed(*other, "cache", "import", "k.attnc").stdout
    assert "imported 0 kernels, 4 were there" in warmed(*other, "cache", "import", "k.attnc").stdout
    assert {line[0] for line in kernels(warmed, *other)} == {line[0] for line in kernels(warmed)}
    warmed.environment["ATTNC_COMPILER"] = "/nowhere"
    warmed(*other, "--forbid-jit", "run", "causal.attn", *tensors(warmed))
    assert "nowhere" in warmed("cache", "import", "nowhere.attnc", code=1).stderr
    assert "nowhere" in warmed("cache", "export", "nowhere/k.attnc", code=1).stderr
    assert "in memory only" in warmed("--cache-dir=none", "cache", "import", "k.attnc", code=1).stderr


def test_import_of_damaged_files(warmed):
    warmed("cache", "export", "k.attnc")
    whole = (warmed.folder / "k.attnc").read_bytes()
    damaged = whole.replace(b'"kind": "o"', b'"kind": "p"', 1)
    (warmed.folder / "k.attnc").write_bytes(damaged)
    done = warmed("--cache-dir", "other", "cache", "import", "k.attnc", code=1)
    assert "does not fit" in done.stderr and "2 entries" in done.stderr
    (warmed.folder / "k.attnc").write_bytes(whole[:-100])
    assert "truncated" in warmed("--cache-dir", "other", "cache", "import", "k.attnc", code=1).stderr
    assert "0 corrupt" in warmed("--cache-dir", "other", "cache", "verify").stdout


def test_import_takes_no_memory_for_what_is_claimed(warmed):
    for line in ("entry 4000000 67000000", "entry 9223372036854775807 9223372036854775807", "entry -1 -1"):
        warmed.write("k.attnc", f"attnc cache export 1\n{line}\nshort")
        assert "cannot import" in warmed("cache", "import", "k.attnc", code=1).stderr


def test_clear_and_path(warmed):
    assert warmed("cache", "path").stdout.strip() == str(warmed.folder / "cache")
    assert "removed 3 kernels" in warmed("cache", "clear").stdout
    assert kernels(warmed) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(attnc, shell):
    script = attnc("completion", shell).stdout
    for word in ("warm", "ls", "show", "verify", "export", "import", "clear", "path", "delete", "head-dim", "jobs"):
        assert word in script
