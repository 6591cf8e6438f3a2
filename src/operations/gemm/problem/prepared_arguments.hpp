// The arguments of kernels that the copy engine feeds: maps, then the rest.
#pragma once

#include <array>
#include <map>
#include <span>
#include <tilescope/device.hpp>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// `maps` as one structure, the first argument of such a kernel, and its other arguments.
template <typename Arguments>
KernelArguments arguments_after_maps(std::span<const TensorMap> maps, const Arguments& others) {
  KernelArguments arguments;
  arguments.push_bytes(maps.data(), maps.size_bytes(), alignof(TensorMap));
  arguments.push(others);
  return arguments;
}

/// Arguments by addresses. Encoding maps takes longer than a small product, so the arguments for
/// known addresses are kept.
class PreparedArguments {
 public:
  /// The result of `make`, or its earlier result for these addresses.
  template <typename Make>
  const KernelArguments& of(const GemmAddresses& addresses, const Make& make) {
    const auto key = std::array{addresses.a,    addresses.b,       addresses.c,
                                addresses.bias, addresses.scale_a, addresses.scale_b};
    if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
    constexpr std::size_t most_kept = 64;
    if (prepared_.size() >= most_kept) prepared_.clear();
    return prepared_.emplace(key, make()).first->second;
  }

 private:
  std::map<std::array<DeviceAddress, 6>, KernelArguments> prepared_;
};

}  // namespace tilescope::operations
