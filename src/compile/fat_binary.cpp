#include "compile/fat_binary.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <tilescope/error.hpp>

#include "base/text.hpp"

namespace tilescope::compile {
namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1, container_magic = 0xba55ed50;
constexpr std::uint64_t container_header = 16, entry_header = 64;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000, flag_a = 0x100000, flag_f = 0x200000;

/// More than any text that a compiler writes; a damaged size must not take the machine's memory.
constexpr std::uint64_t most_text_bytes = std::uint64_t{1} << 30;

struct Wrapper {
  std::uint32_t magic, version;
  const void* container;
  const void* const* units;  ///< of version 2
};

template <class... T>
[[noreturn]] void refuse(std::string_view name, fmt::format_string<T...> why, T&&... values) {
  throw Error(ErrorKind::bad_input, fmt::format("{}: damaged fat binary: {}", name,
                                                fmt::format(why, std::forward<T>(values)...)));
}

template <class T>
T number_at(Bytes bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The text at an offset in the header; empty if it does not lie inside.
std::string text_in(Bytes header, std::uint64_t offset, std::uint64_t bytes) {
  if (offset < entry_header || offset > header.size() || bytes > header.size() - offset) return {};
  const std::string text(reinterpret_cast<const char*>(header.data()) + offset, bytes);
  return std::string(trim(text.substr(0, text.find('\0'))));
}

FatBinaryKind kind_of(std::uint16_t number) {
  return number == 1   ? FatBinaryKind::ptx
         : number == 2 ? FatBinaryKind::machine_code
                       : FatBinaryKind::other;
}

/// The entry at the start of `rest`, which can hold a header; moves `rest` behind it.
FatBinaryEntry take_entry(Bytes& rest, std::string_view name) {
  const std::uint64_t header_bytes = number_at<std::uint32_t>(rest, 4);
  const std::uint64_t padded = number_at<std::uint64_t>(rest, 8);
  if (header_bytes < entry_header || header_bytes > rest.size() ||
      padded > rest.size() - header_bytes) {
    refuse(name, "an entry of {} and {} bytes, where {} are left", header_bytes, padded,
           rest.size());
  }
  const Bytes header = rest.first(header_bytes);
  FatBinaryEntry entry;
  entry.kind = kind_of(number_at<std::uint16_t>(header, 0));
  const auto capability = number_at<std::uint32_t>(header, 28);
  if (capability > 9999) refuse(name, "the compute capability {}", capability);
  entry.compute_major = static_cast<int>(capability / 10);
  entry.compute_minor = static_cast<int>(capability % 10);
  entry.file =
      text_in(header, number_at<std::uint32_t>(header, 32), number_at<std::uint32_t>(header, 36));
  if (const std::uint64_t place = number_at<std::uint32_t>(header, 20);
      place >= entry_header && place + 8 <= header_bytes) {
    entry.options = text_in(header, number_at<std::uint32_t>(header, place),
                            number_at<std::uint32_t>(header, place + 4));
  }
  const auto flags = number_at<std::uint64_t>(header, 40);
  entry.suffix = (flags & flag_a) != 0 ? 'a' : (flags & flag_f) != 0 ? 'f' : char{0};
  entry.full_bytes = padded;
  std::uint64_t stored = padded;
  if ((flags & (flag_lz4 | flag_zstd)) != 0) {
    entry.compression =
        (flags & flag_lz4) != 0 ? FatBinaryCompression::lz4 : FatBinaryCompression::zstd;
    stored = number_at<std::uint32_t>(header, 16);
    entry.full_bytes = number_at<std::uint64_t>(header, 56);
    if (stored > padded) refuse(name, "{} compressed bytes in {}", stored, padded);
  }
  entry.payload = rest.subspan(header_bytes, stored);
  rest = rest.subspan(header_bytes + padded);
  return entry;
}

std::string decompressed(const FatBinaryEntry& entry, std::string_view name) {
  const auto* const stored = reinterpret_cast<const char*>(entry.payload.data());
  const std::size_t bytes = entry.payload.size();
  if (entry.compression == FatBinaryCompression::none) return std::string(stored, bytes);
  const std::uint64_t size = entry.full_bytes;
  constexpr std::uint64_t most_lz4_ratio = 255;
  const bool lz4 = entry.compression == FatBinaryCompression::lz4;
  const bool possible =
      size <= most_text_bytes && (lz4 ? bytes <= most_text_bytes && size / most_lz4_ratio <= bytes
                                      : size == ZSTD_getFrameContentSize(stored, bytes));
  if (!possible) refuse(name, "{} compressed bytes cannot be {} bytes of text", bytes, size);
  std::string text(size, '\0');
  if (lz4) {
    const int written =
        LZ4_decompress_safe(stored, text.data(), static_cast<int>(bytes), static_cast<int>(size));
    if (written < 0 || static_cast<std::uint64_t>(written) != size) {
      refuse(name, "the LZ4 data of {} cannot be decompressed", entry.architecture());
    }
    return text;
  }
  const std::size_t written = ZSTD_decompress(text.data(), text.size(), stored, bytes);
  if (ZSTD_isError(written) != 0 || written != size) {
    refuse(name, "the zstd data of {} cannot be decompressed{}{}", entry.architecture(),
           ZSTD_isError(written) != 0 ? ": " : "",
           ZSTD_isError(written) != 0 ? ZSTD_getErrorName(written) : "");
  }
  return text;
}

/// How well PTX fits a GPU: 0 not at all, else more for the better.
int fitness(const FatBinaryEntry& entry, int major, int minor) {
  if (entry.kind != FatBinaryKind::ptx) return 0;
  const int of_entry = entry.compute_major * 10 + entry.compute_minor, of_gpu = major * 10 + minor;
  const bool fits = entry.suffix == 'a'   ? of_entry == of_gpu
                    : entry.suffix == 'f' ? entry.compute_major == major && of_entry <= of_gpu
                                          : of_entry <= of_gpu;
  return fits ? 3 * of_entry + (entry.suffix == 'a' ? 3 : entry.suffix == 'f' ? 2 : 1) : 0;
}

std::string list_of(std::span<const FatBinaryEntry> entries) {
  std::string list;
  for (const FatBinaryEntry& entry : entries) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", entry.architecture());
  }
  return list.empty() ? "no code" : list;
}

[[noreturn]] void refuse_without_ptx(std::span<const FatBinaryEntry> entries, int major, int minor,
                                     std::string_view name) {
  throw Error(ErrorKind::bad_input,
              fmt::format("{0} has no PTX for a GPU of compute capability {1}.{2} (it has {3}); "
                          "compile it with nvcc -arch=compute_{1}{2}, or add -gencode "
                          "arch=compute_{1}{2},code=compute_{1}{2}",
                          name, major, minor, list_of(entries)));
}

}  // namespace

