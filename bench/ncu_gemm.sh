#!/usr/bin/env bash
# Nsight Compute's counts of the GEMM rungs (kernels/gemm), one line of CSV for each rung, problem
# and metric that is not 0.
# Needs a GPU whose counters this user may read.
# Usage: bench/ncu_gemm.sh RUN_RUNGS OUTPUT.csv < PROBLEMS
# RUN_RUNGS: build/run_rungs, built with -DTILESCOPE_BUILD_BENCHMARKS=ON. PROBLEMS: lines
# "RUNG PRECISION M N K"; a file that this has written has them (cut -d, -f1-5 | tr , ' ' | uniq).
set -eu
run=$1
out=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat > "$scratch/problems"
l1=l1tex__
global=pipe_lsu_mem_global_op
shared=pipe_lsu_mem_shared
tensor=sm__inst_executed_pipe_tensor_op
bulk=mem_global_op_tma
metrics=$(tr '\n' , <<LIST
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
smsp__sass_thread_inst_executed_op_dfma_pred_on.sum
${tensor}_gmma.sum
${tensor}_hmma.sum
sm__ops_path_tensor_src_bf16_dst_fp32.sum
sm__ops_path_tensor_src_fp16.sum
sm__ops_path_tensor_src_tf32_dst_fp32.sum
sm__ops_path_tensor_src_fp64.sum
sm__sass_data_bytes_mem_shared_op_gmma.sum
${l1}data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum
${l1}data_bank_conflicts_${shared}_op_gmma.sum
${l1}t_requests_${global}_ld.sum
${l1}t_sectors_${global}_ld.sum
${l1}t_requests_${global}_st.sum
${l1}t_sectors_${global}_st.sum
${l1}data_pipe_lsu_wavefronts_mem_shared.sum
${l1}data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
${l1}data_bank_conflicts_${shared}_op_ld.sum
${l1}data_pipe_lsu_wavefronts_mem_shared_op_st.sum
${l1}data_bank_conflicts_${shared}_op_st.sum
${l1}data_pipe_lsu_wavefronts_mem_shared_op_atom.sum
smsp__inst_executed_op_tma_ld.sum
smsp__inst_executed_op_tma_st.sum
${l1}m_xbar2l1tex_read_sectors_${bulk}_ld_dest_self.sum
${l1}m_xbar2l1tex_read_sectors_${bulk}_ld_dest_multicast.sum
${l1}m_l1tex2xbar_write_sectors_${bulk}_st.sum
LIST
)
"$run" < "$scratch/problems" > /dev/null  # compiles, which is slow under a profiler
ncu --clock-control none --profile-from-start off --csv --page raw --metrics "${metrics%,}" \
    "$run" < "$scratch/problems" > "$scratch/printed"
python3 - "$scratch/printed" "$metrics" > "$out" <<'SUMS'
import csv, sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
wanted = sys.argv[2].split(",")  # ncu prints more
rows = iter(list(csv.DictReader(line for line in lines if line.startswith('"')))[1:])  # units first
print("rung,precision,m,n,k,metric,value")
for line in lines:
    words = line.split()
    if len(words) != 6 or not words[-1].isdigit():
        continue
    sums = {"launches": int(words[-1])}
    for _ in range(sums["launches"]):
        for metric, text in next(rows).items():
            if metric not in wanted:
                continue
            name = "sm__ops_path_tensor.sum" if "ops_path_tensor_src" in metric else metric
            sums[name] = sums.get(name, 0) + int(float(text.replace(",", "")))
    for metric, value in sums.items():
        if value:
            print(*words[:5], metric, value, sep=",")
if next(rows, None):
    sys.exit("ncu_gemm: ncu has more launches than the rungs")
SUMS
