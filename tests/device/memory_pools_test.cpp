// Which memory of a GPU others reach. A driver that keeps a record stands in for NVIDIA's.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "device/cuda/cuda_device.hpp"
#include "device/peer_link.hpp"
#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::device {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::size_t large = std::size_t{64} << 20U;

/// The driver's knowledge of the GPUs' memory. A pool's handle is its number.
struct Record {
  struct Allocation {
    std::size_t bytes;
    std::size_t pool;  ///< 0: cuMemAlloc's
  };
  std::map<CUdeviceptr, Allocation> allocated;
  std::vector<CUdevice> device_of_pool{-1};
  std::map<std::size_t, std::size_t> most_kept, kept;  ///< bytes, by pool
  std::set<std::pair<std::size_t, CUdevice>> access;   ///< of a GPU to a pool
  std::vector<std::pair<CUcontext, CUcontext>> contexts_opened;
  std::vector<std::string> calls;
  std::size_t accesses_given = 0;
  std::size_t room = std::size_t{1} << 40U;
  CUdeviceptr next = 4096;
  int pools_supported = 1;
  CUcontext current = nullptr;

  std::size_t used(std::size_t pool) const {
    std::size_t bytes = 0;
    for (const auto& [address, one] : allocated) bytes += one.pool == pool ? one.bytes : 0;
    return bytes;
  }
  CUresult allocate(CUdeviceptr* address, std::size_t bytes, std::size_t pool) {
    std::size_t taken = bytes;  // from the system
    for (const auto& [other, unused] : kept) taken += other == pool ? 0 : unused;
    if (taken > room) return CUDA_ERROR_OUT_OF_MEMORY;
    allocated[*address = next] = {bytes, pool};
    next += bytes;
    if (pool > 0) kept[pool] -= std::min(kept[pool], bytes);
    return CUDA_SUCCESS;
  }
  void trim(std::size_t pool, std::size_t bytes) {
    const std::size_t in_use = used(pool);
    kept[pool] = std::min(kept[pool], bytes > in_use ? bytes - in_use : 0);
  }
  std::size_t pool_of(const Buffer& buffer) const { return allocated.at(buffer.address()).pool; }
  /// The other GPUs that reach a buffer by its pool.
  std::set<CUdevice> others(const Buffer& buffer) const {
    std::set<CUdevice> devices;
    for (const auto& [pool, device] : access) {
      if (pool == pool_of(buffer)) devices.insert(device);
    }
    return devices;
  }
};
Record record;

void fake_contexts(Driver& driver) {
  driver.device_attribute = [](int* value, CUdevice_attribute which, CUdevice) {
    *value = which == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED ? record.pools_supported
                                                                 : testing::attribute_of(which);
    return CUDA_SUCCESS;
  };
  driver.primary_retain = [](CUcontext* context, CUdevice device) {
    return *context = reinterpret_cast<CUcontext>(device + std::intptr_t{1}), CUDA_SUCCESS;
  };
  driver.primary_release = [](CUdevice) {
    return record.calls.emplace_back("release context"), CUDA_SUCCESS;
  };
  driver.set_current = [](CUcontext context) { return record.current = context, CUDA_SUCCESS; };
  driver.get_current = [](CUcontext* context) { return *context = record.current, CUDA_SUCCESS; };
  driver.context_synchronize = [] { return record.calls.emplace_back("wait"), CUDA_SUCCESS; };
  driver.can_access_peer = [](int* can, CUdevice, CUdevice) { return *can = 1, CUDA_SUCCESS; };
  driver.enable_peer = [](CUcontext peer, unsigned) {
    return record.contexts_opened.emplace_back(record.current, peer), CUDA_SUCCESS;
  };
  driver.stream_create = [](CUstream* stream, unsigned) {
    return *stream = reinterpret_cast<CUstream>(7), CUDA_SUCCESS;
  };
  driver.stream_destroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.stream_synchronize = [](CUstream) { return CUDA_SUCCESS; };
}

