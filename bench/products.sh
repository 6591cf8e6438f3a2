#!/usr/bin/env bash
# Products of every precision on a GPU machine, beside cuBLAS's fastest algorithm: the shapes that
# libraries are tuned for (A), odd ones (B) with their aligned neighbours, and the errors of
# fp32_fast on data that is hard for it. Prints Markdown tables; the JSON stays in FOLDER.
#
# Usage: bench/products.sh PRODUCTS FOLDER [PATTERN]
#   PRODUCTS: build/bench/products; PATTERN: a grep expression for the names below, such as '^bf16'.
set -eu
products=$(realpath "$1") folder=$2 pattern=${3:-.}
here=$(dirname "$(realpath "$0")")
mkdir -p "$folder"

# measure NAME [OPTION...]; exit code 1 of a wrong result is kept until the end.
wrong=0
measure() {
  local name=$1
  shift
  grep -q -e "$pattern" <<<"$name" || return 0
  echo "$name" >&2
  "$products" --device cuda "$@" --json "$folder/$name.json" >"$folder/$name.txt" || {
    cat "$folder/$name.txt" >&2
    wrong=1
  }
}

for precision in fp32 bf16 fp16 tf32 fp32_fast; do
  # 1024, 4096 and 8192, the neighbours of the other odd shapes, are in A.
  measure $precision --precision $precision --set A --set B --shape 128x8192x4032
done
for data in uniform positive exponents scaled; do
  measure errors_$data --precision fp32_fast --data $data --samples 3 --shape 1000x1000x1000 \
    --shape 2048x2048x2048 --shape 512x512x16384 --shape 256x256x65536
done
python3 "$here/products_table.py" "$folder"/*.json
exit $wrong
