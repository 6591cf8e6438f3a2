#include "operations/gemm/hopper/unaligned_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "operations/gemm/hopper/general_fallback.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/operands/column_sorting.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/prepared_arguments.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// These match the kernel.
constexpr int classes = 16, blocks_of_tile = 2, threads = 320;
constexpr std::int64_t tile_n = 128, tile_k = 64;
constexpr std::uint32_t a_columns = 64;
// The columns of a box of B, as it lies in memory, and its rows, of one class.
std::uint32_t box_columns(bool b_along_k) {
  return b_along_k ? tile_k + 24 : tile_n + 16;
}
std::uint32_t box_rows(bool b_along_k) {
  return (b_along_k ? tile_n : tile_k) / classes;
}
struct Arguments {
  std::int32_t m, n, tiles_m, tiles_n, k_tiles;
  std::array<std::int32_t, classes> shift;
  float alpha, beta;
  std::int64_t c_leading, c_stride;
  DeviceAddress c, bias;
};

struct Tile {
  std::int64_t m;
  int stages;
};
Tile tile_of(const GemmProblem& p) {
  constexpr std::int64_t half = 64;
  return p.shape.m <= half ? Tile{half, 6} : Tile{2 * half, 5};
}
bool lies_along_k(const GemmProblem& p) {
  return p.b.order == Order::column_major;
}

std::size_t shared_bytes(const Tile& tile, bool b_along_k) {
  const auto rows = static_cast<std::size_t>(tile.m);
  const std::size_t b = std::size_t{2} * classes * box_rows(b_along_k) * box_columns(b_along_k);
  constexpr std::size_t barriers = 3 * 8, alignment = 1024;
  const std::size_t a = rows * 128, received = rows * 256;
  return static_cast<std::size_t>(tile.stages) * (a + b + barriers) + received + 16 + alignment;
}

RowsInMemory rows_of_a(const GemmProblem& p) {
  return rows_in_memory(p.a, p.shape.m, p.shape.k, p.batch);
}
RowsInMemory rows_of_b(const GemmProblem& p) {
  return rows_in_memory(p.b, p.shape.k, p.shape.n, p.batch);
}

std::int64_t blocks_of(const GemmProblem& p) {
  return blocks_of_tile * groups_of(p.shape.m, tile_of(p).m) * groups_of(p.shape.n, tile_n) *
         p.batch;
}

// Elements of `rows` x `columns` matrices of a batch.
double elements(const GemmProblem& p, std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(p.batch) * static_cast<double>(rows) * static_cast<double>(columns);
}

// A problem as the kernel computes it: with C row-major, or the transposed problem with its C
// column-major.
struct Form {
  GemmProblem problem;
  bool transposed = false;

  // Whether A is brought into another order or to rows that begin with chunks.
  bool copies_a() const {
    const RowsInMemory a = rows_of_a(problem);
    return !lies_along_k(problem) || problem.a.order == Order::column_major ||
           residue_groups(a.pitch_bytes()) > 1 || !a.batch_fits_map();
  }
};

// Microseconds on an H200, fitted to 88 products of few rows or columns
// (docs/results/products_random_h200.md); what C costs that is added, by five that were measured
// since.
double predicted_time(const Form& form, const DeviceProperties& device) {
  constexpr double launches = 5.0, end_of_block = 3.9, bias = 0.7;
  constexpr double end_in_pairs = 0.5;  // of two neighbours in memory, which lie apart
  constexpr double bytes_copied = 4.0e6;
  // Microseconds of a block: its products, or its share of what memory and L2 deliver.
  const bool along_k = lies_along_k(form.problem);
  const double products_of_tile = along_k ? 0.46 : 0.39, copies_of_tile = along_k ? 0.0062 : 0.0040;
  // C is read where it is written, with B along k in pairs that are 16 columns apart.
  const double adding = along_k ? 10.0 : 4.0;
  const GemmProblem& p = form.problem;
  const auto blocks = static_cast<double>(blocks_of(p)), sms = static_cast<double>(device.sm_count);
  const auto k_tiles = static_cast<double>(groups_of(p.shape.k, blocks_of_tile * tile_k));
  // Half as many rows take 0.8 of the time.
  const double rows = 0.6 + 0.4 * double(tile_of(p).m) / 128.0;
  const double of_k_tile =
      std::max(products_of_tile * rows, copies_of_tile * std::min(blocks, sms));
  const double end = end_of_block + (p.beta != 0.0 ? adding : 0.0) + (p.has_bias ? bias : 0.0) +
                     (along_k || form.transposed ? end_in_pairs : 0.0);
  const double of_a = form.copies_a() ? 4.0 * elements(p, p.shape.m, p.shape.k) : 0.0;
  return launches + of_a / bytes_copied + std::ceil(blocks / sms) * (end + k_tiles * of_k_tile);
}

