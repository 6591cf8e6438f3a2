// Modules, managed memory and host functions of the emulated device, and the CPU's refusals.
#include "base/host_pages.hpp"
#include "device/emulated/emulated_device.hpp"
#include "support/module_cases.hpp"

namespace tilescope {
namespace testing {
INSTANTIATE_TEST_SUITE_P(Emulated, ModuleCases, ::testing::Values("emulated"));
}
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class EmulatedModules : public testing::ModuleCases {};

INSTANTIATE_TEST_SUITE_P(Emulated, EmulatedModules, ::testing::Values("emulated"));

TEST_P(EmulatedModules, HostFunctionsWaitLikeOtherWork) {
  const Stream stream = device_->create_stream();
  int calls = 0;
  device_->call([&] { ++calls; }, stream);
  device_->call([&] { ++calls; }, stream);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(device_->finished(stream)) << "a query does one piece of work";
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(device_->finished(stream));
  EXPECT_EQ(calls, 2);
}

TEST_P(EmulatedModules, CopiesOfManagedMemoryWaitAndOthersDoNot) {
  const Buffer managed = device_->allocate_managed(bytes), plain = device_->allocate(bytes);
  auto* const values = reinterpret_cast<std::uint32_t*>(managed.address());
  std::vector<std::uint32_t> pageable(count, 5);
  const Stream stream = device_->create_stream();
  std::fill_n(values, count, 1U);
  device_->copy_to_device(plain.address(), values, bytes, stream);
  device_->copy_to_device(plain.address() + 4, pageable.data(), 4, stream);
  std::fill_n(values, count, 2U);  // too early
  pageable[0] = 6;                 // the device has taken what was there
  device_->synchronize(stream);
  EXPECT_EQ(word_at(plain.address()), 2u);
  EXPECT_EQ(word_at(plain.address() + 4), 5u);
}

TEST_P(EmulatedModules, ALinkThatFailsNamesTheUnits) {
  EXPECT_THAT(
      error_of(ErrorKind::bad_input,
               [&] {
                 device_->load_module(std::vector{text(".extern .global .align 4 .u32 lost;\n")});
               }),
      HasSubstr("'lost' is declared .extern in module.ptx, and nothing defines it"));
}

TEST(EmulatedMemory, ALimitCanBeSet) {
  const auto device = std::make_shared<device::EmulatedDevice>();
  const std::size_t all = device->memory_use().total_bytes;
  device->set_options({.device_memory = 1000});
  EXPECT_EQ(device->memory_use().total_bytes, 1000u);
  const Buffer part = device->allocate(900);
  EXPECT_EQ(device->memory_use().free_bytes, 100u);
  EXPECT_THAT(error_of(ErrorKind::no_device, [&] { device->allocate(101); }),
              HasSubstr("900 of 1000 bytes are in use"));
  const Buffer shared = device->allocate_managed(4000);
  EXPECT_EQ(device->memory_use().free_bytes, 100u) << "managed memory is the host's";
  device->set_options({.device_memory = 500});
  EXPECT_EQ(device->memory_use().free_bytes, 0u);
  device->set_options({});
  EXPECT_EQ(device->memory_use().total_bytes, all);
}

TEST(EmulatedMemory, WrongHostPointersAreIgnoredWhenFreed) {
  const auto device = Device::open("emulated");
  int local = 0;
  device->free_host(&local);
  device->unregister_host(&local);
  std::string why;
  void* const pinned = device->allocate_host(100, why);
  device->free_host(static_cast<char*>(pinned) + 4);
  EXPECT_TRUE(is_readable(reinterpret_cast<std::uint64_t>(pinned)));
  device->free_host(pinned);
  EXPECT_FALSE(is_readable(reinterpret_cast<std::uint64_t>(pinned)));
}

TEST(CpuModules, AreRefused) {
  const auto cpu = Device::open("cpu");
  const std::vector texts{testing::ModuleCases::text("")};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { cpu->load_module(texts); }),
              HasSubstr("cpu runs no kernels (module.ptx)"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { cpu->allocate_managed(4, "values"); }),
              HasSubstr("cpu runs no kernels that could share values with the host"));
  bool called = false;
  cpu->call([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_TRUE(cpu->finished(Stream()));
}

}  // namespace
}  // namespace tilescope
