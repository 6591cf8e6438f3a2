// The pointers that a program passes, checked as CUDA checks them, and reported if the program is
// watched.
#pragma once

#include "cudart/state/primary_context.hpp"

namespace tilescope::cudart {

/// A copy whose rows, pitches and addresses are given; decides from `kind` and the pointers which
/// sides are on the device. Throws cudaErrorInvalidMemcpyDirection for a kind that does not exist,
/// cudaErrorInvalidValue if a pointer is not what the kind says or the copy leaves its allocation.
void resolve(Context& context, CopyOperation& copy, cudaMemcpyKind kind);

/// Throws cudaErrorInvalidValue unless [address, address + bytes) is the device's to access.
void require_on_device(Context& context, std::uint64_t address, std::size_t bytes);

/// The host fills memory on the device, by a copy or, if null, in another way.
void note_filled(Context& context, std::uint64_t address, const CopyOperation* copy);
/// A kernel is about to be launched: reports the copies before it whose sizes look wrong.
void report_suspect_sizes(Context& context);

/// Reports memory of the host, or freed in stream order, among the pointers that a kernel receives.
void report_arguments(Context& context, const KernelOperation& launch,
                      const std::vector<KernelParameter>& parameters);

/// The device's address of `bytes` at `offset` of a variable. Throws cudaErrorInvalidSymbol, or
/// cudaErrorInvalidValue beyond its end.
void* address_in_variable(Context& context, const void* symbol, std::size_t bytes,
                          std::size_t offset);

/// The report of an address that cannot be freed.
void report_bad_free(Context& context, std::uint64_t address);

}  // namespace tilescope::cudart
