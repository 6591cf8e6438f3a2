// Finds host code that touches memory while queued work still uses it: the pages of pinned and
// managed memory are protected from the moment the work is queued until it runs. A touch raises a
// signal; the guard notes the place, opens the pages, and the program goes on.
//
// Memory of the device is in no page of the host: who uses its address there ends by the same
// signal, and the guard says what it was.
//
// A claim covers the pages that lie wholly in what the work uses, so that the host may use the rest
// of an allocation, chunk by chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "inspect/program/host_call.hpp"

namespace tilescope::cudart {

/// The way in which queued work uses memory.
enum class PendingUse : std::uint8_t {
  reads,      ///< the host may read too
  writes,     ///< the host may do neither
  may_write,  ///< the host may read if the work turns out to leave the memory as it is
};

/// The allocation or variable that memory belongs to. Its last page is its own.
struct GuardedObject {
  std::string name;
  std::uint64_t address = 0, bytes = 0;
};

/// The host touched memory too early.
struct EarlyTouch {
  GuardedObject memory;
  bool is_write = false;
  inspect::HostCall place;  ///< of the touch
  inspect::HostCall work;   ///< the call that queued the work
};

/// One for the process, because a signal has one handler. For several threads at once.
class HostGuard {
 public:
  static HostGuard& instance();

  /// A number for end_work(); 0 if there is no whole page to protect.
  std::uint64_t claim(std::uint64_t address, std::size_t bytes, const GuardedObject& object,
                      PendingUse use, const inspect::HostCall& call);
  /// Opens all pages for work that runs now, in the order of a stream.
  void begin_work();
  /// The work is done: its claims end, the others protect again.
  void end_work(const std::vector<std::uint64_t>& claims);
  /// Memory that only the device has.
  void know(const GuardedObject& device_memory);
  /// Forgets memory that is freed, and the claims on it.
  void forget(std::uint64_t address, std::size_t bytes);

  /// The touches seen since the last call.
  std::vector<EarlyTouch> take();

  /// In the handler: whether the address was protected, and now is not. An atomic access is meant
  /// to meet running kernels, and no mistake.
  bool touch(std::uint64_t address, bool is_write, bool is_atomic);
  /// In the handler: a line on standard error if the address is the device's.
  void explain(std::uint64_t address, bool is_write) const;

 private:
  struct Claim {
    std::uint64_t id = 0, first = 0, end = 0;  ///< whole pages
    PendingUse use = PendingUse::reads;
    bool open = false;  ///< touched before: not protected any more
    EarlyTouch report;
    std::vector<std::byte> before;  ///< the memory when the host read it, for may_write
  };

  HostGuard() = default;
  void protect(const Claim& claim) const;
  void open(const Claim& claim) const;
  void keep_changed(Claim& claim);

  std::vector<Claim> claims_;
  std::map<std::uint64_t, GuardedObject> device_memory_;
  std::vector<EarlyTouch> seen_;
  std::uint64_t last_id_ = 0;
  int running_ = 0;  ///< begin_work() without end_work()
};

}  // namespace tilescope::cudart
