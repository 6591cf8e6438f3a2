#!/usr/bin/env bash
# Nsight Compute's counts for one run of every rung of the companion operations, one line of CSV
# per rung and metric, summed over the launches of the run.
# Needs a GPU whose counters this user may read.
# Usage: bench/ncu_companions.sh TILESCOPE_BINARY OUTPUT.csv
# The options of a problem (column "options") are those of `tilescope explain OPERATION/RUNG`.
set -u
tilescope=$1
out=$2

# One problem a line; rungs for which one is not made are left out by what `explain` says of them.
problems() {
  cat <<'LIST'
saxpb --size 1000
saxpb --size 10007
vector_add --size 10007
scale -m 61 -n 77
reverse --size 10007
transpose -m 61 -n 77
blur -m 61 -n 77 --radius 1
blur -m 61 -n 77 --radius 5
laplacian -m 61 -n 77 --iterations 1
laplacian -m 61 -n 77 --iterations 9
histogram --size 20011 --bins 256 --type uint8
histogram --size 10007 --bins 1000 --type int32
reduce --size 10007 --op sum
reduce --size 10007 --op argmax
LIST
}
rungs_of() {  # operation size... : one_block is for lists that one block holds, and alone there
  "$tilescope" ladder "$1" --list | awk '$NF ~ /\.cu$/ {print $1}' |
    case "$*" in
      "saxpb --size 1000") grep -x one_block ;;
      saxpb\ *) grep -vx one_block ;;
      *) cat ;;
    esac
}

# Those whose names have not been the same on every chip and in every version are asked for only if
# ncu knows them: one unknown name, and it measures nothing.
sure="launch__grid_size
smsp__inst_executed.sum
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__t_requests_pipe_lsu_mem_global_op_red.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
smsp__inst_executed_op_shared_ld.sum
smsp__inst_executed_op_shared_st.sum"
asked="smsp__sass_thread_inst_executed_op_fadd_pred_on.sum
smsp__sass_thread_inst_executed_op_fmul_pred_on.sum
l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum
smsp__inst_executed_op_shared_atom.sum
smsp__inst_executed_op_shared_atom_dot_alu.sum
smsp__inst_executed_op_shared_atom_dot_cas.sum
smsp__inst_executed_op_global_red.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum"
known=$( { ncu --query-metrics; ncu --query-metrics --chip gh100; } 2>/dev/null | awk '{print $1}' | sort -u)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ladder() {  # operation rung option...: the first launches of the process are one verified run
  echo "$tilescope" ladder "$1" --device cuda --variant "$2" --samples 1 "${@:3}"
}
profile() {  # metrics launches operation rung option...: rows of CSV
  # shellcheck disable=SC2046  # words
  ncu --clock-control none --launch-count "$2" --csv --metrics "$1" $(ladder "${@:3}") \
      2> "$scratch/errors" < /dev/null | tee "$scratch/printed" | grep '^"'
}
metrics=$sure
for metric in $asked; do
  if grep -qxF -e "${metric%.sum}" -e "$metric" <<< "$known"; then
    metrics+=$'\n'$metric
  else
    echo "ncu_companions: ncu does not know ${metric%.sum}: dropped" >&2
  fi
done
if ! profile "${metrics//$'\n'/,}" 1 saxpb one_block --size 1000 > /dev/null; then
  for metric in $asked; do  # listed, and yet not to be had
    profile "$metric" 1 saxpb one_block --size 1000 > /dev/null && continue
    echo "ncu_companions: ncu does not measure ${metric%.sum}: dropped" >&2
    metrics=$(grep -vxF "$metric" <<< "$metrics")
  done
fi
metrics=${metrics//$'\n'/,}

launches_of() {  # operation rung option...: of one run; nothing where the rung is not for it
  "$tilescope" explain "$1/$2" "${@:3}" --json - 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["launches"])' 2>/dev/null
}

# Compiled by several processes at once, everything is in the cache when ncu comes, which is slow
# and one at a time.
warm() {  # operation option...
  for rung in $(rungs_of "$@"); do
    $(ladder "$1" "$rung" "${@:2}") > /dev/null 2>&1
    launches_of "$1" "$rung" "${@:2}" > "$scratch/$1.$rung.${*:2}"
  done
}
while read -r -a problem; do warm "${problem[@]}" & done < <(problems)
wait

count() {  # operation rung option...
  local launches
  launches=$(cat "$scratch/$1.$2.${*:3}")
  if [ -z "$launches" ]; then
    echo "ncu_companions: $1/$2 is not for ${*:3}: left out" >&2
    return
  fi
  profile "$metrics" "$launches" "$@" > "$scratch/counts"
  python3 -c '
import csv, sys
operation, rung, options, expected = sys.argv[1:]
sums, launches = {}, set()
for row in csv.DictReader(sys.stdin):
    launches.add(row["ID"])
    try:
        value = float(row["Metric Value"].replace(",", ""))
    except ValueError:  # n/a
        continue
    sums[row["Metric Name"]] = sums.get(row["Metric Name"], 0) + value
if len(launches) != int(expected):
    sys.exit(f"ncu_companions: {operation}/{rung} {options}: {len(launches)} launches, "
             f"{expected} expected")
print(operation, rung, options, "launches", len(launches), sep=",")
for metric, value in sums.items():
    print(operation, rung, options, metric, f"{value:.0f}", sep=",")
' "$1" "$2" "${*:3}" "$launches" < "$scratch/counts" >> "$out" || {
    failed=1
    grep -h '==ERROR==' "$scratch/errors" "$scratch/printed" >&2
  }
}
failed=0
echo "operation,rung,options,metric,value" > "$out"
while read -r -a problem; do
  for rung in $(rungs_of "${problem[@]}"); do
    count "${problem[0]}" "$rung" "${problem[@]:1}"
  done
done < <(problems)
exit "$failed"
