#include "tensor.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <tilescope/error.hpp>
#include <unordered_map>

namespace tilescope::python {
namespace {

std::optional<DataType> data_type(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto one_of = [&](DataType bits8, DataType bits16, DataType bits32,
                          DataType bits64) -> std::optional<DataType> {
    switch (type.bits) {
      case 8:
        return bits8;
      case 16:
        return bits16;
      case 32:
        return bits32;
      case 64:
        return bits64;
      default:
        return std::nullopt;
    }
  };
  if (type.lanes != 1) return std::nullopt;
  // As DLPack 1.1 numbers them.
  constexpr std::uint8_t float8_e4m3fn = 10, float8_e5m2 = 12;
  if (type.bits == 8 && type.code == float8_e4m3fn) return DataType::float8_e4m3;
  if (type.bits == 8 && type.code == float8_e5m2) return DataType::float8_e5m2;
  switch (static_cast<Code>(type.code)) {
    case Code::Int:
      return one_of(DataType::int8, DataType::int16, DataType::int32, DataType::int64);
    case Code::UInt:
      return one_of(DataType::uint8, DataType::uint16, DataType::uint32, DataType::uint64);
    case Code::Float:
      if (type.bits == 16) return DataType::float16;
      if (type.bits == 32) return DataType::float32;
      if (type.bits == 64) return DataType::float64;
      return std::nullopt;
    case Code::Bfloat:
      return type.bits == 16 ? std::optional(DataType::bfloat16) : std::nullopt;
    case Code::Bool:
      return type.bits == 8 ? std::optional(DataType::boolean) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

[[noreturn]] void refuse(nb::handle object, const std::string& name, Access access) {
  nb::ndarray<nb::ro> readable;
  if (access == Access::write && nb::try_cast(object, readable, false)) {
    throw nb::value_error(
        fmt::format("{} is read-only; pass an array that can be written", name).c_str());
  }
  if (nb::hasattr(object, "dtype")) {
    const nb::object type = object.attr("dtype");
    const std::string type_name = nb::cast<std::string>(nb::str(nb::getattr(type, "name", type)));
    if (nb::cast<std::string>(nb::str(nb::getattr(type, "byteorder", nb::str("=")))) == ">") {
      throw nb::type_error(fmt::format("{} has big-endian elements of type {}; expected the "
                                       "machine's byte order: pass {}.astype('{}')",
                                       name, type_name, name, type_name)
                               .c_str());
    }
    throw nb::type_error(
        fmt::format("{} is a {} with elements of type {}; expected float16, bfloat16, float32, "
                    "float64, bool or integers of 8 to 64 bits",
                    name, class_name(object), type_name)
            .c_str());
  }
  throw nb::type_error(fmt::format("{} is a {}; expected a NumPy array, or a tensor with DLPack",
                                   name, class_name(object))
                           .c_str());
}

/// The type of elements that the package ml_dtypes adds to NumPy, or of PyTorch's 8-bit floats:
/// they are exchanged only as words, by some versions at least.
std::optional<DataType> type_of_words(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return std::nullopt;
  const nb::object type = object.attr("dtype");
  const std::string full_name = nb::cast<std::string>(nb::str(nb::getattr(type, "name", type)));
  const std::string name = full_name.substr(full_name.find('.') + 1);
  const bool is_numpy = nb::hasattr(object, "__array_interface__");
  if (is_numpy && name == "bfloat16") return DataType::bfloat16;
  const bool is_torch = full_name.starts_with("torch.");
  if ((is_numpy || is_torch) && name == "float8_e4m3fn") return DataType::float8_e4m3;
  if ((is_numpy || is_torch) && name == "float8_e5m2") return DataType::float8_e5m2;
  return std::nullopt;
}

/// The array itself, or a view of its words.
nb::object exchangeable(nb::handle object) {
  const std::optional<DataType> type = type_of_words(object);
  if (!type) return nb::borrow(object);
  const char* word = size_of(*type) == 1 ? "uint8" : "uint16";
  if (nb::hasattr(object, "__array_interface__")) return object.attr("view")(word);
  return object.attr("view")(nb::module_::import_("torch").attr(word));
}

/// Throws for tensors of PyTorch that are more than their elements: a result that forgets its
/// gradient would be a silent mistake, and the memory of a negated view has the other signs.
void require_plain(nb::handle object, const std::string& name) {
  const auto is_true = [](const nb::object& value) { return value.is(nb::handle(Py_True)); };
  if (nb::hasattr(object, "requires_grad") && is_true(object.attr("requires_grad"))) {
    throw nb::type_error(
        fmt::format("{} requires a gradient; pass {}.detach(), or use torch.ops.tilescope", name,
                    name)
            .c_str());
  }
  if (nb::hasattr(object, "is_neg") && is_true(object.attr("is_neg")())) {
    throw nb::type_error(
        fmt::format("{} is a negated view; pass {}.resolve_neg()", name, name).c_str());
  }
}

/// Calls `copy` with the offset of each run of `length` elements along the last dimension.
void for_each_row(const Tensor& tensor, const std::function<void(std::int64_t offset)>& copy) {
  const std::size_t outer = tensor.rank() ? tensor.rank() - 1 : 0;
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t offset = 0;
  for (;;) {
    copy(offset);
    std::size_t dimension = outer;
    for (; dimension > 0; --dimension) {
      const std::size_t d = dimension - 1;
      offset += tensor.stride(d);
      if (++index[d] < tensor.extent(d)) break;
      offset -= tensor.stride(d) * tensor.extent(d);
      index[d] = 0;
    }
    if (dimension == 0) return;
  }
}

/// Copies the elements between the array and dense memory, in the direction of `move`.
template <typename Move>
void walk(const Tensor& tensor, Move move) {
  if (tensor.count() == 0) return;
  const auto size = static_cast<std::int64_t>(size_of(tensor.type()));
  const std::size_t rank = tensor.rank();
  const std::int64_t length = rank ? tensor.extent(rank - 1) : 1;
  const std::int64_t step = (rank ? tensor.stride(rank - 1) : 1) * size;
  auto* const first = static_cast<std::byte*>(tensor.data());
  std::int64_t done = 0;
  for_each_row(tensor, [&](std::int64_t offset) {
    std::byte* const row = first + offset * size;
    if (step == size) {
      move(row, done, static_cast<std::size_t>(length * size));
    } else {
      for (std::int64_t i = 0; i < length; ++i) {
        move(row + i * step, done + i * size, static_cast<std::size_t>(size));
      }
    }
    done += length * size;
  });
}

}  // namespace

Tensor::Tensor(nb::handle object, const char* name, Access access)
    : Tensor(exchangeable(object), object, name, access) {
  if (const std::optional<DataType> type = type_of_words(object)) type_ = *type;
}

Tensor::Tensor(nb::handle exchanged, nb::handle object, const char* name, Access access)
    : name_(name) {
  const auto take = [&](const auto& array, auto* data) {
    const std::optional<DataType> type = data_type(array.dtype());
    if (!type) refuse(object, name_, Access::read);
    type_ = *type;
    for (std::size_t i = 0; i < array.ndim(); ++i) {
      shape_.push_back(static_cast<std::int64_t>(array.shape(i)));
      strides_.push_back(array.stride(i));
    }
    data_ = const_cast<void*>(static_cast<const void*>(data));
    device_type_ = array.device_type();
    device_id_ = array.device_id();
  };
  require_plain(object, name_);
  if (access == Access::write) {
    if (!nb::try_cast(exchanged, writable_, false)) refuse(object, name_, access);
    take(writable_, writable_.data());
    require_own_elements();
  } else {
    if (!nb::try_cast(exchanged, readable_, false)) refuse(object, name_, access);
    take(readable_, readable_.data());
  }
}

Tensor Tensor::on_gpu(nb::handle object, const char* name, Access access, const GpuQueue& queue) {
  if (queue.is_torch && nb::hasattr(object, "data_ptr")) {
    Tensor tensor = of_torch(object, name);
    if (access == Access::write) tensor.require_own_elements();
    return tensor;
  }
  const auto is_on_gpu = [&] {
    const nb::object device = object.attr("__dlpack_device__")();
    const int type = nb::cast<int>(nb::object(device[0]));
    return type == nb::device::cuda::value || type == nb::device::cuda_managed::value;
  };
  if (!nb::hasattr(object, "__dlpack_device__") || !is_on_gpu()) {
    return Tensor(object, name, access);
  }
  constexpr std::uintptr_t default_stream = 1;  // as DLPack numbers it
  const nb::object capsule =
      object.attr("__dlpack__")(nb::arg("stream") = queue.stream ? queue.stream : default_stream);
  return Tensor(capsule, object, name, access);
}

// Without DLPack, which would make streams wait: a capture forbids that.
Tensor Tensor::of_torch(nb::handle tensor, const char* name) {
  // Objects of torch.dtype live as long as the interpreter.
  static auto& known = *new std::unordered_map<PyObject*, DataType>;
  Tensor result;
  result.name_ = name;
  result.owner_ = nb::borrow(tensor);
  require_plain(tensor, result.name_);
  const nb::object type = tensor.attr("dtype");
  auto found = known.find(type.ptr());
  if (found == known.end()) {
    const std::string full_name = nb::cast<std::string>(nb::str(type));
    try {
      found = known.emplace(type.ptr(), parse_data_type(full_name.substr(full_name.find('.') + 1)))
                  .first;
    } catch (const Error&) {
      refuse(tensor, result.name_, Access::read);
    }
  }
  result.type_ = found->second;
  for (const nb::handle extent : nb::object(tensor.attr("shape"))) {
    result.shape_.push_back(nb::cast<std::int64_t>(extent));
  }
  for (const nb::handle stride : nb::object(tensor.attr("stride")())) {
    result.strides_.push_back(nb::cast<std::int64_t>(stride));
  }
  result.data_ =
      reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::object(tensor.attr("data_ptr")())));
  result.device_id_ = nb::cast<int>(nb::object(tensor.attr("get_device")()));
  result.device_type_ = result.device_id_ < 0 ? nb::device::cpu::value : nb::device::cuda::value;
  return result;
}

void Tensor::require_own_elements() const {
  if (count() == 0) return;
  for (std::size_t i = 0; i < rank(); ++i) {
    if (shape_[i] <= 1 || strides_[i] != 0) continue;
    throw nb::value_error(fmt::format("{} repeats elements (a stride of 0); pass an array in which "
                                      "each has memory of its own",
                                      name_)
                              .c_str());
  }
}

std::int64_t Tensor::count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_) count *= extent;
  return count;
}

