#include <fmt/format.h>

#include <tilescope/device.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "measure/link.hpp"
#include "measure/pipelines.hpp"
#include "report/transfer_report.hpp"

namespace tilescope::cli {
namespace {

constexpr std::size_t most_segments = 65'536;

struct TransferCommand {
  std::string device = "auto";
  Outputs outputs;
  std::uint64_t largest = std::uint64_t{1} << 30U, total = std::uint64_t{768} << 20U, segment = 0;
  int samples = 5;
  bool play = false, one_queue = false, one_copy_engine = false;
  double link_gbps = 55.0, memory_gbps = 4287.0;

  void declare(const Options& add) {
    add("--device DEVICE", device, "auto, cuda or cuda:N", shown);
    add("--largest BYTES", largest, "Largest single copy, such as 1GiB", in_bytes);
    add("--bytes BYTES", total, "Bytes of A, B and C together", in_bytes);
    add("--segment BYTES", segment, "Bytes of one vector per segment (default: 1/16)", in_bytes);
    add("--samples N", samples, "Timed runs of each", shown, within(1, 1000));
    add("--play", play, "Play the pipelines on a model instead of a GPU");
    add("--link GB/s", link_gbps, "Played: the link's GB/s, each way", shown, positive);
    add("--memory GB/s", memory_gbps, "Played: the device memory's GB/s", shown, positive);
    add("--one-queue", one_queue, "Played: one queue per engine, as GPUs had before 2012");
    add("--one-copy-engine", one_copy_engine, "Played: one engine copies in both directions");
    add.outputs(outputs);
  }

  int run() const {
    const std::size_t count = std::max<std::size_t>(1, total / (3 * sizeof(float)));
    const std::size_t part = segment ? std::max<std::size_t>(1, segment / sizeof(float))
                                     : std::max<std::size_t>(1, (count + 15) / 16);
    if (const std::size_t segments = (count + part - 1) / part; segments > most_segments) {
      throw usage_error(
          "--bytes {} in segments of {} makes {} segments, more than {}; choose a larger --segment",
          format_bytes(total), format_bytes(part * sizeof(float)), format_count(segments),
          format_count(most_segments));
    }
    std::string why;
    const std::shared_ptr<Device> opened = play ? nullptr : Device::open(device, &why);
    const bool measured = opened && opened->kind() == DeviceKind::cuda;
    if (opened && !measured && device != "auto") {
      throw usage_error("--device {} has no link to measure; use a GPU, or --play", device);
    }
    std::vector<measure::LinkRate> rates;
    std::vector<measure::PipelineResult> pipelines;
    if (measured) {
      rates = measure_sizes(*opened);
      pipelines = measure::run_pipelines(*opened, count, part, samples);
    } else {
      if (!play) note("tilescope: " + why + "; the pipelines are played on a model");
      pipelines = measure::play_pipelines(
          {link_gbps * 1e9, memory_gbps * 1e9, {one_queue, one_copy_engine}}, count, part);
    }
    show(report::transfer_page({.device = measured ? opened->id() : "",
                                .where = measured ? opened->id() : model_text(),
                                .samples = samples,
                                .total_bytes = total},
                               rates, pipelines),
         outputs);
    return 0;
  }

  std::vector<measure::LinkRate> measure_sizes(Device& on) const {
    std::vector<measure::LinkRate> rates;
    const CancelScope cancel;
    ProgressLine progress("copying", largest);
    for (std::uint64_t bytes = 4096; bytes <= largest && !CancelScope::cancelled(); bytes *= 4) {
      const std::vector<measure::LinkRate> more = measure::measure_link(on, bytes, samples);
      rates.insert(rates.end(), more.begin(), more.end());
      progress.update(bytes);
    }
    return rates;
  }

  std::string model_text() const {
    return fmt::format(
        "played: link {:g} GB/s each way, memory {:g} GB/s,\n{}, {}", link_gbps, memory_gbps,
        one_queue ? "one queue per engine" : "a queue per stream",
        one_copy_engine ? "one copy engine for both directions" : "a copy engine each way");
  }
};

}  // namespace

const Command transfer_command{
    "transfer", "Host-device copies and their overlap with kernels", declare<TransferCommand>,
    "The vector-add pipeline in five forms: serial; two streams in simple and in\n"
    "better order; three buffers; eight streams. \"x longest\" is the time over that of\n"
    "the busiest engine alone: 1 is ideal. Without a GPU the forms are played on a\n"
    "model.",
    "tilescope transfer\n"
    "tilescope transfer --bytes 8GiB --segment 64MiB\n"
    "tilescope transfer --play --one-queue --one-copy-engine --link 6 --memory 100"};

}  // namespace tilescope::cli
