#include "operations/gemm/hopper/ffma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "operations/gemm/operands/split_reduction.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/prepared_arguments.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr std::uint32_t steps_of_box = 32;

// Matches struct Arguments of the kernel.
struct Arguments {
  std::int32_t m, n, k, phases_of_split;
  std::int64_t c_leading, c_stride, partial_pitch;
  DeviceAddress c, bias, partial;
  DeviceAddress a, b;  // operands that are read word by word
  std::int64_t a_stride, b_stride;
  std::int32_t a_pitch, b_pitch;  // bytes
  float alpha, beta;
  DeviceAddress flag;
};

// An operand as the kernel reads it.
struct Operand {
  RowsInMemory rows;  // in their memory order
  FfmaSource source = FfmaSource::boxes;
  bool is_transposed = false;       // the tiles need the vectors of the other direction
  std::unique_ptr<Repacking> copy;  // made if needed

  bool is_read_by_words() const {
    return source == FfmaSource::words || source == FfmaSource::transposed_words;
  }
  bool needs_copy(DeviceAddress address) const {
    return source == FfmaSource::copy ||
           (source == FfmaSource::boxes && address % copy_alignment != 0);
  }
  void make_copy(Device& device) {
    if (!copy) copy = std::make_unique<Repacking>(device, rows, is_transposed);
  }
};

Operand operand(Device& device, const GemmOperand& given, std::int64_t rows, std::int64_t columns,
                std::int64_t batch, FfmaSource source, bool lies_as_tile) {
  Operand result;
  result.rows = rows_in_memory(given, rows, columns, batch);
  result.source = source;
  result.is_transposed = !lies_as_tile;
  if (source == FfmaSource::copy) result.make_copy(device);
  return result;
}

class FfmaRun final : public GemmRun {
 public:
  FfmaRun(Device& device, const GemmProblem& problem, const FfmaPlan& plan,
          const RunCondition& condition)
      : device_(device),
        problem_(problem),
        plan_(plan),
        condition_(condition),
        launch_(ffma_launch(problem, plan)),
        a_(operand(device, problem.a, problem.shape.m, problem.shape.k, problem.batch, plan.a,
                   ffma_a_lies_as_tile(problem, plan.tile))),
        b_(operand(device, problem.b, problem.shape.k, problem.shape.n, problem.batch, plan.b,
                   ffma_b_lies_as_tile(problem))) {
    KernelRequest request = embedded_request("gemm/ffma_tiles.cu");
    request.kernel = "gemm";
    request.defines = ffma_constants(problem, plan);
    condition.add_to(request.defines);
    request.extra_options = ffma_options();
    kernel_ = device.load(request);
    // Under a condition it may end before it has waited for what comes before.
    launch_.overlaps_previous = condition.is_unconditional();
    if (plan.splits > 1) {
      reduction_ = std::make_unique<SplitReduction>(device, problem, plan.splits, condition);
    }
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    if (plan_.b == FfmaSource::paired_boxes && addresses.b % copy_alignment != 0) {
      // The kernel assumes the odd rows in another place.
      FfmaPlan plan = plan_;
      plan.b = FfmaSource::copy;
      if (!with_copy_) {
        with_copy_ = std::make_unique<FfmaRun>(device_, problem_, plan, condition_);
      }
      return with_copy_->run(addresses, stream);
    }
    const auto copied = [&](Operand& operand, DeviceAddress address) -> Repacking::Operand {
      if (!operand.needs_copy(address)) return {};
      operand.make_copy(device_);
      return {operand.copy.get(), address};
    };
    const Repacking::Operand a = copied(a_, addresses.a), b = copied(b_, addresses.b);
    Repacking::run_both(a, b, stream);
    device_.launch(kernel_, launch_,
                   prepared_.of(addresses, [&] { return arguments_for(addresses); }), stream);
    if (reduction_) reduction_->run(addresses, stream);
  }

  std::string note() const override {
    std::string note = plan_.tile.text();
    if (plan_.splits > 1) note += fmt::format(" split {}", plan_.splits);
    if (a_.copy) note += ", A repacked";
    if (b_.copy) note += ", B repacked";
    return note;
  }

