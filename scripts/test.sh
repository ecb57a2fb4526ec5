#!/usr/bin/env bash
# All tests: the release build with the compiler, then the MLIR-free part under ASan and
# UBSan with a short fuzz run, then format,
# clang-tidy and sizes. Ends with one line of totals.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
passed=0 failed=0

# Adds ctest's closing line to the totals.
run_ctest() {
  local log status
  log=$(mktemp)
  ctest --preset "$1" -j "$jobs" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  local line
  line=$(grep -E 'tests passed, [0-9]+ tests failed out of [0-9]+' "$log" | tail -n 1)
  rm -f "$log"
  if [[ $line =~ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    failed=$((failed + BASH_REMATCH[1]))
    passed=$((passed + BASH_REMATCH[2] - BASH_REMATCH[1]))
  else
    echo "test: ctest of preset $1 gave no totals (exit $status)" >&2
    failed=$((failed + 1))
  fi
}

# A check that is one test of its own.
run_check() {
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

for preset in release sanitize; do
  if cmake --preset "$preset" >/dev/null && cmake --build --preset "$preset" -j "$jobs"; then
    run_ctest "$preset"
  else
    echo "test: the build of preset $preset failed" >&2
    failed=$((failed + 1))
  fi
done
run_check scripts/format.sh
run_check scripts/tidy.sh
scripts/sizes.sh

echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
