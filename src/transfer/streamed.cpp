#include "transfer/streamed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <tilescope/pinned.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/parallel.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/rung/kernel_program.hpp"

namespace tilescope::transfer {
namespace {

using operations::KernelProgram;
using operations::Plan;
using operations::Rung;
using operations::Task;

// One set is filled, one computed, one emptied.
constexpr std::size_t set_count = 3;
// Chunks begin where pages, sectors and vector loads do, once they are long enough to matter.
constexpr std::size_t alignment = 1024;

std::size_t length_of(const StreamedJob& job) {
  return job.inputs.at(0).count;
}

std::vector<ConstArrayView> part_of(const StreamedJob& job, std::size_t first, std::size_t count) {
  std::vector<ConstArrayView> part;
  for (const ConstArrayView& input : job.inputs) {
    part.push_back(operations::part(input, first, count));
  }
  return part;
}

const Rung& rung_of(const Device& device, const Task& task, const std::string& variant) {
  const Rung& rung = find_rung(task, variant.empty() ? task.best : std::string_view(variant));
  std::optional<std::string> why = operations::refusal(rung, device);
  if (!why && rung.form != operations::RungForm::kernel) {
    why = "not a kernel, so it takes no device memory; drop --device-memory";
  }
  if (why) {
    throw usage_error("{}, variant {}: {}", task.operation, rung.name, *why);
  }
  return rung;
}

/// The job for a chunk of `count` elements.
struct ChunkJob {
  ChunkJob(const Device& device, const StreamedJob& job, const std::string& variant,
           std::size_t count)
      : task(job.task(part_of(job, 0, count))),
        rung(&rung_of(device, task, variant)),
        plan(rung->plan(device.properties())) {}

  /// Its bytes on the device.
  std::size_t bytes() const {
    std::size_t all = task.output_bytes();
    for (const std::size_t scratch : plan.scratch) all += scratch;
    if (rung->in_place) return all;
    for (const ConstArrayView& input : task.inputs) all += input.bytes();
    return all;
  }

  Task task;
  const Rung* rung;  ///< of `task`
  Plan plan;
};

/// `count`, or less, rounded to a good size of chunks.
std::size_t rounded(std::size_t count, std::size_t granularity) {
  for (const std::size_t unit : {granularity * alignment, granularity, alignment}) {
    if (count >= unit) return count / unit * unit;
  }
  return count;
}

class Streamed {
 public:
  Streamed(Device& device, const StreamedJob& job, const std::string& variant,
           const StreamedPlan& plan)
      : device_(device), job_(job), variant_(variant), chunk_(plan.chunk) {
    const ChunkJob whole(device, job, variant, chunk_);
    name_ = whole.rung->name;
    in_place_ = whole.rung->in_place;
    const std::size_t result_bytes = whole.task.output_bytes();
    for (Set& set : sets_) {
      set.stream = device.create_stream();
      set.done = device.create_event();
      for (const ConstArrayView& input : whole.task.inputs) {
        set.staged.emplace_back(device, input.bytes());
        if (!in_place_) set.inputs.push_back(device.allocate(input.bytes(), "input", Reach::own));
      }
      set.result = device.allocate(result_bytes, "output", Reach::own);
      set.staged_result = PinnedBuffer(device, result_bytes);
      for (const Buffer& input : set.inputs) set.addresses.push_back(input.address());
      if (in_place_) set.addresses.push_back(set.result.address());
    }
  }

  const std::string& name() const { return name_; }
  /// The reason if the host's buffers are not pinned; empty if they are.
  std::string pinning_note() const {
    for (const Set& set : sets_) {
      for (const PinnedBuffer& memory : set.staged) {
        if (!memory.pinned()) return memory.note();
      }
      if (!set.staged_result.pinned()) return set.staged_result.note();
    }
    return {};
  }

  void run(const StreamOptions& options) {
    const std::size_t count = length_of(job_);
    std::size_t turn = 0;
    for (std::size_t first = 0; first < count; first += chunk_, ++turn) {
      Set& set = sets_[turn % set_count];
      finish(set, options);
      start(set, first, std::min(chunk_, count - first));
    }
    for (std::size_t i = 0; i < set_count; ++i) finish(sets_[(turn + i) % set_count], options);
  }

 private:
  struct Set {
    Stream stream;
    Event done;
    std::vector<PinnedBuffer> staged;
    std::vector<Buffer> inputs;
    std::vector<DeviceAddress> addresses;
    Buffer result;
    PinnedBuffer staged_result;
    // Programs by the number of elements: whole chunks, and the last. Each set has scratch of its
    // own.
    std::map<std::size_t, std::unique_ptr<KernelProgram>> programs;
    std::size_t first = 0, count = 0;  ///< the chunk in this set; none if count is 0
    std::size_t result_bytes = 0;
  };

