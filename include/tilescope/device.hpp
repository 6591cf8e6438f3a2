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

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilescope/device_properties.hpp"
#include "tilescope/error.hpp"
#include "tilescope/launch.hpp"
#include "tilescope/tensor_map.hpp"
#include "tilescope/texture.hpp"

namespace tilescope {

/// An address in a device's memory; on the CPU device a plain pointer's value.
using DeviceAddress = std::uint64_t;

enum class DeviceKind { cuda, emulated, cpu };

class Device;

namespace detail {
/// Owns one handle of a device and releases it once. The three public handle types below differ
/// only in `release`.
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

/// Device or managed memory, freed with the object.
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

/// An array of texels; the value is its handle, on the emulated device the address of its memory.
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(detail::Handle handle) : handle_(std::move(handle)) {}
  std::uint64_t value() const { return handle_.value(); }

 private:
  detail::Handle handle_;
};

/// A texture or a surface; the value is the object that kernels take as an argument.
class TextureObject {
 public:
  TextureObject() = default;
  explicit TextureObject(detail::Handle handle) : handle_(std::move(handle)) {}
  std::uint64_t value() const { return handle_.value(); }

 private:
  detail::Handle handle_;
};

/// A queue of work that runs in order. Streams wait for each other only through wait(). That
/// includes the default stream, which a default-constructed Stream is: no implicit order holds
/// between it and the others. Errors of work in a stream are thrown when the program waits for it.
///
/// The emulated device defers work in streams until the program waits for it, so that a forgotten
/// event or synchronize shows in every run. Work in its default stream is done when the call
/// returns.
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

/// The language of a kernel's source.
enum class SourceLanguage { cuda, ptx };

/// A source to compile and the kernel of it to load. A PTX source uses only the name, the text and
/// the kernel; `kernel` is then the name in the PTX or its demangled form, or empty if there is
/// only one.
struct KernelRequest {
  std::string source_name = {};  ///< for messages and line tables
  std::string source = {};       ///< CUDA C++ or PTX
  std::string kernel = {};       ///< "name" or "name<16>"
  SourceLanguage language = SourceLanguage::cuda;
  std::vector<std::pair<std::string, std::string>> defines = {};  ///< -D NAME=VALUE
  std::vector<std::string> include_directories = {};              ///< -I
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< name and text, for #include
  std::vector<std::string> extra_options = {};                    ///< passed to NVRTC as they are
  /// Whether `headers` and the compiler have all that the source includes: no file can change it.
  bool is_self_contained = false;

  friend bool operator==(const KernelRequest&, const KernelRequest&) = default;
};

/// Resources that the compiled code needs.
struct KernelAttributes {
  int registers_per_thread = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes_per_thread = 0;
  std::size_t constant_bytes = 0;
  int max_threads_per_block = 0;  ///< of this kernel on this device, given its registers
};

/// A parameter of a kernel, as its compiled code declares it.
struct KernelParameter {
  enum class Kind { integer, floating, pointer, bytes };  ///< `bytes`: a structure, or unknown
  Kind kind = Kind::bytes;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  /// By the kernel's C++ name a pointer to volatile or atomic values, which others may use at once.
  bool is_shared = false;
};

/// A variable in global or constant memory that a kernel's code, or a function it calls, names.
struct KernelVariable {
  std::string name;          ///< in the compiled code (mangled)
  bool is_constant = false;  ///< __constant__
  bool has_initial = false;  ///< the source gives it a value
};

class Module;

/// A kernel ready to be launched on the device that loaded it. Cheap to copy; several threads may
/// launch it at once.
class Kernel {
 public:
  struct State {
    virtual ~State() = default;
    virtual std::vector<KernelParameter> parameters() const = 0;
    virtual std::vector<KernelVariable> variables() const { return {}; }
    virtual Module module() const;
    /// Fills in those attributes that take long to find, when they are asked for.
    virtual void find_attributes() {}
    std::string name;
    KernelAttributes attributes;
  };

  Kernel() = default;
  explicit Kernel(std::shared_ptr<State> state) : state_(std::move(state)) {}

