"""attnc run against attention computed independently with NumPy in float64."""

import json

import numpy as np
import pytest


def attention(q, k, v, keep, score=lambda s: s):
    """q [B, H, Q, D], k and v [B, Hkv, KV, D], keep [Q, KV] or broadcastable."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    s = np.where(keep, score(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])), -np.inf)
    m = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(m), 0, m))
    total = p.sum(-1, keepdims=True)
    return np.where(total > 0, p @ v / np.where(total > 0, total, 1), 0), (np.log(total) + m)[..., 0]


def positions(q, kv):
    return np.arange(q)[:, None], np.arange(kv)[None, :]


CASES = {
    "std:causal": (lambda i, j: i >= j, lambda s: s, ()),
    "std:sliding_window": (lambda i, j: (i >= j) & (i - j < 40), lambda s: s, ("--param", "window=40")),
    "std:softcap": (lambda i, j: i >= -1 + 0 * j, lambda s: 5 * np.tanh(s / 5), ("--param", "cap=5")),
}


@pytest.mark.parametrize("variant", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("sizes", [(1, 2, 2, 70, 70, 64), (2, 4, 2, 33, 129, 40), (1, 3, 1, 1, 65, 7)])
def test_agrees_with_numpy(attnc, rng, variant, dtype, sizes):
    b, h, hkv, q, kv, d = sizes
    query, key, value = (rng.standard_normal(s).astype(dtype) for s in ((b, h, q, d), (b, hkv, kv, d), (b, hkv, kv, d)))
    names = [attnc.save(n, a) for n, a in (("q.npy", query), ("k.npy", key), ("v.npy", value))]
    mask, score, options = CASES[variant]
    attnc("run", variant, "--query", names[0], "--key", names[1], "--value", names[2], "--output", "o.npy", "--lse",
          "l.npy", *options)
    expected, lse = attention(query, key, value, mask(*positions(q, kv)), score)
    bound = 2e-5 if dtype == np.float32 else 3e-3
    np.testing.assert_allclose(attnc.load("o.npy").astype(np.float64), expected, atol=bound, rtol=0)
    np.testing.assert_allclose(attnc.load("l.npy"), lse, atol=1e-4 if dtype == np.float32 else 5e-3, rtol=0)


def test_compare_json_and_cache(attnc, rng):
    for name in "qkv":
        attnc.save(name + ".npy", rng.standard_normal((2, 100, 32)).astype(np.float32))  # [H, S, D]
    attnc.save("slopes.npy", np.array([0.5, 0.25], np.float32))
    command = ["run", "std:alibi_causal", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--capture",
               "slopes=slopes.npy", "--compare", "--json"]
    first = json.loads(attnc(*command).stdout)
    assert first["shape"] == [1, 2, 100, 32] and not first["cached"]
    assert first["max_abs_error"] < 2e-5 and first["tiles_skipped"] == 2
    again = attnc("--forbid-jit", *command)
    assert json.loads(again.stdout)["cached"]
    assert again.stderr == ""  # quiet in a pipe


def test_compare_fails_on_nan(attnc):
    # Scores of row 0 overflow f32, not the reference's double; later rows are fine.
    query = np.zeros((1, 1, 4, 8), np.float32)
    query[0, 0, 0] = 1e38
    attnc.save("q.npy", query), attnc.save("k.npy", np.full((1, 1, 4, 8), 1e38, np.float32))
    attnc.save("v.npy", np.ones((1, 1, 4, 8), np.float32))
    command = ["run", "std:full", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--compare"]
    assert "beyond" in attnc(*command, code=4).stderr
    assert json.loads(attnc(*command, "--json", code=4).stdout)["max_abs_error"] is None


def test_safetensors(attnc, rng):
    from safetensors.numpy import save_file

    tensors = {n: rng.standard_normal((1, 1, 20, 8)).astype(np.float32) for n in ("q", "layer/0:k", "v")}
    save_file(tensors, attnc.folder / "t.safetensors")
    attnc("run", "std:causal", "--query", "t.safetensors:q", "--key", "t.safetensors:layer/0:k", "--value", "t.safetensors:v",
          "--output", "o.npy")
    expected, _ = attention(*tensors.values(), np.tri(20, dtype=bool))
    np.testing.assert_allclose(attnc.load("o.npy"), expected, atol=1e-5)


def test_chunks_give_equal_bits(attnc, rng):
    query, key, value = (rng.standard_normal((1, 2, 150, 32)).astype(np.float32) for _ in range(3))
    attnc.save("k.npy", key), attnc.save("v.npy", value), attnc.save("q.npy", query)
    attnc.save("late.npy", np.ascontiguousarray(query[:, :, 101:]))
    rest = ["--key", "k.npy", "--value", "v.npy", "--output"]
    attnc("run", "std:causal", "--query", "q.npy", *rest, "whole.npy")
    attnc("run", "std:causal", "--query", "late.npy", "--query-offset", 101, *rest, "chunk.npy")
    assert attnc.load("whole.npy")[:, :, 101:].tobytes() == attnc.load("chunk.npy").tobytes()
