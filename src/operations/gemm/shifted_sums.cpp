#include "operations/gemm/shifted_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "operations/gemm/column_gathering.hpp"
#include "operations/gemm/constants.hpp"
#include "operations/gemm/general.hpp"
#include "operations/gemm/prepared_arguments.hpp"
#include "operations/gemm/tensor_layout.hpp"
#include "operations/gemm/tensor_tiles.hpp"
#include "operations/kernel_plan.hpp"
#include "operations/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr int most_classes = 8;
constexpr std::int64_t tile_m = 64, tile_k = 64;
constexpr std::int64_t row_bytes = 128, edge_columns = 8, element_bytes = 2;

// As struct Arguments of the kernel.
struct Arguments {
  std::int32_t m, n, tiles_m, tiles_n, k_tiles_of_class;
  std::array<std::int32_t, most_classes> shift;
  float alpha, beta;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias;
};

RowsInMemory rows_of_a(const GemmProblem& p) {
  return rows_in_memory(p.a, p.shape.m, p.shape.k, p.batch);
}
RowsInMemory rows_of_b(const GemmProblem& p) {
  return rows_in_memory(p.b, p.shape.k, p.shape.n, p.batch);
}

// What the kernel is compiled for.
struct Tile {
  int classes, n, cluster, stages;
};

Tile tile_of(const GemmProblem& p) {
  Tile tile{};
  tile.classes = residue_groups(rows_of_b(p).pitch_bytes());
  // The sums of all classes of a tile stay in registers.
  tile.n = tile.classes == 8 ? 64 : 128;
  tile.cluster = p.shape.m > tile_m ? 2 : 1;
  tile.stages = tile.classes == 8 ? 12 : 8;
  return tile;
}

std::size_t shared_bytes_of(const Tile& tile) {
  const std::int64_t stage = row_bytes * (tile_m + tile.n) + element_bytes * edge_columns * tile_k;
  const std::int64_t sums = tile.classes * tile_m * (tile.n + edge_columns) * 4;
  constexpr std::int64_t barriers = 16, alignment = 1024;
  return static_cast<std::size_t>(std::max(tile.stages * stage, sums) + tile.stages * barriers +
                                  2 * alignment);
}

std::int64_t class_columns_of(const GemmProblem& p, const Tile& tile) {
  return groups_of(groups_of(p.shape.k, tile.classes), tile_k) * tile_k;
}

std::int64_t blocks_of(const GemmProblem& p, const Tile& tile) {
  return groups_of(p.shape.m, tile_m * tile.cluster) * tile.cluster * groups_of(p.shape.n, tile.n) *
         p.batch;
}

// Microseconds on an H200; docs/results/products_h200.md has the runs that they come from.
double predicted_time(const GemmProblem& p, const DeviceProperties& device) {
  const Tile tile = tile_of(p);
  constexpr double launches = 6.0, ends_of_block = 2.5;
  const double of_k_tile = tile.n == 128 ? 0.35 : 0.235;
  const double k_tiles = static_cast<double>(tile.classes * (class_columns_of(p, tile) / tile_k));
  const double waves =
      std::ceil(static_cast<double>(blocks_of(p, tile)) / static_cast<double>(device.sm_count));
  return launches + waves * (ends_of_block + k_tiles * of_k_tile);
}

// The same for a product of copies.
double predicted_time_of_copies(const GemmProblem& p) {
  constexpr double launches = 7.0, ends_of_blocks = 2.0;
  constexpr double bytes_copied = 3.5e6, bytes_read = 3.6e6, operations = 600e6;  // a microsecond
  const auto area = [&p](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(p.batch) * static_cast<double>(rows) * static_cast<double>(columns);
  };
  const MatmulShape& s = p.shape;
  const bool copies_a = residue_groups(rows_of_a(p).pitch_bytes()) > 1;
  const double a = 2.0 * area(s.m, s.k), b = 2.0 * area(s.k, s.n), c = 2.0 * area(s.m, s.n);
  const double copied = 2.0 * ((copies_a ? a : 0.0) + b);
  const double product = std::max(2.0 * area(s.m, s.k) * static_cast<double>(s.n) / operations,
                                  (a + b + c) / bytes_read);
  return launches + copied / bytes_copied + ends_of_blocks + product;
}

