// The columns of a matrix sorted by classes: every CLASSES-th column lies beside the one before it.
// shifted_sums.cu multiplies such an A with rows of B of one class.
//
// Idea:    where rows of B begin at any byte, every CLASSES-th of them begins alike. To take those
//          alone a product's k must be sorted, which is free for B, whose rows are fetched by
//          number, and costs this copy of A, the smaller operand.
// Changes: B is read once, where it lies, instead of read, written and read.
// Counter: DRAM throughput.
//
// Class c begins at column c * class_columns; columns that the class does not have are zeros. 16
// bytes divide `to` and class_columns. Launch: 256 threads, grid x over 16 elements of the result each,
// z over the batch.
using Word = unsigned short;
constexpr int chunks_of_thread = 2;  // few blocks: the product's blocks start beside them

extern "C" __global__ void gather_columns(const Word* from, Word* to, int rows, int columns,
                                          int class_columns, long long from_pitch,
                                          long long from_stride) {
  asm volatile("griddepcontrol.launch_dependents;");
  const unsigned chunks = static_cast<unsigned>(class_columns) / 8 * CLASSES;  // of a row
#pragma unroll
  for (int c = 0; c < chunks_of_thread; ++c) {
    const unsigned long long i =
        (static_cast<unsigned long long>(blockIdx.x) * chunks_of_thread + c) * blockDim.x +
        threadIdx.x;
    const auto row = static_cast<unsigned>(i / chunks), chunk = static_cast<unsigned>(i % chunks);
    if (row >= rows) continue;
    // Neighbouring threads take the classes of the same columns: together they read whole lines.
    const unsigned class_of = chunk % CLASSES, first = chunk / CLASSES * 8;
    const Word* const source = from + blockIdx.z * from_stride + row * from_pitch;
    alignas(16) Word values[8];
#pragma unroll
    for (unsigned e = 0; e < 8; ++e) {
      const unsigned column = (first + e) * CLASSES + class_of;
      values[e] = column < columns ? source[column] : Word(0);
    }
    const long long to_row = static_cast<long long>(blockIdx.z) * rows + row;
    *reinterpret_cast<uint4*>(to + (to_row * CLASSES + class_of) * class_columns + first) =
        *reinterpret_cast<const uint4*>(values);
  }
}
