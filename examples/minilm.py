"""The all-MiniLM-L6-v2 sentence encoder in NumPy: 6 BERT layers of 12 heads x 32 dims.

Written for the inputs of its attention. The same code runs in float32 and in float64,
which is how the derived tensors are checked.
Wang et al. 2020, "MiniLM"; Reimers and Gurevych 2019, "Sentence-BERT".
"""

import json
import math
import struct
from pathlib import Path

import numpy as np

HEADS = 12
LAYERS = 6
LONGEST = 512  # learned positions


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The float32 tensors of a file: 8 bytes of header size, a JSON header, then the data."""
    data = path.read_bytes()
    (header_size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + header_size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + header_size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])
    return tensors


def make_erf(limit: float = 6.0, points: int = 16385):
    """erf for arrays, which NumPy lacks: cubic Hermite interpolation between exact points.
    Off by less than 1e-14, the interpolation's bound at this spacing."""
    grid = np.linspace(-limit, limit, points)
    values = np.array([math.erf(x) for x in grid])
    slopes = 2 / math.sqrt(math.pi) * np.exp(-grid * grid)
    step = grid[1] - grid[0]

    def erf(x: np.ndarray) -> np.ndarray:
        position = np.clip((np.asarray(x, np.float64) + limit) / step, 0, points - 1)
        i = np.minimum(position.astype(np.int64), points - 2)
        t = position - i
        u = 1 - t
        return (values[i] * (1 + 2 * t) * u * u + values[i + 1] * t * t * (1 + 2 * u)
                + step * t * u * (slopes[i] * u - slopes[i + 1] * t))

    return erf


erf = make_erf()


def gelu(x: np.ndarray) -> np.ndarray:
    return (0.5 * x * (1 + erf(x / math.sqrt(2)))).astype(x.dtype)


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """softmax(q k^T / sqrt(D)) v over [heads, tokens, D]."""
    return softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])) @ v


class MiniLm:
    def __init__(self, weights: dict[str, np.ndarray], dtype=np.float32):
        self.dtype = dtype
        self.weights = {name: tensor if name.startswith("embeddings.word") else tensor.astype(dtype)
                        for name, tensor in weights.items()}

    def run(self, ids: list[int]) -> np.ndarray:
        """Hidden states [tokens, 384] of one document."""
        return self.layers(ids, LAYERS)

    def attention_inputs(self, ids: list[int], layer: int) -> tuple[np.ndarray, ...]:
        """(q, k, v) of one layer, each [heads, tokens, 32]."""
        return self.project(self.layers(ids, layer), layer)

    def layers(self, ids: list[int], count: int) -> np.ndarray:
        """Hidden states after the first `count` layers."""
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids].astype(self.dtype)
        x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm(x, "embeddings.LayerNorm")
        for i in range(count):
            name = f"encoder.layer.{i}"
            joined = attention(*self.project(x, i)).swapaxes(0, 1).reshape(len(ids), -1)
            x = self.norm(x + self.dense(joined, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
            inner = gelu(self.dense(x, f"{name}.intermediate.dense"))
            x = self.norm(x + self.dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return x

    def project(self, x: np.ndarray, layer: int) -> tuple[np.ndarray, ...]:
        return tuple(self.split_heads(self.dense(x, f"encoder.layer.{layer}.attention.self.{part}"))
                     for part in ("query", "key", "value"))

    def dense(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return (x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]).astype(x.dtype)

    @staticmethod
    def split_heads(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x.reshape(len(x), HEADS, -1).swapaxes(0, 1))
