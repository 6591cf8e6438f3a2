#include "device/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/symbol_names.hpp"
#include "device/loading/ptx_kernel.hpp"
#include "gpu/launch_limits.hpp"

namespace tilescope::device {
namespace {

CUstream native(const Stream& stream) {
  return reinterpret_cast<CUstream>(stream.value());
}
CUevent native(const Event& event) {
  return reinterpret_cast<CUevent>(event.value());
}

CUtensorMapSwizzle native(Swizzle swizzle) {
  constexpr CUtensorMapSwizzle in_order[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                             CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
  return in_order[static_cast<std::size_t>(swizzle)];
}
// Copies move bits: only the size of an element's type matters.
CUtensorMapDataType native(DataType type) {
  switch (size_of(type)) {
    case 1:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case 2:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case 4:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  }
}

/// Of the GPU's memory, a pool keeps one in so many bytes for the next call: what a product of
/// 16,384 in float32 takes on each of two GPUs of 80 GB.
constexpr std::size_t part_kept = 32;

/// Kernels that stay loaded without a user: more than any product takes.
constexpr std::size_t most_kept_kernels = 16;

std::size_t hash_of(const compile::Program& program) {
  return std::hash<std::string>()(program.cubin.empty() ? program.ptx : program.cubin);
}

}  // namespace

CudaDevice::CudaDevice(int ordinal, const Driver& driver)
    : driver_(driver), ordinal_(ordinal), textures_(driver) {
  int count = 0;
  driver_.check(driver_.device_count(&count), "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count) {
    throw Error(ErrorKind::no_device,
                fmt::format("there is no device cuda:{}: this machine has {} CUDA device{}{}",
                            ordinal, count, count == 1 ? "" : "s",
                            count ? fmt::format(", cuda:0 to cuda:{}", count - 1) : ""));
  }
  driver_.check(driver_.device_get(&device_, ordinal), "cuDeviceGet");
  driver_.check(driver_.primary_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
  make_current();
  properties_ = query_properties(driver_, device_);
  if (MemoryPools::are_supported(driver_, device_)) {
    pools_.emplace(driver_, device_, properties_.global_bytes / part_kept);
  }
}

CudaDevice::~CudaDevice() {
  enter();
  kept_.clear();
  pools_.reset();
  driver_.primary_release(device_);
}

std::string CudaDevice::id() const {
  return fmt::format("cuda:{}", ordinal_);
}

void CudaDevice::make_current() const {
  CUcontext current = nullptr;  // to ask is cheaper than to set
  if (driver_.get_current(&current) == CUDA_SUCCESS && current == context_) return;
  driver_.check(driver_.set_current(context_), "cuCtxSetCurrent");
}

std::uint64_t CudaDevice::new_stream() {
  make_current();
  CUstream stream = nullptr;
  driver_.check(driver_.stream_create(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return reinterpret_cast<std::uint64_t>(stream);
}

void CudaDevice::free_stream(std::uint64_t stream) noexcept {
  enter();
  driver_.stream_destroy(reinterpret_cast<CUstream>(stream));
}

std::uint64_t CudaDevice::new_event() {
  make_current();
  CUevent event = nullptr;
  driver_.check(driver_.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  return reinterpret_cast<std::uint64_t>(event);
}

void CudaDevice::free_event(std::uint64_t event) noexcept {
  enter();
  driver_.event_destroy(reinterpret_cast<CUevent>(event));
}

// Without a stream a copy has happened when the call returns; the driver's own synchronous calls
// may return while the last bytes of pageable memory are still on their way.
void CudaDevice::finish_copy(const Stream& stream) {
  if (stream.value() == 0) synchronize(stream);
}

void CudaDevice::copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                                const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  driver_.check(driver_.copy_to_device(to, from, bytes, native(stream)), "cuMemcpyHtoD");
  finish_copy(stream);
}

void CudaDevice::copy_to_host(void* to, DeviceAddress from, std::size_t bytes,
                              const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  driver_.check(driver_.copy_to_host(to, from, bytes, native(stream)), "cuMemcpyDtoH");
  finish_copy(stream);
}

void CudaDevice::queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                            const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  driver_.check(driver_.copy_on_device(to, from, bytes, native(stream)), "cuMemcpy");
}

void CudaDevice::fill(DeviceAddress to, std::uint8_t value, std::size_t bytes,
                      const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  driver_.check(driver_.set_bytes(to, value, bytes, native(stream)), "cuMemsetD8");
}

bool CudaDevice::queue_rows(CUDA_MEMCPY2D copy, std::size_t row_bytes, std::size_t rows,
                            const Stream& stream) {
  if (row_bytes == 0 || rows == 0) return false;
  copy.WidthInBytes = row_bytes;
  copy.Height = rows;
  make_current();
  driver_.check(driver_.copy_2d(&copy, native(stream)), "cuMemcpy2D");
  return true;
}

void CudaDevice::copy_rows_to_device(DeviceAddress to, std::size_t to_pitch, const void* from,
                                     std::size_t from_pitch, std::size_t row_bytes,
                                     std::size_t rows, const Stream& stream) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.dstPitch = to_pitch;
  if (queue_rows(copy, row_bytes, rows, stream)) finish_copy(stream);
}

void CudaDevice::copy_rows_to_host(void* to, std::size_t to_pitch, DeviceAddress from,
                                   std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                                   const Stream& stream) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = to;
  copy.dstPitch = to_pitch;
  if (queue_rows(copy, row_bytes, rows, stream)) finish_copy(stream);
}

void CudaDevice::queue_copy_rows(DeviceAddress to, std::size_t to_pitch, DeviceAddress from,
                                 std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                                 const Stream& stream) {
  CUDA_MEMCPY2D copy{};  // either side may be managed or pinned memory
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = from;
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = to;
  copy.dstPitch = to_pitch;
  queue_rows(copy, row_bytes, rows, stream);
}

void CudaDevice::fill_rows(DeviceAddress to, std::size_t pitch, std::uint8_t value,
                           std::size_t row_bytes, std::size_t rows, const Stream& stream) {
  if (row_bytes == 0 || rows == 0) return;
  make_current();
  driver_.check(driver_.set_rows(to, pitch, value, row_bytes, rows, native(stream)),
                "cuMemsetD2D8");
}

void* CudaDevice::allocate_host(std::size_t bytes, std::string& why_not, std::string_view) {
  make_current();
  void* data = nullptr;
  // Portable: any device of the process may copy it.
  const CUresult result = driver_.host_alloc(&data, std::max<std::size_t>(bytes, 1),
                                             CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (result == CUDA_SUCCESS) return data;
  why_not = driver_.describe(result, "cuMemHostAlloc", fmt::format("of {} bytes", bytes));
  return nullptr;
}

void CudaDevice::free_host(void* data) noexcept {
  enter();
  driver_.host_free(data);
}

bool CudaDevice::register_host(void* data, std::size_t bytes, std::string& why_not,
                               std::string_view) {
  make_current();
  const CUresult result = driver_.host_register(
      data, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result == CUDA_SUCCESS) return true;
  why_not = driver_.describe(result, "cuMemHostRegister", fmt::format("of {} bytes", bytes));
  return false;
}

void CudaDevice::unregister_host(void* data) noexcept {
  enter();
  driver_.host_unregister(data);
}

// A kernel that is loaded already; null if none is.
std::shared_ptr<CudaKernel> CudaDevice::loaded(const compile::Program& program,
                                               const std::string& name) {
  const auto [first, last] = loaded_.equal_range(hash_of(program));
  for (auto known = first; known != last;) {
    std::shared_ptr<CudaKernel> kernel = known->second.lock();
    if (!kernel) {
      known = loaded_.erase(known);
      continue;
    }
    if (kernel->name == name && kernel->entry() == program.kernel_name &&
        kernel->owner().is_made_of(program.ptx, program.cubin)) {
      return kernel;
    }
    ++known;
  }
  return nullptr;
}

// The kernel of a request that was loaded before and still means the same; null if none is kept.
std::shared_ptr<CudaKernel> CudaDevice::kept(const KernelRequest& request) {
  if (!request.is_self_contained) return nullptr;
  const std::lock_guard lock(loaded_mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& one) { return one.first == request; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->second;
}

// Keeps a kernel loaded after its last user.
void CudaDevice::keep(const KernelRequest& request, const std::shared_ptr<CudaKernel>& kernel) {
  std::erase_if(kept_, [&](const auto& one) { return one.second == kernel; });
  kept_.emplace_front(request, kernel);
  if (kept_.size() > most_kept_kernels) kept_.pop_back();
}

Kernel CudaDevice::load(const KernelRequest& request) {
  if (auto known = kept(request)) return Kernel(context().with_owner(std::move(known)));
  compile::Program program = program_of(request, properties_);
  const std::string name =
      request.kernel.empty() || request.kernel.front() == '('  // a cast: an overload
          ? function_name(program.kernel_name)
          : request.kernel;
  // To load a module the driver waits for running kernels.
  const std::lock_guard lock(loaded_mutex_);
  std::shared_ptr<CudaKernel> kernel = loaded(program, name);
  make_current();
  if (!kernel) {
    const std::size_t hash = hash_of(program);
    // Who loads a kernel with variables finds in them what the source says.
    const bool can_be_kept =
        request.language == SourceLanguage::cuda && !uses_variables(program.ptx);
    const auto module = std::make_shared<CudaModule>(
        context(), std::vector<PtxText>{{request.source_name, std::move(program.ptx)}},
        std::move(program.cubin), can_be_kept);
    kernel = module->cuda_kernel(program.kernel_name);
    kernel->name = name;
    loaded_.emplace(hash, kernel);
  }
  if (kernel->owner().can_be_kept()) keep(request, kernel);
  return Kernel(context().with_owner(std::move(kernel)));
}

Module CudaDevice::load_module(std::span<const PtxText> texts) {
  make_current();
  return Module(context().with_owner(std::make_shared<CudaModule>(
      context(), std::vector<PtxText>(texts.begin(), texts.end()), std::string())));
}

CudaContext CudaDevice::context() {
  return {shared_from_this(), driver_, context_};
}

void CudaDevice::launch(const Kernel& kernel, const Launch& launch,
                        const KernelArguments& arguments, const Stream& stream) {
  auto& loaded = static_cast<CudaKernel&>(kernel.state());
  gpu::require_launchable(kernel.name(), launch, properties_,
                          {.static_shared_bytes = kernel.attributes().static_shared_bytes,
                           .max_threads_per_block = kernel.attributes().max_threads_per_block});
  make_current();
  loaded.allow_dynamic_shared(launch.shared_bytes);
  // On the stack unless there are very many: a launch should not allocate.
  std::array<void*, 64> few;
  std::vector<void*> many;
  void** pointers = few.data();
  if (arguments.offsets().size() > few.size()) {
    many.resize(arguments.offsets().size());
    pointers = many.data();
  }
  std::transform(arguments.offsets().begin(), arguments.offsets().end(), pointers,
                 [&](std::size_t offset) {
                   return const_cast<std::byte*>(arguments.bytes().data() + offset);
                 });
  CUlaunchAttribute attributes[3];
  CUlaunchConfig config{};
  config.gridDimX = launch.grid.x;
  config.gridDimY = launch.grid.y;
  config.gridDimZ = launch.grid.z;
  config.blockDimX = launch.block.x;
  config.blockDimY = launch.block.y;
  config.blockDimZ = launch.block.z;
  config.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  config.hStream = native(stream);
  config.attrs = attributes;
  if (launch.cooperative) {
    CUlaunchAttribute& cooperative = attributes[config.numAttrs++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  constexpr std::uint64_t most_portable = 8;
  if (launch.cluster.count() > most_portable) loaded.allow_large_clusters();
  if (launch.cluster.count() > 1) {
    CUlaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  }
  if (launch.overlaps_previous && properties_.compute_major >= 9) {
    CUlaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
  }
  driver_.check(driver_.launch_extended(&config, loaded.function(), pointers, nullptr),
                "cuLaunchKernelEx", kernel.name());
}

TensorMap CudaDevice::tensor_map(const TensorMapRequest& request) {
  if (properties_.compute_major < 9) return Device::tensor_map(request);
  make_current();
  constexpr cuuint32_t dimensions = 3;
  const std::array<cuuint64_t, 3> extents{request.extents[0], request.extents[1],
                                          request.extents[2]};
  const std::array<cuuint64_t, 2> pitches{request.pitches[0], request.pitches[1]};
  const std::array<cuuint32_t, 3> box{request.box[0], request.box[1], request.box[2]};
  constexpr std::array<cuuint32_t, 3> every_element{1, 1, 1};
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  CUtensorMap map;
  driver_.check(
      driver_.encode_tensor_map(
          &map, native(request.type), dimensions, reinterpret_cast<void*>(request.address),
          extents.data(), pitches.data(), box.data(), every_element.data(),
          CU_TENSOR_MAP_INTERLEAVE_NONE, native(request.swizzle),
          CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled",
      fmt::format("of {} x {} x {} elements, pitches {} and {} bytes, box {} x {} x {}", extents[0],
                  extents[1], extents[2], pitches[0], pitches[1], box[0], box[1], box[2]));
  TensorMap result;
  std::memcpy(result.bytes.data(), &map, sizeof map);
  return result;
}

void CudaDevice::record(const Event& event, const Stream& stream) {
  make_current();
  driver_.check(driver_.event_record(native(event), native(stream)), "cuEventRecord");
}

void CudaDevice::wait(const Stream& stream, const Event& event) {
  make_current();
  driver_.check(driver_.stream_wait(native(stream), native(event), 0), "cuStreamWaitEvent");
}

bool CudaDevice::finished(const Event& event) {
  make_current();
  const CUresult result = driver_.event_query(native(event));
  if (result == CUDA_ERROR_NOT_READY) return false;
  driver_.check(result, "cuEventQuery");
  return true;
}

bool CudaDevice::finished(const Stream& stream) {
  make_current();
  const CUresult result = driver_.stream_query(native(stream));
  if (result == CUDA_ERROR_NOT_READY) return false;
  driver_.check(result, "cuStreamQuery");
  return true;
}

void CudaDevice::call(std::function<void()> function, const Stream& stream) {
  using Function = std::function<void()>;
  make_current();
  auto owned = std::make_unique<Function>(std::move(function));
  const auto run = [](void* data) { (*std::unique_ptr<Function>(static_cast<Function*>(data)))(); };
  driver_.check(driver_.launch_host(native(stream), run, owned.get()), "cuLaunchHostFunc");
  static_cast<void>(owned.release());  // the driver calls it once
}

double CudaDevice::elapsed_ms(const Event& from, const Event& to) {
  make_current();
  synchronize(to);
  float ms = 0.0F;
  driver_.check(driver_.event_elapsed(&ms, native(from), native(to)), "cuEventElapsedTime");
  return ms;
}

void CudaDevice::synchronize(const Event& event) {
  make_current();
  driver_.check(driver_.event_synchronize(native(event)), "cuEventSynchronize");
}

void CudaDevice::synchronize(const Stream& stream) {
  make_current();
  driver_.check(driver_.stream_synchronize(native(stream)), "cuStreamSynchronize");
}

void CudaDevice::synchronize() {
  make_current();
  driver_.check(driver_.context_synchronize(), "cuCtxSynchronize");
}

}  // namespace tilescope::device