std::string FatBinaryEntry::architecture() const {
  const std::string_view prefix = kind == FatBinaryKind::ptx            ? "compute_"
                                  : kind == FatBinaryKind::machine_code ? "sm_"
                                                                        : "lto_";
  std::string text = fmt::format("{}{}{}", prefix, compute_major, compute_minor);
  if (suffix != 0) text += suffix;
  return text;
}

Bytes container_at(const void* address) {
  const Bytes header(static_cast<const std::byte*>(address), container_header);
  if (number_at<std::uint32_t>(header, 0) != container_magic) return header;
  return {header.data(), number_at<std::uint16_t>(header, 6) + number_at<std::uint64_t>(header, 8)};
}

std::vector<Bytes> containers_of(const void* wrapper) {
  Wrapper head{};
  if (wrapper != nullptr) std::memcpy(&head, wrapper, sizeof head);
  if (head.magic != wrapper_magic || head.container == nullptr) {
    throw Error(ErrorKind::bad_input,
                fmt::format("no fat binary was given: expected the magic number {:#x}, got {:#x}",
                            wrapper_magic, head.magic));
  }
  constexpr std::uint32_t linked = 2;
  if (head.version != linked || head.units == nullptr) return {container_at(head.container)};
  std::vector<Bytes> containers;
  for (const void* const* unit = head.units; *unit != nullptr; ++unit) {
    containers.push_back(container_at(*unit));
  }
  return containers;
}

std::vector<FatBinaryEntry> read_fat_binary(Bytes container, std::string_view name) {
  if (container.size() < container_header) {
    refuse(name, "{} bytes are shorter than its header", container.size());
  }
  if (const auto magic = number_at<std::uint32_t>(container, 0); magic != container_magic) {
    refuse(name, "expected the magic number {:#x}, got {:#x}", container_magic, magic);
  }
  const std::uint64_t header = number_at<std::uint16_t>(container, 6);
  const auto bytes = number_at<std::uint64_t>(container, 8);
  if (header < container_header || header > container.size() || bytes > container.size() - header) {
    refuse(name, "{} and {} bytes of contents, where there are {}", header, bytes,
           container.size());
  }
  std::vector<FatBinaryEntry> entries;
  Bytes rest = container.subspan(header, bytes);
  while (rest.size() >= entry_header) entries.push_back(take_entry(rest, name));  // then padding
  return entries;
}

const FatBinaryEntry* find_ptx(std::span<const FatBinaryEntry> entries, int compute_major,
                               int compute_minor) {
  const FatBinaryEntry* best = nullptr;
  int fit = 0;
  for (const FatBinaryEntry& entry : entries) {
    const int now = fitness(entry, compute_major, compute_minor);
    if (now > fit) best = &entry;
    fit = std::max(fit, now);
  }
  return best;
}

std::string ptx_text(const FatBinaryEntry& entry, std::string_view name) {
  std::string text = decompressed(entry, name);
  text.resize(std::min(text.find('\0'), text.size()));  // padding
  return text;
}

std::string ptx_for(Bytes container, int compute_major, int compute_minor, std::string_view name) {
  const std::vector<FatBinaryEntry> entries = read_fat_binary(container, name);
  const FatBinaryEntry* const found = find_ptx(entries, compute_major, compute_minor);
  if (found == nullptr) refuse_without_ptx(entries, compute_major, compute_minor, name);
  return ptx_text(*found, name);
}

std::vector<PtxText> embedded_ptx(const void* wrapper, int compute_major, int compute_minor,
                                  std::string_view name) {
  std::vector<PtxText> texts, without_ptx;
  std::vector<FatBinaryEntry> all;
  for (const Bytes container : containers_of(wrapper)) {
    const std::vector<FatBinaryEntry> entries = read_fat_binary(container, name);
    all.insert(all.end(), entries.begin(), entries.end());
    const FatBinaryEntry* const found = find_ptx(entries, compute_major, compute_minor);
    if (found == nullptr) {
      if (!entries.empty()) without_ptx.push_back({std::string(name), {}, container});
      continue;
    }
    const std::string unit = found->file.empty() ? std::string(name) : found->file;
    texts.push_back({unit, ptx_text(*found, unit)});
  }
  if (texts.empty()) refuse_without_ptx(all, compute_major, compute_minor, name);
  texts.insert(texts.end(), without_ptx.begin(), without_ptx.end());
  return texts;
}

}  // namespace tilescope::compile
