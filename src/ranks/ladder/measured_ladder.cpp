#include "ranks/ladder/measured_ladder.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <tuple>
#include <utility>

#include "operations/numerics/product_reference.hpp"
#include "ranks/agreement.hpp"
#include "ranks/ladder/program_run.hpp"

namespace tilescope::ranks {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds that `work` takes on each rank, which all begin together.
template <typename Work>
std::vector<double> timed(const Group& all, const Work& work) {
  all.gather(char{});  // a barrier
  const auto start = std::chrono::steady_clock::now();
  work();
  return all.gather(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

double slowest(const std::vector<double>& times) {
  return *std::max_element(times.begin(), times.end());
}
double mean(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

/// Seconds of a message when every rank sends to the next and receives from the one before.
double exchange_time(const Group& all, std::size_t bytes, int times) {
  const std::vector<std::byte> mine(bytes);
  std::vector<std::byte> other(bytes);
  const int next = (all.rank() + 1) % all.size(),
            before = (all.rank() + all.size() - 1) % all.size();
  std::vector<double> samples;
  for (int sample = 0; sample < 7; ++sample) {
    const std::vector<double> elapsed = timed(all, [&] {
      for (int i = 0; i < times; ++i) {
        Transfer received = all.begin_receive(other.data(), bytes, before, 0);
        Transfer sent = all.begin_send(mine.data(), bytes, next, 0);
        sent.wait();
        received.wait();
      }
    });
    samples.push_back(mean(elapsed) / times);
  }
  return median(samples);
}

/// Latency and rate of the links, of short and of long messages.
NetworkModel measured_links(const Group& all) {
  constexpr std::size_t few = 1024, many = std::size_t{2} << 20U;
  NetworkModel model{.core_moves = true};
  model.latency_s = exchange_time(all, few, 100);
  const double rest = exchange_time(all, many, 4) - model.latency_s;
  model.bytes_per_second = static_cast<double>(many) / std::max(rest, 1e-9);
  return model;
}

/// The rate at which all ranks multiply the first blocks of a rung at once.
double block_rate(const Group& all, DistributedRung rung, const Layout& layout) {
  const std::vector<Action> program = program_of(rung, layout, all.rank());
  // Where there are fewer rows than ranks the first blocks may be empty.
  const auto found = std::find_if(program.begin(), program.end(), [&](const Action& action) {
    return action.kind == Action::Kind::multiply &&
           extents_of(layout, action.block).elements() > 0 &&
           extents_of(layout, action.other).elements() > 0;
  });
  double flops = 0.0;
  std::vector<float> a, b, c;
  MatmulShape shape;
  if (found != program.end()) {
    const BlockExtents left = extents_of(layout, found->block),
                       right = extents_of(layout, found->other);
    shape = {left.rows.count, right.columns.count, left.columns.count};
    a.resize(static_cast<std::size_t>(left.elements()), 0.5F);
    b.resize(static_cast<std::size_t>(right.elements()), 0.5F);
    c.resize(static_cast<std::size_t>(shape.m * shape.n));
    flops = shape.flops();
  }
  constexpr double enough_flops = 2e8;
  const int times = static_cast<int>(std::clamp(enough_flops / std::max(flops, 1.0), 1.0, 50.0));
  std::vector<double> rates;
  for (int sample = 0; sample < 6; ++sample) {
    const double elapsed = mean(timed(all, [&] {
      for (int i = 0; i < times; ++i) add_block_product(shape, a.data(), b.data(), c.data(), [] {});
    }));
    if (sample > 0) rates.push_back(mean(all.gather(flops)) * times / std::max(elapsed, 1e-9));
  }
  return std::max(median(rates), 1.0);
}

MeasuredRung measure(const Session& session, DistributedRung rung, const MatmulShape& shape,
                     int samples, std::uint64_t seed, const NetworkModel& links) {
  const Group all = session.all();
  MeasuredRung result{.rung = rung, .layout = layout_of(rung, shape, all.size()), .model = links};
  MpiMessages messages(all);
  ProgramRun run(rung, result.layout, all.rank(), seed, messages);
  const auto execute = [&] {
    while (!run.act()) std::this_thread::yield();  // ranks may share cores
  };
  const auto all_right = [&] {
    const std::vector<char> right = all.gather(static_cast<char>(run.is_right()));
    return std::count(right.begin(), right.end(), 0) == 0;
  };
  execute();
  if (!all_right()) return result;
  result.model.flops_per_second = block_rate(all, rung, result.layout);
  std::vector<std::pair<double, double>> times;  // of the slowest rank, and the products
  for (int sample = 0; sample < samples; ++sample) {
    run.restart();
    const double elapsed = slowest(timed(all, execute));
    times.emplace_back(elapsed, mean(all.gather(run.compute_s())));
  }
  result.is_right = all_right();
  std::sort(times.begin(), times.end());
  std::tie(result.time_s, result.compute_s) = times[times.size() / 2];
  result.fastest_s = times.front().first;
  result.slowest_s = times.back().first;
  result.predicted = play_rung(rung, result.layout, result.model);
  return result;
}

}  // namespace

std::vector<MeasuredRung> measure_rungs(const Session& session, const MatmulShape& shape,
                                        const std::vector<DistributedRung>& rungs, int samples,
                                        std::uint64_t seed) {
  const Group all = session.all();
  share_cores(all.split_by_host());
  const NetworkModel links = measured_links(all);
  std::vector<MeasuredRung> results;
  for (const DistributedRung rung : rungs) {
    results.push_back(measure(session, rung, shape, samples, seed, links));
  }
  return results;
}

}  // namespace tilescope::ranks
