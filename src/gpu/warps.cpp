#include <algorithm>
#include <mutex>
#include <tilescope/gpu/warps.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/parallel.hpp"
#include "gpu/index_names.hpp"

namespace tilescope::gpu {
namespace {

constexpr std::uint64_t most_evaluations = std::uint64_t{1} << 28U;
constexpr std::uint64_t most_threads_per_block = 1024;

// Records one warp's evaluation, true in `yes` of its threads.
void record(DivergenceCount& count, std::uint64_t yes, std::uint64_t threads, bool& diverged) {
  ++count.evaluations;
  if (yes == 0) {
    ++count.all_false;
  } else if (yes == threads) {
    ++count.all_true;
  } else {
    ++count.divergent;
    diverged = true;
  }
}

void require_positive(std::int64_t value, std::string_view what) {
  if (value < 1) {
    throw usage_error("{} of {}: at least 1", what, value);
  }
}

void require_launch(const Launch& launch) {
  if (launch.grid.count() == 0 || launch.block.count() == 0) {
    throw usage_error("every extent of grid and block must be at least 1");
  }
  if (launch.block.count() > most_threads_per_block) {
    throw usage_error("a block of {} threads: no GPU takes more than {}",
                      format_count(launch.block.count()), most_threads_per_block);
  }
}

DivergenceCount multiplied(DivergenceCount count, std::uint64_t factor) {
  count.blocks *= factor;
  count.warps *= factor;
  count.evaluations *= factor;
  count.divergent *= factor;
  count.all_true *= factor;
  count.all_false *= factor;
  count.divergent_warps *= factor;
  return count;
}

class Counter {
 public:
  Counter(const BoundExpression& condition, const Launch& launch, const ConditionLoop& loop,
          int warp_size)
      : condition_(condition), launch_(launch), loop_(loop), warp_size_(warp_size) {}

  DivergenceCount block(const Dim3& index) const {
    DivergenceCount count;
    const std::uint64_t threads = launch_.block.count();
    const auto width = static_cast<std::uint64_t>(warp_size_);
    for (std::uint64_t first = 0; first < threads; first += width) {
      const std::uint64_t last = std::min(threads, first + width);
      bool diverged = false;
      for (std::int64_t iteration = loop_.first; iteration < loop_.last; ++iteration) {
        std::uint64_t yes = 0;
        for (std::uint64_t t = first; t < last; ++t) {
          std::vector<std::int64_t> values =
              builtin_values(thread_at(t, launch_.block), index, launch_, warp_size_);
          values.push_back(iteration);
          yes += condition_.evaluate(values) != 0 ? 1 : 0;
        }
        record(count, yes, last - first, diverged);
      }
      ++count.warps;
      count.divergent_warps += diverged ? 1 : 0;
    }
    count.blocks = 1;
    return count;
  }

