#include <utility>

#include "capi/handles.hpp"
#include "capi/status.hpp"

using namespace tilescope;
using namespace tilescope::capi;

namespace {

void* as_pointer(std::uint64_t value) {
  return reinterpret_cast<void*>(value);
}
DeviceAddress as_address(const void* pointer) {
  return reinterpret_cast<DeviceAddress>(pointer);
}

}  // namespace

namespace tilescope::capi {

DataType type_of(tilescope_type type) {
  return value_of<DataType>(type, TILESCOPE_FLOAT8_E5M2 + 1, "a type");
}

ConstMatrixView view_of(const tilescope_matrix* matrix, const char* name) {
  require(matrix, name);
  return {.data = matrix->data,
          .type = type_of(matrix->type),
          .rows = matrix->rows,
          .columns = matrix->columns,
          .order = value_of<Order>(matrix->order, TILESCOPE_COLUMN_MAJOR + 1, "an order"),
          .leading = matrix->leading};
}

}  // namespace tilescope::capi

extern "C" {

tilescope_status tilescope_device_open(const char* specification, tilescope_device** device) {
  return guarded([&] {
    require(specification, "specification");
    require(device, "device");
    *device = new tilescope_device(Device::open(specification));
  });
}

void tilescope_device_close(tilescope_device* device) {
  delete device;
}

const char* tilescope_device_id(const tilescope_device* device) {
  return device->id.c_str();
}

const char* tilescope_device_name(const tilescope_device* device) {
  return device->device->properties().name.c_str();
}

tilescope_device_kind tilescope_device_kind_of(const tilescope_device* device) {
  return static_cast<tilescope_device_kind>(device->device->kind());
}

tilescope_status tilescope_allocate(tilescope_device* device, size_t bytes, void** address) {
  return guarded([&] {
    require(device, "device");
    require(address, "address");
    Buffer buffer = device->device->allocate(bytes);
    void* const at = as_pointer(buffer.address());
    const std::lock_guard lock(device->mutex);
    device->buffers.emplace(at, std::move(buffer));
    *address = at;
  });
}

void tilescope_free(tilescope_device* device, void* address) {
  if (device == nullptr || address == nullptr) return;
  Buffer freed;  // outside of the lock: a GPU waits for its work
  const std::lock_guard lock(device->mutex);
  if (const auto found = device->buffers.find(address); found != device->buffers.end()) {
    freed = std::move(found->second);
    device->buffers.erase(found);
  }
}

tilescope_status tilescope_copy_to_device(tilescope_device* device, void* to, const void* from,
                                          size_t bytes) {
  return guarded([&] {
    require(device, "device");
    require_if(bytes > 0, to, "to");
    require_if(bytes > 0, from, "from");
    device->device->copy_to_device(as_address(to), from, bytes);
  });
}

tilescope_status tilescope_copy_to_host(tilescope_device* device, void* to, const void* from,
                                        size_t bytes) {
  return guarded([&] {
    require(device, "device");
    require_if(bytes > 0, to, "to");
    require_if(bytes > 0, from, "from");
    device->device->copy_to_host(to, as_address(from), bytes);
  });
}

tilescope_status tilescope_stream_create(tilescope_device* device, void** stream) {
  return guarded([&] {
    require(device, "device");
    require(stream, "stream");
    Stream created = device->device->create_stream();
    void* const handle = as_pointer(created.value());
    const std::lock_guard lock(device->mutex);
    // The CPU's streams are all alike.
    device->streams.insert_or_assign(handle, std::move(created));
    *stream = handle;
  });
}

void tilescope_stream_destroy(tilescope_device* device, void* stream) {
  if (device == nullptr) return;
  const std::lock_guard lock(device->mutex);
  device->streams.erase(stream);
}

tilescope_status tilescope_stream_synchronize(tilescope_device* device, void* stream) {
  return guarded([&] {
    require(device, "device");
    device->device->synchronize(stream_of(stream));
  });
}

}  // extern "C"
