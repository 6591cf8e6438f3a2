#include "operations/gemm/general/fp64_tiles.hpp"

#include <fmt/format.h>

#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr Fp64Tile wide_fp64{
    .rows = 128, .columns = 128, .warp_rows = 64, .warp_columns = 32, .blocks_per_sm = 1};
constexpr Fp64Tile narrow_fp64{
    .rows = 64, .columns = 64, .warp_rows = 32, .warp_columns = 32, .blocks_per_sm = 3};

constexpr std::int64_t fp64_depth = 16;  // steps of k in a stage
constexpr std::int64_t fp64_stages = 4;

std::int64_t fp64_tiles_of(const GemmProblem& problem, const Fp64Tile& tile) {
  return groups_of(problem.shape.m, tile.rows) * groups_of(problem.shape.n, tile.columns) *
         problem.batch;
}

std::size_t fp64_shared_bytes(const Fp64Tile& tile) {
  const std::int64_t elements = fp64_stages * fp64_depth * (tile.rows + tile.columns);
  return static_cast<std::size_t>(elements) * sizeof(double);
}

class Fp64TilesRun final : public GemmRun {
 public:
  Fp64TilesRun(Device& device, const GemmProblem& problem) : device_(device), problem_(problem) {
    const Fp64Tile tile = fp64_tile(problem, device.properties());
    launch_ = flat_launch(fp64_tiles_of(problem, tile), tile.threads(), fp64_shared_bytes(tile));
    kernel_ = device.load(fp64_tiles_request(problem, device.properties()));
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    const GemmProblem& p = problem_;
    const auto extent = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    device_.launch(kernel_, launch_,
                   KernelArguments::of(addresses.a, addresses.b, addresses.c, addresses.bias,
                                       extent(p.shape.m), extent(p.shape.n), extent(p.shape.k),
                                       p.a.leading, p.b.leading, p.c.leading, p.a.batch_stride,
                                       p.b.batch_stride, p.c.batch_stride, p.alpha, p.beta),
                   stream);
  }

 private:
  Device& device_;
  GemmProblem problem_;
  Launch launch_;
  Kernel kernel_;
};

}  // namespace

Fp64Tile fp64_tile(const GemmProblem& problem, const DeviceProperties& device) {
  if (fp64_shared_bytes(wide_fp64) > device.shared_bytes_per_block_optin) return narrow_fp64;
  // A wide tile reads half as much for each product; on half of the SMs it is not yet behind.
  return 2 * fp64_tiles_of(problem, wide_fp64) >= device.sm_count ? wide_fp64 : narrow_fp64;
}

KernelRequest fp64_tiles_request(const GemmProblem& problem, const DeviceProperties& device) {
  KernelRequest request = embedded_request("gemm/fp64_tiles.cu");
  request.kernel = "gemm";
  request.defines = epilogue_constants(problem);
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  number("WIDE_PRODUCTS", device.compute_major >= 9);
  const Fp64Tile tile = fp64_tile(problem, device);
  number("BM", tile.rows);
  number("BN", tile.columns);
  number("WM", tile.warp_rows);
  number("WN", tile.warp_columns);
  number("BLOCKS_PER_SM", tile.blocks_per_sm);
  number("DEPTH", fp64_depth);
  number("STAGES", fp64_stages);
  return request;
}

std::optional<std::string> fp64_tiles_refusal(const GemmProblem& problem,
                                              const DeviceProperties& device) {
  if (problem.precision != Precision::fp64) {
    return fmt::format("computes fp64, not {}", name_of(problem.precision));
  }
  for (const DataType type : {problem.a.type, problem.b.type}) {
    if (type != DataType::float64) {
      return fmt::format("an operand is {}; fp64 on tensor cores takes float64", name_of(type));
    }
  }
  if (!is_floating(problem.c.type)) return fmt::format("C is {}", name_of(problem.c.type));
  if (device.compute_major < 8) {
    return fmt::format("needs compute capability 8.0, the device has {}.{}", device.compute_major,
                       device.compute_minor);
  }
  return size_refusal(problem);
}

bool fp64_tiles_pay(const GemmProblem&, const DeviceProperties& device) {
  return (device.compute_major == 8 || device.compute_major == 9) && device.compute_minor == 0;
}

std::unique_ptr<GemmRun> prepare_fp64_tiles(Device& device, const GemmProblem& problem) {
  return std::make_unique<Fp64TilesRun>(device, problem);
}

}  // namespace tilescope::operations
