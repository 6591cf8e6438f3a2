#include "operations/gemm/groups/group_table.hpp"

#include <algorithm>
#include <string_view>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// Group of kernels/gemm/groups.cuh.
struct Entry {
  DeviceAddress a, b, c;
  std::int64_t a_leading, b_leading, c_leading;
  std::int32_t m, n, k, form;
};
static_assert(sizeof(Entry) == 64);

std::int64_t tiles_of(const MatmulShape& shape, const TileExtents& tile) {
  return groups_of(shape.m, tile.rows) * groups_of(shape.n, tile.columns);
}

}  // namespace

std::int64_t tiles_of_groups(std::span<const GroupedProduct> products, const TileExtents& tile) {
  std::int64_t tiles = 0;
  for (const GroupedProduct& one : products) tiles += tiles_of(one.problem.shape, tile);
  return tiles;
}

GroupTable::GroupTable(Device& device, std::span<const GroupedProduct> products,
                       const TileExtents& tile,
                       const std::function<int(const GroupedProduct&)>& form_of) {
  std::vector<const GroupedProduct*> order;
  for (const GroupedProduct& one : products) {
    if (tiles_of(one.problem.shape, tile) > 0) order.push_back(&one);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* one, const auto* other) {
    return one->problem.shape.k > other->problem.shape.k;
  });
  std::vector<Entry> entries;
  std::vector<std::int32_t> first_tiles;
  for (const GroupedProduct* const one : order) {
    const GemmProblem& p = one->problem;
    const auto extent = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    first_tiles.push_back(extent(tiles_));
    tiles_ += tiles_of(p.shape, tile);
    entries.push_back({.a = one->at.a,
                       .b = one->at.b,
                       .c = one->at.c,
                       .a_leading = p.a.leading,
                       .b_leading = p.b.leading,
                       .c_leading = p.c.leading,
                       .m = extent(p.shape.m),
                       .n = extent(p.shape.n),
                       .k = extent(p.shape.k),
                       .form = form_of(*one)});
  }
  groups_ = entries.size();
  if (groups_ == 0) return;
  const auto uploaded = [&](const auto& list, std::string_view name) {
    const std::size_t bytes = list.size() * sizeof list[0];
    Buffer buffer = device.allocate(bytes, name, Reach::own);
    device.copy_to_device(buffer.address(), list.data(), bytes);
    return buffer;
  };
  entries_ = uploaded(entries, "the table of products");
  first_tiles_ = uploaded(first_tiles, "their first tiles");
}

KernelArguments GroupTable::arguments() const {
  return KernelArguments::of(entries_.address(), first_tiles_.address(),
                             static_cast<std::int32_t>(groups_));
}

}  // namespace tilescope::operations
