// Products of operands that lie in a device's memory as the caller has them, by the kernels of the
// GEMM table.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/product/device_product.hpp"

namespace tilescope::operations {

/// The problem with every operand as it lies. C is row-major.
GemmProblem problem_in_memory(const HostProblem& problem);

/// The kernel for the problem, and the problem that it computes: operands as they lie, or copies
/// that are converted on the device if only then a faster kernel takes them. `name` as in
/// choose_variant().
DeviceChoice choose_in_memory(const GemmProblem& problem, const Device& device,
                              const std::string& name);

/// The same for a product whose parts choose_alike(): with its plan named, and of fp32's own
/// variant where fp32_fast would take that by another name. The parts have the choice's precision.
DeviceChoice choose_for_parts(const GemmProblem& problem, const Device& device,
                              const std::string& name);

/// The same variant, with operands of the same types, for another problem, such as a part of the
/// first; nothing if the variant does not take it. Its plan is the fastest by the variant's model
/// that adds in the same order, and `fits`; where the order says too little, or for the same shape,
/// that of `like`, which has its plan named.
std::optional<DeviceChoice> choose_alike(const DeviceChoice& like, const GemmProblem& problem,
                                         const DeviceProperties& device,
                                         const std::function<bool(const DeviceChoice&)>& fits = {});

/// Whether the order in which a choice adds follows from where rows of A begin, modulo 16 bytes: a
/// part whose first row begins elsewhere than that of the whole has other bits.
bool order_follows_rows(const DeviceChoice& choice, const DeviceProperties& device);

/// Whether both add up an element's products in one order, so that their bits are equal.
bool add_alike(const DeviceChoice& one, const DeviceChoice& other, const DeviceProperties& device);

/// The run of a choice for `problem`, with the copies that it needs.
std::unique_ptr<GemmRun> prepare_in_memory(Device& device, const GemmProblem& problem,
                                           const DeviceChoice& choice);

}  // namespace tilescope::operations
