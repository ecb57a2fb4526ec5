#!/usr/bin/env bash
# Lines per file, so that growth is seen: median, 95th percentile and the longest.
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.cpp' '*.h' '*.py' '*.td' '*.attn' | xargs wc -l | grep -v ' total$' | sort -n |
  awk '{ n[NR] = $1; f[NR] = $2 }
       END { printf "sizes: %d files, median %d lines, 95th percentile %d, longest %d (%s)\n",
             NR, n[int((NR + 1) / 2)], n[int(NR * 0.95)], n[NR], f[NR] }'
