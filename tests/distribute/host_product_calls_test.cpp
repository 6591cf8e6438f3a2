// What a product of matrices in host memory asks of the driver, and when: a driver that only takes
// notes stands in for NVIDIA's.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tilescope/sharded.hpp>

#include "device/cuda/cuda_device.hpp"
#include "support/fake_driver.hpp"
#include "support/matrices.hpp"

namespace tilescope {
namespace {

using device::Driver;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TestMatrix;

std::mutex notes_mutex;
std::vector<std::string> notes;
std::atomic<std::uintptr_t> next_address = 1U << 20U;
std::atomic<std::size_t> most_of_second = std::size_t{1} << 40U;
thread_local CUcontext current = nullptr;

CUresult note(const char* call) {
  const std::lock_guard lock(notes_mutex);
  notes.emplace_back(call);
  return CUDA_SUCCESS;
}
std::vector<std::string> take_notes() {
  const std::lock_guard lock(notes_mutex);
  return std::exchange(notes, {});
}

template <typename Handle>
Handle next_handle() {
  return reinterpret_cast<Handle>(next_address += 256);
}

CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
  const bool is_second = current == reinterpret_cast<CUcontext>(2);
  if (is_second && bytes > most_of_second) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = next_address += (bytes / 256 + 1) * 256;
  return note("allocate");
}

void fake_memory(Driver& driver) {
  driver.mem_alloc = allocate;
  driver.mem_free = [](CUdeviceptr) { return note("free"); };
  driver.memory_info = [](std::size_t* free, std::size_t* total) {
    return *free = *total = 1 << 30, CUDA_SUCCESS;
  };
  driver.pool_create = [](CUmemoryPool* pool, const CUmemPoolProps*) {
    return *pool = next_handle<CUmemoryPool>(), CUDA_SUCCESS;
  };
  driver.pool_destroy = [](CUmemoryPool) { return CUDA_SUCCESS; };
  driver.pool_set = [](CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; };
  driver.pool_access = [](CUmemoryPool, const CUmemAccessDesc*, std::size_t) {
    return note("link");
  };
  driver.pool_trim = [](CUmemoryPool, std::size_t) { return CUDA_SUCCESS; };
  driver.pool_alloc = [](CUdeviceptr* address, std::size_t bytes, CUmemoryPool, CUstream) {
    return allocate(address, bytes);
  };
  driver.pool_free = [](CUdeviceptr, CUstream) { return note("free"); };
  driver.copy_2d = [](const CUDA_MEMCPY2D*, CUstream) { return note("copy"); };
  driver.copy_peer = [](const CUDA_MEMCPY3D_PEER*, CUstream) { return note("copy"); };
}

void fake_work(Driver& driver) {
  driver.primary_retain = [](CUcontext* context, CUdevice device) {
    return *context = reinterpret_cast<CUcontext>(device + std::intptr_t{1}), CUDA_SUCCESS;
  };
  driver.primary_release = [](CUdevice) { return CUDA_SUCCESS; };
  driver.set_current = [](CUcontext context) { return current = context, CUDA_SUCCESS; };
  driver.get_current = [](CUcontext* context) { return *context = current, CUDA_SUCCESS; };
  driver.context_synchronize = [] { return CUDA_SUCCESS; };
  driver.can_access_peer = [](int* can, CUdevice, CUdevice) { return *can = 1, CUDA_SUCCESS; };
  driver.module_load = [](CUmodule*, const void*, unsigned, CUjit_option*, void**) {
    return note("load");
  };
  driver.module_unload = [](CUmodule) { return note("unload"); };
  driver.module_function = [](CUfunction*, CUmodule, const char*) { return CUDA_SUCCESS; };
  driver.function_attribute = [](int* value, CUfunction_attribute, CUfunction) {
    return *value = 0, CUDA_SUCCESS;
  };
  driver.set_function_attribute = [](CUfunction, CUfunction_attribute, int) {
    return CUDA_SUCCESS;
  };
  driver.launch_extended = [](const CUlaunchConfig*, CUfunction, void**, void**) {
    return note("launch");
  };
}

void fake_streams(Driver& driver) {
  driver.stream_create = [](CUstream* stream, unsigned) {
    return *stream = next_handle<CUstream>(), CUDA_SUCCESS;
  };
  driver.stream_destroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.stream_synchronize = [](CUstream) { return CUDA_SUCCESS; };
  driver.stream_wait = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
  driver.event_create = [](CUevent* event, unsigned) {
    return *event = next_handle<CUevent>(), CUDA_SUCCESS;
  };
  driver.event_destroy = [](CUevent) { return CUDA_SUCCESS; };
  driver.event_record = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  driver.event_elapsed = [](float* ms, CUevent, CUevent) { return *ms = 1.0F, CUDA_SUCCESS; };
  driver.event_synchronize = [](CUevent) { return CUDA_SUCCESS; };
}

const Driver& noting_driver() {
  static const Driver driver = [] {
    Driver fake;
    testing::fake_properties(fake);
    fake_memory(fake);
    fake_work(fake);
    fake_streams(fake);
    return fake;
  }();
  return driver;
}

class HostProductCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    most_of_second = std::size_t{1} << 40U;
    for (int i = 0; i < 2; ++i) {
      devices_.push_back(std::make_shared<device::CudaDevice>(i, noting_driver()));
    }
    take_notes();
  }
  std::vector<std::string> calls_of_product() {
    matmul_sharded(devices_, a_.view(), b_.view(), c_.view(), {.variant = "general"});
    return take_notes();
  }

  std::vector<std::shared_ptr<Device>> devices_;
  TestMatrix a_{DataType::float32, 700, 300}, b_{DataType::float32, 300, 900},
      c_{DataType::float32, 700, 900};
};

