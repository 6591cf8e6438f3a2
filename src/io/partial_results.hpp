// The finished parts of a computation without a result file, in a journal: a computation that was
// killed continues from them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/line_journal.hpp"

namespace tilescope::io {

/// A computation has steps, and a step has bands, which are finished in their order. Each band's
/// result is a line with a checksum.
class PartialResults {
 public:
  using Bytes = std::vector<std::byte>;

  /// Continues the file `path`, or begins it. `purpose` describes the computation (inputs, their
  /// states, options). Throws Error(usage) for a file of another purpose or in use by another
  /// process, Error(bad_input) for one that is damaged, is no such journal or cannot be written;
  /// the file stays as it is then.
  PartialResults(const std::string& path, const std::string& purpose);
  /// Removes a file that holds no result.
  ~PartialResults();
  PartialResults(const PartialResults&) = delete;
  PartialResults& operator=(const PartialResults&) = delete;

  /// The results of the step's first bands.
  std::span<const Bytes> of_step(std::size_t step) const;
  /// Adds that of the next band, which is on disk afterwards.
  void keep(std::size_t step, std::span<const std::byte> result);
  void remove();
  /// Throws Error(bad_input) for a result that is not as its step wrote it.
  [[noreturn]] void fail_damaged(std::size_t step, std::size_t band) const;

 private:
  void read(const std::vector<std::string>& lines);

  LineJournal journal_;
  std::vector<std::vector<Bytes>> steps_;
  bool is_removed_ = false;
};

}  // namespace tilescope::io
