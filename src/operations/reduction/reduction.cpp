#include "operations/reduction/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "operations/elementwise/elementwise_plans.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/prepared_task.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task_operation.hpp"

namespace tilescope {
namespace operations {
namespace {

constexpr int tree_threads = 256;

// Constants of the kernels that read in packs.
struct Tile {
  int threads, unroll, blocks_per_sm;
};
constexpr Tile value_tile{.threads = 512, .unroll = 4, .blocks_per_sm = 3};
constexpr Tile place_tile{.threads = 512, .unroll = 8, .blocks_per_sm = 3};
// For short lists: small blocks begin, and end, sooner.
constexpr Tile short_tile{.threads = 128, .unroll = 8, .blocks_per_sm = 8};
constexpr std::int64_t short_count = std::int64_t{1} << 22U;

struct Problem {
  ConstArrayView x;
  Reduction reduction;

  std::int64_t count() const { return static_cast<std::int64_t>(x.count); }
  // Bytes of a block's result; a place is a value and an index.
  std::size_t partial_bytes() const {
    constexpr std::size_t widest = 16;
    return widest;
  }
  Defines defines() const {
    const char* element = x.type == DataType::float64   ? "double"
                          : x.type == DataType::float32 ? "float"
                                                        : "int";
    constexpr std::array names{"Sum", "Min", "Max", "ArgMax"};
    return {{"ELEMENT", element}, {"OPERATOR", names[static_cast<std::size_t>(reduction)]}};
  }
};

// One block even for an empty list, whose sum is 0.
std::int64_t blocks_of(std::int64_t count, std::int64_t per_block) {
  return std::max<std::int64_t>(1, groups_of(count, per_block));
}

// Reduces the elements in blocks of `per_block`, then the blocks' values, until one is left.
Plan tree(const Problem& p, int per_block, int threads = tree_threads) {
  Plan plan{.steps = {}, .defines = p.defines(), .scratch = {}};
  plan.defines.push_back(define("THREADS", threads));
  Memory from = Memory::input();
  std::int64_t left = p.count();
  bool first = true;
  while (first || left > 1) {
    const std::int64_t blocks = blocks_of(left, per_block);
    const Memory to = Memory::scratch(plan.scratch.size());
    plan.scratch.push_back(static_cast<std::size_t>(blocks) * p.partial_bytes());
    plan.steps.push_back({.kernel = first ? "reduce" : "reduce_again",
                          .launch = flat_launch(blocks, threads),
                          .arguments = {from, left, to}});
    from = to;
    left = blocks;
    first = false;
  }
  plan.steps.push_back(
      {.kernel = "finish", .launch = flat_launch(1, 1), .arguments = {from, Memory::output()}});
  return plan;
}

// `blocks` blocks that stride, then one that reduces their values.
Plan two_launches(const Problem& p, std::int64_t blocks, int threads) {
  Plan plan{.steps = {}, .defines = p.defines(), .scratch = {}};
  plan.defines.push_back(define("THREADS", threads));
  plan.scratch = {static_cast<std::size_t>(blocks) * p.partial_bytes()};
  plan.steps = {{.kernel = "reduce",
                 .launch = flat_launch(blocks, threads),
                 .arguments = {Memory::input(), p.count(), Memory::scratch()}},
                {.kernel = "reduce_blocks",
                 .launch = flat_launch(1, threads),
                 .arguments = {Memory::scratch(), blocks, Memory::output()}}};
  return plan;
}

Plan shuffles(const Problem& p, const DeviceProperties& device) {
  const std::int64_t most = std::int64_t{std::max(1, device.sm_count)} *
                            std::max(1, device.max_threads_per_sm / tree_threads);
  return two_launches(p, std::min(most, blocks_of(p.count(), tree_threads)), tree_threads);
}

const Tile& tile_of(const Problem& p) {
  if (p.count() <= short_count) return short_tile;
  return p.reduction == Reduction::argmax ? place_tile : value_tile;
}

// As many blocks as the device holds at once, or fewer: the work of each in the same number of
// rounds.
std::int64_t blocks_for(const Problem& p, const DeviceProperties& device) {
  const Tile& tile = tile_of(p);
  const auto pack = static_cast<std::int64_t>(16 / size_of(p.x.type));
  const std::int64_t tiles = blocks_of(p.count(), pack * tile.unroll * tile.threads);
  const int fit =
      std::min(tile.blocks_per_sm, std::max(1, device.max_threads_per_sm / tile.threads));
  const std::int64_t most = std::int64_t{std::max(1, device.sm_count)} * fit;
  return groups_of(tiles, groups_of(tiles, most));
}

Plan vector_loads(const Problem& p, const DeviceProperties& device) {
  Plan plan = two_launches(p, blocks_for(p, device), tile_of(p).threads);
  plan.defines.push_back(define("UNROLL", tile_of(p).unroll));
  return plan;
}

Plan one_pass(const Problem& p, const DeviceProperties& device) {
  const Tile& tile = tile_of(p);
  const std::int64_t blocks = blocks_for(p, device);
  Plan plan{.steps = {}, .defines = p.defines(), .scratch = {}};
  plan.defines.push_back(define("THREADS", tile.threads));
  plan.defines.push_back(define("UNROLL", tile.unroll));
  plan.defines.push_back(
      define("BLOCKS_PER_SM",
             std::min(tile.blocks_per_sm, std::max(1, device.max_threads_per_sm / tile.threads))));
  plan.scratch = {static_cast<std::size_t>(blocks) * p.partial_bytes(), sizeof(std::uint32_t)};
  plan.steps = {{.kernel = "reduce",
                 .launch = flat_launch(blocks, tile.threads),
                 .arguments = {Memory::input(), p.count(), Memory::scratch(0), Memory::scratch(1),
                               Memory::output()}}};
  return plan;
}

// A block for each section, then for each section of the blocks' values, until one is left.
Plan fixed_order(const Problem& p, const DeviceProperties&) {
  constexpr int threads = static_cast<int>(sum_threads), unroll = 4;
  Plan plan = tree(p, static_cast<int>(sum_section), threads);
  plan.defines.push_back(define("SECTION", static_cast<std::int64_t>(sum_section)));
  plan.defines.push_back(define("UNROLL", unroll));
  return plan;
}

// The first of its launches, to the output.
Plan section_sums(const Problem& p, const DeviceProperties& device) {
  Plan plan = fixed_order(p, device);
  plan.steps.resize(1);
  plan.steps.front().arguments.back() = Memory::output();
  plan.scratch.clear();
  return plan;
}

template <Plan (*make)(const Problem&, const DeviceProperties&)>
std::function<Plan(const DeviceProperties&)> planned(const Problem& p) {
  return [p](const DeviceProperties& device) { return make(p, device); };
}

// An empty list has only a sum.
void require_something(Reduction reduction) {
  if (reduction == Reduction::sum) return;
  throw usage_error("an empty list has no {}", name_of(reduction));
}

// Data whose sums are exact in any order, so that a missing element shows: multiples of 2^-7 in
// (-1, 1), as many of either sign, whose sums of up to 2^30 stay far below 2^17 (their spread is
// 2^14) and so within the 24 bits of a float. Beyond that, multiples of 2^-5.
HostArray summable(DataType type, std::size_t count, std::uint64_t seed) {
  const double grid = count <= (std::size_t{1} << 30U) ? 0x1p-7 : 0x1p-5;
  const auto steps = static_cast<std::uint64_t>(2.0 / grid) - 1;
  HostArray array(type, count);
  const auto fill = [&](auto elements) {
    using T = typename decltype(elements)::value_type;
    generate(count, seed, [&](std::mt19937_64& generator, std::size_t i) {
      elements[i] =
          static_cast<T>(static_cast<double>((generator() >> 32U) % steps + 1) * grid - 1.0);
    });
  };
  if (type == DataType::float64) {
    fill(array.as<double>());
  } else {
    fill(array.as<float>());
  }
  return array;
}

}  // namespace

DataType result_type(DataType element, Reduction reduction) {
  if (reduction == Reduction::argmax) return DataType::int64;
  if (reduction != Reduction::sum) return element;
  return is_floating(element) ? DataType::float64 : DataType::int64;
}

void require_reducible(const ConstArrayView& x, Reduction reduction) {
  if (x.type != DataType::float32 && x.type != DataType::float64 && x.type != DataType::int32) {
    throw usage_error("reduce takes float32, float64 and int32, not {}", name_of(x.type));
  }
  if (x.count == 0) require_something(reduction);
}

Task reduction_task(const ConstArrayView& x, Reduction reduction) {
  const Problem p{x, reduction};
  Task task{.operation = "reduce",
            .inputs = {x},
            .output_type = result_type(x.type, reduction),
            .output_count = 1,
            .best = "one_pass"};
  task.compute = [p](void* output) { reduce_on_cpu(p.x, p.reduction, output); };
  const auto tree_rung = [&p](std::string_view name, std::string_view idea, std::string_view source,
                              int per_block) {
    return Rung{.name = name,
                .idea = idea,
                .source = source,
                .plan = [p, per_block](const DeviceProperties&) { return tree(p, per_block); }};
  };
  task.rungs = {cpu_rung(),
                tree_rung("modulo_tree", "pairs picked by a remainder",
                          "reduction/01_modulo_tree.cu", tree_threads),
                tree_rung("halving_tree", "the upper half to the lower",
                          "reduction/02_halving_tree.cu", tree_threads),
                tree_rung("first_add", "the first addition while loading",
                          "reduction/03_first_add.cu", 2 * tree_threads),
                {.name = "shuffles",
                 .idea = "a fixed grid, the tree in registers",
                 .source = "reduction/04_shuffles.cu",
                 .plan = planned<shuffles>(p)},
                {.name = "vector",
                 .idea = "128-bit loads, several under way",
                 .source = "reduction/05_vector.cu",
                 .plan = planned<vector_loads>(p)},
                {.name = "one_pass",
                 .idea = "the last block finishes: one launch",
                 .source = "reduction/06_one_pass.cu",
                 .plan = planned<one_pass>(p)},
                {.name = "fixed_order",
                 .idea = "the same sum on every device",
                 .source = "reduction/07_fixed_order.cu",
                 .plan = planned<fixed_order>(p)},
                peer_rung("cub_reduce", "reduce")};
  task.peer_call = peer_call(x);
  task.peer_call.choice = static_cast<std::int32_t>(reduction);
  return task;
}

Task section_sums_task(const ConstArrayView& x) {
  Task task{.operation = "reduce",
            .inputs = {x},
            .output_type = DataType::float64,
            .output_count = sections_of(x.count),
            .best = "fixed_order"};
  task.compute = [x](void* sums) { section_sums_on_cpu(x, static_cast<double*>(sums)); };
  task.rungs = {cpu_rung(),
                {.name = "fixed_order",
                 .idea = "the same sum on every device",
                 .source = "reduction/07_fixed_order.cu",
                 .plan = planned<section_sums>({x, Reduction::sum})}};
  return task;
}

std::unique_ptr<Operation> make_reduction(const ProblemOptions& options) {
  const std::int64_t count = list_size(options, std::int64_t{1} << 20U);
  const DataType type =
      type_among("reduce", options.type, {DataType::float32, DataType::float64, DataType::int32});
  const Reduction reduction = parse_reduction(options.reduction.value_or("sum"));
  if (count == 0) require_something(reduction);
  const auto elements = static_cast<std::size_t>(count);
  std::vector<HostArray> inputs;
  inputs.push_back(reduction == Reduction::sum && is_floating(type)
                       ? summable(type, elements, options.seed)
                       : random_array(type, elements, options.seed));
  const ConstArrayView x = inputs[0].view();
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = reduction_task(x, reduction),
      .size_text =
          fmt::format("{} of {} {}", name_of(reduction), format_count(count), name_of(type)),
      .work = {.flops = static_cast<double>(count),
               .bytes = static_cast<double>(x.bytes()),
               .memory_bound = true},
      .make_expected = [=]() -> std::unique_ptr<Expected> {
        HostArray result(result_type(type, reduction), 1);
        reduce_on_cpu(x, reduction, result.data());
        return std::make_unique<ArrayExpected>(std::move(result));
      }});
}

}  // namespace operations

