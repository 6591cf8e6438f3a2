#include "distribute/sharded_product.hpp"

#include <algorithm>

#include "distribute/on_each.hpp"
#include "distribute/panels.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/product/memory_product.hpp"

namespace tilescope::distribute {
namespace {

using namespace operations;

std::size_t bytes_of(const GemmOperand& operand, std::int64_t elements) {
  return static_cast<std::size_t>(elements) * size_of(operand.type);
}

/// The rectangle of `rows` x `columns` elements at row `row` and column `column` of an operand.
struct Rectangle {
  DeviceAddress address = 0;
  std::size_t pitch = 0, row_bytes = 0, rows = 0;  // a column-major operand's columns

  Rectangle(const GemmOperand& operand, DeviceAddress begin, Range row, Range column) {
    const bool by_rows = operand.order == Order::row_major;
    const Range& outer = by_rows ? row : column;
    const Range& inner = by_rows ? column : row;
    address = begin + bytes_of(operand, outer.first * operand.leading + inner.first);
    pitch = bytes_of(operand, operand.leading);
    row_bytes = bytes_of(operand, inner.count);
    rows = static_cast<std::size_t>(outer.count);
  }
};

}  // namespace

ShardedProduct::ShardedProduct(const ShardedProblem& problem, const std::string& variant)
    : whole_(problem.whole) {
  const MatmulShape& s = whole_.shape;
  for (const Shard& shard : problem.shards) {
    rows_.push_back({rows_.empty() ? 0 : rows_.back().end(), shard.rows});
    depths_.push_back({depths_.empty() ? 0 : depths_.back().end(), shard.depth});
  }
  members_.resize(problem.shards.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].shard = problem.shards[i];
    members_[i].index = i;
  }
  whole_.b = panel_operand(whole_.b, s.k, s.n);
  Device& first = *problem.shards.front().device;
  const DeviceChoice whole = choose_for_parts(whole_, first, variant);
  report_.product = {.variant = std::string(whole.kernel.variant->name),
                     .precision = whole_.precision};
  whole_.precision = whole.problem.precision;
  panels_ = moves_panels() ? panels_of(s.n, least_columns(whole)) : std::vector<Range>{{0, s.n}};
  report_.panels = static_cast<std::int64_t>(panels_.size());
  // To allocate and to load kernels takes milliseconds.
  on_each(members_.size(), [&](std::size_t i) {
    Member& member = members_[i];
    Device& device = *member.shard.device;
    member.bias = device.allocate(problem.bias.size_bytes(), "bias");
    device.copy_to_device(member.bias.address(), problem.bias.data(), problem.bias.size_bytes());
    connect(member);
    prepare(member, whole);
  });
  complete_report();
}

// Adds what the members found to the report.
void ShardedProduct::complete_report() {
  for (const Member& member : members_) {
    if (!member.is_alike) {
      report_.product.note = "the bits may differ from one device's: it takes another kernel";
    }
    std::size_t received = 0;
    for (std::size_t i = 0; i < member.links.size(); ++i) {
      report_.is_direct = report_.is_direct && member.links[i].is_direct();
      if (i == member.index || member.shard.rows == 0) continue;
      received += bytes_of(whole_.b, members_[i].shard.depth * whole_.shape.n);
    }
    report_.received_bytes = std::max(report_.received_bytes, received);
  }
}

std::int64_t ShardedProduct::least_columns(const DeviceChoice& whole) const {
  std::int64_t least = 0;
  for (const Member& member : members_) {
    least = std::max(least, least_panel(whole, part(member.shard, {0, whole_.shape.n}),
                                        member.shard.device->properties()));
  }
  return least;
}

// The ways on which rows of B come to the member, and the memory where they arrive.
void ShardedProduct::connect(Member& member) {
  const std::shared_ptr<Device>& device = member.shard.device;
  member.ready = device->create_event();
  for (Stream& stream : member.computes) stream = device->create_stream();
  for (Event& event : member.computed) event = device->create_event();
  member.slots.resize(std::clamp(panels_.size(), std::size_t{1}, most_slots));
  if (!moves_panels()) return;
  std::int64_t widest = 0;
  for (const Range& panel : panels_) widest = std::max(widest, panel.count);
  const GemmOperand operand = panel_operand(whole_.b, whole_.shape.k, widest);
  for (Slot& slot : member.slots) {
    slot.memory = device->allocate(bytes_of(operand, operand.batch_stride), "a panel of B");
    slot.used = device->create_event();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      slot.arrived.push_back(device->create_event());
    }
  }
  for (const Member& sender : members_) {
    member.links.emplace_back(sender.shard.device, device);
    member.copies.push_back(device->create_stream());
    member.received.push_back(device->create_event());
  }
}

GemmProblem ShardedProduct::part(const Shard& shard, const Range& panel) const {
  GemmProblem problem = whole_;
  problem.shape.m = shard.rows;
  problem.shape.n = panel.count;
  problem.a = shard.a;
  problem.b = moves_panels() ? panel_operand(whole_.b, whole_.shape.k, panel.count) : shard.b;
  problem.c = shard.c;
  return problem;
}

GemmAddresses ShardedProduct::addresses(const Member& member, std::size_t panel) const {
  const Range& columns = panels_[panel];
  const Shard& shard = member.shard;
  const std::int64_t begin = whole_.bias_per_row ? rows_[member.index].first : columns.first;
  return {
      .a = shard.at.a,
      .b = moves_panels() ? member.slots[panel % member.slots.size()].memory.address() : shard.at.b,
      .c = shard.at.c + bytes_of(shard.c, columns.first),
      .bias = member.bias.address() + static_cast<DeviceAddress>(begin) * sizeof(float)};
}

