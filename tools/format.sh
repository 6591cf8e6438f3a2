#!/usr/bin/env bash
# Formats every C++ file of the project; with --check it only names unformatted ones, and fails.
# One version of clang-format is fixed, because others lay out some lines differently.
set -euo pipefail
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-14) || {
  echo "tools/format.sh: clang-format-14 not found; run tools/setup.sh" >&2
  exit 1
}
mapfile -d '' files < <(find src python include tests examples bench -name '*.?pp' -print0)
if [ "${1:-}" != --check ]; then
  "$formatter" -i "${files[@]}"
  exit
fi
wrong=0
for file in "${files[@]}"; do
  if ! "$formatter" "$file" | cmp -s - "$file"; then
    echo "not formatted: $file; run make format" >&2
    wrong=1
  fi
done
exit "$wrong"
