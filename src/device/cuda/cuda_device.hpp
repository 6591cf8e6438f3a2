// A GPU through CUDA's driver API.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tilescope/device.hpp>

#include "compile/compiler.hpp"
#include "device/cuda/cuda_module.hpp"
#include "device/cuda/cuda_textures.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/memory_pools.hpp"

namespace tilescope::device {

/// The driver's properties of device `ordinal`.
DeviceProperties query_properties(const Driver& driver, CUdevice device);

class CudaDevice final : public Device {
 public:
  /// Opens device `ordinal`. Throws Error(no_device) if there is none of that number.
  explicit CudaDevice(int ordinal, const Driver& driver = Driver::instance());
  ~CudaDevice() override;

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string id() const override;
  const DeviceProperties& properties() const override { return properties_; }
  /// Makes the context that of this thread, for destructors: a failure is ignored. The driver keeps
  /// the current context per thread; callers may use the device from any thread.
  void enter() const noexcept { driver_.set_current(context_); }

  void copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                      const Stream& stream) override;
  void copy_to_host(void* to, DeviceAddress from, std::size_t bytes, const Stream& stream) override;
  void queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                  const Stream& stream) override;
  void fill(DeviceAddress to, std::uint8_t value, std::size_t bytes, const Stream& stream) override;
  void copy_rows_to_device(DeviceAddress to, std::size_t to_pitch, const void* from,
                           std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                           const Stream& stream) override;
  void copy_rows_to_host(void* to, std::size_t to_pitch, DeviceAddress from, std::size_t from_pitch,
                         std::size_t row_bytes, std::size_t rows, const Stream& stream) override;
  void queue_copy_rows(DeviceAddress to, std::size_t to_pitch, DeviceAddress from,
                       std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                       const Stream& stream) override;
  void signal(DeviceAddress word, const Stream& stream) override;
  void fill_rows(DeviceAddress to, std::size_t pitch, std::uint8_t value, std::size_t row_bytes,
                 std::size_t rows, const Stream& stream) override;
  void copy_box(const BoxCopy& copy, const Stream& stream) override;
  /// Whether this GPU reads such memory of the other itself, which the call makes it able to: `any`
  /// or `linked`.
  bool reaches(CudaDevice& peer, Reach memory);
  /// Copies rows from another GPU's memory; only queued.
  void queue_rows_of_peer(const CudaDevice& peer, DeviceAddress to, std::size_t to_pitch,
                          DeviceAddress from, std::size_t from_pitch, std::size_t row_bytes,
                          std::size_t rows, const Stream& stream);
  MemoryUse memory_use() const override;
  void give_back_memory() override;
  void* allocate_host(std::size_t bytes, std::string& why_not, std::string_view name) override;
  void free_host(void* data) noexcept override;
  bool register_host(void* data, std::size_t bytes, std::string& why_not,
                     std::string_view name) override;
  void unregister_host(void* data) noexcept override;
  Kernel load(const KernelRequest& request) override;
  Module load_module(std::span<const PtxText> texts) override;
  TensorMap tensor_map(const TensorMapRequest& request) override;
  void launch(const Kernel& kernel, const Launch& launch, const KernelArguments& arguments,
              const Stream& stream) override;
  void record(const Event& event, const Stream& stream) override;
  void wait(const Stream& stream, const Event& event) override;
  bool finished(const Event& event) override;
  bool finished(const Stream& stream) override;
  void call(std::function<void()> function, const Stream& stream) override;
  double elapsed_ms(const Event& from, const Event& to) override;
  void synchronize(const Event& event) override;
  void synchronize(const Stream& stream) override;
  void synchronize() override;

 protected:
  std::uint64_t allocate_bytes(std::size_t bytes, std::string_view name) override;
  std::uint64_t allocate_for(Reach reach, std::size_t bytes, std::string_view name) override;
  std::uint64_t allocate_managed_bytes(std::size_t bytes, std::string_view name) override;
  std::uint64_t new_array(const ArrayRequest& request, std::string_view name) override;
  std::uint64_t new_texture(const TextureRequest& request) override;
  std::uint64_t new_surface(std::uint64_t array, unsigned level) override;
  std::uint64_t new_stream() override;
  std::uint64_t new_event() override;
  void free_bytes(std::uint64_t address) noexcept override;
  void free_stream(std::uint64_t stream) noexcept override;
  void free_event(std::uint64_t event) noexcept override;
  void free_array(std::uint64_t array) noexcept override;
  void free_texture(std::uint64_t texture) noexcept override;
  void free_surface(std::uint64_t surface) noexcept override;

 private:
  void make_current() const;
  /// Allocates, if need be once more after what the pools keep went back to the system.
  template <typename Allocate>
  CUresult allocate_with_kept(const Allocate& allocate);
  /// Throws Error unless the allocation was made.
  void check_allocation(CUresult result, std::string_view call, std::size_t bytes,
                        std::string_view name) const;
  std::shared_ptr<CudaKernel> loaded(const compile::Program& program, const std::string& name);
  std::shared_ptr<CudaKernel> kept(const KernelRequest& request);
  void keep(const KernelRequest& request, const std::shared_ptr<CudaKernel>& kernel);
  void finish_copy(const Stream& stream);
  /// Queues the copy with its sizes filled in; false if there is nothing to copy.
  bool queue_rows(CUDA_MEMCPY2D copy, std::size_t row_bytes, std::size_t rows,
                  const Stream& stream);
  CudaContext context();

  const Driver& driver_;
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  DeviceProperties properties_;
  std::optional<MemoryPools> pools_;  // none: the driver has none for this GPU
  CudaTextures textures_;
  // Loaded kernels by a hash of their code, and those that stay without a user, the last used
  // first.
  std::mutex loaded_mutex_;
  std::multimap<std::size_t, std::weak_ptr<CudaKernel>> loaded_;
  std::list<std::pair<KernelRequest, std::shared_ptr<CudaKernel>>> kept_;
};

}  // namespace tilescope::device
