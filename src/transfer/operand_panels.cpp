#include "transfer/operand_panels.hpp"

#include <utility>

#include "operations/numerics/conversion.hpp"

namespace tilescope::transfer {
namespace {

ConstMatrixView transposed(ConstMatrixView view) {
  std::swap(view.rows, view.columns);
  view.order = view.order == Order::row_major ? Order::column_major : Order::row_major;
  return view;
}

}  // namespace

OperandPanels::OperandPanels(Device& device, Stager& uploads, const ConstMatrixView& operand,
                             DataType element, const PanelLayout& layout, std::size_t largest_bytes,
                             std::size_t streams, const char* name)
    : device_(device), uploads_(uploads), operand_(operand), element_(element), layout_(layout) {
  for (Slot& slot : slots_) {
    slot.memory = device.allocate(largest_bytes, name, Reach::own);
    slot.filled = device.create_event();
    for (std::size_t i = 0; i < streams; ++i) slot.used.push_back(device.create_event());
    slot.in_use.assign(streams, false);
  }
  if (layout.transposed) {
    turns_ = device.create_stream();
    transposition_.emplace(device, element);
  }
}

OperandPanels::Slot* OperandPanels::holder(const Panel& panel) {
  for (Slot& slot : slots_) {
    if (slot.ready > 0 && slot.content == panel) return &slot;
  }
  return nullptr;
}

// Starts another panel in a slot: in `stream`, after all readers of the panel before it.
OperandPanels::Slot& OperandPanels::start(Slot& slot, const Panel& panel, const Stream& stream) {
  for (std::size_t i = 0; i < slot.used.size(); ++i) {
    if (slot.in_use[i]) device_.wait(stream, slot.used[i]);
    slot.in_use[i] = false;
  }
  slot.content = panel;
  slot.ready = 0;
  return slot;
}

void OperandPanels::upload(Slot& slot, std::int64_t first, std::int64_t count) {
  const Panel& p = slot.content;
  const ConstMatrixView part =
      operations::part(operand_, p.first_vector + first, count, p.first_step, p.steps);
  const bool by_steps = layout_.by_steps != layout_.transposed;
  const ConstMatrixView rows = by_steps ? transposed(part) : part;
  const std::int64_t pitch = by_steps ? p.padded_vectors : p.padded_steps;
  if (layout_.zero_padded) {
    uploads_.upload(rows, slot.memory.address(), by_steps ? p.padded_steps : p.padded_vectors,
                    pitch);
  } else {
    const std::int64_t offset = by_steps ? first : first * pitch;
    uploads_.upload_rows(
        rows, slot.memory.address() + static_cast<DeviceAddress>(offset) * size_of(element_),
        pitch);
  }
  slot.ready = first + count;
  device_.record(slot.filled, uploads_.stream());
}

void OperandPanels::fetch(const Panel& panel, std::int64_t count) {
  Slot* slot = holder(panel);
  if (layout_.transposed) {
    if (slots_[1].content == panel && slots_[1].ready >= count) return;
    if (slot != &slots_[0]) slot = &start(slots_[0], panel, uploads_.stream());
  } else if (slot == nullptr) {
    slot = &start(&slots_[0] == current_ ? slots_[1] : slots_[0], panel, uploads_.stream());
  }
  if (slot->ready < count) upload(*slot, slot->ready, count - slot->ready);
}

// Fills the missing part of the first buffer's panel into the second.
void OperandPanels::transpose(const Panel& panel, std::int64_t count) {
  Slot &from = slots_[0], &to = slots_[1];
  if (to.ready == 0 || to.content != panel) start(to, panel, turns_);
  if (to.ready >= count) return;
  device_.wait(turns_, from.filled);
  const std::int64_t first = to.ready, vectors = count - first;
  const auto at = [&](Slot& slot, std::int64_t element) {
    return slot.memory.address() + static_cast<DeviceAddress>(element) * size_of(element_);
  };
  // `from` has vectors as rows where `to` has steps, and vice versa.
  operations::RowsInMemory rows{.type = element_};
  if (layout_.by_steps) {
    rows.rows = vectors;
    rows.columns = panel.steps;
    rows.pitch = panel.padded_steps;
    transposition_->run(rows, at(from, first * rows.pitch), at(to, first), panel.padded_vectors, 0,
                        turns_);
  } else {
    rows.rows = panel.steps;
    rows.columns = vectors;
    rows.pitch = panel.padded_vectors;
    transposition_->run(rows, at(from, first), at(to, first * panel.padded_steps),
                        panel.padded_steps, 0, turns_);
  }
  to.ready = count;
  device_.record(to.filled, turns_);
  device_.record(from.used[0], turns_);
  from.in_use[0] = true;
}

DeviceAddress OperandPanels::use(const Panel& panel, std::int64_t count, const Stream& stream) {
  if (layout_.transposed) transpose(panel, count);
  current_ = layout_.transposed ? &slots_[1] : holder(panel);
  device_.wait(stream, current_->filled);
  return current_->memory.address();
}

void OperandPanels::record_use(std::size_t index, const Stream& stream) {
  device_.record(current_->used[index], stream);
  current_->in_use[index] = true;
}

}  // namespace tilescope::transfer
