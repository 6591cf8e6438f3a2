#include "device/cuda/cublas_lt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tilescope/error.hpp>
#include <vector>

#include "base/cuda_paths.hpp"
#include "base/dynamic_library.hpp"
#include "base/errors.hpp"

namespace tilescope::device {
namespace {

// cublasLt's C interface, as its reference documents it, as far as it is needed here.
using Status = int;
constexpr Status success = 0;

// cudaDataType
constexpr int real_32f = 0, real_64f = 1, real_16f = 2, real_16bf = 14, integer_8 = 3,
              integer_32 = 10, real_8f_e4m3 = 28, real_8f_e5m2 = 29;
// cublasComputeType_t: float32 sums in IEEE arithmetic, float32 with TF32 products, float64, int32.
constexpr int compute_32f = 68, compute_32f_fast_tf32 = 77, compute_64f = 70, compute_32i = 72;
// cublasOperation_t
constexpr std::int32_t no_transpose = 0, transpose = 1;
// cublasLtMatmulDescAttributes_t
constexpr int desc_transa = 3, desc_transb = 4, desc_fast_accumulation = 25;
// cublasLtMatrixLayoutAttribute_t
constexpr int layout_batch_count = 5, layout_batch_stride = 6;
// cublasLtMatmulPreferenceAttributes_t
constexpr int preference_workspace = 1;

// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t
struct Algorithm {
  std::uint64_t data[8];
};
struct Proposal {
  Algorithm algorithm;
  std::size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

struct Library {
  DynamicLibrary shared_object;
  std::string failure;
  Status (*create)(void**) = nullptr;
  Status (*destroy)(void*) = nullptr;
  Status (*desc_create)(void**, int, int) = nullptr;
  Status (*desc_destroy)(void*) = nullptr;
  Status (*desc_set)(void*, int, const void*, std::size_t) = nullptr;
  Status (*layout_create)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  Status (*layout_destroy)(void*) = nullptr;
  Status (*layout_set)(void*, int, const void*, std::size_t) = nullptr;
  Status (*preference_create)(void**) = nullptr;
  Status (*preference_destroy)(void*) = nullptr;
  Status (*preference_set)(void*, int, const void*, std::size_t) = nullptr;
  Status (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, Proposal*,
                      int*) = nullptr;
  Status (*matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const Algorithm*, void*, std::size_t,
                   void*) = nullptr;
  const char* (*status_string)(Status) = nullptr;

  bool load_all() {
    const DynamicLibrary& l = shared_object;
    return l.load("cublasLtCreate", create) && l.load("cublasLtDestroy", destroy) &&
           l.load("cublasLtMatmulDescCreate", desc_create) &&
           l.load("cublasLtMatmulDescDestroy", desc_destroy) &&
           l.load("cublasLtMatmulDescSetAttribute", desc_set) &&
           l.load("cublasLtMatrixLayoutCreate", layout_create) &&
           l.load("cublasLtMatrixLayoutDestroy", layout_destroy) &&
           l.load("cublasLtMatrixLayoutSetAttribute", layout_set) &&
           l.load("cublasLtMatmulPreferenceCreate", preference_create) &&
           l.load("cublasLtMatmulPreferenceDestroy", preference_destroy) &&
           l.load("cublasLtMatmulPreferenceSetAttribute", preference_set) &&
           l.load("cublasLtMatmulAlgoGetHeuristic", heuristic) &&
           l.load("cublasLtMatmul", matmul) && l.load("cublasLtGetStatusString", status_string);
  }

