#include "operations/gemm/hopper/tensor_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/errors.hpp"
#include "operations/gemm/hopper/general_fallback.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "operations/gemm/operands/split_reduction.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/prepared_arguments.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr int most_classes = 8;

// Matches struct Arguments of the kernel.
struct Arguments {
  std::int32_t m, n, k, batch;
  std::int32_t tiles_m, tiles_n, splits, k_tiles, k_tiles_of_split, units;
  std::array<std::int32_t, most_classes> shift;
  float alpha, beta;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias, partial;
  std::int64_t partial_pitch;
  KernelScales of_a, of_b;
  DeviceAddress arrived;
  std::int32_t panel_width, pieces, k_tiles_of_piece, first_there, end_there;
};

class TensorTilesRun final : public GemmRun {
 public:
  TensorTilesRun(Device& device, const GemmProblem& problem, const TensorTile& tile)
      : device_(device),
        given_(problem),
        problem_(problem_of(tile, problem)),
        tile_(tile),
        layout_(layout_of(problem_, tile)) {
    repack(layout_.a, a_copy_);
    repack(layout_.b, b_copy_);
    if (tile.panel != 0 && tile.panel != k_tiles_of(problem)) {
      throw usage_error("a panel of {} tiles of k, where k has {}", tile.panel,
                        k_tiles_of(problem));
    }
    if (tile.across > 1 && (tile.splits > 1 || tile.panel != 0)) {
      throw usage_error("blocks side by side take all of k, and no panel");
    }
    if (tile.transposed && (layout_.store != Store::boxed || size_of(problem.c.type) != 2)) {
      throw usage_error("a transposed tile needs a 16-bit C of whole 16-byte chunks");
    }
    if (awaits() && !awaits_columns(problem, {}, tile)) {
      throw usage_error("B cannot arrive while tiles of {} are multiplied", text_of(tile));
    }
    size_work();
    if (tile.layers > 1 && (!one_tile_ || tile.in_turn || arguments_.k_tiles < tile.layers)) {
      throw usage_error("{} layers of tiles are for products whose blocks have one tile each",
                        tile.layers);
    }
    kernel_ = device.load(request());
    if (arguments_.splits > 1) {
      reduction_ = std::make_unique<SplitReduction>(device, problem, arguments_.splits);
    }
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    if (fallback_.run(addresses.a | addresses.b | addresses.c, addresses, stream)) return;
    GemmAddresses at = addresses;
    if (tile_.transposed) {
      std::swap(at.a, at.b);
      std::swap(at.scale_a, at.scale_b);
    }
    Repacking::run_both({a_copy_.get(), at.a}, {b_copy_.get(), at.b}, stream);
    const KernelArguments& arguments = prepared_.of(at, [&] { return arguments_for(at); });
    device_.launch(kernel_, launch_, arguments, stream);
    if (reduction_) reduction_->run(addresses, stream);
  }

  std::string note() const override {
    std::string note = text_of(tile_);
    const bool copies_a = tile_.transposed ? b_copy_ != nullptr : a_copy_ != nullptr;
    const bool copies_b = tile_.transposed ? a_copy_ != nullptr : b_copy_ != nullptr;
    if (copies_a) note += ", A repacked";
    if (copies_b) note += ", B repacked";
    return note;
  }

 private:
  bool awaits() const { return problem_.arrival.columns > 0; }

  void repack(TileOperand& operand, std::unique_ptr<Repacking>& copy) {
    if (!operand.repacked) return;
    copy = std::make_unique<Repacking>(device_, operand.rows, operand.transposed);
    operand.rows = copy->result();
  }

