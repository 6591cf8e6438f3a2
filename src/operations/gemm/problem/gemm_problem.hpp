// One product, as BLAS's GEMM defines it, of operands in a device's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/matrix.hpp>

namespace tilescope::operations {

/// The memory order of one operand: element (i, j) of matrix b of the batch at b * batch_stride + i
/// * leading + j (row-major) or + i + j * leading (column-major).
struct GemmOperand {
  DataType type = DataType::float32;
  Order order = Order::row_major;
  std::int64_t leading = 0;       ///< elements between rows (row-major) or columns (column-major)
  std::int64_t batch_stride = 0;  ///< elements between the matrices of a batch
};

/// Which factor an element of an 8-bit operand has: that at x / 2^shift * pitch + s / 128 *
/// step_pitch, for element x along m or n and step s of k. Pitches of 0 repeat a factor.
struct ScaleLayout {
  static constexpr std::int64_t block = 128;
  static constexpr int shift_of_block = 7, shift_of_all = 31;

  std::int64_t count = 0;  ///< of factors; 0: the operand has none
  int shift = 0;           ///< the elements x that share a factor: 1, 128 or all
  std::int32_t pitch = 0, step_pitch = 0;

  bool exists() const { return count > 0; }
  std::int64_t place(std::int64_t x, std::int64_t step) const {
    return (x >> shift) * pitch + step / block * step_pitch;
  }
};

/// How B comes to a kernel that runs meanwhile: panel of columns by panel, each in pieces of rows.
/// Some rows need not come: they lie elsewhere, and are there.
struct Arrival {
  std::int64_t columns = 0;  ///< of a panel; 0: all of B is there
  std::int64_t rows = 0;     ///< of a piece, a multiple of `unit`
  /// The rows that are there, and the pitch of their memory in elements, of the order of B.
  std::int64_t first_there = 0, there = 0, leading_there = 0;

  /// Pieces, and rows that are there, begin at multiples of it: the deepest tile of any kernel.
  static constexpr std::int64_t unit = 128;
};

/// C = activation(alpha * A * B + beta * C + bias) for each matrix of a batch: A is m x k, B is
/// k x n, C is m x n. A transposed operand is one of the other order. C is row-major: a
/// column-major C is the row-major C of the product with A and B exchanged (`exchanged`).
struct GemmProblem {
  MatmulShape shape;
  std::int64_t batch = 1;
  Precision precision = Precision::fp32;  ///< never `automatic`
  GemmOperand a, b, c;
  double alpha = 1.0, beta = 0.0;  ///< beta 0: C is not read, and may hold NaN
  bool has_bias = false;           ///< a float32 for each column of C, or for each row
  bool bias_per_row = false;
  Activation activation = Activation::none;
  ScaleLayout scale_a, scale_b;
  Arrival arrival;  ///< only for variants whose awaits_columns() says so

  bool is_scaled() const { return scale_a.exists() || scale_b.exists(); }
};

/// The device addresses of one run, each a multiple of its element's size.
struct GemmAddresses {
  DeviceAddress a = 0, b = 0, c = 0;
  DeviceAddress bias = 0;
  DeviceAddress scale_a = 0, scale_b = 0;
  /// Where B arrives: a word of 32 bits for each piece, panel by panel, which is not 0 once it is
  /// there; and the rows of B that are there from the beginning.
  DeviceAddress arrived = 0, b_there = 0;
};

/// A problem ready to run on one device: kernels compiled, scratch memory allocated.
class GemmRun {
 public:
  virtual ~GemmRun() = default;
  /// Queues one run. Runs that may overlap need a GemmRun each: they share its scratch memory.
  virtual void run(const GemmAddresses& addresses, const Stream& stream = {}) = 0;
  /// A remark for the reader, such as "B repacked to rows of 16 bytes"; may be empty.
  virtual std::string note() const { return {}; }
};

/// Prepares a problem on a device. Throws Error(no_device) if its memory does not suffice.
using PrepareGemm = std::unique_ptr<GemmRun> (*)(Device& device, const GemmProblem& problem);

/// A problem with dense operands of `type`, row-major or as given; C of `c_type`.
GemmProblem dense_problem(const MatmulShape& shape, Precision precision, DataType type,
                          DataType c_type, Order a_order = Order::row_major,
                          Order b_order = Order::row_major);

/// Why a problem is too small or too large for the tiles of any kernel; nothing if it is not.
std::optional<std::string> extent_refusal(const GemmProblem& problem);
/// The same for kernels that have a plane of blocks, or a kernel beside them that has one, for each
/// matrix of a batch.
std::optional<std::string> size_refusal(const GemmProblem& problem);
/// Why a grid in x cannot have so many blocks.
std::optional<std::string> block_refusal(std::int64_t blocks);
/// The same for kernels with wgmma, whose C is no float64 and which need a GPU that has it.
std::optional<std::string> wgmma_size_refusal(const GemmProblem& problem,
                                              const DeviceProperties& device);

/// The type in which kernels of a precision read A and B: bfloat16 for bf16, float32 for tf32.
DataType operand_type(Precision precision);
bool has_float8_operands(Precision precision);
/// The type in which a precision sums: float64 for fp64, int32 for int8, else float32.
DataType sum_type(Precision precision);
/// The type of C in ladders and benchmarks: that of the operands, or a wider one for 8-bit
/// operands.
DataType usual_result_type(Precision precision);

/// Why a kernel that reads operands of the precision's type cannot take the problem's matrices.
std::optional<std::string> type_refusal(const GemmProblem& problem);

}  // namespace tilescope::operations
