#include "distribute/sharded_product.hpp"

#include <algorithm>

#include "distribute/on_each.hpp"
#include "distribute/panels.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"
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

ShardedProduct::ShardedProduct(const ShardedProblem& problem, const std::string& variant, Rows rows,
                               Reach memory_of_b, const PanelPlan& plan)
    : whole_(problem.whole), memory_of_b_(memory_of_b), plan_(plan), bias_(problem.bias) {
  for (const Shard& shard : problem.shards) {
    rows_.push_back({rows_.empty() ? 0 : rows_.back().end(), shard.rows});
    depths_.push_back({depths_.empty() ? 0 : depths_.back().end(), shard.depth});
  }
  members_.resize(problem.shards.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].shard = problem.shards[i];
    members_[i].index = i;
  }
  whole_.b = panel_operand(whole_.b, whole_.shape.k, whole_.shape.n);
  Device& first = *problem.shards.front().device;
  choice_ = choose_for_parts(whole_, first, variant);
  if (moves_panels()) {
    GemmProblem as_it_lies = whole_;
    as_it_lies.a = problem.shards.front().a;
    as_it_lies.b = problem.shards.front().b;
    // A variant that is named may take B in panels alone: one device has no such product then.
    if (variant.empty() || !gemm_variant(variant).refusal(as_it_lies, first.properties())) {
      adds_as_one_ =
          add_alike(choice_, choose_for_parts(as_it_lies, first, variant), first.properties());
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::size_t begin =
          bytes_of(members_[i].shard.a, rows_[i].first * members_[i].shard.a.leading);
      members_[i].is_alike =
          begin % copy_alignment == 0 || !order_follows_rows(choice_, first.properties());
    }
  }
  precision_ = whole_.precision;
  whole_.precision = choice_.problem.precision;
  divide(rows);
}

// Divides C into pieces, alike on all devices.
void ShardedProduct::divide(Rows rows) {
  std::int64_t least = 0, parts = 0;
  const auto of_panel = [&](const Member& member, const Range& panel) {
    return part(member.shard, member.shard.rows, panel);
  };
  for (const Member& member : members_) {
    least = std::max(least, least_panel(choice_, of_panel(member, {0, whole_.shape.n}),
                                        member.shard.device->properties()));
  }
  if (moves_panels()) panels_ = panels_of(whole_.shape.n, least, plan_);
  if (moves_panels() && rows == Rows::there) await_columns_if_possible();
  if (panels_.empty()) panels_ = {{0, whole_.shape.n}};
  for (const Member& member : members_) {
    if (rows == Rows::there || member.shard.rows == 0) continue;
    const std::int64_t most = parts_of_rows(choice_, of_panel(member, panels_.front()),
                                            member.shard.device->properties());
    parts = parts == 0 ? most : std::min(parts, most);
  }
  parts_ = std::max<std::int64_t>(parts, 1);
  pieces_ = pieces_of(parts_, panels_.size(), compute_count);
  for (Member& member : members_) {
    member.parts = equal_shares(member.shard.rows, parts_, part_unit);
  }
}

void ShardedProduct::prepare(std::size_t device, const GemmAddresses& at) {
  Member& member = members_[device];
  member.shard.at = at;
  member.bias = member.shard.device->allocate(bias_.size_bytes(), "bias", Reach::own);
  member.shard.device->copy_to_device(member.bias.address(), bias_.data(), bias_.size_bytes());
  prepare_pieces(member);
}

void ShardedProduct::prepare() {
  on_each(members_.size(), [this](std::size_t i) {
    connect(i);
    prepare(i, members_[i].shard.at);
  });
}

ShardedReport ShardedProduct::report() const {
  ShardedReport report{
      .product = {.variant = std::string(choice_.kernel.variant->name), .precision = precision_},
      .panels = static_cast<std::int64_t>(std::max(panels_.size(), arriving_.size()))};
  for (const Member& member : members_) {
    if (!member.is_alike || !adds_as_one_) {
      report.product.note = "the bits may differ from one device's: it takes another kernel";
    }
    std::size_t received = 0;
    for (std::size_t i = 0; i < member.links.size(); ++i) {
      report.is_direct = report.is_direct && member.links[i].is_direct();
      if (i == member.index || member.shard.rows == 0) continue;
      received += bytes_of(whole_.b, members_[i].shard.depth * whole_.shape.n);
    }
    report.received_bytes = std::max(report.received_bytes, received);
  }
  return report;
}