  const KernelProgram& program(Set& set, std::size_t count) {
    std::unique_ptr<KernelProgram>& program = set.programs[count];
    if (!program) {
      ChunkJob piece(device_, job_, variant_, count);
      program = std::make_unique<KernelProgram>(device_, piece.rung->source, std::move(piece.plan));
      device_.synchronize();  // its scratch memory is zeroed in the default stream
    }
    return *program;
  }

  void start(Set& set, std::size_t first, std::size_t count) {
    const KernelProgram& kernels = program(set, count);
    const std::vector<ConstArrayView> part = part_of(job_, first, count);
    for (std::size_t i = 0; i < part.size(); ++i) {
      copy_bytes(set.staged[i].data(), part[i].data, part[i].bytes());
      device_.copy_to_device(set.addresses[i], set.staged[i].data(), part[i].bytes(), set.stream);
    }
    kernels.run(set.addresses, set.result.address(), set.stream);
    set.result_bytes = job_.task(part).output_bytes();
    device_.copy_to_host(set.staged_result.data(), set.result.address(), set.result_bytes,
                         set.stream);
    device_.record(set.done, set.stream);
    set.first = first;
    set.count = count;
  }

  void finish(Set& set, const StreamOptions& options) {
    if (set.count == 0) return;
    device_.synchronize(set.done);
    job_.take(set.first, set.count, set.staged_result.data());
    if (options.progress) options.progress(set.first + set.count);
    set.count = 0;
  }

  Device& device_;
  const StreamedJob& job_;
  const std::string& variant_;
  std::size_t chunk_;
  std::string name_;
  bool in_place_ = false;
  std::array<Set, set_count> sets_;
};

}  // namespace

std::size_t memory_limit_of(const Device& device, double bytes) {
  // Leaves room for the context, other processes, padding and scratch memory.
  const double room = 0.85 * static_cast<double>(device.properties().global_bytes);
  return bytes > room ? static_cast<std::size_t>(room) : 0;
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t piece = std::size_t{1} << 20U;
  parallel_for((bytes + piece - 1) / piece, [&](std::size_t i) {
    const std::size_t first = i * piece;
    std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                std::min(piece, bytes - first));
  });
}

StreamedPlan plan_streamed(Device& device, const StreamedJob& job, const std::string& variant,
                           const StreamOptions& options) {
  const std::size_t count = length_of(job);
  StreamedPlan plan;
  if (count == 0) return plan;
  std::size_t element_bytes = 0;
  for (const ConstArrayView& input : job.inputs) element_bytes += size_of(input.type);
  const std::size_t limit = options.device_bytes;
  LinkModel link;
  if (options.link) {
    link = *options.link;
  } else if (limit >= link_probe_bytes) {  // else the limit decides
    link = measure_link_model(device);
  }
  const double all = static_cast<double>(count) * static_cast<double>(element_bytes);
  const std::size_t best =
      best_chunk_bytes(link, all, static_cast<int>(job.inputs.size())) / element_bytes;
  const auto bytes = [&](std::size_t elements) {
    return set_count * ChunkJob(device, job, variant, elements).bytes();
  };
  if (const std::size_t least = bytes(1); least > limit) {
    throw usage_error(
        "a device-memory limit of {} is below the {} that chunks of one element take; raise the "
        "limit",
        format_bytes(limit), format_bytes(least));
  }
  // The largest chunk that fits: its bytes grow with its size.
  std::size_t low = 1, high = std::clamp<std::size_t>(best, 1, count);
  while (low < high) {
    const std::size_t middle = low + (high - low + 1) / 2;
    if (bytes(middle) <= limit) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  plan.chunk = low == count ? count : rounded(low, job.granularity);
  if (bytes(plan.chunk) > limit) plan.chunk = low;  // scratch memory: fewer elements, more blocks
  plan.chunks = (count + plan.chunk - 1) / plan.chunk;
  plan.device_bytes = bytes(plan.chunk);
  return plan;
}

RunReport run_streamed(Device& device, const StreamedJob& job, const std::string& variant,
                       const StreamOptions& options) {
  const StreamedPlan plan = plan_streamed(device, job, variant, options);
  if (plan.chunks == 0) return {.variant = "none (nothing to compute)", .compute_ms = 0.0};
  Streamed run(device, job, variant, plan);
  const auto start = std::chrono::steady_clock::now();
  run.run(options);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  const std::string note = run.pinning_note();
  return {.variant = fmt::format("{} in {} chunk{}{}", run.name(), plan.chunks,
                                 plan.chunks == 1 ? "" : "s",
                                 note.empty() ? "" : fmt::format(" (not pinned: {})", note)),
          .compute_ms = elapsed.count()};
}

}  // namespace tilescope::transfer
