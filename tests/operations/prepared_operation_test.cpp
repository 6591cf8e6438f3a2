// Companion operations on lists in a device's memory: the results of the calls for host memory.
#include <functional>
#include <tilescope/blur.hpp>
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>
#include <tilescope/histogram.hpp>
#include <tilescope/laplacian.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/reverse.hpp>
#include <tilescope/saxpb.hpp>
#include <tilescope/scale.hpp>
#include <tilescope/transpose.hpp>
#include <tilescope/vector_add.hpp>

#include "operations/numerics/random.hpp"
#include "support/counting_device.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

constexpr std::int64_t rows = 40, columns = 56;
constexpr std::size_t count = rows * columns;

/// An operation once for host memory and once for device memory.
struct Case {
  std::string name;
  DataType type = DataType::float32;  ///< of the input
  std::size_t result_bytes = 0;
  std::function<void(Device&, const void* in, void* out)> on_host;
  std::function<PreparedOperation(Device&, const void* in, void* out)> prepare;
};

ConstArrayView list(DataType type, const void* data) {
  return {type, count, data};
}
ArrayView result_list(DataType type, void* data) {
  return {type, count, data};
}
ConstMatrixView grid(const void* data) {
  return dense_view(data, DataType::float32, rows, columns);
}
MatrixView result_grid(void* data) {
  return dense_view(data, DataType::float32, rows, columns);
}

std::vector<Case> cases() {
  const DataType real = DataType::float32;
  constexpr std::size_t bytes = count * sizeof(float);
  const auto pixels = [](const void* data) { return static_cast<const std::uint8_t*>(data); };
  const auto result_pixels = [](void* data) { return static_cast<std::uint8_t*>(data); };
  return {
      {"saxpb", real, bytes,
       [=](Device& d, const void* x, void* y) {
         saxpb(d, 2.0, list(real, x), 1.0, result_list(real, y));
       },
       [=](Device& d, const void* x, void* y) {
         return prepare_saxpb(d, 2.0, list(real, x), 1.0, result_list(real, y));
       }},
      {"vector_add", real, bytes,
       [=](Device& d, const void* x, void* y) {
         vector_add(d, list(real, x), list(real, x), result_list(real, y));
       },
       [=](Device& d, const void* x, void* y) {
         return prepare_vector_add(d, list(real, x), list(real, x), result_list(real, y));
       }},
      {"scale", real, bytes,
       [](Device& d, const void* x, void* y) { scale(d, 3.0, grid(x), result_grid(y)); },
       [](Device& d, const void* x, void* y) {
         return prepare_scale(d, 3.0, grid(x), result_grid(y));
       }},
      {"reverse", real, bytes,
       [=](Device& d, const void* x, void* y) { reverse(d, list(real, x), result_list(real, y)); },
       [=](Device& d, const void* x, void* y) {
         return prepare_reverse(d, list(real, x), result_list(real, y));
       }},
      {"transpose", real, bytes,
       [=](Device& d, const void* x, void* y) {
         transpose(d, grid(x), dense_view(y, real, columns, rows));
       },
       [=](Device& d, const void* x, void* y) {
         return prepare_transpose(d, grid(x), dense_view(y, real, columns, rows));
       }},
      {"laplacian", real, bytes,
       [](Device& d, const void* x, void* y) {
         laplacian(d, grid(x), result_grid(y), {{}, 11, 0.2, 0.2});
       },
       [](Device& d, const void* x, void* y) {
         return prepare_laplacian(d, grid(x), result_grid(y), {{}, 11, 0.2, 0.2});
       }},
      {"blur", DataType::uint8, count,
       [=](Device& d, const void* x, void* y) {
         blur(d, pixels(x), result_pixels(y), rows, columns, 1, {.radius = 2});
       },
       [=](Device& d, const void* x, void* y) {
         return prepare_blur(d, pixels(x), result_pixels(y), rows, columns, 1, {.radius = 2});
       }},
      {"histogram", DataType::uint8, 256 * sizeof(std::uint32_t),
       [](Device& d, const void* x, void* y) {
         const auto counts = histogram(d, list(DataType::uint8, x)).counts;
         std::copy(counts.begin(), counts.end(), static_cast<std::uint32_t*>(y));
       },
       [](Device& d, const void* x, void* y) {
         return prepare_histogram(d, list(DataType::uint8, x), y);
       }},
      {"reduce", real, sizeof(double),
       [=](Device& d, const void* x, void* y) {
         *static_cast<double*>(y) = reduce(d, list(real, x), Reduction::sum).real;
       },
       [=](Device& d, const void* x, void* y) {
         return prepare_reduce(d, list(real, x), Reduction::sum, y);
       }}};
}

class PreparedOperations : public ::testing::TestWithParam<std::string> {};

TEST_P(PreparedOperations, HaveTheResultsOfTheCalls) {
  const auto device = Device::open(GetParam());
  const Stream stream = device->create_stream();
  for (const Case& of : cases()) {
    SCOPED_TRACE(of.name);
    const operations::HostArray in = operations::random_array(of.type, count, 5);
    std::vector<std::byte> expected(of.result_bytes), result(of.result_bytes);
    of.on_host(*device, in.data(), expected.data());
    const Buffer from = device->allocate(in.view().bytes()), to = device->allocate(of.result_bytes);
    device->copy_to_device(from.address(), in.data(), from.bytes());
    const PreparedOperation prepared =
        of.prepare(*device, reinterpret_cast<const void*>(from.address()),
                   reinterpret_cast<void*>(to.address()));
    EXPECT_NE(prepared.variant(), "");
    for (int run = 0; run < 2; ++run) {
      device->fill(to.address(), 0xAB, to.bytes());
      prepared.launch(stream);
      device->synchronize(stream);
      device->copy_to_host(result.data(), to.address(), to.bytes());
      EXPECT_EQ(result, expected) << run;
    }
  }
}

