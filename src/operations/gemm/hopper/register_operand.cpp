#include "operations/gemm/hopper/register_operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/errors.hpp"
#include "operations/gemm/hopper/general_fallback.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/operands/split_reduction.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/prepared_arguments.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr std::int64_t row_bytes = 128, tile_k = 32;
constexpr std::int64_t sector_bytes = 32, line_bytes = 128;  // sectors and lines of the L2 cache

// Matches struct Arguments of the kernel.
struct Arguments {
  std::int32_t m, n, k, batch;
  std::int32_t tiles_m, tiles_n, splits, k_tiles, k_tiles_of_part, units;
  std::int32_t a_shift[8], b_pitch;
  float alpha, beta;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias, partial;
  std::int64_t partial_pitch;
  DeviceAddress a, b;
  std::int64_t a_leading, a_stride, b_leading, b_stride;
};

// Columns of a box of B whose rows are read by class: those of the tile, and the elements by which
// a box begins early, with half a sector where rows of a class begin with half a sector
// alternately.
std::int64_t box_columns_of(const RegisterTile& tile) {
  return std::min(tile.n(), 128);
}
std::int64_t columns_before(const RegisterLayout& layout) {
  return layout.b.pitch % 2 == 0 ? 8 : 12;
}

// Interleaved matrices whose rows each lie alike in units of `unit` bytes.
int classes_of(const RowsInMemory& rows, std::int64_t unit) {
  return static_cast<int>(unit / std::gcd(rows.pitch_bytes(), unit));
}

class RegisterOperandRun final : public GemmRun {
 public:
  RegisterOperandRun(Device& device, const GemmProblem& problem, const RegisterTile& tile)
      : device_(device),
        given_(problem),
        problem_(problem_of(tile, problem)),
        tile_(tile),
        layout_(layout_of(problem_, tile)) {
    if (tile.pair == RegisterPair::shares_c &&
        (tile.splits > 1 || k_tiles_of(problem_, layout_) < 2)) {
      throw usage_error(
          "register_operand: a pair cannot share the k of {} for k = {}: it needs more than {} and "
          "no other parts",
          text_of(tile), problem.shape.k, tile_k);
    }
    if (layout_.repacks_a) repack(layout_.a, a_copy_, layout_.transposes_a);
    if (layout_.repacks_b) repack(layout_.b, b_copy_, false);
    size_work();
    kernel_ = device.load(request());
    if (arguments_.splits > 1) {
      reduction_ = std::make_unique<SplitReduction>(device, problem, arguments_.splits);
    }
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    if (fallback_.run(addresses.a | addresses.b | addresses.c, addresses, stream)) return;
    GemmAddresses at = addresses;
    if (tile_.transposed) std::swap(at.a, at.b);
    Repacking::run_both({a_copy_.get(), at.a}, {b_copy_.get(), at.b}, stream);
    const KernelArguments& arguments = prepared_.of(at, [&] { return arguments_for(at); });
    device_.launch(kernel_, launch_, arguments, stream);
    if (reduction_) reduction_->run(addresses, stream);
  }

  std::string note() const override {
    std::string note = text_of(tile_);
    const std::string_view a = tile_.transposed ? "B" : "A", b = tile_.transposed ? "A" : "B";
    if (layout_.a_classes > 1) note += fmt::format(", {} by class", a);
    if (layout_.b_classes > 1) note += fmt::format(", {} by class", b);
    if (a_copy_) note += fmt::format(", {} repacked", a);
    if (b_copy_) note += fmt::format(", {} repacked", b);
    return note;
  }

 private:
  void repack(RowsInMemory& rows, std::unique_ptr<Repacking>& copy, bool transposed) {
    copy = std::make_unique<Repacking>(device_, rows, transposed);
    rows = copy->result();
  }

  void size_work() {
    const MatmulShape& s = problem_.shape;
    Arguments& a = arguments_;
    a = {};
    a.m = static_cast<std::int32_t>(s.m);
    a.n = static_cast<std::int32_t>(s.n);
    a.k = static_cast<std::int32_t>(s.k);
    a.batch = static_cast<std::int32_t>(problem_.batch);
    // A tile has rows of one class, and so have those below it in a cluster.
    const std::int64_t rows_of_class = groups_of(s.m, layout_.a_classes);
    const int down = tile_.pair == RegisterPair::shares_b ? 2 : 1;
    const int across = tile_.pair == RegisterPair::shares_a ? 2 : 1;
    const int deep = tile_.pair == RegisterPair::shares_c ? 2 : 1;
    a.tiles_m = static_cast<std::int32_t>(groups_of(rows_of_class, std::int64_t{tile_.m} * down) *
                                          down * layout_.a_classes);
    a.tiles_n =
        static_cast<std::int32_t>(groups_of(s.n, std::int64_t{tile_.n()} * across) * across);
    a.k_tiles = static_cast<std::int32_t>(k_tiles_of(problem_, layout_));
    a.k_tiles_of_part =
        static_cast<std::int32_t>(groups_of(a.k_tiles, std::int64_t{tile_.splits} * deep));
    a.splits = deep > 1 ? 1 : static_cast<std::int32_t>(groups_of(a.k_tiles, a.k_tiles_of_part));
    a.units = a.tiles_m * a.tiles_n / (down * across) * a.splits * a.batch;
    a.alpha = static_cast<float>(problem_.alpha);
    a.beta = static_cast<float>(problem_.beta);
    a.c_leading = problem_.c.leading;
    a.c_stride = problem_.c.batch_stride;
    const std::int32_t resident = device_.properties().sm_count / tile_.cluster();
    launch_.grid = {static_cast<std::uint32_t>(std::min(a.units, resident) * tile_.cluster())};
    launch_.block = {static_cast<std::uint32_t>(128 * (tile_.consumers + 1))};
    launch_.cluster = {static_cast<std::uint32_t>(tile_.cluster())};
    launch_.shared_bytes = shared_bytes_of(tile_, layout_);
    launch_.overlaps_previous = true;
  }

