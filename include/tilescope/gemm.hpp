// Matrix products of operands that already lie in a device's memory, on the caller's stream.
//
//     const auto gpu = tilescope::Device::open("cuda");
//     const tilescope::PreparedGemm product(
//         *gpu, dense_view(a, DataType::bfloat16, m, k), dense_view(b, DataType::bfloat16, k, n),
//         dense_view(c, DataType::bfloat16, m, n));       // device pointers
//     product.launch(tilescope::stream_of(stream));       // a cudaStream_t or CUstream
//
// Views are those of matmul(), with `data` an address in the device's memory: a device pointer on a
// GPU, a Buffer's address on the emulated device, a host pointer on the CPU. The bias is in the
// device's memory too. A GPU's work runs in the device's primary context, which is that of the CUDA
// run time; every call makes it the current one of the calling thread.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tilescope/device.hpp"
#include "tilescope/matmul.hpp"

namespace tilescope {

/// A stream that somebody else owns: a cudaStream_t or CUstream of the device's primary context.
/// nullptr is the default stream.
Stream stream_of(void* native);

/// Memory for a product's intermediate results, in the device's memory, at a multiple of 256 bytes.
struct GemmWorkspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// A std::span of elements in device memory. A vector is none: its memory is the host's.
template <typename T>
concept ElementSpan = ElementRange<T> && std::ranges::view<T>;

/// A product that is ready to run: kernel chosen and compiled, memory allocated, arguments made.
/// C = activation(alpha * A * B + beta * C + bias), as matmul() computes it.
///
/// - launch() only queues kernels. It does not allocate, compile, copy or wait, so it may be
///   captured in a CUDA graph. The object must outlive the graph and the work that it queued.
/// - Any thread may launch. Launches that may overlap on the device need an object each unless
///   workspace_bytes() is 0, because they share the workspace.
/// - Operands that begin at multiples of 16 bytes are fastest.
///
/// On the CPU device launch() computes, and returns when C is there.
class PreparedGemm {
 public:
  /// Errors: usage for shapes, types, a bias or a variant that do not fit, for a C that shares
  /// memory with A, B or the bias, and for a workspace that is too small; no_device as Device says.
  PreparedGemm(Device& device, const ConstMatrixBatch& a, const ConstMatrixBatch& b,
               const MatrixBatch& c, const MatmulOptions& options = {},
               const GemmWorkspace& workspace = {});
  PreparedGemm(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
               const MatrixView& c, const MatmulOptions& options = {},
               const GemmWorkspace& workspace = {});
  /// Products of matrices of any shapes and orders at any addresses, as many A as B and C, in one
  /// launch. All A have one type, and so have all B and all C. The matrices of C must not overlap.
  /// A bias belongs to every product, and needs matrices of C with as many columns and one order.
  ///
  ///     const std::vector<ConstMatrixView> tokens{...}, weights{...};  // of experts
  ///     const PreparedGemm product(*gpu, tokens, weights, results);
  ///
  /// - The matrices of a list may have no rows, columns or k.
  /// - Lists of one shape at equal distances are a batch. Others of one shape take a launch for
  /// each
  ///   product where these have 4 GFLOP or more, and where `options.variant` is a kernel for single
  ///   products. "grouped" and "grouped_tiles" are the kernels for groups.
  PreparedGemm(Device& device, std::span<const ConstMatrixView> a,
               std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
               const MatmulOptions& options = {}, const GemmWorkspace& workspace = {});
  /// A product of dense row-major matrices in spans of device memory, whose types are the
  /// matrices'. Errors: also usage for a span that has not as many elements as its matrix.
  ///
  ///     const PreparedGemm product(*gpu, std::span<const float>(a, m * k), b, c, {m, n, k});
  template <ElementSpan A, ElementSpan B, ElementSpan C>
  PreparedGemm(Device& device, A a, B b, C c, const MatmulShape& shape,
               const MatmulOptions& options = {}, const GemmWorkspace& workspace = {})
      : PreparedGemm(device, DenseOperands(a, b, c, shape), options, workspace) {}
  PreparedGemm(PreparedGemm&& other) noexcept;
  PreparedGemm& operator=(PreparedGemm&& other) noexcept;
  ~PreparedGemm();

