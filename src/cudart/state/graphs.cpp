#include "cudart/state/graphs.hpp"

#include <algorithm>

using tilescope::cudart::require;

CUgraphNode_st& CUgraph_st::add(tilescope::cudart::Operation operation,
                                const std::vector<CUgraphNode_st*>& after) {
  for (const CUgraphNode_st* node : after) {
    require(node != nullptr && node->graph == this, cudaErrorInvalidValue);
  }
  auto node = std::make_unique<CUgraphNode_st>();
  node->graph = this;
  node->operation = std::move(operation);
  node->after = after;
  nodes.push_back(std::move(node));
  return *nodes.back();
}

bool CUgraph_st::holds(const CUgraphNode_st* node) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const auto& owned) { return owned.get() == node; });
}

void CUgraph_st::remove(CUgraphNode_st& node) {
  for (const auto& other : nodes) std::erase(other->after, &node);
  std::erase_if(nodes, [&](const auto& owned) { return owned.get() == &node; });
}

std::unique_ptr<CUgraph_st> CUgraph_st::clone() const {
  auto copy = std::make_unique<CUgraph_st>();
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  for (const auto& node : nodes) {
    CUgraphNode_st& made = copy->add(node->operation, {});
    if (node->child) made.child = node->child->clone();
    made.enabled = node->enabled;
    made.original = node.get();
    made.call = node->call;
    copies[node.get()] = &made;
  }
  for (const auto& node : nodes) {
    for (const CUgraphNode_st* before : node->after) {
      copies[node.get()]->after.push_back(copies[before]);
    }
  }
  return copy;
}

std::vector<CUgraphNode_st*> CUgraph_st::in_order() const {
  std::map<const CUgraphNode_st*, std::size_t> waits;
  std::map<const CUgraphNode_st*, std::vector<CUgraphNode_st*>> dependents;
  std::vector<CUgraphNode_st*> order;
  for (const auto& node : nodes) {
    waits[node.get()] = node->after.size();
    for (const CUgraphNode_st* before : node->after) dependents[before].push_back(node.get());
    if (node->after.empty()) order.push_back(node.get());
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    for (CUgraphNode_st* next : dependents[order[done]]) {
      if (--waits[next] == 0) order.push_back(next);
    }
  }
  require(order.size() == nodes.size(), cudaErrorInvalidValue);
  return order;
}

CUgraphNode_st& CUgraph_st::copy_of(const CUgraphNode_st* node) const {
  for (const auto& copy : nodes) {
    if (copy->original == node || copy.get() == node) return *copy;
  }
  throw tilescope::cudart::Failure{cudaErrorInvalidValue};
}

namespace tilescope::cudart {

CUgraph_st& Graphs::create() {
  return adopt(std::make_shared<CUgraph_st>());
}

CUgraph_st& Graphs::adopt(std::shared_ptr<CUgraph_st> graph) {
  CUgraph_st& adopted = *graph;
  graphs_.emplace(&adopted, std::move(graph));
  return adopted;
}

CUgraph_st& Graphs::find(cudaGraph_t handle) {
  if (graphs_.contains(handle)) return *handle;
  // The graph of a child node is its parent's.
  for (const auto& [parent, graph] : graphs_) {
    for (const auto& node : graph->nodes) {
      if (node->child && node->child.get() == handle) return *handle;
    }
  }
  throw Failure{cudaErrorInvalidValue};
}

CUgraphExec_st& Graphs::find(cudaGraphExec_t handle) {
  require(executables_.contains(handle), cudaErrorInvalidValue);
  return *handle;
}

void Graphs::destroy(CUgraph_st& graph) {
  require(graphs_.erase(&graph) == 1, cudaErrorInvalidValue);
}

CUgraphExec_st& Graphs::instantiate(const CUgraph_st& graph, unsigned long long flags) {
  graph.in_order();
  auto made = std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph.clone(), flags});
  CUgraphExec_st& executable = *made;
  executables_.emplace(&executable, std::move(made));
  return executable;
}

void Graphs::destroy(CUgraphExec_st& executable) {
  executables_.erase(&executable);
}

}  // namespace tilescope::cudart
