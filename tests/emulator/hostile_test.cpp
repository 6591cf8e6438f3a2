// Kernels that ask for too much, call for ever or jump nowhere: an error or a report, soon, in
// bounded memory.
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

std::string hostile_kernel(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before + ".visible .entry k() {\n" + body + "\nret; }\n";
}

std::string refusal_of_kernel(const std::string& text, std::uint32_t threads = 1024) {
  Bench bench(text);
  try {
    bench.run("k", {1}, {threads}, {.max_instructions = 1'000'000});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

LaunchSummary run_hostile(const std::string& text, std::uint32_t threads = 64) {
  Bench bench(text);
  return bench.run("k", {2}, {threads}, {.max_instructions = 1'000'000, .print = [](auto) {}});
}

TEST(HostileKernels, AChainOfCallsAsLongAsTheText) {
  constexpr int kCount = 20'000;
  std::string functions;
  for (int i = kCount; i >= 0; --i) {
    const std::string n = std::to_string(i);
    functions += ".func f" + n + "() { ";
    if (i < kCount) functions += "call f" + std::to_string(i + 1) + "; ";
    functions += "ret; }\n";
  }
  EXPECT_THAT(run_hostile(hostile_kernel("call f0;", functions)).message,
              HasSubstr("calls nested too deep"));
  EXPECT_TRUE(run_hostile(hostile_kernel("call f19000;", functions)).complete());
}

TEST(HostileKernels, RecursionEnds) {
  std::string wide = ".func f();\n.func f() { .reg .b64 %rd<2000>;";
  for (int i = 0; i < 2000; ++i) {
    wide += "mov.u64 %rd" + std::to_string(i) + "," + std::to_string(i) + ";\n";
  }
  for (const std::string& function :
       {std::string(".func f();\n.func f() { call f; ret; }\n"), wide + "call f; ret; }\n"}) {
    const LaunchSummary summary = run_hostile(hostile_kernel("call f;", function), 1024);
    EXPECT_EQ(summary.end, LaunchEnd::trapped);
    EXPECT_THAT(summary.message, HasSubstr("calls nested too deep"));
  }
}

TEST(HostileKernels, TooMuchLocalMemoryIsRefused) {
  std::string functions;
  for (int i = 9; i >= 0; --i) {
    const std::string n = std::to_string(i);
    functions += ".func f" + n + "() { .local .b8 x[100000]; ";
    if (i < 9) functions += "call f" + std::to_string(i + 1) + "; ";
    functions += "ret; }\n";
  }
  EXPECT_THAT(refusal_of_kernel(hostile_kernel("call f0;", functions)),
              HasSubstr("of local memory a thread"));
  EXPECT_EQ(refusal_of_kernel(hostile_kernel("call f6;", functions), 1), "");
  EXPECT_THAT(refusal_of_kernel(
                  hostile_kernel(".local .b8 x[2000000000]; .reg .b32 %r; ld.local.b32 %r, [x];")),
              HasSubstr("needs 2000000000 bytes of local memory a thread"));
}

TEST(HostileKernels, TooManyRegistersAreRefused) {
  std::string constants = ".reg .b64 %r;\n";
  for (int i = 0; i < 60'000; ++i) constants += "mov.u64 %r, " + std::to_string(i) + ";\n";
  EXPECT_THAT(refusal_of_kernel(hostile_kernel(constants)),
              HasSubstr("the PTX registers of a block"));
  EXPECT_EQ(refusal_of_kernel(hostile_kernel(constants), 32), "");
  EXPECT_EQ(refusal_of_kernel(hostile_kernel(".reg .b32 %r<4000000000>; mov.u32 %r3999999999, 1;")),
            "");
}

TEST(HostileKernels, HugeParametersAreRefused) {
  EXPECT_THAT(refusal_of_kernel(hostile_kernel(".param .b8 a[2000000000]; call f, (a);",
                                               ".func f(.param .b8 a[2000000000]) { ret; }\n")),
              HasSubstr("has 2000000000 bytes; the limit is 65536"));
}

TEST(HostileKernels, HugeSharedMemoryIsRefused) {
  EXPECT_THAT(refusal_of_kernel(hostile_kernel(
                  ".shared .b8 s[2000000000]; .reg .b32 %r; ld.shared.b32 %r, [s];")),
              HasSubstr("shared memory"));
}

TEST(HostileKernels, AnIndexBeyondTheTableOfABranch) {
  EXPECT_TRUE(
      run_hostile(hostile_kernel(".reg .b32 %r; mov.u32 %r, 4000000000;\nT: .branchtargets A, B;\n"
                                 "brx.idx %r, T;\nA: B:"))
          .complete());
}

TEST(HostileKernels, AHeapThatIsFullIsNotSearchedAgain) {
  const LaunchSummary summary = run_hostile(
      hostile_kernel(".reg .b64 %rd; .param .b64 n; .param .b64 r;\nL: mov.u64 %rd, 16;\n"
                     "st.param.b64 [n], %rd; call (r), malloc, (n); bra L;",
                     ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"),
      1024);
  EXPECT_EQ(summary.end, LaunchEnd::budget_spent);
}

TEST(HostileKernels, ALargeGridStopsAtTheLimit) {
  Bench bench(hostile_kernel(""));
  const LaunchSummary summary =
      bench.run("k", {2147483647u, 65535, 65535}, {1}, {.max_instructions = 100'000});
  EXPECT_EQ(summary.end, LaunchEnd::budget_spent);
}

}  // namespace
}  // namespace tilescope::emulator::test
