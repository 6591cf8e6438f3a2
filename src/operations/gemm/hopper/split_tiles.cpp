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
    const auto exponents = static_cast<std::size_t>(from.batch * vectors()) * sizeof(std::int32_t);
    largest_ = device.allocate(exponents, "largest magnitudes");
    exponents_ = device.allocate(exponents, "exponents");
    find_ = load("largest_of");
    split_ = load("split");
  }

  DeviceAddress exponents() const { return exponents_.address(); }

  void run(DeviceAddress from, DeviceAddress flag, const Stream& stream) const {
    constexpr std::int64_t strips = 32, most_down = 65535;
    device_.fill(largest_.address(), 0, largest_.bytes(), stream);
    Launch find{.block = {32, 8}};
    find.grid = by_columns_
                    ? Dim3{blocks(from_.columns, 32), blocks(std::min(from_.rows, 8 * strips), 8)}
                    : Dim3{blocks(from_.rows, 8)};
    find.grid.z = static_cast<std::uint32_t>(from_.batch);
    device_.launch(find_, find,
                   KernelArguments::of(from, largest_.address(), from_.rows, from_.columns,
                                       from_.pitch, from_.batch_stride, vectors()),
                   stream);
    Launch split{.block = {256}};
    split.grid = {blocks(from_.columns, 512),
                  static_cast<std::uint32_t>(std::min(from_.rows, most_down)),
                  static_cast<std::uint32_t>(from_.batch)};
    device_.launch(
        split_, split,
        KernelArguments::of(from, largest_.address(), exponents_.address(), high_.address(),
                            low_.address(), flag, from_.rows, from_.columns, from_.pitch,
                            part_.pitch, from_.batch_stride, part_.batch_stride, vectors()),
        stream);
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
  static std::uint32_t blocks(std::int64_t count, std::int64_t size) {
    return static_cast<std::uint32_t>(groups_of(count, size));
  }
  std::int64_t vectors() const { return by_columns_ ? from_.columns : from_.rows; }

  Kernel load(const char* name) const {
    KernelRequest request = embedded_request("gemm/split_operand.cu");
    request.kernel = name;
    request.defines = {define("BY_COLUMNS", by_columns_)};
    return device_.load(request);
  }

  Device& device_;
  RowsInMemory from_, part_;
  bool by_columns_;
  Buffer high_, low_, largest_, exponents_;
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

class SplitTilesRun final : public GemmRun {
 public:
  SplitTilesRun(Device& device, const GemmProblem& problem)
      : device_(device),
        problem_(problem),
        a_(device, rows_in_memory(problem.a, problem.shape.m, problem.shape.k, problem.batch),
           problem.a.order == Order::column_major),
        b_(device, rows_in_memory(problem.b, problem.shape.k, problem.shape.n, problem.batch),
           problem.b.order == Order::row_major),
        flag_(device.allocate(sizeof(std::uint32_t), "a flag: not representable")) {
    const MatmulShape& s = problem.shape;
    Arguments& p = arguments_;
    p = {};
    p.m = static_cast<std::int32_t>(s.m);
    p.n = static_cast<std::int32_t>(s.n);
    p.tiles_m = static_cast<std::int32_t>(groups_of(s.m, tile));
    p.tiles_n = static_cast<std::int32_t>(groups_of(s.n, tile));
    p.k_tiles = static_cast<std::int32_t>(groups_of(s.k, tile_k));
    const std::int32_t tiles = p.tiles_m * p.tiles_n * static_cast<std::int32_t>(problem.batch);
    // k is cut into parts where tiles alone leave SMs idle, if a part is worth its reduction.
    constexpr std::int32_t least_k_tiles = 8;
    const std::int32_t most =
        std::max(1, std::min(device.properties().sm_count / tiles, p.k_tiles / least_k_tiles));
    p.k_tiles_of_split = static_cast<std::int32_t>(groups_of(p.k_tiles, most));
    p.splits = static_cast<std::int32_t>(groups_of(p.k_tiles, p.k_tiles_of_split));
    p.units = tiles * p.splits;
    p.alpha = static_cast<float>(problem.alpha);
    p.beta = static_cast<float>(problem.beta);
    p.c_leading = problem.c.leading;
    p.c_stride = problem.c.batch_stride;
    p.a_exponents = a_.exponents();
    p.b_exponents = b_.exponents();
    constexpr std::uint32_t clear = 0;
    device.copy_to_device(flag_.address(), &clear, sizeof clear);
    const RunCondition condition{RunsIf::flag_is_clear, flag_.address()};
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
    device_.fill(flag_.address(), 0, flag_.bytes(), stream);
    a_.run(addresses.a, flag_.address(), stream);
    b_.run(addresses.b, flag_.address(), stream);
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
    device_.copy_to_host(&flag, flag_.address(), sizeof flag);
    return flag != 0 ? "computed as fp32: a row of A or a column of B has elements below 2^-34 of "
                       "its largest, or not finite"
                     : "";
  }

 private:
  Device& device_;
  GemmProblem problem_;
  SplitOperand a_, b_;
  Buffer flag_;
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

std::unique_ptr<GemmRun> prepare_split_tiles(Device& device, const GemmProblem& problem) {
  return std::make_unique<SplitTilesRun>(device, problem);
}

}  // namespace tilescope::operations
