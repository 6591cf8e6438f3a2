#include "emulator/builtins.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "emulator/block.hpp"
#include "emulator/device_runtime.hpp"
#include "emulator/device_runtime_calls.hpp"
#include "emulator/heap.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

/// Longer strings are cut: a format without a terminator must not run away.
constexpr std::size_t kLongestString = 4096;

void set_result(Context& w, const CallCode& call, int lane, std::uint64_t value) {
  if (call.returns.empty()) return;
  const ParameterSlot& slot = call.returns[0];
  std::memcpy(w.frame + slot.offset + static_cast<unsigned>(lane) * slot.bytes, &value,
              slot.bytes < 8 ? slot.bytes : 8);
}

/// Reads `bytes` at a generic address of one lane; null after a report if nothing is there.
const std::uint8_t* read(Context& w, const Code& code, std::uint64_t address, int lane,
                         unsigned bytes) {
  std::uint64_t addresses[32] = {};
  addresses[lane] = address;
  return resolve_lanes(w, code, addresses, LaneMask{1} << lane, kGenericSpace, bytes, 1,
                       AccessKind::load)
      .host[lane];
}

std::string read_string(Context& w, const Code& code, std::uint64_t address, int lane) {
  std::string text;
  if (address == 0) return "(null)";
  while (text.size() < kLongestString) {
    const std::uint8_t* c = read(w, code, address + text.size(), lane, 1);
    if (c == nullptr || *c == 0) break;
    text.push_back(static_cast<char>(*c));
  }
  return text;
}

/// Arguments lie one after the other, each at a multiple of its size.
class ArgumentReader {
 public:
  ArgumentReader(Context& w, const Code& code, std::uint64_t address, int lane)
      : w_(w), code_(code), base_(address), lane_(lane) {}

  std::uint64_t next(unsigned bytes) {
    offset_ = (offset_ + bytes - 1) / bytes * bytes;
    std::uint64_t value = 0;
    const std::uint8_t* at = base_ == 0 ? nullptr : read(w_, code_, base_ + offset_, lane_, bytes);
    if (at != nullptr) std::memcpy(&value, at, bytes);
    offset_ += bytes;
    return value;
  }

 private:
  Context& w_;
  const Code& code_;
  std::uint64_t base_, offset_ = 0;
  int lane_;
};

template <class T>
void print_one(std::string& out, const std::string& specification, T value) {
  char buffer[512];
  const int length = std::snprintf(buffer, sizeof buffer, specification.c_str(), value);
  if (length > 0) out.append(buffer, std::min<std::size_t>(static_cast<std::size_t>(length), 511));
}

/// One conversion such as "%-8.3lf": the value that its letter reads, passed to the host's printf
/// with the length that the host's types need. Widths beyond 200 are dropped, `*` read from the
/// arguments.
void convert(std::string& out, const std::string& flags, bool wide, char letter,
             ArgumentReader& arguments, Context& w, const Code& code, int lane) {
  switch (letter) {
    case 'd':
    case 'i': {
      const std::uint64_t v = arguments.next(wide ? 8 : 4);
      const long long value = wide ? static_cast<long long>(v) : static_cast<std::int32_t>(v);
      print_one(out, flags + "ll" + letter, value);
      return;
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
      const unsigned long long value = arguments.next(wide ? 8 : 4);
      print_one(out, flags + "ll" + letter, value);
      return;
    }
    case 'c':
      print_one(out, flags + letter, static_cast<int>(arguments.next(4)));
      return;
    case 'p': {
      const unsigned long long value = arguments.next(8);
      print_one(out, "%#llx", value);
      return;
    }
    case 's': {
      const std::string text = read_string(w, code, arguments.next(8), lane);
      print_one(out, flags + letter, text.c_str());
      return;
    }
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      print_one(out, flags + letter, std::bit_cast<double>(arguments.next(8)));
      return;
    default:
      out += flags + letter;
  }
}

std::string format(Context& w, const Code& code, const std::string& text, std::uint64_t buffer,
                   int lane) {
  ArgumentReader arguments(w, code, buffer, lane);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (++i >= text.size()) break;
    if (text[i] == '%') {
      out.push_back('%');
      continue;
    }
    std::string flags = "%";
    const auto number = [&] {
      std::string digits;
      if (text[i] == '*') {
        digits = std::to_string(static_cast<std::int32_t>(arguments.next(4)));
        ++i;
      } else {
        while (i < text.size() && text[i] >= '0' && text[i] <= '9') digits.push_back(text[i++]);
      }
      if (digits.size() <= 3) flags += digits;
    };
    while (i < text.size() && std::strchr("-+ #0", text[i]) != nullptr) flags.push_back(text[i++]);
    if (i < text.size()) number();
    if (i < text.size() && text[i] == '.') {
      flags.push_back(text[i++]);
      if (i < text.size()) number();
    }
    bool wide = false;
    while (i < text.size() && std::strchr("hljztL", text[i]) != nullptr) {
      wide = wide || text[i] == 'l' || text[i] == 'j' || text[i] == 'z' || text[i] == 't';
      ++i;
    }
    if (i < text.size()) convert(out, flags, wide, text[i], arguments, w, code, lane);
  }
  return out;
}

/// A kernel may print for ever, so a block's text is kept up to a limit.
void append_print(std::string& printed, const std::string& text) {
  constexpr std::size_t kMost = 16 << 20;
  if (printed.size() >= kMost) return;
  printed += text;
  if (printed.size() >= kMost) printed += "\n(what the block printed after this is left out)\n";
}

bool assert_fail(Context& w, const Code& code, const CallCode& call, int lane) {
  const std::string message = read_string(w, code, call_argument(w, call, 0, lane), lane);
  const std::string function = read_string(w, code, call_argument(w, call, 3, lane), lane);
  w.block->trap(w.warp_index, lane, code.id, TrapReason::assertion,
                fmt::format("assertion `{}` failed in {}", message, function));
  return false;
}

}  // namespace

bool run_builtin(Context& w, const Code& code, const CallCode& call, LaneMask mask) {
  KernelHeap* const heap = w.block->launch().setup().heap;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t first = call_argument(w, call, 0, lane);
    switch (call.builtin) {
      case Builtin::printf: {
        const std::string text = read_string(w, code, first, lane);
        append_print(w.block->printed(),
                     format(w, code, text, call_argument(w, call, 1, lane), lane));
        set_result(w, call, lane, 0);
        break;
      }
      case Builtin::malloc:
        set_result(w, call, lane, heap->allocate(first));
        break;
      case Builtin::free:
        if (!heap->free(first)) {
          w.block->trap(w.warp_index, lane, code.id, TrapReason::bad_free,
                        fmt::format("free of {:#x}, which malloc did not return", first));
          return false;
        }
        break;
      case Builtin::assert_fail:
        return assert_fail(w, code, call, lane);
      case Builtin::device: {
        DeviceRuntime& runtime = *w.block->launch().setup().device_runtime;
        runtime.enter(w.block->linear(), w.warp_index * kWarpSize + static_cast<unsigned>(lane),
                      code.id);
        set_result(w, call, lane, call.device_function->run({w, code, call, lane, runtime}));
        break;
      }
      case Builtin::none:
        break;
    }
  }
  return true;
}

}  // namespace tilescope::emulator
