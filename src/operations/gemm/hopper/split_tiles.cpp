#include "operations/gemm/hopper/split_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "operations/gemm/general/general.hpp"
#include "operations/gemm/hopper/ffma.hpp"
#include "operations/gemm/operands/split_reduction.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// These match the kernel.
constexpr std::int64_t tile = 128, tile_k = 64;
constexpr int stages = 3;
constexpr std::uint32_t box_columns = 64;

// A product of fewer terms has less rounding than its operands' parts leave out.
constexpr std::int64_t least_k = 64;

struct Arguments {
  std::int32_t m, n, tiles_m, tiles_n, k_tiles, splits, k_tiles_of_split, units;
  float alpha, beta;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias, a_exponents, b_exponents, partial;
  std::int64_t partial_pitch;
  DeviceAddress flag;
};

// Matches struct Operand of kernels/gemm/split_operand.cu.
struct OperandArguments {
  DeviceAddress from, largest, exponents, high, low;
  std::int64_t rows, columns, from_pitch, to_pitch, from_stride, to_stride, vectors;
  std::uint32_t blocks_across, blocks_down;

  std::int64_t blocks() const { return std::int64_t{blocks_across} * blocks_down; }
};
struct OperandsArguments {
  OperandArguments a, b;
};

// One operand's two parts and exponents in device memory.
class SplitOperand {
 public:
  /// `vectors_are_columns`: the exponents belong to the columns of `from` in its memory order.
  SplitOperand(Device& device, const RowsInMemory& from, bool vectors_are_columns)
      : device_(device), from_(from), part_(from), by_columns_(vectors_are_columns) {
    part_.type = DataType::float16;
    constexpr std::int64_t line = 64;  // elements of a cache line
    part_.pitch = groups_of(from.columns, line) * line;
    part_.batch_stride = part_.rows * part_.pitch;
    const auto bytes = static_cast<std::size_t>(part_.batch * part_.batch_stride) * 2;
    high_ = device.allocate(bytes, "high parts");
    low_ = device.allocate(bytes, "low parts");
    exponents_ = device.allocate(bytes_of_vectors(), "exponents");
  }

  bool by_columns() const { return by_columns_; }
  std::int64_t batch() const { return from_.batch; }
  DeviceAddress exponents() const { return exponents_.address(); }
  /// The size of a list with one number for each row (column).
  std::size_t bytes_of_vectors() const {
    return static_cast<std::size_t>(from_.batch * vectors()) * sizeof(std::int32_t);
  }

  /// For the kernel that finds the largest magnitudes, and for the one that splits.
  OperandArguments to_find(DeviceAddress from, DeviceAddress largest) const {
    constexpr std::int64_t strips = 32;
    return by_columns_ ? arguments(from, largest, groups_of(from_.columns, 32),
                                   groups_of(std::min(from_.rows, 8 * strips), 8))
                       : arguments(from, largest, 1, groups_of(from_.rows, 8));
  }
  OperandArguments to_split(DeviceAddress from, DeviceAddress largest) const {
    constexpr std::int64_t most_down = 65535;
    return arguments(from, largest, groups_of(from_.columns, 512), std::min(from_.rows, most_down));
  }

  /// Maps of the high and the low part. Rows of k come in boxes of 64 x 64.
  std::vector<TensorMap> maps() const {
    const auto rows = static_cast<std::uint32_t>(by_columns_ ? 64 : tile);
    std::vector<TensorMap> maps;
    for (const Buffer* part : {&high_, &low_}) {
      maps.push_back(
          residue_maps(device_, part_, part->address(), 1, box_columns, rows).maps.front());
    }
    return maps;
  }

 private:
  std::int64_t vectors() const { return by_columns_ ? from_.columns : from_.rows; }

  OperandArguments arguments(DeviceAddress from, DeviceAddress largest, std::int64_t across,
                             std::int64_t down) const {
    return {.from = from,
            .largest = largest,
            .exponents = exponents_.address(),
            .high = high_.address(),
            .low = low_.address(),
            .rows = from_.rows,
            .columns = from_.columns,
            .from_pitch = from_.pitch,
            .to_pitch = part_.pitch,
            .from_stride = from_.batch_stride,
            .to_stride = part_.batch_stride,
            .vectors = vectors(),
            .blocks_across = static_cast<std::uint32_t>(across),
            .blocks_down = static_cast<std::uint32_t>(down)};
  }

  Device& device_;
  RowsInMemory from_, part_;
  bool by_columns_;
  Buffer high_, low_, exponents_;
};

