#include "operations/gemm/hopper/narrow_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/one_of.hpp"
#include "operations/gemm/hopper/general_fallback.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/prepared_arguments.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr std::int64_t row_bytes = 128, box_rows = 64;
constexpr int widest = 64;  // rows of a narrow operand

// Matches struct Arguments of the kernel.
struct Arguments {
  std::int32_t long_rows, narrow_rows, k_stages;
  float alpha, beta;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias;
};

std::int64_t columns_of_box(DataType type) {
  return row_bytes / static_cast<std::int64_t>(size_of(type));
}

class NarrowTilesRun final : public GemmRun {
 public:
  NarrowTilesRun(Device& device, const GemmProblem& problem, const NarrowTile& tile)
      : device_(device), problem_(problem), tile_(tile), layout_(narrow_layout(problem)) {
    KernelRequest request = embedded_request("gemm/narrow_tiles.cu");
    request.kernel = "gemm";
    request.defines = narrow_constants(problem, tile);
    kernel_ = device.load(request);

    Arguments& a = arguments_;
    a.long_rows = static_cast<std::int32_t>(layout_.long_rows);
    a.narrow_rows = static_cast<std::int32_t>(layout_.narrow_rows);
    a.k_stages = static_cast<std::int32_t>(
        groups_of(problem.shape.k, columns_of_box(problem.a.type) * tile.k_boxes));
    a.alpha = static_cast<float>(problem.alpha);
    a.beta = static_cast<float>(problem.beta);
    a.c_leading = problem.c.leading;
    a.c_stride = problem.c.batch_stride;

    constexpr std::uint32_t threads = 160;
    const std::int64_t tiles = groups_of(layout_.long_rows, tile.rows());
    launch_.grid = {static_cast<std::uint32_t>(tiles * tile.cluster),
                    static_cast<std::uint32_t>(problem.batch)};
    launch_.block = {threads};
    launch_.cluster = {static_cast<std::uint32_t>(tile.cluster)};
    launch_.shared_bytes = shared_bytes_of(tile, layout_);
    launch_.overlaps_previous = true;
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    if (fallback_.run(addresses.a | addresses.b, addresses, stream)) return;
    device_.launch(kernel_, launch_,
                   prepared_.of(addresses, [&] { return arguments_for(addresses); }), stream);
  }

  std::string note() const override { return text_of(tile_); }

 private:
  KernelArguments arguments_for(const GemmAddresses& addresses) {
    Arguments a = arguments_;
    a.c = addresses.c;
    a.bias = addresses.bias;
    const DeviceAddress of_long = layout_.long_is_b ? addresses.b : addresses.a;
    const DeviceAddress of_narrow = layout_.long_is_b ? addresses.a : addresses.b;
    const TensorMap maps[] = {map_of(layout_.of_long, of_long, tile_.rows()),
                              map_of(layout_.of_narrow, of_narrow, tile_.narrow)};
    return arguments_after_maps(maps, a);
  }

  TensorMap map_of(const NarrowOperand& operand, DeviceAddress address, int rows) const {
    const std::int64_t columns = columns_of_box(operand.rows.type);
    const std::int64_t down = operand.mn_major ? columns * tile_.k_boxes : rows;
    return residue_maps(device_, operand.rows, address, 1, static_cast<std::uint32_t>(columns),
                        static_cast<std::uint32_t>(down))
        .maps.front();
  }

  Device& device_;
  GemmProblem problem_;
  NarrowTile tile_;
  NarrowLayout layout_;
  Arguments arguments_{};
  Launch launch_;
  Kernel kernel_;
  GeneralFallback fallback_{device_, problem_};
  PreparedArguments prepared_;
};

