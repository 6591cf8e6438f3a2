// The phases of a block's mbarriers: what each waits for, what has come, and who waits for it.
//
// A phase ends when its arrivals and its bytes have come. The checks compare what a phase expects
// with what is under way, and what a thread asks for with what it has seen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/phase_log.hpp"

namespace tilescope::observe {

class MbarrierProtocol {
 public:
  explicit MbarrierProtocol(const emulator::LaunchInfo& launch) : launch_(launch) {}

  void begin_block(const emulator::BlockInfo& block);
  void end_block(bool complete);
  void use(const emulator::MbarrierUse& use);
  /// Nothing depends on the answer of this test.
  void ignored_test(const emulator::MbarrierUse& use);
  void fence(const emulator::ProxyFence& fence);
  void cluster_barrier(const emulator::ClusterBarrier& barrier);
  /// A copy was refused: bytes that are expected will not come.
  void refused_copy() { refused_ = true; }
  /// True if the hang is one of threads that wait for an mbarrier; it has been reported then.
  bool deadlock(const emulator::Deadlock& deadlock);
  const PhaseLog& log() const { return log_; }
  /// Whether a mistake with a barrier that threads wait for lets them read before their bytes have
  /// come. Where nobody waits, the missing wait is the mistake.
  bool explains_early_reads() const { return explains_; }
  void merge(const MbarrierProtocol& other) {
    log_.merge(other.log_);
    explains_ |= other.explains_;
  }

 private:
  static constexpr std::int64_t kNever = -2;

  struct Copy {
    ThreadPlace place;
    std::uint32_t bytes;
  };
  /// The phases of a barrier that a thread has seen and taken part in.
  struct View {
    std::int64_t passed = kNever;   ///< the last phase that a test of it found over
    std::int64_t arrived = kNever;  ///< the phase of its last arrival
  };
  /// Lanes whose test failed last, and those that passed before the first phase was over.
  struct Test {
    emulator::InstructionId instruction = 0;
    emulator::LaneMask lanes = 0;
  };
  struct Barrier {
    ThreadPlace init;
    std::uint32_t init_lanes = 0;  ///< of its warp
    std::int64_t phase = 0;
    std::uint64_t expected_arrivals = 0, arrivals = 0;
    std::int64_t expected_bytes = 0, bytes = 0;
    std::uint32_t expectations = 0;  ///< in this phase
    std::optional<ThreadPlace> expectation, arrival;
    std::vector<Copy> under_way;
    bool fenced = false;                          ///< its init
    bool shown = true;                            ///< its init, to other blocks that meet this one
    bool brings_bytes = false;                    ///< bytes were expected or brought at any time
    bool reported = false;                        ///< what follows is a consequence
    bool awaited = false;                         ///< a thread has tested it
    std::vector<View> views;                      ///< by thread
    std::map<std::uint32_t, Test> failed, early;  ///< by warp
    bool is_of_warp(const ThreadPlace& place) const {
      return init.block == place.block &&
             init.thread / emulator::kWarpSize == place.thread / emulator::kWarpSize;
    }
    bool begun() const {
      return arrivals != 0 || expected_bytes != 0 || bytes != 0 || !under_way.empty();
    }
    bool moves_bytes() const { return expected_bytes != 0 || bytes != 0 || !under_way.empty(); }
  };
  struct Hang;

  ThreadPlace place_of(const emulator::BulkOrigin& origin) const;
  View& view(Barrier& barrier, std::uint32_t thread) const;
  PhaseFacts facts_of(const Barrier& barrier, PhaseFault fault) const;
  void report(Barrier& barrier, std::uint32_t offset, PhaseMistake mistake);
  void init(const emulator::MbarrierUse& use);
  void report_init(Barrier& barrier, const emulator::MbarrierUse& use);
  void expect(Barrier& barrier, const emulator::MbarrierUse& use);
  void arrive(Barrier& barrier, const emulator::MbarrierUse& use);
  void announce(Barrier& barrier, const emulator::MbarrierUse& use);
  void complete(Barrier& barrier, const emulator::MbarrierUse& use) const;
  void test(Barrier& barrier, const emulator::MbarrierUse& use);
  void end_phase(Barrier& barrier, const emulator::MbarrierUse& use);
  PhaseMistake early_pass(const Barrier& barrier) const;
  void report_early_passes();
  Hang judge(std::uint32_t offset, const Barrier& barrier, const emulator::StuckLanes& lanes) const;

  const emulator::LaunchInfo& launch_;
  emulator::BlockInfo block_{};
  std::map<std::uint32_t, Barrier> barriers_;  ///< by offset
  bool refused_ = false;
  bool reported_ = false;  ///< anything of this block
  bool explains_ = false;  ///< in any block
  PhaseLog log_;
};

}  // namespace tilescope::observe
