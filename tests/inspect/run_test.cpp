// run() on the emulated device: arrays of every kind go in and come back.
#include <cmath>
#include <limits>
#include <tilescope/npy.hpp>
#include <tilescope/run.hpp>

#include "inspect_case.hpp"

namespace tilescope {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class RunTest : public testing::InspectTest {
 protected:
  static RunResult run_turn(const LaunchDescription& launch) {
    return run(turn(), launch, {.device = "emulated"});
  }
};

TEST_F(RunTest, ArraysComeBackAsVectors) {
  const std::vector<float> x{1, 2, 3, 4};
  const SourceText source{
      "__global__ void axpy(const float* x, double* y, float a, bool twice, uchar2 add) {\n"
      "  y[threadIdx.x] += (twice ? 2 : 1) * a * x[threadIdx.x] + add.x + add.y;\n}\n"};
  struct Two {
    std::uint8_t x, y;
  };
  const RunResult result =
      run(source,
          {.grid = Dim3{1},
           .block = Dim3{4},
           .arguments = {LaunchArgument::array(x),
                         LaunchArgument::array(DataType::float64, 4, Initial::iota),
                         LaunchArgument::scalar(0.5F), LaunchArgument::scalar(true),
                         LaunchArgument::scalar(Two{10, 20})}},
          {.device = "emulated"});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.kernel, "axpy");
  EXPECT_EQ(result.device, "emulated:h200");
  EXPECT_FALSE(result.time_ms.has_value());
  ASSERT_EQ(result.arrays.size(), 2U);
  EXPECT_EQ(result.arrays[0].name, "x");
  EXPECT_EQ(result.arrays[0].values<float>(), x);
  EXPECT_THAT(result.arrays[1].values<double>(), ElementsAre(31, 33, 35, 37));
  EXPECT_EQ(result.arrays[1].least, 31.0);
  EXPECT_EQ(result.arrays[1].most, 37.0);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { (void)result.arrays[1].values<float>(); }),
              HasSubstr("y has elements of float64, not float32"));
}

TEST_F(RunTest, SomeElementsAndTheSummaryOfAll) {
  const SourceText nothing{"__global__ void k(float* x) {}\n"};
  std::vector<float> x(100000, 2.0F);
  x[70000] = std::numeric_limits<float>::quiet_NaN();
  x[99999] = -7.0F;
  const RunResult result =
      run(nothing, {.grid = Dim3{1}, .block = Dim3{1}, .arguments = {LaunchArgument::array(x)}},
          {.device = "emulated", .most_elements = 3});
  const RunArray& array = result.arrays.at(0);
  EXPECT_EQ(array.count, 100000U);
  EXPECT_THAT(array.values<float>(), ElementsAre(2, 2, 2));
  EXPECT_EQ(array.least, -7.0);
  EXPECT_EQ(array.most, 2.0);
  EXPECT_EQ(array.nans, 1U);
}

TEST_F(RunTest, AnEmptyArray) {
  const RunResult result = run(SourceText{"__global__ void k(float* x) {}\n"},
                               {.grid = Dim3{1},
                                .block = Dim3{1},
                                .arguments = {LaunchArgument::array(std::vector<float>{})}},
                               {.device = "emulated"});
  EXPECT_EQ(result.arrays.at(0).count, 0U);
  EXPECT_TRUE(result.arrays[0].values<float>().empty());
  EXPECT_FALSE(result.arrays[0].least.has_value());
}

