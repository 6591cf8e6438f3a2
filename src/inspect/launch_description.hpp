// What a user says about a launch: the LAUNCH grammar of the command line and its JSON form.
//
//     --kernel NAME --grid X[,Y[,Z]] --block X[,Y[,Z]] [--shared BYTES] [-D NAME=VALUE] [-I DIR]
//     --arg [NAME=]TYPE:VALUE             a value: i32:256, alpha=f32:2.5; f32:1,2,3 is a vector
//     --arg [NAME=]TYPE[COUNT]=INIT[>FILE.npy]   an array in device memory; its address is passed
//
// TYPE is i8 to i64, u8 to u64, f16, bf16, f32, f64 or bool; COUNT may be a product (64*64), and
// may be left out with @FILE; INIT is zeros, ones, iota (0, 1, 2, ...), random[:SEED],
// uninitialised, a number, or @FILE.npy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/launch.hpp>
#include <tilescope/types.hpp>
#include <utility>
#include <vector>

namespace tilescope::inspect {

/// How an array begins.
enum class Initial : std::uint8_t {
  zeros,
  ones,
  iota,           ///< 0, 1, 2, ... in the element type; integers wrap around
  random,         ///< floats in [-1, 1), integers 0 to 255 (to 127 in i8), bool 0 and 1
  uninitialised,  ///< what the memory holds: nothing defined
  value,          ///< `value` everywhere
  file,           ///< `load_from`
};

/// One --arg.
struct LaunchArgument {
  std::string text;  ///< as it was given, for messages
  std::string name;  ///< empty unless given
  DataType type = DataType::int32;
  bool is_array = false;
  std::vector<std::byte> value;  ///< of a scalar or vector; of each element for Initial::value

  std::optional<std::uint64_t> count;  ///< elements; nothing only with a file
  Initial initial = Initial::zeros;
  std::uint64_t seed = 1;
  std::string load_from;  ///< .npy
  std::string save_to;    ///< .npy written after the run; empty: none
};

struct LaunchDescription {
  std::string kernel;  ///< empty: the only one of the file
  std::optional<Dim3> grid, block;
  std::uint64_t shared_bytes = 0;
  bool cooperative = false;  ///< the kernel synchronises the whole grid
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_directories;
  std::vector<LaunchArgument> arguments;
};

/// The most bytes one array may have: more than any GPU's memory.
inline constexpr std::uint64_t most_array_bytes = std::uint64_t{1} << 40U;

/// Each throws Error(usage), one line that quotes the text and says what is wanted.
LaunchArgument parse_argument(std::string_view text);
/// "16", "16,16" or "4,4,4"; `what` is "grid" or "block". Extents are 1 to 2^32 - 1.
Dim3 parse_extents(std::string_view text, std::string_view what);
/// "NAME=VALUE" or "NAME" (which defines it as 1, as compilers do).
std::pair<std::string, std::string> parse_define(std::string_view text);

/// Reads the same from a JSON file: an object with `kernel`, `grid`, `block` (a number, a list of
/// one to three, or text as above), `shared`, `cooperative`, `defines` (an object), `include` (a
/// list of folders) and `args` (a list of texts). Relative paths in it start from its own folder.
/// Throws Error(bad_input) naming the file and the key.
LaunchDescription read_launch_file(const std::string& path);

}  // namespace tilescope::inspect
