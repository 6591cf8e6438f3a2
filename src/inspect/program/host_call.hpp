// The place in a program's host code from which it called the CUDA run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::inspect {

/// A call of the run time: its name and the stack above it. A plain value: work that is deferred
/// keeps a copy. It is resolved to a source line only when a report names it.
struct HostCall {
  static constexpr std::size_t most_frames = 12;

  const char* name = "";  ///< as the program writes it, such as "cudaMemcpy"; lives for ever
  /// Addresses within the calling instructions, innermost first; frames of the run time itself are
  /// left out.
  std::array<std::uintptr_t, most_frames> frames{};
  std::size_t depth = 0;

  /// The call that is being served, seen from a function of the run time. It walks the stack,
  /// which takes some microseconds. In a signal handler, the first frame is the instruction that
  /// raised the signal.
  static HostCall here(const char* name);

  friend auto operator<=>(const HostCall&, const HostCall&) = default;
};

/// An address as another process can look it up: the file that is mapped there, and the address in
/// that file's own numbering.
struct HostAddress {
  std::string object;
  std::uint64_t address = 0;
};

/// The frames of `call` in that form, innermost first.
std::vector<HostAddress> addresses_of(const HostCall& call);

}  // namespace tilescope::inspect