std::string_view name_of(Reduction reduction) {
  constexpr std::array<std::string_view, 4> names{"sum", "min", "max", "argmax"};
  return names[static_cast<std::size_t>(reduction)];
}

Reduction parse_reduction(std::string_view name) {
  for (const Reduction reduction :
       {Reduction::sum, Reduction::min, Reduction::max, Reduction::argmax}) {
    if (name_of(reduction) == name) return reduction;
  }
  throw usage_error("there is no reduction \"{}\"; there are sum, min, max and argmax",
                    printable(name));
}

DataType reduced_type(DataType element, Reduction reduction) {
  return operations::result_type(element, reduction);
}

PreparedOperation prepare_reduce(Device& device, const ConstArrayView& x, Reduction reduction,
                                 void* result, const RunOptions& options) {
  operations::require_reducible(x, reduction);
  return operations::prepare_task(device, operations::reduction_task(x, reduction), options.variant,
                                  result);
}

Reduced reduce(Device& device, const ConstArrayView& x, Reduction reduction,
               const RunOptions& options) {
  operations::require_reducible(x, reduction);
  Reduced reduced;
  const DataType type = operations::result_type(x.type, reduction);
  reduced.type = is_floating(type) ? DataType::float64 : DataType::int64;
  operations::HostArray result(type, 1);
  reduced.report = operations::run_task(device, operations::reduction_task(x, reduction),
                                        options.variant, result.data());
  if (is_floating(type)) {
    operations::widen(result.view(), 0, {&reduced.real, 1});
  } else {
    reduced.integer =
        type == DataType::int32 ? result.as<std::int32_t>()[0] : result.as<std::int64_t>()[0];
  }
  return reduced;
}

}  // namespace tilescope
