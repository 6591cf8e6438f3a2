#include "device/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/symbol_names.hpp"
#include "base/text.hpp"
#include "device/loading/ptx_kernel.hpp"
#include "gpu/launch_limits.hpp"
#include "ptx/module_parser.hpp"

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

// Without opting in, a block gets at most this much dynamic shared memory.
constexpr std::size_t default_shared_limit = 48 * 1024;

struct LoadedKernel final : Kernel::State {
  LoadedKernel(std::shared_ptr<const CudaDevice> device_, const Driver& driver_,
               compile::Program program_, std::string source_name)
      : device(std::move(device_)),
        driver(driver_),
        program(std::move(program_)),
        file(std::move(source_name)) {
    if (program.cubin.empty()) {
      load_ptx();
    } else {
      driver.check(driver.module_load(&module, program.cubin.data(), 0, nullptr, nullptr),
                   "cuModuleLoadDataEx");
    }
    driver.check(driver.module_function(&function, module, program.kernel_name.c_str()),
                 "cuModuleGetFunction", program.kernel_name);
  }
  ~LoadedKernel() override {
    device->enter();
    driver.module_unload(module);
  }

  std::vector<KernelParameter> parameters() const override {
    return parameters_of(find_ptx_kernel(ptx::parse(program.ptx, file), program.kernel_name, file));
  }

  /// The driver compiles PTX; its messages about the text are in its log.
  void load_ptx() {
    std::string log(8192, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    const CUresult result = driver.module_load(&module, program.ptx.c_str(), 2, options, values);
    if (result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
      log.resize(std::min(log.find('\0'), log.size()));
      throw Error(ErrorKind::bad_input,
                  fmt::format("{}: the driver refuses the PTX: {}", file, printable(trim(log))));
    }
    driver.check(result, "cuModuleLoadDataEx", file);
  }

  /// Lets a block have `bytes` of dynamic shared memory. The limit only grows: threads that launch
  /// the kernel with less must not lower what another has just been granted.
  void allow_dynamic_shared(std::size_t bytes) {
    if (bytes + attributes.static_shared_bytes <= default_shared_limit) return;
    const std::lock_guard lock(mutex);
    if (bytes <= allowed_dynamic_shared) return;
    driver.check(
        driver.set_function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(bytes)),
        "cuFuncSetAttribute", "for dynamic shared memory");
    allowed_dynamic_shared = bytes;
  }

  int attribute(CUfunction_attribute which) const {
    int value = 0;
    driver.check(driver.function_attribute(&value, which, function), "cuFuncGetAttribute");
    return value;
  }

  const std::shared_ptr<const CudaDevice> device;  ///< owns the context that the module lies in
  const Driver& driver;
  compile::Program program;
  std::string file;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  std::mutex mutex;
  std::size_t allowed_dynamic_shared = 0;  // under the mutex
};

std::size_t hash_of(const compile::Program& program) {
  return std::hash<std::string>()(program.cubin.empty() ? program.ptx : program.cubin);
}

}  // namespace

CudaDevice::CudaDevice(int ordinal, const Driver& driver) : driver_(driver), ordinal_(ordinal) {
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
}

CudaDevice::~CudaDevice() {
  driver_.primary_release(device_);
}

std::string CudaDevice::id() const {
  return fmt::format("cuda:{}", ordinal_);
}

void CudaDevice::make_current() const {
  driver_.check(driver_.set_current(context_), "cuCtxSetCurrent");
}

std::uint64_t CudaDevice::allocate_bytes(std::size_t bytes, std::string_view name) {
  make_current();
  CUdeviceptr address = 0;
  const CUresult result = driver_.mem_alloc(&address, std::max<std::size_t>(bytes, 1));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0, total = 0;
    driver_.memory_info(&free, &total);
    driver_.check(result, "cuMemAlloc",
                  fmt::format("of {} bytes for {} ({} of {} bytes free on {})", bytes, name, free,
                              total, id()));
  }
  driver_.check(result, "cuMemAlloc");
  return address;
}

void CudaDevice::free_bytes(std::uint64_t address) noexcept {
  enter();
  driver_.mem_free(address);
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
void CudaDevice::finish_copy(CUresult result, std::string_view call, const Stream& stream) {
  driver_.check(result, call);
  if (stream.value() == 0) synchronize(stream);
}

void CudaDevice::copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                                const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  finish_copy(driver_.copy_to_device(to, from, bytes, native(stream)), "cuMemcpyHtoD", stream);
}

void CudaDevice::copy_to_host(void* to, DeviceAddress from, std::size_t bytes,
                              const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  finish_copy(driver_.copy_to_host(to, from, bytes, native(stream)), "cuMemcpyDtoH", stream);
}

void CudaDevice::queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                            const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  driver_.check(driver_.copy_on_device(to, from, bytes, native(stream)), "cuMemcpyDtoD");
}

