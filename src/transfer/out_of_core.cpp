#include "transfer/out_of_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <tilescope/matmul.hpp>
#include <tuple>

#include "operations/matmul/convert.hpp"
#include "operations/matmul/kernel_product.hpp"
#include "operations/matmul/reference.hpp"
#include "operations/matmul/variants.hpp"
#include "transfer/staging.hpp"

namespace tilescope::transfer {
namespace {

using operations::KernelProduct;
using operations::MatmulVariant;

// Large enough that a copy's fixed cost does not count, small enough to start the link early.
constexpr std::size_t most_staging_bytes = std::size_t{64} << 20U;

/// One launch: the step-th part of tile (row, column) of C.
struct Step {
  std::int64_t row = 0, column = 0, step = 0;
};

/// Rows of tiles from top to bottom, alternately to the right and to the left: a panel of B that
/// ends one row begins the next.
std::vector<Step> steps_of(const OutOfCorePlan& plan, const OutOfCoreOptions& options) {
  std::vector<Step> steps;
  for (std::int64_t row = 0; row < plan.tiles_down; ++row) {
    for (std::int64_t i = 0; i < plan.tiles_across; ++i) {
      const std::int64_t column = row % 2 == 0 ? i : plan.tiles_across - 1 - i;
      if (options.is_done && options.is_done(row * plan.tiles_across + column)) continue;
      for (std::int64_t step = 0; step < plan.steps; ++step) steps.push_back({row, column, step});
    }
  }
  return steps;
}

/// Two buffers for the panels of one operand. The one not needed now is filled with the next.
class Panels {
 public:
  Panels(Device& device, std::size_t bytes, const char* name) : device_(device) {
    for (Slot& slot : slots_) {
      slot.memory = device.allocate(bytes, name);
      slot.filled = device.create_event();
      slot.used = device.create_event();
    }
  }

  struct Slot {
    Buffer memory;
    Event filled, used;
    std::pair<std::int64_t, std::int64_t> content{-1, -1};
    bool in_use = false;  ///< a kernel that reads it has been queued
  };

  /// The slot that holds panel `id`, filled by `upload` on `stream` if none does. `keep`: a slot
  /// that the kernel queued last still needs.
  template <typename Upload>
  Slot& get(std::pair<std::int64_t, std::int64_t> id, const Slot* keep, const Stream& stream,
            const Upload& upload) {
    for (Slot& slot : slots_) {
      if (slot.content == id) return slot;
    }
    Slot& slot = &slots_[0] == keep ? slots_[1] : slots_[0];
    if (slot.in_use) device_.wait(stream, slot.used);
    upload(slot.memory.address());
    device_.record(slot.filled, stream);
    slot.content = id;
    slot.in_use = false;
    return slot;
  }

 private:
  Device& device_;
  std::array<Slot, 2> slots_;
};

class OutOfCore {
 public:
  OutOfCore(Device& device, const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
            const OutOfCorePlan& plan, const MatmulVariant& variant, DataType element)
      : device_(device),
        a_(a),
        b_(b),
        c_(c),
        plan_(plan),
        variant_(variant),
        element_(element),
        compute_(device.create_stream()),
        uploads_(device, element, staging_bytes()),
        downloads_(device, element, staging_bytes()),
        a_panels_(device, bytes(plan.tile.m, plan.tile.k), "A"),
        b_panels_(device, bytes(plan.tile.k, plan.tile.n), "B") {
    for (ResultSlot& slot : results_) {
      slot.memory = device.allocate(bytes(plan.tile.m, plan.tile.n), "C");
      slot.computed = device.create_event();
    }
  }

