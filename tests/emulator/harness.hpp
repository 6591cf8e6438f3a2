// Runs single PTX instructions, or small kernels, on the emulator and returns their results.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/lane_key.hpp"
#include "emulator/machine.hpp"
#include "ptx/module_parser.hpp"
#include "support/gpus.hpp"

namespace tilescope::emulator::test {

inline constexpr std::string_view kHeader = ".version 8.6\n.target sm_90\n.address_size 64\n";

// Floats as the words of registers; every NaN as the one that instructions return.
inline std::uint32_t u32(std::uint64_t v) {
  return static_cast<std::uint32_t>(v);
}
inline float f32(std::uint64_t v) {
  return std::bit_cast<float>(u32(v));
}
inline double f64(std::uint64_t v) {
  return std::bit_cast<double>(v);
}
inline std::uint64_t bits(float v) {
  return std::isnan(v) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(v);
}
inline std::uint64_t bits(double v) {
  return std::isnan(v) ? 0xfff8000000000000u : std::bit_cast<std::uint64_t>(v);
}

template <class... T>
std::vector<std::uint8_t> pack(const T&... values) {
  std::vector<std::uint8_t> bytes;
  [[maybe_unused]] const auto add = [&](const auto& value) {
    const std::size_t at = (bytes.size() + sizeof value - 1) / sizeof value * sizeof value;
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  (add(values), ...);
  return bytes;
}

/// Blocks are compiled when they run for the second time, unless the environment says otherwise.
class CompileSoon {
 public:
  CompileSoon() : sets_(std::getenv(kName) == nullptr) {
    if (sets_) setenv(kName, "2", 1);
  }
  ~CompileSoon() {
    if (sets_) unsetenv(kName);
  }

 private:
  static constexpr const char* kName = "TILESCOPE_COMPILE_AFTER";
  bool sets_;
};

/// A machine with one module.
class Bench {
 public:
  explicit Bench(const std::string& text)
      : machine(tilescope::testing::h200()), module(machine.load(ptx::parse(text, "test.ptx"))) {}

  template <class T>
  std::uint64_t upload(const std::vector<T>& values, std::string_view name) {
    const std::uint64_t address = machine.allocate(values.size() * sizeof(T), name);
    machine.copy_to_device(address, values.data(), values.size() * sizeof(T));
    return address;
  }
  template <class T>
  std::vector<T> download(std::uint64_t address, std::size_t count) {
    std::vector<T> values(count);
    machine.copy_to_host(values.data(), address, count * sizeof(T));
    return values;
  }
  template <class... T>
  LaunchSummary run(std::string_view kernel, Dim3 grid, Dim3 block, const LaunchOptions& options,
                    const T&... arguments) {
    return machine.launch(*module, kernel, grid, block, 0, pack(arguments...), options);
  }

  Machine machine;
  std::shared_ptr<LoadedModule> module;
};

inline std::string data_file(std::string_view name) {
  std::ifstream file(std::string(TILESCOPE_TEST_DATA "/emulator/") + std::string(name));
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The lane kernels that this machine can run: results must not depend on which is chosen.
inline std::vector<const LaneKernels*> all_lane_kernels() {
  std::vector<const LaneKernels*> sets;
  for (const char* name : {"baseline", "v3", "v4"}) {
    if (const LaneKernels* found = lane_kernels(name)) sets.push_back(found);
  }
  return sets;
}

using Row = std::array<std::uint64_t, 4>;

/// Runs `text` (one or several instructions on registers %a, %b, %c, %d that leave their result in
/// %r) once for each row of operands. `types` are the register types of the operands, then that of
/// the result: b16, b32, b64, f32, f64 or pred. Values are bits in the low end of 64. With every
/// set of lane kernels; they must agree.
inline std::vector<std::uint64_t> run_rows(const std::string& text,
                                           const std::vector<std::string>& types,
                                           const std::vector<Row>& rows) {
  const std::size_t operands = types.size() - 1;
  const std::string names = "abcd";
  std::string ptx(kHeader);
  ptx += ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n";
  ptx += ".reg .pred %out_of; .reg .b32 %i, %n, %t, %tx, %bx; .reg .b64 %at, %to, %v, %i8;\n";
  for (std::size_t i = 0; i < operands; ++i) {
    ptx += ".reg ." + types[i] + " %" + names[i] + ";\n";
  }
  ptx += ".reg ." + types.back() + " %r;\n";
  ptx += "mov.u32 %tx, %tid.x; mov.u32 %bx, %ctaid.x; mad.lo.u32 %i, %bx, 96, %tx;\n";
  ptx += "ld.param.u32 %n, [n]; setp.ge.u32 %out_of, %i, %n; @%out_of bra DONE;\n";
  ptx += "ld.param.u64 %at, [in]; mul.wide.u32 %i8, %i, 32; add.u64 %at, %at, %i8;\n";
  for (std::size_t i = 0; i < operands; ++i) {
    const std::string reg = std::string("%") + names[i];
    ptx += "ld.global.u64 %v, [%at+" + std::to_string(i * 8) + "];\n";
    if (types[i] == "b16") ptx += "cvt.u16.u64 " + reg + ", %v;\n";
    if (types[i] == "b32") ptx += "cvt.u32.u64 " + reg + ", %v;\n";
    if (types[i] == "f32") ptx += "cvt.u32.u64 %t, %v; mov.b32 " + reg + ", %t;\n";
    if (types[i] == "b64" || types[i] == "f64") ptx += "mov.b64 " + reg + ", %v;\n";
    if (types[i] == "pred") ptx += "setp.ne.u64 " + reg + ", %v, 0;\n";
  }
  ptx += text + "\n";
  if (types.back() == "b16") ptx += "cvt.u64.u16 %v, %r;\n";
  if (types.back() == "b32") ptx += "cvt.u64.u32 %v, %r;\n";
  if (types.back() == "f32") ptx += "mov.b32 %t, %r; cvt.u64.u32 %v, %t;\n";
  if (types.back() == "b64" || types.back() == "f64") ptx += "mov.b64 %v, %r;\n";
  if (types.back() == "pred") ptx += "selp.u64 %v, 1, 0, %r;\n";
  ptx += "ld.param.u64 %to, [out]; mul.wide.u32 %i8, %i, 8; add.u64 %to, %to, %i8;\n";
  ptx += "st.global.u64 [%to], %v;\nDONE: ret;\n}\n";

  const LaneKernels& before = lane_kernels();
  std::vector<std::uint64_t> first;
  for (const LaneKernels* set : all_lane_kernels()) {
    use_lane_kernels(*set);
    Bench bench(ptx);
    const std::uint64_t in = bench.upload(rows, "in");
    const std::uint64_t out = bench.machine.allocate(rows.size() * 8, "out");
    const auto n = static_cast<std::uint32_t>(rows.size());
    const LaunchSummary summary = bench.run("k", {(n + 95) / 96}, {96}, {.threads = 1}, in, out, n);
    EXPECT_TRUE(summary.complete()) << summary.message;
    EXPECT_EQ(summary.fault_count, 0u);
    const auto result = bench.download<std::uint64_t>(out, rows.size());
    if (first.empty()) first = result;
    EXPECT_EQ(first, result) << text << " with " << set->name;
  }
  use_lane_kernels(before);
  return first;
}

// --- operands
// ---------------------------------------------------------------------------------------

inline std::vector<std::uint64_t> integer_edges(unsigned bits) {
  const std::uint64_t ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t high = std::uint64_t{1} << (bits - 1);
  return {0,
          1,
          2,
          3,
          7,
          31,
          32,
          33,
          63,
          64,
          255,
          high,
          high - 1,
          high + 1,
          ones,
          ones - 1,
          0x5555555555555555u & ones,
          0x123456789abcdef0u & ones};
}

inline std::vector<std::uint64_t> float_edges() {
  std::vector<std::uint64_t> bits;
  for (const float v : {0.0f,
                        -0.0f,
                        1.0f,
                        -1.0f,
                        0.5f,
                        1.5f,
                        2.5f,
                        -2.5f,
                        3.0f,
                        1e-3f,
                        123456.78f,
                        1e38f,
                        -1e38f,
                        0x1p-126f,
                        0x1p-149f,
                        -0x1p-140f,
                        0x1.fffffep127f,
                        0x1p31f,
                        -0x1p31f,
                        0x1p32f,
                        0x1p63f,
                        0x1p64f,
                        65504.0f,
                        65520.0f,
                        0x1p-24f,
                        0x1p-25f}) {
    bits.push_back(std::bit_cast<std::uint32_t>(v));
  }
  for (const std::uint32_t v : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u, 0x7f800001u}) {
    bits.push_back(v);
  }
  return bits;
}

inline std::vector<std::uint64_t> double_edges() {
  std::vector<std::uint64_t> bits;
  for (const double v : {0.0,
                         -0.0,
                         1.0,
                         -1.0,
                         0.5,
                         1.5,
                         2.5,
                         -2.5,
                         3.0,
                         1e-3,
                         123456.789,
                         1e300,
                         -1e300,
                         0x1p-1022,
                         0x1p-1074,
                         -0x1p-1060,
                         0x1.fffffffffffffp1023,
                         0x1p31,
                         -0x1p31,
                         0x1p32,
                         0x1p63,
                         -0x1p63,
                         0x1p64,
                         0x1p-126,
                         0x1p-150,
                         3e38,
                         4e38}) {
    bits.push_back(std::bit_cast<std::uint64_t>(v));
  }
  for (const std::uint64_t v : {0x7ff0000000000000u, 0xfff0000000000000u, 0x7ff8000000000000u}) {
    bits.push_back(v);
  }
  return bits;
}

/// All pairs (or triples) of the edges, and random bits behind them.
inline std::vector<Row> rows_of(const std::vector<std::uint64_t>& edges, unsigned operands,
                                unsigned bits, std::size_t random = 500) {
  std::vector<Row> rows;
  const std::size_t n = edges.size();
  const std::size_t count = operands == 1 ? n : operands == 2 ? n * n : n * n * n / 3;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t j = operands >= 3 ? i * 3 + i % 3 : i;
    rows.push_back({edges[j % n], edges[j / n % n], edges[j / n / n % n], edges[(i * 7 + 3) % n]});
  }
  std::mt19937_64 generator(operands * 131 + bits);
  const std::uint64_t keep = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  for (std::size_t i = 0; i < random; ++i) {
    rows.push_back(
        {generator() & keep, generator() & keep, generator() & keep, generator() & keep});
  }
  return rows;
}

/// Compares with `expected(row)`, naming the operands of the first few rows that differ.
template <class F>
void expect_rows(const std::string& text, const std::vector<std::string>& types,
                 const std::vector<Row>& rows, F expected) {
  const std::vector<std::uint64_t> results = run_rows(text, types, rows);
  ASSERT_EQ(results.size(), rows.size());
  int shown = 0;
  for (std::size_t i = 0; i < rows.size() && shown < 5; ++i) {
    const std::uint64_t want = expected(rows[i]);
    if (results[i] == want) continue;
    ++shown;
    ADD_FAILURE() << text << std::hex << " a=" << rows[i][0] << " b=" << rows[i][1]
                  << " c=" << rows[i][2] << " d=" << rows[i][3] << ": got " << results[i]
                  << ", want " << want;
  }
}

}  // namespace tilescope::emulator::test
