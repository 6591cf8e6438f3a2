#include "operations/gemm/groups/grouped_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/errors.hpp"
#include "operations/gemm/general/general.hpp"
#include "operations/gemm/general/mma_instruction.hpp"
#include "operations/gemm/general/mma_sync.hpp"
#include "operations/gemm/groups/group_table.hpp"
#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

using Products = std::span<const GroupedProduct>;

// How the matrices of a product lie, as far as code differs by it.
struct Form {
  bool a_by_columns = false, b_by_columns = false;
  ChunkAccess access;
  auto operator<=>(const Form&) const = default;
};

constexpr int general_side = 16;  // threads along either side of a tile, as in grouped.cu
constexpr ChunkAccess anywhere{RowsBy::elements, RowsBy::elements, false};

Form form_of(const GroupedProduct& product) {
  return {.a_by_columns = product.problem.a.order == Order::column_major,
          .b_by_columns = product.problem.b.order == Order::column_major,
          .access = chunk_access(product.problem, product.at)};
}

// The forms that occur. Code for many of them would take long to compile: then all rows are read
// as those that begin anywhere.
class Forms {
 public:
  explicit Forms(Products products) {
    constexpr std::size_t most = 4;
    add(products);
    if (forms_.size() <= most) return;
    forms_.clear();
    is_general_ = true;
    add(products);
  }
  int number_of(const GroupedProduct& product) const {
    return static_cast<int>(std::find(forms_.begin(), forms_.end(), known(product)) -
                            forms_.begin());
  }
  ChunkAccess access_of(const GroupedProduct& product) const { return known(product).access; }
  // FORMS of grouped_tiles.cu.
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      const Form& form = forms_[i];
      text += fmt::format("FORM({}, {}, {}, {}, {}, {}) ", i, form.a_by_columns, form.b_by_columns,
                          static_cast<int>(form.access.a), static_cast<int>(form.access.b),
                          form.access.c_quads);
    }
    return text;
  }

 private:
  Form known(const GroupedProduct& product) const {
    Form form = form_of(product);
    if (is_general_) form.access = anywhere;
    return form;
  }
  void add(Products products) {
    for (const GroupedProduct& one : products) {
      const Form form = known(one);
      if (std::find(forms_.begin(), forms_.end(), form) == forms_.end()) forms_.push_back(form);
    }
  }

  std::vector<Form> forms_;
  bool is_general_ = false;
};

TileExtents extents_of(const MmaSyncTile& tile) {
  return {tile.rows, tile.columns};
}

// Shared memory must hold every product's stages: the product whose are largest, for any tile.
const GroupedProduct& largest_stages(Products products, const Forms& forms) {
  constexpr MmaSyncTile tile{.rows = 64, .columns = 64};
  constexpr int depth_bytes = 64;
  const auto bytes = [&](const GroupedProduct& one) {
    return mma_stage_bytes(one.problem, forms.access_of(one), tile, depth_bytes);
  };
  return *std::max_element(products.begin(), products.end(),
                           [&](const GroupedProduct& one, const GroupedProduct& other) {
                             return bytes(one) < bytes(other);
                           });
}

// The tile by the time of all blocks: the products of whole tiles at the rate of as many blocks as
// share an SM, and what each block takes to begin and end.
MmaSyncPlan tile_for(Products products, const DeviceProperties& device, const Forms& forms) {
  constexpr double begin_and_end = 4000.0;  // cycles of a block
  constexpr double products_per_cycle = 1365.0;
  const GroupedProduct& largest = largest_stages(products, forms);
  MmaSyncPlan best;
  for (const MmaSyncTile& tile : mma_sync_tiles(device)) {
    if (tile.rows != tile.columns) continue;  // products of few rows have few columns as often
    auto plan = mma_sync_stages(largest.problem, forms.access_of(largest), tile, device);
    if (!plan) continue;
    const double blocks = static_cast<double>(tiles_of_groups(products, extents_of(tile)));
    double steps = 0.0;  // of k, of all blocks
    for (const GroupedProduct& one : products) {
      steps +=
          static_cast<double>(tiles_of_groups({&one, 1}, extents_of(tile)) * one.problem.shape.k);
    }
    const double sms = std::max(1, device.sm_count);
    const double resident = std::clamp(blocks / sms, 1.0, static_cast<double>(tile.blocks_per_sm));
    const double rate = products_per_cycle * tile.rates[static_cast<std::size_t>(resident) - 1];
    const double busy_sms = std::min(sms, std::max(blocks, 1.0));
    plan->cycles =
        (steps * tile.rows * tile.columns / rate + blocks * begin_and_end / resident) / busy_sms;
    if (best.stages == 0 || plan->cycles < best.cycles) best = *plan;
  }
  return best;
}

// A launch of one kernel over the tiles of all products.
class GroupedRun final : public GemmRun {
 public:
  GroupedRun(Device& device, Products products, GroupTable table, const KernelRequest& request,
             const Launch& launch)
      : device_(device),
        first_(products.front().problem),
        count_(products.size()),
        table_(std::move(table)),
        launch_(launch),
        bias_(products.front().at.bias) {
    if (table_.tiles() > 0) kernel_ = device.load(request);
  }

  void run(const GemmAddresses&, const Stream& stream) override {
    if (table_.tiles() == 0) return;
    KernelArguments arguments = table_.arguments();
    arguments.push(bias_);
    push_factors(arguments, first_);
    device_.launch(kernel_, launch_, arguments, stream);
  }

  std::string note() const override {
    return fmt::format("{} products in one launch{}", count_,
                       first_.precision == Precision::fp32_fast ? ", computed as fp32" : "");
  }

