// Products of different shapes in one launch.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operations/gemm/groups/grouped_product.hpp"

namespace tilescope::operations {

/// A kernel for products of different shapes. They have everything in common but shapes, orders,
/// leading dimensions and addresses, one matrix each; a bias is every product's.
struct GroupedVariant {
  std::string_view name;
  std::string_view idea;    ///< the technique, in a few words
  std::string_view source;  ///< file below kernels/
  /// Why it cannot compute the products on such a device; nothing if it can.
  std::optional<std::string> (*refusal)(std::span<const GroupedProduct> products,
                                        const DeviceProperties& device);
  /// A run of these products, whatever addresses it is called with. Its table of products is on the
  /// device when this returns.
  std::unique_ptr<GemmRun> (*prepare)(Device& device, std::span<const GroupedProduct> products);
};

/// All of them, the fastest last. The first takes whatever matrices `general` takes.
std::span<const GroupedVariant> grouped_variants();

/// The variant of that name; null for any other.
const GroupedVariant* find_grouped_variant(std::string_view name);

/// The variant called `name`, or without a name the fastest. Throws Error(usage) if it, or every
/// one, refuses.
const GroupedVariant& grouped_variant_for(std::span<const GroupedProduct> products,
                                          const DeviceProperties& device, std::string_view name);

/// The products that one source computes with their constants; what compiles for a test.
KernelRequest grouped_tiles_request(std::span<const GroupedProduct> products,
                                    const DeviceProperties& device);

}  // namespace tilescope::operations