 private:
  KernelArguments arguments_for(const GemmAddresses& addresses) {
    const MatmulShape& s = problem_.shape;
    Arguments p{};
    p.m = static_cast<std::int32_t>(s.m);
    p.n = static_cast<std::int32_t>(s.n);
    p.k = static_cast<std::int32_t>(s.k);
    p.phases_of_split = plan_.phases_of_split;
    p.c_leading = problem_.c.leading;
    p.c_stride = problem_.c.batch_stride;

    p.c = addresses.c;
    p.bias = addresses.bias;
    p.a = addresses.a;
    p.b = addresses.b;
    p.a_stride = problem_.a.batch_stride;
    p.b_stride = problem_.b.batch_stride;
    p.a_pitch = word_pitch(a_);
    p.b_pitch = word_pitch(b_);
    if (reduction_) {
      p.partial = reduction_->partial();
      p.partial_pitch = reduction_->pitch();
    }
    // Sums of parts are scaled where they are added up.
    p.alpha = reduction_ ? 1.0F : static_cast<float>(problem_.alpha);
    p.beta = static_cast<float>(problem_.beta);
    p.flag = condition_.flag;
    std::vector<TensorMap> maps;
    const FfmaTile& tile = plan_.tile;
    const auto rows_of_tile = static_cast<std::uint32_t>(tile.m);
    const auto columns_of_tile = static_cast<std::uint32_t>(tile.n);
    if (tile.by_steps) {
      maps.push_back(map(a_, addresses.a, {rows_of_tile, steps_of_box}, Swizzle::none));
    } else {
      maps.push_back(map(a_, addresses.a, {steps_of_box, rows_of_tile}, Swizzle::bytes_128));
    }
    if (plan_.b == FfmaSource::paired_boxes) {
      constexpr int maps_of_pairs = 2;
      constexpr std::uint32_t chunk = 4;  // words: boxes of odd rows begin half a chunk early
      const ResidueMaps of_b =
          residue_maps(device_, b_.rows, addresses.b, maps_of_pairs, columns_of_tile + chunk,
                       steps_of_box / maps_of_pairs, Swizzle::none);
      maps.insert(maps.end(), of_b.maps.begin(), of_b.maps.end());
    } else {
      maps.push_back(map(b_, addresses.b, {columns_of_tile, steps_of_box}, Swizzle::none));
    }
    return arguments_after_maps(maps, p);
  }

  static std::int32_t word_pitch(const Operand& operand) {
    return operand.is_read_by_words() ? static_cast<std::int32_t>(operand.rows.pitch_bytes()) : 0;
  }

  // An operand that is read word by word has no map: its place is left empty.
  TensorMap map(const Operand& operand, DeviceAddress address, std::array<std::uint32_t, 2> box,
                Swizzle swizzle) const {
    if (operand.is_read_by_words()) return {};
    const bool is_copied = operand.needs_copy(address);
    const RowsInMemory& rows = is_copied ? operand.copy->result() : operand.rows;
    const auto pitch = static_cast<std::uint64_t>(rows.pitch_bytes());
    const auto plane = static_cast<std::uint64_t>(rows.batch_stride) * sizeof(float);
    return device_.tensor_map(
        {.address = is_copied ? operand.copy->address() : address,
         .type = rows.type,
         .extents = {static_cast<std::uint64_t>(rows.columns),
                     static_cast<std::uint64_t>(rows.rows), static_cast<std::uint64_t>(rows.batch)},
         .pitches = {pitch, rows.batch > 1 ? plane : pitch},
         .box = {box[0], box[1], 1},
         .swizzle = swizzle});
  }

  Device& device_;
  GemmProblem problem_;
  FfmaPlan plan_;
  RunCondition condition_;
  Launch launch_;
  Operand a_, b_;
  Kernel kernel_;
  std::unique_ptr<SplitReduction> reduction_;
  std::unique_ptr<FfmaRun> with_copy_;  // for a B that begins within a chunk
  PreparedArguments prepared_;
};

}  // namespace

std::optional<std::string> ffma_refusal(const GemmProblem& problem,
                                        const DeviceProperties& device) {
  if (problem.precision != Precision::fp32) return "FFMA tiles are for fp32";
  for (const GemmOperand* operand : {&problem.a, &problem.b, &problem.c}) {
    if (operand->type != DataType::float32) return "all matrices must be float32";
  }
  if (device.compute_major != 9) return "bulk tensor copies need compute capability 9.0";
  return size_refusal(problem);
}

std::unique_ptr<GemmRun> prepare_ffma(Device& device, const GemmProblem& problem) {
  return prepare_ffma(device, problem, best_ffma_plan(problem, device.properties()));
}

std::unique_ptr<GemmRun> prepare_ffma(Device& device, const GemmProblem& problem,
                                      const FfmaPlan& plan, const RunCondition& condition) {
  return std::make_unique<FfmaRun>(device, problem, plan, condition);
}

}  // namespace tilescope::operations
