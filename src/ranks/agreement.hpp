// Steps that may fail on some ranks, and then fail on all.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <tilescope/error.hpp>
#include <vector>

#include "ranks/group.hpp"

namespace tilescope::ranks {

/// A failure that every rank knows.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Runs `work` on every rank. If it throws an Error on any, all throw that of the first rank, whose
/// text then names the rank.
template <typename Work>
void together(const Session& session, const Work& work) {
  struct Verdict {
    int kind = 0;  // 0: no failure
    std::array<char, 600> text{};
  };
  Verdict mine;
  const auto fail = [&](ErrorKind kind, std::string_view text) {
    mine.kind = static_cast<int>(kind);
    std::copy_n(text.begin(), std::min(text.size(), mine.text.size() - 1), mine.text.begin());
  };
  try {
    work();
  } catch (const Error& error) {
    fail(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::no_device, "there is too little memory");
  }
  const std::vector<Verdict> verdicts = session.all().gather(mine);
  const auto failed = std::find_if(verdicts.begin(), verdicts.end(),
                                   [](const Verdict& verdict) { return verdict.kind != 0; });
  if (failed == verdicts.end()) return;
  const auto rank = failed - verdicts.begin();
  const std::string text = failed->text.data();
  throw AgreedError(static_cast<ErrorKind>(failed->kind),
                    rank == 0 ? text : fmt::format("rank {}: {}", rank, text));
}

/// Runs `work`, and ends all ranks if it throws anything but an AgreedError: the others would wait
/// for this one.
template <typename Work>
auto or_abort(const Session& session, const Work& work) {
  try {
    return work();
  } catch (const AgreedError&) {
    throw;
  } catch (const std::exception& error) {
    session.abort(fmt::format("rank {}: {}", session.all().rank(), error.what()));
  }
}

}  // namespace tilescope::ranks
