// The CUDA device's calls of the driver, in their order: a driver that only takes notes
// stands in for NVIDIA's, so this runs without a GPU.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "device/cuda/cuda_device.hpp"
#include "support/fake_driver.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::device {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::mutex notes_mutex;
std::vector<std::string> notes;
thread_local CUcontext current = nullptr;
std::atomic<int> shared_limit = 0, refused_launches = 0;
std::atomic<int> driver_launches = 0, attributes_set = 0, contexts_asked = 0, contexts_set = 0;

void note(std::string call) {
  const std::lock_guard lock(notes_mutex);
  notes.push_back(std::move(call));
}
std::vector<std::string> take_notes() {
  const std::lock_guard lock(notes_mutex);
  return std::exchange(notes, {});
}

void fake_context(Driver& driver) {
  testing::fake_properties(driver);
  driver.primary_retain = [](CUcontext* context, CUdevice) {
    return *context = reinterpret_cast<CUcontext>(1), CUDA_SUCCESS;
  };
  driver.primary_release = [](CUdevice) { return note("release context"), CUDA_SUCCESS; };
  driver.set_current = [](CUcontext context) {
    ++contexts_set;
    return current = context, CUDA_SUCCESS;
  };
  driver.get_current = [](CUcontext* context) {
    ++contexts_asked;
    return *context = current, CUDA_SUCCESS;
  };
}

void fake_copies(Driver& driver) {
  driver.copy_to_device = [](CUdeviceptr, const void*, std::size_t, CUstream) {
    return note("to device"), CUDA_SUCCESS;
  };
  driver.copy_to_host = [](void*, CUdeviceptr, std::size_t, CUstream) {
    return note("to host"), CUDA_SUCCESS;
  };
  driver.copy_on_device = [](CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
    return note("on device"), CUDA_SUCCESS;
  };
  driver.copy_2d = [](const CUDA_MEMCPY2D*, CUstream) { return note("rows"), CUDA_SUCCESS; };
  driver.stream_create = [](CUstream* stream, unsigned) {
    return *stream = reinterpret_cast<CUstream>(7), CUDA_SUCCESS;
  };
  driver.stream_destroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.stream_synchronize = [](CUstream stream) {
    return note(stream ? "wait for stream" : "wait"), CUDA_SUCCESS;
  };
}

void fake_kernels(Driver& driver) {
  driver.module_load = [](CUmodule*, const void*, unsigned, CUjit_option*, void**) {
    return note("load module"), CUDA_SUCCESS;
  };
  driver.module_unload = [](CUmodule) {
    return note(current ? "unload module" : "unload module without its context"), CUDA_SUCCESS;
  };
  driver.module_function = [](CUfunction*, CUmodule, const char*) { return CUDA_SUCCESS; };
  driver.function_attribute = [](int* value, CUfunction_attribute, CUfunction) {
    return *value = 0, CUDA_SUCCESS;
  };
  driver.set_function_attribute = [](CUfunction, CUfunction_attribute which, int bytes) {
    ++attributes_set;
    if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
    std::this_thread::sleep_for(std::chrono::microseconds(bytes % 64));
    return shared_limit = bytes, CUDA_SUCCESS;
  };
  driver.launch_extended = [](const CUlaunchConfig* config, CUfunction, void**, void**) {
    ++driver_launches;
    if (static_cast<int>(config->sharedMemBytes) > shared_limit) ++refused_launches;
    return CUDA_SUCCESS;
  };
}

