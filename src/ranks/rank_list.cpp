#include "ranks/rank_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "operations/histogram/histogram.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/reduction/reduction.hpp"
#include "ranks/agreement.hpp"
#include "ranks/rank_device.hpp"
#include "ranks/rank_files.hpp"
#include "ranks/rank_output.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope::ranks {
namespace {

using operations::ReducedPart;

/// A list as its file's head describes it, before any elements are read.
struct ListDescription {
  DataType type = DataType::float32;
  std::size_t count = 0;
  std::uint64_t digest = 0;
};

/// A ReducedPart without its sums.
struct PartHead {
  std::size_t count = 0, sums = 0;
  double value = 0.0;
  std::int64_t integer = 0;
};

PartHead head_of_part(const ReducedPart& part) {
  return {part.count, part.sums.size(), part.value, part.integer};
}
ReducedPart part_without_sums(const PartHead& head) {
  return {.count = head.count, .value = head.value, .integer = head.integer, .sums = {}};
}

/// The parts of all ranks on rank 0; elsewhere no sums.
std::vector<ReducedPart> gathered(const Group& all, const ReducedPart& mine) {
  const std::vector<PartHead> heads = all.gather(head_of_part(mine));
  std::vector<ReducedPart> parts;
  for (const PartHead& head : heads) parts.push_back(part_without_sums(head));
  const auto bytes = [](const std::vector<double>& sums) { return sums.size() * sizeof(double); };
  if (all.rank() != 0) {
    all.send(mine.sums.data(), bytes(mine.sums), 0);
    return parts;
  }
  parts.front().sums = mine.sums;
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    std::vector<double>& sums = parts[rank].sums;
    sums.resize(heads[rank].sums);
    all.receive(sums.data(), bytes(sums), static_cast<int>(rank));
  }
  return parts;
}

/// The parts that have elements.
io::PartialResults::Bytes bytes_of_parts(const std::vector<ReducedPart>& parts) {
  io::PartialResults::Bytes bytes;
  const auto add = [&](std::span<const std::byte> values) {
    bytes.insert(bytes.end(), values.begin(), values.end());
  };
  for (const ReducedPart& part : parts) {
    if (part.count == 0) continue;
    const PartHead head = head_of_part(part);
    add(std::as_bytes(std::span(&head, 1)));
    add(std::as_bytes(std::span(part.sums)));
  }
  return bytes;
}

/// Adds such parts to others. Returns false for bytes that are none.
bool add_parts(std::span<const std::byte> bytes, std::vector<ReducedPart>& parts) {
  const auto take = [&](void* values, std::size_t count) {
    if (bytes.size() < count) return false;
    if (count > 0) std::memcpy(values, bytes.data(), count);
    bytes = bytes.subspan(count);
    return true;
  };
  while (!bytes.empty()) {
    PartHead head;
    if (!take(&head, sizeof(head)) || head.sums > bytes.size() / sizeof(double)) return false;
    ReducedPart& part = parts.emplace_back(part_without_sums(head));
    part.sums.resize(head.sums);
    take(part.sums.data(), head.sums * sizeof(double));
  }
  return true;
}

}  // namespace

RankList::RankList(const Session& session, const ListFile& file, const std::string& device,
                   const ListResume& resume)
    : session_(session),
      all_(session.all()),
      of_host_(all_.split_by_host()),
      file_(file),
      resume_(resume) {
  or_abort(session_, [&] {
    share_cores(of_host_);
    hosts_ = count_hosts(all_, of_host_);
    open(file);
    device_ = open_rank_device(session_, of_host_, device);
    together(session_, [&] {
      if (is_first() && !resume_.file.empty()) kept_.emplace(resume_.file, purpose());
    });
  });
}

// All ranks learn what rank 0 has, and look whether they have the same.
void RankList::open(const ListFile& file) {
  const std::vector<char> comparing = comparing_ranks(all_, of_host_, hosts_, {file.path});
  const bool compares = comparing[static_cast<std::size_t>(all_.rank())] != 0;
  const bool is_asked = is_first() && std::count(comparing.begin(), comparing.end(), 1) > 0;
  ListDescription mine;
  together(session_, [&] {
    if (!is_first() && !all_exist({file.path})) return;
    whole_ = file.open();
    mine = {whole_->type, whole_->count, compares || is_asked ? digest_of(file.path) : 0};
  });
  ListDescription first = mine;
  all_.broadcast(&first, sizeof(first), 0).wait();
  type_ = first.type;
  count_ = first.count;
  together(session_, [&] {
    if (!whole_) return;
    const bool has_same = mine.type == first.type && mine.count == first.count &&
                          (!compares || mine.digest == first.digest);
    require_same(has_same, file.path, session_);
  });
}

std::string RankList::purpose() const {
  return fmt::format("{} of {} in bands of {}", resume_.purpose, named_state_of(file_.path),
                     resume_.band);
}

