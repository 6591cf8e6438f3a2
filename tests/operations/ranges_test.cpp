// Calls that take std::vector, std::array and std::span, and their element types from them.
#include <array>
#include <span>
#include <tilescope/blur.hpp>
#include <tilescope/gemm.hpp>
#include <tilescope/histogram.hpp>
#include <tilescope/laplacian.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/reverse.hpp>
#include <tilescope/saxpb.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/transpose.hpp>
#include <tilescope/vector_add.hpp>
#include <type_traits>
#include <vector>

#include "base/half.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"

namespace other_library {
struct Half {
  std::uint16_t bits;
};
}  // namespace other_library

template <>
struct tilescope::ElementType<other_library::Half> {
  static constexpr DataType value = DataType::float16;
};

namespace tilescope {
namespace {

using other_library::Half;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

static_assert(data_type_of<float>() == DataType::float32);
static_assert(data_type_of<double>() == DataType::float64);
static_assert(data_type_of<bool>() == DataType::boolean);
static_assert(data_type_of<signed char>() == DataType::int8);
static_assert(data_type_of<std::uint16_t>() == DataType::uint16);
static_assert(data_type_of<long long>() == DataType::int64);
static_assert(data_type_of<const Half>() == DataType::float16);
static_assert(!Element<long double> && !Element<std::string> && !Element<ConstMatrixView>);

static_assert(std::is_convertible_v<std::vector<float>&, ArrayView>);
static_assert(std::is_convertible_v<std::span<double>, ArrayView>);
static_assert(std::is_convertible_v<const std::vector<float>&, ConstArrayView>);
static_assert(!std::is_convertible_v<const std::vector<float>&, ArrayView>, "read-only");
static_assert(!std::is_convertible_v<std::span<const float>, ArrayView>, "read-only");
static_assert(!std::is_convertible_v<std::vector<float>, ArrayView>, "gone before it can be read");
static_assert(!std::is_convertible_v<std::vector<bool>&, ConstArrayView>, "bits are no elements");
static_assert(!std::is_convertible_v<ConstArrayView, ArrayView>);
static_assert(!ElementSpan<std::vector<float>> && ElementSpan<std::span<const float>>);

class Ranges : public ::testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<Device> device_ = Device::open(GetParam());
};

TEST_P(Ranges, ListsHaveTheirTypes) {
  const std::vector<double> x{1, 2, 3, 4};
  std::vector<double> y(4);
  saxpb(*device_, 2.0, x, 1.0, y);
  EXPECT_THAT(y, ElementsAre(3, 5, 7, 9));
  vector_add(*device_, x, y, std::span(y).first(4));
  EXPECT_THAT(y, ElementsAre(4, 7, 10, 13));
  const std::array<std::int32_t, 3> numbers{5, -2, 9};
  std::array<std::int32_t, 3> reversed{};
  reverse(*device_, numbers, reversed);
  EXPECT_THAT(reversed, ElementsAre(9, -2, 5));
  EXPECT_EQ(reduce(*device_, numbers, Reduction::sum).integer, 12);
  EXPECT_EQ(reduce(*device_, std::span(x).subspan(1, 2), Reduction::max).real, 3.0);
  const std::vector<std::uint8_t> bytes{7, 7, 200};
  EXPECT_EQ(histogram(*device_, bytes).counts.at(7), 2U);
}

TEST_P(Ranges, MatricesHaveTheirShapes) {
  const std::vector<std::int16_t> x{1, 2, 3, 4, 5, 6};
  std::vector<std::int16_t> y(6);
  transpose(*device_, dense_view(x, 2, 3), dense_view(y, 3, 2));
  EXPECT_THAT(y, ElementsAre(1, 4, 2, 5, 3, 6));
  const std::vector<float> grid{0, 1, 0, 0};
  std::vector<float> next(4);
  laplacian(*device_, dense_view(grid, 2, 2), dense_view(next, 2, 2));
  EXPECT_THAT(next, ElementsAre(1, -4, 0, 1));
  scale(*device_, 3.0, dense_view(grid, 1, 4), dense_view(next, 1, 4));
  EXPECT_THAT(next, ElementsAre(0, 3, 0, 0));
  const std::vector<std::uint8_t> picture{0, 90, 0};
  std::vector<std::uint8_t> blurred(3);
  blur(*device_, picture, blurred, 1, 3, 1);
  EXPECT_THAT(blurred, ElementsAre(45, 30, 45));
}

TEST_P(Ranges, ProductsOfMixedTypes) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  const std::vector<double> b{1, 0, -1, 2, 1, 1};
  std::vector<double> c(4);
  matmul(*device_, a, b, c, {2, 2, 3});
  EXPECT_THAT(c, ElementsAre(2, 7, 5, 16));
  std::vector<Half> half;
  for (const float value : a) half.push_back({float32_to_float16(value)});
  const std::vector<float> bias{10, 20};
  std::vector<float> sums(4);
  matmul(*device_, half, std::span(b), sums, {2, 2, 3},
         {.precision = Precision::fp16, .bias = bias});
  EXPECT_THAT(sums, ElementsAre(12, 27, 15, 36));
}

INSTANTIATE_TEST_SUITE_P(Devices, Ranges, ::testing::Values("cpu", "emulated"));

