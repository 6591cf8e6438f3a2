// Feeds any bytes to the reader of launch files. They are either refused with Error(bad_input) that
// is one line, or give a launch.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tilescope/error.hpp>
#include <tilescope/launch_description.hpp>

namespace {

void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  static const int file = ::memfd_create("launch.json", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
    fail("cannot write the input");
  }
  try {
    read_launch_file(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) fail(error.what());
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) fail(error.what());
  }
  return 0;
}
