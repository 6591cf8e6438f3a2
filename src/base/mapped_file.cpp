#include "base/mapped_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/errors.hpp"

namespace tilescope {

MappedFile::MappedFile(const std::string& path)
    : path_(path), file_(open_regular_file(path)), stamp_(stamp_of(file_, path)) {
  if (stamp_.size == 0) {  // a mapping of zero bytes is impossible
    std::byte first{};
    if (read_at(file_, path, 0, {&first, 1}) == 0) return;
    throw input_error(
        "cannot read {}: it has no size until it is read, like files of /proc; copy "
        "it to another file and name that",
        quoted(path));
  }
  const auto size = static_cast<std::size_t>(stamp_.size);
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (begin == MAP_FAILED) fail_to_map(path, size);
  bytes_ = {static_cast<const std::byte*>(begin), size};
  registration_ = std::make_unique<MappingRegistration>(begin, size, path);
}

MappedFile::~MappedFile() {
  registration_.reset();
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::require_unchanged() const {
  const FileStamp now = stamp_of(file_, path_);
  if (now == stamp_) return;
  const std::string what =
      now.size == stamp_.size
          ? std::string("its contents were modified")
          : fmt::format("its size went from {} to {} bytes", stamp_.size, now.size);
  throw input_error("{} changed while it was read: {}; run again when nothing writes to it",
                    quoted(path_), what);
}

}  // namespace tilescope