bool Tensor::on_host() const {
  return device_type_ == nb::device::cpu::value || device_type_ == nb::device::cuda_host::value;
}

bool Tensor::on_cuda() const {
  return device_type_ == nb::device::cuda::value || device_type_ == nb::device::cuda_managed::value;
}

std::string Tensor::device_text() const {
  if (on_host()) return "cpu";
  return fmt::format("{}:{}", on_cuda() ? "cuda" : fmt::format("device type {}", device_type_),
                     device_id_);
}

bool Tensor::is_dense() const {
  if (count() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = rank(); i-- > 0;) {
    if (shape_[i] != 1 && strides_[i] != expected) return false;
    expected *= shape_[i];
  }
  return true;
}

bool Tensor::may_overlap(const Tensor& other) const {
  const auto bounds = [](const Tensor& tensor) {
    const auto size = static_cast<std::int64_t>(size_of(tensor.type_));
    auto first = reinterpret_cast<std::intptr_t>(tensor.data_), last = first + size;
    for (std::size_t i = 0; i < tensor.rank(); ++i) {
      const std::int64_t reach = (tensor.shape_[i] - 1) * tensor.strides_[i] * size;
      (reach < 0 ? first : last) += reach;
    }
    return std::pair(first, last);
  };
  if (count() == 0 || other.count() == 0) return false;
  const auto [first, last] = bounds(*this);
  const auto [other_first, other_last] = bounds(other);
  return first < other_last && other_first < last;
}

