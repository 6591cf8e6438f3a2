#include "operations/laplacian/laplacian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tilescope/laplacian.hpp>

#include "base/errors.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/elementwise/elementwise_plans.hpp"
#include "operations/elementwise/loops.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/prepared_task.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task_operation.hpp"

namespace tilescope {
namespace operations {
namespace {

// The march of a warp: the kernels' constants.
struct March {
  int threads = 128, rows = 64;
};
constexpr March one_step_march{.threads = 128, .rows = 4};
constexpr March temporal_march{.threads = 128, .rows = 128};
constexpr int temporal_steps = 8;  // for each launch
constexpr int warp_columns = 128;

// Strips of marching warps: `outputs` columns a warp, march.rows rows.
Launch strips(const LaplacianProblem& p, const March& march, std::int64_t outputs) {
  const std::int64_t warps = groups_of(p.columns, outputs);
  Launch launch = flat_launch(groups_of(warps, march.threads / 32), march.threads);
  set_block_rows(launch, groups_of(p.rows, march.rows));
  return launch;
}

Launch tiles_32_8(const LaplacianProblem& p) {
  Launch launch = flat_launch(groups_of(p.columns, 32), 32);
  set_block_rows(launch, groups_of(p.rows, 8));
  launch.block.y = 8;
  return launch;
}

// `launches` in a row, from one buffer to the other, the last of them to the output.
Plan chain(std::vector<Step> launches, const ConstArrayView& in, const LaplacianProblem& p) {
  Plan plan;
  const std::size_t count = launches.size();
  if (count > 1) plan.scratch = {in.bytes()};
  Memory from = Memory::input();
  for (std::size_t i = 0; i < count; ++i) {
    const Memory to = (count - 1 - i) % 2 == 0 ? Memory::output() : Memory::scratch();
    Step& step = launches[i];
    step.kernel = "laplacian";
    step.arguments = {from,
                      to,
                      static_cast<std::int32_t>(p.rows),
                      static_cast<std::int32_t>(p.columns),
                      element_argument(in.type, p.center),
                      element_argument(in.type, p.side)};
    plan.steps.push_back(std::move(step));
    from = to;
  }
  plan.defines = {{"ELEMENT", std::string(element_name(in.type))}};
  return plan;
}

Plan step_by_step(const ConstArrayView& in, const LaplacianProblem& p, const Step& step) {
  return chain(std::vector<Step>(static_cast<std::size_t>(p.iterations), step), in, p);
}

Plan temporal(const ConstArrayView& in, const LaplacianProblem& p) {
  std::vector<Step> launches;
  for (std::int64_t left = p.iterations; left > 0;) {
    const std::int64_t steps = std::min<std::int64_t>(left, temporal_steps);
    const std::int64_t halo = groups_of(steps, 4) * 4;  // HALO of the kernel
    launches.push_back({.launch = strips(p, temporal_march, warp_columns - 2 * halo),
                        .defines = {define("STEPS", steps)}});
    left -= steps;
  }
  Plan plan = chain(std::move(launches), in, p);
  plan.defines.push_back(define("THREADS", temporal_march.threads));
  plan.defines.push_back(define("ROWS", temporal_march.rows));
  plan.defines.push_back(define("ALIGNED", p.columns % 4 == 0));
  return plan;
}

// One step on all cores; T may be wider than the elements, for the reference.
template <typename T>
void step_on_cpu(const T* in, T* out, const LaplacianProblem& p) {
  const auto columns = static_cast<std::size_t>(p.columns);
  const auto rows = static_cast<std::size_t>(p.rows);
  const T center = static_cast<T>(p.center), side = static_cast<T>(p.side);
  const auto one_row = [&](std::size_t r) {
    const T* const middle = in + r * columns;
    const T* const north = r > 0 ? middle - columns : nullptr;
    const T* const south = r + 1 < rows ? middle + columns : nullptr;
    T* const to = out + r * columns;
    const auto cell = [&](std::size_t c, T west, T east) {
      const T vertical = (north ? north[c] : T{}) + (south ? south[c] : T{});
      to[c] = center * middle[c] + side * (vertical + (west + east));
    };
    if (columns == 1) return cell(0, T{}, T{});
    cell(0, T{}, middle[1]);
    if (north && south) {
      for (std::size_t c = 1; c + 1 < columns; ++c) {
        to[c] =
            center * middle[c] + side * ((north[c] + south[c]) + (middle[c - 1] + middle[c + 1]));
      }
    } else {
      for (std::size_t c = 1; c + 1 < columns; ++c) cell(c, middle[c - 1], middle[c + 1]);
    }
    cell(columns - 1, middle[columns - 2], T{});
  };
  // Pieces of rows large enough for a core; a small grid is one piece, and starts no threads.
  constexpr std::size_t cells = 1 << 14;
  for_chunks(
      rows,
      [&](std::size_t first, std::size_t end) {
        for (std::size_t r = first; r < end; ++r) one_row(r);
      },
      std::max<std::size_t>(1, cells / columns));
}

template <typename T>
void iterate_on_cpu(const T* in, T* out, const LaplacianProblem& p) {
  std::vector<T> other(p.iterations > 1 ? static_cast<std::size_t>(p.rows * p.columns) : 0);
  const T* from = in;
  for (std::int64_t i = 0; i < p.iterations; ++i) {
    T* const to = (p.iterations - 1 - i) % 2 == 0 ? out : other.data();
    step_on_cpu(from, to, p);
    from = to;
  }
}

// With |x| <= 1 no cell exceeds growth^i after i steps, growth = |center| + 4 |side|. A step rounds
// at most six times (three additions, two products, their sum) and multiplies the earlier error by
// growth: 6 u i growth^i after i steps, to first order; 1.01 for the rest. In float64 the reference
// errs as much.
std::unique_ptr<Expected> expected_steps(const ConstArrayView& in, LaplacianProblem p) {
  std::vector<double> wide(in.count);
  widen(in, 0, wide);
  HostArray result(DataType::float64, in.count);
  if (in.type == DataType::float32) {
    // The coefficients rounded as the kernels see them.
    p.center = static_cast<double>(static_cast<float>(p.center));
    p.side = static_cast<double>(static_cast<float>(p.side));
  }
  iterate_on_cpu(wide.data(), result.as<double>().data(), p);
  const double growth = std::abs(p.center) + 4.0 * std::abs(p.side);
  const auto steps = static_cast<double>(p.iterations);
  const double unit =
      in.type == DataType::float64 ? 2.0 * Rounding<double>::unit : Rounding<float>::unit;
  return std::make_unique<ArrayExpected>(std::move(result),
                                         1.01 * 6.0 * unit * steps * std::pow(growth, steps));
}

}  // namespace

Task laplacian_task(const ConstArrayView& in, const LaplacianProblem& problem) {
  Task task{.operation = "laplacian",
            .inputs = {in},
            .output_type = in.type,
            .output_count = in.count,
            .best = problem.iterations > 1 ? "temporal" : "marching"};
  task.compute = [=](void* output) {
    with_real(in.type, [&](auto zero) {
      using T = decltype(zero);
      iterate_on_cpu(static_cast<const T*>(in.data), static_cast<T*>(output), problem);
    });
  };
  task.rungs = {
      cpu_rung(),
      {.name = "plain",
       .idea = "a thread per cell, five loads",
       .source = "laplacian/01_plain.cu",
       .plan =
           [=](const DeviceProperties&) {
             return step_by_step(in, problem, {.launch = tiles_32_8(problem)});
           }},
      {.name = "tiled",
       .idea = "a tile and its halo in shared memory",
       .source = "laplacian/02_tiled.cu",
       .plan =
           [=](const DeviceProperties&) {
             return step_by_step(in, problem, {.launch = tiles_32_8(problem)});
           }},
      {.name = "marching",
       .idea = "warps march down, rows in registers",
       .source = "laplacian/03_marching.cu",
       .plan =
           [=](const DeviceProperties&) {
             const March& march = one_step_march;
             return step_by_step(
                 in, problem,
                 {.launch = strips(problem, march, warp_columns),
                  .defines = {define("THREADS", march.threads), define("ROWS", march.rows),
                              define("ALIGNED", problem.columns % 4 == 0)}});
           }},
      {.name = "temporal",
       .idea = "up to 8 steps for every load",
       .source = "laplacian/04_temporal.cu",
       .plan = [=](const DeviceProperties&) { return temporal(in, problem); }}};
  if (std::max(problem.rows, problem.columns) > std::numeric_limits<std::int32_t>::max() / 2) {
    for (Rung& rung : task.rungs) {
      if (rung.form == RungForm::kernel) rung.refusal = "extents beyond 2^30";
    }
  }
  return task;
}

std::unique_ptr<Operation> make_laplacian(const ProblemOptions& options) {
  const Extents e = extents(options, 1024);
  const DataType type =
      type_among("laplacian", options.type, {DataType::float32, DataType::float64});
  LaplacianProblem problem{
      .rows = e.rows,
      .columns = e.columns,
      .iterations = option_in_range("--iterations", options.iterations, 1, 1, 10'000)};
  if (problem.iterations > 1) {
    // The Laplacian itself grows by up to 8 a step; this step of diffusion does not.
    problem.center = problem.side = 0.2;
  }
  std::vector<HostArray> inputs;
  inputs.push_back(random_array(type, static_cast<std::size_t>(e.rows * e.columns), options.seed));
  const ConstArrayView in = inputs[0].view();
  constexpr double flops_of_a_step = 6.0;
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = laplacian_task(in, problem),
      .size_text = fmt::format("of {} x {} {}, {} step{}", e.rows, e.columns, name_of(type),
                               problem.iterations, problem.iterations == 1 ? "" : "s"),
      .work = {.flops = flops_of_a_step * static_cast<double>(in.count) *
                        static_cast<double>(problem.iterations),
               .bytes = 2.0 * static_cast<double>(in.bytes()),
               .memory_bound = true},
      .make_expected = [=] { return expected_steps(in, problem); }});
}

}  // namespace operations

namespace {

/// The task of a call, checked.
operations::Task checked_laplacian(const ConstMatrixView& in, const MatrixView& out,
                                   const LaplacianOptions& options) {
  const ConstArrayView from = operations::dense_elements(in, "the grid");
  const ConstArrayView to = operations::dense_elements(out, "the result");
  operations::require_real("laplacian", from);
  operations::require_like("laplacian", from, to);
  if (options.iterations < 1) {
    throw usage_error("laplacian: {} iterations; at least 1", options.iterations);
  }
  // The operation is the same along rows and columns: the order of storage does not matter.
  return operations::with_own_result(
      operations::laplacian_task(from, {.rows = in.vectors(),
                                        .columns = in.vector_length(),
                                        .iterations = options.iterations,
                                        .center = options.center,
                                        .side = options.side}),
      out.data);
}

}  // namespace

RunReport laplacian(Device& device, const ConstMatrixView& in, const MatrixView& out,
                    const LaplacianOptions& options) {
  return operations::run_task(device, checked_laplacian(in, out, options), options.variant,
                              out.mutable_data());
}

PreparedOperation prepare_laplacian(Device& device, const ConstMatrixView& in,
                                    const MatrixView& out, const LaplacianOptions& options) {
  return operations::prepare_task(device, checked_laplacian(in, out, options), options.variant,
                                  out.mutable_data());
}

}  // namespace tilescope
