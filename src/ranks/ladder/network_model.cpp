#include "ranks/ladder/network_model.hpp"

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>
#include <utility>

namespace tilescope::ranks {
namespace {

using Kind = Action::Kind;

/// A number for a block, as a key.
std::uint64_t key_of(const BlockName& block) {
  return (static_cast<std::uint64_t>(block.operand) << 32U) |
         (static_cast<std::uint64_t>(block.first) << 16U) | block.second;
}

/// One message between two ranks.
struct Message {
  int from = 0, to = 0;
  BlockName block;
  double duration = 0.0;
  bool is_sent = false, is_awaited = false;  ///< whether both ranks have said so
};

/// One link, in one direction.
struct Link {
  bool is_busy = false;
  double busy_s = 0.0;
  std::int64_t bytes = 0;
  std::deque<std::uint32_t> waiting;  ///< messages that found it busy
};

/// A block that a rank has received, or will.
struct Held {
  bool is_here = false;
  int sends = 0;                             ///< under way
  std::vector<std::uint32_t> waiting_sends;  ///< messages that begin when it is here
};

struct Rank {
  std::vector<Action> program;
  std::size_t next = 0;
  double now = 0.0, computed = 0.0;
  double until = 0.0;  ///< the end of the product that it computes
  bool computes = false, is_blocked = false;
  Link out, in;
  std::int64_t held = 0, most_held = 0;
  std::unordered_map<std::uint64_t, Held> blocks;
};

struct Event {
  double time = 0.0;
  std::uint64_t order = 0;  ///< of two at one time the first comes first
  enum class Kind : std::uint8_t { resume, arrive } kind = Kind::resume;
  std::uint32_t index = 0;  ///< of the rank, or of the message

  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

class Player {
 public:
  Player(DistributedRung rung, const Layout& layout, const NetworkModel& model,
         const BlockTime& block_time)
      : layout_(layout), model_(model), block_time_(block_time) {
    ranks_.resize(static_cast<std::size_t>(layout.ranks()));
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      Rank& rank = ranks_[i];
      rank.program = program_of(rung, layout, static_cast<int>(i));
      for (const BlockName& block : own_blocks(layout, static_cast<int>(i))) {
        rank.blocks[key_of(block)].is_here = true;
        rank.held += bytes_of(block);
      }
      const BlockName result = result_block(layout, static_cast<int>(i));
      rank.blocks[key_of(result)].is_here = true;
      rank.held += bytes_of(result);
      rank.most_held = rank.held;
      push(0.0, Event::Kind::resume, i);
    }
  }

  PlayedRung play() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      switch (event.kind) {
        case Event::Kind::resume:
          resume(static_cast<int>(event.index), event.time);
          break;
        case Event::Kind::arrive:
          arrive(event.index, event.time);
          break;
      }
    }
    return result();
  }

 private:
  std::int64_t bytes_of(const BlockName& block) const {
    return extents_of(layout_, block).elements() * model_.element_bytes;
  }
  Rank& rank(int index) { return ranks_[static_cast<std::size_t>(index)]; }

  void push(double time, Event::Kind kind, std::size_t index) {
    events_.push({time, order_++, kind, static_cast<std::uint32_t>(index)});
  }

  double product_time(const Action& action) const {
    const BlockExtents a = extents_of(layout_, action.block), b = extents_of(layout_, action.other);
    if (block_time_) return block_time_(a, b);
    return 2.0 * static_cast<double>(a.elements()) * static_cast<double>(b.columns.count) /
           model_.flops_per_second;
  }

  // Lets a rank act until it must wait.
  void resume(int index, double time) {
    Rank& mine = rank(index);
    if (mine.computes) {
      if (mine.until > time) {  // messages made it longer
        push(mine.until, Event::Kind::resume, static_cast<std::size_t>(index));
        return;
      }
      mine.computes = false;
      ++mine.next;
    }
    if (model_.core_moves) {
      serve(mine.out, time);
      serve(mine.in, time);
    }
    mine.is_blocked = false;
    mine.now = std::max(mine.now, time);
    while (mine.next < mine.program.size()) {
      const Action& action = mine.program[mine.next];
      if (action.kind == Kind::multiply) {
        const double duration = product_time(action);
        mine.computed += duration;
        mine.computes = true;
        mine.until = mine.now + duration;
        push(mine.until, Event::Kind::resume, static_cast<std::size_t>(index));
        return;
      }
      if (!act(index, action)) {
        mine.is_blocked = true;
        return;
      }
      ++mine.next;
    }
  }

  // Whether the action is done; else the rank waits.
  bool act(int index, const Action& action) {
    Rank& mine = rank(index);
    const std::uint64_t key = key_of(action.block);
    switch (action.kind) {
      case Kind::send: {
        Held& held = mine.blocks[key];
        ++held.sends;
        const std::uint32_t message = message_between(index, action.peer, action.block);
        if (held.is_here) {
          messages_[message].is_sent = true;
          ready(message, mine.now);
        } else {
          held.waiting_sends.push_back(message);
        }
        return true;
      }
      case Kind::receive: {
        // A rank's own sums and those that it receives have the same name.
        mine.blocks[key].is_here = false;
        mine.held += bytes_of(action.block);
        mine.most_held = std::max(mine.most_held, mine.held);
        const std::uint32_t message = message_between(action.peer, index, action.block);
        messages_[message].is_awaited = true;
        ready(message, mine.now);
        return true;
      }
      case Kind::wait:
        return mine.blocks[key].is_here;
      case Kind::hand_on:
        return mine.blocks[key].sends == 0;
      case Kind::drop:
        if (mine.blocks[key].sends > 0) return false;
        mine.held -= bytes_of(action.block);
        if (action.block.operand != Operand::c) mine.blocks.erase(key);
        return true;
      case Kind::multiply:
      case Kind::add:  // costs little beside the message
        return true;
    }
    return true;
  }

