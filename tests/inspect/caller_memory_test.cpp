// Arguments that lie in memory of the caller: used in place, each with bounds of its own.
#include <numeric>
#include <tilescope/check.hpp>
#include <tilescope/explain.hpp>
#include <tilescope/run.hpp>

#include "inspect_case.hpp"

namespace tilescope {
namespace {

using ::testing::Each;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const SourceText add_vectors{
    "__global__ void add(const float* x, const float* y, float* z, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) z[i] = x[i] + y[i];\n"
    "}\n"};

ArrayView view(std::vector<float>& list) {
  ArrayView whole;
  whole.count = list.size();
  whole.data = list.data();
  return whole;
}

ArrayView part(std::vector<float>& list, std::size_t from, std::size_t count) {
  ArrayView some = view(list);
  some.data = list.data() + from;
  some.count = count;
  return some;
}

struct CallerMemoryTest : testing::InspectTest {
  std::vector<float> x = std::vector<float>(200), y = std::vector<float>(200, 0.5F),
                     z = std::vector<float>(200, -1.0F);

  void SetUp() override {
    testing::InspectTest::SetUp();
    std::iota(x.begin(), x.end(), 0.0F);
  }
  LaunchDescription launch(int n) {
    return {.grid = Dim3{2},
            .block = Dim3{128},
            .arguments = {LaunchArgument::in_memory(static_cast<const ConstArrayView&>(view(x))),
                          LaunchArgument::in_memory(view(y)), LaunchArgument::in_memory(view(z)),
                          LaunchArgument::scalar(n)}};
  }
  void expect_sums() {
    for (std::size_t i = 0; i < z.size(); ++i) ASSERT_EQ(z[i], x[i] + 0.5F) << i;
  }
};

TEST_F(CallerMemoryTest, ResultsAreInTheCallersMemoryWhateverLooksOn) {
  const CheckResult checked = check(add_vectors, launch(200));
  EXPECT_THAT(checked.findings, IsEmpty());
  expect_sums();
  std::ranges::fill(z, -1.0F);
  const ExplainResult explained = explain(add_vectors, launch(200));
  EXPECT_EQ(explained.counts.totals.global_store.sectors, 25U);
  expect_sums();
  std::ranges::fill(z, -1.0F);
  const RunResult ran = run(add_vectors, launch(200), {.device = "emulated"});
  EXPECT_THAT(ran.arrays, IsEmpty()) << "the caller has them";
  expect_sums();
}

TEST_F(CallerMemoryTest, AnOverrunIsOfItsArrayAndLeavesNeighboursAlone) {
  // One piece of memory in three arrays, so that an overrun could reach the next.
  std::vector<float> all(600, 1.0F);
  LaunchDescription described = launch(256);
  described.arguments[0] = LaunchArgument::in_memory(part(all, 0, 200));
  described.arguments[1] = LaunchArgument::in_memory(part(all, 400, 200), "second");
  described.arguments[2] = LaunchArgument::in_memory(part(all, 200, 200));
  const CheckResult result = check(add_vectors, described);
  ASSERT_EQ(result.findings.size(), 3U);
  std::vector<std::string> names;
  for (const Finding& finding : result.findings) {
    EXPECT_EQ(finding.kind, FindingKind::out_of_bounds);
    ASSERT_TRUE(finding.memory.has_value());
    names.push_back(finding.memory->object);
    EXPECT_EQ(finding.count, 56U);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("x", "second", "z"));
  EXPECT_THAT(std::vector<float>(all.begin() + 400, all.end()), Each(1.0F));
}

TEST_F(CallerMemoryTest, OverlappingArgumentsAreOneArray) {
  LaunchDescription described = launch(100);
  described.arguments[0] = LaunchArgument::in_memory(part(z, 0, 150));
  described.arguments[2] = LaunchArgument::in_memory(part(z, 1, 150));
  described.grid = Dim3{1};
  const CheckResult result = check(add_vectors, described);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, FindingKind::race);
  EXPECT_EQ(result.findings[0].memory->object, "x, z");
}

TEST_F(CallerMemoryTest, ReadOnlyMemoryIsReadAndNeverWritten) {
  LaunchDescription described = launch(200);
  const std::vector<float> before = x;
  std::swap(described.arguments[0], described.arguments[2]);
  const std::string error =
      error_of(ErrorKind::usage, [&] { run(add_vectors, described, {.device = "emulated"}); });
  EXPECT_EQ(error, "the kernel writes z, whose memory is read-only; give it a copy");
  EXPECT_EQ(x, before);
}

TEST_F(CallerMemoryTest, MisalignedMemoryStaysSo) {
  const SourceText source{
      "__global__ void k(float4* x) { x[threadIdx.x] = make_float4(1, 2, 3, 4); }\n"};
  std::vector<float> list(64);
  const std::size_t aligned =
      (16 - reinterpret_cast<std::uintptr_t>(list.data()) % 16) % 16 / sizeof(float);
  const auto inspect = [&](std::size_t from) {
    return check(source, {.grid = Dim3{1},
                          .block = Dim3{8},
                          .arguments = {LaunchArgument::in_memory(part(list, from, 32))}});
  };
  EXPECT_THAT(inspect(aligned).findings, IsEmpty());
  const CheckResult result = inspect(aligned + 1);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].kind, FindingKind::misaligned);
}