TEST(RangeArguments, SpansOfDeviceMemory) {
  const auto device = Device::open("emulated");
  const std::vector<float> a{1, 2, 3, 4}, b{0, 1, 1, 0};
  const Buffer in = device->allocate(sizeof(float) * 8), out = device->allocate(sizeof(float) * 4);
  device->copy_to_device(in.address(), a.data(), 16);
  device->copy_to_device(in.address() + 16, b.data(), 16);
  const std::span<const float> memory(reinterpret_cast<const float*>(in.address()), 8);
  const std::span<float> result(reinterpret_cast<float*>(out.address()), 4);
  std::vector<float> c(4);
  const auto expect_product = [&] {
    device->copy_to_host(c.data(), out.address(), 16);
    EXPECT_THAT(c, ElementsAre(2, 1, 4, 3));
    device->fill(out.address(), 0, 16);
  };
  const PreparedGemm product(*device, memory.first(4), memory.last(4), result, {2, 2, 2});
  product.launch();
  expect_product();
  Gemm gemm(device);
  gemm(memory.first(4), memory.last(4), result, {2, 2, 2});
  expect_product();
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         PreparedGemm(*device, memory, memory, result, {2, 2, 2});
                       }),
              HasSubstr("A is 2 x 2, and its list has 8 elements"));
}

TEST(RangeArguments, ListsThatDoNotFitTheirShape) {
  const auto cpu = Device::open("cpu");
  std::vector<float> six(6), four(4), five(5);
  const auto refused = [&](auto& a, auto& b, auto& c, const MatmulShape& shape) {
    return error_of(ErrorKind::usage, [&] { matmul(*cpu, a, b, c, shape); });
  };
  EXPECT_THAT(refused(five, six, four, {2, 2, 3}), HasSubstr("A is 2 x 3, and its list has 5"));
  EXPECT_THAT(refused(six, five, four, {2, 2, 3}), HasSubstr("B is 3 x 2, and its list has 5"));
  EXPECT_THAT(refused(six, six, five, {2, 2, 3}), HasSubstr("C is 2 x 2, and its list has 5"));
  EXPECT_THAT(refused(six, six, four, {-2, -2, -3}), HasSubstr("A is -2 x -3"));
  constexpr std::int64_t huge = std::int64_t{1} << 40U;
  EXPECT_THAT(refused(six, six, four, {huge, huge, huge}), HasSubstr("its list has 6"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { (void)dense_view(six, 4, 2); }),
              HasSubstr("the matrix is 4 x 2, and its list has 6"));
  std::vector<std::uint8_t> pixels(12), few(11);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { blur(*cpu, pixels, few, 2, 2, 3); }),
              HasSubstr("the result is 2 x 6, and its list has 11"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { blur(*cpu, few, pixels, 2, 2, 3); }),
              HasSubstr("the picture is 2 x 6"));
}

// Each device form has its tests in prepared_gemm_test and prepared_operation_test.
TEST(RangeArguments, ResultsThatShareMemoryAreRefused) {
  for (const char* const name : {"cpu", "emulated"}) {
    const auto device = Device::open(name);
    std::vector<float> x(32), bias(4);
    const std::span<float> all(x);
    const auto product = [&](std::span<float> a, std::span<float> b, std::span<float> c,
                             std::span<const float> with) {
      return error_of(ErrorKind::usage, [&] {
        matmul(*device, a, b, c, {2, 4, 2}, {.bias = with});
      });
    };
    const auto part = [&](std::size_t first, std::size_t count) {
      return all.subspan(first, count);
    };
    EXPECT_THAT(product(part(0, 4), part(16, 8), part(3, 8), {}),
                HasSubstr("C shares memory with A"));
    EXPECT_THAT(product(part(0, 4), part(16, 8), part(23, 8), {}), HasSubstr("with B"));
    EXPECT_THAT(product(part(0, 4), part(16, 8), part(4, 8), part(11, 4)),
                HasSubstr("C shares memory with the bias"));
    EXPECT_NO_THROW(
        matmul(*device, part(0, 4), part(16, 8), part(4, 8), {2, 4, 2}, {.bias = part(12, 4)}));

    const auto shares = [&](const auto& call) {
      EXPECT_THAT(error_of(ErrorKind::usage, call), HasSubstr("shares memory with an input"));
    };
    shares([&] { reverse(*device, part(0, 8), part(7, 8)); });
    shares([&] { transpose(*device, dense_view(x, 4, 8), dense_view(x, 8, 4)); });
    shares([&] { laplacian(*device, dense_view(x, 4, 8), dense_view(x, 4, 8)); });
    std::vector<std::uint8_t> pixels(8);
    shares([&] { blur(*device, pixels, pixels, 2, 4, 1); });
    EXPECT_NO_THROW(reverse(*device, part(0, 8), part(8, 8)));
    const auto shares_a_part = [&](const auto& call) {
      EXPECT_THAT(error_of(ErrorKind::usage, call),
                  HasSubstr("shares a part of an input's memory"));
    };
    shares_a_part([&] { saxpb(*device, 2.0, part(0, 8), 1.0, part(1, 8)); });
    shares_a_part([&] { vector_add(*device, part(0, 8), part(8, 8), part(7, 8)); });
    shares_a_part(
        [&] { scale(*device, 2.0, dense_view(part(0, 8), 2, 4), dense_view(part(1, 8), 2, 4)); });
    EXPECT_NO_THROW(vector_add(*device, part(0, 8), part(8, 8), part(8, 8)));
    const auto has_no_memory = [&](const auto& call) {
      EXPECT_THAT(error_of(ErrorKind::usage, call), HasSubstr("bytes and no memory"));
    };
    const std::span<float> nothing(static_cast<float*>(nullptr), 8);
    has_no_memory([&] { saxpb(*device, 2.0, nothing, 1.0, part(0, 8)); });
    has_no_memory([&] { reverse(*device, part(0, 8), nothing); });
    has_no_memory([&] { reverse(*device, nothing, nothing); });
    EXPECT_NO_THROW(reverse(*device, nothing.first(0), nothing.first(0)));
    EXPECT_NO_THROW(saxpb(*device, 2.0, part(0, 8), 1.0, part(0, 8)));  // in place
  }
}

}  // namespace
}  // namespace tilescope
