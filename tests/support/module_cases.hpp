// A run time for whole programs needs this of a device that runs kernels: modules, memory of host
// and kernels, host functions. Included by one test file for each device, which instantiates
// ModuleCases with the device's name.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/pinned.hpp>
#include <vector>

#include "support/temporary_folder.hpp"

namespace tilescope::testing {

class ModuleCases : public ::testing::TestWithParam<const char*> {
 public:
  void SetUp() override {
    std::string why;
    if (std::string_view(GetParam()) == "cuda" && cuda_devices(&why).empty()) GTEST_SKIP() << why;
    device_ = Device::open(GetParam());
  }

  static PtxText text(std::string body) {
    return {"module.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n" + std::move(body)};
  }
  /// `bump` adds 1 to the variable `counter`, `read` stores it.
  Module counters() {
    return device_->load_module(std::vector{
        text(".visible .global .align 4 .u32 counter = 5;\n"
             ".visible .global .attribute(.managed) .align 4 .u32 managed = 3;\n"
             ".visible .entry bump() { .reg .b32 %v;\n"
             "ld.global.u32 %v, [counter]; add.u32 %v, %v, 1; st.global.u32 [counter], %v;\n"
             "ld.global.u32 %v, [managed]; add.u32 %v, %v, 1; st.global.u32 [managed], %v; ret; }\n"
             ".visible .entry read(.param .u64 to) { .reg .b32 %v; .reg .b64 %a;\n"
             "ld.param.u64 %a, [to]; ld.global.u32 %v, [counter]; st.global.u32 [%a], %v; ret; "
             "}\n")});
  }
  /// Adds 1 to `count` integers at an address.
  void increment(std::uint64_t address, const Stream& stream = {}) {
    const Module module = device_->load_module(std::vector{
        text(".visible .entry increment(.param .u64 at, .param .u32 n) {\n"
             ".reg .b32 %v, %i, %n; .reg .b64 %a, %o; .reg .pred %p;\n"
             "ld.param.u64 %a, [at]; ld.param.u32 %n, [n]; mov.u32 %i, %tid.x;\n"
             "setp.ge.u32 %p, %i, %n; @%p ret; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
             "ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; st.global.u32 [%a], %v; ret; }\n")});
    device_->launch(module.kernel("increment"), {.grid = {1}, .block = {64}},
                    KernelArguments::of(address, std::uint32_t{count}), stream);
  }
  std::uint32_t word_at(DeviceAddress address) {
    std::uint32_t word = 0;
    device_->copy_to_host(&word, address, sizeof word);
    return word;
  }

  static constexpr std::uint32_t count = 50;
  static constexpr std::size_t bytes = count * sizeof(std::uint32_t);
  std::shared_ptr<Device> device_;
};

TEST_P(ModuleCases, KernelsOfAModuleShareItsVariables) {
  Kernel bump, read;
  {
    const Module module = counters();
    EXPECT_THAT(module.kernels(), ::testing::UnorderedElementsAre("bump", "read"));
    bump = module.kernel("bump");
    read = module.kernel("read");
    const ModuleVariable counter = module.variable("counter");
    EXPECT_EQ(counter.bytes, 4u);
    EXPECT_FALSE(counter.managed);
    EXPECT_EQ(word_at(counter.address), 5u);
    const std::uint32_t seven = 7;
    device_->copy_to_device(counter.address, &seven, 4);
  }
  const Buffer out = device_->allocate(4);
  device_->launch(bump, {}, {});
  device_->launch(read, {}, KernelArguments::of(out.address()));
  EXPECT_EQ(word_at(out.address()), 8u) << "the kernels keep the variables alive";
  EXPECT_EQ(read.parameters().size(), 1u);
  EXPECT_EQ(read.parameters()[0].bytes, 8u);
}

TEST_P(ModuleCases, EachLoadHasVariablesOfItsOwn) {
  const Module first = counters(), second = counters();
  device_->launch(first.kernel("bump"), {}, {});
  EXPECT_EQ(word_at(first.variable("counter").address), 6u);
  EXPECT_EQ(word_at(second.variable("counter").address), 5u);
}

TEST_P(ModuleCases, UnknownNamesAreNamed) {
  const Module module = counters();
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { module.kernel("bmup"); }),
              ::testing::HasSubstr("no kernel 'bmup'"));
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { module.variable("conuter"); }),
              ::testing::HasSubstr("no variable 'conuter'"));
  error_of(ErrorKind::bad_input, [&] { device_->load_module({}); });
  error_of(ErrorKind::bad_input,
           [&] { device_->load_module(std::vector{text("this is no directive\n")}); });
}

TEST_P(ModuleCases, TextsAreLinked) {
  const Module module = device_->load_module(std::vector{
      text(".extern .global .align 4 .u32 total;\n"
           ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
           ".visible .entry k() { .reg .b32 %v; .param .b32 p; .param .b32 q;\n"
           "ld.global.u32 %v, [total]; st.param.b32 [p], %v; call.uni (q), twice, (p);\n"
           "ld.param.b32 %v, [q]; st.global.u32 [total], %v; ret; }\n"),
      text(".visible .global .align 4 .u32 total = 21;\n"
           ".visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %v;\n"
           "ld.param.b32 %v, [a]; add.u32 %v, %v, %v; st.param.b32 [r], %v; ret; }\n")});
  device_->launch(module.kernel("k"), {}, {});
  EXPECT_EQ(word_at(module.variable("total").address), 42u);
  EXPECT_TRUE(module.kernel("k").parameters().empty());
}