  KernelRequest request() const {
    KernelRequest request = embedded_request("gemm/register_operand.cu");
    request.kernel = "gemm";
    // There may be fewer tiles of k than requested parts; one part may be left.
    request.defines = register_constants(problem_, tile_, layout_, arguments_.splits > 1);
    return request;
  }

  KernelArguments arguments_for(const GemmAddresses& addresses) {
    Arguments a = arguments_;
    a.c = addresses.c;
    a.bias = addresses.bias;
    a.a = a_copy_ ? a_copy_->address() : addresses.a;
    a.a_leading = layout_.a.pitch;
    a.a_stride = layout_.a.batch_stride;
    a.b = b_copy_ ? b_copy_->address() : addresses.b;
    a.b_leading = layout_.b.pitch;
    a.b_stride = layout_.b.batch_stride;
    if (reduction_) {
      a.partial = reduction_->partial();
      a.partial_pitch = reduction_->pitch();
    }
    const int a_rows = tile_.pair == RegisterPair::shares_a ? tile_.m / 2 : tile_.m;
    const ResidueMaps of_a = residue_maps(device_, layout_.a, a.a, layout_.a_classes, row_bytes / 4,
                                          static_cast<std::uint32_t>(a_rows));
    const bool by_class = layout_.b_classes > 1;
    const std::int64_t b_columns =
        by_class ? box_columns_of(tile_) + columns_before(layout_) : row_bytes / 4;
    const ResidueMaps of_b = residue_maps(device_, layout_.b, a.b, layout_.b_classes,
                                          static_cast<std::uint32_t>(b_columns),
                                          static_cast<std::uint32_t>(tile_k / layout_.b_classes),
                                          by_class ? Swizzle::none : Swizzle::bytes_128);
    std::vector<TensorMap> maps = of_a.maps;
    maps.insert(maps.end(), of_b.maps.begin(), of_b.maps.end());
    for (int c = 0; c < layout_.a_classes; ++c) a.a_shift[c] = a_shift_of(layout_, c);
    a.b_pitch = static_cast<std::int32_t>(layout_.b.pitch % (sector_bytes / 4));
    return arguments_after_maps(maps, a);
  }

  Device& device_;
  GemmProblem given_, problem_;  // `problem_` as the kernel computes it
  RegisterTile tile_;
  RegisterLayout layout_;
  std::unique_ptr<Repacking> a_copy_, b_copy_;
  Arguments arguments_;
  Launch launch_;
  Kernel kernel_;
  std::unique_ptr<SplitReduction> reduction_;
  GeneralFallback fallback_{device_, given_};
  PreparedArguments prepared_;
};

}  // namespace

GemmProblem problem_of(const RegisterTile& tile, const GemmProblem& problem) {
  return tile.transposed ? transposed(problem) : problem;
}

RegisterLayout layout_of(const GemmProblem& p, const RegisterTile& tile) {
  const auto rows_of = [&](const GemmOperand& operand, std::int64_t rows, std::int64_t columns) {
    return RowsInMemory{.type = operand.type,
                        .rows = rows,
                        .columns = columns,
                        .pitch = operand.leading,
                        .batch = p.batch,
                        .batch_stride = operand.batch_stride};
  };
  const bool by_columns = p.a.order == Order::column_major;
  RegisterLayout layout{
      .a = by_columns ? rows_of(p.a, p.shape.k, p.shape.m) : rows_of(p.a, p.shape.m, p.shape.k),
      .b = rows_of(p.b, p.shape.k, p.shape.n),
      .transposes_a = by_columns};
  // The copy engine starts at multiples of 16 bytes.
  const auto is_taken = [](const RowsInMemory& rows) {
    return rows.pitch_bytes() % copy_alignment == 0;
  };
  layout.repacks_a = layout.transposes_a || !layout.a.batch_fits_map() ||
                     (!is_taken(layout.a) && !tile.a_by_class);
  if (!layout.repacks_a && tile.a_by_class) {
    // Rows that do not begin with sectors would need too many classes to begin with lines.
    layout.a_unit = layout.a.pitch_bytes() % sector_bytes == 0 ? line_bytes : sector_bytes;
    layout.a_classes = classes_of(layout.a, layout.a_unit);
  }
  // With an even pitch, four classes have rows that all begin alike in sectors; with an odd one,
  // every second has. A class without rows has no map.
  const int b_classes = is_taken(layout.b) ? 1 : 4;
  layout.repacks_b = !layout.b.batch_fits_map() || layout.b.rows < b_classes;
  if (!layout.repacks_b) layout.b_classes = b_classes;
  // Neighbours in rows of C, or in its columns.
  const int at_once = tile.transposed ? 2 : 2 * tile.products;
  layout.c_is_aligned =
      p.c.leading % at_once == 0 && (p.batch == 1 || p.c.batch_stride % at_once == 0);
  return layout;
}

