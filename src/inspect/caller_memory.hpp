// Memory of the caller that launches work on. The emulated device maps it in place, each array
// between guard gaps; read-only memory and other devices get a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/launch_description.hpp>
#include <vector>

namespace tilescope::inspect {

class CallerMemory {
 public:
  explicit CallerMemory(Device& device) : device_(device) {}
  ~CallerMemory();
  CallerMemory(const CallerMemory&) = delete;
  CallerMemory& operator=(const CallerMemory&) = delete;

  /// The memory of one argument.
  struct Piece {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::string name;
    bool is_read_only = false;
  };
  static Piece piece_of(const LaunchArgument& argument, const std::string& name);

  /// Gives each piece a device address; pieces that overlap share an array. Throws Error(usage) for
  /// one that overlaps memory which is placed already, unless it lies inside.
  void place(std::vector<Piece> pieces);
  /// Memory that keeps its address until this object ends. Throws Error(usage) if the device cannot
  /// reach it.
  void keep_in_place(const LaunchArgument& argument);
  /// The device address of an argument that has been placed.
  DeviceAddress address_of(const LaunchArgument& argument, const std::string& name) const;
  /// After the launches: copies results back. Throws Error(usage) if read-only memory was written.
  void give_back();

 private:
  struct Placed {
    Piece piece;
    DeviceAddress address = 0;
    Buffer buffer;  ///< empty for memory in place at its own address
    bool is_copy = false;
  };
  const Placed* find(const Piece& piece) const;
  void map(const Piece& piece);

  Device& device_;
  std::vector<Placed> placed_;
};

}  // namespace tilescope::inspect