  void size_work() {
    const MatmulShape& s = problem_.shape;
    const std::int64_t tile_k =
        tile_row_bytes / static_cast<std::int64_t>(size_of(problem_.a.type));
    Arguments& a = arguments_;
    a = {};
    a.m = static_cast<std::int32_t>(s.m);
    a.n = static_cast<std::int32_t>(s.n);
    a.k = static_cast<std::int32_t>(s.k);
    a.batch = static_cast<std::int32_t>(problem_.batch);
    const std::int64_t rows = groups_of(s.m, layout_.classes);
    a.tiles_m = static_cast<std::int32_t>(groups_of(rows, tile_.m * tile_.down())) * tile_.down() *
                layout_.classes;
    a.tiles_n = static_cast<std::int32_t>(groups_of(s.n, tile_.n));
    const std::int64_t most_shift =
        layout_.a_begins_anywhere
            ? copy_alignment / static_cast<std::int64_t>(size_of(problem_.a.type)) - 1
            : 0;
    a.k_tiles = static_cast<std::int32_t>(groups_of(s.k + most_shift, tile_k));
    a.k_tiles_of_split = static_cast<std::int32_t>(groups_of(a.k_tiles, tile_.splits));
    a.splits = static_cast<std::int32_t>(groups_of(a.k_tiles, a.k_tiles_of_split));
    const std::int32_t columns = groups_of(a.tiles_n, tile_.across);
    a.units = a.tiles_m / tile_.down() * columns * a.splits * a.batch;
    const auto resident =
        static_cast<std::int32_t>(resident_clusters(tile_, device_.properties().sm_count));
    one_tile_ = a.units <= resident && a.splits == 1 && tile_.panel == 0;
    if (!tile_.is_pair_across() || one_tile_) {
      a.tiles_n = columns * tile_.across;  // some of them beyond C's last column
    } else if (a.tiles_n % tile_.across != 0) {
      const std::int32_t last_column = groups_of(a.tiles_m, tile_.across);
      a.units = (a.tiles_m * (a.tiles_n / tile_.across) + last_column) * a.batch;
    }
    a.alpha = static_cast<float>(problem_.alpha);
    a.beta = static_cast<float>(problem_.beta);
    a.c_leading = problem_.c.leading;
    a.c_stride = problem_.c.batch_stride;
    if (awaits()) {
      const Arrival& arrival = problem_.arrival;
      const auto k_tiles = [&](std::int64_t rows_of_b) {
        return static_cast<std::int32_t>(groups_of(rows_of_b, tile_k));
      };
      a.panel_width = static_cast<std::int32_t>(arrival.columns);
      a.pieces = static_cast<std::int32_t>(groups_of(s.k, arrival.rows));
      a.k_tiles_of_piece = k_tiles(arrival.rows);
      a.first_there = k_tiles(arrival.first_there);
      a.end_there = k_tiles(arrival.first_there + arrival.there);
    }

    launch_.cluster = {static_cast<std::uint32_t>(tile_.cluster)};
    if (one_tile_) {
      launch_.grid = {static_cast<std::uint32_t>(a.tiles_m), static_cast<std::uint32_t>(a.tiles_n),
                      static_cast<std::uint32_t>(a.batch * tile_.layers)};
      launch_.cluster = {static_cast<std::uint32_t>(tile_.down()),
                         static_cast<std::uint32_t>(tile_.across),
                         static_cast<std::uint32_t>(tile_.layers)};
    } else {
      const std::int32_t clusters = tile_.persistent ? std::min(a.units, resident) : a.units;
      launch_.grid = {static_cast<std::uint32_t>(clusters * tile_.cluster)};
    }
    // Ranges of tiles under a panel have the length of the longest, except the last.
    if (tile_.panel > 0) {
      launch_.grid = {static_cast<std::uint32_t>(groups_of(a.units, groups_of(a.units, resident)))};
    }
    launch_.block = {static_cast<std::uint32_t>(128 * (tile_.consumers + 1))};
    launch_.shared_bytes = shared_bytes_of(tile_, layout_, problem_.c.type);
    launch_.overlaps_previous = true;
  }

  KernelRequest request() const {
    KernelRequest request =
        embedded_request(tile_.panel > 0 ? "gemm/panel_tiles.cu" : "gemm/tensor_tiles.cu");
    request.kernel = "gemm";
    request.defines = epilogue_constants(problem_);
    const auto constant = [&](std::string_view name, std::int64_t value) {
      request.defines.push_back(define(name, value));
    };
    request.defines.emplace_back("OPERAND", wgmma_operand(problem_.precision));
    constant("STEP", 32 / static_cast<std::int64_t>(size_of(problem_.a.type)));
    constant("TILE_M", tile_.m);
    constant("TILE_N", tile_.n);
    constant("STAGES", tile_.stages);
    constant("CONSUMERS", tile_.consumers);
    constant("IN_TURN", tile_.in_turn);
    constant("CLUSTER", tile_.cluster);
    constant("ACROSS", tile_.across);
    constant("LAYERS", tile_.layers);
    constant("LETS_NEXT_BEGIN", lets_next_grid_begin(a_copy_ || b_copy_, arguments_.splits > 1));
    constant("TRANSPOSED", tile_.transposed);
    constant("ONE_TILE", one_tile_);
    constant("AWAITS", !awaits() ? 0 : tile_.transposed ? 2 : 1);
    constant("A_MN_MAJOR", layout_.a.mn_major);
    constant("B_MN_MAJOR", layout_.b.mn_major);
    if (tile_.panel > 0) constant("K_TILES", tile_.panel);
    constant("A_CLASSES", layout_.classes);
    constant("C_BOXES", tile_.boxes);
    constant("C_STORE", static_cast<std::int64_t>(store()));
    constant("GROUP_ROWS", tile_.group);
    const bool by_steps = problem_.scale_a.step_pitch > 0 || problem_.scale_b.step_pitch > 0;
    constant("SCALES", !problem_.is_scaled() ? 0 : by_steps ? 2 : 1);
    // Also one factor of all columns, or none, is the same for each 128.
    const ScaleLayout& of_b = problem_.scale_b;
    constant("B_SCALES_BY_BLOCK",
             problem_.is_scaled() && (!of_b.exists() || of_b.shift >= ScaleLayout::shift_of_block));
    return request;
  }