  // The message of a block, which the first of both ranks makes.
  std::uint32_t message_between(int from, int to, const BlockName& block) {
    const std::uint64_t pair = (static_cast<std::uint64_t>(from) << 11U | static_cast<unsigned>(to))
                                   << 34U |
                               key_of(block);
    const auto [found, is_new] =
        open_.try_emplace(pair, static_cast<std::uint32_t>(messages_.size()));
    const std::uint32_t number = found->second;
    if (is_new) {
      messages_.push_back({.from = from, .to = to, .block = block});
    } else {
      open_.erase(found);
    }
    return number;
  }

  void ready(std::uint32_t number, double time) {
    const Message& message = messages_[number];
    if (message.is_sent && message.is_awaited) start(number, time);
  }

  // Begins a message, or lets it wait for the first of its links that is busy.
  void start(std::uint32_t number, double time) {
    Message& message = messages_[number];
    Link &out = rank(message.from).out, &in = rank(message.to).in;
    const auto rests = [&](int index) { return !model_.core_moves || !rank(index).computes; };
    const bool can_send = !out.is_busy && rests(message.from);
    if (!can_send || in.is_busy || !rests(message.to)) {
      (can_send ? in : out).waiting.push_back(number);
      return;
    }
    const std::int64_t bytes = bytes_of(message.block);
    message.duration = model_.latency_s + static_cast<double>(bytes) / model_.bytes_per_second;
    for (Link* link : {&out, &in}) {
      link->is_busy = true;
      link->busy_s += message.duration;
      link->bytes += bytes;
    }
    push(time + message.duration, Event::Kind::arrive, number);
  }

  // Begins what waited for a link that is free again.
  void serve(Link& link, double time) {
    for (std::size_t left = link.waiting.size(); left > 0 && !link.is_busy; --left) {
      const std::uint32_t number = link.waiting.front();
      link.waiting.pop_front();
      start(number, time);
    }
  }

  void arrive(std::uint32_t number, double time) {
    const Message message = messages_[number];
    for (const int index : {message.from, message.to}) {
      Rank& mine = rank(index);
      if (model_.core_moves && mine.computes) mine.until += message.duration;
    }
    rank(message.from).out.is_busy = rank(message.to).in.is_busy = false;
    Held& sent = rank(message.from).blocks[key_of(message.block)];
    --sent.sends;
    Held& received = rank(message.to).blocks[key_of(message.block)];
    received.is_here = true;
    for (const std::uint32_t next : std::exchange(received.waiting_sends, {})) {
      messages_[next].is_sent = true;
      ready(next, time);
    }
    for (const int index : {message.from, message.to}) {
      if (rank(index).is_blocked) {
        push(time, Event::Kind::resume, static_cast<std::size_t>(index));
        rank(index).is_blocked = false;
      }
    }
    serve(rank(message.from).out, time);
    serve(rank(message.to).in, time);
  }

  PlayedRung result() const {
    PlayedRung played{.messages = static_cast<std::int64_t>(messages_.size())};
    for (const Rank& rank : ranks_) {
      played.time_s = std::max(played.time_s, rank.now);
      played.compute_s += rank.computed / static_cast<double>(ranks_.size());
      played.most_compute_s = std::max(played.most_compute_s, rank.computed);
      played.link_s = std::max({played.link_s, rank.in.busy_s, rank.out.busy_s});
      played.sent_bytes = std::max(played.sent_bytes, rank.out.bytes);
      played.received_bytes = std::max(played.received_bytes, rank.in.bytes);
      played.held_bytes = std::max(played.held_bytes, rank.most_held);
    }
    return played;
  }

  const Layout& layout_;
  const NetworkModel& model_;
  const BlockTime& block_time_;
  std::vector<Rank> ranks_;
  std::vector<Message> messages_;
  std::unordered_map<std::uint64_t, std::uint32_t> open_;  ///< that one of both ranks knows
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
};

}  // namespace

double PlayedRung::overlap() const {
  if (link_s <= 0.0) return 1.0;
  return std::clamp(1.0 - (time_s - most_compute_s) / link_s, 0.0, 1.0);
}

double PlayedRung::link_share(const NetworkModel& model) const {
  return time_s > 0.0 ? static_cast<double>(std::max(sent_bytes, received_bytes)) /
                            (model.bytes_per_second * time_s)
                      : 0.0;
}

PlayedRung play_rung(DistributedRung rung, const Layout& layout, const NetworkModel& model,
                     const BlockTime& block_time) {
  return Player(rung, layout, model, block_time).play();
}

}  // namespace tilescope::ranks
