// The problems at which every rung of the companion operations is verified, emulated and on a GPU.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "measure/ladder.hpp"
#include "operations/registry.hpp"

namespace tilescope::testing {

/// A problem for a ladder.
struct CompanionCase {
  std::string_view operation;
  ProblemOptions options;
  std::string text;
};

/// For gtest's messages.
inline void PrintTo(const CompanionCase& c, std::ostream* out) {
  *out << c.operation << ' ' << c.text;
}

class CompanionCases {
 public:
  void add(std::string_view operation, const std::string& text, ProblemOptions options) {
    all.push_back({operation, std::move(options), text});
  }
  std::vector<CompanionCase> all;
};

struct Plane {
  std::int64_t rows, columns;
};

/// Every companion operation at sizes that are awkward.
inline std::vector<CompanionCase> companion_cases() {
  CompanionCases c;
  for (const std::int64_t size : {1, 31, 33, 1000, 1009, 4099}) {
    const std::string text = fmt::format("{}", size);
    for (const char* list : {"saxpb", "vector_add", "reverse"}) c.add(list, text, {.size = size});
    c.add("reverse", text + " uint8", {.size = size, .type = "uint8"});
    c.add("saxpb", text + " float64", {.size = size, .type = "float64"});
    for (const char* data : {"random", "constant", "zipf", "sorted"}) {
      c.add("histogram", text + data, {.size = size, .data = data});
    }
    for (const char* op : {"sum", "min", "max", "argmax"}) {
      for (const char* type : {"float32", "float64", "int32"}) {
        c.add("reduce", fmt::format("{} {} {}", op, size, type),
              {.size = size, .type = type, .reduction = op});
      }
    }
  }
  constexpr std::int64_t large = (1 << 24) + 1;  // beyond the integers that a float counts
  for (const char* list : {"saxpb", "vector_add", "reverse", "reduce", "histogram"}) {
    c.add(list, "2^24 + 1", {.size = large});
  }
  c.add("reduce", "sum of nothing", {.size = 0});
  c.add("histogram", "of nothing", {.size = 0});
  for (const auto& [rows, columns] :
       {Plane{1, 1}, {1, 97}, {97, 1}, {62, 76}, {31, 33}, {64, 128}, {67, 140}}) {
    const std::string text = fmt::format("{}x{}", rows, columns);
    const ProblemOptions plane{.rows = rows, .columns = columns};
    for (const char* operation : {"scale", "transpose", "laplacian", "blur"}) {
      c.add(operation, text, plane);
    }
    for (const char* type : {"uint8", "int16", "float64"}) {
      ProblemOptions typed = plane;
      typed.type = type;
      c.add("transpose", text + type, typed);
    }
    for (const std::int64_t iterations : {5, 8, 19}) {
      ProblemOptions many = plane;
      many.iterations = iterations;
      c.add("laplacian", fmt::format("{} {} steps", text, iterations), many);
    }
    if (std::min(rows, columns) == 64) continue;
    for (const std::int64_t radius : {0, 5, 64}) {
      for (const std::int64_t channels : {1, 3}) {
        ProblemOptions far = plane;
        far.radius = radius;
        far.channels = channels;
        c.add("blur", fmt::format("{} radius {} channels {}", text, radius, channels), far);
      }
    }
  }
  for (const std::int64_t bins : {1, 7, 100, 256}) {
    c.add("histogram", fmt::format("{} bins int8", bins),
          {.size = 5003, .bins = bins, .type = "int8"});
    c.add("histogram", fmt::format("{} bins uint8", bins), {.size = 5003, .bins = bins});
  }
  for (const std::int64_t bins : {1, 7, 257, 8192, 65536}) {
    for (const char* type : {"uint16", "int16", "uint32", "int32", "float32", "float64"}) {
      c.add("histogram", fmt::format("{} bins {}", bins, type),
            {.size = 5003, .bins = bins, .type = type});
    }
  }
  return c.all;
}

/// Whether a limit of the rung or of the device, which the reason names, excludes this problem.
inline bool is_limit(const operations::Operation& operation, const Device& device,
                     const measure::RungResult& rung) {
  return operation.refusal(rung.variant, device).has_value() ||
         rung.reason.find("cannot be launched") != std::string::npos;
}

/// Climbs the ladder of a case: all rungs that can run must be right.
inline void expect_every_rung_right(const CompanionCase& c, Device& device) {
  const auto operation = operations::make_operation(c.operation, c.options);
  int kernels = 0;
  for (const measure::RungResult& rung :
       measure::climb(*operation, device, {.timing = {1, 1, 0.0}})) {
    if (rung.variant.is_peer) continue;  // other libraries are not judged here
    if (rung.verdict == measure::Verdict::skipped && is_limit(*operation, device, rung)) continue;
    EXPECT_EQ(rung.verdict, measure::Verdict::ok) << rung.variant.name << ": " << rung.reason;
    if (!rung.variant.on_host) ++kernels;
  }
  EXPECT_GE(kernels, 2) << "kernels that ran";
}

}  // namespace tilescope::testing
