#include "operands.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tilescope/error.hpp>

#include "base/text.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::products {
namespace {

using operations::HostArray;

constexpr int widest_exponent = 40;

// 53 random bits; float32 operands keep 24 of them.
double uniform(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11U) * 0x1p-52 - 1.0;
}

int exponent(std::uint64_t bits) {
  constexpr std::uint64_t choices = 2 * widest_exponent + 1;
  return static_cast<int>(bits % choices) - widest_exponent;
}

// Exponents of whole rows or columns: the same for each of their elements.
int exponent_of(std::size_t vector) {
  std::mt19937_64 generator(vector);
  return exponent(generator() >> 8U);
}

// `vector_of(i)`: the row or column of element i, for data that is scaled by it.
template <typename VectorOf>
HostArray random_matrix(DataType type, std::int64_t rows, std::int64_t columns,
                        const std::vector<int>& exponents, Data data, std::uint64_t seed,
                        const VectorOf& vector_of) {
  HostArray matrix(type, static_cast<std::size_t>(rows * columns));
  operations::generate(matrix.count(), seed, [&](std::mt19937_64& generator, std::size_t i) {
    double value = uniform(generator);
    if (data == Data::positive) value = (value + 1.0) / 2.0;
    if (data == Data::exponents) value = std::ldexp(value, exponent(generator() >> 8U));
    if (data == Data::scaled) value = std::ldexp(value, exponents[vector_of(i)]);
    matrix.set(i, value);
  });
  return matrix;
}

std::vector<int> exponents_of(std::int64_t vectors, Data data) {
  std::vector<int> all;
  if (data != Data::scaled) return all;
  for (std::int64_t v = 0; v < vectors; ++v) {
    all.push_back(exponent_of(static_cast<std::size_t>(v)));
  }
  return all;
}

}  // namespace

Data parse_data(std::string_view name) {
  if (name == "uniform") return Data::uniform;
  if (name == "positive") return Data::positive;
  if (name == "exponents") return Data::exponents;
  if (name == "scaled") return Data::scaled;
  throw Error(ErrorKind::usage,
              fmt::format("--data {}: there are uniform, positive, exponents, scaled",
                          printable(name, 40)));
}

void add_scales(operations::GemmProblem& problem, std::string_view kind) {
  using Layout = operations::ScaleLayout;
  if (kind == "none") return;
  if (!operations::has_float8_operands(problem.precision) || problem.batch > 1) {
    throw Error(ErrorKind::usage, "--scales: for single products of 8-bit floats");
  }
  const MatmulShape& s = problem.shape;
  const auto blocks_of = [](std::int64_t count) {
    return (count + Layout::block - 1) / Layout::block;
  };
  Layout &a = problem.scale_a, &b = problem.scale_b;
  if (kind == "matrix") {
    a = b = {.count = 1, .shift = Layout::shift_of_all};
  } else if (kind == "vectors") {
    a = {.count = s.m, .pitch = 1};
    b = {.count = s.n, .pitch = 1};
  } else if (kind == "blocks") {
    const std::int64_t steps = blocks_of(s.k), columns = blocks_of(s.n);
    a = {.count = s.m * steps, .pitch = static_cast<std::int32_t>(steps), .step_pitch = 1};
    b = {.count = steps * columns,
         .shift = Layout::shift_of_block,
         .pitch = 1,
         .step_pitch = static_cast<std::int32_t>(columns)};
  } else {
    throw Error(
        ErrorKind::usage,
        fmt::format("--scales {}: there are none, matrix, vectors, blocks", printable(kind, 40)));
  }
}

