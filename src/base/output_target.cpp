#include "base/output_target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const std::string& path, const std::string& why,
                               ErrorKind kind = ErrorKind::bad_input) {
  throw Error(kind, fmt::format("cannot write {}: {}", quoted(path), why));
}

// Follows the links of the last part of `path`, even to a file that does not exist yet.
fs::path follow_links(fs::path target, const std::string& path) {
  constexpr int most_links = 40;  // the kernel's own limit
  for (int i = 0; i < most_links; ++i) {
    std::error_code failed;
    if (!fs::is_symlink(target, failed)) return target;
    const fs::path next = fs::read_symlink(target, failed);
    if (failed) cannot_write(path, failed.message());
    target = target.parent_path() / next;  // an absolute `next` replaces the whole
  }
  cannot_write(path, "its symbolic links form a loop");
}

std::string random_letters() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  // std::random_device would need a newer C library than everything else here.
  std::array<unsigned char, 6> random{};
  if (::getentropy(random.data(), random.size()) != 0) {
    throw input_error("the system has no random numbers ({})", std::strerror(errno));
  }
  std::string text;
  for (const unsigned char byte : random) text += letters[byte % letters.size()];
  return text;
}

}  // namespace

std::string explain_write_failure(int code, const std::string& folder) {
  const std::string where = quoted(folder);
  switch (code) {
    case ENOENT:
      if (std::error_code failed; fs::is_directory(folder, failed)) {  // /proc
        return fmt::format("{} takes no new files; choose another folder", where);
      }
      return fmt::format("the folder {} does not exist; create it first", where);
    case ENOTDIR:
      return fmt::format("{} is not a folder", where);
    case EACCES:
    case EPERM:
      return fmt::format("no permission to create files in {}; choose another folder", where);
    case EROFS:
      return fmt::format("{} is on a read-only file system; choose another folder", where);
    case ENOSPC:
      return fmt::format("no space left on the file system of {}; free some", where);
    case EDQUOT:
      return fmt::format("the disk quota on the file system of {} is used up; free some", where);
    case ENAMETOOLONG:
      return "the name is too long for the file system";
    default:
      return system_error_text(code);
  }
}

std::string explain_open_failure(int code, const std::string& path, const std::string& folder) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return explain_write_failure(code, folder);
  return fmt::format("{} is in the way ({}); remove it", quoted(path), system_error_text(code));
}

OutputTarget resolve_output_target(const std::string& path) {
  if (path.empty()) cannot_write(path, "the name is empty", ErrorKind::usage);
  if (path == "-") {
    cannot_write(path, "a file is needed, not standard output; name one ('./-' for one named '-')",
                 ErrorKind::usage);
  }
  if (path.find('\0') != std::string::npos) {
    cannot_write(path, "the name contains a NUL byte", ErrorKind::usage);
  }
  std::error_code failed;
  fs::path target = fs::absolute(path, failed);
  if (failed) cannot_write(path, failed.message());
  target = follow_links(target, path);
  const std::string name = target.filename().string();

  OutputTarget result{.path = target.string(), .existing = std::nullopt};
  struct stat status = {};
  if (::stat(result.path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) cannot_write(path, "it is a folder; name a file in it");
    if (!S_ISREG(status.st_mode)) {
      cannot_write(path, "it is a device or pipe, and a regular file is needed");
    }
    // Renaming over a protected file would succeed, against its owner's will.
    if (::access(result.path.c_str(), W_OK) != 0) {
      cannot_write(path, errno == EROFS
                             ? explain_write_failure(EROFS, target.parent_path().string())
                             : std::string("the file is write-protected; remove it first, or "
                                           "choose another name"));
    }
    result.existing = status;
  } else if (errno != ENOENT) {
    cannot_write(path, explain_write_failure(errno, target.parent_path().string()));
  } else if (name.empty() || name == "." || name == "..") {
    cannot_write(path, "it names a folder; name a file in it");
  }
  return result;
}

int keep_permissions(const FileDescriptor& file, const struct stat& old) {
  // The permissions follow the owner, because changing that clears some of them.
  if (::fchown(file.get(), old.st_uid, old.st_gid) != 0) errno = 0;
  return ::fchmod(file.get(), old.st_mode & 0777) == 0 ? 0 : errno;
}

Temporary create_temporary(const OutputTarget& target, const std::string& path) {
  const fs::path whole(target.path);
  const std::string folder = whole.parent_path().string();
  const std::string full_name = whole.filename().string();
  if (full_name.size() > NAME_MAX) cannot_write(path, explain_write_failure(ENAMETOOLONG, folder));
  // Cut the name where the additions would make it too long.
  constexpr std::size_t additions = std::string_view("..XXXXXX.tmp").size();
  const std::string name = full_name.substr(0, NAME_MAX - additions);
  // Private until it takes the permissions of the file it replaces; else the umask decides.
  const mode_t mode = target.existing ? S_IRUSR | S_IWUSR : 0666;
  for (;;) {
    Temporary temporary;
    temporary.path = fs::path(folder) / fmt::format(".{}.{}.tmp", name, random_letters());
    // Registered before it exists, so that a signal at any moment finds it.
    temporary.registration = std::make_unique<TemporaryRegistration>(temporary.path);
    temporary.file = FileDescriptor(
        ::open(temporary.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (temporary.file.is_open()) return temporary;
    if (errno != EEXIST && errno != EINTR) cannot_write(path, explain_write_failure(errno, folder));
  }
}

}  // namespace tilescope
