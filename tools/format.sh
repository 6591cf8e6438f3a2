#!/usr/bin/env bash
# Formats every C++ file of the project; with --check it only names unformatted ones, and fails.
# One version of clang-format is fixed, because others lay out some lines differently.
set -euo pipefail
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-14) || {
  echo "tools/format.sh: clang-format-14 not found; run tools/setup.sh" >&2
  exit 1
}

# Runs the formatter with the options given. It takes longer to start than to read a file, so each
# one reads many.
format_files() {
  find src python include tests examples bench -name '*.?pp' -print0 |
    xargs -0 -n 50 -P "$(nproc)" "$formatter" "$@"
}

if [ "${1:-}" != --check ]; then
  format_files -i
  exit
fi
# An unformatted file has a warning for each place, all of which begin with its name.
if ! found=$(format_files --dry-run --Werror 2>&1); then
  names=$(sed -nE 's/^([^: ]+):[0-9]+:[0-9]+: error: .*/not formatted: \1; run make format/p' \
    <<< "$found" | sort -u)
  echo "${names:-$found}" >&2
  exit 1
fi
