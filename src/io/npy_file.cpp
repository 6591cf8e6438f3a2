#include <limits>
#include <tilescope/npy.hpp>

#include "base/errors.hpp"
#include "base/mapped_file.hpp"
#include "io/npy_header.hpp"

namespace tilescope {

struct NpyFile::Source {
  explicit Source(const std::string& path) : file(path) {}
  MappedFile file;
  std::unique_ptr<std::byte[]> copy;  // only for elements at odd offsets
};

NpyFile::NpyFile(const std::string& path) : source_(std::make_unique<Source>(path)) {
  const MappedFile& file = source_->file;
  io::NpyLayout layout = io::read_npy_layout(file.descriptor(), path, file.bytes().size());
  header_ = std::move(layout.header);
  data_ = file.bytes().subspan(layout.data_offset);
  if (layout.data_offset % size_of(header_.type) != 0 && !data_.empty()) {
    source_->copy = std::make_unique_for_overwrite<std::byte[]>(data_.size());
    const std::span<std::byte> copy(source_->copy.get(), data_.size());
    if (read_at(file.descriptor(), path, layout.data_offset, copy) != copy.size()) {
      file.require_unchanged();
    }
    data_ = copy;
  }
}

NpyFile::~NpyFile() = default;
NpyFile::NpyFile(NpyFile&&) noexcept = default;
NpyFile& NpyFile::operator=(NpyFile&&) noexcept = default;

const std::string& NpyFile::path() const noexcept {
  return source_->file.path();
}

void NpyFile::require_unchanged() const {
  source_->file.require_unchanged();
}

ConstMatrixView require_matrix(const NpyFile& file) {
  const NpyHeader& header = file.header();
  if (header.shape.size() != 2) {
    const char* const advice =
        header.shape.size() == 1
            ? "; save a.reshape(1, -1) for a row or a.reshape(-1, 1) for a column"
            : "";
    throw input_error("{}: a matrix is needed, with 2 dimensions, and shape {} has {}{}",
                      quoted(file.path()), shape_text(header), header.shape.size(), advice);
  }
  return dense_view(file.data().data(), header.type, static_cast<std::int64_t>(header.shape[0]),
                    static_cast<std::int64_t>(header.shape[1]),
                    header.fortran_order ? Order::column_major : Order::row_major);
}

std::uint64_t require_list(const NpyFile& file) {
  const NpyHeader& header = file.header();
  if (header.shape.size() != 1) {
    throw input_error("{}: a list is needed, with 1 dimension, and shape {} has {}; save a.ravel()",
                      quoted(file.path()), shape_text(header), header.shape.size());
  }
  return header.shape[0];
}

}  // namespace tilescope
