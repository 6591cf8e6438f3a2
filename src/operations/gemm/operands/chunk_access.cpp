#include "operations/gemm/operands/chunk_access.hpp"

namespace tilescope::operations {
namespace {

// `length`: elements of a row as it lies in memory.
RowsBy rows_by(const GemmProblem& problem, const GemmOperand& operand, std::int64_t length,
               DeviceAddress address) {
  constexpr std::int64_t chunk_bytes = 16;
  const std::int64_t per_chunk = chunk_bytes / static_cast<std::int64_t>(size_of(operand.type));
  if (address % chunk_bytes != 0 || operand.leading % per_chunk != 0 ||
      (problem.batch > 1 && operand.batch_stride % per_chunk != 0)) {
    return RowsBy::elements;
  }
  return length % per_chunk == 0 ? RowsBy::chunks : RowsBy::partial_chunks;
}

bool has_quads(const GemmProblem& problem, DeviceAddress address) {
  constexpr std::int64_t quad = 4;
  const GemmOperand& c = problem.c;
  return address % (quad * size_of(c.type)) == 0 && problem.shape.n % quad == 0 &&
         c.leading % quad == 0 && (problem.batch == 1 || c.batch_stride % quad == 0);
}

}  // namespace

ChunkAccess chunk_access(const GemmProblem& problem, const GemmAddresses& addresses) {
  const MatmulShape& s = problem.shape;
  const std::int64_t of_a = problem.a.order == Order::row_major ? s.k : s.m;
  const std::int64_t of_b = problem.b.order == Order::row_major ? s.n : s.k;
  return {.a = rows_by(problem, problem.a, of_a, addresses.a),
          .b = rows_by(problem, problem.b, of_b, addresses.b),
          .c_quads = has_quads(problem, addresses.c)};
}

}  // namespace tilescope::operations
