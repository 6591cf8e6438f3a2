// The files of a job, as ranks on several machines see them: where a machine sees none, rank 0
// serves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "ranks/group.hpp"
#include "ranks/rank_output.hpp"

namespace tilescope::ranks {

/// Whether this machine has all of them; an empty path stands for no file.
bool all_exist(std::initializer_list<std::string> paths);

/// A file's contents as one number, to compare them between machines. Throws as MappedFile.
std::uint64_t digest_of(const std::string& path);

/// A file's name and state, by which a journal knows it: "A.npy 1280 1795867200.5". Throws as
/// open_regular_file().
std::string named_state_of(const std::string& path);

/// Throws Error(bad_input) for a file that differs from rank 0's.
void require_same(bool is_same, const std::string& path, const Session& session);

/// The machines on which the ranks run; all call it.
int count_hosts(const Group& all, const Group& of_host);
/// Which ranks compare the files' contents with rank 0's, by rank: one of each machine if there are
/// several, and those that see other files than the first rank of their machine, from a folder or
/// a container of their own. All ranks call it.
std::vector<char> comparing_ranks(const Group& all, const Group& of_host, int hosts,
                                  std::initializer_list<std::string> paths);

/// The file that all ranks write, as each of them sees it.
class RankFile {
 public:
  /// All ranks call it. `own`: rank 0's.
  RankFile(const Group& all, RankOutput* own);

  /// Whether a rank writes its part of the elements itself.
  bool is_written_by(int rank) const { return writes_[static_cast<std::size_t>(rank)] != 0; }
  /// The elements; null where this machine does not see the file.
  std::byte* elements();
  /// Brings what this rank, not the first, wrote to disk.
  void flush();

 private:
  RankOutput* own_;
  std::optional<SharedOutput> shared_;
  std::uint64_t front_bytes_ = 0;
  std::vector<char> writes_;
};

}  // namespace tilescope::ranks