TEST_F(RunTest, FilesAreWrittenUnlessTheRunFailed) {
  testing::TemporaryFolder folder;
  LaunchDescription launch = turn_launch();
  launch.arguments[0].save_to = folder / "x.npy";
  const RunResult result = run_turn(launch);
  EXPECT_EQ(result.arrays.at(0).saved_to, folder / "x.npy");
  {
    const NpyFile file(folder / "x.npy");
    ASSERT_EQ(file.header().shape, std::vector<std::uint64_t>{64});
    EXPECT_EQ(std::vector<std::byte>(file.data().begin(), file.data().end()),
              result.arrays[0].bytes);
  }
  launch.arguments[0].count = 60;
  launch.arguments[0].save_to = folder / "y.npy";
  const RunResult failed = run_turn(launch);
  EXPECT_THAT(failed.failure, HasSubstr("kernel turn failed"));
  EXPECT_EQ(failed.ran.faults, 8U);
  EXPECT_EQ(failed.arrays.at(0).saved_to, "");
  EXPECT_EQ(failed.arrays[0].values<int>().size(), 60U);
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { NpyFile file(folder / "y.npy"); }),
              HasSubstr("y.npy"));
}

TEST_F(RunTest, Errors) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { run(LadderRung{"matmul/tiled"}, {}); }),
              HasSubstr("run takes a .cu or .ptx file, not \"matmul/tiled\""));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { run(turn(), turn_launch(), {.device = "cpu"}); }),
              HasSubstr("the cpu device runs no kernels"));
  LaunchDescription launch = turn_launch();
  launch.grid = Dim3{0};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { run_turn(launch); }), HasSubstr("has no threads"));
}

const SourceText structures{R"(
struct Inner { unsigned char* bytes; double factor; };
struct Outer { float* x; int n; Inner inner; };
__global__ void fill(Outer o) {
  if (threadIdx.x < o.n) o.x[threadIdx.x] *= o.inner.factor;
  o.inner.bytes[threadIdx.x] = 7;
}
)"};

TEST_F(RunTest, PointersInsideStructures) {
  const testing::TemporaryFolder folder;
  const std::string file = folder / "bytes.npy";
  const RunResult result =
      run(structures,
          {.grid = Dim3{1},
           .block = Dim3{4},
           .arguments = {parse_argument("o={x=f32[4]=iota, i32:3, {u8[4]=zeros>" + file +
                                        ", f64:10}}")}},
          {.device = "emulated"});
  EXPECT_EQ(result.failure, "");
  ASSERT_EQ(result.arrays.size(), 2U);
  EXPECT_EQ(result.arrays[0].name, "o.x");
  EXPECT_THAT(result.arrays[0].values<float>(), ElementsAre(0, 10, 20, 3));
  EXPECT_EQ(result.arrays[1].name, "o.3.1");
  EXPECT_THAT(result.arrays[1].values<std::uint8_t>(), ElementsAre(7, 7, 7, 7));
  EXPECT_EQ(result.arrays[1].saved_to, file);
  EXPECT_EQ(NpyFile(file).header().count(), 4U);
}

TEST_F(RunTest, StructuresOfAnotherSize) {
  const auto refusal = [](const char* argument) {
    return error_of(ErrorKind::usage, [&] {
      run(structures, {.grid = Dim3{1}, .block = Dim3{4}, .arguments = {parse_argument(argument)}},
          {.device = "emulated"});
    });
  };
  EXPECT_THAT(refusal("{f32[4]=iota, i32:3}"),
              HasSubstr("parameter 1 of kernel fill, o, is 32 bytes; the members take 16, with C's "
                        "alignment"));
  EXPECT_THAT(refusal("u8:1"), HasSubstr("(a structure is written {MEMBER, ...})"));
}

const SourceText with_variables{R"(
__constant__ float coef[4];
__constant__ int shift = 5;
__device__ int counter;
__global__ void k(float* x) {
  x[threadIdx.x] = coef[threadIdx.x & 3] + shift;
  if (threadIdx.x == 0) counter++;
}
__global__ void then(float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] + counter; }
)"};

LaunchDescription launch_of(const char* kernel, std::vector<LaunchArgument> arguments) {
  return {.kernel = kernel, .grid = Dim3{1}, .block = Dim3{4}, .arguments = std::move(arguments)};
}

