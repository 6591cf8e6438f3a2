// A .npy file that is written in tiles and survives being killed: a partial file and a journal
// beside the target. The partial file becomes the target when it is complete.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/matrix.hpp>
#include <tilescope/npy.hpp>
#include <vector>

#include "base/cleanup.hpp"
#include "base/file.hpp"
#include "base/output_target.hpp"
#include "io/line_journal.hpp"

namespace tilescope::io {

/// The journal lists the tiles that are complete on disk. A line is added only after the tile's
/// bytes are on disk; a line without its end does not count. `purpose` describes the computation
/// (inputs, their states, shape, tiles): a journal with another purpose is refused. One process at
/// a time.
class ResumableNpy {
 public:
  /// Continues `path`'s partial file if there is one, else begins it and reserves its space; a
  /// failure leaves nothing. It has the permissions of the file that it will replace. Errors:
  /// bad_input as OutputFile, and for a damaged journal; usage for a journal with another purpose,
  /// which then belongs to another `subject`, or in use by another process.
  ResumableNpy(const std::string& path, const NpyHeader& header, const std::string& purpose,
               std::int64_t tiles, std::string_view subject = "product");
  ~ResumableNpy();
  ResumableNpy(const ResumableNpy&) = delete;
  ResumableNpy& operator=(const ResumableNpy&) = delete;

  /// Where the file is until `commit`.
  const std::string& partial() const { return partial_path_; }
  std::byte* elements();
  /// The elements of a matrix.
  MatrixView matrix();
  bool is_done(std::int64_t tile) const { return done_.at(static_cast<std::size_t>(tile)); }
  std::int64_t done_count() const { return done_count_; }
  /// Marks the tile's elements as complete. About twice a second marked tiles go to
  /// disk and then into the journal: a killed process loses at most that much work.
  void mark_done(std::int64_t tile);
  /// Writes marked tiles to disk and into the journal now.
  void flush();
  /// Gives the file its name and removes the journal. Throws Error(usage) if a tile is missing.
  void commit();

 private:
  void read_journal(const std::string& head, std::string_view subject);
  void begin_journal(const std::string& head);
  void open_partial(std::size_t size);
  [[noreturn]] void fail(const std::string& why) const;

  std::string path_;  ///< as given, for messages
  OutputTarget target_;
  std::string folder_, partial_path_;
  NpyHeader header_;
  FileDescriptor partial_;
  std::optional<LineJournal> journal_;
  std::span<std::byte> mapping_;
  std::unique_ptr<MappingRegistration> registration_;
  std::size_t data_offset_ = 0;
  std::vector<bool> done_;
  std::int64_t done_count_ = 0;
  std::string unwritten_;  ///< journal lines of tiles that may not be on disk yet
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

}  // namespace tilescope::io
