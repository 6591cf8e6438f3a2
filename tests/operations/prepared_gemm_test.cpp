// Products of operands in a device's memory: PreparedGemm and Gemm on the CPU and on emulated GPUs.
#include <cstring>
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>

#include "support/counting_device.hpp"
#include "support/gemm_in_memory.hpp"
#include "support/gpus.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using testing::GemmCase;
using testing::GemmInMemory;
using ::testing::HasSubstr;

void expect_right(Device& device, const GemmCase& of, const GemmInMemory& memory,
                  const std::string& variant) {
  const bool tensor_cores = device.kind() != DeviceKind::cpu;
  EXPECT_EQ(testing::defects(of, memory.result(), tensor_cores), "") << variant;
}

class PreparedGemms : public ::testing::TestWithParam<std::string> {};

TEST_P(PreparedGemms, RandomProblems) {
  const auto device = Device::open(GetParam());
  const Stream stream = device->create_stream();
  for (const GemmCase& of : testing::random_gemms(60, 11)) {
    SCOPED_TRACE(of.text);
    GemmInMemory memory(*device, of);
    const PreparedGemm product(*device, memory.a, memory.b, memory.c, memory.options);
    EXPECT_EQ(product.report().precision, of.problem.precision);
    EXPECT_EQ(gemm_workspace_bytes(*device, memory.a, memory.b, memory.c, memory.options),
              product.workspace_bytes());
    for (int run = 0; run < 2; ++run) {
      memory.reset();
      product.launch(stream);
      expect_right(*device, of, memory, product.report().variant);
    }
  }
}

