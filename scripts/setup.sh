#!/usr/bin/env bash
# Installs what building and testing attnc needs on Debian 12, and makes the Python
# environment of the tests. Does nothing where everything is there already.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  cmake ninja-build ccache git
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  clang-format-22 clang-tidy-22 libclang-rt-22-dev libzstd-dev
  libgtest-dev libgmock-dev nlohmann-json3-dev libcli11-dev libfmt-dev
  python3 python3-venv
  # Runs the aarch64 kernels of the tests.
  qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross
)

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup: this script installs Debian packages; on another system install: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
    missing+=("$package")
done

if ((${#missing[@]})); then
  as_root=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || { echo "setup: run as root, or install sudo" >&2; exit 1; }
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  if ! apt-cache show llvm-22-dev >/dev/null 2>&1; then
    echo "setup: apt knows no llvm-22-dev: add a Debian source that serves LLVM 22 (for" >&2
    echo "setup: example the llvm-toolchain-bookworm-22 suite of the LLVM project) and run again" >&2
    exit 1
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
fi

# One environment for tests and the demo, made anew when the requirements change.
venv=.venv
stamp=$venv/requirements.sha256
wanted=$(cat tests/requirements.txt examples/requirements.txt | sha256sum | cut -d' ' -f1)
if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
  echo "setup: making the Python environment"
  python=python3
  [[ -x /usr/bin/python3 ]] && python=/usr/bin/python3
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check \
    -r tests/requirements.txt -r examples/requirements.txt
  echo "$wanted" >"$stamp"
fi
