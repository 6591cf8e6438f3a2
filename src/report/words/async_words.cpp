// Findings about the work of engines: bulk copies, tensor copies, tensor cores.
#include <fmt/format.h>

#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

std::string_view engine_name(EngineKind engine) {
  switch (engine) {
    case EngineKind::bulk_copy:
      return "the bulk copy";
    case EngineKind::tensor_copy:
      return "the tensor copy";
    case EngineKind::remote_store:
      return "the asynchronous store";
    case EngineKind::tensor_cores:
      break;
  }
  return "wgmma";
}

std::string_view registers_name(ProductRegisters registers) {
  return registers == ProductRegisters::none   ? "registers"
         : registers == ProductRegisters::sums ? "accumulators"
                                               : "registers of A";
}

/// ", which full[1] announces (phase 3)"
std::string announced(const AsyncFacts& facts) {
  if (facts.barrier.empty()) return "";
  return fmt::format(", whose end phase {} of {} announces", facts.phase, facts.barrier);
}

Wording early_overwrite_words(const AsyncFacts& facts, const std::string& what) {
  return {fmt::format("{} overwrites {} while threads may still access it: the thread that starts "
                      "it has not waited for them",
                      engine_name(facts.engine), what),
          "let the threads arrive at a barrier behind their last access, and let the thread that "
          "starts the copy wait for that barrier first"};
}

Wording source_words(const AsyncFacts& facts, const std::string& what) {
  return {
      fmt::format("{} is written while {} may still read it", what, engine_name(facts.engine)),
      facts.barrier.empty()
          ? "let the thread that started it wait first (cp.async.bulk.commit_group, then "
            "wait_group.read), and put a barrier between the wait and the writes of other threads"
          : fmt::format("wait for {} before the write", facts.barrier)};
}

Wording wgmma_words(const AsyncFacts& facts, const std::string& what) {
  switch (facts.fault) {
    case AsyncFault::fence:
      return {fmt::format("wgmma uses {}, which this thread accessed before, and no wgmma.fence "
                          "stands between",
                          registers_name(facts.registers)),
              "put wgmma.fence.sync.aligned before the first wgmma, behind the last access to its "
              "registers"};
    case AsyncFault::commit:
      return {"this wait does not cover the wgmma: its group was never committed",
              "put wgmma.commit_group behind the products, before wgmma.wait_group"};
    case AsyncFault::registers:
      return {fmt::format("{} of a wgmma are accessed while it may still be under way",
                          registers_name(facts.registers)),
              "put wgmma.wait_group 0 behind the products, before their registers are used"};
    default:
      return {fmt::format("{} is written while wgmma may still read it", what),
              "wait for the products first (wgmma.commit_group, wgmma.wait_group), and let their "
              "threads arrive at the barrier that releases the memory only then"};
  }
}

Wording cluster_words(const Finding& finding, const AsyncFacts& facts, const std::string& what) {
  if (finding.kind == FindingKind::cluster_not_started) {
    return {fmt::format("{} of block {} of the cluster is accessed, and nothing tells that this "
                        "block has started",
                        what, facts.rank),
            "let all threads of the cluster meet first (cluster.sync(), barrier.cluster.arrive and "
            "wait), behind the initialisation of what others use"};
  }
  return {fmt::format("block {} of the cluster may have ended when {} of its shared memory is "
                      "accessed: nothing makes it wait",
                      facts.rank, what),
          "let the block stay until the others are done: cluster.sync() at the end of the kernel, "
          "or a barrier at which they arrive behind their last access"};
}

Wording tensor_map_words(const Finding& finding, const AsyncFacts& facts, const std::string& what) {
  if (facts.fault == AsyncFault::wait) {
    return {fmt::format("the tensor map {} is changed while the copy that uses it may be under "
                        "way{}",
                        what, announced(facts)),
            "wait for every copy that uses the map before it is changed, or take another map"};
  }
  if (!finding.second) {
    return {fmt::format("the copy uses the tensor map {} in global memory, and its block has not "
                        "acquired it: the copy may not see what the host or another kernel wrote "
                        "there",
                        what),
            "execute fence.proxy.tensormap::generic.acquire for the map in each block before its "
            "first copy, or pass the map as a const __grid_constant__ parameter"};
  }
  return {fmt::format("the copy uses the tensor map {}, which threads changed, and may not see the "
                      "change: no pair of proxy fences shows it",
                      what),
          "behind the change, release: tensormap.cp_fenceproxy or "
          "fence.proxy.tensormap::generic.release; then, in the block that copies, acquire: "
          "fence.proxy.tensormap::generic.acquire for the 128 bytes of the map"};
}

Wording unfinished_words(const AsyncFacts& facts) {
  const std::string_view engine = engine_name(facts.engine);
  if (facts.engine == EngineKind::tensor_cores) {
    return {"the kernel ends while wgmma may still be under way: nobody waits for it",
            "put wgmma.commit_group and wgmma.wait_group 0 behind the last product"};
  }
  if (!facts.barrier.empty()) {
    return {fmt::format("the block ends while {} may still write its shared memory: nobody waits "
                        "for phase {} of {}",
                        engine, facts.phase, facts.barrier),
            "wait for every phase that a copy completes, or do not start the copy"};
  }
  return {fmt::format("the block ends while {} may still read its shared memory: {}", engine,
                      facts.fault == AsyncFault::commit
                          ? "its group was never committed"
                          : "the thread that started it does not wait for it"),
          "before the end, let the thread that started it execute cp.async.bulk.commit_group and "
          "cp.async.bulk.wait_group.read 0 (wait_group 0 where others read the result)"};
}

}  // namespace

Wording async_words(const Finding& finding) {
  const auto facts = facts_of<AsyncFacts>(finding);
  const std::string what = to_string(memory_of(finding));
  const std::string_view engine = engine_name(facts.engine);
  switch (finding.kind) {
    case FindingKind::missing_proxy_fence:
      return {fmt::format("{} reads {}, which threads wrote, and no fence.proxy.async stands "
                          "between: it may read what was there before",
                          engine, what),
              "let every thread that wrote execute fence.proxy.async behind its writes, before the "
              "barrier behind which the engine starts"};
    case FindingKind::race:
      return {
          fmt::format("{} reads {}, which threads write, and no barrier orders them", engine, what),
          "let every thread that writes execute fence.proxy.async behind its writes, and pass a "
          "barrier before the engine starts"};
    case FindingKind::early_overwrite:
      return early_overwrite_words(facts, what);
    case FindingKind::unfinished_copy:
      return {fmt::format("{} is accessed while {} may still be under way{}", what, engine,
                          announced(facts)),
              memory_of(finding).space == MemorySpace::global
                  ? "let the thread that started it wait first (cp.async.bulk.commit_group, then "
                    "wait_group without .read), and put a barrier between the wait and the "
                    "accesses of other threads"
              : facts.barrier.empty()
                  ? "wait for the copy first"
                  : fmt::format("wait for {} (mbarrier.try_wait) before the access, in every "
                                "thread or before a barrier",
                                facts.barrier)};
    case FindingKind::bulk_source_reuse:
      return source_words(facts, what);
    case FindingKind::wgmma_order:
      return wgmma_words(facts, what);
    case FindingKind::cluster_not_started:
    case FindingKind::cluster_exit:
      return cluster_words(finding, facts, what);
    case FindingKind::tensor_map_in_use:
      return tensor_map_words(finding, facts, what);
    default:
      return unfinished_words(facts);
  }
}

}  // namespace tilescope::report
