#include "operations/gemm/general/mma_instruction.hpp"

#include <fmt/format.h>

namespace tilescope::operations {
namespace {

// The first compute capability whose mma.sync multiplies the precision, times 10; 0: none does.
int least_capability(Precision precision) {
  switch (precision) {
    case Precision::fp16:
    case Precision::int8:
      return 75;
    case Precision::bf16:
    case Precision::tf32:
      return 80;
    case Precision::fp8_e4m3:
    case Precision::fp8_e5m2:
      return 89;
    default:
      return 0;
  }
}

}  // namespace

std::string_view mma_instruction(Precision precision, bool is_short) {
  switch (precision) {
    case Precision::bf16:
      return "m16n8k16.row.col.f32.bf16.bf16.f32";
    case Precision::fp16:
      return is_short ? "m16n8k8.row.col.f32.f16.f16.f32" : "m16n8k16.row.col.f32.f16.f16.f32";
    case Precision::int8:
      return is_short ? "m8n8k16.row.col.s32.s8.s8.s32" : "m16n8k32.row.col.s32.s8.s8.s32";
    case Precision::fp8_e4m3:
      return "m16n8k32.row.col.f32.e4m3.e4m3.f32";
    case Precision::fp8_e5m2:
      return "m16n8k32.row.col.f32.e5m2.e5m2.f32";
    default:
      return "m16n8k8.row.col.f32.tf32.tf32.f32";
  }
}

bool has_async_copies(const DeviceProperties& device) {
  return device.compute_major >= 8;
}

std::optional<std::string> mma_sync_type_refusal(const GemmProblem& problem,
                                                 const DeviceProperties& device) {
  const Precision precision = problem.precision;
  const int least = least_capability(precision);
  if (least == 0) {
    return fmt::format("tensor cores compute bf16, fp16, tf32 and 8 bits here, not {}",
                       name_of(precision));
  }
  if (problem.is_scaled()) return "takes no scales";
  const DataType wanted = operand_type(precision);
  for (const DataType type : {problem.a.type, problem.b.type}) {
    if (type != wanted) {
      return fmt::format("an operand is {}; {} takes {}", name_of(type), name_of(precision),
                         name_of(wanted));
    }
  }
  if (precision != Precision::int8 && !is_floating(problem.c.type)) {
    return fmt::format("C is {}", name_of(problem.c.type));
  }
  if (precision == Precision::int8 && problem.c.type != DataType::int32) {
    return fmt::format("C is {}", name_of(problem.c.type));
  }
  if (10 * device.compute_major + device.compute_minor < least) {
    return fmt::format("needs compute capability {}.{}, the device has {}.{}", least / 10,
                       least % 10, device.compute_major, device.compute_minor);
  }
  return std::nullopt;
}

}  // namespace tilescope::operations
