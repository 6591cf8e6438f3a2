// Operations on one list in a file, of which each rank takes a part.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tilescope/histogram.hpp>
#include <tilescope/npy.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/saxpb.hpp>
#include <vector>

#include "distribute/shares.hpp"
#include "io/partial_results.hpp"
#include "operations/numerics/host_array.hpp"
#include "ranks/group.hpp"
#include "ranks/rank_files.hpp"
#include "transfer/streamed.hpp"

namespace tilescope::ranks {

/// A file with a list, as one rank opens it.
struct ListFile {
  std::string path;
  /// The elements, which stay where they are. Throws Error(bad_input).
  std::function<ConstArrayView()> open;
  /// Throws Error(bad_input) if the file has changed since.
  std::function<void()> require_unchanged;
};

/// How operations on a list keep finished work on disk: the same calls continue from it after an
/// interruption, with any number of ranks.
struct ListResume {
  bool is_wanted = false;
  std::string file;       ///< keeps what reduce() and histogram() have computed; saxpb() keeps its
                          ///< bands beside its result
  std::string purpose;    ///< the operation and the options that its results depend on
  std::int64_t band = 0;  ///< elements that are computed and kept at a time; 0: 2^28
};

/// How a list operation ran.
struct ListOutcome {
  RunReport report;  ///< compute_ms: of the slowest rank
  int ranks = 1, hosts = 1;
  std::int64_t bands = 0, bands_kept = 0;  ///< all, and those that an earlier run had computed
};

/// A list in a file, shared out over the ranks. All ranks make one and call its functions in the
/// same order. Where a machine does not see the file, rank 0 sends its ranks their parts; where it
/// sees another, all throw. No result depends on the number of ranks.
///
/// All throw the first rank's Error if any throws; other exceptions end all ranks.
class RankList {
 public:
  /// `device`: as open_rank_device() takes it. Throws as PartialResults if `resume` has a file.
  RankList(const Session& session, const ListFile& file, const std::string& device,
           const ListResume& resume = {});

  DataType type() const { return type_; }
  std::size_t count() const { return count_; }
  DeviceKind device_kind() const { return device_->kind(); }
  /// Whether a later run can continue.
  bool is_kept() const { return resume_.is_wanted; }

  /// As reduce_sharded(), on every rank; a sum of floats in the same fixed order.
  Reduced reduce(Reduction reduction);
  /// As histogram(). The counts are rank 0's.
  HistogramResult histogram(const Bins& bins, const RunOptions& options);
  /// As saxpb(), into the file `path`, which is complete or absent. Each rank writes its part where
  /// it sees the folder, else rank 0 does. Throws as ResumableNpy where bands are kept.
  void saxpb(double a, double b, const SaxpbOptions& options, const std::string& path,
             const NpyHeader& header);

  /// After the last operation: requires the file to be unchanged on every rank.
  ListOutcome finish();
  /// Removes what is kept: the results are written or shown.
  void forget();

 private:
  bool is_first() const { return all_.rank() == 0; }
  void open(const ListFile& file);
  std::string purpose() const;
  std::vector<distribute::Range> bands() const;
  void enter(const distribute::Range& band);
  void share();
  distribute::Range range_of(int rank) const;
  template <typename Compute, typename Take>
  void each_band(const Compute& compute, const Take& take);
  transfer::StreamOptions stream(std::size_t bytes_each) const;
  void saxpb_band(double a, double b, const SaxpbOptions& options, RankFile& file,
                  const ArrayView& whole);
  void add(const RunReport& report);

  const Session& session_;
  Group all_, of_host_;
  ListFile file_;
  ListResume resume_;
  std::shared_ptr<Device> device_;
  int hosts_ = 1;
  DataType type_ = DataType::float32;
  std::size_t count_ = 0;
  std::optional<ConstArrayView> whole_;  ///< where this machine sees the file
  distribute::Range band_;               ///< of which each rank has a part
  bool is_shared_ = false;
  operations::HostArray received_;
  ConstArrayView mine_;
  std::optional<io::PartialResults> kept_;  ///< on rank 0
  std::size_t steps_ = 0;                   ///< that have begun
  ListOutcome outcome_;
};

}  // namespace tilescope::ranks