  static const Library& instance() {
    static const Library opened = [] {
      Library l;
      l.shared_object = DynamicLibrary::open(
          cuda_library_candidates({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}),
          &l.failure);
      if (l.shared_object && !l.load_all()) {
        l.failure = l.shared_object.path() + " is older than CUDA 12";
      }
      return l;
    }();
    return opened;
  }
};

void check(Status status, const char* call) {
  if (status == success) return;
  throw device_error("{} failed: {}", call, Library::instance().status_string(status));
}

// An object that cublasLt creates and destroys.
class Object {
 public:
  using Destroy = Status (*)(void*);
  Object() = default;
  ~Object() {
    if (value_) destroy_(value_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  void* get() const { return value_; }
  // The place for the object that a create call returns.
  void** receive(Destroy destroy) {
    destroy_ = destroy;
    return &value_;
  }

 private:
  void* value_ = nullptr;
  Destroy destroy_ = nullptr;
};

int element_type(DataType type) {
  switch (type) {
    case DataType::float16:
      return real_16f;
    case DataType::bfloat16:
      return real_16bf;
    case DataType::float32:
      return real_32f;
    case DataType::float64:
      return real_64f;
    case DataType::float8_e4m3:
      return real_8f_e4m3;
    case DataType::float8_e5m2:
      return real_8f_e5m2;
    case DataType::int8:
      return integer_8;
    case DataType::int32:
      return integer_32;
    default:
      throw usage_error("cublasLt computes no products of {} here", name_of(type));
  }
}

int compute_type(Precision precision) {
  if (precision == Precision::fp64) return compute_64f;
  if (precision == Precision::int8) return compute_32i;
  return precision == Precision::tf32 ? compute_32f_fast_tf32 : compute_32f;
}

// The matrix in its memory order, for a library that knows column-major matrices only: `vectors`
// vectors of `length` elements.
void create_layout(Object& layout, const LtOperand& operand, std::int64_t length,
                   std::int64_t vectors, std::int64_t batch) {
  const Library& l = Library::instance();
  // cublasLt refuses a leading dimension of 0, which an empty vector may have.
  const std::int64_t leading = std::max({operand.leading, length, std::int64_t{1}});
  check(l.layout_create(layout.receive(l.layout_destroy), element_type(operand.type),
                        static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(vectors),
                        leading),
        "cublasLtMatrixLayoutCreate");
  if (batch == 1) return;
  const auto count = static_cast<std::int32_t>(batch);
  check(l.layout_set(layout.get(), layout_batch_count, &count, sizeof count),
        "cublasLtMatrixLayoutSetAttribute(BATCH_COUNT)");
  check(l.layout_set(layout.get(), layout_batch_stride, &operand.batch_stride,
                     sizeof operand.batch_stride),
        "cublasLtMatrixLayoutSetAttribute(STRIDED_BATCH_OFFSET)");
}

// The type of the sums, alpha and beta.
int scalar_type(Precision precision) {
  if (precision == Precision::fp64) return real_64f;
  return precision == Precision::int8 ? integer_32 : real_32f;
}

// alpha or beta in that type.
struct Scalar {
  float single = 0.0F;
  double twice = 0.0;
  std::int32_t whole = 0;
  int type;

  Scalar(double value, Precision precision)
      : single(static_cast<float>(value)),
        twice(value),
        whole(static_cast<std::int32_t>(value)),
        type(scalar_type(precision)) {}
  const void* address() const {
    if (type == real_64f) return &twice;
    return type == integer_32 ? static_cast<const void*>(&whole) : &single;
  }
};

}  // namespace

// A row-major C is, column-major, C^T = B^T * A^T: cublasLt's A is this B, and a row-major operand
// is already its transpose.
struct CublasLt::State {
  Object handle, description, layout_a, layout_b, layout_c;
  Scalar alpha, beta;
  Buffer workspace;
  std::vector<Proposal> proposals;

  explicit State(const LtProduct& p) : alpha(p.alpha, p.precision), beta(p.beta, p.precision) {}