  /// Queues the product. The stream belongs to the device.
  void launch(const Stream& stream = {}) const;

  /// Takes other matrices of the same shapes, types and layouts from the next launch on, without
  /// compiling or allocating. Not while another thread launches. `bias` is ignored if there is
  /// none.
  ///
  /// Errors: usage for a C that shares memory with A, B or the bias, for an address whose last four
  /// bits are not those of the matrix it replaces, since other kernels may be needed, and for
  /// products of lists.
  void set_operands(const void* a, const void* b, void* c, const float* bias = nullptr);

  /// The device memory that the product uses besides its operands, whoever allocated it.
  std::size_t workspace_bytes() const;
  /// The kernel, its precision and a remark; compute_ms is 0.
  const MatmulReport& report() const;

 private:
  PreparedGemm(Device& device, const DenseOperands& operands, const MatmulOptions& options,
               const GemmWorkspace& workspace)
      : PreparedGemm(device, operands.a, operands.b, operands.c, options, workspace) {}

  struct State;
  std::unique_ptr<State> state_;
};

/// The least GemmWorkspace::bytes for a product; 0: it needs none. Compiles nothing. Errors as
/// PreparedGemm's.
std::size_t gemm_workspace_bytes(const Device& device, const ConstMatrixBatch& a,
                                 const ConstMatrixBatch& b, const MatrixBatch& c,
                                 const MatmulOptions& options = {});

/// The same for lists of matrices.
std::size_t gemm_workspace_bytes(const Device& device, std::span<const ConstMatrixView> a,
                                 std::span<const ConstMatrixView> b, std::span<const MatrixView> c,
                                 const MatmulOptions& options = {});

/// Products of changing operands on one device: prepares a product when its shapes, types, layouts,
/// options and stream are new, and keeps it.
///
///     tilescope::Gemm gemm(gpu);
///     gemm(a, b, c, {.precision = Precision::fp32_fast}, stream_of(stream));
///
/// - The products of one stream share a workspace of the size of the largest. A product that is new
///   to it may compile, allocate and wait for the device; every other call only queues kernels.
/// - Any thread may call.
/// - Capturing in a CUDA graph: call once before, and keep the object and the operands. A larger
///   product on the same stream invalidates the graph; PreparedGemm with a workspace does not.
class Gemm {
 public:
  explicit Gemm(std::shared_ptr<Device> device);
  Gemm(Gemm&& other) noexcept;
  Gemm& operator=(Gemm&& other) noexcept;
  ~Gemm();

  /// Queues the product on the stream. Errors as PreparedGemm's.
  void operator()(const ConstMatrixBatch& a, const ConstMatrixBatch& b, const MatrixBatch& c,
                  const MatmulOptions& options = {}, const Stream& stream = {});
  void operator()(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                  const MatmulOptions& options = {}, const Stream& stream = {});
  /// Products of lists of matrices, as PreparedGemm takes them. Lists that are new are prepared,
  /// which allocates and waits for a copy of their table; the 64 latest are kept.
  void operator()(std::span<const ConstMatrixView> a, std::span<const ConstMatrixView> b,
                  std::span<const MatrixView> c, const MatmulOptions& options = {},
                  const Stream& stream = {});
  /// The same for dense row-major matrices in spans of device memory, as PreparedGemm takes them.
  template <ElementSpan A, ElementSpan B, ElementSpan C>
  void operator()(A a, B b, C c, const MatmulShape& shape, const MatmulOptions& options = {},
                  const Stream& stream = {}) {
    const DenseOperands operands(a, b, c, shape);
    (*this)(operands.a, operands.b, operands.c, options, stream);
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope
