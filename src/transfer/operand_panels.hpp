// Panels of one operand of a product in tiles, copied to the device while others are in use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>
#include <vector>

#include "operations/gemm/operands/tensor_layout.hpp"
#include "transfer/staging.hpp"

namespace tilescope::transfer {

/// A part of an operand seen as vectors x steps (A itself; B transposed): its vectors, its steps of
/// k, and the number of both in memory.
struct Panel {
  std::int64_t first_vector = 0, vectors = 0;
  std::int64_t first_step = 0, steps = 0;
  std::int64_t padded_vectors = 0, padded_steps = 0;

  friend bool operator==(const Panel&, const Panel&) = default;
};

struct PanelLayout {
  bool by_steps = false;  ///< in memory step after step, else vector after vector
  /// The panel arrives in the other layout and is transposed on the device; otherwise the host does
  /// the conversion.
  bool transposed = false;
  bool zero_padded = false;
};

/// Two buffers. The unused one is filled with the next panel. Or the first receives the transposed
/// contents of the second, once nothing reads the first any more.
class OperandPanels {
 public:
  /// `operand`: vectors x steps. `largest`: the most that a panel takes. `streams`: how many
  /// streams will use() panels.
  OperandPanels(Device& device, Stager& uploads, const ConstMatrixView& operand, DataType element,
                const PanelLayout& layout, std::size_t largest_bytes, std::size_t streams,
                const char* name);

  /// Queues the upload of the first `count` vectors of a panel, or of the missing ones. The panel
  /// used last stays until the next one is used.
  void fetch(const Panel& panel, std::int64_t count);

  /// Returns the address of a panel whose first `count` vectors were fetched; work queued in
  /// `stream` from now on finds them there.
  DeviceAddress use(const Panel& panel, std::int64_t count, const Stream& stream);

  /// Records that work queued in `stream`, number `index` of the streams that use panels, reads the
  /// panel used last.
  void record_use(std::size_t index, const Stream& stream);

  /// Elements between the vectors, or steps, of a panel in memory.
  std::int64_t leading(const Panel& panel) const {
    return layout_.by_steps ? panel.padded_vectors : panel.padded_steps;
  }

 private:
  struct Slot {
    Buffer memory;
    Panel content;
    std::int64_t ready = 0;  ///< vectors whose upload is queued
    Event filled;
    std::vector<Event> used;
    std::vector<bool> in_use;
  };

  Slot* holder(const Panel& panel);
  Slot& start(Slot& slot, const Panel& panel, const Stream& stream);
  void upload(Slot& slot, std::int64_t first, std::int64_t count);
  void transpose(const Panel& panel, std::int64_t count);

  Device& device_;
  Stager& uploads_;
  ConstMatrixView operand_;
  DataType element_;
  PanelLayout layout_;
  std::array<Slot, 2> slots_;
  Slot* current_ = nullptr;
  Stream turns_;
  std::optional<operations::Transposition> transposition_;
};

}  // namespace tilescope::transfer