// The same for a product of copied operands.
double predicted_time_of_copies(const GemmProblem& p) {
  constexpr double launches_and_ends = 7.2, adding = 1.7;
  constexpr double bytes_copied = 3.85e6, bytes_read = 2.7e6, operations = 437e6;  // a microsecond
  const MatmulShape& s = p.shape;
  const bool copies_a = residue_groups(rows_of_a(p).pitch_bytes()) > 1;
  const double a = 2.0 * elements(p, s.m, s.k), b = 2.0 * elements(p, s.k, s.n);
  const double c = 2.0 * elements(p, s.m, s.n);
  const double copied = 2.0 * ((copies_a ? a : 0.0) + b);
  const double product =
      std::max(a * static_cast<double>(s.n) / operations, (a + b + c) / bytes_read);
  return launches_and_ends + copied / bytes_copied + product + (p.beta != 0.0 ? adding : 0.0);
}

// Why the kernel does not take B as it lies in memory.
std::optional<std::string> refusal_of_b(const GemmProblem& problem) {
  const RowsInMemory b = rows_of_b(problem);
  if (residue_groups(b.pitch_bytes()) == 1) return "rows of B are multiples of 16 bytes apart";
  if (!b.batch_fits_map()) return "matrices of B are not multiples of 16 bytes apart";
  return std::nullopt;
}

// The faster of the forms that the kernel takes, of a problem that it takes in one or both.
Form form_of(const GemmProblem& problem, const DeviceProperties& device) {
  Form given{problem}, other{transposed(problem), true};
  if (refusal_of_b(given.problem)) return other;
  if (refusal_of_b(other.problem)) return given;
  return predicted_time(given, device) <= predicted_time(other, device) ? given : other;
}

