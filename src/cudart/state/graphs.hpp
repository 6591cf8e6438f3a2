// Graphs: operations with the order between them, to be launched again and again.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "cudart/state/failure.hpp"
#include "cudart/state/stream_operation.hpp"
#include "inspect/program/host_call.hpp"

struct CUgraph_st;

/// The node behind a cudaGraphNode_t.
struct CUgraphNode_st {
  CUgraph_st* graph = nullptr;
  tilescope::cudart::Operation operation;
  std::unique_ptr<CUgraph_st> child;   ///< of a node that is a graph; else null
  std::vector<CUgraphNode_st*> after;  ///< the nodes that it waits for
  bool enabled = true;
  const CUgraphNode_st* original = nullptr;  ///< of a node in a clone
  tilescope::inspect::HostCall call;         ///< that made it, for reports
  std::vector<void*> arguments;              ///< for cudaGraphKernelNodeGetParams
};

/// The graph behind a cudaGraph_t.
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;

  CUgraphNode_st& add(tilescope::cudart::Operation operation,
                      const std::vector<CUgraphNode_st*>& after);
  bool holds(const CUgraphNode_st* node) const;
  void remove(CUgraphNode_st& node);
  std::unique_ptr<CUgraph_st> clone() const;
  /// Each node behind those it waits for, else as they were added. Throws cudaErrorInvalidValue
  /// for a circle.
  std::vector<CUgraphNode_st*> in_order() const;
  /// The node whose original is `node`, or that is `node`, here or in a child. Throws
  /// cudaErrorInvalidValue.
  CUgraphNode_st& copy_of(const CUgraphNode_st* node) const;
};

/// The executable graph behind a cudaGraphExec_t.
struct CUgraphExec_st {
  std::unique_ptr<CUgraph_st> graph;  ///< a clone
  unsigned long long flags = 0;
};

namespace tilescope::cudart {

/// A capture from cudaStreamBeginCapture to cudaStreamEndCapture.
struct Capture {
  std::shared_ptr<CUgraph_st> graph;
  CUstream_st* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  unsigned long long id = 0;
  bool invalid = false;  ///< a call was made that cannot be captured
  /// The last nodes of each stream that takes part.
  std::map<CUstream_st*, std::vector<CUgraphNode_st*>> last;
};

/// The node that a handle names. Throws cudaErrorInvalidValue for null.
inline CUgraphNode_st& node_of(cudaGraphNode_t node) {
  require(node != nullptr, cudaErrorInvalidValue);
  return *node;
}

class Graphs {
 public:
  CUgraph_st& create();
  CUgraph_st& adopt(std::shared_ptr<CUgraph_st> graph);
  /// Throw cudaErrorInvalidValue for a handle that is none.
  CUgraph_st& find(cudaGraph_t handle);
  CUgraphExec_st& find(cudaGraphExec_t handle);
  void destroy(CUgraph_st& graph);

  CUgraphExec_st& instantiate(const CUgraph_st& graph, unsigned long long flags);
  void destroy(CUgraphExec_st& executable);

  /// The captures that have not ended.
  std::set<std::shared_ptr<Capture>>& captures() { return captures_; }
  unsigned long long next_capture() { return ++captures_begun_; }

 private:
  std::map<cudaGraph_t, std::shared_ptr<CUgraph_st>> graphs_;
  std::map<cudaGraphExec_t, std::unique_ptr<CUgraphExec_st>> executables_;
  std::set<std::shared_ptr<Capture>> captures_;
  unsigned long long captures_begun_ = 0;
};

}  // namespace tilescope::cudart
