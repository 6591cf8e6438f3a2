#include "report/words/rules.hpp"

#include <array>

namespace tilescope::report {
namespace {

struct FindingRule {
  FindingKind kind;
  std::string_view text;
};
struct AdviceRule {
  AdviceKind kind;
  std::string_view text;
};

using F = FindingKind;
using A = AdviceKind;

constexpr std::array finding_rules = {
    FindingRule{F::out_of_bounds, "An access stays inside of its buffer or variable."},
    FindingRule{F::misaligned, "The address of an access is a multiple of its width."},
    FindingRule{F::null_pointer, "A pointer that is accessed points to memory."},
    FindingRule{F::freed_memory, "A kernel accesses no memory that the host has freed."},
    FindingRule{F::wrong_space, "An address is used in the memory space that it belongs to."},
    FindingRule{F::read_only, "Kernels do not write to constant or parameter memory."},
    FindingRule{F::uninitialised_read, "Memory is written before it is read."},
    FindingRule{F::race,
                "Something orders two accesses of one element by different threads, if one of them "
                "writes."},
    FindingRule{F::unfinished_copy,
                "The target of an asynchronous copy is used only after the copy was waited for."},
    FindingRule{F::missing_acquire, "A flag that announces data is read with acquire."},
    FindingRule{F::barrier_unreached, "All threads that a barrier waits for reach it."},
    FindingRule{F::endless_wait,
                "A thread that waits for memory to change is left with a thread that changes it."},
    FindingRule{F::barrier_mismatch, "The threads of a block meet at the same barrier."},
    FindingRule{F::bad_barrier, "Barrier numbers go to 15, and thread counts are multiples of 32."},
    FindingRule{F::warp_mask,
                "The member mask of a warp-level instruction names the lanes that run it."},
    FindingRule{F::bad_call, "An indirect call goes to a function."},
    FindingRule{F::bad_operand, "An operand is in the range that its instruction defines."},
    FindingRule{F::cluster_memory,
                "Shared memory of another block is accessed only in the cluster and while that "
                "block runs."},
    FindingRule{F::cluster_arrival,
                "A thread arrives at its cluster's barrier once and then waits once, in turns."},
    FindingRule{F::bad_copy, "A bulk or tensor copy keeps to the rules of the copy engine."},
    FindingRule{F::warpgroup_mismatch, "The four warps of a warpgroup run the same wgmma."},
    FindingRule{
        F::missing_proxy_fence,
        "A proxy fence stands between the writes of threads and an engine that reads them."},
    FindingRule{F::early_overwrite,
                "An engine writes only where all threads have finished their reads."},
    FindingRule{F::missing_mbarrier_fence,
                "A fence follows the init of an mbarrier before others use it."},
    FindingRule{F::cluster_not_started,
                "The blocks of a cluster meet before one reaches for another's memory."},
    FindingRule{F::expected_bytes, "An mbarrier expects the bytes that its copies bring."},
    FindingRule{F::arrival_count, "The count of an mbarrier is that of the arrivals in a phase."},
    FindingRule{F::phase_parity, "A wait names the parity of the phase that it waits for."},
    FindingRule{F::named_barrier_reuse,
                "A named barrier is used again only after its threads have met."},
    FindingRule{F::wgmma_order,
                "A wgmma stands between its fence and the wait for its committed group."},
    FindingRule{F::bulk_source_reuse,
                "The source of a bulk store is written only after the store was waited for."},
    FindingRule{F::cluster_exit,
                "A block stays until no other block of its cluster reaches for its memory."},
    FindingRule{F::local_arrive_remote,
                "An arrival that returns a state is for an mbarrier of the own block."},
    FindingRule{F::register_budget, "setmaxnreg asks for registers that the block has."},
    FindingRule{F::tile_alignment, "A tile has the alignment of its swizzle and fits its map."},
    FindingRule{F::tensor_map_in_use,
                "A tensor map is changed only while no engine uses it, and fenced after that."},
    FindingRule{F::missing_grid_wait,
                "griddepcontrol.wait comes before the data of the grid before."},
    FindingRule{F::unfinished_async_work,
                "Somebody waits for all asynchronous work before the kernel ends."},
    FindingRule{F::order_dependent_result,
                "Every order of warps, blocks and engines gives the same result."},
    FindingRule{F::bad_texture,
                "A texture or surface object exists and has the dimensions of the access."},
    FindingRule{F::outside_surface, "Coordinates of a surface are inside of its extents."},
    FindingRule{F::trap, "A kernel does not give up."},
    FindingRule{F::unfinished, "A launch ends within the limit of instructions."},
    FindingRule{F::wrote_nothing, "A launch leaves a result in global memory."},
    FindingRule{F::compiled_away, "The compiler keeps what the source stores in shared memory."},
    FindingRule{F::illegal_launch, "A launch keeps to the limits of its device."},
    FindingRule{F::copy_bounds, "A copy or fill by the host stays inside of its allocations."},
    FindingRule{F::copy_direction, "The direction of a copy agrees with its addresses."},
    FindingRule{F::copy_size, "A copy takes the whole array, in bytes."},
    FindingRule{F::host_pointer, "Kernels get addresses of device memory."},
    FindingRule{F::use_after_free, "The host uses no memory that it has freed."},
    FindingRule{F::double_free, "Memory is freed once."},
    FindingRule{F::bad_free, "Memory is freed by the address that its allocation gave."},
    FindingRule{F::leak, "Memory is freed before the program ends."},
    FindingRule{F::unsynchronised,
                "The host waits for queued work before it touches the work's memory."},
    FindingRule{F::unchecked_error, "The program tests whether calls and launches succeeded."},
    FindingRule{F::uncovered_elements, "The host reads only elements that somebody wrote."},
};

constexpr std::array advice_rules = {
    AdviceRule{A::uncoalesced, "Neighbouring threads access neighbouring addresses."},
    AdviceRule{A::split_rows, "A warp spans few rows of its block."},
    AdviceRule{A::misaligned, "The accesses of a warp begin at the start of a sector."},
    AdviceRule{A::narrow, "A thread accesses at least four bytes at a time."},
    AdviceRule{A::contended_atomic, "The lanes of a warp change different words atomically."},
    AdviceRule{A::bank_conflict, "The lanes of a warp access different banks of shared memory."},
    AdviceRule{A::local_memory, "Arrays and spilled registers of a thread stay in registers."},
    AdviceRule{A::divergence, "The lanes of a warp take the same branch."},
    AdviceRule{A::partial_warps, "The threads of a block fill its warps."},
    AdviceRule{A::shallow_pipeline,
               "Enough copies are under way while the data of earlier ones are used."},
};

template <typename Rules>
constexpr bool rules_are_in_order(const Rules& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (static_cast<std::size_t>(rules[i].kind) != i) return false;
  }
  return true;
}
static_assert(rules_are_in_order(finding_rules) && rules_are_in_order(advice_rules));
static_assert(finding_rules.back().kind == F::uncovered_elements &&
              advice_rules.back().kind == A::shallow_pipeline);

}  // namespace

std::string_view rule_of(FindingKind kind) {
  return finding_rules[static_cast<std::size_t>(kind)].text;
}

std::string_view rule_of(AdviceKind kind) {
  return advice_rules[static_cast<std::size_t>(kind)].text;
}

}  // namespace tilescope::report
