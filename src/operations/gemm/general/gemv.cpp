#include "operations/gemm/general/gemv.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>

#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr int gemv_threads = 256, warp_threads = 32;  // as in the kernel
constexpr int most_warps = gemv_threads / warp_threads;
constexpr std::uint64_t widest_load = 16;

class GemvRun final : public GemmRun {
 public:
  GemvRun(Device& device, const GemmProblem& problem)
      : device_(device), problem_(problem), vector_(*as_gemv(problem)) {
    launch_ = flat_launch(groups_of(vector_.rows, most_warps / gemv_warps(vector_)), gemv_threads);
    launch_.grid.y = static_cast<std::uint32_t>(problem.batch);
    launch_.overlaps_previous = true;
    kernel(widest_load);
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    const bool is_transposed = vector_.of_column;
    const DeviceAddress matrix = is_transposed ? addresses.b : addresses.a;
    const DeviceAddress x = is_transposed ? addresses.a : addresses.b;
    const GemvProblem& v = vector_;
    KernelArguments arguments = KernelArguments::of(
        matrix, x, addresses.c, addresses.bias, v.rows, v.length, v.matrix.leading, v.x_step,
        v.y_step, v.matrix.batch_stride, v.x_stride, problem_.c.batch_stride);
    push_factors(arguments, problem_);
    device_.launch(kernel(std::gcd(std::gcd(matrix, x), widest_load)), launch_, arguments, stream);
  }

 private:
  // Addresses that allow only narrow loads are rare: their kernel is compiled when one occurs.
  const Kernel& kernel(std::uint64_t alignment) {
    const int width = gemv_vector(vector_, problem_.batch, alignment);
    auto known = kernels_.find(width);
    if (known == kernels_.end()) {
      const KernelRequest request = gemv_request(problem_, width);
      known = kernels_.emplace(width, device_.load(request)).first;
    }
    return known->second;
  }

  Device& device_;
  GemmProblem problem_;
  GemvProblem vector_;
  Launch launch_;
  std::map<int, Kernel> kernels_;  // by the elements of a load
};

}  // namespace

std::optional<GemvProblem> as_gemv(const GemmProblem& problem) {
  const MatmulShape& s = problem.shape;
  if (s.n == 1 && problem.a.order == Order::row_major) {
    const bool is_dense = problem.b.order == Order::column_major;
    return GemvProblem{.rows = s.m,
                       .length = s.k,
                       .matrix = problem.a,
                       .x_step = is_dense ? 1 : problem.b.leading,
                       .x_stride = problem.b.batch_stride,
                       .y_step = problem.c.leading};
  }
  if (s.m == 1 && problem.b.order == Order::column_major) {
    const bool is_dense = problem.a.order == Order::row_major;
    return GemvProblem{.rows = s.n,
                       .length = s.k,
                       .matrix = problem.b,
                       .x_step = is_dense ? 1 : problem.a.leading,
                       .x_stride = problem.a.batch_stride,
                       .of_column = true};
  }
  return std::nullopt;
}

int gemv_vector(const GemvProblem& problem, std::int64_t batch, std::uint64_t alignment) {
  const std::uint64_t element = size_of(problem.matrix.type);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) * element;
  };
  std::uint64_t width = std::gcd(alignment, widest_load);
  width = std::gcd(width, bytes(problem.matrix.leading));
  if (batch > 1) {
    width = std::gcd(width, bytes(problem.matrix.batch_stride));
    width = std::gcd(width, bytes(problem.x_stride));
  }
  return static_cast<int>(width / element);
}

int gemv_warps(const GemvProblem& problem) {
  // On an H200 four were fastest for rows of 4 to 28 KiB, four and eight for 56 KiB
  // (docs/results/products_random_h200.md); in shorter ones each lane has a load. The number of
  // rows decides nothing, so that some rows have the sums of all.
  constexpr int usual = 4;
  constexpr auto load_bytes = static_cast<std::int64_t>(warp_threads * widest_load);
  constexpr std::int64_t long_bytes = 48 << 10U;
  const std::int64_t row_bytes =
      problem.length * static_cast<std::int64_t>(size_of(problem.matrix.type));
  if (row_bytes >= long_bytes) return most_warps;
  int warps = 1;
  while (warps < usual && row_bytes > warps * load_bytes) warps *= 2;
  return warps;
}

KernelRequest gemv_request(const GemmProblem& problem, int vector) {
  const GemvProblem v = *as_gemv(problem);
  KernelRequest request = embedded_request("gemm/gemv.cu");
  request.kernel = "gemv";
  request.defines = epilogue_constants(problem);
  request.defines.emplace_back("ELEMENT", name_of(v.matrix.type));
  request.defines.emplace_back("OPERAND", operand_kind(problem.precision));
  request.defines.push_back(define("VECTOR", vector));
  request.defines.push_back(define("X_VECTOR", std::int64_t{v.x_step == 1}));
  request.defines.push_back(define("WARPS", std::int64_t{gemv_warps(v)}));
  request.defines.push_back(define("OF_COLUMN", std::int64_t{v.of_column}));
  return request;
}

std::optional<std::string> gemv_refusal(const GemmProblem& problem, const DeviceProperties&) {
  if (!as_gemv(problem)) return "no operand is a vector, or the matrix does not lie along k";
  if (problem.a.type != problem.b.type) return "A and B differ in type";
  for (const DataType type : {problem.a.type, problem.c.type}) {
    if (!is_floating(type)) return fmt::format("an operand is {}", name_of(type));
  }
  const MatmulShape& s = problem.shape;
  if (s.m == 0 || s.n == 0 || s.k == 0 || problem.batch == 0) return "there is nothing to multiply";
  constexpr std::int64_t most_planes = 65535;
  if (problem.batch > most_planes) return fmt::format("batches beyond {}", most_planes);
  return std::nullopt;
}

std::unique_ptr<GemmRun> prepare_gemv(Device& device, const GemmProblem& problem) {
  return std::make_unique<GemvRun>(device, problem);
}

}  // namespace tilescope::operations
