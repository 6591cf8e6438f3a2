// The programs of rank_program.hpp on real numbers, in float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "ranks/group.hpp"
#include "ranks/ladder/rank_program.hpp"

namespace tilescope::ranks {

/// How blocks get from rank to rank. Memory stays where it is until the message has ended.
class Messages {
 public:
  virtual ~Messages() = default;
  /// Begins a message and returns its number.
  virtual std::size_t send(int to, const BlockName& block, const float* data,
                           std::size_t count) = 0;
  virtual std::size_t receive(int from, const BlockName& block, float* data, std::size_t count) = 0;
  /// Moves messages on. Whether this one has ended.
  virtual bool has_ended(std::size_t message) = 0;
};

/// Messages by MPI.
class MpiMessages : public Messages {
 public:
  explicit MpiMessages(const Group& all) : all_(all) {}
  std::size_t send(int to, const BlockName& block, const float* data, std::size_t count) override;
  std::size_t receive(int from, const BlockName& block, float* data, std::size_t count) override;
  bool has_ended(std::size_t message) override;

 private:
  const Group& all_;
  std::vector<Transfer> transfers_;
};

/// C += A * B of dense row-major float32, some rows at a time; `between` is called after each.
void add_block_product(const MatmulShape& shape, const float* a, const float* b, float* c,
                       const std::function<void()>& between);

/// One rank's part of a product of random operands.
class ProgramRun {
 public:
  ProgramRun(DistributedRung rung, const Layout& layout, int rank, std::uint64_t seed,
             Messages& messages);

  /// Forgets what was computed, and begins anew.
  void restart();
  /// Acts until the program is done, or must wait for a message. Whether it is done.
  bool act();
  /// Whether the rank's sums are the product's: whether it ends with those of its block of C.
  bool has_result() const;
  /// Whether all sums are right, by the bound of float32 sums. Takes as long as the whole product
  /// of the block in float64.
  bool is_right() const;

  /// Seconds of products since the last restart.
  double compute_s() const { return compute_s_; }

 private:
  struct Block {
    BlockExtents extents;
    std::vector<float> values = {};
    bool is_here = false;
    std::size_t arrival = 0;              ///< the message by which it comes
    std::vector<int> waiting_sends = {};  ///< the ranks to which it goes on
    std::vector<std::size_t> sends = {};  ///< messages under way
  };

  void progress();
  bool has_sent(const Block& block) const;
  bool step(const Action& action);
  void send(const BlockName& name, Block& block, int peer);
  void multiply(const Block& a, const Block& b);
  static Block make(const BlockExtents& extents);

  const Layout& layout_;
  int rank_;
  std::uint64_t seed_;
  Messages& messages_;
  std::vector<Action> program_;
  std::size_t next_ = 0;
  std::map<BlockName, Block> blocks_;
  Block sums_;
  double compute_s_ = 0.0;
};

/// Runs the programs of all ranks in turns, in this process. Whether all results are right.
bool run_in_one_process(DistributedRung rung, const Layout& layout, std::uint64_t seed);

}  // namespace tilescope::ranks
