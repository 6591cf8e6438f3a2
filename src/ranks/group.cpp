#include "ranks/group.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/dynamic_library.hpp"
#include "base/errors.hpp"
#include "base/parallel.hpp"

namespace tilescope::ranks {
namespace {

/// The number in a variable of the environment; 0: none.
int number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

std::vector<std::string> plugin_paths(const std::string& file) {
  if (const char* named = std::getenv("TILESCOPE_MPI"); named && *named) return {named};
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {(folder / file).string(), (folder.parent_path() / "lib" / "tilescope" / file).string()};
}

}  // namespace

std::optional<Launcher> find_launcher(int least) {
  const char* const plugin = std::getenv("TILESCOPE_MPI");
  if (plugin != nullptr && *plugin == '\0') return std::nullopt;
  // Slurm's srun sets what the MPI asks of it: PMIx for Open MPI, PMI for MPICH.
  const bool has_pmix = std::getenv("PMIX_RANK") != nullptr;
  const int by_open_mpi =
      std::max(number_in("OMPI_COMM_WORLD_SIZE"), has_pmix ? number_in("SLURM_STEP_NUM_TASKS") : 0);
  if (by_open_mpi >= least) {
    return Launcher{"Open MPI", "libtilescope_mpi_openmpi.so", "libopenmpi-dev", by_open_mpi};
  }
  if (const int by_pmi = number_in("PMI_SIZE"); by_pmi >= least) {
    return Launcher{"MPICH", "libtilescope_mpi_mpich.so", "libmpich-dev", by_pmi};
  }
  return std::nullopt;
}

Transfer::Transfer(Transfer&& other) noexcept
    : mpi_(other.mpi_), handle_(std::exchange(other.handle_, nullptr)) {}

Transfer& Transfer::operator=(Transfer&& other) noexcept {
  wait();
  mpi_ = other.mpi_;
  handle_ = std::exchange(other.handle_, nullptr);
  return *this;
}

void Transfer::progress() {
  if (handle_ != nullptr && mpi_->test(handle_)) handle_ = nullptr;
}

void Transfer::wait() {
  if (handle_ != nullptr) mpi_->wait(std::exchange(handle_, nullptr));
}

Group::Group(Group&& other) noexcept
    : mpi_(other.mpi_), handle_(std::exchange(other.handle_, nullptr)) {}

Group::~Group() {
  mpi_->release(handle_);
}

Transfer Group::broadcast(void* data, std::size_t bytes, int root) const {
  if (bytes == 0 || size() == 1) return {};
  return {*mpi_, mpi_->broadcast(handle_, data, bytes, root)};
}

void Group::broadcast(std::string& text, int root) const {
  std::uint64_t length = text.size();
  broadcast(&length, sizeof(length), root).wait();
  text.resize(length);
  broadcast(text.data(), text.size(), root).wait();
}

void share_cores(const Group& of_host) {
  const auto given = static_cast<long>(std::thread::hardware_concurrency());
  if (given < sysconf(_SC_NPROCESSORS_ONLN)) return;
  core_limit = std::max(core_count() / static_cast<std::size_t>(of_host.size()), std::size_t{1});
}

Session::Session(const Launcher& launcher) {
  std::string failure;
  const DynamicLibrary plugin = DynamicLibrary::open(plugin_paths(launcher.plugin), &failure);
  const MpiFunctions* (*functions)() = nullptr;
  if (plugin && !plugin.load(MpiFunctions::entry, functions)) {
    failure = fmt::format("{} is no plugin of tilescope: it has no {}", plugin.path(),
                          MpiFunctions::entry);
  }
  if (functions == nullptr) {
    throw Error(ErrorKind::no_device,
                fmt::format("{} started this process, but {} cannot be opened ({}): install {} and "
                            "build again, or name the file in $TILESCOPE_MPI",
                            launcher.name, launcher.plugin, failure, launcher.debian));
  }
  mpi_ = functions();
  if (mpi_->version != MpiFunctions::current_version) {
    throw Error(ErrorKind::no_device, fmt::format("{} is of another version of tilescope: build it "
                                                  "again",
                                                  plugin.path()));
  }
  if (const char* why_not = mpi_->start()) throw Error(ErrorKind::no_device, why_not);
  // An MPI that another one's launcher started takes each process for a job of its own, and all
  // would compute and write the same.
  if (launcher.processes > 1 && all().size() == 1) {
    const std::string library = mpi_->library();
    mpi_->finish();
    throw Error(ErrorKind::no_device,
                fmt::format("{} started {} processes, but {} ({}) takes each for a job of its own: "
                            "start them by the mpirun of that MPI, or name in $TILESCOPE_MPI a "
                            "plugin that was compiled against the launcher's",
                            launcher.name, launcher.processes, plugin.path(), library));
  }
}

void Session::abort(const std::string& text) const {
  constexpr int exit_code = static_cast<int>(ErrorKind::no_device);
  fmt::print(stderr, "tilescope: {}\n", text);
  std::fflush(stderr);
  mpi_->abort(exit_code);
  std::_Exit(exit_code);
}

Session::~Session() {
  mpi_->finish();
}

}  // namespace tilescope::ranks
