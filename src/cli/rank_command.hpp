// A command that runs on the ranks that a launcher such as mpirun started.
#pragma once

#include <tilescope/device.hpp>

#include "ranks/agreement.hpp"
#include "ranks/group.hpp"

namespace tilescope::cli {

/// Runs `work(session, is_first)` on this rank, as on all others; only the first one prints.
/// Returns the exit code. A failure of any rank is thrown by the first: a launcher ends the others
/// when one fails, and the first has yet to say why.
template <typename Work>
int on_ranks(const ranks::Launcher& launcher, const Work& work) {
  const ranks::Session session(launcher);
  const bool is_first = session.all().rank() == 0;
  try {
    work(session, is_first);
  } catch (const ranks::AgreedError&) {
    if (is_first) throw;
  }
  return 0;
}

/// The device of ranks as JSON has it.
constexpr const char* kind_name(DeviceKind kind) {
  return kind == DeviceKind::cuda ? "cuda" : kind == DeviceKind::emulated ? "emulated" : "cpu";
}

}  // namespace tilescope::cli
