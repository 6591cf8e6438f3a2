// A product whose operands lie in shards, rows of each on each device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/gemm/problem/host_problem.hpp"

namespace tilescope::distribute {

using Devices = std::span<const std::shared_ptr<Device>>;

/// One device's part: its rows of A (rows x k), of B (depth x n) and of C (rows x n).
struct Shard {
  std::shared_ptr<Device> device;
  std::int64_t rows = 0;   ///< of A and C
  std::int64_t depth = 0;  ///< rows of B
  operations::GemmOperand a, b, c;
  operations::GemmAddresses at;  ///< of A, B and C; the bias is the product's
};

/// `whole` has the shape and everything else that is the same on all devices; its operands' orders
/// and types are those of the shards.
struct ShardedProblem {
  operations::GemmProblem whole;
  std::vector<Shard> shards;
  std::span<const float> bias;  ///< in host memory
};

/// Throws Error(usage) for no device and for the cpu. `what`: "product".
void require_gpus(Devices devices, std::string_view what);
/// Throws Error(usage) for devices, or a variant, that cannot take part.
void require_devices(Devices devices, const std::string& variant);

/// The problem of a public call. Throws Error(usage) for arguments that do not fit.
ShardedProblem sharded_problem(Devices devices, std::span<const ConstMatrixView> a,
                               std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
                               const MatmulOptions& options);

/// The problem of shards that fit the whole, which has a row-major C and was checked.
ShardedProblem assembled(Devices devices, const operations::HostProblem& whole,
                         std::span<const ConstMatrixView> a, std::span<const ConstMatrixView> b,
                         std::span<const MatrixView> c);

}  // namespace tilescope::distribute