  void describe(const LtProduct& p) {
    const Library& l = Library::instance();
    check(l.create(handle.receive(l.destroy)), "cublasLtCreate");
    check(l.desc_create(description.receive(l.desc_destroy), compute_type(p.precision),
                        scalar_type(p.precision)),
          "cublasLtMatmulDescCreate");
    if (!p.promotes_sums) {
      const std::int8_t fast = 1;
      check(l.desc_set(description.get(), desc_fast_accumulation, &fast, sizeof fast),
            "cublasLtMatmulDescSetAttribute(FAST_ACCUM)");
    }
    set_transposed(desc_transa, p.b);
    set_transposed(desc_transb, p.a);
    const auto layout = [&p](Object& to, const LtOperand& operand, std::int64_t rows,
                             std::int64_t columns) {
      const bool row_major = operand.order == Order::row_major;
      create_layout(to, operand, row_major ? columns : rows, row_major ? rows : columns, p.batch);
    };
    layout(layout_a, p.a, p.shape.m, p.shape.k);
    layout(layout_b, p.b, p.shape.k, p.shape.n);
    layout(layout_c, p.c, p.shape.m, p.shape.n);
  }

  void set_transposed(int attribute, const LtOperand& operand) {
    const std::int32_t form = operand.order == Order::row_major ? no_transpose : transpose;
    check(Library::instance().desc_set(description.get(), attribute, &form, sizeof form),
          "cublasLtMatmulDescSetAttribute(TRANS)");
  }

  void ask(std::size_t workspace_bytes) {
    const Library& l = Library::instance();
    Object preference;
    check(l.preference_create(preference.receive(l.preference_destroy)),
          "cublasLtMatmulPreferenceCreate");
    const std::uint64_t most = workspace_bytes;
    check(l.preference_set(preference.get(), preference_workspace, &most, sizeof most),
          "cublasLtMatmulPreferenceSetAttribute(MAX_WORKSPACE_BYTES)");
    std::array<Proposal, 32> answers{};
    int count = 0;
    check(l.heuristic(handle.get(), description.get(), layout_b.get(), layout_a.get(),
                      layout_c.get(), layout_c.get(), preference.get(),
                      static_cast<int>(answers.size()), answers.data(), &count),
          "cublasLtMatmulAlgoGetHeuristic");
    std::copy_if(answers.begin(), answers.begin() + count, std::back_inserter(proposals),
                 [](const Proposal& proposal) { return proposal.state == success; });
    if (proposals.empty()) {
      throw device_error("cublasLt has no algorithm for this product");
    }
  }
};

std::string CublasLt::missing() {
  const Library& library = Library::instance();
  if (library.status_string) return {};
  return fmt::format("cublasLt was not found ({})", library.failure);
}

CublasLt::CublasLt(Device& device, const LtProduct& product)
    : state_(std::make_unique<State>(product)) {
  if (const std::string why = missing(); !why.empty()) throw Error(ErrorKind::no_device, why);
  if (device.kind() != DeviceKind::cuda) {
    throw Error(ErrorKind::no_device, "cublasLt needs a CUDA device, not " + device.id());
  }
  if (product.c.order != Order::row_major) {
    throw usage_error("cublasLt is asked for row-major products only");
  }
  // Twice the workspace that cuBLAS itself allocates on a GPU of compute capability 9.0, so that
  // lack of memory excludes no algorithm.
  constexpr std::size_t workspace_bytes = std::size_t{64} << 20U;
  state_->workspace = device.allocate(workspace_bytes, "cublasLt's workspace");
  state_->describe(product);
  state_->ask(workspace_bytes);
}

CublasLt::~CublasLt() = default;

int CublasLt::algorithms() const {
  return static_cast<int>(state_->proposals.size());
}

void CublasLt::run(int index, DeviceAddress a, DeviceAddress b, DeviceAddress c,
                   const Stream& stream) const {
  const State& s = *state_;
  const auto pointer = [](std::uint64_t value) { return reinterpret_cast<void*>(value); };
  check(Library::instance().matmul(
            s.handle.get(), s.description.get(), s.alpha.address(), pointer(b), s.layout_b.get(),
            pointer(a), s.layout_a.get(), s.beta.address(), pointer(c), s.layout_c.get(),
            pointer(c), s.layout_c.get(), &s.proposals[static_cast<std::size_t>(index)].algorithm,
            pointer(s.workspace.address()), s.workspace.bytes(), pointer(stream.value())),
        "cublasLtMatmul");
}

}  // namespace tilescope::device