TEST_P(PreparedGemms, TheCallThatKeepsProducts) {
  const auto device = Device::open(GetParam());
  Gemm gemm(device);
  const Stream one = device->create_stream(), other = device->create_stream();
  for (const GemmCase& of : testing::random_gemms(20, 12)) {
    SCOPED_TRACE(of.text);
    GemmInMemory first(*device, of), second(*device, of);
    for (int run = 0; run < 2; ++run) {
      first.reset();
      second.reset();
      gemm(first.a, first.b, first.c, first.options, one);
      gemm(second.a, second.b, second.c, second.options, one);
      expect_right(*device, of, first, "the first");
      expect_right(*device, of, second, "other operands");
      first.reset();
      gemm(first.a, first.b, first.c, first.options, other);
      expect_right(*device, of, first, "another stream");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PreparedGemms,
                         ::testing::Values("cpu", "emulated", "emulated:t4"), [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST(PreparedGemm, LaunchesAreAllThatALaunchDoes) {
  const auto device = std::make_shared<testing::CountingDevice>(testing::h200());
  int launched = 0;
  for (const GemmCase& of : testing::random_gemms(200, 13)) {
    SCOPED_TRACE(of.text);
    const GemmInMemory memory(*device, of);
    const PreparedGemm product(*device, memory.a, memory.b, memory.c, memory.options);
    EXPECT_EQ(device->launches + device->fills, launched) << "preparing queues nothing";
    const int before = device->host_work;
    product.launch();
    const int once = device->launches + device->fills - launched;
    product.launch();
    EXPECT_EQ(device->launches + device->fills, launched + 2 * once);
    EXPECT_EQ(device->host_work, before);
    launched += 2 * once;
  }
  EXPECT_GT(launched, 200);
}

TEST(PreparedGemm, AKeptProductDoesNoMore) {
  const auto device = std::make_shared<testing::CountingDevice>(testing::h200());
  Gemm gemm(device);
  for (const GemmCase& of : testing::random_gemms(50, 14)) {
    SCOPED_TRACE(of.text);
    const GemmInMemory memory(*device, of);
    gemm(memory.a, memory.b, memory.c, memory.options);
    const int before = device->host_work;
    gemm(memory.a, memory.b, memory.c, memory.options);
    EXPECT_EQ(device->host_work, before);
  }
}

// Every kernel that the table has for such a problem has the same bits either way.
TEST(PreparedGemm, TheBitsAreThoseOfMatmul) {
  const auto device = Device::open("emulated");
  constexpr std::int64_t m = 96, n = 64, k = 128;
  for (const Precision precision : {Precision::fp32, Precision::fp32_fast, Precision::tf32,
                                    Precision::bf16, Precision::fp16, Precision::fp64}) {
    SCOPED_TRACE(name_of(precision));
    testing::TestMatrix a(DataType::float32, m, k), b(DataType::float32, k, n),
        c(DataType::float32, m, n);
    a.fill_random(1);
    b.fill_random(2);
    const MatmulReport report =
        matmul(*device, a.view(), b.view(), c.view(), {.precision = precision});
    const auto uploaded = [&](const testing::TestMatrix& matrix) {
      const std::size_t bytes =
          sizeof(float) * static_cast<std::size_t>(matrix.view().rows * matrix.view().columns);
      Buffer buffer = device->allocate(bytes);
      device->copy_to_device(buffer.address(), matrix.view().data, bytes);
      return buffer;
    };
    const Buffer a_memory = uploaded(a), b_memory = uploaded(b), c_memory = uploaded(c);
    const auto view = [](const Buffer& buffer, std::int64_t rows, std::int64_t columns) {
      return dense_view(reinterpret_cast<void*>(buffer.address()), DataType::float32, rows,
                        columns);
    };
    device->fill(c_memory.address(), 0xFF, c_memory.bytes());
    const PreparedGemm product(*device, view(a_memory, m, k), view(b_memory, k, n),
                               view(c_memory, m, n), {.precision = precision});
    EXPECT_EQ(product.report().variant, report.variant);
    product.launch();
    std::vector<std::byte> result(c_memory.bytes());
    device->copy_to_host(result.data(), c_memory.address(), result.size());
    EXPECT_EQ(std::memcmp(result.data(), c.view().data, result.size()), 0);
  }
}

// Whether the float16 parts can represent the operands is found out on the device.
TEST(PreparedGemm, Fp32FastFallsBackOnTheDevice) {
  const auto device = Device::open("emulated");
  constexpr std::int64_t m = 40, n = 24, k = 64;
  for (const double tiny : {1.0, 0x1p-60}) {
    testing::TestMatrix a(DataType::float32, m, k), b(DataType::float32, k, n),
        c(DataType::float32, m, n);
    a.fill_integers(1);
    b.fill_integers(2);
    a.set(3, 5, tiny);
    a.set(3, 6, 1.0);
    c.fill_integers(3);
    testing::TestMatrix before(DataType::float32, m, n);
    before.fill_integers(3);
    const MatmulReport report =
        matmul(*device, a.view(), b.view(), c.view(),
               {.variant = "split_tiles", .precision = Precision::fp32_fast, .beta = 2.0});
    EXPECT_EQ(report.note.empty(), tiny == 1.0) << report.note;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const double sum = testing::exact_element(a, b, i, j).value + 2.0 * before.get(i, j);
        EXPECT_EQ(c.get(i, j), static_cast<float>(sum)) << i << ", " << j;
      }
    }
  }
}

/// Products of lists: whole numbers, so that the results are exact.
class ListsOfMatrices : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::int64_t m = 20, n = 12, k = 16, count = 3;

  /// Places of the matrices in one allocation each, in elements, and rows of C that many apart.
  void expect_products(const std::vector<std::int64_t>& a_at, const std::vector<std::int64_t>& b_at,
                       const std::vector<std::int64_t>& c_at, std::int64_t c_leading) {
    const auto device = Device::open(GetParam());
    constexpr std::size_t elements = 4096;
    std::vector<float> a(elements), b(elements), c(elements, -1.0F);
    for (std::size_t i = 0; i < elements; ++i) {
      a[i] = static_cast<float>(i * 7 % 11) - 5.0F;
      b[i] = static_cast<float>(i * 5 % 13) - 6.0F;
    }
    const auto uploaded = [&](const std::vector<float>& values) {
      Buffer buffer = device->allocate(elements * sizeof(float));
      device->copy_to_device(buffer.address(), values.data(), buffer.bytes());
      return buffer;
    };
    const Buffer in_a = uploaded(a), in_b = uploaded(b), in_c = uploaded(c);
    const auto pointer = [](const Buffer& buffer, std::int64_t at) {
      return reinterpret_cast<void*>(buffer.address() + static_cast<std::uint64_t>(at) * 4);
    };
    std::vector<ConstMatrixView> a_list, b_list;
    std::vector<MatrixView> c_list;
    for (std::size_t i = 0; i < count; ++i) {
      a_list.push_back(dense_view(pointer(in_a, a_at[i]), DataType::float32, m, k));
      b_list.push_back(dense_view(pointer(in_b, b_at[i]), DataType::float32, k, n));
      c_list.push_back(dense_view(pointer(in_c, c_at[i]), DataType::float32, m, n));
      c_list.back().leading = c_leading;
    }
    const PreparedGemm product(*device, a_list, b_list, c_list);
    product.launch();
    std::vector<float> expected = c;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::int64_t row = 0; row < m; ++row) {
        for (std::int64_t column = 0; column < n; ++column) {
          float sum = 0;
          for (std::int64_t l = 0; l < k; ++l) {
            sum += a[static_cast<std::size_t>(a_at[i] + row * k + l)] *
                   b[static_cast<std::size_t>(b_at[i] + l * n + column)];
          }
          expected[static_cast<std::size_t>(c_at[i] + row * c_leading + column)] = sum;
        }
      }
    }
    device->copy_to_host(c.data(), in_c.address(), in_c.bytes());
    EXPECT_EQ(c, expected);
  }
};

TEST_P(ListsOfMatrices, AtEqualDistances) {
  expect_products({0, 400, 800}, {64, 64, 64}, {0, 256, 512}, n);
}

TEST_P(ListsOfMatrices, Anywhere) {
  expect_products({800, 0, 400}, {64, 1000, 64}, {512, 0, 1024}, n);
}

TEST_P(ListsOfMatrices, ColumnsOfOneMatrix) {
  expect_products({0, 400, 800}, {64, 400, 1000}, {0, 12, 24}, 40);
}

