// Streams and events with CUDA's implicit order: work in the legacy default stream waits for all
// work before it in blocking streams, and work in those waits for the legacy stream's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "cudart/state/failure.hpp"
#include "tilescope/device.hpp"

namespace tilescope::cudart {
struct Capture;
}

/// The stream behind a cudaStream_t.
struct CUstream_st {
  tilescope::Stream work;
  tilescope::Event marker;  ///< recorded where another stream has to wait for this one
  bool blocking = true;     ///< in order with the legacy default stream
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  std::uint64_t operations = 0;   ///< so far
  std::uint64_t joined = 0;       ///< of these, what the legacy stream waits for
  std::uint64_t legacy_seen = 0;  ///< operations of the legacy stream that this one waits for
  std::map<cudaStreamAttrID, cudaStreamAttrValue> attributes;  ///< that were set
  std::shared_ptr<tilescope::cudart::Capture> capture;         ///< null unless it is being captured
};

/// The event behind a cudaEvent_t.
struct CUevent_st {
  tilescope::Event point;
  unsigned flags = 0;
  bool recorded = false;
  /// Recorded last while this was captured, behind these nodes.
  std::shared_ptr<tilescope::cudart::Capture> capture;
  std::vector<CUgraphNode_st*> captured_behind;
};

namespace tilescope::cudart {

/// The most bytes of memory that a stream may ask the cache to keep, as an H200 reports.
constexpr int most_window_bytes = 128 << 20;

/// The stream that a null handle means.
enum class DefaultStream : std::uint8_t { legacy, per_thread };

class Streams {
 public:
  explicit Streams(Device& device);
  ~Streams();

  CUstream_st& create(unsigned flags, int priority);
  /// Its queued work will still be done.
  void destroy(CUstream_st& stream);
  /// Throws cudaErrorInvalidResourceHandle if it is no stream.
  CUstream_st& find(cudaStream_t handle, DefaultStream null_means);

  CUevent_st& create_event(unsigned flags);
  void destroy(CUevent_st& event);
  CUevent_st& find(cudaEvent_t handle);

  /// Where to queue the next operation of `stream`, after the order with other streams is set.
  const Stream& next(CUstream_st& stream);
  CUstream_st& legacy() { return legacy_; }

 private:
  void set_up(CUstream_st& stream, unsigned flags, int priority);
  CUstream_st& of_this_thread();

  Device& device_;
  CUstream_st legacy_;
  std::map<std::thread::id, CUstream_st> of_threads_;
  std::map<cudaStream_t, std::unique_ptr<CUstream_st>> created_;
  std::map<cudaEvent_t, std::unique_ptr<CUevent_st>> events_;
  unsigned long long next_id_ = 1;
};

}  // namespace tilescope::cudart
