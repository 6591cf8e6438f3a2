#include "ranks/ladder/program_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "operations/numerics/product_reference.hpp"

namespace tilescope::ranks {
namespace {

using Kind = Action::Kind;

/// An element of an operand: the same whichever rank makes it, in [-1, 1).
float element(Operand operand, std::int64_t row, std::int64_t column, std::uint64_t seed) {
  std::uint64_t state = seed + (static_cast<std::uint64_t>(operand) << 62U) +
                        (static_cast<std::uint64_t>(row) << 31U) +
                        static_cast<std::uint64_t>(column);
  state = (state ^ (state >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  state = (state ^ (state >> 27U)) * 0x94d049bb133111ebULL;
  state ^= state >> 31U;
  return static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
}

void fill(Operand operand, const BlockExtents& extents, std::uint64_t seed, float* values) {
  for (std::int64_t i = 0; i < extents.rows.count; ++i) {
    for (std::int64_t j = 0; j < extents.columns.count; ++j) {
      *values++ = element(operand, extents.rows.first + i, extents.columns.first + j, seed);
    }
  }
}

int tag_of(const BlockName& block) {
  constexpr int most_parts = 4096;
  return (static_cast<int>(block.first) * most_parts + block.second) * 3 +
         static_cast<int>(block.operand);
}

/// Messages between ranks that are all in this process.
class OwnMessages {
 public:
  using Key = std::tuple<int, int, BlockName>;

  struct Waiting {
    const float* from = nullptr;
    float* to = nullptr;
    std::size_t count = 0;
    std::optional<std::size_t> send, receive;  ///< numbers of messages
  };

  std::size_t send(int from, int to, const BlockName& block, const float* data, std::size_t count) {
    Waiting& waiting = waiting_[{from, to, block}];
    waiting.from = data;
    waiting.count = count;
    waiting.send = add();
    const std::size_t number = *waiting.send;
    match({from, to, block});
    return number;
  }
  std::size_t receive(int from, int to, const BlockName& block, float* data) {
    Waiting& waiting = waiting_[{from, to, block}];
    waiting.to = data;
    waiting.receive = add();
    const std::size_t number = *waiting.receive;
    match({from, to, block});
    return number;
  }
  bool has_ended(std::size_t message) const { return has_ended_[message]; }

 private:
  std::size_t add() {
    has_ended_.push_back(false);
    return has_ended_.size() - 1;
  }
  void match(const Key& key) {
    const Waiting waiting = waiting_[key];
    if (!waiting.send || !waiting.receive) return;
    std::copy_n(waiting.from, waiting.count, waiting.to);
    has_ended_[*waiting.send] = has_ended_[*waiting.receive] = true;
    waiting_.erase(key);
  }

  std::map<Key, Waiting> waiting_;
  std::vector<bool> has_ended_;
};

/// The same as one rank sees them.
class OwnMessagesOfRank : public Messages {
 public:
  OwnMessagesOfRank(OwnMessages& all, int rank) : all_(all), rank_(rank) {}
  std::size_t send(int to, const BlockName& block, const float* data, std::size_t count) override {
    return all_.send(rank_, to, block, data, count);
  }
  std::size_t receive(int from, const BlockName& block, float* data, std::size_t) override {
    return all_.receive(from, rank_, block, data);
  }
  bool has_ended(std::size_t message) override { return all_.has_ended(message); }

 private:
  OwnMessages& all_;
  int rank_;
};

}  // namespace

void add_block_product(const MatmulShape& shape, const float* a, const float* b, float* c,
                       const std::function<void()>& between) {
  if (shape.k == 0) return;
  constexpr std::int64_t edge = 512;
  const auto right = dense_view(static_cast<const void*>(b), DataType::float32, shape.k, shape.n);
  for (std::int64_t row = 0; row < shape.m; row += edge) {
    const std::int64_t rows = std::min(edge, shape.m - row);
    operations::blas_cells(
        dense_view(static_cast<const void*>(a + row * shape.k), DataType::float32, rows, shape.k),
        right, dense_view(static_cast<void*>(c + row * shape.n), DataType::float32, rows, shape.n),
        {edge, edge, shape.k}, nullptr, true);
    between();
  }
}

std::size_t MpiMessages::send(int to, const BlockName& block, const float* data,
                              std::size_t count) {
  transfers_.push_back(all_.begin_send(data, count * sizeof(float), to, tag_of(block)));
  return transfers_.size() - 1;
}

std::size_t MpiMessages::receive(int from, const BlockName& block, float* data, std::size_t count) {
  transfers_.push_back(all_.begin_receive(data, count * sizeof(float), from, tag_of(block)));
  return transfers_.size() - 1;
}

bool MpiMessages::has_ended(std::size_t message) {
  transfers_[message].progress();
  return transfers_[message].has_ended();
}

ProgramRun::ProgramRun(DistributedRung rung, const Layout& layout, int rank, std::uint64_t seed,
                       Messages& messages)
    : layout_(layout),
      rank_(rank),
      seed_(seed),
      messages_(messages),
      program_(program_of(rung, layout, rank)) {
  for (const BlockName& name : own_blocks(layout, rank)) {
    Block own = make(extents_of(layout, name));
    fill(name.operand, own.extents, seed, own.values.data());
    own.is_here = true;
    blocks_.emplace(name, std::move(own));
  }
  sums_ = make(extents_of(layout, result_block(layout, rank)));
  sums_.is_here = true;
  restart();
}

ProgramRun::Block ProgramRun::make(const BlockExtents& extents) {
  Block block{.extents = extents};
  block.values.resize(static_cast<std::size_t>(extents.elements()));
  return block;
}

void ProgramRun::restart() {
  next_ = 0;
  compute_s_ = 0.0;
  sums_.sends.clear();
  for (auto& [name, block] : blocks_) block.sends.clear();
  std::fill(sums_.values.begin(), sums_.values.end(), 0.0F);
}

// Sends what has arrived to those that wait for it.
void ProgramRun::progress() {
  for (auto& [name, block] : blocks_) {
    if (!block.is_here) {
      if (!messages_.has_ended(block.arrival)) continue;
      block.is_here = true;
    }
    for (const int peer : std::exchange(block.waiting_sends, {})) send(name, block, peer);
  }
}

void ProgramRun::send(const BlockName& name, Block& block, int peer) {
  if (!block.is_here) {
    block.waiting_sends.push_back(peer);
    return;
  }
  block.sends.push_back(messages_.send(peer, name, block.values.data(), block.values.size()));
}

bool ProgramRun::has_sent(const Block& block) const {
  return block.waiting_sends.empty() &&
         std::all_of(block.sends.begin(), block.sends.end(),
                     [&](std::size_t message) { return messages_.has_ended(message); });
}

bool ProgramRun::act() {
  for (; next_ < program_.size(); ++next_) {
    if (!step(program_[next_])) return false;
  }
  progress();
  if (!has_sent(sums_)) return false;
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [&](const auto& block) { return has_sent(block.second); });
}

bool ProgramRun::step(const Action& action) {
  switch (action.kind) {
    case Kind::send: {
      const bool is_sums = action.block.operand == Operand::c;
      send(action.block, is_sums ? sums_ : blocks_.at(action.block), action.peer);
      return true;
    }
    case Kind::receive: {
      Block& block = blocks_[action.block] = make(extents_of(layout_, action.block));
      block.arrival =
          messages_.receive(action.peer, action.block, block.values.data(), block.values.size());
      return true;
    }
    case Kind::wait:
      progress();
      return blocks_.at(action.block).is_here;
    case Kind::hand_on:
      progress();
      return has_sent(blocks_.at(action.block));
    case Kind::multiply:
      multiply(blocks_.at(action.block), blocks_.at(action.other));
      return true;
    case Kind::add: {
      const std::vector<float>& more = blocks_.at(action.block).values;
      std::transform(more.begin(), more.end(), sums_.values.begin(), sums_.values.begin(),
                     std::plus<>());
      return true;
    }
    case Kind::drop: {
      if (!has_sent(blocks_.at(action.block))) return false;
      blocks_.erase(action.block);
      return true;
    }
  }
  return true;
}

void ProgramRun::multiply(const Block& a, const Block& b) {
  const MatmulShape shape{sums_.extents.rows.count, sums_.extents.columns.count,
                          a.extents.columns.count};
  auto start = std::chrono::steady_clock::now();
  add_block_product(shape, a.values.data(), b.values.data(), sums_.values.data(), [&] {
    const auto now = std::chrono::steady_clock::now();
    compute_s_ += std::chrono::duration<double>(now - start).count();
    progress();
    start = std::chrono::steady_clock::now();
  });
}

bool ProgramRun::has_result() const {
  return rank_ < layout_.rows * layout_.columns;  // the others have given their sums away
}

bool ProgramRun::is_right() const {
  if (!has_result()) return true;
  const MatmulShape shape{sums_.extents.rows.count, sums_.extents.columns.count, layout_.shape.k};
  if (shape.m * shape.n == 0) return true;
  std::vector<float> a(static_cast<std::size_t>(shape.m * shape.k)),
      b(static_cast<std::size_t>(shape.k * shape.n));
  fill(Operand::a, {sums_.extents.rows, {0, shape.k}}, seed_, a.data());
  fill(Operand::b, {{0, shape.k}, sums_.extents.columns}, seed_, b.data());
  const operations::ExactProduct exact = operations::exact_product(shape, a.data(), b.data());
  const double bound = static_cast<double>(shape.k + layout_.layers) * 0x1p-24 * 1.01;
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    const double error = std::abs(static_cast<double>(sums_.values[i]) - exact.values[i]);
    if (!(error <= bound * exact.magnitudes[i])) return false;
  }
  return true;
}

bool run_in_one_process(DistributedRung rung, const Layout& layout, std::uint64_t seed) {
  OwnMessages all;
  std::vector<OwnMessagesOfRank> messages;
  for (int rank = 0; rank < layout.ranks(); ++rank) messages.emplace_back(all, rank);
  std::vector<std::unique_ptr<ProgramRun>> runs;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    runs.push_back(std::make_unique<ProgramRun>(rung, layout, rank, seed,
                                                messages[static_cast<std::size_t>(rank)]));
  }
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (const auto& run : runs) is_done = run->act() && is_done;
  }
  return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run->is_right(); });
}

}  // namespace tilescope::ranks