HostOperands random_operands(const operations::GemmProblem& problem, Data data,
                             std::uint64_t seed) {
  if (size_of(problem.a.type) == 1 && data != Data::uniform) {
    throw Error(ErrorKind::usage, "operands of 8 bits are uniform: leave out --data");
  }
  if (size_of(problem.a.type) < 4 && (data == Data::exponents || data == Data::scaled)) {
    throw Error(ErrorKind::usage, "--data exponents and scaled are for operands of 32 bits");
  }
  if (problem.batch > 1 && data == Data::scaled) {
    throw Error(ErrorKind::usage, "--data scaled is for single products");
  }
  const MatmulShape& s = problem.shape;
  // The row of A or the column of B that an element lies in.
  const auto vector_of = [&](bool along_k, std::int64_t vectors) {
    const auto pitch = static_cast<std::size_t>(along_k ? s.k : vectors);
    return [along_k, pitch](std::size_t i) { return along_k ? i / pitch : i % pitch; };
  };
  HostOperands made;
  if (size_of(problem.a.type) == 1) {
    made.a = operations::random_operand(problem.a.type, problem.batch * s.m * s.k, 2 * seed);
    made.b = operations::random_operand(problem.b.type, problem.batch * s.k * s.n, 2 * seed + 1);
  } else {
    made.a = random_matrix(problem.a.type, problem.batch * s.m, s.k, exponents_of(s.m, data), data,
                           2 * seed, vector_of(problem.a.order == Order::row_major, s.m));
    made.b = random_matrix(problem.b.type, problem.batch * s.k, s.n, exponents_of(s.n, data), data,
                           2 * seed + 1, vector_of(problem.b.order == Order::column_major, s.n));
  }
  const auto added = [&](DataType type, std::int64_t rows, std::int64_t columns) {
    return random_matrix(type, rows, columns, {}, Data::uniform, ~seed, vector_of(true, rows));
  };
  const auto factors = [&](const operations::ScaleLayout& layout) {
    return random_matrix(DataType::float32, 1, layout.count, {}, Data::positive, ~seed,
                         vector_of(true, layout.count));
  };
  if (problem.scale_a.exists()) made.scale_a = factors(problem.scale_a);
  if (problem.scale_b.exists()) made.scale_b = factors(problem.scale_b);
  if (problem.beta != 0.0) made.c = added(problem.c.type, problem.batch * s.m, s.n);
  if (problem.has_bias) made.bias = added(DataType::float32, 1, problem.bias_per_row ? s.m : s.n);
  return made;
}

DeviceSets::DeviceSets(Device& device, const operations::GemmProblem& problem,
                       const HostOperands& host)
    : device_(device),
      c_bytes_(static_cast<std::size_t>(problem.batch * problem.shape.m * problem.shape.n) *
               size_of(problem.c.type)) {
  const std::size_t bytes = host.a.bytes() + host.b.bytes() + c_bytes_;
  for (std::size_t set = 0; set < operations::input_sets(device, bytes); ++set) {
    const auto put = [&](const HostArray& array, std::string_view name, DeviceAddress first) {
      buffers_.push_back(device.allocate(array.bytes(), name));
      const DeviceAddress to = buffers_.back().address();
      if (set == 0) {
        device.copy_to_device(to, array.data(), array.bytes());
      } else {
        device.copy_on_device(to, first, array.bytes());
      }
      return to;
    };
    const DeviceAddress a = put(host.a, "A", set == 0 ? 0 : addresses_[0].a);
    const DeviceAddress b = put(host.b, "B", set == 0 ? 0 : addresses_[0].b);
    buffers_.push_back(device.allocate(c_bytes_, "C"));
    addresses_.push_back({.a = a, .b = b, .c = buffers_.back().address()});
  }
  const auto keep = [&](const HostArray& array, std::string_view name) {
    if (array.count() == 0) return Buffer();
    Buffer buffer = device.allocate(array.bytes(), name);
    device.copy_to_device(buffer.address(), array.data(), array.bytes());
    return buffer;
  };
  c_before_ = keep(host.c, "C before");
  bias_ = keep(host.bias, "bias");
  scale_a_ = keep(host.scale_a, "scales of A");
  scale_b_ = keep(host.scale_b, "scales of B");
  for (std::size_t set = 0; set < addresses_.size(); ++set) {
    if (bias_.bytes() > 0) addresses_[set].bias = bias_.address();
    if (scale_a_.bytes() > 0) addresses_[set].scale_a = scale_a_.address();
    if (scale_b_.bytes() > 0) addresses_[set].scale_b = scale_b_.address();
    poison(static_cast<int>(set));
  }
}

void DeviceSets::poison(int i) {
  constexpr std::uint8_t nan_byte = 0xFF;
  if (c_before_.bytes() > 0) {
    device_.copy_on_device(at(i).c, c_before_.address(), c_bytes_);
  } else {
    device_.fill(at(i).c, nan_byte, c_bytes_);
  }
}

}  // namespace tilescope::products
