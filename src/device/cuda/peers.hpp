// Vendor algorithms that exist only as C++ templates (CUB), compiled apart by bench/build_peers.sh
// into one shared library and opened at run time: what rungs are compared with.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::device {

/// What a peer function gets; bench/peers/cub_peers.cu has the same struct. It queues its work on
/// the default stream and returns nullptr, or what went wrong.
struct PeerCall {
  std::array<std::uint64_t, 2> inputs{};  ///< device addresses
  std::uint64_t output = 0;               ///< device address
  std::int64_t count = 0;                 ///< elements of an input
  std::array<double, 3> numbers{};        ///< scalars, as the function says
  std::int32_t choice = 0;                ///< which algorithm, as the function says
  char type[12] = {};                     ///< the elements' type, as name_of has it
};

class Peers {
 public:
  /// Why the peer function cannot be used on this machine; empty if it can.
  static std::string missing(std::string_view function);
  /// Queues one call. Throws Error(no_device) if it cannot be used or fails.
  static void run(const std::string& function, const PeerCall& call);
};

}  // namespace tilescope::device