// The ways on which rows of B come to the member, and the memory where they arrive.
void ShardedProduct::connect(std::size_t index) {
  Member& member = members_[index];
  const std::shared_ptr<Device>& device = member.shard.device;
  member.ready = device->create_event();
  for (Stream& stream : member.computes) stream = device->create_stream();
  for (Event& event : member.computed) event = device->create_event();
  for (std::size_t i = 0; i < pieces_.size(); ++i) member.done.push_back(device->create_event());
  member.started = device->create_event();
  member.slots.resize(std::clamp(panels_.size(), std::size_t{1}, most_slots));
  if (!moves_panels()) return;
  for (const Member& sender : members_) {
    member.links.emplace_back(sender.shard.device, device, memory_of_b_);
    const std::int64_t parts = sender.index == index ? 1 : plan_.engines;
    for (const Range& rows : equal_shares(sender.shard.depth, parts, 1)) {
      member.ways.push_back({.sender = sender.index,
                             .rows = rows,
                             .copies = device->create_stream(),
                             .received = device->create_event()});
    }
  }
  for (std::size_t i = 0; i < member.slots.size(); ++i) {
    std::int64_t widest = 0;
    for (std::size_t panel = i; panel < panels_.size(); panel += member.slots.size()) {
      widest = std::max(widest, panels_[panel].count);
    }
    const GemmOperand operand = panel_operand(whole_.b, whole_.shape.k, widest);
    Slot& slot = member.slots[i];
    slot.memory =
        device->allocate(bytes_of(operand, operand.batch_stride), "a panel of B", Reach::own);
    for (std::size_t way = 0; way < member.ways.size(); ++way) {
      slot.arrived.push_back(device->create_event());
    }
  }
  if (!awaits_columns()) return;
  const std::size_t words = arriving_.size() * static_cast<std::size_t>(pieces_of_a_panel());
  member.arrived =
      device->allocate(words * sizeof(std::uint32_t), "what has arrived of B", Reach::own);
  member.reset = device->create_event();
}

GemmProblem ShardedProduct::part(const Shard& shard, std::int64_t rows, const Range& panel) const {
  GemmProblem problem = whole_;
  problem.shape.m = rows;
  problem.shape.n = panel.count;
  problem.a = shard.a;
  problem.b = moves_panels() ? panel_operand(whole_.b, whole_.shape.k, panel.count) : shard.b;
  problem.c = shard.c;
  return problem;
}

Range ShardedProduct::rows_of(std::size_t device, const Piece& piece) const {
  const std::vector<Range>& parts = members_[device].parts;
  const std::int64_t first = parts[static_cast<std::size_t>(piece.parts.first)].first;
  return {first, parts[static_cast<std::size_t>(piece.parts.end()) - 1].end() - first};
}

GemmAddresses ShardedProduct::addresses(const Member& member, const Piece& piece) const {
  const Range& columns = panels_[piece.panel];
  const Range rows = rows_of(member.index, piece);
  const Shard& shard = member.shard;
  const std::int64_t begin =
      whole_.bias_per_row ? rows_[member.index].first + rows.first : columns.first;
  return {.a = Rectangle(shard.a, shard.at.a, rows, {0, whole_.shape.k}).address,
          .b = moves_panels() ? member.slots[piece.panel % member.slots.size()].memory.address()
                              : shard.at.b,
          .c = Rectangle(shard.c, shard.at.c, rows, columns).address,
          .bias = member.bias.address() + static_cast<DeviceAddress>(begin) * sizeof(float),
          .arrived = member.arrived.address(),
          .b_there = shard.at.b};
}

void ShardedProduct::prepare_pieces(Member& member) {
  if (member.shard.rows == 0) return;
  Device& device = *member.shard.device;
  /// Pieces of one shape.
  struct Form {
    GemmProblem problem;
    DeviceChoice choice;
    std::size_t workspace_bytes = 0;
  };
  std::vector<Form> forms;
  const auto preparation = [](const Form& form) -> RecordedProduct::Prepare {
    return [&form](Device& on) { return prepare_in_memory(on, form.problem, form.choice); };
  };
  const auto form_of = [&](const Piece& piece) {
    GemmProblem problem =
        part(member.shard, rows_of(member.index, piece).count, panels_[piece.panel]);
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (forms[i].problem.shape == problem.shape) return i;
    }
    auto choice = awaits_columns()
                      ? choose_awaiting(member, problem,
                                        arrival_at(member, arriving_.front().count, arriving_rows_))
                      : choose_alike(choice_, problem, device.properties());
    if (!choice) {
      member.is_alike = false;
      choice = choose_in_memory(problem, device, "");
    }
    Form& form = forms.emplace_back(problem, *std::move(choice));
    form.workspace_bytes =
        workspace_bytes(device.properties(), preparation(form), addresses(member, piece));
    return forms.size() - 1;
  };
  std::vector<std::size_t> form_of_piece;
  std::array<std::size_t, compute_count> bytes{};
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    form_of_piece.push_back(form_of(pieces_[i]));
    std::size_t& most = bytes[i % compute_count];
    most = std::max(most, forms[form_of_piece.back()].workspace_bytes);
  }
  for (std::size_t stream = 0; stream < compute_count; ++stream) {
    member.workspaces[stream] = device.allocate(bytes[stream], "workspace", Reach::own);
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Buffer& memory = member.workspaces[i % compute_count];
    member.products.push_back(std::make_unique<RecordedProduct>(
        device, preparation(forms[form_of_piece[i]]), Workspace{memory.address(), memory.bytes()},
        &member.kernels));
    member.products.back()->bind(addresses(member, pieces_[i]));
  }
}

