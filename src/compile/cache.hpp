// Compiled programs on disk, found by content. Safe with several processes at once (entries are
// written under another name and renamed), on a full or read-only disk (nothing is stored then),
// and with damaged entries (a checksum finds them and they are compiled again).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "compile/compilation.hpp"

namespace tilescope::compile {

class Cache {
 public:
  /// Entries lie in `directory`, which is created when the first one is stored.
  explicit Cache(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// $TILESCOPE_CACHE, else $XDG_CACHE_HOME/tilescope, else ~/.cache/tilescope. An empty
  /// $TILESCOPE_CACHE turns the cache off.
  static Cache standard();
  /// The directory of standard(); empty if the cache is off.
  static std::filesystem::path standard_directory();

  /// The program stored for `key` (every byte that decides the result), if it is there and whole.
  std::optional<Program> find(std::string_view key) const;
  /// Stores `program`. A failed write is no error; `store_failure` reports it.
  void store(std::string_view key, const Program& program) const;

  /// The first failed store of this process, as a line for the user; empty: none.
  static std::string store_failure();

  std::filesystem::path path_of(std::string_view key) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace tilescope::compile
