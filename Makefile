# Two commands do everything on a fresh Debian 12:
#   make demo   install, build, run attention over a real model's tensors
#   make test   install, build, all tests
.PHONY: demo test build setup bench format clean

build/release/build.ninja: | setup
	cmake --preset release

setup:
	@scripts/setup.sh

build: setup build/release/build.ninja
	cmake --build --preset release

demo: build
	.venv/bin/python examples/demo.py

test: setup
	@scripts/test.sh

bench: build
	.venv/bin/python benchmarks/report.py

format:
	@scripts/format.sh --fix

clean:
	rm -rf build
