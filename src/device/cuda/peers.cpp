#include "device/cuda/peers.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <tilescope/error.hpp>

#include "base/dynamic_library.hpp"
#include "base/errors.hpp"

namespace tilescope::device {
namespace {

constexpr const char* file_name = "libtilescope_peers.so";
using Function = const char*(const PeerCall*);

// $TILESCOPE_PEERS, else the library beside the program.
struct Library {
  DynamicLibrary shared_object;
  std::string failure;

  static const Library& instance() {
    static const Library opened = [] {
      Library l;
      std::error_code ignored;
      const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
      const char* named = std::getenv("TILESCOPE_PEERS");
      const std::string path =
          named && *named ? named : (program.parent_path() / file_name).string();
      l.shared_object = DynamicLibrary::open({path}, &l.failure);
      return l;
    }();
    return opened;
  }
};

Function* find(std::string_view function) {
  Function* found = nullptr;
  Library::instance().shared_object.load(fmt::format("tilescope_peer_{}", function).c_str(), found);
  return found;
}

}  // namespace

std::string Peers::missing(std::string_view function) {
  const Library& l = Library::instance();
  if (!l.shared_object) {
    return fmt::format(
        "the vendor's algorithms were not found: build {} with "
        "bench/build_peers.sh and name it in $TILESCOPE_PEERS",
        file_name);
  }
  if (!find(function)) return fmt::format("{} has no {}", l.shared_object.path(), function);
  return {};
}

void Peers::run(const std::string& function, const PeerCall& call) {
  Function* const peer = find(function);
  if (!peer) throw Error(ErrorKind::no_device, missing(function));
  if (const char* failure = peer(&call)) {
    throw device_error("{} failed: {}", function, failure);
  }
}

}  // namespace tilescope::device
