#include <tilescope/npy.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/output_file.hpp"
#include "io/npy_header.hpp"

namespace tilescope {

struct NpyWriter::Target {
  explicit Target(const std::string& path) : file(path) {}
  OutputFile file;
  std::uint64_t data_offset = 0;
  bool streamed = false;
};

NpyWriter::NpyWriter(const std::string& path, const NpyHeader& header) : header_(header) {
  if (!io::bytes_fit(header)) {
    throw usage_error("cannot write {}: shape {} of {} does not fit in 63 bits of bytes",
                      quoted(path), shape_text(header), name_of(header.type));
  }
  const std::string front = io::npy_front(header);
  target_ = std::make_unique<Target>(path);
  target_->data_offset = front.size();
  target_->file.reserve(front.size() + header.bytes());
  target_->file.append(front);
}

NpyWriter::~NpyWriter() = default;
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;
NpyWriter& NpyWriter::operator=(NpyWriter&&) noexcept = default;

void NpyWriter::fill_with_zeros() {
  target_->file.fill_with_zeros();
}

std::span<std::byte> NpyWriter::data() {
  if (header_.bytes() == 0) return {};
  return target_->file.map().subspan(static_cast<std::size_t>(target_->data_offset));
}

void NpyWriter::append(std::span<const std::byte> elements) {
  const std::uint64_t room = target_->data_offset + header_.bytes() - target_->file.appended();
  if (elements.size() > room) {
    throw usage_error("cannot write {}: {} bytes more than shape {} of {} has",
                      quoted(target_->file.path()), format_count(elements.size() - room),
                      shape_text(header_), name_of(header_.type));
  }
  target_->streamed = true;
  target_->file.append(elements);
}

void NpyWriter::commit() {
  const std::uint64_t appended = target_->file.appended() - target_->data_offset;
  if (target_->streamed && appended != header_.bytes()) {
    throw usage_error("cannot write {}: {} of {} bytes were appended", quoted(target_->file.path()),
                      format_count(appended), format_count(header_.bytes()));
  }
  target_->file.commit();
}

MatrixView writable_matrix(NpyWriter& writer) {
  const NpyHeader& header = writer.header();
  if (header.shape.size() != 2) {
    throw usage_error("shape {} is not a matrix", shape_text(header));
  }
  return dense_view(static_cast<void*>(writer.data().data()), header.type,
                    static_cast<std::int64_t>(header.shape[0]),
                    static_cast<std::int64_t>(header.shape[1]),
                    header.fortran_order ? Order::column_major : Order::row_major);
}

NpyHeader npy_matrix_header(DataType type, std::int64_t rows, std::int64_t columns, Order order) {
  return {.type = type,
          .fortran_order = order == Order::column_major,
          .shape = {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns)}};
}

}  // namespace tilescope
