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

#include "distribute/shares.hpp"
#include "operations/numerics/host_array.hpp"
#include "ranks/group.hpp"
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

/// How a list operation ran.
struct ListOutcome {
  RunReport report;  ///< compute_ms: of the slowest rank
  int ranks = 1, hosts = 1;
};

/// A list in a file, shared out over the ranks. All ranks make one and call its functions in the
/// same order. Where a machine does not see the file, rank 0 sends its ranks their parts; where it
/// sees another, all throw. No result depends on the number of ranks.
///
/// All throw the first rank's Error if any throws; other exceptions end all ranks.
class RankList {
 public:
  /// `device`: as open_rank_device() takes it.
  RankList(const Session& session, const ListFile& file, const std::string& device);

  DataType type() const { return type_; }
  std::size_t count() const { return count_; }
  DeviceKind device_kind() const { return device_->kind(); }

  /// As reduce_sharded(), on every rank; a sum of floats in the same fixed order.
  Reduced reduce(Reduction reduction);
  /// As histogram(). The counts are rank 0's.
  HistogramResult histogram(const Bins& bins, const RunOptions& options);
  /// As saxpb(), into the file `path`, which is complete or absent. Each rank writes its part where
  /// it sees the folder, else rank 0 does.
  void saxpb(double a, double b, const SaxpbOptions& options, const std::string& path,
             const NpyHeader& header);

  /// After the last operation: requires the file to be unchanged on every rank.
  ListOutcome finish();

 private:
  bool is_first() const { return all_.rank() == 0; }
  void open(const ListFile& file);
  void share();
  distribute::Range range_of(int rank) const;
  transfer::StreamOptions stream(std::size_t bytes_each) const;
  void add(const RunReport& report);

  const Session& session_;
  Group all_, of_host_;
  ListFile file_;
  std::shared_ptr<Device> device_;
  int hosts_ = 1;
  DataType type_ = DataType::float32;
  std::size_t count_ = 0;
  std::optional<ConstArrayView> whole_;  ///< where this machine sees the file
  operations::HostArray received_;
  ConstArrayView mine_;
  RunReport report_;
};

}  // namespace tilescope::ranks
