"""attnc mask: counts against a dense mask in NumPy, and the pictures."""

import re
import struct
import zlib

import numpy as np
import pytest

Q, KV, BLOCK = 300, 333, 64


def tiles(dense):
    """(full, partial, empty); a last column of tiles with fewer keys is never full."""
    counts = [0, 0, 0]
    for i in range(0, dense.shape[0], BLOCK):
        for j in range(0, dense.shape[1], BLOCK):
            tile = dense[i : i + BLOCK, j : j + BLOCK]
            short = tile.shape[1] < BLOCK
            counts[2 if not tile.any() else 0 if tile.all() and not short else 1] += 1
    return counts


i, j = np.arange(Q)[:, None], np.arange(KV)[None, :]
doc = np.arange(KV) // 70
MASKS = {
    "causal": (i >= j, []),
    "sliding_window": ((i >= j) & (i - j < 100), ["--param", "window=100"]),
    "document_sorted": (doc[i] == doc[j], ["--capture", "doc=doc.npy"]),
    "natten2d": (
        (abs(np.clip(i % 20, 6, 13) - j % 20) <= 6) & (abs(np.clip(i // 20, 6, 9) - j // 20) <= 6),
        ["--param", "width=20", "--param", "height=16"],
    ),
}


@pytest.mark.parametrize("name", MASKS)
def test_counts(attnc, name):
    dense, options = MASKS[name]
    attnc.save("doc.npy", doc.astype(np.int32))
    out = attnc("mask", f"std:{name}", "--size", f"{Q}x{KV}", "--heads", 2, *options).stdout
    full, partial, empty = map(int, re.search(r"head 0: (\d+) full, (\d+) partial, (\d+) empty", out).groups())
    assert [full, partial, empty] == tiles(dense)
    assert f"all: {2 * full} full" in out


def test_a_capture_may_stand_before_the_variant(attnc):
    attnc.save("doc.npy", doc.astype(np.int32))
    attnc("mask", "--capture", "doc=doc.npy", "std:document_sorted", "--size", KV)


def test_drawing_does_not_walk_tiles(attnc):
    # 10^11 tiles: a walk over them would not end today.
    out = attnc("mask", "std:causal", "--size", 20_000_000).stdout
    blocks = 20_000_000 // BLOCK
    assert f"all: {blocks * (blocks - 1) // 2} full, {blocks} partial" in out


@pytest.mark.parametrize("blocks", [(200, 170), (129, 81), (31, 400)])
def test_cells_of_many_tiles(attnc, blocks):
    # A cell of the terminal's picture is full or empty only if all of its tiles are.
    attnc.save("doc.npy", (np.arange(blocks[1] * BLOCK) // (13 * BLOCK)).astype(np.int32))
    out = attnc("mask", "std:document_sorted", "--size", f"{blocks[0] * BLOCK}x{blocks[1] * BLOCK}", "--capture", "doc=doc.npy")
    index = [np.minimum(np.arange(n), blocks[1] - 1) // 13 for n in blocks]
    tile = index[0][:, None] == index[1][None, :]  # all tiles are empty or full
    rows, columns = min(blocks[0], 128), min(blocks[1], 80)
    cell = [np.arange(n) * size // n for n, size in zip(blocks, (rows, columns))]
    picture = out.stdout.split("\ndocument_sorted:")[0].split("\n")
    for r in range(0, rows, 2):
        for c in range(columns):
            kinds = []
            for row in (r, r + 1):
                part = tile[np.ix_(cell[0] == row, cell[1] == c)]
                kinds.append(2 if part.size and part.all() else int(part.any()))
            expected = [" ▄▄", "▀▒▒", "▀▒█"][kinds[0]][kinds[1]]
            assert picture[r // 2][c] == expected, (r, c)


def test_png(attnc):
    attnc("mask", "std:causal", "--size", 1024, "-o", "m.png")
    data = (attnc.folder / "m.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    pixels = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)[:, 1:]
    cell = width // 16
    assert (pixels[::cell, ::cell] == np.where(np.eye(16) > 0, 1, 2 * np.tri(16, k=-1))).all()


def test_svg_and_wrong_names(attnc):
    attnc("mask", "std:causal", "--size", 256, "-o", "m.svg")
    assert (attnc.folder / "m.svg").read_text().startswith("<svg")
    assert ".png or .svg" in attnc("mask", "std:causal", "--size", 256, "-o", "m.gif", code=1).stderr
    assert "--size" in attnc("mask", "std:causal", "--size", "12y", code=1).stderr
    assert "head 3" in attnc("mask", "std:causal", "--size", 64, "--head", 3, code=1).stderr