TEST(PreparedOperation, TakesOtherOperands) {
  const auto device = Device::open("emulated");
  for (const Case& of : cases()) {
    SCOPED_TRACE(of.name);
    const auto on_device = [&](std::uint64_t seed) {
      const operations::HostArray data = operations::random_array(of.type, count, seed);
      Buffer buffer = device->allocate(data.view().bytes());
      device->copy_to_device(buffer.address(), data.data(), buffer.bytes());
      return buffer;
    };
    const auto pointer = [](const Buffer& buffer) {
      return reinterpret_cast<void*>(buffer.address());
    };
    const operations::HostArray others = operations::random_array(of.type, count, 6);
    std::vector<std::byte> expected(of.result_bytes), result(of.result_bytes);
    of.on_host(*device, others.data(), expected.data());
    const Buffer first = on_device(5), second = on_device(6);
    const Buffer to = device->allocate(of.result_bytes),
                 elsewhere = device->allocate(of.result_bytes);
    device->fill(to.address(), 0xAB, to.bytes());
    PreparedOperation prepared = of.prepare(*device, pointer(first), pointer(to));
    prepared.set_operands(
        std::vector<const void*>(of.name == "vector_add" ? 2 : 1, pointer(second)),
        pointer(elsewhere));
    prepared.launch();
    device->copy_to_host(result.data(), elsewhere.address(), elsewhere.bytes());
    EXPECT_EQ(result, expected);
    device->copy_to_host(result.data(), to.address(), to.bytes());
    EXPECT_EQ(result, std::vector<std::byte>(of.result_bytes, std::byte{0xAB}));
  }
}

TEST(PreparedOperation, OfNothing) {
  const auto device = Device::open("emulated");
  const Buffer to = device->allocate(256 * sizeof(std::uint32_t));
  device->fill(to.address(), 0xAB, to.bytes());
  void* const result = reinterpret_cast<void*>(to.address());
  prepare_histogram(*device, {DataType::uint8, 0, nullptr}, result).launch();
  std::vector<std::uint32_t> counts(256, 1);
  device->copy_to_host(counts.data(), to.address(), to.bytes());
  EXPECT_EQ(counts, std::vector<std::uint32_t>(256));
  prepare_reduce(*device, {DataType::float32, 0, nullptr}, Reduction::sum, result).launch();
  double sum = 1.0;
  device->copy_to_host(&sum, to.address(), sizeof sum);
  EXPECT_EQ(sum, 0.0);
  prepare_reverse(*device, {DataType::float32, 0, nullptr}, {DataType::float32, 0, nullptr})
      .launch();
}

INSTANTIATE_TEST_SUITE_P(Devices, PreparedOperations, ::testing::Values("cpu", "emulated"));

TEST(PreparedOperation, LaunchesAreAllThatALaunchDoes) {
  const auto device = std::make_shared<testing::CountingDevice>(testing::h200());
  const Buffer from = device->allocate(count * sizeof(float)), to = device->allocate(count * 8);
  for (const Case& of : cases()) {
    SCOPED_TRACE(of.name);
    const PreparedOperation prepared =
        of.prepare(*device, reinterpret_cast<const void*>(from.address()),
                   reinterpret_cast<void*>(to.address()));
    const int before = device->host_work, launched = device->launches;
    prepared.launch();
    EXPECT_GT(device->launches, launched);
    EXPECT_EQ(device->host_work, before);
  }
}

TEST(PreparedOperation, MistakesAreRefused) {
  const auto emulated = Device::open("emulated");
  const Buffer memory = emulated->allocate(3 * count * sizeof(float));
  const auto at = [&](std::size_t byte) {
    return reinterpret_cast<void*>(memory.address() + byte);
  };
  const auto refused = [&](std::size_t to, const std::string& variant) {
    return error_of(ErrorKind::usage, [&] {
      prepare_reverse(*emulated, list(DataType::float32, at(0)),
                      result_list(DataType::float32, at(to)), {variant});
    });
  };
  constexpr std::size_t bytes = count * sizeof(float);
  EXPECT_THAT(refused(bytes + 4, ""), HasSubstr("the result begins 4 bytes behind"));
  EXPECT_THAT(refused(bytes - 16, ""), HasSubstr("shares memory with an input"));
  EXPECT_THAT(refused(bytes, "in_place"), HasSubstr("works in place"));
  EXPECT_THAT(refused(bytes, "cpu"), HasSubstr("cannot reach the memory of emulated"));

  const auto refused_later = [&](Device& device, std::vector<const void*> inputs, void* to) {
    PreparedOperation prepared = prepare_reverse(device, list(DataType::float32, at(0)),
                                                 result_list(DataType::float32, at(bytes)));
    return error_of(ErrorKind::usage, [&] { prepared.set_operands(inputs, to); });
  };
  EXPECT_THAT(refused_later(*emulated, {at(0), at(0)}, at(bytes)),
              HasSubstr("2 inputs; expected 1"));
  EXPECT_THAT(refused_later(*emulated, {at(8)}, at(2 * bytes)),
              HasSubstr("an input begins 8 bytes"));
  EXPECT_THAT(refused_later(*emulated, {at(0)}, at(0)), HasSubstr("shares memory with an input"));
  EXPECT_THAT(refused_later(*Device::open("cpu"), {at(0)}, at(bytes)),
              HasSubstr("prepare another"));
}

}  // namespace
}  // namespace tilescope
