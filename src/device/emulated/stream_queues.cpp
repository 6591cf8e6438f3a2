#include "device/emulated/stream_queues.hpp"

#include <tilescope/error.hpp>
#include <utility>
#include <vector>

#include "base/errors.hpp"

namespace tilescope::device {

const std::shared_ptr<StreamQueues::Queue>& StreamQueues::queue(std::uint64_t stream) {
  const auto found = queues_.find(stream);
  if (found != queues_.end()) return found->second;
  throw usage_error("this device has no stream {:#x}: name one that it created, or 0", stream);
}

std::shared_ptr<StreamQueues::Moment>& StreamQueues::moment_of(std::uint64_t event) {
  const auto found = events_.find(event);
  if (found != events_.end()) return found->second;
  throw usage_error("this device has no event {:#x}: name one that it created", event);
}

std::uint64_t StreamQueues::create() {
  queues_.emplace(next_, std::make_shared<Queue>());
  return next_++;
}

void StreamQueues::destroy(std::uint64_t stream) {
  const auto found = queues_.find(stream);
  if (found == queues_.end()) return;
  found->second->destroyed = true;
  if (found->second->items.empty()) queues_.erase(found);
}

std::uint64_t StreamQueues::create_event() {
  events_.emplace(next_, nullptr);
  return next_++;
}

void StreamQueues::destroy_event(std::uint64_t event) {
  events_.erase(event);
}

void StreamQueues::enqueue(std::uint64_t stream, Work work) {
  if (stream == 0) return work();
  queue(stream)->items.push_back({.work = std::move(work), .reach = {}, .awaits = {}});
}

void StreamQueues::record(std::uint64_t event, std::uint64_t stream) {
  auto moment = std::make_shared<Moment>();
  moment_of(event) = moment;
  if (stream == 0) return happen(*moment);
  moment->queue = queue(stream);
  queue(stream)->items.push_back({.work = {}, .reach = std::move(moment), .awaits = {}});
}

void StreamQueues::wait(std::uint64_t stream, std::uint64_t event) {
  const std::shared_ptr<Moment> moment = moment_of(event);
  if (!moment || moment->happened) return;
  if (stream == 0) return finish(*moment);
  queue(stream)->items.push_back({.work = {}, .reach = {}, .awaits = moment});
}

bool StreamQueues::finished(std::uint64_t event) {
  throw_pending();
  const std::shared_ptr<Moment> moment = moment_of(event);
  if (!moment || moment->happened) return true;
  advance(*moment);
  return moment->happened;
}

bool StreamQueues::stream_finished(std::uint64_t stream) {
  throw_pending();
  if (stream == 0) return true;
  const std::shared_ptr<Queue> asked = queue(stream);
  if (!asked->items.empty()) step(asked);
  return asked->items.empty();
}

void StreamQueues::finish_stream(std::uint64_t stream) {
  throw_pending();
  if (stream != 0) finish(queue(stream));
}

void StreamQueues::finish_event(std::uint64_t event) {
  throw_pending();
  const std::shared_ptr<Moment> moment = moment_of(event);
  if (moment) finish(*moment);
}

void StreamQueues::finish_all() {
  throw_pending();
  while (true) {
    auto last = queues_.rbegin();
    while (last != queues_.rend() && last->second->items.empty()) ++last;
    if (last == queues_.rend()) break;
    finish(std::shared_ptr<Queue>(last->second));
  }
  std::erase_if(queues_, [](const auto& entry) { return entry.second->destroyed; });
}

void StreamQueues::finish_all_quietly() noexcept {
  const std::exception_ptr before = std::exchange(pending_, nullptr);
  try {
    finish_all();
  } catch (...) {
    pending_ = std::current_exception();
  }
  if (before) pending_ = before;
}

double StreamQueues::elapsed_ms(std::uint64_t from, std::uint64_t to) {
  for (const std::uint64_t event : {from, to}) {
    if (!moment_of(event)) {
      throw Error(ErrorKind::usage, "an event that was never recorded has no time; record it");
    }
    finish_event(event);
  }
  return std::chrono::duration<double, std::milli>(moment_of(to)->time - moment_of(from)->time)
      .count();
}

void StreamQueues::step(const std::shared_ptr<Queue>& queue) {
  // A queue that waits is behind one whose work came earlier, so following the queues ends.
  std::shared_ptr<Queue> first = queue;
  while (first->items.front().awaits && !first->items.front().awaits->happened) {
    first = first->items.front().awaits->queue.lock();
  }
  const Item item = std::move(first->items.front());
  first->items.pop_front();
  if (item.reach) happen(*item.reach);
  if (!item.work) return;
  try {
    item.work();
  } catch (...) {
    drop_everything();
    throw;
  }
}

void StreamQueues::advance(const Moment& moment) {
  step(moment.queue.lock());
}

void StreamQueues::finish(const Moment& moment) {
  while (!moment.happened) advance(moment);
}

void StreamQueues::finish(const std::shared_ptr<Queue>& queue) {
  while (!queue->items.empty()) step(queue);
}

void StreamQueues::happen(Moment& moment) {
  moment.happened = true;
  moment.time = Clock::now();
}

void StreamQueues::drop_everything() {
  std::vector<Item> dropped;  // destroyed last: their contents may call back
  for (const auto& [id, queue] : queues_) {
    for (Item& item : queue->items) {
      if (item.reach) happen(*item.reach);
      dropped.push_back(std::move(item));
    }
    queue->items.clear();
  }
}

void StreamQueues::throw_pending() {
  if (!pending_) return;
  drop_everything();
  std::rethrow_exception(std::exchange(pending_, nullptr));
}

}  // namespace tilescope::device
