#include "cli/array_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
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

transfer::StreamOptions streaming(const ArrayOptions& options, const Device& device, double bytes) {
  if (options.variant == operations::cpu_rung().name) return {};
  if (options.device_memory > 0) return {.device_bytes = options.device_memory};
  // Room for the context, other processes and scratch memory.
  const double room = 0.85 * static_cast<double>(device.properties().global_bytes);
  return {.device_bytes = bytes > room ? static_cast<std::size_t>(room) : 0};
}

void show(const ArrayOptions& options, const Outcome& outcome, const RunReport& report,
          const Device& device) {
  const double seconds = report.compute_ms * 1e-3;
  report::Page page(outcome.command);
  page.data = {
      {"device", device.id()}, {"variant", report.variant}, {"time_ms", report.compute_ms}};
  if (!options.output.empty()) page.data.set("output", options.output);
  page.data.set_all(outcome.details);
  // The emulated device's time says nothing of any memory.
  const bool has_rate =
      seconds > 0.0 && outcome.bytes > 0.0 && device.kind() != DeviceKind::emulated;
  page.add(report::Text{fmt::format("{}: {}, ", outcome.text, outcome.size) +
                            page.data.fill("{variant} on {device} in {time_ms}") +
                            (has_rate ? ", " + format_rate(outcome.bytes / seconds, "B/s") : ""),
                        0, 2});
  show(page, options.json);
}

void compute_npy(const ArrayOptions& options, const Outcome& outcome,
                 std::initializer_list<const NpyFile*> inputs, const NpyHeader& header,
                 const ComputeArray& compute) {
  const std::shared_ptr<Device> device = Device::open(options.device);
  NpyWriter writer(options.output, header);
  const RunReport report = compute(*device, writer.data().data());
  for (const NpyFile* input : inputs) input->require_unchanged();
  writer.commit();
  Outcome said = outcome;
  said.size = size_text(header);
  said.bytes = traffic(inputs, header);
  said.details.set("shape", header.shape);
  said.details.set("type", name_of(header.type));
  show(options, said, report, *device);
}

void require_type(const NpyFile& file, std::string_view command,
                  std::initializer_list<DataType> types) {
  const DataType type = file.header().type;
  if (std::find(types.begin(), types.end(), type) != types.end()) return;
  std::vector<std::string_view> names;
  for (const DataType allowed : types) names.push_back(name_of(allowed));
  throw Error(ErrorKind::bad_input,
              fmt::format("{}: its elements are {}; {} takes {} (in NumPy: x.astype('{}'))",
                          quoted(file.path()), name_of(type), command, fmt::join(names, ", "),
                          names.front()));
}

void require_alike(const NpyFile& a, const NpyFile& b) {
  if (a.header() == b.header()) return;
  const auto text = [](const NpyHeader& header) {
    return size_text(header) + (header.fortran_order ? " in Fortran order" : "");
  };
  throw Error(ErrorKind::bad_input,
              fmt::format("{} is {} and {} is {}: the two must be alike", quoted(a.path()),
                          text(a.header()), quoted(b.path()), text(b.header())));
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

double traffic(std::initializer_list<const NpyFile*> inputs, const NpyHeader& output) {
  double bytes = static_cast<double>(output.bytes());
  for (const NpyFile* input : inputs) bytes += static_cast<double>(input->header().bytes());
  return bytes;
}

bool has_extension(std::string_view path, std::string_view extension) {
  return lower_case(path).ends_with(extension);
}

}  // namespace tilescope::cli
