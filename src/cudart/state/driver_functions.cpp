#include "cudart/state/driver_functions.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "cudart/state/failure.hpp"
#include "device/cuda/driver.hpp"
#include "emulator/tensor_map_image.hpp"

namespace tilescope::cudart {
namespace {

using emulator::TensorElement;
using emulator::TensorMapImage;

/// The parameters that tiled and im2col maps have in common.
struct TensorParameters {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t* extents;
  const cuuint64_t* strides;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapFloatOOBfill fill;
};

/// A number that does not fit becomes one that breaks the rule for it.
template <class Field, class Number>
Field narrowed(Number value) {
  constexpr auto most = std::numeric_limits<Field>::max();
  constexpr auto least = std::numeric_limits<Field>::min();
  if (std::cmp_greater(value, most)) return most;
  return std::cmp_less(value, least) ? least : static_cast<Field>(value);
}

/// The driver numbers some types differently than PTX.
TensorElement element_of(CUtensorMapDataType type) {
  using enum TensorElement;
  constexpr TensorElement elements[] = {u8,  u16, u32,  s32,     u64,  s64,     f16,
                                        f32, f64, bf16, f32_ftz, tf32, tf32_ftz};
  const auto number = static_cast<std::size_t>(type);
  return number < std::size(elements) ? elements[number] : count_;
}

bool set_common(const TensorParameters& p, TensorMapImage& map) {
  if (p.extents == nullptr || p.element_strides == nullptr ||
      p.rank > emulator::kMostTensorDimensions || (p.strides == nullptr && p.rank > 1)) {
    return false;
  }
  map.address = reinterpret_cast<std::uint64_t>(p.address);
  map.type = element_of(p.type);
  map.rank = static_cast<std::uint8_t>(p.rank);
  for (std::size_t d = 0; d < p.rank; ++d) {
    map.extents[d] = p.extents[d];
    map.element_strides[d] = narrowed<std::uint8_t>(p.element_strides[d]);
    if (d != 0) map.strides[d - 1] = p.strides[d - 1];
  }
  map.interleave = static_cast<emulator::TensorInterleave>(
      narrowed<std::uint8_t>(static_cast<int>(p.interleave)));
  map.swizzle =
      static_cast<emulator::TensorSwizzle>(narrowed<std::uint8_t>(static_cast<int>(p.swizzle)));
  map.fill = static_cast<emulator::TensorFill>(narrowed<std::uint8_t>(static_cast<int>(p.fill)));
  return true;
}

/// Says what is wrong, as the driver's code does not.
CUresult finish(const char* function, const TensorMapImage& map, CUtensorMap* to) {
  constexpr std::uintptr_t kAlignment = 64;
  std::string problem = tensor_map_problem(map);
  if (reinterpret_cast<std::uintptr_t>(to) % kAlignment != 0) {
    problem = "the map's own address is no multiple of 64";
  }
  if (!problem.empty()) {
    complain(fmt::format("{}: {}", function, problem));
    return CUDA_ERROR_INVALID_VALUE;
  }
  static_assert(sizeof map == sizeof *to);
  std::memcpy(to, &map, sizeof map);
  return CUDA_SUCCESS;
}

CUresult encode_tiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                      CUtensorMapFloatOOBfill fill) {
  TensorMapImage map;
  const TensorParameters common{type,       rank,    address, extents, strides, element_strides,
                                interleave, swizzle, fill};
  if (to == nullptr || box == nullptr || !set_common(common, map)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t d = 0; d < rank; ++d) map.box[d] = narrowed<std::uint16_t>(box[d]);
  return finish("cuTensorMapEncodeTiled", map, to);
}

CUresult encode_im2col(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                       const cuuint64_t* extents, const cuuint64_t* strides, const int* lower,
                       const int* upper, cuuint32_t channels, cuuint32_t pixels,
                       const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                       CUtensorMapFloatOOBfill fill) {
  TensorMapImage map;
  map.mode = emulator::TensorMode::im2col;
  const TensorParameters common{type,       rank,    address, extents, strides, element_strides,
                                interleave, swizzle, fill};
  if (to == nullptr || lower == nullptr || upper == nullptr || !set_common(common, map)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    map.lower[i] = narrowed<std::int16_t>(lower[i]);
    map.upper[i] = narrowed<std::int16_t>(upper[i]);
  }
  map.channels = narrowed<std::uint16_t>(channels);
  map.pixels = narrowed<std::uint16_t>(pixels);
  return finish("cuTensorMapEncodeIm2col", map, to);
}

CUresult encode_im2col_wide(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, int, int, cuuint32_t, cuuint32_t, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  complain("cuTensorMapEncodeIm2colWide is not supported: it needs compute capability 10.0");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult replace_address(CUtensorMap* of, void* address) {
  if (of == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto map = std::bit_cast<TensorMapImage>(*of);
  map.address = reinterpret_cast<std::uint64_t>(address);
  return finish("cuTensorMapReplaceAddress", map, of);
}

void* replacement(std::string_view name) {
  if (name == "cuTensorMapEncodeTiled") return reinterpret_cast<void*>(encode_tiled);
  if (name == "cuTensorMapEncodeIm2col") return reinterpret_cast<void*>(encode_im2col);
  if (name == "cuTensorMapEncodeIm2colWide") return reinterpret_cast<void*>(encode_im2col_wide);
  if (name == "cuTensorMapReplaceAddress") return reinterpret_cast<void*>(replace_address);
  return nullptr;
}

}  // namespace

DriverFunction replaced_driver_function(std::string_view name) {
  void* const function = replacement(name);
  return {function,
          function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound};
}

DriverFunction found_driver_function(const char* name, unsigned version, unsigned long long flags) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const device::Driver& driver = device::Driver::instance();
  const CUresult result =
      driver.entry_point(name, &function, static_cast<int>(version), flags, &status);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_FOUND) {
    driver.check(result, "cuGetProcAddress", name);
  }
  return {function, static_cast<cudaDriverEntryPointQueryResult>(status)};
}

}  // namespace tilescope::cudart
