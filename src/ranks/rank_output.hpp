// The file of a result that ranks write: each its own part where it sees the folder, else rank 0
// for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/npy.hpp>

#include "base/cleanup.hpp"
#include "base/output_file.hpp"
#include "base/output_target.hpp"
#include "base/removal_at_death.hpp"
#include "io/resumable_npy.hpp"

namespace tilescope::ranks {

/// The file as rank 0 keeps it.
class RankOutput {
 public:
  /// It is complete or absent. Errors as OutputFile's.
  RankOutput(const std::string& path, const NpyHeader& header);
  /// Finished bands stay for a later run with the same `purpose`. `subject` and errors as
  /// ResumableNpy's.
  RankOutput(const std::string& path, const NpyHeader& header, const std::string& purpose,
             std::int64_t bands, std::string_view subject = "product");
  ~RankOutput();
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  /// The file under its temporary name, and one of a name that no other folder has.
  std::string temporary() const;
  std::string token() const { return whole_ ? temporary() : token_.path; }
  /// All ranks have looked for the token.
  void drop_token();

  /// The elements' memory, which begins this far into the file.
  std::byte* elements();
  std::uint64_t front_bytes() const { return front_bytes_; }
  bool is_done(std::int64_t band) const { return resumable_ && resumable_->is_done(band); }
  /// All ranks' parts of the band are on disk.
  void mark_done(std::int64_t band);
  void commit();

 private:
  std::uint64_t front_bytes_;
  std::optional<OutputFile> whole_;
  std::optional<io::ResumableNpy> resumable_;
  Temporary token_;
  RemovalAtDeath removal_;  ///< of the token
};

/// The same file on another rank, if it sees it.
class SharedOutput {
 public:
  /// Opens `temporary` if there is a file `token`. A signal that ends this process removes the
  /// token, which may be the file itself.
  SharedOutput(const std::string& temporary, const std::string& token);
  ~SharedOutput();
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;

  bool is_open() const { return !mapping_.empty(); }
  std::byte* data(std::size_t front_bytes) { return mapping_.data() + front_bytes; }
  /// Brings what this rank wrote to disk. Throws Error(bad_input).
  void flush();

 private:
  std::string path_;
  FileDescriptor file_;
  std::span<std::byte> mapping_;
  std::unique_ptr<MappingRegistration> mapping_registration_;
  std::unique_ptr<TemporaryRegistration> token_registration_;
};

}  // namespace tilescope::ranks
