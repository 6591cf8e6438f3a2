#include "compile/cache.hpp"

#define XXH_INLINE_ALL  // header-only: nothing to find at run time
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <tilescope/error.hpp>

#include "base/file.hpp"

namespace tilescope::compile {
namespace {

namespace fs = std::filesystem;

// The number is the version of the layout and of the compiled form of the compiler's output:
// entries of another version are unreadable, not wrong.
constexpr std::string_view magic = "tilescope-cache-2\n";

void append_text(std::string& out, std::string_view text) {
  const std::uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.append(text);
}

std::mutex failure_mutex;
std::string failure_text;

bool take_text(std::string_view& in, std::string& text) {
  std::uint64_t size = 0;
  if (in.size() < sizeof size) return false;
  std::memcpy(&size, in.data(), sizeof size);
  in.remove_prefix(sizeof size);
  if (in.size() < size) return false;
  text.assign(in.substr(0, size));
  in.remove_prefix(size);
  return true;
}

}  // namespace

Cache Cache::standard() {
  return Cache(standard_directory());
}

fs::path Cache::standard_directory() {
  if (const char* own = std::getenv("TILESCOPE_CACHE")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    return fs::path(xdg) / "tilescope";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return fs::path(home) / ".cache/tilescope";
  }
  return {};
}

fs::path Cache::path_of(std::string_view key) const {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return directory_ / fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::optional<Program> Cache::find(std::string_view key) const {
  if (directory_.empty()) return std::nullopt;
  std::string entry;
  try {
    entry = read_text_file(path_of(key).string());
  } catch (const Error&) {  // no entry, or no file: the program is compiled again
    return std::nullopt;
  }
  std::uint64_t checksum = 0;
  if (entry.size() < magic.size() + sizeof checksum || !entry.starts_with(magic)) {
    return std::nullopt;
  }
  std::string_view body = std::string_view(entry).substr(magic.size());
  std::memcpy(&checksum, body.data(), sizeof checksum);
  body.remove_prefix(sizeof checksum);
  if (XXH3_64bits(body.data(), body.size()) != checksum) return std::nullopt;

  std::string stored_key;
  Program program;
  if (!take_text(body, stored_key) || stored_key != key || !take_text(body, program.ptx) ||
      !take_text(body, program.cubin) || !take_text(body, program.kernel_name) ||
      !take_text(body, program.log) || !body.empty()) {
    return std::nullopt;
  }
  program.from_cache = true;
  return program;
}

void Cache::store(std::string_view key, const Program& program) const {
  if (directory_.empty()) return;
  std::error_code failed;
  fs::create_directories(directory_, failed);

  std::string body;
  for (const std::string_view text :
       {key, std::string_view(program.ptx), std::string_view(program.cubin),
        std::string_view(program.kernel_name), std::string_view(program.log)}) {
    append_text(body, text);
  }
  const std::uint64_t checksum = XXH3_64bits(body.data(), body.size());

  static std::atomic<unsigned> counter{0};
  const fs::path target = path_of(key);
  const fs::path temporary =
      fmt::format("{}.{}.{}.tmp", target.string(), getpid(), counter.fetch_add(1));
  errno = 0;
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(magic.data(), std::ssize(magic));
  file.write(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  file.write(body.data(), std::ssize(body));
  file.close();
  if (file) {
    fs::rename(temporary, target, failed);
  }
  if (file && !failed) return;
  const int reason = failed ? failed.value() : errno;
  {
    const std::lock_guard lock(failure_mutex);
    if (failure_text.empty()) {
      failure_text = fmt::format(
          "compiled kernels are not kept: cannot write to {} ({}); set TILESCOPE_CACHE to a folder "
          "that can be written",
          quoted(directory_.string()), reason == 0 ? "error" : system_error_text(reason));
    }
  }
  fs::remove(temporary, failed);
}

std::string Cache::store_failure() {
  const std::lock_guard lock(failure_mutex);
  return failure_text;
}

}  // namespace tilescope::compile