class ShiftedSumsRun final : public GemmRun {
 public:
  ShiftedSumsRun(Device& device, const GemmProblem& problem)
      : device_(device),
        problem_(problem),
        tile_(tile_of(problem)),
        class_columns_(class_columns_of(problem, tile_)),
        gathering_(device, rows_of_a(problem), tile_.classes, class_columns_) {
    const MatmulShape& s = problem.shape;
    const std::int64_t tiles_m = groups_of(s.m, tile_m * tile_.cluster) * tile_.cluster;
    const std::int64_t tiles_n = groups_of(s.n, tile_.n);
    launch_ = flat_launch(blocks_of(problem, tile_), 384, shared_bytes_of(tile_));
    launch_.cluster = {static_cast<std::uint32_t>(tile_.cluster)};
    launch_.overlaps_previous = true;
    arguments_.m = static_cast<std::int32_t>(s.m);
    arguments_.n = static_cast<std::int32_t>(s.n);
    arguments_.tiles_m = static_cast<std::int32_t>(tiles_m);
    arguments_.tiles_n = static_cast<std::int32_t>(tiles_n);
    arguments_.k_tiles_of_class = static_cast<std::int32_t>(class_columns_ / tile_k);
    arguments_.alpha = static_cast<float>(problem.alpha);
    arguments_.beta = static_cast<float>(problem.beta);
    arguments_.c_leading = problem.c.leading;
    arguments_.c_stride = problem.c.batch_stride;

    KernelRequest request = embedded_request("gemm/shifted_sums.cu");
    request.kernel = "gemm";
    request.defines = epilogue_constants(problem);
    request.defines.emplace_back("OPERAND", problem.precision == Precision::bf16 ? "bf16" : "f16");
    const auto constant = [&](std::string_view name, std::int64_t value) {
      request.defines.push_back(define(name, value));
    };
    constant("TILE_N", tile_.n);
    constant("STAGES", tile_.stages);
    constant("CLUSTER", tile_.cluster);
    constant("CLASSES", tile_.classes);
    constant("GROUP_ROWS", 8);
    kernel_ = device.load(request);
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    if ((addresses.a | addresses.b) % copy_alignment != 0) {
      // The copy engine cannot address such matrices; nobody who wants speed allocates them.
      if (!general_) general_ = prepare_general(device_, problem_);
      general_->run(addresses, stream);
      return;
    }
    gathering_.run(addresses.a, stream);
    device_.launch(kernel_, launch_,
                   prepared_.of(addresses, [&] { return arguments_for(addresses); }), stream);
  }

  std::string note() const override {
    return fmt::format("64x{}x{} cluster {}, {} classes of B's rows", tile_.n, tile_.stages,
                       tile_.cluster, tile_.classes);
  }

 private:
  KernelArguments arguments_for(const GemmAddresses& addresses) {
    Arguments a = arguments_;
    a.c = addresses.c;
    a.bias = addresses.bias;
    constexpr std::uint32_t chunk_columns = row_bytes / element_bytes;
    std::vector<TensorMap> maps =
        residue_maps(device_, gathering_.result(), gathering_.address(), 1, chunk_columns, tile_m)
            .maps;
    const auto share = static_cast<std::uint32_t>(tile_k / tile_.cluster);
    for (const bool edge : {false, true}) {
      for (int c = 0; c < tile_.classes; ++c) {
        const ResidueBase base = residue_base(rows_of_b(problem_), addresses.b, c);
        a.shift[static_cast<std::size_t>(c)] = base.shift;
        maps.push_back(class_map(c, base, edge ? std::uint32_t{edge_columns} : chunk_columns, share,
                                 edge ? Swizzle::none : Swizzle::bytes_128));
      }
    }
    return arguments_after_maps(maps, a);
  }

  TensorMap class_map(int number, const ResidueBase& base, std::uint32_t box_columns,
                      std::uint32_t box_rows, Swizzle swizzle) const {
    const RowsInMemory b = rows_of_b(problem_);
    const auto pitch = static_cast<std::uint64_t>(b.pitch_bytes() * tile_.classes);
    return device_.tensor_map(
        {.address = base.address,
         .type = b.type,
         .extents = {static_cast<std::uint64_t>(base.shift + b.columns),
                     static_cast<std::uint64_t>(groups_of(b.rows - number, tile_.classes)),
                     static_cast<std::uint64_t>(b.batch)},
         .pitches = {pitch, b.batch > 1 ? static_cast<std::uint64_t>(b.batch_stride) * element_bytes
                                        : pitch},
         .box = {box_columns, box_rows, 1},
         .swizzle = swizzle});
  }

  Device& device_;
  GemmProblem problem_;
  Tile tile_;
  std::int64_t class_columns_;
  ColumnGathering gathering_;
  Arguments arguments_{};
  Launch launch_;
  Kernel kernel_;
  std::unique_ptr<GemmRun> general_;  // for addresses that the copy engine does not take
  PreparedArguments prepared_;
};

}  // namespace

std::optional<std::string> shifted_sums_refusal(const GemmProblem& problem,
                                                const DeviceProperties& device) {
  if (problem.precision != Precision::bf16 && problem.precision != Precision::fp16) {
    return "shifted sums are for bf16 and fp16";
  }
  if (auto why = tensor_tiles_refusal(problem, device)) return why;
  if (problem.a.order != Order::row_major || problem.b.order != Order::row_major) {
    return "A and B must be row-major";
  }
  const RowsInMemory b = rows_of_b(problem);
  const int classes = residue_groups(b.pitch_bytes());
  if (classes == 1) return "rows of B are multiples of 16 bytes apart";
  if (!b.batch_fits_map()) return "matrices of B are not multiples of 16 bytes apart";
  if (problem.shape.k < classes) return fmt::format("fewer than {} rows of B", classes);
  return std::nullopt;
}

bool shifted_sums_pay(const GemmProblem& problem, const DeviceProperties& device) {
  // The predictions are good to a tenth or two, for as many rows as a cluster's tiles have: with
  // more B is read again, and nobody has measured that.
  constexpr double sure = 0.8;
  constexpr std::int64_t most_rows = 2 * tile_m;
  return problem.shape.m <= most_rows &&
         predicted_time(problem, device) < sure * predicted_time_of_copies(problem);
}

std::unique_ptr<GemmRun> prepare_shifted_sums(Device& device, const GemmProblem& problem) {
  return std::make_unique<ShiftedSumsRun>(device, problem);
}

}  // namespace tilescope::operations
