#include "cudart/state/streams.hpp"

namespace tilescope::cudart {

Streams::Streams(Device& device) : device_(device) {
  set_up(legacy_, cudaStreamDefault, 0);
}

Streams::~Streams() = default;

void Streams::set_up(CUstream_st& stream, unsigned flags, int priority) {
  stream.work = device_.create_stream();
  stream.marker = device_.create_event();
  stream.flags = flags;
  stream.blocking = (flags & cudaStreamNonBlocking) == 0;
  stream.priority = priority;
  stream.id = next_id_++;
}

CUstream_st& Streams::create(unsigned flags, int priority) {
  auto made = std::make_unique<CUstream_st>();
  set_up(*made, flags, priority);
  CUstream_st& stream = *made;
  created_.emplace(&stream, std::move(made));
  return stream;
}

void Streams::destroy(CUstream_st& stream) {
  // The legacy stream still has to wait for the work that is queued here.
  if (stream.blocking && stream.operations > stream.joined) {
    device_.record(stream.marker, stream.work);
    device_.wait(legacy_.work, stream.marker);
  }
  require(created_.erase(&stream) == 1, cudaErrorInvalidResourceHandle);
}

CUstream_st& Streams::of_this_thread() {
  CUstream_st& stream = of_threads_[std::this_thread::get_id()];
  if (stream.id == 0) set_up(stream, cudaStreamDefault, 0);
  return stream;
}

CUstream_st& Streams::find(cudaStream_t handle, DefaultStream null_means) {
  if (handle == cudaStreamLegacy) return legacy_;
  if (handle == cudaStreamPerThread) return of_this_thread();
  if (handle == nullptr) {
    return null_means == DefaultStream::legacy ? legacy_ : of_this_thread();
  }
  const auto found = created_.find(handle);
  require(found != created_.end(), cudaErrorInvalidResourceHandle);
  return *found->second;
}

CUevent_st& Streams::create_event(unsigned flags) {
  auto made = std::make_unique<CUevent_st>();
  made->point = device_.create_event();
  made->flags = flags;
  CUevent_st& event = *made;
  events_.emplace(&event, std::move(made));
  return event;
}

void Streams::destroy(CUevent_st& event) {
  events_.erase(&event);
}

CUevent_st& Streams::find(cudaEvent_t handle) {
  const auto found = events_.find(handle);
  require(found != events_.end(), cudaErrorInvalidResourceHandle);
  return *found->second;
}

const Stream& Streams::next(CUstream_st& stream) {
  if (&stream == &legacy_) {
    const auto join = [&](CUstream_st& other) {
      if (!other.blocking || other.operations == other.joined) return;
      device_.record(other.marker, other.work);
      device_.wait(legacy_.work, other.marker);
      other.joined = other.operations;
    };
    for (auto& [thread, other] : of_threads_) join(other);
    for (auto& [handle, other] : created_) join(*other);
  } else if (stream.blocking && stream.legacy_seen < legacy_.operations) {
    device_.record(legacy_.marker, legacy_.work);
    device_.wait(stream.work, legacy_.marker);
    stream.legacy_seen = legacy_.operations;
  }
  ++stream.operations;
  return stream.work;
}

}  // namespace tilescope::cudart