TEST_F(RunTest, VariablesAreSetBeforeTheLaunch) {
  LaunchDescription launch = launch_of("k", {parse_argument("f32[4]=zeros")});
  launch.constants = {parse_constant("coef=f32[4]=iota"), parse_constant("counter=i32:41"),
                      parse_constant("shift=i32:0")};
  const RunResult set = run(with_variables, launch, {.device = "emulated"});
  EXPECT_EQ(set.failure, "");
  EXPECT_THAT(set.unset, ::testing::IsEmpty());
  ASSERT_EQ(set.arrays.size(), 2U);
  EXPECT_THAT(set.arrays[0].values<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(set.arrays[1].name, "counter");
  EXPECT_THAT(set.arrays[1].values<int>(), ElementsAre(42));

  launch.constants = {};
  const RunResult unset = run(with_variables, launch, {.device = "emulated"});
  EXPECT_THAT(unset.unset, ElementsAre("coef"));  // shift has its value from the source
  EXPECT_THAT(unset.notes, ::testing::Contains(HasSubstr("coef has only zeros")));
  EXPECT_THAT(unset.arrays.at(0).values<float>(), ElementsAre(5, 5, 5, 5));
}

TEST_F(RunTest, VariablesThatDoNotFit) {
  const auto refusal = [](const char* constant) {
    LaunchDescription launch = launch_of("k", {parse_argument("f32[4]=zeros")});
    launch.constants = {parse_constant(constant)};
    return error_of(ErrorKind::usage, [&] { run(with_variables, launch, {.device = "emulated"}); });
  };
  EXPECT_THAT(
      refusal("coef=f32[5]=ones"),
      HasSubstr("--constant coef=f32[5]=ones: the variable has 16 bytes, but 20 were given"));
  EXPECT_THAT(refusal("count=i32:1"), HasSubstr("variable of this name; it uses coef, shift, "
                                                "counter"));
}

TEST_F(RunTest, LaunchesShareArraysAndVariables) {
  LaunchDescription launch = launch_of("k", {parse_argument("x", true)});
  launch.constants = {parse_constant("coef=f32[4]=iota")};
  launch.arrays = {parse_argument("x=f32[4]=zeros")};
  launch.following = {
      launch, launch_of("then", {parse_argument("x", true), parse_argument("y=f32[4]=zeros")})};
  launch.following[0].arrays = {};
  const RunResult result = run(with_variables, launch, {.device = "emulated"});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.target, "kernel.cu: k, then");
  EXPECT_EQ(result.ran.launches, 3U);
  ASSERT_EQ(result.launches.size(), 3U);
  EXPECT_EQ(result.launches[2].kernel, "then");
  ASSERT_EQ(result.arrays.size(), 2U);
  EXPECT_THAT(result.arrays[0].values<float>(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(result.arrays[1].values<float>(), ElementsAre(7, 8, 9, 10));

  launch.following[1].arguments[0] = parse_argument("z", true);
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { run(with_variables, launch, {.device = "emulated"}); }),
      HasSubstr("--arg z: the launch has no shared array of this name"));
}

TEST_F(RunTest, ClustersAreChecked) {
  LaunchDescription launch = turn_launch();
  launch.cluster = Dim3{2};
  launch.grid = Dim3{2};
  EXPECT_NO_THROW(run_turn(launch));
  launch.grid = Dim3{3};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { run_turn(launch); }),
              HasSubstr("grid 3 x 1 x 1 is not a multiple of its clusters of 2 x 1 x 1"));
}

TEST_F(RunTest, GuessesAreKept) {
  LaunchDescription launch = turn_launch();
  launch.guessed = {"grid", "n"};
  EXPECT_EQ(run_turn(launch).guessed, launch.guessed);
  launch.guessed = {"m"};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { run_turn(launch); }),
              HasSubstr("--guessed m: the launch has no such value; it has grid, block, shared, "
                        "kernel, x, n"));
}

}  // namespace
}  // namespace tilescope
