// A random tensor copy as bench/tensor_copy_recorder.cu has them, run on the emulator.
#pragma once

#include <sstream>

#include "emulator/harness.hpp"
#include "emulator/tensor_map_image.hpp"

namespace tilescope::emulator::test {

inline constexpr std::uint32_t kTensorShared = 20480, kTensorBytes = 1 << 16;

/// The recorder's Case, its fields in the recorder's order.
struct TensorCase {
  enum Operation { load, store, reduce };
  int operation = load, mode = 0, reduction = 0, rank = 1, type = 0, interleave = 0, swizzle = 0,
      fill = 0;
  std::array<long long, 5> dims{};
  std::array<long long, 4> strides{};
  std::array<int, 5> box{}, element_strides{};
  std::array<int, 3> lower{}, upper{};
  int channels = 0, pixels = 0;
  std::array<int, 5> coordinates{};
  std::array<int, 3> offsets{};
  unsigned shared_offset = 0;

  friend std::istream& operator>>(std::istream& in, TensorCase& c) {
    in >> c.operation >> c.mode >> c.reduction >> c.rank >> c.type >> c.interleave >> c.swizzle >>
        c.fill;
    const auto read = [&](auto& numbers) {
      for (auto& x : numbers) in >> x;
    };
    read(c.dims), read(c.strides), read(c.box), read(c.element_strides), read(c.lower);
    read(c.upper);
    in >> c.channels >> c.pixels;
    read(c.coordinates), read(c.offsets);
    return in >> c.shared_offset;
  }

  /// The driver's numbers of types, as PTX numbers them.
  TensorElement element() const {
    using enum TensorElement;
    constexpr TensorElement elements[] = {u8,  u16, u32,  s32,     u64,  s64,     f16,
                                          f32, f64, bf16, f32_ftz, tf32, tf32_ftz};
    return type < 13 ? elements[type] : count_;
  }

  TensorMapImage map(std::uint64_t address) const {
    TensorMapImage m;
    m.address = address;
    for (std::size_t d = 0; d < 5; ++d) {
      m.extents[d] = static_cast<std::uint64_t>(dims[d]);
      m.box[d] = static_cast<std::uint16_t>(box[d]);
      m.element_strides[d] = static_cast<std::uint8_t>(element_strides[d]);
      if (d < 4) m.strides[d] = static_cast<std::uint64_t>(strides[d]);
      if (d < 3) m.lower[d] = static_cast<std::int16_t>(std::clamp(lower[d], -32768, 32767));
      if (d < 3) m.upper[d] = static_cast<std::int16_t>(std::clamp(upper[d], -32768, 32767));
    }
    m.type = element();
    m.channels = static_cast<std::uint16_t>(channels);
    m.pixels = static_cast<std::uint16_t>(pixels);
    m.rank = static_cast<std::uint8_t>(rank);
    m.interleave = static_cast<TensorInterleave>(interleave);
    m.swizzle = static_cast<TensorSwizzle>(swizzle);
    m.fill = static_cast<TensorFill>(fill);
    m.mode = static_cast<TensorMode>(mode);
    return m;
  }

  /// The rule that the map breaks, its arrays read as far as the rank goes.
  std::string map_problem() const {
    if (rank > 5) return "the rank";
    TensorMapImage m = map(4096);
    for (std::size_t d = 0; d < 5; ++d) {  // numbers that do not fit stay wrong
      if (box[d] < 0 || box[d] > 256) m.box[d] = 0;
    }
    return tensor_map_problem(m);
  }
};

/// The recorder's pattern.
inline std::uint32_t tensor_word(std::uint32_t i) {
  std::uint32_t x = i * 0x9e3779b1u + 0x7f4a7c15u;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  if (i % 5 == 0) x &= 0x807fffffu;
  if (i % 11 == 4) x = (x & 0xffffe000u) | 0x1000u;
  if (i % 23 == 7) x |= 0x7f800000u;
  if (i % 41 == 9) x = (x & 0x80000000u) | 0x7f800000u;
  return x;
}

inline std::vector<std::uint32_t> tensor_words(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = tensor_word(first + static_cast<std::uint32_t>(i));
  }
  return words;
}

