// From faults and barriers to findings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "emulator/events.hpp"
#include "observe/describe.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

/// Its name to a reader, wherever it happens.
FindingKind finding_kind(emulator::FaultKind kind);

/// Folded by instruction and kind, with the first example in block order.
class FaultLog {
 public:
  void fault(const emulator::Fault& fault, std::uint64_t block);
  void deadlock(const emulator::Deadlock& deadlock, std::uint64_t block);
  /// Reports threads that met at different __syncthreads(), and those that had left the kernel
  /// before. (Barriers with a count may well be reached from several places: producers and
  /// consumers do that.)
  void barrier(const emulator::BarrierCompletion& completion, std::uint64_t block,
               const PlaceTable& places);
  /// Reports a shuffle whose mask names lanes that have left the kernel.
  void warp_sync(const emulator::WarpSync& sync, emulator::LaneMask exited, std::uint64_t block);
  void merge(const FaultLog& other);
  /// Calls `function(FindingKind, first, second)` for each entry, the instructions being equal if
  /// only one is known.
  template <typename Function>
  void for_each(Function&& function) const {
    for (const auto& [key, example] : faults_) {
      function(finding_kind(key.kind), key.instruction, key.instruction);
    }
    for (const auto& [key, example] : meetings_) function(key.kind, key.first, key.second);
  }
  std::size_t size() const { return faults_.size() + meetings_.size(); }
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

 private:
  struct FaultKey {
    emulator::FaultKind kind;
    emulator::InstructionId instruction;
    emulator::Space space;
    friend auto operator<=>(const FaultKey&, const FaultKey&) = default;
  };
  struct FaultExample {
    std::uint64_t count = 0, block = 0;
    std::uint32_t thread = 0;
    emulator::LaneMask lanes = 0;
    emulator::AccessKind access{};
    std::uint32_t bytes = 0;
    std::uint64_t address = 0;
    std::string object;
    std::uint64_t object_bytes = 0;
    std::string operand;  ///< of wgmma
    std::int64_t distance = 0;
    std::int64_t farthest = 0;  ///< the largest distance of all
    emulator::SurfaceCoordinates surface{};
    bool exited = false;  ///< for absent lanes: they have left the kernel
  };
  /// Two places where threads wait or met; equal if only one is known.
  struct MeetingKey {
    FindingKind kind;
    emulator::InstructionId first, second;
    friend auto operator<=>(const MeetingKey&, const MeetingKey&) = default;
  };
  struct MeetingExample {
    std::uint64_t count = 0, block = 0;
    std::uint32_t first_thread = 0, second_thread = 0;
    std::uint32_t exited = 0;  ///< threads that had left
    emulator::StuckReason reason = emulator::StuckReason::barrier;
    std::uint8_t barrier = 0;
    bool went_on = false;  ///< the barrier completed without the threads that had left
    // The memory that threads look at which wait for its change:
    emulator::Space space = emulator::Space::global;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
  };
  template <class Key, class Example>
  static void add(std::map<Key, Example>& log, const Key& key, const Example& example);
  static Finding describe_fault(const FaultKey& key, const FaultExample& example,
                                const Describer& describer);
  static Finding describe_meeting(const MeetingKey& key, const MeetingExample& example,
                                  const Describer& describer);

  std::uint64_t exited_block_ = 0;  ///< the block of `exited_seen_`
  std::uint32_t exited_seen_ = 0;   ///< exited threads that have been reported
  std::map<FaultKey, FaultExample> faults_;
  std::map<MeetingKey, MeetingExample> meetings_;
};

}  // namespace tilescope::observe
