// Streams and events without a GPU: queues of work that is deferred as long as the rules allow.
// Work that a program has not waited for is not done. So a program that forgot to wait fails every
// time, not only sometimes as on a GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

namespace tilescope::device {

/// For one thread at a time. Stream 0 is the default stream, whose work is done at once; no other
/// stream waits for it, nor it for them, except through wait().
///
/// Work that throws discards all queued work; the exception is thrown by the call that made the
/// work run, or by the next finish...() if that call must not throw.
class StreamQueues {
 public:
  using Work = std::function<void()>;

  std::uint64_t create();
  /// The stream's queued work will still be done.
  void destroy(std::uint64_t stream);
  std::uint64_t create_event();
  void destroy_event(std::uint64_t event);

  void enqueue(std::uint64_t stream, Work work);
  /// Makes the event stand for everything queued in `stream` so far. An earlier record() is
  /// forgotten, except by streams that wait for it already.
  void record(std::uint64_t event, std::uint64_t stream);
  /// Work queued in `stream` from now on runs after the event's last record(), if there was one.
  void wait(std::uint64_t stream, std::uint64_t event);

  /// Whether the event has happened (one that was not recorded has). If not, does some of the work
  /// that it waits for, so that polling ends.
  bool finished(std::uint64_t event);
  /// The same for all work queued in the stream.
  bool stream_finished(std::uint64_t stream);
  void finish_stream(std::uint64_t stream);
  void finish_event(std::uint64_t event);
  /// Finishes the stream created last first.
  void finish_all();
  /// Like finish_all(); an exception waits for the next call that may throw.
  void finish_all_quietly() noexcept;

  /// Does the work of both. Throws Error(usage) for an event that was not recorded.
  double elapsed_ms(std::uint64_t from, std::uint64_t to);

 private:
  using Clock = std::chrono::steady_clock;
  struct Queue;
  /// One record() of an event.
  struct Moment {
    std::weak_ptr<Queue> queue;  ///< where it is queued, until it has happened
    bool happened = false;
    Clock::time_point time;
  };
  struct Item {
    Work work;                       ///< or
    std::shared_ptr<Moment> reach;   ///< a record(), or
    std::shared_ptr<Moment> awaits;  ///< a wait()
  };
  struct Queue {
    std::deque<Item> items;
    bool destroyed = false;
  };

  /// Both throw Error(usage) for handles that the device did not make.
  const std::shared_ptr<Queue>& queue(std::uint64_t stream);
  std::shared_ptr<Moment>& moment_of(std::uint64_t event);
  /// Does the first item, or an item that it waits for.
  void step(const std::shared_ptr<Queue>& queue);
  void advance(const Moment& moment);
  void finish(const Moment& moment);
  void finish(const std::shared_ptr<Queue>& queue);
  static void happen(Moment& moment);
  void drop_everything();
  void throw_pending();

  std::map<std::uint64_t, std::shared_ptr<Queue>> queues_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Moment>> events_;  ///< null: not recorded
  std::uint64_t next_ = 1;
  std::exception_ptr pending_;
};

}  // namespace tilescope::device
