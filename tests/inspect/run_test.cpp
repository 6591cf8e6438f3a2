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

}  // namespace
}  // namespace tilescope