// `rows` of an operand are its rows or columns that belong to C; `lies_along_k` if those are
// contiguous.
NarrowOperand operand_of(const GemmProblem& problem, const GemmOperand& operand, std::int64_t rows,
                         bool lies_along_k) {
  const std::int64_t k = problem.shape.k;
  NarrowOperand of{.rows = {.type = operand.type,
                            .rows = lies_along_k ? rows : k,
                            .columns = lies_along_k ? k : rows,
                            .pitch = operand.leading,
                            .batch = problem.batch,
                            .batch_stride = operand.batch_stride},
                   .mn_major = !lies_along_k};
  // A dense vector lies along k, whatever its order.
  if (rows == 1 && (lies_along_k || operand.leading == 1)) {
    of.rows.rows = 1;
    of.rows.columns = of.rows.pitch = k;
    of.mn_major = false;
  }
  return of;
}

bool can_be_mapped(const NarrowOperand& operand) {
  return (operand.rows.rows == 1 || operand.rows.pitch_bytes() % copy_alignment == 0) &&
         operand.rows.batch_fits_map();
}

}  // namespace

std::string text_of(const NarrowTile& tile) {
  std::string text = fmt::format("{}x{}x{}", tile.rows(), tile.narrow, tile.stages);
  if (tile.cluster > 1) text += fmt::format(" cluster {}", tile.cluster);
  return text;
}

NarrowLayout narrow_layout(const GemmProblem& p) {
  const MatmulShape& s = p.shape;
  const bool long_is_b = s.n >= s.m;
  const NarrowOperand a = operand_of(p, p.a, s.m, p.a.order == Order::row_major);
  const NarrowOperand b = operand_of(p, p.b, s.n, p.b.order == Order::column_major);
  return {.long_is_b = long_is_b,
          .long_rows = long_is_b ? s.n : s.m,
          .narrow_rows = long_is_b ? s.m : s.n,
          .of_long = long_is_b ? b : a,
          .of_narrow = long_is_b ? a : b};
}

std::size_t shared_bytes_of(const NarrowTile& tile, const NarrowLayout& layout) {
  constexpr std::int64_t barriers = 16, alignment = 1024, lot = 8, lot_bytes = 2048;
  const std::int64_t narrow_box = row_bytes * (layout.of_narrow.mn_major ? box_rows : tile.narrow);
  const std::int64_t stage =
      tile.k_boxes * (tile.groups * row_bytes * box_rows + narrow_box) + barriers;
  const std::int64_t lots =
      tile.cluster > 1 ? groups_of(tile.groups * tile.narrow / lot, tile.cluster) * tile.cluster
                       : 1;
  return static_cast<std::size_t>(tile.stages * stage + lots * lot_bytes + 2 * alignment);
}

Defines narrow_constants(const GemmProblem& problem, const NarrowTile& tile) {
  const NarrowLayout layout = narrow_layout(problem);
  Defines defines = epilogue_constants(problem);
  defines.emplace_back("OPERAND", wgmma_operand(problem.precision));
  const auto constant = [&](std::string_view name, std::int64_t value) {
    defines.push_back(define(name, value));
  };
  constant("STEP", size_of(problem.a.type) == 2 ? 16 : 8);
  constant("GROUPS", tile.groups);
  constant("NARROW", tile.narrow);
  constant("K_BOXES", tile.k_boxes);
  constant("STAGES", tile.stages);
  constant("CLUSTER", tile.cluster);
  constant("LONG_MN_MAJOR", layout.of_long.mn_major);
  constant("NARROW_MN_MAJOR", layout.of_narrow.mn_major);
  constant("LONG_IS_B", layout.long_is_b);
  return defines;
}