  const std::string& name() const { return state_->name; }
  const KernelAttributes& attributes() const {
    state_->find_attributes();
    return state_->attributes;
  }
  /// In declaration order. Parses the compiled code on every call, so keep the result.
  std::vector<KernelParameter> parameters() const { return state_->parameters(); }
  /// The variables that it reads or writes. Calls through function pointers are not followed.
  std::vector<KernelVariable> variables() const { return state_->variables(); }
  /// The module that it belongs to, with the variables that it shares with other kernels.
  Module module() const;
  State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

/// One PTX text of a module. `name` is for messages.
struct PtxText {
  std::string name;
  std::string ptx;
  /// Instead of PTX: a fat binary of machine code, read while the module is loaded. A GPU's driver
  /// links it if the texts call functions that none of them defines. The emulator leaves it out: it
  /// has CUDA's device run time itself.
  std::span<const std::byte> machine_code = {};
};

/// A variable of a module in global or constant memory.
struct ModuleVariable {
  DeviceAddress address = 0;
  std::size_t bytes = 0;
  bool managed = false;  ///< __managed__: the address is a host pointer too
};

/// Compiled code: kernels and the variables that they share. Cheap to copy. The variables live as
/// long as the module or any of its kernels.
class Module {
 public:
  struct State {
    virtual ~State() = default;
    virtual std::vector<std::string> kernels() const = 0;
    virtual Kernel kernel(std::string_view name) = 0;
    virtual ModuleVariable variable(std::string_view name) const = 0;
  };

  Module() = default;
  explicit Module(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// The names of the kernels, as in the PTX (mangled).
  std::vector<std::string> kernels() const { return state_->kernels(); }
  /// The kernel of that mangled name. Throws Error(bad_input) if the module has none, or if the
  /// device cannot execute it.
  Kernel kernel(std::string_view name) const { return state_->kernel(name); }
  /// The variable of that mangled name. Throws Error(bad_input) if the module has none.
  ModuleVariable variable(std::string_view name) const { return state_->variable(name); }

 private:
  std::shared_ptr<State> state_;
};

inline Module Kernel::State::module() const {
  return {};
}
inline Module Kernel::module() const {
  return state_->module();
}

/// Which devices reach a buffer's memory, beside copies from and to the host.
enum class Reach {
  any,    ///< its own device, and all GPUs that have access to memory of this one
  own,    ///< its own device; no GPU maps memory of another, which takes milliseconds
  linked  ///< its own device, and those that copy from such memory of it
};

/// The memory of a device, in bytes.
struct MemoryUse {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

/// A device. Every call reports failure as an Error with the call and its meaning: no_device for a
/// missing driver, compiler or device, usage for a request beyond a limit of the device.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Opens "auto" (a GPU if there is one, else the CPU), "cuda", "cuda:N", "emulated",
  /// "emulated:GPU" or "cpu". `explain_choice`, if given, receives the reason for the choice of
  /// "auto".
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
  Buffer allocate(std::size_t bytes, std::string_view name = "buffer", Reach reach = Reach::any);
  /// Allocates memory that the host and kernels reach at the same address: the buffer's address is
  /// a host pointer too. Throws Error(usage) on a device that runs no kernels. On the emulated
  /// device it occupies whole pages of its own, so that a program may protect them.
  Buffer allocate_managed(std::size_t bytes, std::string_view name = "managed memory");
  virtual MemoryUse memory_use() const;
  /// Gives the memory that the device keeps for its next allocations back to the system, for
  /// programs that use the GPU by other libraries too. A GPU keeps up to a thirty-second of its
  /// memory of each of the kinds `own` and `linked`, and counts what is kept as free.
  virtual void give_back_memory() {}
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
  /// Sets every byte. Only queued, also in the default stream.
  virtual void fill(DeviceAddress to, std::uint8_t value, std::size_t bytes,
                    const Stream& stream = {}) = 0;
  /// Makes a word of 32 bits another than 0 when all that is queued before has happened. A kernel
  /// that runs meanwhile may wait for it, since no SM has to become free.
  virtual void signal(DeviceAddress word, const Stream& stream = {}) {
    fill(word, 1, sizeof(std::uint32_t), stream);
  }

  /// Copies `rows` rows of `row_bytes` each; the pitches are the bytes between the starts of rows.
  virtual void copy_rows_to_device(DeviceAddress to, std::size_t to_pitch, const void* from,
                                   std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                                   const Stream& stream = {});
  virtual void copy_rows_to_host(void* to, std::size_t to_pitch, DeviceAddress from,
                                 std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                                 const Stream& stream = {});
  /// Only queued, as queue_copy() and fill() are.
  virtual void queue_copy_rows(DeviceAddress to, std::size_t to_pitch, DeviceAddress from,
                               std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                               const Stream& stream = {});
  virtual void fill_rows(DeviceAddress to, std::size_t pitch, std::uint8_t value,
                         std::size_t row_bytes, std::size_t rows, const Stream& stream = {});