class UnalignedRowsRun final : public GemmRun {
 public:
  UnalignedRowsRun(Device& device, const GemmProblem& given)
      : UnalignedRowsRun(device, given, form_of(given, device.properties())) {}

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    GemmAddresses at = addresses;
    if (transposed_) std::swap(at.a, at.b);
    const bool reads_a = !sorting_ && !copy_;
    if (fallback_.run(at.b | (reads_a ? at.a : 0), addresses, stream)) return;
    if (sorting_) sorting_->run(at.a, stream);
    if (copy_) copy_->run(at.a, stream, false);
    device_.launch(kernel_, launch_, prepared_.of(at, [&] { return arguments_for(at); }), stream);
  }

  std::string note() const override {
    const std::string_view a = transposed_ ? "B" : "A";
    return fmt::format("{}x{}x{} of half of k{}{}", tile_.m, tile_n, tile_.stages,
                       transposed_ ? ", transposed" : "",
                       sorting_ ? fmt::format(", {} sorted along k", a)
                       : copy_  ? fmt::format(", {} copied", a)
                                : "");
  }

 private:
  UnalignedRowsRun(Device& device, const GemmProblem& given, const Form& form)
      : device_(device),
        given_(given),
        problem_(form.problem),
        transposed_(form.transposed),
        b_along_k_(lies_along_k(problem_)),
        tile_(tile_of(problem_)) {
    const GemmProblem& problem = problem_;
    const bool turns_a = problem.a.order == Order::column_major;
    if (!b_along_k_) {
      sorting_.emplace(device, rows_of_a(problem), turns_a);
    } else if (form.copies_a()) {
      copy_.emplace(device, rows_of_a(problem), turns_a);
    }
    const MatmulShape& s = problem.shape;
    const std::int64_t tiles_m = groups_of(s.m, tile_.m), tiles_n = groups_of(s.n, tile_n);
    launch_ = flat_launch(blocks_of(problem), threads, shared_bytes(tile_, b_along_k_));
    launch_.cluster = {blocks_of_tile};
    // The kernel that copies A waits for all that came before, so that B may be read meanwhile.
    launch_.overlaps_previous = sorting_ || copy_;
    arguments_.m = static_cast<std::int32_t>(s.m);
    arguments_.n = static_cast<std::int32_t>(s.n);
    arguments_.tiles_m = static_cast<std::int32_t>(tiles_m);
    arguments_.tiles_n = static_cast<std::int32_t>(tiles_n);
    arguments_.k_tiles = static_cast<std::int32_t>(groups_of(s.k, tile_k));
    arguments_.alpha = static_cast<float>(problem.alpha);
    arguments_.beta = static_cast<float>(problem.beta);
    arguments_.c_leading = problem.c.leading;
    arguments_.c_stride = problem.c.batch_stride;

    KernelRequest request = embedded_request("gemm/unaligned_rows.cu");
    request.kernel = "gemm";
    request.defines = epilogue_constants(problem);
    request.defines.emplace_back("OPERAND", wgmma_operand(problem.precision));
    const auto constant = [&](std::string_view name, std::int64_t value) {
      request.defines.push_back(define(name, value));
    };
    constant("TILE_M", tile_.m);
    constant("STAGES", tile_.stages);
    constant("B_IS_ODD", problem.b.leading % 2);
    constant("C_IS_ODD", problem.c.leading % 2);
    constant("B_ALONG_K", b_along_k_);
    constant("TRANSPOSED", transposed_);
    constant("GROUP_ROWS", 8);
    kernel_ = device.load(request);
  }

  KernelArguments arguments_for(const GemmAddresses& addresses) {
    constexpr DeviceAddress sector = 32;
    constexpr std::int32_t elements_of_chunk = 8;
    Arguments a = arguments_;
    a.c = addresses.c;
    a.bias = addresses.bias;
    const RowsInMemory b = rows_of_b(problem_);
    const RowsInMemory read = sorting_ ? sorting_->result()
                              : copy_  ? copy_->result()
                                       : rows_of_a(problem_);
    const DeviceAddress of_a = sorting_ ? sorting_->address()
                               : copy_  ? copy_->address()
                                        : addresses.a;
    std::vector<TensorMap> maps =
        residue_maps(device_, read, of_a, 1, a_columns, static_cast<std::uint32_t>(tile_.m)).maps;
    const ResidueMaps of_b = residue_maps(device_, b, addresses.b, classes, box_columns(b_along_k_),
                                          box_rows(b_along_k_), Swizzle::none);
    maps.insert(maps.end(), of_b.maps.begin(), of_b.maps.end());
    for (int c = 0; c < classes; ++c) {
      const DeviceAddress begin = residue_base(b, addresses.b, c).address;
      const auto i = static_cast<std::size_t>(c);
      a.shift[i] = of_b.shifts[i] + (begin % sector != 0 ? elements_of_chunk : 0);
    }
    return arguments_after_maps(maps, a);
  }

  Device& device_;
  GemmProblem given_, problem_;  // `problem_` as the kernel computes it
  bool transposed_, b_along_k_;
  Tile tile_;
  std::optional<ColumnSorting> sorting_;  // of A
  std::optional<Repacking> copy_;         // of A, where B lies along k
  Arguments arguments_{};
  Launch launch_;
  Kernel kernel_;
  GeneralFallback fallback_{device_, given_};
  PreparedArguments prepared_;
};

}  // namespace

std::optional<std::string> unaligned_rows_refusal(const GemmProblem& problem,
                                                  const DeviceProperties& device) {
  if (problem.precision != Precision::bf16 && problem.precision != Precision::fp16) {
    return "unaligned rows from registers are for bf16 and fp16";
  }
  if (auto why = tensor_tiles_refusal(problem, device)) return why;
  if (problem.shape.k < classes) return fmt::format("k is less than {}", classes);
  const auto why = refusal_of_b(problem);
  if (!why || !refusal_of_b(transposed(problem))) return std::nullopt;
  return why;
}

bool unaligned_rows_pay(const GemmProblem& problem, const DeviceProperties& device) {
  // Both predictions are good to a tenth. Of the 88 products four were chosen so, which took 0.67
  // to 0.88 of the time of copies.
  constexpr double sure = 0.95;
  const Form form = form_of(problem, device);
  return predicted_time(form, device) < sure * predicted_time_of_copies(form.problem);
}

std::unique_ptr<GemmRun> prepare_unaligned_rows(Device& device, const GemmProblem& problem) {
  return std::make_unique<UnalignedRowsRun>(device, problem);
}

}  // namespace tilescope::operations