void ShardedProduct::prepare(Member& member, const DeviceChoice& whole) {
  if (member.shard.rows == 0) return;
  Device& device = *member.shard.device;
  struct Part {
    GemmProblem problem;
    DeviceChoice choice;
  };
  std::vector<Part> parts;
  for (const Range& panel : panels_) {
    const GemmProblem problem = part(member.shard, panel);
    auto choice = choose_alike(whole, problem, device.properties());
    if (!choice) {
      member.is_alike = false;
      choice = choose_in_memory(problem, device, "");
    }
    parts.push_back({problem, *std::move(choice)});
  }
  const auto preparation = [&](const Part& one) -> RecordedProduct::Prepare {
    return [&one](Device& on) { return prepare_in_memory(on, one.problem, one.choice); };
  };
  for (std::size_t stream = 0; stream < compute_count; ++stream) {
    std::size_t bytes = 0;
    for (std::size_t i = stream; i < parts.size(); i += compute_count) {
      bytes = std::max(
          bytes, workspace_bytes(device.properties(), preparation(parts[i]), addresses(member, i)));
    }
    member.workspaces[stream] = device.allocate(bytes, "workspace");
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Buffer& memory = member.workspaces[i % compute_count];
    member.products.push_back(std::make_unique<RecordedProduct>(
        device, preparation(parts[i]), Workspace{memory.address(), memory.bytes()}));
    member.products.back()->bind(addresses(member, i));
  }
}

// Queues the copies of a panel's rows from all devices, each in a stream of its own.
void ShardedProduct::fetch(Member& member, std::size_t panel) {
  Device& device = *member.shard.device;
  Slot& slot = member.slots[panel % member.slots.size()];
  const Range& columns = panels_[panel];
  const GemmOperand operand = panel_operand(whole_.b, whole_.shape.k, columns.count);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Shard& sender = members_[i].shard;
    const Stream& stream = member.copies[i];
    if (panel >= member.slots.size()) device.wait(stream, slot.used);
    const Rectangle from(sender.b, sender.at.b, {0, sender.depth}, columns);
    const Rectangle to(operand, slot.memory.address(), depths_[i], {0, columns.count});
    member.links[i].copy_rows(to.address, to.pitch, from.address, from.pitch, from.row_bytes,
                              from.rows, stream);
    device.record(slot.arrived[i], stream);
  }
}

void ShardedProduct::compute(Member& member, std::size_t panel) {
  Device& device = *member.shard.device;
  const Stream& stream = member.computes[panel % compute_count];
  Slot& slot = member.slots[panel % member.slots.size()];
  for (const Event& arrived : slot.arrived) device.wait(stream, arrived);
  member.products[panel]->launch(stream);
  if (moves_panels()) device.record(slot.used, stream);
}

// Lets what the caller queues next wait for the member's products.
void ShardedProduct::finish(Member& member, const Stream& stream) {
  Device& device = *member.shard.device;
  for (std::size_t i = 0; i < compute_count; ++i) {
    device.record(member.computed[i], member.computes[i]);
    device.wait(stream, member.computed[i]);
  }
  for (std::size_t i = 0; i < member.links.size(); ++i) {
    device.record(member.received[i], member.copies[i]);
  }
}

void ShardedProduct::begin(std::size_t device, const Event& ready) {
  Member& member = members_[device];
  for (const Stream& stream : member.computes) member.shard.device->wait(stream, ready);
}

void ShardedProduct::multiply(std::size_t device, std::size_t panel, std::span<const Event> sent,
                              const Event& done) {
  Member& member = members_[device];
  const Stream& stream = member.computes[panel % compute_count];
  if (moves_panels()) {
    for (std::size_t i = 0; i < member.links.size(); ++i) {
      member.links[i].wait_for_sender(member.copies[i], sent[i]);
    }
    fetch(member, panel);
  } else {
    member.shard.device->wait(stream, sent[device]);
  }
  compute(member, panel);
  member.shard.device->record(done, stream);
}

void ShardedProduct::launch(std::span<const Stream> streams) {
  const Stream by_default;
  const auto stream_of = [&](std::size_t i) -> const Stream& {
    return streams.empty() ? by_default : streams[i];
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    member.shard.device->record(member.ready, stream_of(i));
    begin(i, member.ready);
  }
  for (Member& member : members_) {
    for (std::size_t i = 0; i < member.links.size(); ++i) {
      member.links[i].wait_for_sender(member.copies[i], members_[i].ready);
      member.shard.device->wait(member.copies[i], member.ready);
    }
  }
  for (std::size_t panel = 0; panel < panels_.size(); ++panel) {
    for (const bool is_copy : {true, false}) {
      for (Member& member : members_) {
        if (member.shard.rows == 0) continue;
        if (!is_copy) compute(member, panel);
        if (is_copy && moves_panels()) fetch(member, panel);
      }
    }
  }
  for (std::size_t i = 0; i < members_.size(); ++i) finish(members_[i], stream_of(i));
  // Nor may a shard of B change before all have read it.
  for (Member& member : members_) {
    for (std::size_t i = 0; i < member.links.size(); ++i) {
      member.links[i].wait_for_receiver(stream_of(i), member.received[i]);
    }
  }
}

}  // namespace tilescope::distribute