// They depend on the list, not on the ranks, so that other ranks can continue. Sections of sums
// stay together, and what is kept stays small.
std::vector<distribute::Range> RankList::bands() const {
  const auto count = static_cast<std::int64_t>(count_);
  if (!resume_.is_wanted) return {{0, count}};
  constexpr std::int64_t default_band = std::int64_t{1} << 28U, most_bands = 1000;
  constexpr auto section = static_cast<std::int64_t>(operations::sum_section);
  const std::int64_t least = std::max((count + most_bands - 1) / most_bands,
                                      resume_.band == 0 ? default_band : resume_.band);
  const std::int64_t band = (least + section - 1) / section * section;
  std::vector<distribute::Range> bands;
  for (std::int64_t first = 0; first < std::max<std::int64_t>(count, 1); first += band) {
    bands.push_back({first, std::min(band, count - first)});
  }
  return bands;
}

void RankList::enter(const distribute::Range& band) {
  if (is_shared_ && band == band_) return;
  band_ = band;
  is_shared_ = true;
  share();
}

// Rank 0 sends their parts to those that do not see the file.
void RankList::share() {
  const std::vector<char> sees = all_.gather(static_cast<char>(whole_.has_value()));
  const distribute::Range range = range_of(all_.rank());
  const auto part_of = [&](const distribute::Range& of) {
    return operations::part(*whole_, static_cast<std::size_t>(of.first),
                            static_cast<std::size_t>(of.count));
  };
  if (whole_) {
    mine_ = part_of(range);
  } else {
    received_ = operations::HostArray(type_, static_cast<std::size_t>(range.count));
    mine_ = received_.view();
    all_.receive(received_.data(), received_.bytes(), 0);
  }
  if (!is_first()) return;
  for (int rank = 1; rank < all_.size(); ++rank) {
    if (sees[static_cast<std::size_t>(rank)] != 0) continue;
    const ConstArrayView part = part_of(range_of(rank));
    all_.send(part.data, part.bytes(), rank);
  }
}

distribute::Range RankList::range_of(int rank) const {
  const distribute::Range part = distribute::equal_shares(
      band_.count, all_.size(), operations::sum_section)[static_cast<std::size_t>(rank)];
  return {band_.first + part.first, part.count};
}

transfer::StreamOptions RankList::stream(std::size_t bytes_each) const {
  const double bytes = static_cast<double>(mine_.count) * static_cast<double>(bytes_each);
  return {.device_bytes = transfer::memory_limit_of(*device_, bytes)};
}

// The variant is that of the first rank with elements, the time that of the slowest.
void RankList::add(const RunReport& report) {
  const std::vector<double> all_ms = all_.gather(report.compute_ms);
  const std::vector<char> has_part = all_.gather(static_cast<char>(mine_.count > 0));
  const auto found = std::find(has_part.begin(), has_part.end(), 1);
  const int from = found == has_part.end() ? 0 : static_cast<int>(found - has_part.begin());
  RunReport& all = outcome_.report;
  all.variant = report.variant;
  all_.broadcast(all.variant, from);
  all.compute_ms += *std::max_element(all_ms.begin(), all_ms.end());
}

/// Does the next step: `compute()` on all ranks for each band that no earlier run has kept, which
/// returns the band's result on rank 0, and there `take(result)` for all bands, in their order. It
/// returns whether the result is whole.
template <typename Compute, typename Take>
void RankList::each_band(const Compute& compute, const Take& take) {
  const std::size_t step = steps_++;
  const std::vector<distribute::Range> all = bands();
  std::size_t done = 0;
  together(session_, [&] {
    if (!kept_) return;
    for (const io::PartialResults::Bytes& result : kept_->of_step(step)) {
      if (done == all.size() || !take(result)) kept_->fail_damaged(step, done);
      ++done;
    }
  });
  all_.broadcast(&done, sizeof(done), 0).wait();
  outcome_.bands += static_cast<std::int64_t>(all.size());
  outcome_.bands_kept += static_cast<std::int64_t>(done);
  for (std::size_t band = done; band < all.size(); ++band) {
    enter(all[band]);
    const io::PartialResults::Bytes result = compute();
    if (is_first()) take(result);
    together(session_, [&] {
      if (kept_) kept_->keep(step, result);
    });
  }
}

Reduced RankList::reduce(Reduction reduction) {
  return or_abort(session_, [&] {
    together(session_, [&] { operations::require_reducible({type_, count_, nullptr}, reduction); });
    std::vector<ReducedPart> parts;
    each_band(
        [&] {
          ReducedPart mine;
          RunReport report;
          together(session_, [&] {
            mine = transfer::reduce_part(*device_, mine_,
                                         static_cast<std::size_t>(range_of(all_.rank()).first),
                                         reduction, stream(size_of(type_)), report);
          });
          add(report);
          return bytes_of_parts(gathered(all_, mine));
        },
        [&](const io::PartialResults::Bytes& result) { return add_parts(result, parts); });
    const Reduced here = is_first() ? operations::combined(type_, reduction, parts) : Reduced{};
    struct Value {
      DataType type;
      double real;
      std::int64_t integer;
    } value{here.type, here.real, here.integer};
    all_.broadcast(&value, sizeof(value), 0).wait();
    return Reduced{.type = value.type, .real = value.real, .integer = value.integer, .report = {}};
  });
}

