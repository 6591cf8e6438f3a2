// NCCL between GPUs of several processes, opened at run time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tilescope/device.hpp>

namespace tilescope::device {

/// A group of processes with a GPU each, whose memories NCCL copies between: over NVLink, PCIe or
/// the network.
class Nccl {
 public:
  /// Tells groups apart. One process makes it and sends it to the others.
  using Name = std::array<char, 128>;
  /// A piece of memory at the same place in what all processes get.
  struct Piece {
    DeviceAddress address = 0;
    std::size_t bytes = 0;
  };

  /// The reason if NCCL cannot be used on this machine; empty if it can. $TILESCOPE_NCCL names the
  /// library; set and empty, there is none.
  static std::string missing();
  static Name new_name();
  /// "2.27.3".
  static std::string version();

  /// All `size` processes of the group call it at once. Throws Error(no_device) with NCCL's reason
  /// on all of them, such as for two processes that share a GPU.
  Nccl(Device& device, const Name& name, int rank, int size);
  ~Nccl();
  Nccl(Nccl&& other) noexcept;
  Nccl& operator=(Nccl&& other) noexcept;

  /// Queues: process i's piece i becomes piece i of all. All call it with pieces of the same sizes,
  /// in the same order of calls.
  void spread(std::span<const Piece> pieces, const Stream& stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope::device
