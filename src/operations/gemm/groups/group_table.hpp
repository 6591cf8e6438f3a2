// The table by which the blocks of one launch find their products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/gemm/groups/grouped_product.hpp"

namespace tilescope::operations {

/// A tile of C, in elements.
struct TileExtents {
  std::int64_t rows = 0, columns = 0;
};

/// The tiles of all products.
std::int64_t tiles_of_groups(std::span<const GroupedProduct> products, const TileExtents& tile);

/// The products in device memory, as kernels/gemm/groups.cuh has them. Those with most steps of k
/// come first, since blocks start in this order; products without elements are left out.
class GroupTable {
 public:
  /// `form_of`: the number by which the kernel knows how a product's matrices lie.
  GroupTable(Device& device, std::span<const GroupedProduct> products, const TileExtents& tile,
             const std::function<int(const GroupedProduct&)>& form_of);

  std::int64_t tiles() const { return tiles_; }
  /// Table, first tiles and count: the kernels' first arguments.
  KernelArguments arguments() const;

 private:
  Buffer entries_, first_tiles_;
  std::int64_t tiles_ = 0;
  std::size_t groups_ = 0;
};

}  // namespace tilescope::operations
