// Feeds any bytes to the reader of fat binaries. They are either refused with Error(bad_input), or
// give entries whose payloads lie inside the bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <tilescope/error.hpp>

#include "compile/fat_binary.hpp"

namespace {

using namespace tilescope;

void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// Calls `work`, which may refuse the input and throw nothing else.
template <class Work>
void attempt(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) fail(error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const compile::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  attempt([&] {
    for (const compile::FatBinaryEntry& entry : compile::read_fat_binary(bytes, "fuzz")) {
      const std::byte* const begin = entry.payload.data();
      if (begin < bytes.data() || begin + entry.payload.size() > bytes.data() + size) {
        fail("a payload lies outside");
      }
      attempt([&] { compile::ptx_text(entry, "fuzz"); });
    }
  });
  attempt([&] { compile::ptx_for(bytes, 9, 0, "fuzz"); });
  return 0;
}
