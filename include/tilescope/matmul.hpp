// Matrix products, as BLAS's GEMM defines them, for matrices in host memory, on any device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tilescope/device.hpp"
#include "tilescope/matrix.hpp"

namespace tilescope {

/// The arithmetic used to multiply and to sum.
enum class Precision {
  automatic,  ///< fp64 if A, B or C is float64, an 8-bit type's own if A and B have it, else fp32
  fp32,       ///< IEEE float32: fused multiply-add, one rounding each
  fp32_fast,  ///< tensor cores on operands cut in parts; errors no larger than those of fp32
  tf32,       ///< operands cut to 11 significant bits; sums in float32
  bf16,       ///< operands rounded to bfloat16; sums in float32
  fp16,       ///< operands rounded to float16; sums in float32
  fp64,       ///< IEEE float64
  fp8_e4m3,   ///< operands scaled and rounded to float8_e4m3; sums in float32
  fp8_e5m2,   ///< operands scaled and rounded to float8_e5m2; sums in float32
  int8,       ///< int8 operands, exact sums in int32
};

/// "auto", "fp32", "fp32_fast", "tf32", "bf16", "fp16", "fp64", "fp8_e4m3", "fp8_e5m2", "int8".
std::string_view name_of(Precision precision);

/// The precision called `name`. Throws Error(usage), suggesting the nearest name, for any other
/// text.
Precision parse_precision(std::string_view name);

/// The function applied to each element before it is stored.
enum class Activation {
  none,
  relu,  ///< max(x, 0); NaN stays NaN
  gelu,  ///< x/2 (1 + erf(x / sqrt(2)))
};

/// Factors of the elements of A or B, where these are 8-bit floats: a matrix of float32, row-major
/// and dense, whose shape says what each factor belongs to.
///
/// | of A (m x k)      | of B (k x n)                  | one factor for           |
/// |-------------------|-------------------------------|--------------------------|
/// | 1 x 1             | 1 x 1                         | the matrix               |
/// | m x 1             | 1 x n                         | each row, or each column |
/// | m x ceil(k / 128) | ceil(k / 128) x ceil(n / 128) | each block of 128 of k; of B by 128
/// columns |
struct OperandScales {
  std::span<const float> values = {};  ///< where the operands lie; empty: there are none
  std::int64_t rows = 0, columns = 0;
};

/// How to multiply: C = activation(alpha * A * B + beta * C + bias).
struct MatmulOptions {
  /// The kernel: a rung of the ladder, such as "tiled_16", or a kernel that takes every option,
  /// such as "general". Empty: the device's best kernel for the product.
  std::string variant = {};
  Precision precision = Precision::automatic;
  double alpha = 1.0;
  double beta = 0.0;                 ///< with 0, C is not read and may hold anything
  std::span<const float> bias = {};  ///< one value for each column of C; empty: none
  Activation activation = Activation::none;
  /// For single products of A and B in fp8_e4m3 or fp8_e5m2 alone, of which both are 8-bit floats.
  OperandScales scale_a = {}, scale_b = {};
};

/// How a product was computed.
struct MatmulReport {
  std::string variant;      ///< the kernel that ran
  double compute_ms = 0.0;  ///< the product alone, without copies, compilation or conversion
  Precision precision = Precision::fp32;  ///< the precision used; never `automatic`
  std::string note;  ///< a remark for the reader, such as "computed as fp32"; may be empty
  /// The divisors of operands that were rounded to 8-bit floats: powers of two, which bring the
  /// largest element to the upper half of the type's range. 1 in every other product.
  double scale_a = 1.0, scale_b = 1.0;
};

/// Multiplies A (m x k) by B (k x n) into C (m x n). C must not overlap A, B or the bias.
///
///     matmul(*device, dense_view(a, DataType::float32, m, k), dense_view(b, DataType::float32, k,
///     n),
///            dense_view(c, DataType::float32, m, n), {.precision = Precision::tf32});
///
/// - The four floating-point types may be mixed, and A and B may be 8-bit floats. Operands are
///   rounded as the precision says; each element of C is rounded to its type once, at the end.
/// - In fp8_e4m3 and fp8_e5m2 an operand of another type is divided by a scale, a power of two that
///   matmul() finds, and rounded. 8-bit operands are taken as they are, times their scales in the
///   options.
/// - In int8, A and B are int8 and C is int32, the product alone, modulo 2^32.
/// - With k = 0 the product is 0; bias, beta and activation still apply.
/// - NaN and infinity propagate as in IEEE 754, even when alpha is 0.
///
/// Errors: usage for shapes, types, a bias or a variant that do not fit; no_device as Device says.
MatmulReport matmul(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                    const MatrixView& c, const MatmulOptions& options = {});

/// The same for dense row-major matrices in vectors, arrays or spans, whose types are the
/// matrices'.
///
///     std::vector<float> a(m * k), b(k * n), c(m * n);
///     matmul(*device, a, b, c, {m, n, k});
///
/// Errors: also usage for a list that has not as many elements as its matrix.
template <ElementRange A, ElementRange B, MutableElementRange C>
MatmulReport matmul(Device& device, const A& a, const B& b, C&& c, const MatmulShape& shape,
                    const MatmulOptions& options = {}) {
  const DenseOperands views(a, b, c, shape);
  return matmul(device, views.a, views.b, views.c, options);
}

/// `count` matrices of one shape. Element (i, j) of each lies `stride` elements behind that of the
/// one before it.
struct ConstMatrixBatch {
  ConstMatrixView first = {};
  std::int64_t count = 1;
  std::int64_t stride = 0;  ///< at least 0; 0: the same matrix `count` times
};

/// A batch that can be written; the matrices must not overlap.
struct MatrixBatch {
  MatrixView first = {};
  std::int64_t count = 1;
  std::int64_t stride = 0;
};

/// Runs matmul() for every matrix of a batch at once; all of them get the same bias. Errors: as
/// matmul(), and usage for counts that differ or strides that do not fit.
MatmulReport matmul_batched(Device& device, const ConstMatrixBatch& a, const ConstMatrixBatch& b,
                            const MatrixBatch& c, const MatmulOptions& options = {});

/// Products of matrices of any shapes in one launch, as many A as B and C: those of a mixture of
/// experts, for example. All A have one type, and so have all B and all C; a bias belongs to every
/// product. For lists in device memory: PreparedGemm and Gemm in gemm.hpp, which say more.
///
///     matmul_grouped(*device, std::vector{a0, a1}, std::vector{b0, b1}, std::vector{c0, c1});
///
/// Errors: as matmul(), naming the product; wider operands are not scaled to 8-bit floats here.
MatmulReport matmul_grouped(Device& device, std::span<const ConstMatrixView> a,
                            std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
                            const MatmulOptions& options = {});

/// The type of the product of two floating-point types, as in NumPy: the wider one; float32 for the
/// two 16-bit types, since neither holds the other, and for two 8-bit ones; int32 for two int8.
DataType product_type(DataType a, DataType b);

}  // namespace tilescope