  /// Returns false if `options.cancelled` ended it.
  bool run(const OutOfCoreOptions& options) {
    const std::vector<Step> steps = steps_of(plan_, options);
    if (steps.empty()) return true;
    Operands now = fetch(steps[0], nullptr);
    const ResultSlot* pending = nullptr;
    std::int64_t tile_count = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (options.cancelled && options.cancelled()) {
        device_.synchronize();
        return false;
      }
      ResultSlot& result = results_[static_cast<std::size_t>(tile_count) % results_.size()];
      launch(steps[i], now, result);
      // While that runs: the next panels go up, the tile before comes down.
      if (i + 1 < steps.size()) now = fetch(steps[i + 1], &now);
      if (pending) collect(*pending, options);
      pending = nullptr;
      if (steps[i].step + 1 == plan_.steps) {
        result.at = steps[i];
        pending = &result;
        ++tile_count;
      }
    }
    if (pending) collect(*pending, options);
    return true;
  }

 private:
  struct Operands {
    Panels::Slot* a = nullptr;
    Panels::Slot* b = nullptr;
  };
  struct ResultSlot {
    Buffer memory;
    Event computed;
    Step at;
  };

  std::size_t bytes(std::int64_t rows, std::int64_t columns) const {
    return static_cast<std::size_t>(rows * columns) * size_of(element_);
  }
  std::size_t staging_bytes() const {
    const MatmulShape& t = plan_.tile;
    return std::min(most_staging_bytes, bytes(std::max(t.m, t.k), std::max(t.n, t.k)));
  }

  /// What of the whole product a step covers: a full tile, or what is left at the edges.
  MatmulShape extent(const Step& s) const {
    const MatmulShape &t = plan_.tile, &w = plan_.shape;
    return {std::min(t.m, w.m - s.row * t.m), std::min(t.n, w.n - s.column * t.n),
            std::min(t.k, w.k - s.step * t.k)};
  }

  Operands fetch(const Step& s, const Operands* keep) {
    const MatmulShape e = extent(s), p = variant_.padded(e), &t = plan_.tile;
    Operands operands;
    operands.a = &a_panels_.get(
        {s.row, s.step}, keep ? keep->a : nullptr, uploads_.stream(), [&](DeviceAddress to) {
          uploads_.upload(operations::part(a_, s.row * t.m, e.m, s.step * t.k, e.k), to, p.m, p.k);
        });
    operands.b = &b_panels_.get(
        {s.step, s.column}, keep ? keep->b : nullptr, uploads_.stream(), [&](DeviceAddress to) {
          uploads_.upload(operations::part(b_, s.step * t.k, e.k, s.column * t.n, e.n), to, p.k,
                          p.n);
        });
    return operands;
  }

  const KernelProduct& product(const MatmulShape& shape, bool accumulate) {
    auto& slot = products_[{shape.m, shape.n, shape.k, accumulate}];
    if (!slot) {
      slot = std::make_unique<KernelProduct>(device_, variant_, shape, element_, accumulate);
    }
    return *slot;
  }

  void launch(const Step& s, const Operands& operands, ResultSlot& result) {
    device_.wait(compute_, operands.a->filled);
    device_.wait(compute_, operands.b->filled);
    product(extent(s), s.step > 0)
        .run(operands.a->memory.address(), operands.b->memory.address(), result.memory.address(),
             compute_);
    for (Panels::Slot* slot : {operands.a, operands.b}) {
      device_.record(slot->used, compute_);
      slot->in_use = true;
    }
    device_.record(result.computed, compute_);
  }

  /// Waits for a finished tile and puts it in its place.
  void collect(const ResultSlot& result, const OutOfCoreOptions& options) {
    const MatmulShape e = extent(result.at), &t = plan_.tile;
    device_.wait(downloads_.stream(), result.computed);
    downloads_.download(
        result.memory.address(), variant_.padded(e).n,
        operations::part(c_, result.at.row * t.m, e.m, result.at.column * t.n, e.n));
    if (options.tile_done) {
      options.tile_done(result.at.row * plan_.tiles_across + result.at.column);
    }
  }