// Splits A and B, and sets a flag where their parts would not represent them.
class OperandSplitting {
 public:
  /// `a` and `b` outlive it.
  OperandSplitting(Device& device, const SplitOperand& a, const SplitOperand& b)
      : device_(device),
        a_(a),
        b_(b),
        cleared_(device.allocate(line + bytes_of_a() + b.bytes_of_vectors(),
                                 "a flag: not representable, and the largest magnitudes")),
        find_(load("largest_of")),
        split_(load("split")) {
    constexpr std::uint32_t clear = 0;
    device.copy_to_device(flag(), &clear, sizeof clear);
  }

  DeviceAddress flag() const { return cleared_.address(); }

  void run(DeviceAddress a, DeviceAddress b, const Stream& stream) const {
    const DeviceAddress largest_of_a = cleared_.address() + line;
    const DeviceAddress largest_of_b = largest_of_a + bytes_of_a();
    device_.fill(cleared_.address(), 0, cleared_.bytes(), stream);
    const OperandsArguments found{a_.to_find(a, largest_of_a), b_.to_find(b, largest_of_b)};
    device_.launch(find_, launch(found, {32, 8}), KernelArguments::of(found), stream);
    const OperandsArguments divided{a_.to_split(a, largest_of_a), b_.to_split(b, largest_of_b)};
    device_.launch(split_, launch(divided, {256}), KernelArguments::of(divided, flag()), stream);
  }

 private:
  // The flag and the lists begin with cache lines: they are read in whole sectors.
  static constexpr std::size_t line = 128;
  std::size_t bytes_of_a() const { return (a_.bytes_of_vectors() + line - 1) / line * line; }

  Launch launch(const OperandsArguments& of, Dim3 block) const {
    return {.grid = {static_cast<std::uint32_t>(of.a.blocks() + of.b.blocks()), 1,
                     static_cast<std::uint32_t>(a_.batch())},
            .block = block};
  }

  Kernel load(const char* name) const {
    KernelRequest request = embedded_request("gemm/split_operand.cu");
    request.kernel = name;
    request.defines = {define("A_BY_COLUMNS", a_.by_columns()),
                       define("B_BY_COLUMNS", b_.by_columns())};
    return device_.load(request);
  }

  Device& device_;
  const SplitOperand &a_, &b_;
  Buffer cleared_;
  Kernel find_, split_;
};

// The product in fp32, if the flag is set. Kernels that only copy operands would always run, so a
// plan without copies is taken.
std::unique_ptr<GemmRun> prepare_fp32_if_set(Device& device, GemmProblem problem,
                                             DeviceAddress flag) {
  problem.precision = Precision::fp32;
  const RunCondition condition{RunsIf::flag_is_set, flag};
  const DeviceProperties& properties = device.properties();
  const FfmaPlan* best = nullptr;
  std::vector<FfmaPlan> plans;
  if (!ffma_refusal(problem, properties)) plans = ffma_plan_candidates(problem, properties);
  for (const FfmaPlan& plan : plans) {
    const bool copies = plan.a == FfmaSource::copy || plan.b == FfmaSource::copy;
    if (copies || plan.splits > 1) continue;
    if (best == nullptr || plan.cycles < best->cycles) best = &plan;
  }
  return best ? prepare_ffma(device, problem, *best, condition)
              : prepare_general(device, problem, condition);
}

// k is cut into parts where tiles alone leave SMs idle, if a part is worth its reduction.
std::int32_t k_tiles_of_part(const GemmProblem& problem, const DeviceProperties& device) {
  constexpr std::int64_t least_k_tiles = 8;
  const MatmulShape& s = problem.shape;
  const std::int64_t tiles = groups_of(s.m, tile) * groups_of(s.n, tile) * problem.batch;
  const std::int64_t k_tiles = groups_of(s.k, tile_k);
  const std::int64_t most = std::max<std::int64_t>(
      1, std::min<std::int64_t>(device.sm_count / tiles, k_tiles / least_k_tiles));
  return static_cast<std::int32_t>(groups_of(k_tiles, most));
}