  /// Arrays, textures and surfaces. Each throws Error(usage) with the rule that the request breaks,
  /// and on a device that runs no kernels. A texture must not outlive its memory.
  DeviceArray create_array(const ArrayRequest& request, std::string_view name = "array");
  TextureObject create_texture(const TextureRequest& request);
  TextureObject create_surface(std::uint64_t array, unsigned level = 0);
  /// Copies between arrays and memory, in the order of the stream. The host's memory is the
  /// caller's again as after copy_to_device() and copy_to_host().
  virtual void copy_box(const BoxCopy& copy, const Stream& stream = {});

  /// Compiles one kernel, or finds it in the cache, and loads it.
  virtual Kernel load(const KernelRequest& request) = 0;
  /// Loads PTX. Several texts are linked: a symbol that one declares .extern is the one of that
  /// name which another defines. Throws Error(bad_input) for text that cannot be loaded, a symbol
  /// that no text defines or two define, and variables beyond the device's memory.
  virtual Module load_module(std::span<const PtxText> texts);
  /// Checks the launch against the device's limits, then queues it.
  virtual void launch(const Kernel& kernel, const Launch& launch, const KernelArguments& arguments,
                      const Stream& stream = {}) = 0;

  /// Describes a matrix for bulk tensor copies. Throws Error(usage) on a device without them.
  virtual TensorMap tensor_map(const TensorMapRequest& request);

  /// Page-locked host memory, as PinnedBuffer owns it. Kernels, copies and fills reach it at its
  /// own address; `name` appears in reports. nullptr, with the reason in `why_not`, if the system
  /// refuses. On the emulated device it occupies whole pages of its own.
  virtual void* allocate_host(std::size_t bytes, std::string& why_not,
                              std::string_view name = "pinned memory");
  /// Waits for queued work first, as unregister_host() does.
  virtual void free_host(void*) noexcept {}
  /// Locks the pages of existing memory, as PinnedRegion does; kernels then reach it at its own
  /// address. false, with the reason in `why_not`, if the system refuses or part of the memory is
  /// registered already.
  virtual bool register_host(void* data, std::size_t bytes, std::string& why_not,
                             std::string_view name = "registered memory");
  virtual void unregister_host(void*) noexcept {}

  /// Calls `function` on the host, in the order of the stream's work. It must neither throw nor use
  /// the device.
  virtual void call(std::function<void()> function, const Stream& stream = {});

  /// Makes the event stand for everything queued in `stream` so far, and no longer for what it
  /// stood for before.
  virtual void record(const Event& event, const Stream& stream = {}) = 0;
  /// Work queued in `stream` from now on runs after the event as last recorded. An event that was
  /// never recorded has happened: nothing waits for it.
  virtual void wait(const Stream& stream, const Event& event) = 0;
  /// Whether the event has happened. Polling ends: a device that defers work does some of it now.
  virtual bool finished(const Event& event) = 0;
  /// Whether all work queued in the stream is done; as for an event.
  virtual bool finished(const Stream& stream);
  /// Blocks the calling thread until the event completes.
  virtual void synchronize(const Event& event);
  /// Milliseconds between two recorded events; waits for the second. Throws an Error if either was
  /// never recorded.
  virtual double elapsed_ms(const Event& from, const Event& to) = 0;
  virtual void synchronize(const Stream& stream) = 0;
  virtual void synchronize() = 0;

 protected:
  Device() = default;
  virtual std::uint64_t allocate_bytes(std::size_t bytes, std::string_view name) = 0;
  /// Freed by free_bytes().
  virtual std::uint64_t allocate_for(Reach reach, std::size_t bytes, std::string_view name);
  /// Freed by free_bytes().
  virtual std::uint64_t allocate_managed_bytes(std::size_t bytes, std::string_view name);
  virtual std::uint64_t new_array(const ArrayRequest& request, std::string_view name);
  virtual std::uint64_t new_texture(const TextureRequest& request);
  virtual std::uint64_t new_surface(std::uint64_t array, unsigned level);
  virtual std::uint64_t new_stream() = 0;
  virtual std::uint64_t new_event() = 0;
  // Called from destructors, so they must not throw.
  virtual void free_bytes(std::uint64_t address) noexcept = 0;
  virtual void free_stream(std::uint64_t stream) noexcept = 0;
  virtual void free_event(std::uint64_t event) noexcept = 0;
  virtual void free_array(std::uint64_t) noexcept {}
  virtual void free_texture(std::uint64_t) noexcept {}
  virtual void free_surface(std::uint64_t) noexcept {}

 private:
  [[noreturn]] void refuse_textures() const;
};

/// The CUDA devices of this machine. Empty without a driver; `why_none`, if given, receives the
/// reason.
std::vector<DeviceProperties> cuda_devices(std::string* why_none = nullptr);

}  // namespace tilescope