void fake_memory(Driver& driver) {
  driver.mem_alloc = [](CUdeviceptr* address, std::size_t bytes) {
    return record.allocate(address, bytes, 0);
  };
  driver.mem_free = [](CUdeviceptr address) {
    record.calls.emplace_back("free");
    return record.allocated.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  driver.memory_info = [](std::size_t* free, std::size_t* total) {
    *free = record.room;
    *total = 1 << 30;
    return CUDA_SUCCESS;
  };
  driver.pool_create = [](CUmemoryPool* pool, const CUmemPoolProps* properties) {
    *pool = reinterpret_cast<CUmemoryPool>(record.device_of_pool.size());
    record.device_of_pool.push_back(properties->location.id);
    return CUDA_SUCCESS;
  };
  driver.pool_destroy = [](CUmemoryPool) {
    return record.calls.emplace_back("destroy pool"), CUDA_SUCCESS;
  };
  driver.pool_access = [](CUmemoryPool pool, const CUmemAccessDesc* to, std::size_t count) {
    ++record.accesses_given;
    for (std::size_t i = 0; i < count; ++i) {
      record.access.emplace(reinterpret_cast<std::size_t>(pool), to[i].location.id);
    }
    return CUDA_SUCCESS;
  };
  driver.pool_trim = [](CUmemoryPool pool, std::size_t bytes) {
    record.trim(reinterpret_cast<std::size_t>(pool), bytes);
    return record.calls.push_back(fmt::format("trim to {}", bytes)), CUDA_SUCCESS;
  };
  driver.pool_set = [](CUmemoryPool pool, CUmemPool_attribute which, void* value) {
    if (which != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return CUDA_ERROR_INVALID_VALUE;
    record.most_kept[reinterpret_cast<std::size_t>(pool)] = *static_cast<cuuint64_t*>(value);
    return CUDA_SUCCESS;
  };
  driver.pool_get = [](CUmemoryPool of, CUmemPool_attribute which, void* value) {
    const auto pool = reinterpret_cast<std::size_t>(of);
    const std::size_t in_use = record.used(pool);
    *static_cast<cuuint64_t*>(value) =
        which == CU_MEMPOOL_ATTR_USED_MEM_CURRENT ? in_use : in_use + record.kept[pool];
    return CUDA_SUCCESS;
  };
  driver.pool_free = [](CUdeviceptr address, CUstream) {
    record.calls.emplace_back("free");
    const auto found = record.allocated.find(address);
    if (found == record.allocated.end()) return CUDA_ERROR_INVALID_VALUE;
    record.kept[found->second.pool] += found->second.bytes;
    record.allocated.erase(found);
    return CUDA_SUCCESS;
  };
  driver.pool_alloc = [](CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream) {
    return record.allocate(address, bytes, reinterpret_cast<std::size_t>(pool));
  };
}

const Driver& recording_driver() {
  static const Driver driver = [] {
    Driver fake;
    testing::fake_properties(fake);
    fake_contexts(fake);
    fake_memory(fake);
    return fake;
  }();
  return driver;
}

class Memory : public ::testing::Test {
 protected:
  void SetUp() override {
    record = {};
    open();
  }
  void open() {
    for (int i = 0; i < 2; ++i) {
      devices_[i] = std::make_shared<CudaDevice>(i, recording_driver());
    }
  }

  std::shared_ptr<Device> devices_[2];
};

TEST_F(Memory, OnlyLinkedMemoryIsMappedToAnotherGpuAndOnlyToTheOneThatCopies) {
  const Buffer before = devices_[0]->allocate(large, "B", Reach::linked);
  const PeerLink link(devices_[0], devices_[1], Reach::linked);
  const Buffer own = devices_[0]->allocate(large, "A", Reach::own),
               after = devices_[0]->allocate(1, "B", Reach::linked),
               of_receiver = devices_[1]->allocate(large, "a panel", Reach::own),
               back = devices_[1]->allocate(large, "B", Reach::linked);
  EXPECT_TRUE(link.is_direct());
  EXPECT_THAT(record.others(before), ElementsAre(1));
  EXPECT_THAT(record.others(after), ElementsAre(1)) << "however small";
  EXPECT_THAT(record.others(own), IsEmpty());
  EXPECT_THAT(record.others(of_receiver), IsEmpty());
  EXPECT_THAT(record.others(back), IsEmpty()) << "no link goes back";
  for (const Buffer* buffer : {&before, &own, &after, &of_receiver, &back}) {
    EXPECT_NE(record.pool_of(*buffer), 0U) << "the contexts' memory is mapped to all";
  }
  EXPECT_EQ(record.device_of_pool[record.pool_of(own)], 0);
  EXPECT_EQ(record.device_of_pool[record.pool_of(back)], 1);
  EXPECT_THAT(record.contexts_opened, IsEmpty());
}

TEST_F(Memory, LinksForAnyMemoryOpenTheContext) {
  const PeerLink link(devices_[0], devices_[1]);
  const Buffer buffer = devices_[0]->allocate(large);
  EXPECT_EQ(record.pool_of(buffer), 0U);
  EXPECT_THAT(record.contexts_opened,
              ElementsAre(Pair(reinterpret_cast<CUcontext>(2), reinterpret_cast<CUcontext>(1))))
      << "the receiver's reaches the sender's";
}

TEST_F(Memory, SmallMemoryTakesNoBlockOfAPool) {
  const Buffer bias = devices_[0]->allocate(4096, "bias", Reach::own);
  EXPECT_EQ(record.pool_of(bias), 0U);
}

// Of a GPU of 1 GB.
constexpr std::size_t most_kept = std::size_t{32} << 20U;

TEST_F(Memory, WhatIsFreedGoesToThePoolAfterTheWorkThatMayUseIt) {
  try {
    const Buffer a = devices_[0]->allocate(large, "A", Reach::own),
                 b = devices_[0]->allocate(large, "B", Reach::linked), c = devices_[0]->allocate(9);
    record.calls.clear();
    throw Error(ErrorKind::usage, "a failure while memory is in use");
  } catch (const Error&) {
    EXPECT_THAT(record.calls, ElementsAre("free", "wait", "free", "trim to 33554432", "wait",
                                          "free", "trim to 33554432"));
  }
  EXPECT_THAT(record.allocated, IsEmpty());
  record.calls.clear();
  devices_[0].reset();
  EXPECT_THAT(record.calls, ElementsAre("destroy pool", "destroy pool", "release context"));
}

TEST_F(Memory, APoolKeepsSomeOfWhatIsFreedUntilSomebodyNeedsIt) {
  record.room = large;
  const auto free_bytes = [&] { return devices_[0]->memory_use().free_bytes; };
  const auto keep_some = [&] { devices_[0]->allocate(large / 4, "A", Reach::own); };
  keep_some();
  EXPECT_EQ(record.kept, (std::map<std::size_t, std::size_t>{{1, large / 4}}));
  EXPECT_EQ(record.most_kept[1], most_kept) << "the driver keeps it too";
  EXPECT_EQ(free_bytes(), large + large / 4) << "what is kept counts as free";
  keep_some();
  EXPECT_EQ(record.kept[1], large / 4) << "and is used first";
  devices_[0]->allocate(large, "A", Reach::own);
  EXPECT_EQ(record.kept[1], most_kept);
  devices_[0]->give_back_memory();
  EXPECT_EQ(record.kept[1], 0U);
  for (const Reach other : {Reach::any, Reach::linked}) {
    keep_some();
    EXPECT_EQ(devices_[0]->allocate(large, "all", other).bytes(), large)
        << "by itself there is room";
    EXPECT_EQ(record.kept[1], 0U);
  }
}

TEST_F(Memory, AccessIsGivenOnce) {
  const auto link = [&] { PeerLink(devices_[0], devices_[1], Reach::linked); };
  link();
  const std::size_t first = record.accesses_given;
  link();
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(record.accesses_given, 1U);
}

TEST_F(Memory, WithoutPoolsAllMemoryIsTheContexts) {
  record.pools_supported = 0;
  open();
  const PeerLink link(devices_[0], devices_[1], Reach::linked);
  const Buffer a = devices_[0]->allocate(large, "A", Reach::own),
               b = devices_[0]->allocate(large, "B", Reach::linked);
  EXPECT_EQ(record.pool_of(a), 0U);
  EXPECT_EQ(record.pool_of(b), 0U);
  EXPECT_EQ(record.contexts_opened.size(), 1U);
  EXPECT_EQ(record.device_of_pool.size(), 1U) << "no pool was made";
}

TEST_F(Memory, OneLineSaysWhichMemoryThereIsNotEnoughOf) {
  record.room = large;
  for (const auto& [reach, call] : {std::pair{Reach::any, "cuMemAlloc"},
                                    {Reach::own, "cuMemAlloc"},
                                    {Reach::linked, "cuMemAllocFromPoolAsync"}}) {
    const std::string line = error_of(ErrorKind::no_device, [&] {
      const Buffer a = devices_[1]->allocate(large, "A", reach);
      devices_[1]->allocate(large + 1, "B", reach);
    });
    EXPECT_THAT(line, ::testing::StartsWith(fmt::format(
                          "{} of 67108865 bytes for B (67108864 of 1073741824 bytes free on "
                          "cuda:1) failed",
                          call)));
    EXPECT_THAT(line, HasSubstr("use a smaller problem"));
    EXPECT_THAT(record.allocated, IsEmpty());
  }
}

}  // namespace
}  // namespace tilescope::device