void fake_linking(Driver& driver) {
  driver.link_create = [](unsigned, CUjit_option*, void**, CUlinkState* state) {
    *state = reinterpret_cast<CUlinkState>(1);
    return note("begin to link"), CUDA_SUCCESS;
  };
  driver.link_add = [](CUlinkState, CUjitInputType type, void* text, std::size_t bytes,
                       const char* name, unsigned, CUjit_option*, void**) {
    if (type == CU_JIT_INPUT_FATBINARY) {
      note(std::string("link machine code of ") + name + ", bytes " + std::to_string(bytes));
      return CUDA_SUCCESS;
    }
    const bool refused =
        std::string_view(static_cast<char*>(text)).find("bad") != std::string::npos;
    note(std::string("link ") + name +
         (std::strlen(static_cast<char*>(text)) + 1 == bytes ? "" : " without its end"));
    return refused ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
  };
  driver.link_complete = [](CUlinkState, void**, std::size_t*) { return CUDA_SUCCESS; };
  driver.link_destroy = [](CUlinkState) { return note("end of link"), CUDA_SUCCESS; };
  driver.module_global = [](CUdeviceptr* address, std::size_t* bytes, CUmodule, const char* name) {
    *address = 4096;
    *bytes = 4;
    return std::string_view(name) == "lost" ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
  };
}

void fake_streams(Driver& driver) {
  driver.launch_host = [](CUstream stream, CUhostFn function, void* data) {
    note(stream ? "call in stream" : "call");
    if (stream) function(data);
    return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  driver.stream_query = [](CUstream stream) {
    return stream ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  };
}

const Driver& fake_driver() {
  static const Driver driver = [] {
    Driver fake;
    fake_context(fake);
    fake_copies(fake);
    fake_kernels(fake);
    fake_linking(fake);
    fake_streams(fake);
    return fake;
  }();
  return driver;
}

class CudaCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    take_notes();
    shared_limit = refused_launches = 0;
    driver_launches = attributes_set = contexts_asked = contexts_set = 0;
    device_ = std::make_shared<CudaDevice>(0, fake_driver());
  }
  Kernel load() {
    return device_->load({.source_name = "k.ptx",
                          .source = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                    ".visible .entry k() {\nret;\n}\n",
                          .language = SourceLanguage::ptx});
  }

  static PtxText unit(std::string name, const std::string& body) {
    return {std::move(name), ".version 8.0\n.target sm_90\n.address_size 64\n" + body};
  }

  std::shared_ptr<Device> device_;
  char host_[16] = {};
};

TEST_F(CudaCalls, WithoutAStreamACopyHasHappenedWhenTheCallReturns) {
  device_->copy_on_device(256, 512, 16);
  EXPECT_THAT(take_notes(), ElementsAre("on device", "wait"));
  device_->copy_to_device(256, host_, 16);
  EXPECT_THAT(take_notes(), ElementsAre("to device", "wait"));
  device_->copy_to_host(host_, 256, 16);
  EXPECT_THAT(take_notes(), ElementsAre("to host", "wait"));
  device_->copy_rows_to_device(256, 4, host_, 4, 4, 4);
  EXPECT_THAT(take_notes(), ElementsAre("rows", "wait"));
  device_->copy_rows_to_host(host_, 4, 256, 4, 4, 4);
  EXPECT_THAT(take_notes(), ElementsAre("rows", "wait"));
}

TEST_F(CudaCalls, InAStreamACopyIsOnlyQueued) {
  const Stream stream = device_->create_stream();
  device_->copy_on_device(256, 512, 16, stream);
  device_->queue_copy(256, 512, 16, stream);
  device_->copy_to_device(256, host_, 16, stream);
  EXPECT_THAT(take_notes(), ElementsAre("on device", "on device", "to device"));
  device_->queue_copy(256, 512, 16);
  EXPECT_THAT(take_notes(), ElementsAre("on device")) << "as a launch in the default stream";
}

TEST_F(CudaCalls, ZeroBytesAskNothingOfTheDriver) {
  device_->queue_copy(256, 512, 0);
  device_->copy_to_device(256, host_, 0);
  EXPECT_THAT(take_notes(), IsEmpty());
}