HistogramResult RankList::histogram(const Bins& bins, const RunOptions& options) {
  return or_abort(session_, [&] {
    HistogramResult all;
    together(session_, [&] {
      const operations::Binning binning = operations::make_binning(type_, bins);
      all = {.counts = std::vector<std::uint64_t>(static_cast<std::size_t>(binning.bins)),
             .lower = binning.lower,
             .upper = binning.upper,
             .report = {}};
    });
    std::vector<std::uint64_t> counts(all.counts.size());
    const std::size_t bytes = counts.size() * sizeof(std::uint64_t);
    each_band(
        [&] {
          HistogramResult mine;
          together(session_, [&] {
            mine = transfer::histogram(*device_, mine_, bins, options, stream(size_of(type_)));
          });
          add(mine.report);
          if (!is_first()) all_.send(mine.counts.data(), bytes, 0);
          for (int rank = 1; is_first() && rank < all_.size(); ++rank) {
            all_.receive(counts.data(), bytes, rank);
            for (std::size_t bin = 0; bin < counts.size(); ++bin) mine.counts[bin] += counts[bin];
          }
          const auto result = std::as_bytes(std::span(mine.counts));
          return io::PartialResults::Bytes(result.begin(), result.end());
        },
        [&](const io::PartialResults::Bytes& result) {
          if (result.size() != bytes) return false;
          std::memcpy(counts.data(), result.data(), bytes);
          for (std::size_t bin = 0; bin < counts.size(); ++bin) all.counts[bin] += counts[bin];
          return true;
        });
    return all;
  });
}

void RankList::saxpb(double a, double b, const SaxpbOptions& options, const std::string& path,
                     const NpyHeader& header) {
  or_abort(session_, [&] {
    const std::vector<distribute::Range> all = bands();
    std::optional<RankOutput> output;
    together(session_, [&] {
      if (!is_first()) return;
      if (resume_.is_wanted && count_ > 0) {
        const char* by = device_->kind() == DeviceKind::cpu ? "CPUs" : "GPUs";
        output.emplace(path, header, fmt::format("{} by {}", purpose(), by),
                       static_cast<std::int64_t>(all.size()), "saxpb");
      } else {
        output.emplace(path, header);
      }
    });
    std::optional<RankFile> file;
    file.emplace(all_, output ? &*output : nullptr);
    const ArrayView whole(type_, count_, file->elements());
    outcome_.bands = static_cast<std::int64_t>(all.size());
    for (std::int64_t number = 0; number < outcome_.bands; ++number) {
      bool is_done = is_first() && output->is_done(number);
      all_.broadcast(&is_done, sizeof(is_done), 0).wait();
      if (is_done) {
        ++outcome_.bands_kept;
        continue;
      }
      enter(all[static_cast<std::size_t>(number)]);
      saxpb_band(a, b, options, *file, whole);
      together(session_, [&] {
        if (is_first()) output->mark_done(number);
      });
    }
    file.reset();
    together(session_, [&] {
      if (whole_) file_.require_unchanged();
    });
    together(session_, [&] {
      if (is_first()) output->commit();
    });
  });
}

// Each rank its part of `whole`. Afterwards, if bands are kept, all parts but those that rank 0
// writes are on disk.
void RankList::saxpb_band(double a, double b, const SaxpbOptions& options, RankFile& file,
                          const ArrayView& whole) {
  const bool writes = file.is_written_by(all_.rank());
  const auto part_of = [&](int rank) {
    const distribute::Range range = range_of(rank);
    return operations::part(whole, static_cast<std::size_t>(range.first),
                            static_cast<std::size_t>(range.count));
  };
  operations::HostArray unseen;
  RunReport report;
  together(session_, [&] {
    if (!writes) unseen = operations::HostArray(type_, mine_.count);
    const ArrayView y =
        writes ? part_of(all_.rank()) : ArrayView(type_, unseen.count(), unseen.data());
    report = transfer::saxpb(*device_, a, mine_, b, y, options, stream(2 * size_of(type_)));
    if (resume_.is_wanted && writes) file.flush();
  });
  add(report);
  if (!writes) all_.send(unseen.data(), unseen.bytes(), 0);
  for (int rank = 1; is_first() && rank < all_.size(); ++rank) {
    if (file.is_written_by(rank)) continue;
    const ArrayView part = part_of(rank);
    all_.receive(part.mutable_data(), part.bytes(), rank);
  }
}

ListOutcome RankList::finish() {
  return or_abort(session_, [&] {
    together(session_, [&] {
      if (whole_) file_.require_unchanged();
    });
    std::string& variant = outcome_.report.variant;
    if (variant.empty()) variant = "none (all was computed before)";
    variant = fmt::format("{} on {} rank{}", variant, all_.size(), all_.size() == 1 ? "" : "s");
    outcome_.ranks = all_.size();
    outcome_.hosts = hosts_;
    return outcome_;
  });
}

void RankList::forget() {
  if (kept_) kept_->remove();
}

}  // namespace tilescope::ranks
