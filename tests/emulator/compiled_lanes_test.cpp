// Operations whose operands follow from the thread's index: compiled code for one warp knows the
// result of each lane. Each operation is one line of a kernel; the interpreter gives the same.
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string_view>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

constexpr std::uint32_t kGrid = 8, kBlock = 64;

/// Each with its result in %d (32 bits) or %l (64 bits); %a, %b, %c, %w and %v depend on %tid.x.
constexpr std::string_view kOperations[] = {
    "add.s32 %d, %a, %b",
    "sub.s32 %d, %a, %b",
    "mul.lo.s32 %d, %a, %b",
    "mad.lo.s32 %d, %a, %b, %c",
    "mul.hi.s32 %d, %a, %b",
    "mul.hi.u32 %d, %a, %b",
    "mul.wide.s32 %l, %a, %b",
    "mul.wide.u32 %l, %a, %b",
    "mad.wide.s32 %l, %a, %b, %w",
    "div.s32 %d, %a, %b",
    "div.u32 %d, %a, %b",
    "rem.s32 %d, %a, %b",
    "rem.u32 %d, %a, %b",
    "div.s64 %l, %w, %v",
    "rem.u64 %l, %w, %v",
    "shl.b32 %d, %a, %b",
    "shr.u32 %d, %a, %b",
    "shr.s32 %d, %a, %b",
    "shl.b64 %l, %w, %b",
    "shr.u64 %l, %w, %b",
    "shr.s64 %l, %w, %b",
    "and.b32 %d, %a, %b",
    "or.b64 %l, %w, %v",
    "xor.b32 %d, %a, %b",
    "not.b32 %d, %a",
    "neg.s64 %l, %w",
    "min.s32 %d, %a, %b",
    "max.s32 %d, %a, %b",
    "min.u32 %d, %a, %b",
    "max.u64 %l, %w, %v",
    "cvt.s64.s32 %l, %a",
    "cvt.u64.u32 %l, %a",
    "cvt.u32.u64 %d, %w",
    "cvt.u32.u8 %d, %a",
    "mov.u64 %l, %w",
    "selp.b32 %d, %a, %b, %p",
    "setp.lt.s32 %q, %a, %b; selp.b32 %d, 1, 2, %q",
    "setp.hi.u32 %q, %a, %b; selp.b32 %d, 1, 2, %q",
    "setp.ge.s64 %q, %w, %v; selp.b32 %d, 1, 2, %q",
    "setp.ne.u64 %q, %w, %v; and.pred %q, %q, %p; selp.b32 %d, 1, 2, %q",
    "not.pred %q, %p; xor.pred %q, %q, %o; selp.b32 %d, 1, 2, %q",
    "or.pred %q, %p, %o; selp.b64 %l, %w, %v, %q",
    "setp.lt.u32 %q, %a, %b; @%q bra L{0}; add.s32 %d, %d, 7; L{0}: ",
    "setp.lt.u32 %q, %a, %b; @!%q bra L{0}; add.s32 %d, %d, 7; L{0}: ",
};

/// `values`: chooses the operands.
std::string kernel_of_operations(std::mt19937& values) {
  std::string text = std::string(kHeader) + R"(
    .visible .entry k(.param .u64 results) {
      .reg .b32 %a, %b, %c, %d, %t, %i; .reg .b64 %l, %w, %v, %at; .reg .pred %p, %q, %o;
      ld.param.u64 %at, [results];
      mov.u32 %t, %tid.x;
      mad.lo.u32 %i, %ctaid.x, 64, %t;
      mul.wide.u32 %l, %i, 1024;
      add.u64 %at, %at, %l;
)";
  const auto word = [&] { return static_cast<std::int32_t>(values()); };
  const auto operand = [&](std::string_view name) {
    switch (values() % 6) {
      case 0:
        return fmt::format("mov.u32 {}, %t;\n", name);
      case 1:
        return fmt::format("and.b32 {}, %t, {};\n", name, values() % 64);
      case 2:  // 0, -1 and 1 among them
        return fmt::format("sub.s32 {}, %t, {};\n", name, values() % 64);
      case 3:
        return fmt::format("mov.u32 {}, {};\n", name, values() % 2 == 0 ? -1 : word());
      case 4:
        return fmt::format("shl.b32 {0}, %t, 31;\nor.b32 {0}, {0}, {1};\n", name, values() % 3);
      default:
        return fmt::format("mul.lo.s32 {0}, %t, {1};\nxor.b32 {0}, {0}, {2};\n", name, word(),
                           word());
    }
  };
  int number = 0;
  for (const std::string_view operation : kOperations) {
    for (const std::string_view name : {"%a", "%b", "%c"}) text += operand(name);
    text += fmt::format("mul.wide.s32 %w, %a, {};\n", word());
    text += values() % 3 == 0 ? "mov.b64 %v, %w;\n" : "cvt.s64.s32 %v, %b;\n";
    text += fmt::format("setp.gt.u32 %p, %t, {};\nsetp.eq.u32 %o, %t, {};\n", values() % 70,
                        values() % 64);
    text += fmt::format("mov.u32 %d, 0;\nmov.u64 %l, 0;\n{};\n",
                        fmt::format(fmt::runtime(operation), number));
    text += fmt::format("st.global.u32 [%at+{}], %d;\nst.global.u64 [%at+{}], %l;\n", number * 16,
                        number * 16 + 8);
    ++number;
  }
  return text + "ret;\n}\n";
}

std::vector<std::uint32_t> results_of(const std::string& ptx, bool interpret) {
  Bench bench(ptx);
  const std::size_t count = std::size_t{kGrid} * kBlock * 256;
  const std::uint64_t results = bench.upload(std::vector<std::uint32_t>(count, 0), "results");
  LaunchOptions options{.threads = 1};
  options.interpret = interpret;
  EXPECT_EQ(bench.run("k", {kGrid}, {kBlock}, options, results).end, LaunchEnd::complete);
  return bench.download<std::uint32_t>(results, count);
}

TEST(CompiledLanes, KnowEveryOperation) {
  setenv("TILESCOPE_COMPILE_AFTER", "2", 1);
  std::mt19937 values(3);
  for (int i = 0; i < 20; ++i) {
    const std::string ptx = kernel_of_operations(values);
    const std::vector<std::uint32_t> expected = results_of(ptx, true);
    const std::vector<std::uint32_t> found = results_of(ptx, false);
    for (std::size_t at = 0; at < expected.size(); ++at) {
      ASSERT_EQ(expected[at], found[at])
          << "thread " << at / 256 << ": " << kOperations[at % 256 / 4] << "\n"
          << ptx;
    }
  }
  unsetenv("TILESCOPE_COMPILE_AFTER");
}

}  // namespace
}  // namespace tilescope::emulator::test