/// Shared memory before the copy.
inline std::vector<std::uint32_t> initial_shared(const TensorCase& c) {
  if (c.operation != TensorCase::load) return tensor_words(kTensorShared / 4, 12345);
  return std::vector<std::uint32_t>(kTensorShared / 4, 0xa5a5a5a5u);
}

/// "{1, 2, 3}"
inline std::string in_braces(const int* numbers, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "}";
}

/// The tensor copy of the case, for the kernel below.
inline std::string tensor_instruction(const TensorCase& c) {
  const std::string dimension = "." + std::to_string(c.rank) + "d";
  const std::string at = "[%rd3, " + in_braces(c.coordinates.data(), c.rank) + "]";
  const std::string shared = "[%r1+" + std::to_string(c.shared_offset) + "]";
  if (c.operation == TensorCase::load) {
    const std::string mode = c.mode == 0 ? ".tile" : ".im2col";
    const std::string offsets = c.mode == 0 ? "" : ", " + in_braces(c.offsets.data(), c.rank - 2);
    return "cp.async.bulk.tensor" + dimension + ".shared::cluster.global" + mode +
           ".mbarrier::complete_tx::bytes " + shared + ", " + at + ", [%r2]" + offsets + ";\n";
  }
  const std::string mode = c.mode == 0 ? ".tile" : ".im2col_no_offs";
  if (c.operation == TensorCase::store) {
    return "cp.async.bulk.tensor" + dimension + ".global.shared::cta" + mode + ".bulk_group " + at +
           ", " + shared + ";\n";
  }
  constexpr const char* names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return "cp.reduce.async.bulk.tensor" + dimension + ".global.shared::cta." + names[c.reduction] +
         mode + ".bulk_group " + at + ", " + shared + ";\n";
}

/// Runs `instruction` in one thread between a bulk copy that fills shared memory (from %rd1, whose
/// address is %r1) and one that reads it (to %rd2). %rd3: the map; bar2 at %r2: its barrier, which
/// expects `bytes`.
inline std::string tensor_kernel(const std::string& instruction, std::uint64_t bytes) {
  const std::string all = std::to_string(kTensorShared);
  const auto wait = [](const std::string& label, const std::string& barrier) {
    return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p1, [" + barrier +
           "], 0; @!%p1 bra " + label + ";\n";
  };
  const std::string copy =
      bytes == 0 ? instruction + "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
                 : "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar2], " + std::to_string(bytes) +
                       ";\n" + instruction + wait("SECOND", "bar2");
  return std::string(kHeader) + ".shared .align 1024 .b8 tile[" + all +
         "];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 bar2;\n"
         ".visible .entry k(.param .u64 from, .param .u64 to, .param .u64 map) {\n"
         ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
         "ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; ld.param.u64 %rd3, [map];\n"
         "mov.u32 %r1, tile; mov.u32 %r2, bar2;\n"
         "mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.init.shared::cta.b64 [bar2], 1;\n"
         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
         all +
         ";\n"
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], " +
         all + ", [bar];\n" + wait("FIRST", "bar") + copy +
         "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], " + all + ";\nret; }\n";
}

struct TensorOutcome {
  LaunchSummary summary;
  std::vector<std::uint8_t> shared, tensor;
};

inline TensorOutcome run_tensor(const TensorCase& c) {
  const std::uint64_t bytes =
      c.operation == TensorCase::load ? c.map(0).box_bytes() : std::uint64_t{0};
  Bench bench(tensor_kernel(tensor_instruction(c), bytes));
  const auto from = bench.upload(initial_shared(c), "from");
  const auto to = bench.machine.allocate(kTensorShared, "to");
  const auto tensor = bench.upload(tensor_words(kTensorBytes / 4, 0), "tensor");
  const auto map = bench.upload(std::vector<TensorMapImage>{c.map(tensor)}, "map");
  TensorOutcome outcome;
  outcome.summary =
      bench.run("k", {1}, {1}, {.threads = 1, .max_instructions = 100'000}, from, to, map);
  outcome.shared = bench.download<std::uint8_t>(to, kTensorShared);
  outcome.tensor = bench.download<std::uint8_t>(tensor, kTensorBytes);
  return outcome;
}

}  // namespace tilescope::emulator::test
