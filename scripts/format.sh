#!/usr/bin/env bash
# Checks our C++ against .clang-format; --fix rewrites it.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.cpp' '*.h')
if [[ ${1:-} == --fix ]]; then
  clang-format-22 -i "${files[@]}"
elif ! clang-format-22 --dry-run -Werror "${files[@]}" 2>/tmp/attnc-format.$$; then
  grep -o '^[^:]*' /tmp/attnc-format.$$ | sort | uniq -c | head -20 >&2
  rm -f /tmp/attnc-format.$$
  echo "format: run 'make format'" >&2
  exit 1
else
  rm -f /tmp/attnc-format.$$
  echo "format: ${#files[@]} files are fine"
fi