 private:
  const BoundExpression& condition_;
  const Launch& launch_;
  const ConditionLoop& loop_;
  int warp_size_;
};

}  // namespace

std::uint64_t linear_thread(const Dim3& thread, const Dim3& block) {
  return thread.x + std::uint64_t{block.x} * (thread.y + std::uint64_t{block.y} * thread.z);
}

Dim3 thread_at(std::uint64_t linear, const Dim3& block) {
  const std::uint64_t row = linear / block.x;
  return {static_cast<std::uint32_t>(linear % block.x), static_cast<std::uint32_t>(row % block.y),
          static_cast<std::uint32_t>(row / block.y)};
}

std::uint64_t warps_per_block(const Dim3& block, int warp_size) {
  require_positive(warp_size, "a warp size");
  const auto width = static_cast<std::uint64_t>(warp_size);
  return (block.count() + width - 1) / width;
}

DivergenceCount& DivergenceCount::operator+=(const DivergenceCount& other) {
  blocks += other.blocks;
  warps += other.warps;
  evaluations += other.evaluations;
  divergent += other.divergent;
  all_true += other.all_true;
  all_false += other.all_false;
  divergent_warps += other.divergent_warps;
  return *this;
}

DivergenceCount count_divergence(const std::string& condition, const Launch& launch,
                                 const ConditionLoop& loop,
                                 const std::map<std::string, std::string>& definitions,
                                 int warp_size) {
  require_launch(launch);
  require_positive(warp_size, "a warp size");
  if (loop.last <= loop.first) {
    throw usage_error("a loop from {} to {} has no iterations", loop.first, loop.last);
  }
  const BoundExpression bound(
      expression::Expression::parse(condition).substitute(definitions_with(definitions)),
      {loop.variable.empty() ? std::string("(no loop)") : loop.variable});

  // Blocks with equal values of the condition's variables are counted once.
  const auto extent = [&](const char* name, std::uint32_t size) {
    return bound.uses(name) ? size : 1;
  };
  const Dim3 distinct{extent("blockIdx.x", launch.grid.x), extent("blockIdx.y", launch.grid.y),
                      extent("blockIdx.z", launch.grid.z)};
  const std::uint64_t blocks = distinct.count();
  const auto iterations = static_cast<std::uint64_t>(loop.last - loop.first);
  const double evaluations = double(blocks) * double(launch.block.count()) * double(iterations);
  if (evaluations > double(most_evaluations)) {
    throw usage_error(
        "{:.3g} evaluations of the condition; at most {} are counted: use a smaller grid or a "
        "shorter loop",
        evaluations, format_count(most_evaluations));
  }
  const Counter counter(bound, launch, loop, warp_size);
  DivergenceCount total;
  std::mutex mutex;
  constexpr std::uint64_t chunk = 256;
  parallel_for((blocks + chunk - 1) / chunk, [&](std::size_t part) {
    DivergenceCount sum;
    for (std::uint64_t b = part * chunk; b < std::min(blocks, (part + 1) * chunk); ++b) {
      sum += counter.block(thread_at(b, distinct));
    }
    const std::lock_guard lock(mutex);
    total += sum;
  });
  return multiplied(total, launch.grid.count() / blocks);
}

DivergenceCount vector_bounds(std::int64_t count, int block, int warp_size) {
  require_positive(count, "a length");
  require_positive(block, "a block size");
  require_positive(warp_size, "a warp size");
  const std::int64_t full_blocks = count / block;
  const auto warps =
      static_cast<std::int64_t>(warps_per_block({static_cast<std::uint32_t>(block)}, warp_size));
  DivergenceCount total;
  total.blocks = static_cast<std::uint64_t>(full_blocks);
  total.warps = total.evaluations = total.all_true =
      static_cast<std::uint64_t>(full_blocks * warps);
  const std::int64_t rest = count - full_blocks * block;
  if (rest == 0) return total;
  ++total.blocks;
  for (std::int64_t first = 0; first < block; first += warp_size) {
    const std::int64_t threads = std::min<std::int64_t>(warp_size, block - first);
    const std::int64_t yes = std::clamp<std::int64_t>(rest - first, 0, threads);
    bool diverged = false;
    record(total, static_cast<std::uint64_t>(yes), static_cast<std::uint64_t>(threads), diverged);
    ++total.warps;
    total.divergent_warps += diverged ? 1 : 0;
  }
  return total;
}

DivergenceCount TileLoadDivergence::total() const {
  DivergenceCount sum = inside;
  return sum += edge;
}

TileLoadDivergence tile_load_divergence(Operand operand, std::int64_t m, std::int64_t n,
                                        std::int64_t k, int width, int warp_size) {
  require_positive(m, "a number of rows");
  require_positive(n, "a number of columns");
  require_positive(k, "an inner extent");
  require_positive(width, "a tile width");
  require_positive(warp_size, "a warp size");
  const std::int64_t threads = std::int64_t{width} * width;
  if (threads > static_cast<std::int64_t>(most_threads_per_block)) {
    throw usage_error("a tile width of {} means {} threads a block: no GPU takes more than {}",
                      width, format_count(threads), most_threads_per_block);
  }
  const auto tiles = [width](std::int64_t extent) { return (extent + width - 1) / width; };
  const bool is_a = operand == Operand::a;
  // Along `own` the block's position decides, along k the phase; blocks in the third direction are
  // equal.
  const std::int64_t own = is_a ? m : n;
  const std::int64_t alike = is_a ? tiles(n) : tiles(m);
  if (double(threads) * double(tiles(k)) * 2.0 > double(most_evaluations)) {
    throw usage_error("an inner extent of {} has too many phases to count", k);
  }
  const auto block = [&](std::int64_t position) {
    DivergenceCount count;
    count.blocks = 1;
    for (std::int64_t first = 0; first < threads; first += warp_size) {
      const std::int64_t last = std::min<std::int64_t>(threads, first + warp_size);
      bool diverged = false;
      for (std::int64_t phase = 0; phase < tiles(k); ++phase) {
        std::uint64_t yes = 0;
        for (std::int64_t t = first; t < last; ++t) {
          const std::int64_t tx = t % width, ty = t / width;
          const std::int64_t along_own = position * width + (is_a ? ty : tx);
          const std::int64_t along_k = phase * width + (is_a ? tx : ty);
          yes += along_own < own && along_k < k ? 1 : 0;
        }
        record(count, yes, static_cast<std::uint64_t>(last - first), diverged);
      }
      ++count.warps;
      count.divergent_warps += diverged ? 1 : 0;
    }
    return count;
  };
  TileLoadDivergence result;
  const std::int64_t whole = own / width;
  if (whole > 0) {
    result.inside = multiplied(block(0), static_cast<std::uint64_t>(whole * alike));
  }
  if (own % width != 0) result.edge = multiplied(block(whole), static_cast<std::uint64_t>(alike));
  return result;
}

}  // namespace tilescope::gpu