class SplitTilesRun final : public GemmRun {
 public:
  SplitTilesRun(Device& device, const GemmProblem& problem)
      : device_(device),
        problem_(problem),
        a_(device, rows_in_memory(problem.a, problem.shape.m, problem.shape.k, problem.batch),
           problem.a.order == Order::column_major),
        b_(device, rows_in_memory(problem.b, problem.shape.k, problem.shape.n, problem.batch),
           problem.b.order == Order::row_major),
        splitting_(device, a_, b_) {
    const MatmulShape& s = problem.shape;
    Arguments& p = arguments_;
    p = {};
    p.m = static_cast<std::int32_t>(s.m);
    p.n = static_cast<std::int32_t>(s.n);
    p.tiles_m = static_cast<std::int32_t>(groups_of(s.m, tile));
    p.tiles_n = static_cast<std::int32_t>(groups_of(s.n, tile));
    p.k_tiles = static_cast<std::int32_t>(groups_of(s.k, tile_k));
    const std::int32_t tiles = p.tiles_m * p.tiles_n * static_cast<std::int32_t>(problem.batch);
    p.k_tiles_of_split = k_tiles_of_part(problem, device.properties());
    p.splits = static_cast<std::int32_t>(groups_of(p.k_tiles, p.k_tiles_of_split));
    p.units = tiles * p.splits;
    p.alpha = static_cast<float>(problem.alpha);
    p.beta = static_cast<float>(problem.beta);
    p.c_leading = problem.c.leading;
    p.c_stride = problem.c.batch_stride;
    p.a_exponents = a_.exponents();
    p.b_exponents = b_.exponents();
    const RunCondition condition{RunsIf::flag_is_clear, splitting_.flag()};
    p.flag = condition.flag;
    as_fp32_ = prepare_fp32_if_set(device, problem, condition.flag);
    if (p.splits > 1) {
      reduction_ = std::make_unique<SplitReduction>(device, problem, p.splits, condition);
      p.partial = reduction_->partial();
      p.partial_pitch = reduction_->pitch();
    }
    for (const SplitOperand* operand : {&a_, &b_}) {
      for (const TensorMap& map : operand->maps()) maps_.push_back(map);
    }
    KernelRequest request = embedded_request("gemm/split_tiles.cu");
    request.kernel = "gemm";
    request.defines = epilogue_constants(problem);
    condition.add_to(request.defines);
    constexpr std::int64_t group_rows = 8;
    request.defines.push_back(define("STAGES", stages));
    request.defines.push_back(define("SPLIT", p.splits > 1));
    request.defines.push_back(define("GROUP_ROWS", group_rows));
    request.defines.push_back(define("A_MN_MAJOR", problem.a.order == Order::column_major));
    request.defines.push_back(define("B_MN_MAJOR", problem.b.order == Order::row_major));
    kernel_ = device.load(request);
    constexpr std::size_t stage_bytes = 4 * tile * 128, barriers = 64, alignment = 1024;
    launch_ = {
        .grid = {static_cast<std::uint32_t>(std::min(p.units, device.properties().sm_count))},
        .block = {384},
        .shared_bytes = stages * stage_bytes + barriers + 2 * alignment};
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    splitting_.run(addresses.a, addresses.b, stream);
    Arguments p = arguments_;
    p.c = addresses.c;
    p.bias = addresses.bias;
    KernelArguments arguments;
    arguments.push_bytes(maps_.data(), maps_.size() * sizeof(TensorMap), alignof(TensorMap));
    arguments.push(p);
    device_.launch(kernel_, launch_, arguments, stream);
    if (reduction_) reduction_->run(addresses, stream);
    as_fp32_->run(addresses, stream);
  }

  std::string note() const override {
    std::uint32_t flag = 0;
    device_.copy_to_host(&flag, splitting_.flag(), sizeof flag);
    return flag != 0 ? "computed as fp32: a row of A or a column of B has elements below 2^-34 of "
                       "its largest, or not finite"
                     : "";
  }

 private:
  Device& device_;
  GemmProblem problem_;
  SplitOperand a_, b_;
  OperandSplitting splitting_;
  Arguments arguments_;
  std::vector<TensorMap> maps_;
  Kernel kernel_;
  Launch launch_;
  std::unique_ptr<SplitReduction> reduction_;
  std::unique_ptr<GemmRun> as_fp32_;  // does nothing unless the flag is set
};

}  // namespace

std::optional<std::string> split_tiles_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device) {
  if (problem.precision != Precision::fp32_fast) return "parts of operands are for fp32_fast";
  if (problem.a.type != DataType::float32 || problem.b.type != DataType::float32) {
    return "A and B must be float32";
  }
  if (auto why = wgmma_size_refusal(problem, device)) return why;
  if (problem.shape.k < least_k)
    return fmt::format("k is below {}: fp32 is as fast and more accurate", least_k);
  return std::nullopt;
}

std::string split_tiles_order(const GemmProblem& problem, const DeviceProperties& device) {
  return std::to_string(k_tiles_of_part(problem, device));
}

std::unique_ptr<GemmRun> prepare_split_tiles(Device& device, const GemmProblem& problem) {
  return std::make_unique<SplitTilesRun>(device, problem);
}

}  // namespace tilescope::operations