  // There may be fewer tiles of k than requested parts; one part may be left.
  Store store() const {
    return layout_.store == Store::partial && arguments_.splits == 1 ? Store::each : layout_.store;
  }

  KernelArguments arguments_for(const GemmAddresses& addresses) {
    Arguments a = arguments_;
    a.c = addresses.c;
    a.bias = addresses.bias;
    a.arrived = addresses.arrived;
    a.of_a = {problem_.scale_a, addresses.scale_a};
    a.of_b = {problem_.scale_b, addresses.scale_b};
    if (reduction_) {
      a.partial = reduction_->partial();
      a.partial_pitch = reduction_->pitch();
    }
    const ResidueMaps a_maps = operand_maps(layout_.a, a_copy_ ? a_copy_->address() : addresses.a,
                                            layout_.classes, tile_.m, tile_.across);
    std::copy(a_maps.shifts.begin(), a_maps.shifts.end(), a.shift.begin());
    std::vector<TensorMap> maps = a_maps.maps;
    const auto append = [&maps](const ResidueMaps& more) {
      maps.insert(maps.end(), more.maps.begin(), more.maps.end());
    };
    append(operand_maps(layout_.b, b_copy_ ? b_copy_->address() : addresses.b, 1, tile_.n,
                        tile_.down()));
    if (layout_.store == Store::boxed) {
      append(c_maps(addresses.c));
    } else {
      // The kernel's structure has places for all of them.
      maps.resize(maps.size() + static_cast<std::size_t>(layout_.classes));
    }
    if (awaits()) append(map_there(addresses));
    return arguments_after_maps(maps, a);
  }

  // Boxes of the part of a tile that each of the blocks that share it loads: some of its rows. One
  // of an MN-major tile is some of its boxes of 64 columns, or some of k in each.
  ResidueMaps operand_maps(const TileOperand& operand, DeviceAddress address, int classes,
                           int tile_rows, int parts) const {
    const int boxes = static_cast<int>(groups_of(tile_rows, 64));
    const int of_mn_major = boxes % parts == 0 ? 64 : 64 / parts;
    const int rows = operand.mn_major ? of_mn_major : tile_rows / parts;
    return residue_maps(device_, operand.rows, address, classes, columns_of_box(operand.rows.type),
                        static_cast<std::uint32_t>(rows));
  }

  // The map of those rows of the caller's B that need not arrive; of all rows where there are none.
  ResidueMaps map_there(const GemmAddresses& addresses) const {
    TileOperand there = tile_.transposed ? layout_.a : layout_.b;
    DeviceAddress address = tile_.transposed ? addresses.a : addresses.b;
    if (problem_.arrival.there > 0) {
      (there.mn_major ? there.rows.rows : there.rows.columns) = problem_.arrival.there;
      there.rows.pitch = problem_.arrival.leading_there;
      address = addresses.b_there;
    }
    return tile_.transposed ? operand_maps(there, address, 1, tile_.m, tile_.across)
                            : operand_maps(there, address, 1, tile_.n, tile_.down());
  }