TEST_P(ListsOfMatrices, MistakesAreRefused) {
  const auto device = Device::open("cpu");
  std::vector<float> x(2048);
  const auto view = [&](std::size_t at, std::int64_t rows) {
    return dense_view(static_cast<void*>(&x[at]), DataType::float32, rows, 8);
  };
  const auto refused = [&](const std::vector<ConstMatrixView>& a,
                           const std::vector<MatrixView>& c) {
    const std::vector<ConstMatrixView> b(c.size(), view(1024, 8));
    return error_of(ErrorKind::usage, [&] { PreparedGemm(*device, a, b, c); });
  };
  EXPECT_THAT(refused({view(0, 8)}, {view(64, 8), view(128, 8)}), HasSubstr("1, 2 and 2 matrices"));
  EXPECT_THAT(refused({view(0, 8), view(0, 4)}, {view(64, 8), view(128, 8)}),
              HasSubstr("product 1 of the lists: C is 8 x 8 but A (4 x 8)"));
  EXPECT_THAT(refused({view(0, 8), view(0, 8)}, {view(64, 8), view(100, 8)}),
              HasSubstr("shares memory"));
  EXPECT_THAT(refused({view(0, 8), view(128, 8)}, {view(128, 8), view(256, 8)}),
              HasSubstr("shares memory"));
}

INSTANTIATE_TEST_SUITE_P(Devices, ListsOfMatrices, ::testing::Values("cpu", "emulated"));

class SharedMemory : public ::testing::Test {
 protected:
  std::string refusal(const ConstMatrixBatch& a, const MatrixBatch& c) {
    const ConstMatrixBatch b{dense_view(b_.data(), DataType::float32, 8, 8), c.count, 0};
    std::string message;
    try {
      const PreparedGemm product(*cpu_, a, b, c);
    } catch (const Error& error) {
      message = error.what();
    }
    return message;
  }
  ConstMatrixBatch a_at(std::size_t element, std::int64_t leading) const {
    return {{const_cast<float*>(&x_[element]), DataType::float32, 8, 8, Order::row_major, leading}};
  }
  MatrixBatch c_at(std::size_t element, std::int64_t leading) {
    return {{{&x_[element], DataType::float32, 8, 8, Order::row_major, leading}}};
  }
  std::shared_ptr<Device> cpu_ = Device::open("cpu");
  std::vector<float> x_ = std::vector<float>(1024), b_ = std::vector<float>(64);
};

TEST_F(SharedMemory, IsRefused) {
  EXPECT_THAT(refusal(a_at(0, 8), c_at(0, 8)), HasSubstr("C shares memory with A"));
  EXPECT_THAT(refusal(a_at(0, 8), c_at(63, 8)), HasSubstr("C shares memory with A"));
  EXPECT_THAT(refusal(a_at(0, 16), c_at(23, 16)), HasSubstr("C shares memory with A"));
  EXPECT_THAT(refusal(a_at(100, 16), c_at(0, 31)), HasSubstr("C shares memory with A"));
}

TEST_F(SharedMemory, OfTheBiasTooEvenIfSetLater) {
  const MatrixBatch c = c_at(512, 8);
  const auto with_bias = [&](std::size_t element) {
    return MatmulOptions{.bias = std::span(&x_[element], 8)};
  };
  const ConstMatrixBatch b{dense_view(b_.data(), DataType::float32, 8, 8)};
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { PreparedGemm(*cpu_, a_at(0, 8), b, c, with_bias(570)); }),
      HasSubstr("C shares memory with the bias"));
  PreparedGemm product(*cpu_, a_at(0, 8), b, c, with_bias(576));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { product.set_operands(&x_[0], b_.data(), &x_[512], &x_[505]); }),
              HasSubstr("C shares memory with the bias"));
  EXPECT_NO_THROW(product.set_operands(&x_[0], b_.data(), &x_[512], &x_[504]));
}

TEST_F(SharedMemory, NeighboursAreNotRefused) {
  EXPECT_EQ(refusal(a_at(0, 8), c_at(64, 8)), "");
  EXPECT_EQ(refusal(a_at(64, 8), c_at(0, 8)), "");
  EXPECT_EQ(refusal(a_at(0, 16), c_at(8, 16)), "");  // beside each other in one matrix
  EXPECT_EQ(refusal(a_at(8, 16), c_at(0, 16)), "");
  EXPECT_EQ(refusal(a_at(512, 8), c_at(0, 64)), "");
}

TEST_F(SharedMemory, OfABatchEveryMatrixCounts) {
  ConstMatrixBatch a = a_at(0, 8);
  MatrixBatch c = c_at(256, 8);
  a.count = c.count = 3;
  a.stride = c.stride = 64;
  EXPECT_EQ(refusal(a, c), "");
  a.count = c.count = 5;
  EXPECT_THAT(refusal(a, c), HasSubstr("C shares memory with A"));
  a.stride = 0;
  EXPECT_EQ(refusal(a, c), "");
}

}  // namespace
}  // namespace tilescope
