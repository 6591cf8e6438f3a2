// A GEMM kernel run on a random problem in device memory, and what came of it.
#pragma once

#include <tilescope/device.hpp>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "support/random_gemm.hpp"

namespace tilescope::testing {

/// A random case of the problem whose matrices begin where allocations do: at others the general
/// kernel takes the place of those that the copy engine feeds.
inline GemmCase aligned_case(const operations::GemmProblem& problem) {
  for (unsigned seed = 1;; ++seed) {
    GemmCase of = GemmGenerator(seed).filled(problem);
    const auto is_aligned = [](const GemmMatrices& m) {
      return m.first() == GemmMatrices::guard_bytes;
    };
    if (is_aligned(of.a) && is_aligned(of.b) && is_aligned(of.c)) return of;
  }
}

/// A random case of the problem whose matrices all begin at multiples of `bytes`.
inline GemmCase placed_case(GemmGenerator& generator, const operations::GemmProblem& problem,
                            std::size_t bytes) {
  for (;;) {
    GemmCase of = generator.filled(problem);
    const auto fits = [&](const GemmMatrices& m) { return m.first() % bytes == 0; };
    if (fits(of.a) && fits(of.b) && fits(of.c)) return of;
  }
}

/// C after one run of `variant`, guards included. A and B must come back as they were.
inline GemmMatrices run_gemm(Device& device, const operations::GemmVariant& variant,
                             const GemmCase& of) {
  const auto upload = [&](const void* data, std::size_t bytes, const char* name) {
    Buffer buffer = device.allocate(bytes, name);
    device.copy_to_device(buffer.address(), data, bytes);
    return buffer;
  };
  const auto matrices = [&](const GemmMatrices& m, const char* name) {
    return upload(m.image().data(), m.image().size(), name);
  };
  const Buffer a = matrices(of.a, "A"), b = matrices(of.b, "B"), c = matrices(of.c, "C");
  const Buffer bias = upload(of.bias.data(), of.bias.size() * sizeof(float), "bias");
  const auto run = variant.prepare(device, of.problem);
  run->run({.a = a.address() + of.a.first(),
            .b = b.address() + of.b.first(),
            .c = c.address() + of.c.first(),
            .bias = bias.address()});
  device.synchronize();
  GemmMatrices result = of.c;
  device.copy_to_host(result.image().data(), c.address(), result.image().size());
  for (const auto& [buffer, before] : {std::pair{&a, &of.a}, std::pair{&b, &of.b}}) {
    std::vector<std::byte> after(before->image().size());
    device.copy_to_host(after.data(), buffer->address(), after.size());
    if (after != before->image()) throw Error(ErrorKind::wrong_result, "an operand was written to");
  }
  return result;
}

}  // namespace tilescope::testing
