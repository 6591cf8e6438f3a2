// Products whose devices compute all of their C in one launch, while the others' rows of B arrive.
#include <algorithm>
#include <utility>

#include "distribute/sharded_product.hpp"
#include "operations/gemm/product/memory_product.hpp"

namespace tilescope::distribute {

using namespace operations;

// Makes all of B one panel, which the kernel awaits piece by piece, if that is the kernel of all
// devices and B takes little of their memory.
void ShardedProduct::await_columns_if_possible() {
  constexpr std::size_t least_part_of_memory = 16;
  const std::int64_t rows = piece_of_rows(depths_, whole_.shape.k);
  if (!plan_.awaits_columns || panels_.size() < 2 || plan_.growth != 1 ||
      plan_.first != plan_.widest || plan_.engines != 1 || rows == 0) {
    return;
  }
  const std::size_t bytes =
      static_cast<std::size_t>(whole_.b.batch_stride) * size_of(whole_.b.type);
  for (const Member& member : members_) {
    const Shard& shard = member.shard;
    if (shard.rows == 0) continue;
    if (bytes > shard.device->memory_use().total_bytes / least_part_of_memory) return;
    if (!choose_awaiting(member, part(shard, shard.rows, {0, whole_.shape.n}),
                         arrival_at(member, panels_.front().count, rows))) {
      return;
    }
  }
  arriving_rows_ = rows;
  arriving_ = std::exchange(panels_, {{0, whole_.shape.n}});
}

std::optional<DeviceChoice> ShardedProduct::choose_awaiting(const Member& member,
                                                            const GemmProblem& part,
                                                            const Arrival& arrival) const {
  const Shard& shard = member.shard;
  const DeviceProperties& device = shard.device->properties();
  const auto awaits = choice_.kernel.variant->awaits_columns;
  if (awaits == nullptr) return std::nullopt;
  auto choice = choose_alike(choice_, part, device, [&](const DeviceChoice& of_part) {
    GemmProblem problem = of_part.problem;
    problem.arrival = arrival;
    return awaits(problem, {.a = shard.at.a, .c = shard.at.c, .b_there = shard.at.b}, device,
                  of_part.kernel.plan);
  });
  if (choice) choice->problem.arrival = arrival;
  return choice;
}

Arrival ShardedProduct::arrival_at(const Member& member, std::int64_t columns,
                                   std::int64_t rows) const {
  const Range& own = depths_[member.index];
  return {.columns = columns,
          .rows = rows,
          .first_there = own.first,
          .there = own.count,
          .leading_there = member.shard.b.leading};
}

// Queues the copies of the others' rows of B, and signals to the kernel, which runs meanwhile. It
// takes all SMs, so whatever may need one is done when it begins.
void ShardedProduct::fetch_while_computing(Member& member) {
  Device& device = *member.shard.device;
  const Stream& stream = member.computes.front();
  device.fill(member.arrived.address(), 0, member.arrived.bytes(), stream);
  device.record(member.reset, stream);
  Slot& slot = member.slots.front();
  for (std::size_t i = 0; i < member.ways.size(); ++i) {
    const Way& way = member.ways[i];
    const Range& sent = depths_[way.sender];
    if (way.sender == member.index || sent.count == 0) continue;
    for (std::size_t panel = 0; panel < arriving_.size(); ++panel) {
      for (std::int64_t row = sent.first; row < sent.end(); row += arriving_rows_) {
        const Range rows{row - sent.first, std::min(arriving_rows_, sent.end() - row)};
        fetch(member, way, rows, arriving_[panel], slot);
        if (panel == 0 && row == sent.first) device.wait(way.copies, member.reset);
        const std::int64_t word =
            static_cast<std::int64_t>(panel) * pieces_of_a_panel() + row / arriving_rows_;
        device.signal(
            member.arrived.address() + static_cast<DeviceAddress>(word) * sizeof(std::uint32_t),
            way.copies);
      }
    }
    device.record(slot.arrived[i], way.copies);
    // Emulated kernels run by themselves, and would wait forever.
    if (device.kind() != DeviceKind::cuda) device.wait(stream, slot.arrived[i]);
  }
}

}  // namespace tilescope::distribute
