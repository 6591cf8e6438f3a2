#include "inspect/results/result_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/half.hpp"
#include "base/symbol_names.hpp"

namespace tilescope::inspect {
namespace {

using emulator::AllocationKind;

constexpr std::uint64_t kWord = 4;
constexpr std::size_t kMostWords = 4096;

std::uint64_t bits_at(const std::uint8_t* at, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, std::min(bytes, sizeof bits));
  return bits;
}

/// Whether the 8 bytes around both places hold addresses of memory from malloc in kernels.
bool are_heap_pointers(const emulator::MemoryMap& memory, std::span<const std::uint8_t> usual,
                       const std::uint8_t* other, std::size_t offset) {
  const std::size_t begin = offset / 8 * 8;
  if (begin + 8 > usual.size()) return false;
  const auto points_to_heap = [&](const std::uint8_t* at) {
    const emulator::Allocation* in = memory.find(bits_at(at, 8));
    return in != nullptr && in->kind() == AllocationKind::device_heap;
  };
  return points_to_heap(usual.data() + begin) && points_to_heap(other + begin);
}

/// The types of which values are shown. Compilers store without a type, so that the bits have to
/// tell.
enum class Shown : std::uint8_t { integer, f16, bf16, f32, f64 };

/// Few numbers that are meant as integers look like floating-point ones of moderate size.
bool looks_like_float(std::uint64_t bits, std::size_t bytes) {
  const double value = bytes == 8 ? std::bit_cast<double>(bits)
                                  : std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::isfinite(value) && std::abs(value) > 1e-9 && std::abs(value) < 1e12;
}

Shown shown_type(ptx::Type type, std::size_t bytes, std::uint64_t usual, std::uint64_t other) {
  switch (type) {
    case ptx::Type::f16:
      return Shown::f16;
    case ptx::Type::bf16:
      return Shown::bf16;
    case ptx::Type::f32:
      return Shown::f32;
    case ptx::Type::f64:
      return Shown::f64;
    default:
      break;
  }
  const auto is_float = [&](std::uint64_t bits) {
    return bits == 0 || looks_like_float(bits, bytes);
  };
  if ((bytes != 4 && bytes != 8) || !is_float(usual) || !is_float(other)) return Shown::integer;
  return bytes == 8 ? Shown::f64 : Shown::f32;
}

std::optional<double> number(Shown shown, std::uint64_t bits) {
  switch (shown) {
    case Shown::integer:
      return std::nullopt;
    case Shown::f16:
      return float16_to_float32(static_cast<std::uint16_t>(bits));
    case Shown::bf16:
      return bfloat16_to_float32(static_cast<std::uint16_t>(bits));
    case Shown::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Shown::f64:
      return std::bit_cast<double>(bits);
  }
  return std::nullopt;
}

std::string text_of(Shown shown, std::uint64_t bits, std::size_t bytes) {
  if (const auto value = number(shown, bits)) {
    return shown == Shown::f64 ? fmt::format("{:.17g}", *value) : fmt::format("{:.9g}", *value);
  }
  // Sign-extended: indices and counts are small.
  const unsigned unused = static_cast<unsigned>(64 - 8 * std::min<std::size_t>(bytes, 8));
  return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
}

/// The elements of an array in both runs.
struct Elements {
  std::span<const std::uint8_t> usual, other;
  std::size_t bytes;

  std::size_t count() const { return usual.size() / bytes; }
  std::uint64_t usual_at(std::size_t i) const { return bits_at(usual.data() + i * bytes, bytes); }
  std::uint64_t other_at(std::size_t i) const { return bits_at(other.data() + i * bytes, bytes); }
  bool differ(std::size_t i) const {
    return std::memcmp(usual.data() + i * bytes, other.data() + i * bytes, bytes) != 0;
  }
};

bool are_permuted(const Elements& elements) {
  std::vector<std::uint64_t> usual, other;
  for (std::size_t i = 0; i < elements.count(); ++i) {
    if (!elements.differ(i)) continue;
    usual.push_back(elements.usual_at(i));
    other.push_back(elements.other_at(i));
  }
  std::sort(usual.begin(), usual.end());
  std::sort(other.begin(), other.end());
  return elements.bytes <= 8 && usual == other;
}

/// Counts the differing elements. `allowed`: the relative difference that the rounding of
/// floating-point atomics can make; returns whether no element differs by more.
bool measure(const Elements& elements, Shown shown, double allowed, ScheduleFacts& facts) {
  bool within = shown != Shown::integer && allowed > 0.0;
  for (std::size_t i = 0; i < elements.count(); ++i) {
    if (!elements.differ(i)) continue;
    ++facts.elements;
    const auto a = number(shown, elements.usual_at(i)), b = number(shown, elements.other_at(i));
    if (!a || !b) continue;
    const double difference = std::abs(*a - *b);
    if (std::isfinite(difference)) facts.greatest = std::max(facts.greatest, difference);
    const double largest = std::max(std::abs(*a), std::abs(*b));
    within = within && std::isfinite(difference) && difference <= allowed * largest;
  }
  return within;
}

}  // namespace