// Queues the copies of a panel's rows from all devices.
void ShardedProduct::fetch(Member& member, std::size_t panel) {
  Slot& slot = member.slots[panel % member.slots.size()];
  for (std::size_t i = 0; i < member.ways.size(); ++i) {
    const Way& way = member.ways[i];
    if (panel >= member.slots.size()) {
      wait_for_panel(member.index, panel - member.slots.size(), way.copies);
    }
    fetch(member, way, {0, way.rows.count}, panels_[panel], slot, panels_[panel].first);
    member.shard.device->record(slot.arrived[i], way.copies);
  }
}

// Queues the copy of some of a way's rows and some columns to a slot whose panel begins at column
// `begin`.
void ShardedProduct::fetch(Member& member, const Way& way, const Range& rows, const Range& columns,
                           const Slot& slot, std::int64_t begin) {
  const Shard& sender = members_[way.sender].shard;
  const std::int64_t width = awaits_columns() ? whole_.shape.n : columns.count;
  const GemmOperand operand = panel_operand(whole_.b, whole_.shape.k, width);
  const std::int64_t first = way.rows.first + rows.first;
  const Rectangle from(sender.b, sender.at.b, {first, rows.count}, columns);
  const Rectangle to(operand, slot.memory.address(),
                     {depths_[way.sender].first + first, rows.count},
                     {columns.first - begin, columns.count});
  member.links[way.sender].copy_rows(to.address, to.pitch, from.address, from.pitch, from.row_bytes,
                                     from.rows, way.copies);
}

void ShardedProduct::compute(Member& member, std::size_t piece) {
  Device& device = *member.shard.device;
  const Stream& stream = member.computes[piece % compute_count];
  const Slot& slot = member.slots[pieces_[piece].panel % member.slots.size()];
  if (!awaits_columns()) {
    for (const Event& arrived : slot.arrived) device.wait(stream, arrived);
  }
  if (piece == 0) device.record(member.started, stream);
  member.products[piece]->launch(stream);
  device.record(member.done[piece], stream);
}

void ShardedProduct::wait_for_panel(std::size_t device, std::size_t panel,
                                    const Stream& stream) const {
  const Member& member = members_[device];
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].panel == panel) member.shard.device->wait(stream, member.done[i]);
  }
}

// Lets what the caller queues next wait for the member's products.
void ShardedProduct::finish(Member& member, const Stream& stream) {
  Device& device = *member.shard.device;
  for (std::size_t i = 0; i < compute_count; ++i) {
    device.record(member.computed[i], member.computes[i]);
    device.wait(stream, member.computed[i]);
  }
  for (const Way& way : member.ways) device.record(way.received, way.copies);
}

void ShardedProduct::multiply(std::size_t device, std::size_t piece, std::span<const Event> sent) {
  Member& member = members_[device];
  member.shard.device->wait(member.computes[piece % compute_count], sent[device]);
  if (moves_panels() && pieces_[piece].parts.first == 0) {
    for (const Way& way : member.ways) {
      member.links[way.sender].wait_for_sender(way.copies, sent[way.sender]);
    }
    fetch(member, pieces_[piece].panel);
  }
  compute(member, piece);
}

std::pair<double, double> ShardedProduct::computed_ms(std::size_t device,
                                                      const Event& begin) const {
  const Member& member = members_[device];
  if (member.shard.rows == 0) return {0.0, 0.0};
  double last = 0.0;  // the last product need not be the last to end
  for (const Event& done : member.done) {
    last = std::max(last, member.shard.device->elapsed_ms(begin, done));
  }
  return {member.shard.device->elapsed_ms(begin, member.started), last};
}

void ShardedProduct::release(std::size_t device) {
  Member& member = members_[device];
  member.products.clear();
  member.slots.clear();
  member.workspaces = {};
  member.bias = {};
  member.kernels = {};
}

void ShardedProduct::launch(std::span<const Stream> streams) {
  const Stream by_default;
  const auto stream_of = [&](std::size_t i) -> const Stream& {
    return streams.empty() ? by_default : streams[i];
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    member.shard.device->record(member.ready, stream_of(i));
    for (const Stream& stream : member.computes) member.shard.device->wait(stream, member.ready);
  }
  for (Member& member : members_) {
    for (const Way& way : member.ways) {
      member.links[way.sender].wait_for_sender(way.copies, members_[way.sender].ready);
      member.shard.device->wait(way.copies, member.ready);
    }
  }
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    for (const bool is_copy : {true, false}) {
      for (Member& member : members_) {
        if (member.shard.rows == 0) continue;
        if (!is_copy) compute(member, piece);
        if (is_copy && awaits_columns()) {
          fetch_while_computing(member);
        } else if (is_copy && moves_panels()) {
          fetch(member, pieces_[piece].panel);
        }
      }
    }
  }
  for (std::size_t i = 0; i < members_.size(); ++i) finish(members_[i], stream_of(i));
  // Nor may a shard of B change before all have read it.
  for (Member& member : members_) {
    for (const Way& way : member.ways) {
      member.links[way.sender].wait_for_receiver(stream_of(way.sender), way.received);
    }
  }
}

}  // namespace tilescope::distribute