TEST_F(CallerMemoryTest, KernelsFindMemoryThatIsInPlaceByPointers) {
  const SourceText source{
      "__global__ void k(float** lists) { lists[blockIdx.x][threadIdx.x] += 1; }\n"};
  std::vector<std::uint64_t> addresses = {reinterpret_cast<std::uint64_t>(x.data()),
                                          reinterpret_cast<std::uint64_t>(y.data())};
  ArrayView list;
  list.type = DataType::uint64;
  list.count = 2;
  list.data = addresses.data();
  LaunchDescription described{
      .grid = Dim3{2},
      .block = Dim3{200},
      .arguments = {LaunchArgument::in_memory(list)},
      .arrays = {LaunchArgument::in_memory(view(x), "x"), LaunchArgument::in_memory(view(y), "y")}};
  EXPECT_THAT(check(source, described).findings, IsEmpty());
  EXPECT_EQ(x[199], 200.0F);
  EXPECT_THAT(y, Each(1.5F));
  described.block = Dim3{201};
  EXPECT_THAT(check(source, described).findings, ::testing::SizeIs(::testing::Ge(1U)));
}

TEST_F(CallerMemoryTest, MemoryThatOverlapsInPartIsRefused) {
  LaunchDescription described = launch(10);
  described.arrays = {LaunchArgument::in_memory(part(y, 100, 100), "whole")};
  const std::string error = error_of(ErrorKind::usage, [&] { check(add_vectors, described); });
  EXPECT_THAT(error, HasSubstr("the memory of y overlaps that of whole in part"));
}

TEST_F(CallerMemoryTest, NumbersTakeTheTypeOfTheParameter) {
  const SourceText source{
      "__global__ void k(double* x, signed char a, unsigned b, long long c, float d, double e) {\n"
      "  x[0] = a; x[1] = b; x[2] = c; x[3] = d; x[4] = e;\n}\n"};
  std::vector<double> list(5);
  ArrayView values;
  values.type = DataType::float64;
  values.count = list.size();
  values.data = list.data();
  const auto launched = [&](std::vector<LaunchArgument> numbers) {
    numbers.insert(numbers.begin(), LaunchArgument::in_memory(values));
    run(source, {.grid = Dim3{1}, .block = Dim3{1}, .arguments = std::move(numbers)},
        {.device = "emulated"});
  };
  const auto whole = [](std::int64_t value) { return LaunchArgument::number(value); };
  const auto real = [](double value) { return LaunchArgument::number(value); };
  launched({whole(-5), whole(4'000'000'000), whole(-1), real(0.1), whole(7)});
  EXPECT_EQ(list, (std::vector<double>{-5, 4e9, -1, static_cast<double>(0.1F), 7}));
  const std::string large = error_of(ErrorKind::usage, [&] {
    launched({whole(300), whole(0), whole(0), real(0), real(0)});
  });
  EXPECT_THAT(large, HasSubstr("\"300\" is no value of u8"));
  const std::string fraction = error_of(ErrorKind::usage, [&] {
    launched({real(0.5), whole(0), whole(0), real(0), real(0)});
  });
  EXPECT_THAT(fraction, HasSubstr("a, is an integer of 1 byte, not a floating-point number"));
}

TEST_F(CallerMemoryTest, EmptyArraysAndNullPointers) {
  LaunchDescription described = launch(0);
  ArrayView nothing;
  described.arguments[2] = LaunchArgument::in_memory(nothing);
  for (const Finding& finding : check(add_vectors, described).findings) {
    EXPECT_EQ(finding.kind, FindingKind::wrote_nothing);
  }
  nothing.count = 4;
  described.arguments[2] = LaunchArgument::in_memory(nothing);
  const std::string error = error_of(ErrorKind::usage, [&] { check(add_vectors, described); });
  EXPECT_THAT(error, HasSubstr("its memory is null, but it has 16 bytes"));
}

}  // namespace
}  // namespace tilescope