  // Matches c_box_rows, and tail_columns with has_tail_map, of the kernel.
  ResidueMaps c_maps(DeviceAddress address) const {
    const bool by_warp = tile_.in_turn && problem_.beta == 0.0;
    const int rows = tile_.transposed ? tile_.n / 2 : by_warp ? 16 : 64;
    const auto maps_of = [&](std::uint32_t columns, Swizzle swizzle) {
      return residue_maps(device_, rows_of_c(problem_, tile_), address, layout_.classes, columns,
                          static_cast<std::uint32_t>(rows), swizzle);
    };
    ResidueMaps maps = maps_of(columns_of_box(problem_.c.type), Swizzle::bytes_128);
    if (const int tail = tail_columns_of(tile_, problem_.c.type); tail > 0) {
      const ResidueMaps of_tails = maps_of(static_cast<std::uint32_t>(tail), Swizzle::none);
      maps.maps.insert(maps.maps.end(), of_tails.maps.begin(), of_tails.maps.end());
    }
    return maps;
  }

  static std::uint32_t columns_of_box(DataType type) {
    return static_cast<std::uint32_t>(tile_row_bytes / static_cast<std::int64_t>(size_of(type)));
  }

  Device& device_;
  GemmProblem given_, problem_;  // `problem_` as the kernel computes it
  TensorTile tile_;
  TileLayout layout_;
  std::unique_ptr<Repacking> a_copy_, b_copy_;
  Arguments arguments_;
  Launch launch_;
  bool one_tile_ = false;  // of each block
  Kernel kernel_;
  std::unique_ptr<SplitReduction> reduction_;
  GeneralFallback fallback_{device_, given_};
  PreparedArguments prepared_;
};

}  // namespace

std::optional<std::string> tensor_tiles_refusal(const GemmProblem& problem,
                                                const DeviceProperties& device) {
  switch (problem.precision) {
    case Precision::bf16:
    case Precision::fp16:
    case Precision::tf32:
    case Precision::fp8_e4m3:
    case Precision::fp8_e5m2:
    case Precision::int8:
      break;
    default:
      return "tensor-core tiles are for bf16, fp16, tf32, fp8_e4m3, fp8_e5m2 and int8";
  }
  if (auto why = type_refusal(problem)) return why;
  return wgmma_size_refusal(problem, device);
}

// The limits were measured on an H200.
bool tensor_tiles_pay(const GemmProblem& problem, const DeviceProperties&) {
  constexpr std::int64_t most_steps = 176;
  constexpr double most_elements = 1.5e6;  // of C
  const MatmulShape& s = problem.shape;
  const bool needs_copy = problem.precision == Precision::tf32 &&
                          problem.a.order == Order::column_major &&
                          problem.b.order == Order::row_major;
  const double elements = double(problem.batch) * double(s.m) * double(s.n);
  return !needs_copy || s.k > most_steps || elements > most_elements;
}

bool begins_anywhere(const GemmProblem& problem, const TensorTile& tile) {
  return layout_of(problem_of(tile, problem), tile).a_begins_anywhere;
}

bool awaits_columns(const GemmProblem& problem, const GemmAddresses& addresses,
                    const TensorTile& tile) {
  const TileLayout layout = layout_of(problem_of(tile, problem), tile);
  const std::int64_t pitch_there =
      problem.arrival.leading_there * static_cast<std::int64_t>(size_of(problem.b.type));
  return tile.panel == 0 && tile.splits == 1 && tile.layers == 1 && problem.batch == 1 &&
         layout.classes == 1 && !layout.a.repacked && !layout.b.repacked &&
         pitch_there % copy_alignment == 0 &&
         (addresses.a | addresses.b | addresses.b_there | addresses.c) % copy_alignment == 0;
}

std::unique_ptr<GemmRun> prepare_tensor_tiles(Device& device, const GemmProblem& problem) {
  return prepare_tensor_tiles(device, problem,
                              tensor_tile_candidates(problem, device.properties()).front());
}

std::optional<std::string> panel_tiles_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device) {
  if (auto why = tensor_tiles_refusal(problem, device)) return why;
  if (!best_panel_tile(problem, device)) {
    return fmt::format("a panel of B with all of k does not fit shared memory: k is {}",
                       problem.shape.k);
  }
  return std::nullopt;
}

std::unique_ptr<GemmRun> prepare_panel_tiles(Device& device, const GemmProblem& problem) {
  return prepare_tensor_tiles(device, problem,
                              best_panel_tile(problem, device.properties()).value());
}

std::unique_ptr<GemmRun> prepare_tensor_tiles(Device& device, const GemmProblem& problem,
                                              const TensorTile& tile) {
  return std::make_unique<TensorTilesRun>(device, problem, tile);
}

}  // namespace tilescope::operations
