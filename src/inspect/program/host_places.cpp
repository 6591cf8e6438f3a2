#include "inspect/program/host_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <tilescope/error.hpp>
#include <utility>
#include <vector>

#include "base/child_process.hpp"
#include "base/text.hpp"

namespace tilescope::inspect {
namespace {

namespace fs = std::filesystem;

/// A function and its line; inlining gives one address several, innermost first.
struct Frame {
  std::string function;
  SourcePlace place;
};
using Frames = std::map<std::pair<std::string, std::uint64_t>, std::vector<Frame>>;

/// "/src/a.cu:12 (discriminator 3)", or "??:0"
SourcePlace place_in(std::string_view text) {
  text = text.substr(0, text.find(" (discriminator"));
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || text.starts_with("??")) return {};
  const std::string_view number = text.substr(colon + 1);
  SourcePlace place{std::string(text.substr(0, colon)), 0};
  std::from_chars(number.data(), number.data() + number.size(), place.line);
  return place.line == 0 ? SourcePlace{} : place;
}

/// Asks addr2line about addresses of one file. Without addr2line nothing is known.
void resolve(const std::string& object, const std::set<std::uint64_t>& addresses, Frames& frames) {
  std::vector<std::string> words{"addr2line", "-e", object, "-a", "-f", "-C", "-i"};
  for (const std::uint64_t address : addresses) words.push_back(fmt::format("{:#x}", address));
  std::string text;
  try {
    text = run_and_capture({.words = std::move(words)}).text;
  } catch (const Error&) {
    return;
  }
  // For each address its own line, then pairs of a function's line and a place's.
  std::vector<Frame>* current = nullptr;
  std::string_view function;
  for (const std::string_view line : split(text, '\n')) {
    std::uint64_t address = 0;
    if (line.starts_with("0x") && function.empty()) {
      std::from_chars(line.data() + 2, line.data() + line.size(), address, 16);
      current = &frames[{object, address}];
    } else if (function.empty()) {
      function = line;
    } else {
      if (current != nullptr) current->push_back({std::string(function), place_in(line)});
      function = {};
    }
  }
}

/// Whether the user wrote the file.
bool is_own(const std::string& file) {
  for (const std::string_view part : {"tmpxft_", ".cudafe1.", "/cuda_runtime.h", "/crt/"}) {
    if (file.find(part) != file.npos) return false;
  }
  for (const std::string_view folder : {"/usr/include/", "/usr/lib/", "/usr/local/cuda"}) {
    if (file.starts_with(folder)) return false;
  }
  // A header of a toolkit that lies elsewhere.
  return !fs::exists(fs::path(file).parent_path() / "cuda_runtime_api.h");
}

/// Whether a library of the system's.
bool is_system(const std::string& object) {
  return object.starts_with("/lib") || object.starts_with("/usr/lib");
}

/// "scale" for "void lab::scale<float>(float*, int)" and "(anonymous namespace)::scale(int)"
std::string_view plain_name(std::string_view function) {
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  if (const std::size_t at = function.find(unnamed); at != function.npos) {
    function.remove_prefix(at + unnamed.size());
  }
  function = function.substr(0, function.find_first_of("(<"));
  const std::size_t before = function.find_last_of(" :");
  return before == function.npos ? function : function.substr(before + 1);
}

std::vector<SourcePlace> places_of(const HostStack& stack, const Frames& frames) {
  std::vector<SourcePlace> places;
  SourcePlace fallback;
  std::string stub;  // what nvcc puts between a launch and the run time
  for (const HostAddress& at : stack.frames) {
    const auto found = frames.find({at.object, at.address});
    if (found == frames.end()) continue;
    for (const Frame& frame : found->second) {
      if (frame.function.find("__device_stub_") != frame.function.npos) {
        stub = frame.function;
        continue;
      }
      // The stub's caller is the kernel as the host calls it; its line is that of the kernel.
      const bool is_kernel = std::exchange(stub, {}).find(plain_name(frame.function)) != stub.npos;
      if (is_kernel) continue;
      if (frame.place.line != 0 && is_own(frame.place.file)) {
        places.push_back({short_path(frame.place.file), frame.place.line});
      } else if (fallback.file.empty() && frame.place.line == 0 && frame.function != "??" &&
                 !is_system(at.object)) {
        fallback.file = frame.function;
      }
    }
  }
  if (!places.empty()) return places;
  const auto own = std::ranges::find_if_not(stack.frames, is_system, &HostAddress::object);
  if (fallback.file.empty() && own != stack.frames.end()) {
    const HostAddress& at = *own;
    fallback.file = fmt::format("{}+{:#x}", short_path(at.object), at.address);
  }
  return {fallback};
}

}  // namespace

std::string short_path(const std::string& path) {
  std::error_code failed;
  const std::string folder = fs::current_path(failed).string() + '/';
  const std::string plain = fs::path(path).lexically_normal().string();
  return plain.starts_with(folder) && !failed ? plain.substr(folder.size()) : plain;
}

HostPlaces host_places(const std::map<StackId, HostStack>& stacks) {
  std::map<std::string, std::set<std::uint64_t>> wanted;
  for (const auto& [id, stack] : stacks) {
    for (const HostAddress& at : stack.frames) {
      // Nobody asks for lines of the system's libraries.
      if (!is_system(at.object)) {
        wanted[at.object].insert(at.address);
      }
    }
  }
  Frames frames;
  for (const auto& [object, addresses] : wanted) resolve(object, addresses, frames);
  HostPlaces places;
  for (const auto& [id, stack] : stacks) places[id] = places_of(stack, frames);
  return places;
}

}  // namespace tilescope::inspect
