#include "operations/gemm/unaligned_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operations/gemm/constants.hpp"
#include "operations/gemm/general.hpp"
#include "operations/gemm/prepared_arguments.hpp"
#include "operations/gemm/tensor_layout.hpp"
#include "operations/gemm/tensor_tiles.hpp"
#include "operations/kernel_plan.hpp"
#include "operations/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// As in the kernel.
constexpr int most_classes = 8, stages = 5, blocks_of_tile = 2;
constexpr std::int64_t tile_m = 128, tile_n = 128, tile_k = 64;
constexpr std::uint32_t box_columns = 64, edge_columns = 8;
struct Arguments {
  std::int32_t m, n, tiles_m, tiles_n, k_tiles;
  std::array<std::int32_t, most_classes> shift;
  float alpha;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias;
};
// Two warpgroups that multiply, and warps that copy.
int threads_of(int classes) {
  return 256 + 32 * std::min(classes, 4);
}
constexpr std::size_t shared_bytes() {
  constexpr std::size_t stage = 35 * 1024, received = 16 * 16 * 128, c = 128 * 144;
  constexpr std::size_t barriers = 16, alignment = 1024;
  return stages * (stage + barriers) + received + c + barriers + alignment;
}

RowsInMemory rows_of_a(const GemmProblem& p) {
  return rows_in_memory(p.a, p.shape.m, p.shape.k, p.batch);
}
RowsInMemory rows_of_b(const GemmProblem& p) {
  RowsInMemory b = rows_in_memory(p.b, p.shape.k, p.shape.n, p.batch);
  b.reads_ahead = false;
  return b;
}

class UnalignedRowsRun final : public GemmRun {
 public:
  UnalignedRowsRun(Device& device, const GemmProblem& problem)
      : device_(device),
        problem_(problem),
        b_classes_(residue_groups(rows_of_b(problem).pitch_bytes())),
        a_(rows_of_a(problem)) {
    if (residue_groups(a_.pitch_bytes()) > 1 || !a_.batch_fits_map()) {
      a_copy_ = std::make_unique<Repacking>(device, a_, false);
      a_ = a_copy_->result();
    }
    const MatmulShape& s = problem.shape;
    const std::int64_t tiles_m = groups_of(s.m, tile_m);
    const std::int64_t tiles_n = groups_of(s.n, tile_n);
    launch_ = flat_launch(tiles_m * tiles_n * blocks_of_tile * problem.batch,
                          threads_of(b_classes_), shared_bytes());
    launch_.cluster = {blocks_of_tile};
    launch_.overlaps_previous = a_copy_ != nullptr;
    arguments_.m = static_cast<std::int32_t>(s.m);
    arguments_.n = static_cast<std::int32_t>(s.n);
    arguments_.tiles_m = static_cast<std::int32_t>(tiles_m);
    arguments_.tiles_n = static_cast<std::int32_t>(tiles_n);
    arguments_.k_tiles = static_cast<std::int32_t>(groups_of(s.k, tile_k));
    arguments_.alpha = static_cast<float>(problem.alpha);
    arguments_.c_leading = problem.c.leading;
    arguments_.c_stride = problem.c.batch_stride;

    KernelRequest request = embedded_request("gemm/unaligned_rows.cu");
    request.kernel = "gemm";
    request.defines = epilogue_constants(problem);
    request.defines.emplace_back("OPERAND", problem.precision == Precision::bf16 ? "bf16" : "f16");
    const auto constant = [&](std::string_view name, std::int64_t value) {
      request.defines.push_back(define(name, value));
    };
    constant("STAGES", stages);
    constant("CLASSES", b_classes_);
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
    if (a_copy_) a_copy_->run(addresses.a, stream);
    device_.launch(kernel_, launch_,
                   prepared_.of(addresses, [&] { return arguments_for(addresses); }), stream);
  }

  std::string note() const override {
    return fmt::format("128x128x{} of half of k, {} classes of B's rows{}", stages, b_classes_,
                       a_copy_ ? ", A repacked" : "");
  }

 private:
  KernelArguments arguments_for(const GemmAddresses& addresses) {
    Arguments a = arguments_;
    a.c = addresses.c;
    a.bias = addresses.bias;
    const RowsInMemory b = rows_of_b(problem_);
    const auto rows_of_class = static_cast<std::uint32_t>(tile_k / b_classes_);
    const ResidueMaps of_a = residue_maps(device_, a_, a_copy_ ? a_copy_->address() : addresses.a,
                                          1, box_columns, tile_m);
    const ResidueMaps of_b =
        residue_maps(device_, b, addresses.b, b_classes_, box_columns, rows_of_class);
    const ResidueMaps of_edge = residue_maps(device_, b, addresses.b, b_classes_, edge_columns,
                                             rows_of_class, Swizzle::none);
    std::copy(of_b.shifts.begin(), of_b.shifts.end(), a.shift.begin());
    std::vector<TensorMap> maps = of_a.maps;
    for (const ResidueMaps* more : {&of_b, &of_edge}) {
      maps.insert(maps.end(), more->maps.begin(), more->maps.end());
    }
    return arguments_after_maps(maps, a);
  }

  Device& device_;
  GemmProblem problem_;
  int b_classes_;
  RowsInMemory a_;  // as the kernel reads it
  std::unique_ptr<Repacking> a_copy_;
  Arguments arguments_{};
  Launch launch_;
  Kernel kernel_;
  std::unique_ptr<GemmRun> general_;  // for addresses that the copy engine does not take
  PreparedArguments prepared_;
};

}  // namespace

std::optional<std::string> unaligned_rows_refusal(const GemmProblem& problem,
                                                  const DeviceProperties& device) {
  if (problem.precision != Precision::bf16 && problem.precision != Precision::fp16) {
    return "unaligned rows from registers are for bf16 and fp16";
  }
  if (auto why = tensor_tiles_refusal(problem, device)) return why;
  if (problem.a.order != Order::row_major || problem.b.order != Order::row_major) {
    return "A and B must be row-major";
  }
  const RowsInMemory b = rows_of_b(problem);
  if (residue_groups(b.pitch_bytes()) == 1) return "rows of B are multiples of 16 bytes apart";
  if (!b.batch_fits_map()) return "matrices of B are not multiples of 16 bytes apart";
  if (problem.shape.k <= tile_k) return fmt::format("k is at most {}: two blocks share it", tile_k);
  if (size_of(problem.c.type) != 2) return "C must be of 16 bits";
  if (problem.beta != 0.0) return "C is only written: beta must be 0";
  return std::nullopt;
}

bool unaligned_rows_pay(const GemmProblem& problem, const DeviceProperties& device) {
  // Where it was measured to: one row of tiles, not half empty, so that copying B would not serve
  // several; rounds of tiles that are nearly full; enough of k for a block's beginning and end.
  constexpr std::int64_t least_m = 64, least_k = 1000;
  const MatmulShape& s = problem.shape;
  const std::int64_t blocks = blocks_of_tile * groups_of(s.n, tile_n) * problem.batch;
  const std::int64_t rounds = groups_of(blocks, device.sm_count);
  return s.m > least_m && s.m <= tile_m && s.k >= least_k &&
         4 * blocks >= 3 * rounds * device.sm_count;
}

std::unique_ptr<GemmRun> prepare_unaligned_rows(Device& device, const GemmProblem& problem) {
  return std::make_unique<UnalignedRowsRun>(device, problem);
}

}  // namespace tilescope::operations
