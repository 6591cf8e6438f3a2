#include "device/cuda/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/cuda_paths.hpp"
#include "base/dynamic_library.hpp"
#include "base/errors.hpp"

namespace tilescope::device {
namespace {

// NCCL's C interface, as its reference documents it. Nine calls do not need its header.
using Communicator = void*;
using Status = int;
constexpr Status success = 0;
constexpr int bytes_type = 0;  // ncclInt8
struct UniqueId {
  char internal[std::tuple_size_v<Nccl::Name>];
};

struct Library {
  DynamicLibrary shared_object;
  std::string failure;
  Status (*get_version)(int*) = nullptr;
  Status (*get_unique_id)(UniqueId*) = nullptr;
  Status (*init_rank)(Communicator*, int, UniqueId, int) = nullptr;
  Status (*destroy)(Communicator) = nullptr;
  Status (*broadcast)(const void*, void*, std::size_t, int, int, Communicator, void*) = nullptr;
  Status (*group_start)() = nullptr;
  Status (*group_end)() = nullptr;
  const char* (*error_string)(Status) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;

  static const Library& instance() {
    static const Library opened = [] {
      Library l;
      const char* const named = std::getenv("TILESCOPE_NCCL");
      if (named != nullptr && *named == '\0') {
        l.failure = "$TILESCOPE_NCCL is empty";
        return l;
      }
      l.shared_object = DynamicLibrary::open(
          named != nullptr ? std::vector<std::string>{named}
                           : cuda_library_candidates({"libnccl.so.2", "libnccl.so"}),
          &l.failure);
      const DynamicLibrary& so = l.shared_object;
      if (so &&
          !(so.load("ncclGetVersion", l.get_version) &&
            so.load("ncclGetUniqueId", l.get_unique_id) &&
            so.load("ncclCommInitRank", l.init_rank) && so.load("ncclCommDestroy", l.destroy) &&
            so.load("ncclBroadcast", l.broadcast) && so.load("ncclGroupStart", l.group_start) &&
            so.load("ncclGroupEnd", l.group_end) && so.load("ncclGetLastError", l.last_error) &&
            so.load("ncclGetErrorString", l.error_string))) {
        l.failure = so.path() + " is older than NCCL 2.13";
        l.error_string = nullptr;
      }
      return l;
    }();
    return opened;
  }
};

void check(Status status, const char* call, Communicator communicator = nullptr) {
  if (status == success) return;
  const Library& library = Library::instance();
  const std::string_view more = library.last_error(communicator);
  throw device_error("{} failed: {}{}{}", call, library.error_string(status),
                     more.empty() ? "" : ": ", more);
}

}  // namespace

struct Nccl::State {
  Communicator communicator = nullptr;

  ~State() {
    if (communicator != nullptr) Library::instance().destroy(communicator);
  }
};

std::string Nccl::missing() {
  const Library& library = Library::instance();
  if (library.error_string != nullptr) return {};
  return fmt::format("NCCL was not found ({})", library.failure);
}

Nccl::Name Nccl::new_name() {
  UniqueId id;
  check(Library::instance().get_unique_id(&id), "ncclGetUniqueId");
  return std::to_array(id.internal);
}

std::string Nccl::version() {
  int number = 0;
  check(Library::instance().get_version(&number), "ncclGetVersion");
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

Nccl::Nccl(Device& device, const Name& name, int rank, int size)
    : state_(std::make_unique<State>()) {
  if (const std::string why = missing(); !why.empty()) throw Error(ErrorKind::no_device, why);
  device.synchronize();  // NCCL takes the GPU that is this thread's
  UniqueId id;
  std::copy(name.begin(), name.end(), id.internal);
  check(Library::instance().init_rank(&state_->communicator, size, id, rank), "ncclCommInitRank");
}

Nccl::~Nccl() = default;
Nccl::Nccl(Nccl&& other) noexcept = default;
Nccl& Nccl::operator=(Nccl&& other) noexcept = default;

void Nccl::spread(std::span<const Piece> pieces, const Stream& stream) const {
  const Library& library = Library::instance();
  check(library.group_start(), "ncclGroupStart");
  for (std::size_t rank = 0; rank < pieces.size(); ++rank) {
    if (pieces[rank].bytes == 0) continue;
    auto* const memory = reinterpret_cast<void*>(pieces[rank].address);
    check(library.broadcast(memory, memory, pieces[rank].bytes, bytes_type, static_cast<int>(rank),
                            state_->communicator, reinterpret_cast<void*>(stream.value())),
          "ncclBroadcast", state_->communicator);
  }
  check(library.group_end(), "ncclGroupEnd", state_->communicator);
}

}  // namespace tilescope::device
