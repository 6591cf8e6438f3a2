#include "operations/blur/blur.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/blur.hpp>
#include <tilescope/matrix.hpp>

#include "base/errors.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/moves.hpp"
#include "operations/rung/prepared_task.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task_operation.hpp"

namespace tilescope {
namespace operations {
namespace {

// Constants of the marching kernels.
constexpr int packed_threads = 128;
constexpr int packed_samples = 16;        // samples of a row for each thread
constexpr std::int64_t packed_rows = 64;  // the most a thread marches
constexpr int threads_per_sm = 512;       // enough to hide the latency of memory
constexpr int running_pixels = 8;         // pixels of each lane
constexpr int ring_threads = 128;
constexpr int ring_ahead = 1;                 // rows in flight
constexpr std::int64_t ring_samples = 480;    // samples of a row for each warp
constexpr int end_lanes = 64, end_rows = 16;  // threads of a block at the ends of the rows

Plan with_constants(std::vector<Step> steps, const BlurProblem& p) {
  for (Step& step : steps) {
    step.arguments.emplace_back(static_cast<std::int32_t>(p.width));
    step.arguments.emplace_back(static_cast<std::int32_t>(p.height));
  }
  Plan plan;
  plan.steps = std::move(steps);
  plan.defines = {define("RADIUS", p.radius), define("CHANNELS", p.channels)};
  return plan;
}

std::vector<Argument> in_to_out() {
  return {Memory::input(), Memory::output()};
}

// Blocks of (32, 8) threads over an area of `across` x `down`, in groups of 32 and `rows`.
Launch blocks_32_8(std::int64_t across, std::int64_t down, int rows) {
  Launch launch = flat_launch(groups_of(across, 32), 32);
  set_block_rows(launch, groups_of(down, rows));
  launch.block.y = 8;
  return launch;
}

Plan plain(const BlurProblem& p) {
  return with_constants({{.kernel = "blur",
                          .launch = blocks_32_8(p.width * p.channels, p.height, 8),
                          .arguments = in_to_out()}},
                        p);
}

Plan tiled(const BlurProblem& p) {
  Launch launch = blocks_32_8(p.width, p.height, 32);
  const auto side = static_cast<std::size_t>(32 + 2 * p.radius);
  launch.shared_bytes = side * side * static_cast<std::size_t>(p.channels);
  return with_constants({{.kernel = "blur", .launch = launch, .arguments = in_to_out()}}, p);
}

Plan separable(const BlurProblem& p) {
  const Launch launch = blocks_32_8(p.width * p.channels, p.height, 8);
  Plan plan = with_constants(
      {{.kernel = "blur_rows", .launch = launch, .arguments = {Memory::input(), Memory::scratch()}},
       {.kernel = "blur_columns",
        .launch = launch,
        .arguments = {Memory::scratch(), Memory::output()}}},
      p);
  plan.scratch = {sizeof(std::uint16_t) * static_cast<std::size_t>(p.width * p.channels) *
                  static_cast<std::size_t>(p.height)};
  return plan;
}

Plan running_sums(const BlurProblem& p) {
  const std::int64_t halo = groups_of(p.radius, 4) * 4;  // HALO of the kernel
  // Each strip first adds up 2 radius rows, so it must be much longer than that.
  const std::int64_t rows = std::max<std::int64_t>(64, std::int64_t{4} * p.radius);
  Launch launch = flat_launch(groups_of(p.width, 32 * running_pixels - 2 * halo), 32);
  set_block_rows(launch, groups_of(p.height, rows));
  Plan plan = with_constants({{.kernel = "blur", .launch = launch, .arguments = in_to_out()}}, p);
  plan.defines.push_back(define("PIXELS", running_pixels));
  plan.defines.push_back(define("ROWS", rows));
  plan.defines.push_back(define("ALIGNED", p.width * p.channels % 4 == 0));
  return plan;
}

int alignment_of(std::int64_t pitch) {
  return pitch % 16 == 0 ? 16 : pitch % 4 == 0 ? 4 : 1;
}

Plan packed(const BlurProblem& p, const DeviceProperties& device) {
  const std::int64_t pitch = p.width * p.channels;
  const std::int64_t across = groups_of(pitch, packed_samples);
  // Enough strips to fill the device once, within limits.
  const std::int64_t threads = std::int64_t{std::max(1, device.sm_count)} * threads_per_sm;
  const std::int64_t rows = std::clamp<std::int64_t>(across * p.height / threads, 8, packed_rows);
  Launch launch = flat_launch(groups_of(across, packed_threads), packed_threads);
  set_block_rows(launch, groups_of(p.height, rows));
  Plan plan = with_constants({{.kernel = "blur", .launch = launch, .arguments = in_to_out()}}, p);
  plan.defines.push_back(define("THREADS", packed_threads));
  plan.defines.push_back(define("ROWS", rows));
  plan.defines.push_back(define("ALIGNMENT", alignment_of(pitch)));
  return plan;
}

Plan ring(const BlurProblem& p) {
  const std::int64_t pitch = p.width * p.channels;
  // One round of the ring: longer strips would load fewer rows twice, but sweep memory worse.
  const std::int64_t rows = 2 * p.radius + 2 + ring_ahead;
  const std::int64_t blocks =
      groups_of(pitch, ring_samples) * groups_of(p.height, rows * (ring_threads / 32));
  const std::int64_t ends =
      groups_of(p.height, std::int64_t{end_rows} * (ring_threads / end_lanes));
  const Launch launch = flat_launch(ends + blocks, ring_threads);
  Plan plan = with_constants({{.kernel = "blur", .launch = launch, .arguments = in_to_out()}}, p);
  plan.defines.push_back(define("THREADS", ring_threads));
  plan.defines.push_back(define("ROWS", rows));
  plan.defines.push_back(define("AHEAD", ring_ahead));
  plan.defines.push_back(define("END_BLOCKS", ends));
  plan.defines.push_back(define("ALIGNMENT", alignment_of(pitch)));
  return plan;
}

bool fits_packed(const BlurProblem& p) {
  return p.radius <= 7 && p.radius * p.channels <= 8;
}

}  // namespace

Task blur_task(const ConstArrayView& in, const BlurProblem& p) {
  Task task{.operation = "blur",
            .inputs = {in},
            .output_type = DataType::uint8,
            .output_count = in.count,
            .best = fits_packed(p) ? "ring" : "running_sums"};
  task.compute = [=](void* output) {
    blur_on_cpu(static_cast<const std::uint8_t*>(in.data), static_cast<std::uint8_t*>(output), p);
  };
  task.rungs = {cpu_rung(),
                {.name = "plain",
                 .idea = "every thread reads its whole box",
                 .source = "blur/01_plain.cu",
                 .plan = [p](const DeviceProperties&) { return plain(p); }},
                {.name = "tiled",
                 .idea = "a tile and its halo in shared memory",
                 .source = "blur/02_tiled.cu",
                 .plan = [p](const DeviceProperties&) { return tiled(p); }},
                {.name = "separable",
                 .idea = "rows first, then columns",
                 .source = "blur/03_separable.cu",
                 .plan = [p](const DeviceProperties&) { return separable(p); }},
                {.name = "running_sums",
                 .idea = "warps march, windows from prefix sums",
                 .source = "blur/04_running_sums.cu",
                 .plan = [p](const DeviceProperties&) { return running_sums(p); }},
                {.name = "packed",
                 .idea = "two sums a register, no exchange",
                 .source = "blur/05_packed.cu",
                 .plan = [p](const DeviceProperties& device) { return packed(p, device); }},
                {.name = "ring",
                 .idea = "every sample loaded once, rows in registers",
                 .source = "blur/06_ring.cu",
                 .plan = [p](const DeviceProperties&) { return ring(p); }}};
  if (!fits_packed(p)) {
    for (Rung& rung : task.rungs) {
      if (rung.name != "packed" && rung.name != "ring") continue;
      rung.refusal = "for radii up to 7, and up to 2 with three samples a pixel";
    }
  }
  return task;
}

std::unique_ptr<Operation> make_blur(const ProblemOptions& options) {
  const Extents e = extents(options, 1024);
  const BlurProblem problem{
      .height = e.rows,
      .width = e.columns,
      .channels = static_cast<int>(option_in_range("--channels", options.channels, 1, 1, 3)),
      .radius =
          static_cast<int>(option_in_range("--radius", options.radius, 1, 0, most_blur_radius))};
  std::vector<HostArray> inputs;
  inputs.push_back(random_array(DataType::uint8,
                                static_cast<std::size_t>(e.rows * e.columns * problem.channels),
                                options.seed));
  const ConstArrayView in = inputs[0].view();
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = blur_task(in, problem),
      .size_text = fmt::format("of {} x {} pixels of {} sample{}, radius {}", e.rows, e.columns,
                               problem.channels, problem.channels == 1 ? "" : "s", problem.radius),
      .work = moving(in),
      .make_expected = [=]() -> std::unique_ptr<Expected> {
        // The tests compare this form with the definition, which takes minutes for a large radius.
        HostArray result(DataType::uint8, in.count);
        blur_on_cpu(static_cast<const std::uint8_t*>(in.data), result.as<std::uint8_t>().data(),
                    problem);
        return std::make_unique<ArrayExpected>(std::move(result));
      }});
}

}  // namespace operations

