#define XXH_INLINE_ALL  // header-only: nothing to find at run time
#include "io/partial_results.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "base/errors.hpp"
#include "base/output_target.hpp"
#include "base/text.hpp"

namespace tilescope::io {
namespace {

constexpr std::string_view partial_magic = "tilescope-partial-results 1 ";
constexpr int hexadecimal = 16;

std::string hex_of(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<std::size_t>(byte >> 4)];
    text += digits[std::to_integer<std::size_t>(byte & std::byte{0xF})];
  }
  return text;
}

std::optional<PartialResults::Bytes> bytes_of(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  PartialResults::Bytes bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const digits = hex.data() + 2 * i;
    std::uint8_t byte = 0;
    if (std::from_chars(digits, digits + 2, byte, hexadecimal).ptr != digits + 2) {
      return std::nullopt;
    }
    bytes[i] = std::byte{byte};
  }
  return bytes;
}

/// "STEP BAND CHECKSUM RESULT".
std::string line_of(std::size_t step, std::size_t band, std::string_view result) {
  const std::string place = fmt::format("{} {} ", step, band);
  const std::string checked = place + std::string(result);
  return fmt::format("{}{:016x} {}", place, XXH3_64bits(checked.data(), checked.size()), result);
}

}  // namespace

PartialResults::PartialResults(const std::string& path, const std::string& purpose)
    : journal_(resolve_output_target(path).path, path) {
  const std::string head = std::string(partial_magic) + purpose;
  const auto [lines, torn] = journal_.read();
  const std::string_view first = lines.empty() ? torn : lines.front();
  // A process may have died while it wrote the first line.
  const bool is_begin = lines.empty() && partial_magic.starts_with(first);
  if (!is_begin && !first.starts_with(partial_magic)) {
    throw input_error("{} holds no partial results; name another file", tilescope::quoted(path));
  }
  if (!lines.empty()) {
    if (first != head) {
      throw usage_error(
          "{} belongs to another computation (other inputs, operation or options); remove it to "
          "start over",
          tilescope::quoted(path));
    }
    read(lines);
    return;
  }
  try {
    journal_.append(head + '\n');
  } catch (...) {
    journal_.remove();
    throw;
  }
}

PartialResults::~PartialResults() {
  if (!is_removed_ && steps_.empty()) journal_.remove();
}

// Each line is compared with that of the band that follows the ones before.
void PartialResults::read(const std::vector<std::string>& lines) {
  for (std::size_t number = 1; number < lines.size(); ++number) {
    const std::string& line = lines[number];
    const std::string_view hex = std::string_view(line).substr(line.rfind(' ') + 1);
    std::optional<Bytes> bytes = bytes_of(hex);
    const bool is_next_band =
        !steps_.empty() && line == line_of(steps_.size() - 1, steps_.back().size(), hex);
    const bool is_next_step = !is_next_band && line == line_of(steps_.size(), 0, hex);
    if (!bytes || (!is_next_band && !is_next_step)) journal_.fail_damaged(number);
    if (is_next_step) steps_.emplace_back();
    steps_.back().push_back(std::move(*bytes));
  }
}

std::span<const PartialResults::Bytes> PartialResults::of_step(std::size_t step) const {
  return step < steps_.size() ? std::span<const Bytes>(steps_[step]) : std::span<const Bytes>();
}

void PartialResults::keep(std::size_t step, std::span<const std::byte> result) {
  const std::size_t band = of_step(step).size();
  journal_.append(line_of(step, band, hex_of(result)) + '\n');
  if (step == steps_.size()) steps_.emplace_back();
  steps_.at(step).emplace_back(result.begin(), result.end());
}

void PartialResults::remove() {
  journal_.remove();
  is_removed_ = true;
}

void PartialResults::fail_damaged(std::size_t step, std::size_t band) const {
  std::size_t line = 1 + band;
  for (std::size_t i = 0; i < step; ++i) line += steps_[i].size();
  journal_.fail_damaged(line);
}

}  // namespace tilescope::io
