#!/usr/bin/env bash
# Nsight Compute's counts for every matmul rung of kernels/matmul, one line of CSV per rung and
# metric.
# Needs a GPU whose counters this user may read. Usage: bench/ncu_counts.sh TILESCOPE_BINARY OUTPUT.csv
set -u
tilescope=$1
out=$2
metrics=$(tr -d ' \n' <<'LIST'
launch__block_size,
smsp__inst_executed.sum,
smsp__thread_inst_executed.sum,
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum,
smsp__sass_thread_inst_executed_op_dfma_pred_on.sum,
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,
l1tex__t_requests_pipe_lsu_mem_global_op_red.sum,
l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum,
smsp__inst_executed_op_ldgsts.sum,
smsp__inst_executed_op_global_ld.sum,
smsp__inst_executed_op_global_st.sum,
smsp__inst_executed_op_shared_ld.sum,
smsp__inst_executed_op_shared_st.sum,
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum,
l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum,
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum,
l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,
smsp__sass_branch_targets_threads_divergent.sum,
smsp__sass_branch_targets.sum
LIST
)
echo "rung,m,n,k,metric,value" > "$out"
count() {  # rung m n k
  ncu --clock-control none --launch-count 1 --csv --metrics "$metrics" \
      "$tilescope" ladder matmul --device cuda --variant "$1" -m "$2" -n "$3" -k "$4" --samples 1 \
      2>/dev/null |
    python3 -c '
import csv, sys
rows = [line for line in sys.stdin if line.startswith("\"")]
for row in csv.DictReader(rows):
    print(",".join(sys.argv[1:]), row["Metric Name"], row["Metric Value"].replace(",", ""), sep=",")
' "$1" "$2" "$3" "$4" >> "$out"
}
rungs=$("$tilescope" ladder matmul --list | awk '$NF ~ /^matmul\/.*\.cu$/ {print $1}')
count one_block 32 32 32
for rung in $rungs; do
  [ "$rung" = one_block ] && continue
  count "$rung" 256 256 256
  count "$rung" 100 100 100
done
