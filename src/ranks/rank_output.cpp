#include "ranks/rank_output.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.hpp"
#include "io/npy_header.hpp"

namespace tilescope::ranks {

RankOutput::RankOutput(const std::string& path, const NpyHeader& header)
    : front_bytes_(io::npy_front(header).size()), whole_(path), removal_(token()) {
  const std::string front = io::npy_front(header);
  whole_->reserve(front.size() + header.bytes());
  whole_->fill_with_zeros();
  std::memcpy(whole_->map().data(), front.data(), front.size());
}

RankOutput::RankOutput(const std::string& path, const NpyHeader& header, const std::string& purpose,
                       std::int64_t bands, std::string_view subject)
    : front_bytes_(io::npy_front(header).size()),
      resumable_(std::in_place, path, header, purpose, bands, subject),
      token_(create_temporary(resolve_output_target(path), path)),
      removal_(token()) {}

RankOutput::~RankOutput() {
  drop_token();
}

void RankOutput::drop_token() {
  if (!token_.path.empty()) ::unlink(token_.path.c_str());
  token_ = {};
}

std::string RankOutput::temporary() const {
  return whole_ ? whole_->temporary() : resumable_->partial();
}

std::byte* RankOutput::elements() {
  if (whole_) return whole_->map().data() + front_bytes_;
  return resumable_->elements();
}

void RankOutput::mark_done(std::int64_t band) {
  if (!resumable_) return;
  resumable_->mark_done(band);
  resumable_->flush();
}

void RankOutput::commit() {
  whole_ ? whole_->commit() : resumable_->commit();
}

SharedOutput::SharedOutput(const std::string& temporary, const std::string& token)
    : path_(temporary) {
  if (::access(token.c_str(), F_OK) != 0) return;  // another machine's folder
  token_registration_ = std::make_unique<TemporaryRegistration>(token);
  file_ = FileDescriptor(::open(temporary.c_str(), O_RDWR | O_CLOEXEC));
  struct stat state = {};
  if (!file_.is_open() || ::fstat(file_.get(), &state) != 0) return;
  const auto size = static_cast<std::size_t>(state.st_size);
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (begin == MAP_FAILED) return;
  mapping_ = {static_cast<std::byte*>(begin), size};
  mapping_registration_ = std::make_unique<MappingRegistration>(begin, size, path_);
}

SharedOutput::~SharedOutput() {
  mapping_registration_.reset();
  if (is_open()) ::munmap(mapping_.data(), mapping_.size());
}

void SharedOutput::flush() {
  if (!is_open() || ::msync(mapping_.data(), mapping_.size(), MS_SYNC) == 0) return;
  throw input_error("cannot write {}: {}", tilescope::quoted(path_), system_error_text(errno));
}

}  // namespace tilescope::ranks
