#include "operations/gemm/general/mma_sync.hpp"

#include <fmt/format.h>

#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr MmaSyncTile wide{.rows = 128, .columns = 128, .warp_rows = 64, .warp_columns = 32};
constexpr MmaSyncTile narrow{.rows = 64, .columns = 64, .warp_rows = 32, .warp_columns = 32};

constexpr std::int64_t stages = 3;  // two blocks fit into the shared memory of an SM everywhere

std::int64_t tiles_of(const GemmProblem& problem, const MmaSyncTile& tile) {
  return groups_of(problem.shape.m, tile.rows) * groups_of(problem.shape.n, tile.columns) *
         problem.batch;
}

// Matches Tile in the kernel: one stage holds 64 bytes along k of either operand.
std::size_t tile_bytes(const GemmOperand& operand, bool along_k, int width) {
  constexpr std::size_t k_bytes = 64;
  const std::size_t element = size_of(operand.type);
  if (along_k) return static_cast<std::size_t>(width) * k_bytes;
  const std::size_t padding = element == 4 ? 32 : 16;
  return k_bytes / element * (static_cast<std::size_t>(width) * element + padding);
}

std::size_t shared_bytes(const GemmProblem& problem, const MmaSyncTile& tile) {
  return stages * (tile_bytes(problem.a, problem.a.order == Order::row_major, tile.rows) +
                   tile_bytes(problem.b, problem.b.order == Order::column_major, tile.columns));
}

std::string_view instruction(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return "m16n8k16.row.col.f32.bf16.bf16.f32";
    case Precision::fp16:
      return "m16n8k16.row.col.f32.f16.f16.f32";
    default:
      return "m16n8k8.row.col.f32.tf32.tf32.f32";
  }
}

class MmaSyncRun final : public GemmRun {
 public:
  MmaSyncRun(Device& device, const GemmProblem& problem) : device_(device), problem_(problem) {
    const MmaSyncTile tile = mma_sync_tile(problem, device.properties());
    const std::int64_t blocks = tiles_of(problem, tile);
    if (blocks == 0) return;
    launch_ = flat_launch(blocks, tile.threads(), shared_bytes(problem, tile));
    kernel_ = device.load(mma_sync_request(problem, device.properties()));
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    const GemmProblem& p = problem_;
    if (tiles_of(p, narrow) == 0) return;
    device_.launch(
        kernel_, launch_,
        KernelArguments::of(addresses.a, addresses.b, addresses.c, addresses.bias, p.shape.m,
                            p.shape.n, p.shape.k, p.a.leading, p.b.leading, p.c.leading,
                            p.a.batch_stride, p.b.batch_stride, p.c.batch_stride,
                            static_cast<float>(p.alpha), static_cast<float>(p.beta)),
        stream);
  }

 private:
  Device& device_;
  GemmProblem problem_;
  Launch launch_;
  Kernel kernel_;  // none where C has no elements
};

}  // namespace

MmaSyncTile mma_sync_tile(const GemmProblem& problem, const DeviceProperties& device) {
  // A wide tile reads half as much for each product; on half of the SMs it is not yet behind.
  return 2 * tiles_of(problem, wide) >= device.sm_count ? wide : narrow;
}

KernelRequest mma_sync_request(const GemmProblem& problem, const DeviceProperties& device) {
  KernelRequest request = embedded_request("gemm/mma_sync.cu");
  request.kernel = "gemm";
  request.defines = epilogue_constants(problem);
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  request.defines.emplace_back("ELEMENT", name_of(problem.a.type));
  request.defines.emplace_back("INSTRUCTION", instruction(problem.precision));
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  const MmaSyncTile tile = mma_sync_tile(problem, device);
  number("BM", tile.rows);
  number("BN", tile.columns);
  number("WM", tile.warp_rows);
  number("WN", tile.warp_columns);
  number("STAGES", stages);
  return request;
}

std::optional<std::string> mma_sync_refusal(const GemmProblem& problem,
                                            const DeviceProperties& device) {
  const Precision precision = problem.precision;
  if (precision != Precision::bf16 && precision != Precision::fp16 &&
      precision != Precision::tf32) {
    return fmt::format("tensor cores compute bf16, fp16 and tf32 here, not {}", name_of(precision));
  }
  const DataType wanted = operand_type(precision);
  for (const DataType type : {problem.a.type, problem.b.type}) {
    if (type != wanted) {
      return fmt::format("an operand is {}; {} takes {}", name_of(type), name_of(precision),
                         name_of(wanted));
    }
  }
  if (!is_floating(problem.c.type)) return fmt::format("C is {}", name_of(problem.c.type));
  if (device.compute_major < 8) {
    return fmt::format("needs compute capability 8.0, the device has {}.{}", device.compute_major,
                       device.compute_minor);
  }
  return std::nullopt;
}

std::unique_ptr<GemmRun> prepare_mma_sync(Device& device, const GemmProblem& problem) {
  return std::make_unique<MmaSyncRun>(device, problem);
}

}  // namespace tilescope::operations