TEST_F(CudaCalls, AKernelKeepsItsContextAlive) {
  {
    const Kernel kernel = load();
    device_.reset();
    current = nullptr;  // as in a thread that never used the device
    EXPECT_THAT(take_notes(), ElementsAre("load module"));
  }
  EXPECT_THAT(take_notes(), ElementsAre("unload module", "release context"));
}

TEST_F(CudaCalls, CompiledKernelsStayLoadedUnlessTheyHaveVariables) {
  const auto load_compiled = [&](const std::string& name, const std::string& before = "",
                                 const std::string& value = "9") {
    return device_->load({.source_name = name + ".cu",
                          .source = before + "\nextern \"C\" __global__ void " + name +
                                    "(int* x) { x[0] = " + value + "; }\n",
                          .kernel = name});
  };
  load_compiled("k");
  EXPECT_THAT(take_notes(), ElementsAre("load module"));
  load_compiled("k");
  EXPECT_THAT(take_notes(), IsEmpty());
  load_compiled("c", "constexpr int eight = 8;", "eight");
  EXPECT_THAT(take_notes(), ElementsAre("load module"));
  for (const auto& [variable, value] : {std::pair{"__device__ int count = 3;", "count++"},
                                        {"static __device__ int count;", "count++"},
                                        {"__constant__ int four[4];", "four[x[1]]"}}) {
    load_compiled("v", variable, value);
    EXPECT_THAT(take_notes(), ElementsAre("load module", "unload module")) << variable;
  }
  {
    const Kernel held = load_compiled("held");
    take_notes();
    for (int i = 0; i < 16; ++i) load_compiled("k" + std::to_string(i));
    const std::vector<std::string> loads = take_notes();
    EXPECT_EQ(std::count(loads.begin(), loads.end(), "load module"), 16);
    EXPECT_EQ(std::count(loads.begin(), loads.end(), "unload module"), 2) << "k and c";
    load_compiled("held");
    EXPECT_THAT(take_notes(), ElementsAre("unload module")) << "k0, for which it is kept again";
  }
  const Module module = load_compiled("held").module();
  take_notes();
  device_.reset();
  EXPECT_THAT(take_notes(), IsEmpty()) << "the module's";
}

TEST_F(CudaCalls, ARequestThatReadsNoFileIsKnownAgainWhereAllOfItIsTheSame) {
  KernelRequest request{.source_name = "s.cu",
                        .source =
                            "#include \"value.cuh\"\n"
                            "extern \"C\" __global__ void s(int* x) { x[0] = value * N; }\n",
                        .kernel = "s",
                        .defines = {{"N", "2"}},
                        .headers = {{"value.cuh", "constexpr int value = 1;\n"}},
                        .is_self_contained = true};
  const auto loads = [&] {
    device_->load(request);
    return take_notes().size();
  };
  EXPECT_EQ(loads(), 1U);
  EXPECT_EQ(loads(), 0U);
  request.defines.front().second = "3";
  EXPECT_EQ(loads(), 1U);
  request.headers.front().second = "constexpr int value = 2;\n";
  EXPECT_EQ(loads(), 1U);
  EXPECT_EQ(loads(), 0U);
}

TEST_F(CudaCalls, SeveralTextsAreLinkedAndOneIsNot) {
  device_->load_module(std::vector{unit("a.cu", "")});
  EXPECT_THAT(take_notes(), ElementsAre("load module", "unload module"));
  const Module linked =
      device_->load_module(std::vector{unit("a.cu", ".extern .global .u32 x;\n"),
                                       unit("b.cu",
                                            ".visible .global .attribute(.managed) .u32 x;\n"
                                            ".visible .entry k() {\nret;\n}\n")});
  EXPECT_THAT(take_notes(),
              ElementsAre("begin to link", "link a.cu", "link b.cu", "load module", "end of link"));
  EXPECT_THAT(linked.kernels(), ElementsAre("k"));
  EXPECT_TRUE(linked.variable("x").managed);
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { linked.variable("lost"); }),
              HasSubstr("no variable 'lost'"));
}

