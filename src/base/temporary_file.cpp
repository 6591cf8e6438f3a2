#include "base/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <tilescope/error.hpp>

namespace tilescope {
namespace {

std::string name_template(std::string_view purpose, std::string_view ending) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  return (folder / fmt::format("tilescope-{}-XXXXXX{}", purpose, ending)).string();
}

[[noreturn]] void fail(const std::string& path) {
  const std::string why = system_error_text(errno);
  throw Error(ErrorKind::bad_input,
              fmt::format("cannot write the temporary file {} ({}); set TMPDIR to a folder that "
                          "can be written",
                          quoted(path), why));
}

}  // namespace

TemporaryFile::TemporaryFile(std::string_view purpose, std::string_view ending)
    : path_(name_template(purpose, ending)),
      file_(::mkostemps(path_.data(), static_cast<int>(ending.size()), O_CLOEXEC)),
      registration_(path_) {
  if (!file_.is_open()) fail(path_);
}

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
}

void TemporaryFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path_);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace tilescope
