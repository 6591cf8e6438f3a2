#include "observe/lane_runs.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {

void find_runs(const emulator::Access& access, std::vector<Run>& runs) {
  runs.clear();
  const std::uint64_t base = base_address(access);
  // ldmatrix and stmatrix: every lane names a row of 16 bytes.
  const bool matrix = access.kind == emulator::AccessKind::matrix_load ||
                      access.kind == emulator::AccessKind::matrix_store;
  const std::uint32_t bytes = matrix ? 16 : access.bytes;
  bool ascend = true;
  for (std::uint32_t m = access.mask; m != 0; m &= m - 1) {
    const auto offset = static_cast<std::int64_t>(access.addresses[std::countr_zero(m)] - base);
    if (!runs.empty()) {
      Run& last = runs.back();
      const std::int64_t end = last.offset + last.bytes;
      if (offset >= last.offset && offset <= end) {  // the lane before this one's, or beside it
        const std::int64_t reach = std::max(end, offset + std::int64_t{bytes});
        last.bytes = static_cast<std::uint32_t>(reach - last.offset);
        continue;
      }
      ascend = ascend && offset > end;
    }
    runs.push_back({offset, bytes});
  }
  if (ascend) return;
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.offset < b.offset; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const std::int64_t end = runs[last].offset + runs[last].bytes;
    if (runs[i].offset > end) {
      runs[++last] = runs[i];
    } else {
      const std::int64_t reach = std::max(end, runs[i].offset + std::int64_t{runs[i].bytes});
      runs[last].bytes = static_cast<std::uint32_t>(reach - runs[last].offset);
    }
  }
  runs.resize(last + 1);
}

}  // namespace tilescope::observe