  Device& device_;
  ConstMatrixView a_, b_;
  MatrixView c_;
  const OutOfCorePlan& plan_;
  const MatmulVariant& variant_;
  DataType element_;
  Stream compute_;
  Stager uploads_, downloads_;
  Panels a_panels_, b_panels_;
  std::array<ResultSlot, 2> results_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>,
           std::unique_ptr<KernelProduct>>
      products_;
};

DataType element_of(const ConstMatrixView& a, const ConstMatrixView& b, DataType c) {
  return product_type(product_type(a.type, b.type), c) == DataType::float64 ? DataType::float64
                                                                            : DataType::float32;
}

/// The rung that `options` names, if it can multiply in pieces.
const MatmulVariant& variant_of(const Device& device, DataType element,
                                const OutOfCoreOptions& options) {
  const std::string_view best = operations::best_matmul_variant(device.properties(), element);
  const MatmulVariant& variant =
      operations::matmul_variant(options.variant.empty() ? best : options.variant);
  if (!variant.row->can_accumulate || (element == DataType::float64 && !variant.row->any_element)) {
    throw Error(ErrorKind::usage, fmt::format("variant {} does not multiply {} in pieces; use {}",
                                              variant.name, name_of(element), best));
  }
  return variant;
}

/// The cpu device's form: BLAS, tile by tile, and in a tile cell by cell on all cores.
OutOfCoreReport multiply_on_cpu(const ConstMatrixView& a, const ConstMatrixView& b,
                                const MatrixView& c, const OutOfCorePlan& plan,
                                const OutOfCoreOptions& options) {
  const MatmulShape& shape = plan.shape;
  OutOfCoreReport report{.plan = plan, .variant = "cpu_blas"};
  const MatmulShape& t = report.plan.tile;
  const MatmulShape cell = operations::blas_cell(shape);
  for (const Step& s : steps_of(report.plan, options)) {
    if (s.step > 0) continue;  // the operands are in memory already, all of their steps
    if (options.cancelled && options.cancelled()) {
      report.cancelled = true;
      break;
    }
    const std::int64_t rows = std::min(t.m, shape.m - s.row * t.m);
    const std::int64_t columns = std::min(t.n, shape.n - s.column * t.n);
    operations::converted_blas_matmul(
        operations::part(a, s.row * t.m, rows, 0, shape.k),
        operations::part(b, 0, shape.k, s.column * t.n, columns),
        operations::part(c, s.row * t.m, rows, s.column * t.n, columns), cell);
    if (options.tile_done) options.tile_done(s.row * report.plan.tiles_across + s.column);
  }
  return report;
}

}  // namespace

OutOfCorePlan plan_of(const Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                      DataType c, const OutOfCoreOptions& options) {
  const MatmulShape shape = product_shape(a, b);
  const DataType element = element_of(a, b, c);
  if (device.kind() == DeviceKind::cpu) {
    if (!options.variant.empty() && options.variant != "cpu_blas") {
      throw Error(ErrorKind::usage, fmt::format("variant {} does not run on the cpu device, which "
                                                "has cpu_blas",
                                                options.variant));
    }
    MatmulShape cell = operations::blas_cell(shape);
    cell.k = std::clamp<std::int64_t>(shape.k, 1, cell.k);
    return plan_out_of_core(shape, cell, element, options.device_bytes, 1);
  }
  const MatmulVariant& variant = variant_of(device, element, options);
  const OutOfCorePlan plan = plan_out_of_core(shape, variant.row->granularity(variant.width),
                                              element, options.device_bytes, 2);
  if (const auto why = variant.refusal(plan.tile, device.properties())) {
    throw Error(ErrorKind::usage, fmt::format("variant {}: {}", variant.name, *why));
  }
  return plan;
}

OutOfCoreReport out_of_core_matmul(Device& device, const ConstMatrixView& a,
                                   const ConstMatrixView& b, const MatrixView& c,
                                   const OutOfCoreOptions& options) {
  const OutOfCorePlan plan = plan_of(device, a, b, c.type, options);
  const auto start = std::chrono::steady_clock::now();
  OutOfCoreReport report;
  if (device.kind() == DeviceKind::cpu) {
    report = multiply_on_cpu(a, b, c, plan, options);
  } else {
    const DataType element = element_of(a, b, c.type);
    const MatmulVariant& variant = variant_of(device, element, options);
    OutOfCore run(device, a, b, c, plan, variant, element);
    report = {.plan = plan, .variant = variant.name, .cancelled = !run.run(options)};
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace tilescope::transfer
