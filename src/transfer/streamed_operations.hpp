// The companion operations over lists that do not fit the device. Each is the call of the same name
// in namespace tilescope, with its errors. It is that call itself if `stream.device_bytes` is 0 or
// the device is the cpu, which computes in host memory.
#pragma once

#include <tilescope/histogram.hpp>
#include <tilescope/reduction.hpp>
#include <tilescope/saxpb.hpp>

#include "operations/reduction/reduction.hpp"
#include "transfer/streamed.hpp"

namespace tilescope::transfer {

/// Element by element, and reverse: the same bits as in one piece, with every rung.
RunReport saxpb(Device& device, double a, const ConstArrayView& x, double b, const ArrayView& y,
                const SaxpbOptions& options, const StreamOptions& stream);
RunReport vector_add(Device& device, const ConstArrayView& a, const ConstArrayView& b,
                     const ArrayView& c, const RunOptions& options, const StreamOptions& stream);
RunReport scale(Device& device, double factor, const ConstMatrixView& in, const MatrixView& out,
                const RunOptions& options, const StreamOptions& stream);
RunReport reverse(Device& device, const ConstArrayView& x, const ArrayView& y,
                  const RunOptions& options, const StreamOptions& stream);

/// The same counts as in one piece.
HistogramResult histogram(Device& device, const ConstArrayView& x, const Bins& bins,
                          const RunOptions& options, const StreamOptions& stream);

/// Minimum, maximum, argmax and sums of int32 as in one piece. A sum of floats is the sum of the
/// chunks' sums, each computed as by reduce(), added in float64 in the order of the chunks. Their
/// size follows from the number of elements, the variant and the limit, never from a measurement:
/// the same call gives the same bits in every run.
Reduced reduce(Device& device, const ConstArrayView& x, Reduction reduction,
               const RunOptions& options, const StreamOptions& stream);

/// The reduction of a part of a list that begins at element `first`. Sums of floats are in a fixed
/// order, whatever the device; other results do not depend on any.
operations::ReducedPart reduce_part(Device& device, const ConstArrayView& x, std::size_t first,
                                    Reduction reduction, const StreamOptions& stream,
                                    RunReport& report);

}  // namespace tilescope::transfer
