// Panels of one operand of a product in tiles: on their way to the device while others are in use.
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

/// Of an operand seen as vectors x steps (A itself; B transposed): which vectors, which steps of k,
/// and how many of both it takes in memory.
struct Panel {
  std::int64_t first_vector = 0, vectors = 0;
  std::int64_t first_step = 0, steps = 0;
  std::int64_t padded_vectors = 0, padded_steps = 0;

  friend bool operator==(const Panel&, const Panel&) = default;
};

struct PanelLayout {
  bool by_steps = false;  ///< in memory step after step, else vector after vector
  /// It comes from the host in the other layout and is turned on the device; else the host does
  /// what there is to do.
  bool turned = false;
  bool zero_padded = false;
};

/// Two buffers. The one that is not in use is filled with the next panel; or the first receives
/// what the second gets turned, once nobody reads that any more.
class OperandPanels {
 public:
  /// `operand`: vectors x steps. `largest`: no panel takes more. `streams`: how many streams will
  /// use() panels.
  OperandPanels(Device& device, Stager& uploads, const ConstMatrixView& operand, DataType element,
                const PanelLayout& layout, std::size_t largest_bytes, std::size_t streams,
                const char* name);

  /// Queues the upload of the first `count` vectors of a panel, or of what is missing of them. The
  /// panel that was used last stays, until the next one is used.
  void fetch(const Panel& panel, std::int64_t count);

  /// Lets what is queued in `stream` from now on find the first `count` vectors of a panel that
  /// were fetched at the address that is returned.
  DeviceAddress use(const Panel& panel, std::int64_t count, const Stream& stream);

  /// What is queued in `stream`, number `index` of those that use panels, reads the panel used
  /// last.
  void record_use(std::size_t index, const Stream& stream);

  /// Elements between the vectors, or steps, of a panel in memory.
  std::int64_t leading(const Panel& panel) const {
    return layout_.by_steps ? panel.padded_vectors : panel.padded_steps;
  }

 private:
  struct Slot {
    Buffer memory;
    Panel content;
    std::int64_t ready = 0;  ///< vectors whose way here is queued
    Event filled;
    std::vector<Event> used;
    std::vector<bool> in_use;
  };

  Slot* holder(const Panel& panel);
  Slot& start(Slot& slot, const Panel& panel, const Stream& stream);
  void upload(Slot& slot, std::int64_t first, std::int64_t count);
  void turn(const Panel& panel, std::int64_t count);

  Device& device_;
  Stager& uploads_;
  ConstMatrixView operand_;
  DataType element_;
  PanelLayout layout_;
  std::array<Slot, 2> slots_;
  Slot* current_ = nullptr;
  Stream turns_;
  std::optional<operations::Turning> turning_;
};

}  // namespace tilescope::transfer