TEST_F(HostProductCalls, EverythingIsThereBeforeTheFirstCopyAndStaysUntilTheLast) {
  const std::vector<std::string> calls = calls_of_product();
  const auto first = [&](const char* call) { return std::ranges::find(calls, call); };
  const auto is_one_of = [](const std::string& call) {
    return call == "allocate" || call == "load" || call == "link";
  };
  ASSERT_NE(first("copy"), calls.end());
  EXPECT_EQ(std::find_if(first("copy"), calls.end(), is_one_of), calls.end());
  EXPECT_EQ(std::find(first("free"), calls.end(), "copy"), calls.end());
  EXPECT_EQ(std::ranges::count(calls, "load"), 2) << "once on each GPU";
  EXPECT_EQ(std::ranges::count(calls, "link"), 2) << "B's memory, in both directions";
  EXPECT_EQ(std::ranges::count(calls, "allocate"), std::ranges::count(calls, "free"));
}

TEST_F(HostProductCalls, ASecondProductNeitherLoadsNorLinks) {
  calls_of_product();
  EXPECT_THAT(calls_of_product(),
              Not(::testing::AnyOf(Contains("load"), Contains("link"), Contains("unload"))));
  devices_.clear();
  EXPECT_THAT(take_notes(), ::testing::ElementsAre("unload", "unload"));
}

TEST_F(HostProductCalls, NothingIsCopiedWhereOneDeviceHasNoRoom) {
  for (std::size_t bytes = 1; bytes < std::size_t{1} << 16U; bytes *= 4) {
    most_of_second = bytes;
    std::string line;
    try {
      matmul_sharded(devices_, a_.view(), b_.view(), c_.view(), {.variant = "general"});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::no_device);
      line = error.what();
    }
    EXPECT_THAT(line, ::testing::HasSubstr("on cuda:1"));
    const std::vector<std::string> calls = take_notes();
    EXPECT_THAT(calls, Not(Contains("copy")));
    EXPECT_EQ(std::ranges::count(calls, "allocate"), std::ranges::count(calls, "free"));
  }
}

}  // namespace
}  // namespace tilescope
