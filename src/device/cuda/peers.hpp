// Vendor algorithms that exist only as C++ templates (CUB), baselines of rungs.
// bench/build_peers.sh compiles them into one shared library, which is opened at run time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::device {

/// The argument of a peer function; bench/peers/cub_peers.cu has the same struct. The function
/// queues its work on the default stream and returns nullptr, or an error text.
struct PeerCall {
  std::array<std::uint64_t, 2> inputs{};  ///< device addresses
  std::uint64_t output = 0;               ///< device address
  std::int64_t count = 0;                 ///< elements of an input
  std::array<double, 3> numbers{};        ///< scalars, with the function's meaning
  std::int32_t choice = 0;                ///< an algorithm, with the function's numbering
  char type[12] = {};                     ///< the elements' type, as in name_of
};

class Peers {
 public:
  /// The reason if the peer function cannot be used on this machine; empty if it can.
  static std::string missing(std::string_view function);
  /// Queues one call. Throws Error(no_device) if it cannot be used or fails.
  static void run(const std::string& function, const PeerCall& call);
};

}  // namespace tilescope::device