TEST_P(ModuleCases, ManagedVariablesAreTheHostsToo) {
  const Module module = counters();
  const ModuleVariable managed = module.variable("managed");
  EXPECT_TRUE(managed.managed);
  auto& value = *reinterpret_cast<volatile std::uint32_t*>(managed.address);
  EXPECT_EQ(value, 3u);
  value = 10;
  device_->launch(module.kernel("bump"), {}, {});
  device_->synchronize();
  EXPECT_EQ(value, 11u);
}

TEST_P(ModuleCases, ManagedMemoryHasOneAddress) {
  const Buffer managed = device_->allocate_managed(bytes, "managed");
  auto* const values = reinterpret_cast<std::uint32_t*>(managed.address());
  std::iota(values, values + count, 0U);
  increment(managed.address());
  device_->synchronize();
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(values[i], i + 1);
  const Buffer plain = device_->allocate(bytes);
  device_->copy_on_device(plain.address(), managed.address(), bytes);
  EXPECT_EQ(word_at(plain.address() + 4 * 7), 8u);
}

TEST_P(ModuleCases, PinnedMemoryIsReachedByKernels) {
  const PinnedBuffer pinned(*device_, bytes);
  auto* const values = static_cast<std::uint32_t*>(pinned.data());
  std::iota(values, values + count, 0U);
  increment(reinterpret_cast<std::uint64_t>(values));
  device_->synchronize();
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(values[i], i + 1);
}

TEST_P(ModuleCases, RegisteredMemoryIsReachedByKernels) {
  std::vector<std::uint32_t> values(1 << 16, 4);
  std::string why;
  ASSERT_TRUE(device_->register_host(values.data(), values.size() * 4, why)) << why;
  EXPECT_FALSE(device_->register_host(values.data(), values.size() * 4, why));
  EXPECT_NE(why, "");
  increment(reinterpret_cast<std::uint64_t>(values.data() + 100));
  device_->synchronize();
  device_->unregister_host(values.data());
  EXPECT_EQ(values[99], 4u);
  EXPECT_EQ(values[100], 5u);
  EXPECT_EQ(values[100 + count - 1], 5u);
  EXPECT_EQ(values[100 + count], 4u);
}

TEST_P(ModuleCases, HostFunctionsRunInTheOrderOfTheirStream) {
  const Buffer managed = device_->allocate_managed(bytes, "managed");
  auto* const values = reinterpret_cast<volatile std::uint32_t*>(managed.address());
  values[0] = 1;
  std::atomic<std::uint32_t> seen{0};
  for (const bool own_stream : {false, true}) {
    const Stream stream = own_stream ? device_->create_stream() : Stream();
    increment(managed.address(), stream);
    device_->call([&] { seen = values[0]; }, stream);
    increment(managed.address(), stream);
    device_->synchronize(stream);
    EXPECT_EQ(seen.load(), own_stream ? 4u : 2u);
    EXPECT_EQ(values[0], own_stream ? 5u : 3u);
  }
}

TEST_P(ModuleCases, PollingAStreamEnds) {
  const Stream stream = device_->create_stream();
  EXPECT_TRUE(device_->finished(stream));
  const Buffer buffer = device_->allocate(bytes);
  device_->fill(buffer.address(), 0, bytes, stream);
  for (int i = 0; i < 3; ++i) increment(buffer.address(), stream);
  while (!device_->finished(stream)) {
  }
  EXPECT_EQ(word_at(buffer.address()), 3u);
  EXPECT_TRUE(device_->finished(Stream()));
}

TEST_P(ModuleCases, RowsOnTheDevice) {
  constexpr std::size_t pitch = 16, rows = 4;
  const Buffer from = device_->allocate(pitch * rows), to = device_->allocate(pitch * rows);
  device_->fill(from.address(), 1, pitch * rows);
  device_->fill(to.address(), 2, pitch * rows);
  device_->fill_rows(from.address() + 4, pitch, 3, 8, rows);
  device_->queue_copy_rows(to.address(), pitch, from.address() + 4, pitch, 4, 3);
  device_->fill_rows(to.address(), pitch, 9, 0, rows);
  std::vector<std::uint8_t> image(pitch * rows);
  device_->copy_to_host(image.data(), from.address(), image.size());
  for (std::size_t i = 0; i < image.size(); ++i) {
    ASSERT_EQ(image[i], i % pitch >= 4 && i % pitch < 12 ? 3 : 1) << i;
  }
  device_->copy_to_host(image.data(), to.address(), image.size());
  for (std::size_t i = 0; i < image.size(); ++i) {
    ASSERT_EQ(image[i], i % pitch < 4 && i / pitch < 3 ? 3 : 2) << i;
  }
}

TEST_P(ModuleCases, MemoryInUseIsCounted) {
  constexpr std::size_t size = 64 << 20;
  bool is_counted = false;
  // Other processes may free memory of the GPU meanwhile, but not each time.
  for (int attempt = 0; attempt < 20 && !is_counted; ++attempt) {
    const MemoryUse before = device_->memory_use();
    EXPECT_LE(before.free_bytes, before.total_bytes);
    const Buffer buffer = device_->allocate(size);
    const MemoryUse now = device_->memory_use();
    EXPECT_EQ(now.total_bytes, before.total_bytes);
    is_counted = now.free_bytes + size <= before.free_bytes;
  }
  EXPECT_TRUE(is_counted);
}

}  // namespace tilescope::testing
