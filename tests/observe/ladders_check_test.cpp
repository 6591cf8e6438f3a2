// No rung of any ladder is reported: every operation, every variant that launches a kernel, at
// sizes that fit no tile. The output is the same with the checks as without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tilescope/error.hpp>

#include "check_run.hpp"
#include "device/emulated/emulated_device.hpp"
#include "operations/registry.hpp"

namespace tilescope::observe {
namespace {

/// The problems of an operation that are tried: awkward sizes, then its own choices.
std::vector<ProblemOptions> problems(const operations::RegisteredOperation& operation) {
  const auto takes = [&](std::string_view option) {
    return std::find(operation.options.begin(), operation.options.end(), option) !=
           operation.options.end();
  };
  std::vector<ProblemOptions> list;
  const bool matrix = takes("--rows");
  for (const std::int64_t size : {1, 17, 33}) list.push_back({.size = size});
  if (matrix) {
    ProblemOptions oblong{.rows = 37, .columns = 70};
    if (takes("--inner")) oblong.inner = 19;
    list.push_back(oblong);
  } else {
    for (const std::int64_t size : {0, 1000, 5003}) list.push_back({.size = size});
  }
  if (takes("--channels")) list.push_back({.rows = 21, .columns = 45, .radius = 3, .channels = 3});
  if (takes("--iterations")) list.push_back({.rows = 18, .columns = 41, .iterations = 3});
  if (takes("--bins")) {
    for (const std::int64_t bins : {7, 256}) list.push_back({.size = 3001, .bins = bins});
    list.push_back({.size = 3001, .data = "constant"});
  }
  if (takes("--op")) {
    for (const char* op : {"min", "argmax"}) list.push_back({.size = 2999, .reduction = op});
  }
  return list;
}

class Ladders : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Ladders, NoRungIsReported) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  const operations::RegisteredOperation& registered = operations::registered_operation(GetParam());
  std::size_t checked = 0;
  for (const ProblemOptions& options : problems(registered)) {
    const auto operation = operations::make_operation(registered.name, options);
    for (const operations::VariantInfo& variant : operation->variants()) {
      if (variant.source.empty() || variant.needs_gpu) continue;
      const auto device = std::make_shared<device::EmulatedDevice>();
      if (operation->refusal(variant, *device)) continue;
      SCOPED_TRACE(::testing::Message()
                   << registered.name << '/' << variant.name << ", " << operation->size_text());
      const auto prepared = operation->prepare(variant, *device);
      prepared->poison(0);
      try {
        prepared->run(0);
      } catch (const Error& error) {  // one block cannot hold every problem
        EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        continue;
      }
      const operations::HostArray plain = prepared->output(0);

      prepared->poison(0);
      CheckObserver checker;
      std::vector<Finding> findings;
      device->set_options({.observers = {&checker},
                           .after_launch =
                               [&](const emulator::LaunchSummary&) {
                                 findings.insert(findings.end(), checker.findings().begin(),
                                                 checker.findings().end());
                                 EXPECT_EQ(message(checker.limitation()), "");
                               },
                           .tolerant = true});
      prepared->run(0);
      for (const Finding& f : findings) {
        // A list of one element is its own reverse, an empty one has no histogram.
        if (f.kind == FindingKind::wrote_nothing && options.size.value_or(2) < 2) continue;
        ADD_FAILURE() << to_string(f.kind) << " at " << f.first.place.file << ':'
                      << f.first.place.line << ": " << message(f);
      }
      const operations::HostArray watched = prepared->output(0);
      ASSERT_EQ(plain.bytes(), watched.bytes());
      EXPECT_TRUE(plain.bytes() == 0 ||
                  std::memcmp(plain.data(), watched.data(), plain.bytes()) == 0);
      ++checked;
    }
  }
  EXPECT_GT(checked, 10U);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> list;
  for (const auto& operation : operations::registered_operations()) list.push_back(operation.name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Ladders, ::testing::ValuesIn(names()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tilescope::observe
