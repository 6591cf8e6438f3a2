// Loading kernels into the emulated device: a refused kernel leaves the device usable.
#include <tilescope/device.hpp>

#include "device/emulated/emulated_device.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

KernelRequest ptx_kernel(const std::string& body) {
  KernelRequest request;
  request.source_name = "k.ptx";
  request.language = SourceLanguage::ptx;
  request.source =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n" + body + "ret;\n}\n";
  return request;
}

TEST(EmulatedLoad, RefusesWhatItCannotExecuteAndGoesOn) {
  device::EmulatedDevice device;
  for (int i = 0; i < 2; ++i) {  // the first refusal must not keep the device locked
    EXPECT_THAT(error_of(ErrorKind::bad_input,
                         [&] {
                           device.load(
                               ptx_kernel(".reg .b64 %a; .reg .f32 %f;\n"
                                          "multimem.red.relaxed.gpu.global.add.f32 [%a], "
                                          "%f;\n"));
                         }),
                HasSubstr("multimem.red.relaxed.gpu.global.add.f32 (line 6 of the PTX)"));
  }
  EXPECT_EQ(device.load(ptx_kernel("")).name(), "k");
}

TEST(EmulatedLoad, RefusesAModuleThatDoesNotFit) {
  device::EmulatedDevice device;
  KernelRequest request = ptx_kernel("");
  request.source.insert(request.source.find(".visible"), ".const .b8 c[70000];\n");
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { device.load(request); }),
              HasSubstr("constant variables take 70000 bytes"));
  EXPECT_EQ(device.load(ptx_kernel("")).name(), "k");
}

}  // namespace
}  // namespace tilescope