std::vector<ArrayDifference> differences(const emulator::MemoryContents& usual,
                                         const emulator::MemoryMap& other) {
  std::vector<ArrayDifference> found;
  for (const emulator::MemoryContents::Piece& piece : usual.pieces()) {
    const emulator::Allocation* now = other.find(piece.address, 0);
    if (now == nullptr || now->kind() == AllocationKind::device_heap ||
        std::memcmp(now->data(), piece.bytes.data(), piece.bytes.size()) == 0) {
      continue;
    }
    ArrayDifference difference{.address = piece.address, .words = {}, .contents = {}};
    for (std::size_t i = 0; i < piece.bytes.size() && difference.words.size() < kMostWords; ++i) {
      if (now->data()[i] == piece.bytes[i]) continue;
      if (!are_heap_pointers(other, piece.bytes, now->data(), i)) {
        difference.words.push_back(piece.address + i);
      }
      i |= kWord - 1;
    }
    if (difference.words.empty()) continue;
    difference.contents.assign(now->data(), now->data() + now->bytes());
    found.push_back(std::move(difference));
  }
  return found;
}

Finding describe_difference(const ArrayDifference& difference, const emulator::Allocation& in,
                            std::span<const std::uint8_t> usual,
                            const observe::LastWriters& usual_writers,
                            const observe::LastWriters& other_writers) {
  const std::uint64_t first = difference.words.front();
  const observe::LastWriters::Write* const writer = usual_writers.find(first);
  const observe::LastWriters::Write* const other_writer = other_writers.find(first);
  const auto* const known = writer != nullptr ? writer : other_writer;
  Finding finding;
  finding.kind = FindingKind::order_dependent_result;
  finding.severity = Severity::warning;
  finding.memory = MemoryPlace{.address = first,
                               .object = variable_name(in.name()),
                               .object_bytes = in.bytes(),
                               .offset = static_cast<std::int64_t>(first - in.address())};
  ScheduleFacts facts;
  if (known != nullptr) {
    finding.kernel = known->kernel;
    finding.first = known->access;
    finding.memory = known->memory;
    if (writer != nullptr && other_writer != nullptr) finding.second = other_writer->access;
  }
  const std::size_t bytes = finding.memory->element_bytes;
  const Elements elements{usual, difference.contents, bytes};
  const std::size_t at = static_cast<std::size_t>(finding.memory->offset) / bytes;
  const Shown shown = shown_type(known == nullptr ? ptx::Type::none : known->type, bytes,
                                 elements.usual_at(at), elements.other_at(at));
  facts.usual = text_of(shown, elements.usual_at(at), bytes);
  facts.other = text_of(shown, elements.other_at(at), bytes);
  const double allowed =
      static_cast<double>(usual_writers.floating_atomics()) * usual_writers.unit_roundoff();
  const bool only_rounding = measure(elements, shown, allowed, facts);
  const bool only_atomics =
      std::all_of(difference.words.begin(), difference.words.end(), [&](std::uint64_t address) {
        const auto* write = usual_writers.find(address);
        return write != nullptr && write->floating_atomic;
      });
  facts.floating_atomics = only_rounding || only_atomics;
  facts.permuted = usual_writers.uses_atomic_results() && are_permuted(elements);
  facts.clock = usual_writers.reads_clock();
  if (facts.floating_atomics || facts.permuted || facts.clock) finding.severity = Severity::note;
  finding.facts = facts;
  return finding;
}

}  // namespace tilescope::inspect
