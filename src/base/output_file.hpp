// A file that appears whole or not at all: written under a temporary name beside the target and
// renamed when it is complete.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/cleanup.hpp"
#include "base/file.hpp"

namespace tilescope {

/// Until `commit` returns, the target is untouched; without it the temporary is removed, by the
/// destructor or by the signal handlers of base/signals.hpp. Two writers of one target do not mix:
/// the last `commit` wins. A target that exists keeps its permissions, and its owner where the
/// system allows; a symbolic link stays, and the file it points to is replaced.
///
/// Every failure is an Error(bad_input) of one line that names the target. The constructor and
/// `reserve` do everything that can fail before the work.
class OutputFile {
 public:
  /// Creates the temporary. Fails when the target is a folder, device or pipe, is write-protected,
  /// or when its folder is missing or cannot be written to; "-" is Error(usage).
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  /// The target as it was given.
  const std::string& path() const noexcept { return path_; }
  /// Where it is until `commit`.
  const std::string& temporary() const noexcept { return temporary_; }

  /// Makes the file `size` bytes long, all zero, with allocated storage: a full disk fails here,
  /// and writing to `map` cannot fail later. Before the first `append`.
  void reserve(std::uint64_t size);

  /// Writes zeros behind what was appended, so that the system keeps the file in large pieces: for
  /// bytes that will be written in an order of their own, as a product's sums are. Their pages then
  /// cost a quarter of what they cost one by one, when each is first touched. Pages that are
  /// touched one behind the other do as well without, and so do files of more than 256 MiB. Before
  /// `map`.
  void fill_with_zeros() noexcept;

  /// The reserved bytes, to be written in place, in any order and by any thread. Valid until
  /// `commit`. Empty when nothing was reserved.
  std::span<std::byte> map();

  /// Appends to the bytes appended so far, starting at the file's beginning.
  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  /// Bytes appended so far.
  std::uint64_t appended() const noexcept { return appended_; }

  /// Gives the file its name. Call it once; nothing may be written afterwards.
  void commit();

 private:
  void discard() noexcept;
  [[noreturn]] void fail(const std::string& why) const;

  std::string path_;       // as given, for messages
  std::string target_;     // absolute, links resolved
  std::string temporary_;  // absolute
  pid_t owner_ = 0;        // a forked child must not remove its parent's file
  FileDescriptor file_;
  std::unique_ptr<TemporaryRegistration> registration_;
  std::unique_ptr<MappingRegistration> mapping_registration_;
  std::span<std::byte> mapping_;
  std::uint64_t reserved_ = 0;
  std::uint64_t appended_ = 0;
};

/// Makes an empty file `size` bytes long, all zero, with allocated storage. Returns the reason for
/// a failure; empty on success. `folder` is the file's folder, for the message.
std::string reserve_storage(const FileDescriptor& file, std::uint64_t size,
                            const std::string& folder);

/// Writes all of `bytes` from `offset` on; a write that the system cuts short is continued. Returns
/// why not; empty on success.
std::string write_to_storage(const FileDescriptor& file, std::uint64_t offset,
                             std::span<const std::byte> bytes, const std::string& folder);

}  // namespace tilescope
