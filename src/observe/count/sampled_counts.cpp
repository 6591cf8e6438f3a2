#include "observe/count/sampled_counts.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tilescope::observe {
namespace {

/// The quantile of Student's distribution that 2.5% exceed, by Cornish and Fisher's expansion, and
/// exact for one and two degrees of freedom, where that is not good enough.
double student_quantile(double degrees) {
  constexpr double z = 1.959964;
  if (degrees < 1.5) return 12.7062;
  if (degrees < 2.5) return 4.3027;
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

/// Adds `part`, a sum over `of.counted` blocks, to `sum` as that of all blocks of the stratum.
void add_scaled(std::uint64_t& sum, std::uint64_t part, const BlockPlan::Stratum& of) {
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = (Wide{part} * of.blocks + of.counted / 2) / of.counted;
  sum += static_cast<std::uint64_t>(scaled);
}

void add_scaled(SectorCounts& sum, const SectorCounts& part, const BlockPlan::Stratum& of) {
  add_scaled(sum.requests, part.requests, of);
  add_scaled(sum.sectors, part.sectors, of);
  add_scaled(sum.ideal_sectors, part.ideal_sectors, of);
}

void add_scaled(WavefrontCounts& sum, const WavefrontCounts& part, const BlockPlan::Stratum& of) {
  add_scaled(sum.requests, part.requests, of);
  add_scaled(sum.wavefronts, part.wavefronts, of);
  add_scaled(sum.ideal_wavefronts, part.ideal_wavefronts, of);
  sum.ways = std::max(sum.ways, part.ways);
}

void add_scaled(BulkCounts& sum, const BulkCounts& part, const BlockPlan::Stratum& of) {
  add_scaled(sum.requests, part.requests, of);
  add_scaled(sum.bytes, part.bytes, of);
  add_scaled(sum.sectors, part.sectors, of);
}

void add_scaled(UnitCounts& sum, const UnitCounts& part, const BlockPlan::Stratum& of) {
  add_scaled(sum.requests, part.requests, of);
  add_scaled(sum.sectors, part.sectors, of);
}

void add_scaled(Counts& sum, const Counts& part, const BlockPlan::Stratum& of) {
  for (SectorCounts Counts::*kind :
       {&Counts::global_load, &Counts::global_store, &Counts::global_atomic,
        &Counts::global_reduction, &Counts::local_load, &Counts::local_store}) {
    add_scaled(sum.*kind, part.*kind, of);
  }
  for (WavefrontCounts Counts::*kind : {&Counts::shared_load, &Counts::shared_store,
                                        &Counts::shared_atomic, &Counts::shared_async}) {
    add_scaled(sum.*kind, part.*kind, of);
  }
  for (BulkCounts Counts::*kind :
       {&Counts::bulk_load, &Counts::bulk_store, &Counts::bulk_reduction, &Counts::bulk_exchange}) {
    add_scaled(sum.*kind, part.*kind, of);
  }
  for (UnitCounts Counts::*kind :
       {&Counts::texture, &Counts::surface, &Counts::dshared_load, &Counts::dshared_store,
        &Counts::dshared_atomic, &Counts::dshared_async_reduction}) {
    add_scaled(sum.*kind, part.*kind, of);
  }
  add_scaled(sum.divergent_branches, part.divergent_branches, of);
}

}  // namespace

void SampledCounts::Moments::add(const Counts& counts) {
  const auto names = named_counts();
  sums.resize(names.size());
  squares.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t value = names[i].of(counts);
    sums[i] += value;
    squares[i] += uint128{value} * value;
  }
}

void SampledCounts::Moments::merge(const Moments& other) {
  sums.resize(std::max(sums.size(), other.sums.size()));
  squares.resize(sums.size());
  for (std::size_t i = 0; i < other.sums.size(); ++i) {
    sums[i] += other.sums[i];
    squares[i] += other.squares[i];
  }
}

SampledCounts::SampledCounts(const BlockPlan& plan, const PlaceTable& places)
    : plan_(plan), places_(places), strata_(plan.strata().size()) {}

void SampledCounts::add(std::uint64_t block, const BlockTally& tally) {
  OfStratum& of = strata_[plan_.stratum(block)];
  std::map<std::uint32_t, Counts> lines;
  Counts total;
  for (const auto& [instruction, counts] : tally) {
    of.sums[instruction] += counts;
    lines[places_.index(instruction)] += counts;
    total += counts;
  }
  for (const auto& [place, counts] : lines) of.lines[place].add(counts);
  of.totals.add(total);
}

void SampledCounts::merge(const SampledCounts& other) {
  for (std::size_t i = 0; i < strata_.size(); ++i) {
    const OfStratum& from = other.strata_[i];
    for (const auto& [instruction, counts] : from.sums) strata_[i].sums[instruction] += counts;
    for (const auto& [place, moments] : from.lines) strata_[i].lines[place].merge(moments);
    strata_[i].totals.merge(from.totals);
  }
}

Counts SampledCounts::estimate(emulator::InstructionId instruction) const {
  Counts sum;
  for (std::size_t i = 0; i < strata_.size(); ++i) {
    const auto part = strata_[i].sums.find(instruction);
    if (part != strata_[i].sums.end()) add_scaled(sum, part->second, plan_.strata()[i]);
  }
  return sum;
}

/// The variance of a stratified estimate, with Satterthwaite's degrees of freedom. A block without
/// an entry counts as zero.
template <typename MomentsOf>
Spreads SampledCounts::spread(MomentsOf&& moments_of) const {
  if (!plan_.is_random()) return {};
  const auto names = named_counts();
  Spreads spreads(names.size(), 0);
  for (std::size_t name = 0; name < names.size(); ++name) {
    if (names[name].name.ends_with("_ways")) continue;  // the worst, not a sum
    double variance = 0.0, fourth = 0.0;
    for (std::size_t i = 0; i < strata_.size(); ++i) {
      const Moments* const moments = moments_of(strata_[i]);
      const auto [blocks, counted] = plan_.strata()[i];
      if (moments == nullptr || moments->sums.empty() || counted == blocks) continue;
      const auto n = static_cast<double>(counted), all = static_cast<double>(blocks);
      const uint128 sum = moments->sums[name];
      // n * (sum of squares) - (sum)^2 is exact, and never negative.
      const auto deviations = static_cast<double>(moments->squares[name] * counted - sum * sum);
      const double of_stratum = all * (all - n) * deviations / (n * n * (n - 1));
      variance += of_stratum;
      fourth += of_stratum * of_stratum / (n - 1);
    }
    if (variance == 0.0) continue;
    const double half_width = student_quantile(variance * variance / fourth) * std::sqrt(variance);
    spreads[name] = static_cast<std::uint64_t>(std::ceil(half_width));
  }
  return spreads;
}

Spreads SampledCounts::spread_of_line(std::uint32_t place) const {
  return spread([place](const OfStratum& of) -> const Moments* {
    const auto line = of.lines.find(place);
    return line == of.lines.end() ? nullptr : &line->second;
  });
}

Spreads SampledCounts::spread_of_totals() const {
  return spread([](const OfStratum& of) { return &of.totals; });
}

}  // namespace tilescope::observe
