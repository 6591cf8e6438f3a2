// One interface, three devices: a CUDA GPU through its driver, the emulated GPU, and the CPU.
//
//     auto device = tilescope::Device::open("auto");
//     tilescope::Buffer x = device->allocate(n * sizeof(float), "x");
//     device->copy_to_device(x.address(), host, n * sizeof(float));
//     tilescope::Kernel kernel = device->load({.source_name = "k.cu", .source = text,
//                                              .kernel = "scale"});
//     device->launch(kernel, {.grid = {blocks}, .block = {256}}, KernelArguments::of(x.address()));
//     device->synchronize();
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilescope/device_properties.hpp"
#include "tilescope/error.hpp"
#include "tilescope/launch.hpp"
#include "tilescope/tensor_map.hpp"

namespace tilescope {

/// An address in a device's memory; on the CPU device a plain pointer's value.
using DeviceAddress = std::uint64_t;

enum class DeviceKind { cuda, emulated, cpu };

class Device;

namespace detail {
/// Owns one handle of a device and gives it back once. The three public handle types below differ
/// only in what `release` does.
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<Device> device, std::uint64_t value,
         void (*release)(Device&, std::uint64_t))
      : device_(std::move(device)), value_(value), release_(release) {}
  Handle(Handle&& other) noexcept { swap(other); }
  Handle& operator=(Handle&& other) noexcept {
    Handle moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Handle() {
    if (device_) release_(*device_, value_);
  }
  std::uint64_t value() const { return value_; }

 private:
  void swap(Handle& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(value_, other.value_);
    std::swap(release_, other.release_);
  }

  std::shared_ptr<Device> device_;
  std::uint64_t value_ = 0;
  void (*release_)(Device&, std::uint64_t) = nullptr;
};
}  // namespace detail

/// Device memory, freed with the object.
class Buffer {
 public:
  Buffer() = default;
  Buffer(detail::Handle handle, std::size_t bytes) : handle_(std::move(handle)), bytes_(bytes) {}

  DeviceAddress address() const { return handle_.value(); }
  std::size_t bytes() const { return bytes_; }

 private:
  detail::Handle handle_;
  std::size_t bytes_ = 0;
};

/// A queue of work, done in order. Streams wait for each other only where wait() says so; that
/// includes the default stream, which a default-constructed Stream is: no implicit order holds
/// between it and the others. Errors of work in a stream are thrown when somebody waits for it.
///
/// The emulated device puts work in streams off until somebody waits for it, so that a forgotten
/// event or synchronize shows in every run; in its default stream all is done at once.
class Stream {
 public:
  Stream() = default;
  explicit Stream(detail::Handle handle) : handle_(std::move(handle)) {}
  std::uint64_t value() const { return handle_.value(); }

 private:
  detail::Handle handle_;
};

/// A point in a stream's work.
class Event {
 public:
  Event() = default;
  explicit Event(detail::Handle handle) : handle_(std::move(handle)) {}
  std::uint64_t value() const { return handle_.value(); }

 private:
  detail::Handle handle_;
};

/// What a kernel's source is written in.
enum class SourceLanguage { cuda, ptx };

/// What to compile and which kernel of it to load. Of a PTX source only the name, the text and
/// the kernel count; `kernel` is then the name in the PTX or its demangled form, or empty: the only
/// one.
struct KernelRequest {
  std::string source_name;  ///< for messages and line tables
  std::string source;       ///< CUDA C++ or PTX
  std::string kernel;       ///< "name" or "name<16>"
  SourceLanguage language = SourceLanguage::cuda;
  std::vector<std::pair<std::string, std::string>> defines;  ///< -D NAME=VALUE
  std::vector<std::string> include_directories;              ///< -I
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text, for #include
  std::vector<std::string> extra_options;                    ///< passed to NVRTC as they are
};

/// What the compiled code needs of the device.
struct KernelAttributes {
  int registers_per_thread = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes_per_thread = 0;
  std::size_t constant_bytes = 0;
  int max_threads_per_block = 0;  ///< of this kernel on this device, given its registers
};

/// A parameter of a kernel, as its compiled code declares it.
struct KernelParameter {
  enum class Kind { integer, floating, pointer, bytes };  ///< `bytes`: a structure, or not known
  Kind kind = Kind::bytes;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
};

/// A kernel that is ready to be launched on the device that loaded it. Cheap to copy; several
/// threads may launch it at once.
class Kernel {
 public:
  struct State {
    virtual ~State() = default;
    virtual std::vector<KernelParameter> parameters() const = 0;
    std::string name;
    KernelAttributes attributes;
  };

  Kernel() = default;
  explicit Kernel(std::shared_ptr<State> state) : state_(std::move(state)) {}

