// Any operation over lists in host memory, in chunks: while one chunk is computed, the next is
// copied to the device and the previous one back.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <tilescope/array.hpp>
#include <tilescope/device.hpp>
#include <tilescope/run_report.hpp>
#include <vector>

#include "operations/rung/task.hpp"
#include "transfer/chunk_size.hpp"

namespace tilescope::transfer {

/// The work for every chunk, and the use of its result.
struct StreamedJob {
  /// Lists of one length. They may be mappings of files: a chunk is read when it is needed.
  std::vector<ConstArrayView> inputs;
  /// The operation for a range of elements of each input.
  std::function<operations::Task(const std::vector<ConstArrayView>& part)> task;
  /// Chunks are multiples of this many elements, if as many fit.
  std::size_t granularity = 1;
  /// Receives the result of elements [first, first + count). Called in the order of the chunks, by
  /// the thread that called run_streamed().
  std::function<void(std::size_t first, std::size_t count, const void* result)> take;
};

struct StreamOptions {
  /// The most bytes on the device at once; 0: the operation runs in one piece.
  std::size_t device_bytes = 0;
  /// Determines the size of chunks; measured if not given.
  std::optional<LinkModel> link;
  std::function<void(std::size_t elements)> progress;  ///< called with the number of finished
                                                       ///< elements
};

/// Most of the device's memory if `bytes` do not fit there, else 0 for no limit.
std::size_t memory_limit_of(const Device& device, double bytes);

/// The division of a job.
struct StreamedPlan {
  std::size_t chunk = 0;         ///< elements of each list
  std::size_t chunks = 0;        ///< the last may be shorter
  std::size_t device_bytes = 0;  ///< of all three sets: inputs, result, scratch memory
};

/// The plan of run_streamed(): best_chunk_bytes(), or less to stay within the limit. Throws
/// Error(usage) if not even one element fits, with the bytes needed, and for variants that are no
/// kernels.
StreamedPlan plan_streamed(Device& device, const StreamedJob& job, const std::string& variant,
                           const StreamOptions& options);

/// Runs a job on a device that runs kernels, by the rung `variant` (empty: the best), in three sets
/// of buffers with a stream each. `compute_ms` of the report is the time of everything, copies
/// included.
RunReport run_streamed(Device& device, const StreamedJob& job, const std::string& variant,
                       const StreamOptions& options);

/// memcpy on all cores.
void copy_bytes(void* to, const void* from, std::size_t bytes);

}  // namespace tilescope::transfer
