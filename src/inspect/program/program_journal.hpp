// The journal of a watched program: the child appends records, one JSON object a line, while things
// happen; the parent reads them when the child has ended, however that was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "inspect/program/journal_records.hpp"

namespace tilescope::inspect {

/// Everything that a journal holds.
struct Journal {
  std::string device;  ///< as Device::open takes it; empty: the program used no device
  std::map<StackId, HostStack> stacks;
  std::vector<JournalLaunch> launches;
  std::vector<JournalFinding> findings;
  std::vector<JournalAllocation> allocations;
  std::vector<std::string> notes;
  JournalCounts counts;
  Limitation limitation = Limitation::none;
  /// The program was ended because it had enough findings: the last launch left out so many blocks.
  std::optional<std::uint64_t> enough;
  // Set by a check that may be resumed.
  std::optional<JournalRun> run;
  std::uint64_t checked = 0;                ///< the findings of so many launches are known
  std::optional<std::uint64_t> changed_at;  ///< the first launch unlike that of the run before
  std::uint64_t processes = 0;              ///< that used a device
  bool finished = false;                    ///< the program came to its end in order
};

/// Appends records. Each one is written at once and whole, so that a crash loses none.
class JournalWriter {
 public:
  /// Creates the file, or appends to it. Throws Error(bad_input) if that is impossible.
  explicit JournalWriter(const std::string& path);

  void device(const std::string& specification);
  /// The number of the call's stack; the first time, it is written.
  StackId stack(const HostCall& call);
  void launch(const JournalLaunch& launch);
  void finding(const JournalFinding& finding);
  /// Finding `index`, in the order in which they were written, occurred `count` times more.
  void repeated(std::size_t index, std::uint64_t count);
  void allocation(const JournalAllocation& allocation);
  void note(const std::string& text);
  void counts(const JournalCounts& counts);
  void limitation(Limitation limitation);
  void enough(std::uint64_t blocks_left_out);
  void run(const JournalRun& run);
  void checked(std::uint64_t launches);
  void changed_at(std::uint64_t launch);
  void finished();

 private:
  template <typename T>
  void append(const char* kind, const T& value);

  FileDescriptor file_;
  std::map<HostCall, StackId> stacks_;
};

/// Reads a journal. A last line without its end is passed over: the writer died in it. Throws
/// Error(bad_input) for a file that cannot be read and for any other damaged line.
Journal read_journal(const std::string& path);
/// The same of a file with the journals of several runs, each behind its JournalRun.
std::vector<Journal> read_journals(const std::string& path);

}  // namespace tilescope::inspect