TEST_F(CudaCalls, MachineCodeIsLinkedWhereAFunctionIsMissing) {
  const std::byte code[24] = {};
  const PtxText run_time{.name = "p", .ptx = {}, .machine_code = code};
  const std::string function = "(.param .b32 result) launch()", body = "{\nret;\n}\n";
  device_->load_module(std::vector{run_time, unit("a.cu", ".extern .func " + function + ";\n")});
  EXPECT_THAT(take_notes(),
              ElementsAre("begin to link", "link a.cu", "link machine code of p, bytes 24",
                          "load module", "end of link", "unload module"));
  device_->load_module(std::vector{unit("a.cu", ".extern .func " + function + ";\n"),
                                   unit("b.cu", ".visible .func " + function + body), run_time});
  EXPECT_THAT(take_notes(), ElementsAre("begin to link", "link a.cu", "link b.cu", "load module",
                                        "end of link", "unload module"));
  device_->load_module(std::vector{unit("a.cu", ".visible .entry k()" + body), run_time});
  EXPECT_THAT(take_notes(), ElementsAre("load module", "unload module"));
}

TEST_F(CudaCalls, ALinkThatFailsNamesTheTextsAndEnds) {
  const std::vector texts{unit("a.cu", ""), unit("b.cu", "bad")};
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { device_->load_module(texts); }),
              HasSubstr("a.cu, b.cu: the driver refuses the PTX"));
  EXPECT_THAT(take_notes(), ElementsAre("begin to link", "link a.cu", "link b.cu", "end of link"));
}

TEST_F(CudaCalls, HostFunctionsAreTheDriversUntilItCallsThem) {
  const Stream stream = device_->create_stream();
  const auto alive = std::make_shared<int>(0);
  device_->call([alive] { ++*alive; }, stream);
  EXPECT_THAT(take_notes(), ElementsAre("call in stream"));
  EXPECT_EQ(*alive, 1);
  error_of(ErrorKind::usage, [&] { device_->call([alive] { ++*alive; }); });
  EXPECT_EQ(*alive, 1) << "the driver refused it";
  EXPECT_EQ(alive.use_count(), 1) << "nobody keeps either";
  EXPECT_FALSE(device_->finished(stream));
  EXPECT_TRUE(device_->finished(Stream()));
}

// A product's launch costs what the driver's own costs.
TEST_F(CudaCalls, ALaunchIsOneCallOfTheDriver) {
  const Kernel kernel = load();
  const Launch large{.grid = {16}, .block = {32}, .shared_bytes = 100 << 10, .cluster = {16}};
  const auto launch = [&] { device_->launch(kernel, large, KernelArguments::of(1, 2.0), {}); };
  launch();
  EXPECT_EQ(attributes_set, 2) << "shared memory and large clusters are allowed once";
  take_notes();
  driver_launches = attributes_set = contexts_asked = contexts_set = 0;
  for (int i = 0; i < 10; ++i) launch();
  EXPECT_EQ(driver_launches, 10);
  EXPECT_EQ(contexts_asked, 10);
  EXPECT_EQ(contexts_set + attributes_set, 0);
  EXPECT_THAT(take_notes(), IsEmpty());
}

TEST_F(CudaCalls, ThreadsThatShareAKernelKeepTheSharedMemoryTheyWereGranted) {
  const Kernel kernel = load();
  constexpr int threads = 8, launches = 200;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < launches; ++i) {
        const auto kib = static_cast<std::size_t>(49 + (i * threads + t * 37) % 170);
        device_->launch(kernel, {.grid = {1}, .block = {32}, .shared_bytes = kib * 1024 + 1}, {},
                        {});
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(refused_launches, 0);
  EXPECT_GT(shared_limit, 200 * 1024);
}

}  // namespace
}  // namespace tilescope::device
