#include "operations/elementwise/elementwise_plans.hpp"

#include <algorithm>

namespace tilescope::operations {
namespace {

Plan single(Step step, const Launch& launch) {
  step.launch = launch;
  Plan plan;
  plan.steps.push_back(std::move(step));
  return plan;
}

std::int64_t pack_size(std::size_t element_bytes) {
  constexpr std::size_t pack_bytes = 16;
  return static_cast<std::int64_t>(pack_bytes / element_bytes);
}

}  // namespace

std::string_view element_name(DataType type) {
  return type == DataType::float64 ? "double" : "float";
}

Argument element_argument(DataType type, double value) {
  if (type == DataType::float64) return value;
  return static_cast<float>(value);
}

Plan one_thread_each(Step step, std::int64_t threads) {
  return single(std::move(step), flat_launch(groups_of(threads, block_threads), block_threads));
}

Plan resident_grid(Step step, const DeviceProperties& device) {
  return single(std::move(step),
                flat_launch(std::int64_t{device.sm_count} *
                                std::max(1, device.max_threads_per_sm / block_threads),
                            block_threads));
}

Plan one_thread_a_pack(Step step, std::int64_t count, DataType type) {
  const std::int64_t pack = pack_size(size_of(type));
  return one_thread_each(std::move(step), count / pack + count % pack);
}

Plan map_tiles(Step step, std::int64_t count, std::size_t element_bytes, MapTile tile) {
  const std::int64_t of_block = tile.threads * tile.unroll * pack_size(element_bytes);
  Plan plan = single(std::move(step), flat_launch(groups_of(count, of_block), tile.threads));
  plan.defines = {define("THREADS", tile.threads), define("UNROLL", tile.unroll)};
  return plan;
}

}  // namespace tilescope::operations
