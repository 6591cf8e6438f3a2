// One product over several devices of one host.
//
//     std::vector<std::shared_ptr<tilescope::Device>> gpus = tilescope::open_devices("all");
//     tilescope::matmul_sharded(gpus, a, b, c, {.precision = Precision::bf16});  // host memory
//
//     // Or shards that lie in the GPUs' memory: rows of A, of B and of C.
//     const tilescope::ShardedGemm product(gpus, a_shards, b_shards, c_shards);
//     product.launch(streams);
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tilescope/device.hpp"
#include "tilescope/matmul.hpp"

namespace tilescope {

/// The devices of a list such as "cuda:0,cuda:1" or "emulated,emulated"; "all": every CUDA GPU.
/// Throws Error: usage for an unknown name, a GPU named twice and an empty list; no_device where
/// there is none.
std::vector<std::shared_ptr<Device>> open_devices(std::string_view list);

/// When a call for matrices in host memory got how far, in milliseconds from its begin, on the
/// device that was last.
struct HostTimes {
  double planned = 0.0;      ///< how to compute is chosen
  double allocated = 0.0;    ///< A, B, C and panels are
  double prepared = 0.0;     ///< kernels are loaded
  double copying = 0.0;      ///< all devices are: the first copy may begin
  double multiplying = 0.0;  ///< the first product begins
  double uploaded = 0.0;
  double multiplied = 0.0;
  double downloaded = 0.0;
  double freed = 0.0;
};

/// How a product over several devices was computed.
struct ShardedReport {
  /// The kernel. compute_ms: from the begin of a device's first product to the end of its last,
  /// while operands come and C goes; 0 for ShardedGemm.
  MatmulReport product;
  HostTimes times;                 ///< of matrices in host memory
  std::int64_t panels = 0;         ///< panels of columns in which B goes round
  std::size_t received_bytes = 0;  ///< from other devices, by the device that receives most
  bool is_direct = true;           ///< whether no byte between devices passes through host memory
};

/// C = activation(alpha * A * B + beta * C + bias) over several devices, prepared.
///
/// Device i owns the i-th rows of A (m_i x k), of B (k_i x n) and of C (m_i x n), where the m_i add
/// up to m and the k_i to k; any of them may be 0. It computes its rows of C. Panels of B's columns
/// come to it from all devices by their copy engines while it multiplies. k is not cut: where each
/// device takes the kernel and plan that one device would take for the whole product, the bits are
/// those of one device, and report().product.note says so if one does not.
///
/// Each device holds up to three panels of B beside its shards, an eighth of B each; all of B where
/// the product is small, the kernel converts operands, or it waits for B itself while it runs,
/// which needs a B of at most a sixteenth of the device's memory.
class ShardedGemm {
 public:
  /// Views as for PreparedGemm, their data in the memory of their device. C is row-major. The bias
  /// lies in host memory, and is read once, here.
  ///
  /// Errors: usage for shards that do not fit each other, types, a bias or a variant that do not
  /// fit, a column-major C, and the CPU device; no_device as Device says.
  ShardedGemm(std::span<const std::shared_ptr<Device>> devices, std::span<const ConstMatrixView> a,
              std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
              const MatmulOptions& options = {});
  ShardedGemm(ShardedGemm&& other) noexcept;
  ShardedGemm& operator=(ShardedGemm&& other) noexcept;
  ~ShardedGemm();

  /// Queues the product on one stream of each device; none: on their default streams. What was
  /// queued there before has happened to the shards when they are read, and what is queued there
  /// afterwards happens when no device reads them any more. Not while another launch of the same
  /// object runs.
  void launch(std::span<const Stream> streams = {});

  const ShardedReport& report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same product of matrices in host memory. Each device receives its rows of A and B, and gives
/// back its rows of C, all at once; rows of A and panels of B come and panels of C go while it
/// multiplies, where the memory is pinned.
///
/// Errors: as matmul()'s and ShardedGemm's.
ShardedReport matmul_sharded(std::span<const std::shared_ptr<Device>> devices,
                             const ConstMatrixView& a, const ConstMatrixView& b,
                             const MatrixView& c, const MatmulOptions& options = {});

}  // namespace tilescope