namespace {

void require_extents(std::int64_t height, std::int64_t width, int channels) {
  constexpr std::int64_t most_extent = std::int64_t{1} << 28U;
  if (height < 0 || width < 0 || height > most_extent || width > most_extent || channels < 1 ||
      channels > 4) {
    throw usage_error(
        "blur: {} x {} pixels of {} samples; up to 2^28 pixels a side and 1 to 4 samples", height,
        width, channels);
  }
}

/// The task of a call, checked.
operations::Task checked_blur(const std::uint8_t* in, const std::uint8_t* out, std::int64_t height,
                              std::int64_t width, int channels, const BlurOptions& options) {
  if (options.radius < 0 || options.radius > operations::most_blur_radius) {
    throw usage_error("blur: radius {}; from 0 to {}", options.radius,
                      operations::most_blur_radius);
  }
  require_extents(height, width, channels);
  const ConstArrayView from{DataType::uint8, static_cast<std::size_t>(height * width * channels),
                            in};
  const operations::BlurProblem problem{
      .height = height, .width = width, .channels = channels, .radius = options.radius};
  return operations::with_own_result(operations::blur_task(from, problem), out);
}

}  // namespace

RunReport blur(Device& device, const std::uint8_t* in, std::uint8_t* out, std::int64_t height,
               std::int64_t width, int channels, const BlurOptions& options) {
  return operations::run_task(device, checked_blur(in, out, height, width, channels, options),
                              options.variant, out);
}

RunReport blur(Device& device, std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
               std::int64_t height, std::int64_t width, int channels, const BlurOptions& options) {
  require_extents(height, width, channels);
  require_elements(in.size(), height, width * channels, "the picture");
  require_elements(out.size(), height, width * channels, "the result");
  return blur(device, in.data(), out.data(), height, width, channels, options);
}

PreparedOperation prepare_blur(Device& device, const std::uint8_t* in, std::uint8_t* out,
                               std::int64_t height, std::int64_t width, int channels,
                               const BlurOptions& options) {
  return operations::prepare_task(device, checked_blur(in, out, height, width, channels, options),
                                  options.variant, out);
}

}  // namespace tilescope
