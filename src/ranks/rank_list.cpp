#include "ranks/rank_list.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// The parts of all ranks on rank 0; elsewhere no sums.
std::vector<ReducedPart> gathered(const Group& all, const ReducedPart& mine) {
  const std::vector<PartHead> heads =
      all.gather(PartHead{mine.count, mine.sums.size(), mine.value, mine.integer});
  std::vector<ReducedPart> parts;
  for (const PartHead& head : heads) {
    parts.push_back({.count = head.count, .value = head.value, .integer = head.integer});
  }
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

}  // namespace

RankList::RankList(const Session& session, const ListFile& file, const std::string& device)
    : session_(session), all_(session.all()), of_host_(all_.split_by_host()), file_(file) {
  or_abort(session_, [&] {
    share_cores(of_host_);
    hosts_ = count_hosts(all_, of_host_);
    open(file);
    device_ = open_rank_device(session_, of_host_, device);
    share();
  });
}

// All ranks learn what rank 0 has, and look whether they have the same.
void RankList::open(const ListFile& file) {
  const bool compares = hosts_ > 1 && of_host_.rank() == 0;
  ListDescription mine;
  together(session_, [&] {
    if (!is_first() && !all_exist({file.path})) return;
    whole_ = file.open();
    mine = {whole_->type, whole_->count, compares ? digest_of(file.path) : 0};
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
  return distribute::equal_shares(static_cast<std::int64_t>(count_), all_.size(),
                                  operations::sum_section)[static_cast<std::size_t>(rank)];
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
  report_.variant = report.variant;
  all_.broadcast(report_.variant, from);
  report_.compute_ms += *std::max_element(all_ms.begin(), all_ms.end());
}

Reduced RankList::reduce(Reduction reduction) {
  return or_abort(session_, [&] {
    ReducedPart mine;
    RunReport report;
    together(session_, [&] {
      operations::require_reducible({type_, count_, nullptr}, reduction);
      mine = transfer::reduce_part(*device_, mine_,
                                   static_cast<std::size_t>(range_of(all_.rank()).first), reduction,
                                   stream(size_of(type_)), report);
    });
    add(report);
    const std::vector<ReducedPart> parts = gathered(all_, mine);
    const Reduced here = operations::combined(type_, reduction, parts);
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
    HistogramResult result;
    together(session_, [&] {
      result = transfer::histogram(*device_, mine_, bins, options, stream(size_of(type_)));
    });
    add(result.report);
    const std::size_t bytes = result.counts.size() * sizeof(std::uint64_t);
    if (!is_first()) all_.send(result.counts.data(), bytes, 0);
    std::vector<std::uint64_t> counts(result.counts.size());
    for (int rank = 1; is_first() && rank < all_.size(); ++rank) {
      all_.receive(counts.data(), bytes, rank);
      for (std::size_t bin = 0; bin < counts.size(); ++bin) result.counts[bin] += counts[bin];
    }
    return result;
  });
}

void RankList::saxpb(double a, double b, const SaxpbOptions& options, const std::string& path,
                     const NpyHeader& header) {
  or_abort(session_, [&] {
    std::optional<RankOutput> output;
    together(session_, [&] {
      if (is_first()) output.emplace(path, header);
    });
    std::optional<RankFile> file;
    file.emplace(all_, output ? &*output : nullptr);
    const ArrayView whole(type_, count_, file->elements());
    operations::HostArray unseen;
    RunReport report;
    together(session_, [&] {
      ArrayView y;
      if (file->is_written_by(all_.rank())) {
        y = operations::part(whole, static_cast<std::size_t>(range_of(all_.rank()).first),
                             mine_.count);
      } else {
        unseen = operations::HostArray(type_, mine_.count);
        y = {type_, unseen.count(), unseen.data()};
      }
      report = transfer::saxpb(*device_, a, mine_, b, y, options, stream(2 * size_of(type_)));
    });
    add(report);
    if (!file->is_written_by(all_.rank())) all_.send(unseen.data(), unseen.bytes(), 0);
    for (int rank = 1; is_first() && rank < all_.size(); ++rank) {
      if (file->is_written_by(rank)) continue;
      const distribute::Range range = range_of(rank);
      const ArrayView part = operations::part(whole, static_cast<std::size_t>(range.first),
                                              static_cast<std::size_t>(range.count));
      all_.receive(part.mutable_data(), part.bytes(), rank);
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

ListOutcome RankList::finish() {
  return or_abort(session_, [&] {
    together(session_, [&] {
      if (whole_) file_.require_unchanged();
    });
    report_.variant = fmt::format("{} on {} ranks", report_.variant, all_.size());
    return ListOutcome{report_, all_.size(), hosts_};
  });
}

}  // namespace tilescope::ranks
