#include "operations/gemm/hopper/wgmma_rungs.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "operations/gemm/hopper/general_fallback.hpp"
#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/prepared_arguments.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// One of the two kernels.
struct WgmmaKernel {
  std::string_view source;
  int rows, columns;  // a block's part of C; a warpgroup has 64 rows
  int stages;
};
constexpr WgmmaKernel one_stage{"gemm/wgmma.cu", 64, 128, 1};
constexpr WgmmaKernel several_stages{"gemm/wgmma_stages.cu", 128, 128, 4};

TileLayout layout_of(const GemmProblem& problem, const WgmmaKernel& kernel) {
  return layout_of(problem, TensorTile{.m = kernel.rows, .n = kernel.columns});
}

// Matches struct Arguments of wgmma_tile.cuh.
struct Arguments {
  std::int32_t m, n, tiles_m, tiles_n, k_tiles;
  float alpha, beta;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias;
};

class WgmmaRun final : public GemmRun {
 public:
  WgmmaRun(Device& device, const GemmProblem& problem, const WgmmaKernel& kernel)
      : device_(device), problem_(problem), shape_(kernel), layout_(layout_of(problem, kernel)) {
    if (layout_.b.repacked) {
      b_copy_ = std::make_unique<Repacking>(device, layout_.b.rows, layout_.b.transposed);
      layout_.b.rows = b_copy_->result();
    }
    size_work();
    kernel_ = device.load(request());
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    if (fallback_.run(addresses.a | addresses.b, addresses, stream)) return;
    if (b_copy_) b_copy_->run(addresses.b, stream);
    device_.launch(kernel_, launch_,
                   prepared_.of(addresses, [&] { return arguments_for(addresses); }), stream);
  }

  std::string note() const override {
    std::string note = fmt::format("{}x{}x{}", shape_.rows, shape_.columns, shape_.stages);
    if (b_copy_) note += ", B repacked";
    return note;
  }

 private:
  void size_work() {
    const GemmProblem& p = problem_;
    const std::int64_t tile_k = tile_row_bytes / static_cast<std::int64_t>(size_of(p.a.type));
    const std::int64_t tiles_m = groups_of(p.shape.m, shape_.rows);
    const std::int64_t tiles_n = groups_of(p.shape.n, shape_.columns);
    arguments_ = {.m = static_cast<std::int32_t>(p.shape.m),
                  .n = static_cast<std::int32_t>(p.shape.n),
                  .tiles_m = static_cast<std::int32_t>(tiles_m),
                  .tiles_n = static_cast<std::int32_t>(tiles_n),
                  .k_tiles = static_cast<std::int32_t>(groups_of(p.shape.k, tile_k)),
                  .alpha = static_cast<float>(p.alpha),
                  .beta = static_cast<float>(p.beta),
                  .c_leading = p.c.leading,
                  .c_stride = p.c.batch_stride,
                  .c = 0,
                  .bias = 0};
    constexpr std::size_t alignment = 1024;  // of tiles, and of the structure that holds them
    const auto stage = static_cast<std::size_t>(tile_row_bytes * (shape_.rows + shape_.columns));
    launch_ = flat_launch(tiles_m * tiles_n * p.batch, 2 * shape_.rows,
                          static_cast<std::size_t>(shape_.stages) * stage + 2 * alignment);
  }

  KernelRequest request() const {
    KernelRequest request = embedded_request(shape_.source);
    request.kernel = "gemm";
    request.defines = epilogue_constants(problem_);
    const auto constant = [&](std::string_view name, std::int64_t value) {
      request.defines.push_back(define(name, value));
    };
    request.defines.emplace_back("OPERAND", wgmma_operand(problem_.precision));
    constant("STEP", size_of(problem_.a.type) == 2 ? 16 : 8);
    constant("TILE_M", shape_.rows);
    constant("TILE_N", shape_.columns);
    constant("B_MN_MAJOR", layout_.b.mn_major);
    if (shape_.stages > 1) constant("STAGES", shape_.stages);
    return request;
  }

