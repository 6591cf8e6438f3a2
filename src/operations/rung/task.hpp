// The common form of the companion operations: arrays in, one array out, and a table of rungs that
// can do it. The library calls run one rung of a task; the ladder runs them all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>
#include <tilescope/run_report.hpp>
#include <vector>

#include "device/cuda/peers.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::operations {

enum class RungForm { cpu, kernel, peer };

/// One row of an operation's table, for one problem.
struct Rung {
  std::string_view name;  ///< as in VariantInfo, like the next two
  std::string_view idea;
  std::string_view source = {};
  RungForm form = RungForm::kernel;
  int least_compute = 0;               ///< 10 * major + minor of the oldest GPU it runs on
  bool in_place = false;               ///< finds its input in its output's memory
  std::optional<std::string> refusal;  ///< why it cannot do this problem
  std::function<Plan(const DeviceProperties&)> plan;  ///< for a kernel
  std::string_view peer = {};                         ///< the peer library's function
};

/// A problem of an operation. It refers to the inputs, which must outlive it.
struct Task {
  std::string_view operation;
  std::vector<ConstArrayView> inputs;
  DataType output_type = DataType::float32;
  std::size_t output_count = 0;
  std::vector<Rung> rungs;
  std::string_view best;  ///< the rung for a GPU by default
  /// The operation on all cores of the CPU; `output` has room for the result.
  std::function<void(void* output)> compute;
  device::PeerCall peer_call;  ///< arguments for a baseline library beside the arrays

  std::size_t output_bytes() const { return output_count * size_of(output_type); }
};

/// The row of the CPU in every task's table.
Rung cpu_rung();
/// The row of the vendor's library, the baseline: its function `peer`.
Rung peer_rung(std::string_view name, std::string_view peer);

/// An input's description for a baseline library: how many elements of which type.
device::PeerCall peer_call(const ConstArrayView& input);

/// The elements of a matrix as a list. Throws Error(usage) unless it is dense.
ConstArrayView dense_elements(const ConstMatrixView& matrix, const char* name);

/// Throws Error(usage) for an `output` that shares memory with one of `inputs`, or is null.
void require_own_result(const Task& task, std::span<const ConstArrayView> inputs,
                        const void* output);

/// The task of an operation that reads other elements than the one it writes. Throws Error(usage)
/// for an `output` that shares memory with an input.
Task with_own_result(Task task, const void* output);

/// Throws Error(usage), suggesting the nearest name, for an unknown rung.
const Rung& find_rung(const Task& task, std::string_view name);

/// Why the rung cannot do its problem on the device; nothing if it can.
std::optional<std::string> refusal(const Rung& rung, const Device& device);

/// The rung called `variant`; empty: the device's best. Throws Error(usage) for one that cannot run
/// there.
const Rung& rung_to_run(const Device& device, const Task& task, const std::string& variant);

/// Runs one rung of `task` (by its name; empty: the device's best) and copies the result to
/// `output`. Throws Error(usage) for a rung that cannot run there.
RunReport run_task(Device& device, const Task& task, const std::string& variant, void* output);

}  // namespace tilescope::operations