 private:
  Device& device_;
  GemmProblem first_;
  std::size_t count_;
  GroupTable table_;
  Launch launch_;
  DeviceAddress bias_;
  Kernel kernel_;  // none where C has no elements
};

std::optional<std::string> size_refusal_of(Products products) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 4096;
  for (const GroupedProduct& one : products) {
    const MatmulShape& s = one.problem.shape;
    if (std::max({s.m, s.n, s.k}) > most) return fmt::format("extents beyond {}", most);
  }
  if (tiles_of_groups(products, {general_side, general_side}) > most) {
    return fmt::format("more than {} tiles", most);
  }
  return std::nullopt;
}

int general_per_thread(Products products, const DeviceProperties& device) {
  for (const int per_thread : {4, 2}) {
    const std::int64_t tile = std::int64_t{general_side} * per_thread;
    // As in general_tile(): on half of the SMs a wide tile is still ahead.
    if (2 * tiles_of_groups(products, {tile, tile}) >= device.sm_count) return per_thread;
  }
  return 1;
}

std::optional<std::string> grouped_refusal(Products products, const DeviceProperties& device) {
  if (auto why = size_refusal_of(products)) return why;
  return general_refusal(products.front().problem, device);
}

std::unique_ptr<GemmRun> prepare_grouped(Device& device, Products products) {
  const int per_thread = general_per_thread(products, device.properties());
  const std::int64_t tile = std::int64_t{general_side} * per_thread;
  GroupTable table(device, products, {tile, tile}, [](const GroupedProduct& one) {
    return int{one.problem.a.order == Order::column_major} +
           2 * int{one.problem.b.order == Order::column_major};
  });
  const GemmProblem& first = products.front().problem;
  KernelRequest request = embedded_request("gemm/grouped.cu");
  request.kernel = "gemm";
  request.defines = epilogue_constants(first);
  request.defines.emplace_back("A_TYPE", name_of(first.a.type));
  request.defines.emplace_back("B_TYPE", name_of(first.b.type));
  request.defines.emplace_back("OPERAND", operand_kind(first.precision));
  request.defines.push_back(define("PER_THREAD", per_thread));
  const Launch launch = flat_launch(table.tiles(), general_side * general_side);
  return std::make_unique<GroupedRun>(device, products, std::move(table), request, launch);
}

std::optional<std::string> grouped_tiles_refusal(Products products,
                                                 const DeviceProperties& device) {
  if (auto why = size_refusal_of(products)) return why;
  if (auto why = mma_sync_type_refusal(products.front().problem, device)) return why;
  if (size_of(products.front().problem.a.type) == 1) return "operands of 8 bits";
  constexpr std::int64_t most_apart = std::int64_t{1} << 24;  // the kernel's offsets of rows
  for (const GroupedProduct& one : products) {
    if (std::max(one.problem.a.leading, one.problem.b.leading) > most_apart) {
      return fmt::format("rows more than {} elements apart", most_apart);
    }
  }
  return std::nullopt;
}

std::unique_ptr<GemmRun> prepare_grouped_tiles(Device& device, Products products) {
  const DeviceProperties& properties = device.properties();
  const Forms forms(products);
  const MmaSyncPlan plan = tile_for(products, properties, forms);
  GroupTable table(device, products, extents_of(plan.tile),
                   [&](const GroupedProduct& one) { return forms.number_of(one); });
  const GroupedProduct& largest = largest_stages(products, forms);
  const Launch launch =
      flat_launch(table.tiles(), plan.tile.threads(),
                  mma_sync_shared_bytes(largest.problem, forms.access_of(largest), plan));
  return std::make_unique<GroupedRun>(device, products, std::move(table),
                                      grouped_tiles_request(products, properties), launch);
}

constexpr GroupedVariant variants[] = {{.name = "grouped",
                                        .idea = "products of any shapes in one launch",
                                        .source = "gemm/grouped.cu",
                                        .refusal = grouped_refusal,
                                        .prepare = prepare_grouped},
                                       {.name = "grouped_tiles",
                                        .idea = "the same on tensor cores, fed by cp.async",
                                        .source = "gemm/grouped_tiles.cu",
                                        .refusal = grouped_tiles_refusal,
                                        .prepare = prepare_grouped_tiles}};

}  // namespace

std::span<const GroupedVariant> grouped_variants() {
  return variants;
}

const GroupedVariant* find_grouped_variant(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(variants), std::end(variants),
                   [&](const GroupedVariant& variant) { return variant.name == name; });
  return found == std::end(variants) ? nullptr : found;
}

const GroupedVariant& grouped_variant_for(Products products, const DeviceProperties& device,
                                          std::string_view name) {
  std::optional<std::string> why;
  for (auto variant = std::rbegin(variants); variant != std::rend(variants); ++variant) {
    if (!name.empty() && variant->name != name) continue;
    why = variant->refusal(products, device);
    if (!why) return *variant;
  }
  if (!why) {
    throw usage_error("variant {}: products of different shapes have grouped and grouped_tiles",
                      name);
  }
  throw usage_error("variant {}: {}", name.empty() ? variants[0].name : name, *why);
}

KernelRequest grouped_tiles_request(Products products, const DeviceProperties& device) {
  const Forms forms(products);
  KernelRequest request = embedded_request("gemm/grouped_tiles.cu");
  request.kernel = "gemm";
  request.defines =
      mma_sync_constants(products.front().problem, device, tile_for(products, device, forms));
  request.defines.emplace_back("FORMS", forms.text());
  return request;
}

}  // namespace tilescope::operations