  KernelArguments arguments_for(const GemmAddresses& addresses) {
    const std::array maps{
        map_of(layout_.a, addresses.a, shape_.rows),
        map_of(layout_.b, b_copy_ ? b_copy_->address() : addresses.b, shape_.columns)};
    Arguments last = arguments_;
    last.c = addresses.c;
    last.bias = addresses.bias;
    return arguments_after_maps(maps, last);
  }

  TensorMap map_of(const TileOperand& operand, DeviceAddress address, int tile_rows) {
    constexpr int whole = 1;
    constexpr std::uint32_t rows_along_k = 64;
    const auto columns = static_cast<std::uint32_t>(tile_row_bytes) /
                         static_cast<std::uint32_t>(size_of(operand.rows.type));
    return residue_maps(device_, operand.rows, address, whole, columns,
                        operand.mn_major ? rows_along_k : static_cast<std::uint32_t>(tile_rows))
        .maps.front();
  }

  Device& device_;
  GemmProblem problem_;
  WgmmaKernel shape_;
  TileLayout layout_;
  std::unique_ptr<Repacking> b_copy_;
  Arguments arguments_{};
  Launch launch_;
  Kernel kernel_;
  GeneralFallback fallback_{device_, problem_};
  PreparedArguments prepared_;
};

// The tile of 128 x 256, or where sums are promoted, and need more registers, of 256 x 128.
TensorTile wide_tile(const GemmProblem& problem) {
  if (promotes_sums(problem)) return {.m = 256, .n = 128};
  return {.m = 128, .n = 256};
}

// tensor_tiles with as many stages as fit.
std::unique_ptr<GemmRun> prepare_fixed(Device& device, const GemmProblem& problem,
                                       TensorTile tile) {
  const TileLayout layout = layout_of(problem, tile);
  tile.boxes = 2;
  tile.stages = 8;
  while (shared_bytes_of(tile, layout, problem.c.type) >
         device.properties().shared_bytes_per_block_optin) {
    --tile.stages;
  }
  return prepare_tensor_tiles(device, problem, tile);
}

}  // namespace

std::optional<std::string> wgmma_refusal(const GemmProblem& problem,
                                         const DeviceProperties& device) {
  if (auto why = tensor_tiles_refusal(problem, device)) return why;
  if (size_of(problem.a.type) == 1) return "a step of the climb for operands of 16 bits and tf32";
  if (problem.a.order != Order::row_major) return "A must be row-major";
  const TileLayout layout = layout_of(problem, one_stage);
  const auto unaligned = [](std::string_view name) {
    return fmt::format("rows of {} must be multiples of {} bytes apart", name, copy_alignment);
  };
  if (layout.a.repacked || layout.a_begins_anywhere) return unaligned("A");
  if (layout.b.repacked && !layout.b.transposed) return unaligned("B");
  return std::nullopt;
}

std::unique_ptr<GemmRun> prepare_wgmma(Device& device, const GemmProblem& problem) {
  return std::make_unique<WgmmaRun>(device, problem, one_stage);
}

std::unique_ptr<GemmRun> prepare_wgmma_stages(Device& device, const GemmProblem& problem) {
  return std::make_unique<WgmmaRun>(device, problem, several_stages);
}

std::unique_ptr<GemmRun> prepare_specialised(Device& device, const GemmProblem& problem) {
  return prepare_fixed(device, problem, {.m = 128, .n = 128, .persistent = false});
}

std::unique_ptr<GemmRun> prepare_wide_tiles(Device& device, const GemmProblem& problem) {
  TensorTile tile = wide_tile(problem);
  tile.persistent = false;
  return prepare_fixed(device, problem, tile);
}

std::unique_ptr<GemmRun> prepare_persistent(Device& device, const GemmProblem& problem) {
  return prepare_fixed(device, problem, wide_tile(problem));
}

std::unique_ptr<GemmRun> prepare_cluster(Device& device, const GemmProblem& problem) {
  TensorTile tile = wide_tile(problem);
  tile.cluster = 2;
  return prepare_fixed(device, problem, tile);
}

}  // namespace tilescope::operations
