// Ranks: the processes that a launcher such as mpirun started for one job.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "ranks/mpi_functions.hpp"

namespace tilescope::ranks {

/// A launcher that started this process and others, by the variables that it sets.
struct Launcher {
  std::string name;    ///< "Open MPI"
  std::string plugin;  ///< "libtilescope_mpi_openmpi.so"
  std::string debian;  ///< the package that has the MPI
  int processes = 0;   ///< that it started
};
/// Nothing for a process that is one of fewer than `least`, and where $TILESCOPE_MPI is empty.
std::optional<Launcher> find_launcher(int least = 2);

/// Bytes on their way to all ranks of a group. The memory stays where it is until they are there.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const MpiFunctions& mpi, void* handle) : mpi_(&mpi), handle_(handle) {}
  Transfer(Transfer&& other) noexcept;
  Transfer& operator=(Transfer&& other) noexcept;
  ~Transfer() { wait(); }

  /// Moves all transfers of this process on.
  void progress();
  bool has_ended() const { return handle_ == nullptr; }
  void wait();

 private:
  const MpiFunctions* mpi_ = nullptr;
  void* handle_ = nullptr;
};

/// Some ranks, or all of them. All ranks of a group call its functions in the same order, from the
/// thread that started MPI.
class Group {
 public:
  Group(const MpiFunctions& mpi, void* handle) : mpi_(&mpi), handle_(handle) {}
  Group(Group&& other) noexcept;
  Group& operator=(Group&& other) = delete;
  ~Group();

  int rank() const { return mpi_->rank(handle_); }
  int size() const { return mpi_->size(handle_); }
  /// This rank and the others of its colour, in the order of ranks.
  Group split(int colour) const { return {*mpi_, mpi_->split(handle_, colour)}; }
  /// This rank and the others of its machine.
  Group split_by_host() const { return {*mpi_, mpi_->split_by_host(handle_)}; }

  /// Begins to bring `bytes` bytes from rank `root` to all others. Null bytes are no transfer.
  Transfer broadcast(void* data, std::size_t bytes, int root) const;
  /// Brings a text from `root` to all others.
  void broadcast(std::string& text, int root) const;
  /// One value of each rank.
  template <typename Value>
  std::vector<Value> gather(const Value& mine) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::vector<Value> all(static_cast<std::size_t>(size()));
    mpi_->gather_everywhere(handle_, &mine, sizeof(Value), all.data());
    return all;
  }
  /// Begin to move bytes between two ranks. Messages match by their tag.
  Transfer begin_send(const void* data, std::size_t bytes, int to, int tag) const {
    return {*mpi_, mpi_->begin_send(handle_, data, bytes, to, tag)};
  }
  Transfer begin_receive(void* data, std::size_t bytes, int from, int tag) const {
    return {*mpi_, mpi_->begin_receive(handle_, data, bytes, from, tag)};
  }
  void send(const void* data, std::size_t bytes, int to) const {
    mpi_->send(handle_, data, bytes, to);
  }
  void receive(void* data, std::size_t bytes, int from) const {
    mpi_->receive(handle_, data, bytes, from);
  }

 private:
  const MpiFunctions* mpi_;
  void* handle_;
};

/// Gives each process of one machine, the group `of_host`, an equal part of its cores, unless the
/// launcher has given each its own.
void share_cores(const Group& of_host);

/// MPI from its start to its end, which a process can do once.
class Session {
 public:
  /// Opens the launcher's plugin: $TILESCOPE_MPI, else beside the program or in the folder of
  /// libraries beside it. Throws Error(no_device) with what to install.
  explicit Session(const Launcher& launcher);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Group all() const { return {*mpi_, nullptr}; }
  /// Prints the text and ends all ranks at once.
  [[noreturn]] void abort(const std::string& text) const;
  std::string library() const { return mpi_->library(); }
  std::string host() const { return mpi_->host(); }

 private:
  const MpiFunctions* mpi_ = nullptr;
};

}  // namespace tilescope::ranks
