#include "cli/array_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/sharded.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/rank_command.hpp"
#include "cli/show.hpp"
#include "operations/rung/task.hpp"

namespace tilescope::cli {

void ArrayOptions::declare_output(const Options& add, const char* type_name) {
  add(std::string("-o,--output ") + type_name, output, "Where to write the result", required);
}

void ArrayOptions::declare_run(const Options& add) {
  add("--device DEVICE", device, "auto, cuda, cuda:N, emulated or cpu", shown);
  add("--variant NAME", variant,
      fmt::format("A rung of tilescope ladder {} (default: the device's best)",
                  add.command_name()));
  add.json(json);
}

void ArrayOptions::declare_memory(const Options& add) {
  add("--device-memory BYTES", device_memory,
      "Use at most this much of a GPU's memory and stream the data in chunks (default: only data "
      "that do not fit; the cpu device has no such limit)",
      in_bytes);
}

void ArrayOptions::declare_devices(const Options& add) {
  add("--devices LIST", devices,
      "Share the list among these: all (every GPU), or a list such as cuda:0,cuda:1");
}

void ArrayOptions::declare_resume(const Options& add, bool in_a_file) {
  if (in_a_file) {
    add("--resume FILE", resume.file,
        "Ranks keep what they have computed in FILE until the end, and continue from it after an "
        "interruption");
  } else {
    add("--resume", resume.is_wanted,
        "Ranks keep finished parts on disk and continue from them after an interruption");
  }
  add("--band ELEMENTS", resume.band,
      "With --resume: elements that ranks compute and keep at a time (default: 2^28; rounded up to "
      "multiples of 65,536, and to a thousandth of the list)",
      within(std::int64_t{1}, std::int64_t{1} << 33));
}

std::optional<ranks::Launcher> ArrayOptions::launcher() const {
  auto found = ranks::find_launcher(resumes() ? 1 : 2);
  const char* other = resumes() ? "--resume" : resume.band != 0 ? "--band" : nullptr;
  if (!found && other != nullptr) {
    throw usage_error("{} is for ranks that mpirun started, and there are none", other);
  }
  return found;
}

ranks::ListResume ArrayOptions::resume_of(const std::string& purpose) const {
  ranks::ListResume all = resume;
  all.is_wanted = resumes();
  all.purpose = purpose;
  return all;
}

std::vector<std::shared_ptr<Device>> ArrayOptions::open_several() const {
  if (device_memory > 0) throw usage_error("--devices does not work with --device-memory");
  return open_devices(devices);
}

void ArrayOptions::require_for_ranks() const {
  const char* other = device_memory > 0  ? "--device-memory"
                      : !devices.empty() ? "--devices"
                                         : nullptr;
  if (other != nullptr) throw usage_error("{} does not work with ranks of mpirun", other);
  if (resume.band != 0 && !resumes()) throw usage_error("--band is for --resume");
}

transfer::StreamOptions streaming(const ArrayOptions& options, const Device& device, double bytes) {
  if (options.variant == operations::cpu_rung().name) return {};
  if (options.device_memory > 0) return {.device_bytes = options.device_memory};
  return {.device_bytes = transfer::memory_limit_of(device, bytes)};
}

report::Page run_page(const ArrayOptions& options, const Outcome& outcome, const RunReport& report,
                      const Place& place) {
  const double seconds = report.compute_ms * 1e-3;
  report::Page page(outcome.command);
  page.data = {
      {"device", place.device}, {"variant", report.variant}, {"time_ms", report.compute_ms}};
  if (!options.output.empty()) page.data.set("output", options.output);
  page.data.set_all(outcome.details);
  const bool has_rate = seconds > 0.0 && outcome.bytes > 0.0 && place.is_timed;
  page.add(report::Text{fmt::format("{}: {}, ", outcome.text, outcome.size) +
                            page.data.fill("{variant} on {device} in {time_ms}") +
                            (has_rate ? ", " + format_rate(outcome.bytes / seconds, "B/s") : ""),
                        0, 2});
  return page;
}

Place place_of(const ArrayOptions& options, const std::vector<std::shared_ptr<Device>>& devices) {
  const bool is_timed = std::none_of(devices.begin(), devices.end(), [](const auto& device) {
    return device->kind() == DeviceKind::emulated;
  });
  return {options.devices, is_timed};
}

Place place_of(const ranks::RankList& list, const ranks::ListOutcome& ran, Outcome& outcome) {
  outcome.details.set("ranks", ran.ranks)
      .set("hosts", ran.hosts)
      .set("rank_device", kind_name(list.device_kind()));
  if (list.is_kept()) outcome.details.set("bands", ran.bands).set("bands_kept", ran.bands_kept);
  return {fmt::format("{} host{}", ran.hosts, ran.hosts == 1 ? "" : "s"),
          list.device_kind() != DeviceKind::emulated};
}

Outcome with_arrays(const Outcome& outcome, std::initializer_list<const NpyFile*> inputs,
                    const NpyHeader& header) {
  Outcome said = outcome;
  said.size = size_text(header);
  said.bytes = static_cast<double>(header.bytes());  // each array once
  for (const NpyFile* input : inputs) said.bytes += static_cast<double>(input->header().bytes());
  said.details.set("shape", header.shape).set("type", name_of(header.type));
  return said;
}

int write_npy(const ArrayOptions& options, const Outcome& outcome,
              std::initializer_list<const NpyFile*> inputs, const NpyHeader& header,
              const Place& place, const std::function<RunReport(void* elements)>& compute) {
  NpyWriter writer(options.output, header);
  const RunReport report = compute(writer.data().data());
  for (const NpyFile* input : inputs) input->require_unchanged();
  writer.commit();
  show(run_page(options, with_arrays(outcome, inputs, header), report, place), {options.json});
  return 0;
}

int compute_npy(const ArrayOptions& options, const Outcome& outcome,
                std::initializer_list<const NpyFile*> inputs, const NpyHeader& header,
                const ComputeArray& compute) {
  const double bytes = with_arrays(outcome, inputs, header).bytes;
  const std::shared_ptr<Device> device = Device::open(options.device);
  return write_npy(options, outcome, inputs, header, Place(*device), [&](void* elements) {
    return compute(*device, elements, streaming(options, *device, bytes));
  });
}

ranks::ListFile npy_list(const std::string& path, std::optional<NpyFile>& file,
                         std::function<NpyFile()> open) {
  return {.path = path,
          .open = [&file, open = std::move(open)] { return elements_of(file.emplace(open())); },
          .require_unchanged = [&file] { file->require_unchanged(); }};
}

NpyFile open_npy(const std::string& path, std::string_view command,
                 std::initializer_list<DataType> types) {
  NpyFile file(path);
  const DataType type = file.header().type;
  if (std::find(types.begin(), types.end(), type) != types.end()) return file;
  std::vector<std::string_view> names;
  for (const DataType allowed : types) names.push_back(name_of(allowed));
  throw input_error("{}: its elements are {}; {} takes {} (in NumPy: x.astype('{}'))",
                    quoted(file.path()), name_of(type), command, fmt::join(names, ", "),
                    names.front());
}

void require_alike(const NpyFile& a, const NpyFile& b) {
  if (a.header() == b.header()) return;
  const auto text = [](const NpyHeader& header) {
    return size_text(header) + (header.fortran_order ? " in Fortran order" : "");
  };
  throw input_error("{} is {} and {} is {}: the two must be alike", quoted(a.path()),
                    text(a.header()), quoted(b.path()), text(b.header()));
}

ConstArrayView elements_of(const NpyFile& file) {
  return {file.header().type, static_cast<std::size_t>(file.header().count()), file.data().data()};
}

ConstMatrixView rows_of(const NpyFile& file) {
  const NpyHeader& header = file.header();
  const auto count = static_cast<std::int64_t>(header.count());
  std::int64_t columns = 1;
  if (!header.shape.empty()) {
    columns = static_cast<std::int64_t>(header.fortran_order ? header.shape.front()
                                                             : header.shape.back());
  }
  return dense_view(file.data().data(), header.type, columns ? count / columns : 0, columns);
}

std::string size_text(const NpyHeader& header) {
  return fmt::format("{} {}", shape_text(header), name_of(header.type));
}

bool has_extension(std::string_view path, std::string_view extension) {
  return lower_case(path).ends_with(extension);
}

}  // namespace tilescope::cli
