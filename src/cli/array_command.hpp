// The common part of the commands that run one operation on arrays in files: options, opening and
// checking inputs, writing the output whole or not at all, and reporting.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/array.hpp>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>
#include <tilescope/npy.hpp>
#include <tilescope/run_report.hpp>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "ranks/rank_list.hpp"
#include "report/page/page.hpp"
#include "transfer/streamed.hpp"

namespace tilescope::cli {

struct ArrayOptions {
  std::string output, device = "auto", devices, variant, json;
  std::uint64_t device_memory = 0;
  ranks::ListResume resume;

  /// Declares -o/--output FILE, required.
  void declare_output(const Options& add, const char* type_name = "Y.npy");
  /// Declares --device, --variant and --json. The variants are the rungs of the command's name.
  void declare_run(const Options& add);
  /// Declares --device-memory.
  void declare_memory(const Options& add);
  /// Declares --devices.
  void declare_devices(const Options& add);
  /// Declares --band and, unless the command has a --resume of its own, --resume FILE.
  void declare_resume(const Options& add, bool in_a_file);
  /// The launcher of this process, if it is one of several ranks, or one that continues their work.
  /// Throws Error(usage) for options of ranks where there are none.
  std::optional<ranks::Launcher> launcher() const;
  bool resumes() const { return resume.is_wanted || !resume.file.empty(); }
  /// How ranks keep the computation that `purpose` describes.
  ranks::ListResume resume_of(const std::string& purpose) const;
  /// The devices of --devices. Throws Error(usage) for options that do not fit it.
  std::vector<std::shared_ptr<Device>> open_several() const;
  /// Throws Error(usage) for options that ranks of mpirun cannot honour.
  void require_for_ranks() const;
};

/// The options for streaming the operation over the device: within --device-memory or, if `bytes`
/// of arrays do not fit a GPU, within most of its memory; never with --variant cpu.
transfer::StreamOptions streaming(const ArrayOptions& options, const Device& device, double bytes);

/// The report of a run: a line for people and, with --json, an object.
struct Outcome {
  std::string_view command;
  std::string text;             ///< the computation: "y.npy = 2 * x.npy + 1"
  std::string size;             ///< "(1000,) float32"
  double bytes = 0.0;           ///< compulsory traffic, for the rate; 0: no rate
  report::Record details = {};  ///< keys of --json beside the common ones
};
/// Where an operation ran.
struct Place {
  std::string device;    ///< "cuda:0", "cuda:0,cuda:1", "1 host"
  bool is_timed = true;  ///< whether its time says something of memory; not that of emulation
  Place(const Device& of) : device(of.id()), is_timed(of.kind() != DeviceKind::emulated) {}
  Place(std::string devices, bool timed) : device(std::move(devices)), is_timed(timed) {}
};
report::Page run_page(const ArrayOptions& options, const Outcome& outcome, const RunReport& report,
                      const Place& place);

/// The place of a run on the devices of --devices.
Place place_of(const ArrayOptions& options, const std::vector<std::shared_ptr<Device>>& devices);
/// The place of a run on all ranks, and its keys in the outcome.
Place place_of(const ranks::RankList& list, const ranks::ListOutcome& ran, Outcome& outcome);

/// Computes the array that `header` describes into --output: opens the device, calls `compute` with
/// room for the elements and the options for streaming, checks that `inputs` did not change
/// meanwhile, and prints the outcome. Returns the exit code.
using ComputeArray =
    std::function<RunReport(Device& device, void* elements, const transfer::StreamOptions& stream)>;
int compute_npy(const ArrayOptions& options, const Outcome& outcome,
                std::initializer_list<const NpyFile*> inputs, const NpyHeader& header,
                const ComputeArray& compute);

/// The same for work that has opened what it needs: calls `compute` with room for the elements.
int write_npy(const ArrayOptions& options, const Outcome& outcome,
              std::initializer_list<const NpyFile*> inputs, const NpyHeader& header,
              const Place& place, const std::function<RunReport(void* elements)>& compute);

/// The outcome with what its page says of arrays in files.
Outcome with_arrays(const Outcome& outcome, std::initializer_list<const NpyFile*> inputs,
                    const NpyHeader& header);

/// A .npy file for ranks, which keep it in `file` when `open` has opened it.
ranks::ListFile npy_list(const std::string& path, std::optional<NpyFile>& file,
                         std::function<NpyFile()> open);

/// Opens a file for `command`. Throws Error(bad_input) unless its elements are of one of `types`.
NpyFile open_npy(const std::string& path, std::string_view command,
                 std::initializer_list<DataType> types);
/// Throws Error(bad_input) unless the two have one shape, type and storage order.
void require_alike(const NpyFile& a, const NpyFile& b);

/// All elements, in their order in the file.
ConstArrayView elements_of(const NpyFile& file);
/// The array as rows of its fastest dimension, whatever its number of dimensions.
ConstMatrixView rows_of(const NpyFile& file);
/// "(1000, 3) float32".
std::string size_text(const NpyHeader& header);

bool has_extension(std::string_view path, std::string_view extension);

}  // namespace tilescope::cli