  const std::string& name() const { return state_->name; }
  const KernelAttributes& attributes() const { return state_->attributes; }
  /// In order. Works the text of the compiled code over: ask once.
  std::vector<KernelParameter> parameters() const { return state_->parameters(); }
  State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

/// A device. Every call reports failure as Error: no_device for a driver, compiler or device that
/// is missing, usage for what a limit of the device forbids, each with the call and its meaning.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Opens "auto" (a GPU if there is one, else the CPU), "cuda", "cuda:N", "emulated",
  /// "emulated:GPU" or "cpu". `explain_choice`, if given, receives why "auto" chose what it chose.
  static std::shared_ptr<Device> open(std::string_view specification,
                                      std::string* explain_choice = nullptr);

  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual DeviceKind kind() const = 0;
  /// The specification that opens this device again, such as "cuda:0".
  virtual std::string id() const = 0;
  virtual const DeviceProperties& properties() const = 0;

  /// Allocates `bytes` (0 is allowed); `name` appears in reports about accesses to it.
  Buffer allocate(std::size_t bytes, std::string_view name = "buffer");
  Stream create_stream();
  Event create_event();

  /// Copies are asynchronous to the host only from and to pinned memory: pageable memory is the
  /// caller's again when the call returns, and what it was to receive is there. Without a stream a
  /// copy has happened when the call returns.
  virtual void copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                              const Stream& stream = {}) = 0;
  virtual void copy_to_host(void* to, DeviceAddress from, std::size_t bytes,
                            const Stream& stream = {}) = 0;
  void copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                      const Stream& stream = {});
  /// The same copy, only queued: also in the default stream, as a launch is.
  virtual void queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                          const Stream& stream = {}) = 0;
  /// Sets every byte.
  virtual void fill(DeviceAddress to, std::uint8_t value, std::size_t bytes,
                    const Stream& stream = {}) = 0;

  /// Copies `rows` rows of `row_bytes` each, whose starts are the pitches (bytes) apart.
  virtual void copy_rows_to_device(DeviceAddress to, std::size_t to_pitch, const void* from,
                                   std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                                   const Stream& stream = {});
  virtual void copy_rows_to_host(void* to, std::size_t to_pitch, DeviceAddress from,
                                 std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                                 const Stream& stream = {});

  /// Compiles (or finds in the cache) and loads one kernel.
  virtual Kernel load(const KernelRequest& request) = 0;
  /// Checks the launch against the device's limits, then queues it.
  virtual void launch(const Kernel& kernel, const Launch& launch, const KernelArguments& arguments,
                      const Stream& stream = {}) = 0;

  /// Describes a matrix for bulk tensor copies. Throws Error(usage) on a device without them.
  virtual TensorMap tensor_map(const TensorMapRequest& request);

  /// Page-locked host memory for PinnedBuffer; nullptr, with the reason in `why_not`, where there
  /// is none to be had.
  virtual void* allocate_host(std::size_t bytes, std::string& why_not);
  virtual void free_host(void*) noexcept {}
  /// Locks the pages of memory that exists already, for PinnedRegion; false, with the reason.
  virtual bool register_host(void* data, std::size_t bytes, std::string& why_not);
  virtual void unregister_host(void*) noexcept {}

  /// The event becomes what is queued in `stream` so far, instead of what it was before.
  virtual void record(const Event& event, const Stream& stream = {}) = 0;
  /// What is queued in `stream` from now on comes after the event as last recorded; an event that
  /// was never recorded holds up nothing, and has happened.
  virtual void wait(const Stream& stream, const Event& event) = 0;
  virtual bool finished(const Event& event) = 0;
  /// Holds up the host until the event has happened.
  virtual void synchronize(const Event& event);
  /// Milliseconds between two recorded events (else an Error); waits for the second.
  virtual double elapsed_ms(const Event& from, const Event& to) = 0;
  virtual void synchronize(const Stream& stream) = 0;
  virtual void synchronize() = 0;

 protected:
  Device() = default;
  virtual std::uint64_t allocate_bytes(std::size_t bytes, std::string_view name) = 0;
  virtual std::uint64_t new_stream() = 0;
  virtual std::uint64_t new_event() = 0;
  // Called from destructors: they must not throw.
  virtual void free_bytes(std::uint64_t address) noexcept = 0;
  virtual void free_stream(std::uint64_t stream) noexcept = 0;
  virtual void free_event(std::uint64_t event) noexcept = 0;
};

/// The CUDA devices of this machine; empty where there is no driver, with the reason in
/// `why_none` if given.
std::vector<DeviceProperties> cuda_devices(std::string* why_none = nullptr);

}  // namespace tilescope
