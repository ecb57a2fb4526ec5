"""Runs the attnc tool in a folder of its own, with a kernel cache of its own."""

import os
import subprocess

import numpy as np
import pytest


class Tool:
    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "ATTNC_CACHE_DIR": str(folder / "cache")}

    def __call__(self, *arguments, code=0):
        done = subprocess.run([os.environ["ATTNC_BIN"], *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, env=self.environment)
        assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def save(self, name, array):
        np.save(self.folder / name, array)
        return name

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def load(self, name):
        return np.load(self.folder / name)


@pytest.fixture
def attnc(tmp_path):
    return Tool(tmp_path)


@pytest.fixture
def rng(request):
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    return np.random.default_rng(seed)