void Tensor::gather(void* to) const {
  walk(*this, [to](const std::byte* element, std::int64_t offset, std::size_t bytes) {
    std::memcpy(static_cast<std::byte*>(to) + offset, element, bytes);
  });
}

void Tensor::scatter(const void* from) const {
  walk(*this, [from](std::byte* element, std::int64_t offset, std::size_t bytes) {
    std::memcpy(element, static_cast<const std::byte*>(from) + offset, bytes);
  });
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

void require_on_host(const Tensor& tensor) {
  if (tensor.on_host()) return;
  throw nb::value_error(fmt::format("{} lies on {}; this call takes arrays in host memory",
                                    tensor.name(), tensor.device_text())
                            .c_str());
}

void require_on_gpu_of(const Tensor& first, const Tensor& tensor) {
  if (tensor.on_cuda() && tensor.device_id() == first.device_id()) return;
  throw nb::value_error(
      fmt::format("{} lies on {} and {} on {}; the operands must be on one device", tensor.name(),
                  tensor.device_text(), first.name(), first.device_text())
          .c_str());
}

DenseElements::DenseElements(const Tensor& tensor) : data_(tensor.data()) {
  require_on_host(tensor);
  if (tensor.is_dense()) return;
  copy_.resize(static_cast<std::size_t>(tensor.count()) * size_of(tensor.type()));
  tensor.gather(copy_.data());
  data_ = copy_.data();
}

DenseResult::DenseResult(const Tensor& tensor, bool apart, bool reads)
    : tensor_(tensor), data_(tensor.data()) {
  require_on_host(tensor);
  if (tensor.is_dense() && !apart) return;
  copy_.resize(static_cast<std::size_t>(tensor.count()) * size_of(tensor.type()));
  if (reads) tensor.gather(copy_.data());
  data_ = copy_.data();
}

void DenseResult::store() {
  if (data_ != tensor_.data()) tensor_.scatter(data_);
}

}  // namespace tilescope::python
