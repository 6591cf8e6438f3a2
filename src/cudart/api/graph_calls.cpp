// Graphs as objects: nodes, the order between them, copies, executables.
#include <algorithm>

#include "cudart/graph/node_parameters.hpp"
#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

/// Answers as CUDA does for a list: its length, and if there is room the elements too.
template <typename T>
void answer(const std::vector<T>& found, T* elements, size_t* count) {
  require(count != nullptr, cudaErrorInvalidValue);
  if (elements != nullptr) {
    std::copy_n(found.begin(), std::min(*count, found.size()), elements);
    std::fill_n(elements + std::min(*count, found.size()), *count - std::min(*count, found.size()),
                T{});
  }
  *count = elements == nullptr ? found.size() : std::min(*count, found.size());
}

std::vector<cudaGraphNode_t> dependents_of(const CUgraphNode_st& node) {
  std::vector<cudaGraphNode_t> found;
  for (const auto& other : node.graph->nodes) {
    if (std::count(other->after.begin(), other->after.end(), &node) > 0) {
      found.push_back(other.get());
    }
  }
  return found;
}

void clear(cudaGraphEdgeData* edges, const size_t* count) {
  if (edges != nullptr && count != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
}

/// Gives the nodes of an executable the operations of a graph with the same nodes in the same
/// order.
cudaGraphExecUpdateResultInfo update(CUgraph_st& executable, const CUgraph_st& graph) {
  const auto failure = [](cudaGraphExecUpdateResult why, CUgraphNode_st* node) {
    return cudaGraphExecUpdateResultInfo{why, node, nullptr};
  };
  const auto count = [](const CUgraphNode_st& node) { return node.after.size(); };
  if (executable.nodes.size() != graph.nodes.size()) {
    return failure(cudaGraphExecUpdateErrorTopologyChanged, nullptr);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const CUgraphNode_st &old = *executable.nodes[i], &now = *graph.nodes[i];
    if (type_of(old) != type_of(now)) {
      return failure(cudaGraphExecUpdateErrorNodeTypeChanged, graph.nodes[i].get());
    }
    if (count(old) != count(now)) {
      return failure(cudaGraphExecUpdateErrorTopologyChanged, graph.nodes[i].get());
    }
  }
  const std::unique_ptr<CUgraph_st> copy = graph.clone();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    executable.nodes[i]->operation = std::move(copy->nodes[i]->operation);
    executable.nodes[i]->child = std::move(copy->nodes[i]->child);
    executable.nodes[i]->call = copy->nodes[i]->call;
  }
  return failure(cudaGraphExecUpdateSuccess, nullptr);
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return api_call("cudaGraphCreate", [&](Context& context) {
    require(graph != nullptr && flags == 0, cudaErrorInvalidValue);
    *graph = &context.graphs().create();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api_call("cudaGraphDestroy", [&](Context& context) {
    context.graphs().destroy(context.graphs().find(graph));
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return api_call("cudaGraphClone", [&](Context& context) {
    require(clone != nullptr, cudaErrorInvalidValue);
    *clone = &context.graphs().adopt(context.graphs().find(original).clone());
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original,
                                     cudaGraph_t clone) {
  return api_call("cudaGraphNodeFindInClone", [&](Context& context) {
    require(node != nullptr, cudaErrorInvalidValue);
    *node = &context.graphs().find(clone).copy_of(original);
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return api_call("cudaGraphNodeGetType", [&](Context&) {
    require(type != nullptr, cudaErrorInvalidValue);
    *type = type_of(node_of(node));
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api_call("cudaGraphGetNodes", [&](Context& context) {
    std::vector<cudaGraphNode_t> found;
    for (const auto& node : context.graphs().find(graph).nodes) found.push_back(node.get());
    answer(found, nodes, count);
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api_call("cudaGraphGetRootNodes", [&](Context& context) {
    std::vector<cudaGraphNode_t> found;
    for (const auto& node : context.graphs().find(graph).nodes) {
      if (node->after.empty()) found.push_back(node.get());
    }
    answer(found, nodes, count);
  });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count) {
  return api_call("cudaGraphGetEdges", [&](Context& context) {
    require(count != nullptr && (from == nullptr) == (to == nullptr), cudaErrorInvalidValue);
    std::vector<cudaGraphNode_t> starts, ends;
    for (const auto& node : context.graphs().find(graph).nodes) {
      for (CUgraphNode_st* before : node->after) {
        starts.push_back(before);
        ends.push_back(node.get());
      }
    }
    size_t room = *count;
    answer(starts, from, &room);
    clear(edges, &room);
    answer(ends, to, count);
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* edges, size_t* count) {
  return api_call("cudaGraphNodeGetDependencies", [&](Context&) {
    answer(node_of(node).after, nodes, count);
    clear(edges, nodes == nullptr ? nullptr : count);
  });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                           cudaGraphEdgeData* edges, size_t* count) {
  return api_call("cudaGraphNodeGetDependentNodes", [&](Context&) {
    answer(dependents_of(node_of(node)), nodes, count);
    clear(edges, nodes == nullptr ? nullptr : count);
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     size_t count) {
  return api_call("cudaGraphAddDependencies", [&](Context& context) {
    const CUgraph_st& graph = context.graphs().find(handle);
    require(count == 0 || (from != nullptr && to != nullptr), cudaErrorInvalidValue);
    for (size_t i = 0; i < count; ++i) {
      require(graph.holds(from[i]) && graph.holds(to[i]), cudaErrorInvalidValue);
      std::vector<CUgraphNode_st*>& after = to[i]->after;
      require(from[i] != to[i] && std::count(after.begin(), after.end(), from[i]) == 0,
              cudaErrorInvalidValue);
      after.push_back(from[i]);
    }
  });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                        size_t count) {
  return api_call("cudaGraphRemoveDependencies", [&](Context& context) {
    const CUgraph_st& graph = context.graphs().find(handle);
    require(count == 0 || (from != nullptr && to != nullptr), cudaErrorInvalidValue);
    for (size_t i = 0; i < count; ++i) {
      require(graph.holds(to[i]) && std::erase(to[i]->after, from[i]) > 0, cudaErrorInvalidValue);
    }
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return api_call("cudaGraphDestroyNode", [&](Context&) { node_of(node).graph->remove(*node); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return api_call("cudaGraphInstantiate", [&](Context& context) {
    require(executable != nullptr, cudaErrorInvalidValue);
    require((flags & cudaGraphInstantiateFlagDeviceLaunch) == 0, cudaErrorNotSupported);
    *executable = &context.graphs().instantiate(context.graphs().find(graph), flags);
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  return api_call("cudaGraphExecGetFlags", [&](Context& context) {
    require(flags != nullptr, cudaErrorInvalidValue);
    *flags = context.graphs().find(executable).flags;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return api_call("cudaGraphExecDestroy", [&](Context& context) {
    context.graphs().destroy(context.graphs().find(executable));
  });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned enabled) {
  return api_call("cudaGraphNodeSetEnabled", [&](Context& context) {
    context.graphs().find(executable).graph->copy_of(node).enabled = enabled != 0;
  });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned* enabled) {
  return api_call("cudaGraphNodeGetEnabled", [&](Context& context) {
    require(enabled != nullptr, cudaErrorInvalidValue);
    *enabled = context.graphs().find(executable).graph->copy_of(node).enabled ? 1 : 0;
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  return api_call("cudaGraphExecUpdate", [&](Context& context) {
    require(result != nullptr, cudaErrorInvalidValue);
    *result = update(*context.graphs().find(executable).graph, context.graphs().find(graph));
    return result->result == cudaGraphExecUpdateSuccess ? cudaSuccess
                                                        : cudaErrorGraphExecUpdateFailure;
  });
}
