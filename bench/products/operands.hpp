// Random operands of a product: on the host, and at several addresses of a device.
#pragma once

#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/numerics/host_array.hpp"

namespace tilescope::products {

/// The distribution of operands.
enum class Data {
  uniform,    ///< in [-1, 1)
  positive,   ///< in [0, 1)
  exponents,  ///< uniform, times a power of two from 2^-40 to 2^40 for each element
  scaled,     ///< uniform, times one for each row of A and each column of B
};
Data parse_data(std::string_view name);

struct HostOperands {
  operations::HostArray a, b;
  operations::HostArray c, bias;           ///< empty unless the problem adds them
  operations::HostArray scale_a, scale_b;  ///< empty unless the problem has such factors
};

/// Gives a product of 8-bit floats factors: "none", "matrix", "vectors" (of rows of A and columns
/// of B) or "blocks" (of 128 of k, of B by 128 columns). Throws Error(usage) for another name.
void add_scales(operations::GemmProblem& problem, std::string_view kind);

/// Dense operands for `problem`, of its types and orders. Throws Error(usage) for data that 16-bit
/// types cannot hold.
HostOperands random_operands(const operations::GemmProblem& problem, Data data, std::uint64_t seed);

/// The operands on a device, as often as exceeds twice its L2 cache, each time with a C.
class DeviceSets {
 public:
  DeviceSets(Device& device, const operations::GemmProblem& problem, const HostOperands& host);

  const std::vector<operations::GemmAddresses>& addresses() const { return addresses_; }
  /// Addresses of run `i`.
  const operations::GemmAddresses& at(int i) const {
    return addresses_[static_cast<std::size_t>(i) % addresses_.size()];
  }
  /// Fills C of run `i` with bytes of 0xFF: every element is a NaN. A C that is added gets its
  /// elements back.
  void poison(int i);
  std::size_t c_bytes() const { return c_bytes_; }

 private:
  Device& device_;
  std::size_t c_bytes_;
  std::vector<Buffer> buffers_;
  Buffer c_before_, bias_, scale_a_, scale_b_;
  std::vector<operations::GemmAddresses> addresses_;
};

}  // namespace tilescope::products
