// The cost of memory that other GPUs reach: for each kind of it, milliseconds to allocate and to
// free it on two GPUs at once, and the rate of copies from one to the other, alone and in both
// directions. Usage: peer_memory [MEGABYTES...], such as peer_memory 128 512
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <tilescope/sharded.hpp>
#include <vector>

#include "device/peer_link.hpp"

namespace tilescope {
namespace {

using Clock = std::chrono::steady_clock;
using Devices = std::vector<std::shared_ptr<Device>>;

double ms_of(const auto& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string text_of(const std::vector<double>& times) {
  std::string text;
  for (const double ms : times) text += fmt::format("{}{:.2f}", text.empty() ? "" : ", ", ms);
  return text;
}

void on_both(const auto& work) {
  std::thread other([&] { work(1); });
  work(0);
  other.join();
}

/// GB/s of copies into each of `receivers`, queued together, of rows as panels have them.
double rate(const Devices& devices, const std::array<Buffer, 2>& from,
            const std::array<Buffer, 2>& to, Reach memory, std::size_t receivers) {
  constexpr std::size_t row = 8192;
  constexpr int copies = 10;
  const std::size_t bytes = from[0].bytes(), rows = bytes / row;
  std::array<Stream, 2> streams;
  std::vector<device::PeerLink> links;
  for (std::size_t i = 0; i < 2; ++i) {
    streams[i] = devices[i]->create_stream();
    links.emplace_back(devices[1 - i], devices[i], memory);
  }
  const auto copy = [&] {
    for (int n = 0; n < copies; ++n) {
      for (std::size_t i = 0; i < receivers; ++i) {
        links[i].copy_rows(to[i].address(), row, from[1 - i].address(), row, row, rows, streams[i]);
      }
    }
    for (std::size_t i = 0; i < receivers; ++i) devices[i]->synchronize(streams[i]);
  };
  copy();
  return static_cast<double>(bytes * copies) / ms_of(copy) * 1e-6;
}

/// `receivers`: the kinds of memory that copies go to.
void measure(const Devices& devices, const char* name, Reach memory, std::size_t bytes,
             const std::vector<Reach>& receivers) {
  constexpr int rounds = 3;
  std::array<std::vector<Buffer>, 2> kept;
  std::array<std::vector<double>, 2> allocated, freed;
  on_both([&](std::size_t i) {
    for (int n = 0; n < rounds; ++n) {
      allocated[i].push_back(
          ms_of([&] { kept[i].push_back(devices[i]->allocate(bytes, "a shard", memory)); }));
    }
  });
  on_both([&](std::size_t i) {
    while (!kept[i].empty()) freed[i].push_back(ms_of([&] { kept[i].pop_back(); }));
  });
  std::string rates;
  for (const Reach receiver : receivers) {
    std::array<Buffer, 2> from, to;
    for (std::size_t i = 0; i < 2; ++i) {
      from[i] = devices[i]->allocate(bytes, "a shard", memory);
      to[i] = devices[i]->allocate(bytes, "a panel", receiver);
    }
    const double one = rate(devices, from, to, memory, 1);
    rates += fmt::format(" {:.0f}, {:.0f} |", one, rate(devices, from, to, memory, 2));
  }
  if (receivers.empty()) rates = " | |";
  fmt::print("| {} | {} | {} | {} | {} | {} |{}\n", name, bytes >> 20U, text_of(allocated[0]),
             text_of(allocated[1]), text_of(freed[0]), text_of(freed[1]), rates);
  std::fflush(stdout);
}

int run(const std::vector<std::string>& arguments) {
  std::vector<std::size_t> sizes;
  for (const std::string& text : arguments) sizes.push_back(std::stoul(text) << 20U);
  if (sizes.empty()) sizes = {std::size_t{128} << 20U, std::size_t{512} << 20U};
  Devices devices = open_devices("all");
  if (devices.size() < 2) throw Error(ErrorKind::no_device, "this takes two GPUs");
  devices.resize(2);
  fmt::print(
      "{}, ms of three in a row; GB/s into one GPU, and into each of both\n\n"
      "| memory | MB | allocate, GPU 0 | GPU 1 | free, GPU 0 | GPU 1 | to the same kind | to "
      "own |\n|---|---|---|---|---|---|---|---|\n",
      devices[0]->properties().name);
  const auto all = [&](const char* name, Reach memory, const std::vector<Reach>& receivers = {}) {
    for (const std::size_t bytes : sizes) measure(devices, name, memory, bytes, receivers);
  };
  const auto link_both = [&](Reach memory) {
    const device::PeerLink there(devices[0], devices[1], memory),
        back(devices[1], devices[0], memory);
  };
  all("any, no access", Reach::any);
  all("own", Reach::own);
  all("linked, no access", Reach::linked);
  link_both(Reach::linked);
  all("linked, with access", Reach::linked, {Reach::linked, Reach::own});
  link_both(Reach::any);
  all("any, with access", Reach::any, {Reach::any, Reach::own});
  all("own, beside any with access", Reach::own);
  all("linked, beside any with access", Reach::linked, {Reach::linked, Reach::own});
  return 0;
}

}  // namespace
}  // namespace tilescope

int main(int count, char** values) {
  try {
    return tilescope::run({values + 1, values + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "peer_memory: {}\n", error.what());
    return 2;
  }
}
