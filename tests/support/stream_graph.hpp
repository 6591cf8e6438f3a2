// A CUDA graph of the work that calls queue on a stream, for tests and measurements on a GPU.
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "device/cuda/driver.hpp"

namespace tilescope::testing {

/// The driver's functions for graphs, which the library itself does not need.
struct GraphFunctions {
  decltype(::cuStreamBeginCapture)* begin = nullptr;
  decltype(::cuStreamEndCapture)* end = nullptr;
  decltype(::cuGraphGetNodes)* nodes = nullptr;
  decltype(::cuGraphNodeGetType)* type = nullptr;
  decltype(::cuGraphInstantiateWithFlags)* instantiate = nullptr;
  decltype(::cuGraphLaunch)* launch = nullptr;
  decltype(::cuGraphExecDestroy)* destroy_executable = nullptr;
  decltype(::cuGraphDestroy)* destroy = nullptr;

  GraphFunctions() {
    const DynamicLibrary& driver = device::Driver::instance().shared_object;
    const bool all =
        driver.load("cuStreamBeginCapture_v2", begin) && driver.load("cuStreamEndCapture", end) &&
        driver.load("cuGraphGetNodes", nodes) && driver.load("cuGraphNodeGetType", type) &&
        driver.load("cuGraphInstantiateWithFlags", instantiate) &&
        driver.load("cuGraphLaunch", launch) &&
        driver.load("cuGraphExecDestroy", destroy_executable) &&
        driver.load("cuGraphDestroy", destroy);
    if (!all) throw std::runtime_error("the driver has no graphs");
  }
};

class StreamGraph {
 public:
  /// Captures what `queue` queues on `stream`. A call that allocates, waits or copies to pageable
  /// memory ends the capture with an error.
  template <typename Queue>
  StreamGraph(const Stream& stream, const Queue& queue) {
    const auto native = reinterpret_cast<CUstream>(stream.value());
    require(functions_.begin(native, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    queue();
    require(functions_.end(native, &graph_), "cuStreamEndCapture");
    require(functions_.instantiate(&executable_, graph_, 0), "cuGraphInstantiate");
  }
  ~StreamGraph() {
    functions_.destroy_executable(executable_);
    functions_.destroy(graph_);
  }
  StreamGraph(const StreamGraph&) = delete;
  StreamGraph& operator=(const StreamGraph&) = delete;

  void launch(const Stream& stream) const {
    require(functions_.launch(executable_, reinterpret_cast<CUstream>(stream.value())),
            "cuGraphLaunch");
  }

  /// The nodes of a type: kernels, fills, copies.
  int count(CUgraphNodeType type) const {
    std::size_t count = 0;
    require(functions_.nodes(graph_, nullptr, &count), "cuGraphGetNodes");
    std::vector<CUgraphNode> nodes(count);
    if (count > 0) require(functions_.nodes(graph_, nodes.data(), &count), "cuGraphGetNodes");
    int of_type = 0;
    for (CUgraphNode node : nodes) {
      CUgraphNodeType its = CU_GRAPH_NODE_TYPE_EMPTY;
      require(functions_.type(node, &its), "cuGraphNodeGetType");
      of_type += its == type;
    }
    return of_type;
  }

 private:
  static void require(CUresult result, const char* call) {
    device::Driver::instance().check(result, call);
  }

  GraphFunctions functions_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace tilescope::testing
