// Analyses one access of a kernel, given as text: is A[row * n + k] coalesced? Does tile[ty][k]
// conflict?
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tilescope/launch.hpp>
#include <utility>
#include <vector>

namespace tilescope::gpu {

struct AccessQuestion {
  std::string expression = {};  ///< "A[row * n + k]" or, with `columns`, "tile[ty][k]"
  /// Definitions of names, as text: "n" -> "1024", "row" -> "blockIdx.x * 16 + threadIdx.y".
  std::map<std::string, std::string> definitions = {};
  Launch launch{.grid = {4, 4, 1}, .block = {32, 8, 1}};
  int element_bytes = 4;     ///< 1, 2, 4, 8 or 16
  std::int64_t columns = 0;  ///< elements from one row to the next, for two subscripts
  std::uint64_t warp = 0;    ///< of the block
  Dim3 block_index{1, 1, 0};
  int shared_banks = 32;
};

enum class AccessPattern {
  uniform,         ///< one address for the whole warp
  consecutive,     ///< neighbours in threadIdx.x access neighbouring elements, up or down
  strided,         ///< neighbours in threadIdx.x are another constant distance apart
  mixed,           ///< several rows of the block in a warp, or no single stride
  data_dependent,  ///< the index is read from memory
};
std::string_view name_of(AccessPattern pattern);

/// How the index depends on one component of threadIdx.
struct IndexStride {
  std::string variable;
  bool linear = true;                 ///< false: squared, divided, or read from memory
  std::string text;                   ///< the factor: "1", "n", "16 * n"
  std::optional<std::int64_t> value;  ///< with the values in use
};

struct AccessAnswer {
  std::string array;
  std::string index;  ///< written out and multiplied out
  /// Definitions in use, given or standard, and values assumed for names that have none: 1,024 for
  /// a factor (a size), 0 for the rest.
  std::vector<std::pair<std::string, std::string>> definitions;
  std::vector<std::pair<std::string, std::int64_t>> assumed;
  std::vector<IndexStride> strides;  ///< threadIdx.x, .y, .z
  AccessPattern pattern = AccessPattern::mixed;

  std::vector<std::int64_t> indices;  ///< one for each lane of the warp; none if data-dependent
  // The access as one to global memory. Data-dependent: the worst case, every lane in a line of its
  // own.
  int lanes = 0;
  int sectors = 0, ideal_sectors = 0, lines = 0;
  std::int64_t used_bytes = 0;     ///< different bytes that the warp needs
  std::int64_t fetched_bytes = 0;  ///< sectors * 32
  double wasted_share = 0.0;       ///< share of the fetched bytes
  bool coalesced = false;  ///< no more sectors than contiguous data need, plus at most one where a
                           ///< row starts off a sector's start
  std::string cure;        ///< empty if there is nothing to cure
  // The access as one to shared memory (if indices are known).
  int wavefronts = 0, ideal_wavefronts = 0, ways = 0;
  std::string bank_cure;
};

/// Throws Error(usage), one line, for an expression that does not parse, is no array access, or
/// exceeds 63 bits; for two subscripts without `columns`; for a warp that the block does not have.
AccessAnswer analyse_access(const AccessQuestion& question);

}  // namespace tilescope::gpu
