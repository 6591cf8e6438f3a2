// Elements of a matrix in another type, another order or with other gaps between its rows.
//
// Idea:    a product of operands that no fast kernel takes is often faster with a copy that one
//          takes: half the bytes, whole chunks, tensor cores. Each element is rounded once.
// Changes: operands of any type and order reach the fast kernels without the host.
// Counter: DRAM throughput: each element is read once and written once.
//
// Element (row, column) is at `row * row_step + column * column_step` of the source. Columns and
// rows beyond the source are zeros in the target. FROM, TO: types (element.cuh).
// Launch: 256 threads a block over the columns of the target, grid y over its rows (in strides),
// z over the batch.
#include "element.cuh"

extern "C" __global__ void convert(const FROM* from, TO* to, long long source_rows,
                                   long long source_columns, long long row_step,
                                   long long column_step, long long from_stride, long long rows,
                                   long long columns, long long pitch, long long to_stride) {
  const long long column = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  from += blockIdx.z * from_stride;
  to += blockIdx.z * to_stride;
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const bool inside = row < source_rows && column < source_columns;
    to[row * pitch + column] =
        inside ? Converted<TO, FROM>::from(from[row * row_step + column * column_step]) : TO();
  }
}