void CudaDevice::fill(DeviceAddress to, std::uint8_t value, std::size_t bytes,
                      const Stream& stream) {
  if (bytes == 0) return;
  make_current();
  driver_.check(driver_.set_bytes(to, value, bytes, native(stream)), "cuMemsetD8");
}

void CudaDevice::copy_2d(const CUDA_MEMCPY2D& copy, const Stream& stream) {
  if (copy.WidthInBytes == 0 || copy.Height == 0) return;
  make_current();
  finish_copy(driver_.copy_2d(&copy, native(stream)), "cuMemcpy2D", stream);
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
  copy.WidthInBytes = row_bytes;
  copy.Height = rows;
  copy_2d(copy, stream);
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
  copy.WidthInBytes = row_bytes;
  copy.Height = rows;
  copy_2d(copy, stream);
}

void* CudaDevice::allocate_host(std::size_t bytes, std::string& why_not, std::string_view) {
  make_current();
  void* data = nullptr;
  // Portable: any device of the process may copy it.
  const CUresult result =
      driver_.host_alloc(&data, std::max<std::size_t>(bytes, 1), CU_MEMHOSTALLOC_PORTABLE);
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
  const CUresult result = driver_.host_register(data, bytes, CU_MEMHOSTREGISTER_PORTABLE);
  if (result == CUDA_SUCCESS) return true;
  why_not = driver_.describe(result, "cuMemHostRegister", fmt::format("of {} bytes", bytes));
  return false;
}

void CudaDevice::unregister_host(void* data) noexcept {
  enter();
  driver_.host_unregister(data);
}

// A kernel that is loaded already; null if none is.
std::shared_ptr<Kernel::State> CudaDevice::loaded(const compile::Program& program,
                                                  const std::string& name) {
  const auto [first, last] = loaded_.equal_range(hash_of(program));
  for (auto known = first; known != last;) {
    const std::shared_ptr<Kernel::State> state = known->second.lock();
    if (!state) {
      known = loaded_.erase(known);
      continue;
    }
    const auto& kernel = static_cast<LoadedKernel&>(*state);
    if (kernel.name == name && kernel.program.kernel_name == program.kernel_name &&
        kernel.program.cubin == program.cubin && kernel.program.ptx == program.ptx) {
      return state;
    }
    ++known;
  }
  return nullptr;
}

Kernel CudaDevice::load(const KernelRequest& request) {
  compile::Program program = program_of(request, properties_);
  const std::string name =
      request.kernel.empty() || request.kernel.front() == '('  // a cast: an overload
          ? function_name(program.kernel_name)
          : request.kernel;
  // To load a module the driver waits for running kernels.
  const std::lock_guard lock(loaded_mutex_);
  if (auto known = loaded(program, name)) return Kernel(std::move(known));
  const std::size_t hash = hash_of(program);
  make_current();
  auto kernel =
      std::make_shared<LoadedKernel>(std::static_pointer_cast<const CudaDevice>(shared_from_this()),
                                     driver_, std::move(program), request.source_name);
  kernel->name = name;
  KernelAttributes& a = kernel->attributes;
  a.registers_per_thread = kernel->attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  a.static_shared_bytes =
      static_cast<std::size_t>(kernel->attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  a.local_bytes_per_thread =
      static_cast<std::size_t>(kernel->attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  a.constant_bytes =
      static_cast<std::size_t>(kernel->attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  a.max_threads_per_block = kernel->attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  loaded_.emplace(hash, kernel);
  return Kernel(std::move(kernel));
}

void CudaDevice::launch(const Kernel& kernel, const Launch& launch,
                        const KernelArguments& arguments, const Stream& stream) {
  auto& loaded = static_cast<LoadedKernel&>(kernel.state());
  gpu::require_launchable(kernel.name(), launch, properties_,
                          {.static_shared_bytes = kernel.attributes().static_shared_bytes,
                           .max_threads_per_block = kernel.attributes().max_threads_per_block});
  make_current();
  loaded.allow_dynamic_shared(launch.shared_bytes);
  std::vector<void*> pointers;
  for (const std::size_t offset : arguments.offsets()) {
    pointers.push_back(const_cast<std::byte*>(arguments.bytes().data() + offset));
  }
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
  driver_.check(driver_.launch_extended(&config, loaded.function, pointers.data(), nullptr),
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
  const CUtensorMapL2promotion promotion =
      request.reads_ahead ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  CUtensorMap map;
  driver_.check(
      driver_.encode_tensor_map(&map, native(request.type), dimensions,
                                reinterpret_cast<void*>(request.address), extents.data(),
                                pitches.data(), box.data(), every_element.data(),
                                CU_TENSOR_MAP_INTERLEAVE_NONE, native(request.swizzle), promotion,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
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
