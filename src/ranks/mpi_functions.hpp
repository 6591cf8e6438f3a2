// The functions of MPI that ranks/ uses, as a plugin offers them. Each MPI has handles and
// constants of its own, so a plugin is compiled for each (plugins/mpi_plugin.cpp) and the program
// needs none of them.
#pragma once

#include <cstddef>

namespace tilescope::ranks {

/// A failure of MPI ends all ranks, as MPI does by default. A group is what MPI calls a
/// communicator; null: all ranks.
struct MpiFunctions {
  static constexpr int current_version = 2;
  static constexpr const char* entry = "tilescope_mpi_functions";

  int version;
  /// Null on success, else why not.
  const char* (*start)();
  void (*finish)();
  void (*abort)(int exit_code);  ///< ends all ranks at once
  const char* (*library)();      ///< its name and version
  const char* (*host)();         ///< the name of this machine

  int (*rank)(void* group);
  int (*size)(void* group);
  /// All ranks of the group call it; those of one colour are together, in the order of their rank.
  void* (*split)(void* group, int colour);
  /// Those that share memory are together.
  void* (*split_by_host)(void* group);
  void (*release)(void* group);

  /// Begins to bring `bytes` bytes from rank `root` to all ranks. Returns what test() and wait()
  /// take.
  void* (*broadcast)(void* group, void* data, std::size_t bytes, int root);
  /// Moves all transfers on. Whether this one has ended; it then no longer exists.
  bool (*test)(void* transfer);
  /// Ends a transfer that has not ended.
  void (*wait)(void* transfer);
  /// `all` gets `bytes` bytes from each rank, in the order of ranks.
  void (*gather_everywhere)(void* group, const void* mine, std::size_t bytes, void* all);
  /// Begin to move `bytes` bytes between two ranks. Messages match by their tag; they end as
  /// broadcast()'s.
  void* (*begin_send)(void* group, const void* data, std::size_t bytes, int to, int tag);
  void* (*begin_receive)(void* group, void* data, std::size_t bytes, int from, int tag);
  void (*send)(void* group, const void* data, std::size_t bytes, int to);
  void (*receive)(void* group, void* data, std::size_t bytes, int from);
};

}  // namespace tilescope::ranks