int a_shift_of(const RegisterLayout& layout, int of_class) {
  const auto element = static_cast<std::int64_t>(size_of(layout.a.type));
  return static_cast<int>(of_class * layout.a.pitch_bytes() % layout.a_unit / element);
}

std::int64_t k_tiles_of(const GemmProblem& problem, const RegisterLayout& layout) {
  // Less than a sector fits into the first tile.
  if (layout.a_unit == sector_bytes) return groups_of(problem.shape.k, tile_k);
  std::int64_t most = 0;
  for (int c = 1; c < layout.a_classes; ++c) {
    most = std::max<std::int64_t>(most, a_shift_of(layout, c));
  }
  return groups_of(problem.shape.k + most, tile_k);
}

std::size_t shared_bytes_of(const RegisterTile& tile, const RegisterLayout& layout) {
  constexpr std::int64_t barrier = 8, alignment = 1024, lots_of_strip = 2048, strip_columns = 32;
  const std::int64_t b_rows = layout.b_classes > 1
                                  ? tile.n() / box_columns_of(tile) * tile_k *
                                        (box_columns_of(tile) + columns_before(layout)) * 4
                                  : tile.n() * row_bytes;
  const std::int64_t stage = tile.m * row_bytes + b_rows + 2 * barrier;
  const bool through_shared = !layout.c_is_aligned && !tile.transposed;
  const std::int64_t strips = through_shared ? tile.n() / strip_columns : 1;
  const std::int64_t received =
      tile.pair == RegisterPair::shares_c ? std::int64_t{tile.m} * tile.n() * 2 : 16;
  return static_cast<std::size_t>(tile.stages * stage + strips * lots_of_strip + received +
                                  2 * barrier + 2 * alignment);
}

Defines register_constants(const GemmProblem& problem, const RegisterTile& tile,
                           const RegisterLayout& layout, bool is_partial) {
  Defines defines = epilogue_constants(problem);
  defines.emplace_back("OPERAND", "tf32");
  const auto constant = [&](std::string_view name, std::int64_t value) {
    defines.push_back(define(name, value));
  };
  constant("STEP", 8);
  constant("TILE_M", tile.m);
  constant("PRODUCTS", tile.products);
  constant("CONSUMERS", tile.consumers);
  constant("STAGES", tile.stages);
  constant("PAIR", static_cast<int>(tile.pair));
  constant("A_CLASSES", layout.a_classes);
  constant("B_CLASSES", layout.b_classes);
  constant("B_IS_ODD", layout.b.pitch % 2 != 0);
  constant("PARTIAL", is_partial);
  constant("LETS_NEXT_BEGIN",
           lets_next_grid_begin(layout.repacks_a || layout.repacks_b, is_partial));
  constant("C_ALIGNED", layout.c_is_aligned);
  constant("TRANSPOSED", tile.transposed);
  constant("GROUP_ROWS", tile.group);
  return defines;
}

std::optional<std::string> register_operand_refusal(const GemmProblem& problem,
                                                    const DeviceProperties& device) {
  if (problem.precision != Precision::tf32) return "operands in registers are for tf32";
  if (problem.a.type != DataType::float32 || problem.b.type != DataType::float32) {
    return "A and B must be float32";
  }
  if (problem.b.order != Order::row_major && problem.a.order != Order::column_major) {
    return "B must be row-major, or A column-major";
  }
  return wgmma_size_refusal(problem, device);
}

bool register_operand_pays(const GemmProblem& problem, const DeviceProperties& device) {
  if (!tensor_tiles_pay(problem, device)) {
    // mma_sync takes short products whose operands both lie across k, but it is not fast where rows
    // begin anywhere.
    const ChunkAccess access = chunk_access(problem, {});
    return access.a == RowsBy::elements || access.b == RowsBy::elements;
  }
  return timed_register_tiles(problem, device).front().cycles <
         timed_tensor_tiles(problem, device).front().cycles;
}

std::unique_ptr<GemmRun> prepare_register_operand(Device& device, const GemmProblem& problem) {
  return prepare_register_operand(device, problem,
                                  register_tile_candidates(problem, device.properties()).front());
}

std::unique_ptr<GemmRun> prepare_register_operand(Device& device, const GemmProblem& problem,
                                                  const RegisterTile& tile) {
  return std::make_unique<RegisterOperandRun>(device, problem, tile);
}

}  // namespace tilescope::operations