std::optional<std::string> narrow_tiles_refusal(const GemmProblem& problem,
                                                const DeviceProperties& device) {
  if (!is_one_of(problem.precision, {Precision::bf16, Precision::fp16, Precision::tf32})) {
    return "narrow tiles are for bf16, fp16 and tf32";
  }
  if (auto why = tensor_tiles_refusal(problem, device)) return why;
  const MatmulShape& s = problem.shape;
  if (std::min(s.m, s.n) > widest) {
    return fmt::format("C is not narrow: more than {} rows and columns", widest);
  }
  const NarrowLayout layout = narrow_layout(problem);
  for (const NarrowOperand* operand : {&layout.of_long, &layout.of_narrow}) {
    const std::string_view name = (operand == &layout.of_long) == layout.long_is_b ? "B" : "A";
    if (operand->mn_major && problem.a.type == DataType::float32) {
      return fmt::format("{} does not lie along k, as tf32 has to", name);
    }
    if (!can_be_mapped(*operand)) {
      return fmt::format("rows of {} are not multiples of {} bytes apart", name, copy_alignment);
    }
  }
  return std::nullopt;
}

bool narrow_tiles_pay(const GemmProblem& problem, const DeviceProperties& device) {
  // Blocks of a cluster exchange their sums, which costs more than what they gain from a short k.
  // With more tiles than that for each SM, other kernels keep memory as busy, in fewer blocks.
  // Tiles of 64 rows are what tensor_tiles has too, and multiplies faster.
  const NarrowLayout layout = narrow_layout(problem);
  const bool is_wide = layout.narrow_rows > widest / 2;
  const std::int64_t least_bytes = is_wide ? 16384 : 2048;  // along k
  const double most_tiles = is_wide ? 1.0 : 1.6;
  const std::int64_t tiles = groups_of(layout.long_rows, box_rows) * problem.batch;
  return problem.shape.k * static_cast<std::int64_t>(size_of(problem.a.type)) >= least_bytes &&
         static_cast<double>(tiles) <= most_tiles * device.sm_count;
}

NarrowTile narrow_tile(const GemmProblem& problem, const DeviceProperties& device) {
  const NarrowLayout layout = narrow_layout(problem);
  NarrowTile tile{.groups = 1, .narrow = 16};
  while (tile.narrow < layout.narrow_rows) tile.narrow *= 2;
  const std::int64_t tiles = groups_of(layout.long_rows, tile.rows()) * problem.batch;
  const std::int64_t boxes = groups_of(problem.shape.k, columns_of_box(problem.a.type));
  constexpr int largest_cluster = 8, least_boxes_of_part = 4;
  tile.cluster = 1;
  while (tile.cluster < largest_cluster && 2 * tile.cluster * tiles <= device.sm_count &&
         2 * tile.cluster * least_boxes_of_part <= boxes) {
    tile.cluster *= 2;
  }
  // With one block on an SM the block has all of its shared memory. With more blocks in sequence
  // there are two at a time: one copies while the other begins or ends. Large clusters find fewer
  // whole SMs.
  const bool is_alone = tiles * tile.cluster <= device.sm_count && tile.cluster <= 2;
  constexpr std::size_t reserved = 1024;  // of each block, for the system
  const std::size_t room = is_alone
                               ? device.shared_bytes_per_block_optin
                               : (device.shared_bytes_per_block_optin + reserved) / 2 - reserved;
  // Long boxes are fewer, but there have to be several stages.
  tile.k_boxes = is_alone ? 4 : 2;
  if (tile.narrow == widest || layout.of_narrow.mn_major) tile.k_boxes /= 2;
  tile.stages = 12;
  while (shared_bytes_of(tile, layout) > room) --tile.stages;
  return tile;
}

std::string narrow_tiles_order(const GemmProblem& problem, const DeviceProperties& device) {
  const NarrowTile tile = narrow_tile(problem, device);
  return fmt::format("cluster {} boxes {}", tile.cluster, tile.k_boxes);
}

std::unique_ptr<GemmRun> prepare_narrow_tiles(Device& device, const GemmProblem& problem) {
  return prepare_narrow_tiles(device, problem, narrow_tile(problem, device.properties()));
}

std::unique_ptr<GemmRun> prepare_narrow_tiles(Device& device, const GemmProblem& problem,
                                              const NarrowTile& tile) {
  return std::make_unique<NarrowTilesRun>(device, problem, tile);
}

}  // namespace tilescope::operations
