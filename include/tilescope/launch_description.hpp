// A launch as a value: kernel, blocks, threads and arguments. The command line's LAUNCH options and
// --launch files have the same in text:
//
//     --kernel NAME --grid X[,Y[,Z]] --block X[,Y[,Z]] [--shared BYTES] [--cluster X[,Y[,Z]]]
//     [-D NAME=VALUE] [-I DIR]
//     --arg [NAME=]TYPE:VALUE             a value: i32:256, alpha=f32:2.5; f32:1,2,3 is a vector
//     --arg [NAME=]TYPE[COUNT]=INIT[>FILE.npy]   an array in device memory; its address is passed
//     --arg '[NAME=]{MEMBER, ...}'        a structure; a MEMBER is a value, an array, a structure,
//                                         or N*MEMBER: {4*f32[16]=zeros, i32:4}
//     --constant NAME=...                 a __constant__ or __device__ variable, set before the
//                                         launch to a value, to TYPE[COUNT]=INIT[>FILE.npy], or to
//                                         a structure
//
// TYPE is i8 to i64, u8 to u64, f16, bf16, f32, f64 or bool; COUNT may be a product (64*64), and
// may be left out with @FILE; INIT is zeros, ones, iota (0, 1, 2, ...), random[:SEED],
// uninitialised, a number, or @FILE.npy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilescope/array.hpp"
#include "tilescope/element_type.hpp"
#include "tilescope/error.hpp"
#include "tilescope/launch.hpp"
#include "tilescope/types.hpp"

namespace tilescope {

/// The initial values of an array.
enum class Initial : std::uint8_t {
  zeros,
  ones,
  iota,           ///< 0, 1, 2, ... in the element type; integers wrap around
  random,         ///< floats in [-1, 1), integers 0 to 255 (to 127 in i8), bool 0 and 1
  uninitialised,  ///< undefined memory
  value,          ///< `value` everywhere
  elements,       ///< `value`: all elements in order
  file,           ///< `load_from`
  shared,         ///< that of LaunchDescription::arrays with this `name`
  memory,         ///< `memory`, which the kernel reads and writes
};

/// One argument: a value, or an array in device memory whose address is passed.
///
///     LaunchArgument::scalar(256)                                 // i32:256
///     LaunchArgument::array(std::vector<float>{1, 2, 3})
///     LaunchArgument::array(DataType::float32, 1024, Initial::iota)
///     parse_argument("x=f32[1024]=iota>y.npy")
struct LaunchArgument {
  std::string text = {};  ///< the argument's own text, for messages
  std::string name = {};  ///< empty: the name of the kernel's parameter
  DataType type = DataType::int32;
  bool is_array = false;
  /// For a value, a vector (float3) or a structure: all its bytes. See also Initial.
  std::vector<std::byte> value = {};

  std::optional<std::uint64_t> count = {};  ///< elements; may be missing only with a file
  Initial initial = Initial::zeros;
  std::uint64_t seed = 1;
  std::string load_from = {};  ///< .npy
  std::string save_to = {};    ///< .npy written after the run; empty: none

  void* memory = nullptr;     ///< the caller's, with Initial::memory
  bool is_read_only = false;  ///< the kernel must not write `memory`

  /// A number (int64 or float64) that becomes one of the parameter's type, if that can hold it.
  bool adapts = false;

  /// A structure if not empty: its members in order, each where C puts it. A vector such as float4
  /// is a structure of the alignment that the kernel's parameter has.
  std::vector<LaunchArgument> members = {};

  /// A number, or a structure with the layout that the kernel declares.
  template <typename T>
  static LaunchArgument scalar(const T& value);
  /// A number of the type that the kernel's parameter has, as in a language without such types.
  static LaunchArgument number(std::int64_t value);
  static LaunchArgument number(double value);
  /// An array with these elements, which are copied.
  template <typename T>
  static LaunchArgument array(const std::vector<T>& elements);
  static LaunchArgument array(DataType type, std::span<const std::byte> elements);
  /// An array of `count` elements with initial values: zeros to uninitialised.
  static LaunchArgument array(DataType type, std::uint64_t count, Initial initial,
                              std::uint64_t seed = 1);
  /// The caller's memory as an array, which must live until the call returns. The kernel works on
  /// it in place, and an access beside it is a finding. Arguments whose memory overlaps are one
  /// array. As one of LaunchDescription::arrays it keeps its address, for kernels that find it by
  /// pointers in other memory.
  static LaunchArgument in_memory(const ArrayView& view, std::string name = {});
  /// The same to be read only. A kernel that writes it is an Error(usage) after the launch.
  static LaunchArgument in_memory(const ConstArrayView& view, std::string name = {});
  /// A structure with pointers inside it: its members are arrays, values and structures.
  static LaunchArgument structure(std::vector<LaunchArgument> members);

  friend bool operator==(const LaunchArgument&, const LaunchArgument&) = default;
};

/// A launch, or several in order.
struct LaunchDescription {
  std::string kernel = {};         ///< "scale", "scale<16>"; empty: the source's only kernel
  std::optional<Dim3> grid = {};   ///< blocks
  std::optional<Dim3> block = {};  ///< threads per block
  std::uint64_t shared_bytes = 0;  ///< dynamic shared memory per block
  Dim3 cluster = {};               ///< blocks per cluster
  bool cooperative = false;        ///< the kernel synchronises the whole grid
  bool overlaps_previous = false;  ///< as in Launch
  std::vector<std::pair<std::string, std::string>> defines = {};  ///< name and value
  std::vector<std::string> include_directories = {};
  std::vector<LaunchArgument> arguments = {};  ///< one per parameter, in order
  /// Variables that are set before the launch; `name` is that of the __constant__ or __device__
  /// variable.
  std::vector<LaunchArgument> constants = {};
  /// Names of what nobody knows: "grid", "block", "shared", "kernel", or an argument's name
  /// ("argument 2"). Reports mark them.
  std::vector<std::string> guessed = {};

  /// Named; arguments with Initial::shared are these.
  std::vector<LaunchArgument> arrays = {};
  std::vector<LaunchDescription> following =
      {};  ///< launches after this one; they have no `arrays`

  friend bool operator==(const LaunchDescription&, const LaunchDescription&) = default;
};

/// The error for a launch that is incomplete or does not fit its kernel, with a launch that would
/// work.
class LaunchError : public Error {
 public:
  LaunchError(const std::string& what, std::string kernel, LaunchDescription suggestion)
      : Error(ErrorKind::usage, what),
        kernel_(std::move(kernel)),
        suggestion_(std::move(suggestion)) {}

  /// The kernel with its parameters: "scale(const float* x, int n)".
  const std::string& kernel() const noexcept { return kernel_; }
  /// The given parts, and for the rest the values of a <<<...>>> launch in the source or plausible
  /// ones. Every argument has its `text`.
  const LaunchDescription& suggestion() const noexcept { return suggestion_; }

 private:
  std::string kernel_;
  LaunchDescription suggestion_;
};

/// The most bytes one array may have: more than any GPU's memory.
inline constexpr std::uint64_t most_array_bytes = std::uint64_t{1} << 40U;

/// Parses one --arg. Throws Error(usage), one line that quotes the text and names the expected
/// form. With `may_be_shared`, the bare name of one of LaunchDescription::arrays is an argument or
/// a member too.
LaunchArgument parse_argument(std::string_view text, bool may_be_shared = false);
/// Parses one --constant, likewise.
LaunchArgument parse_constant(std::string_view text);
/// "16", "16,16" or "4,4,4"; `what` is "grid" or "block". Extents are 1 to 2^32 - 1; else
/// Error(usage).
Dim3 parse_extents(std::string_view text, std::string_view what);
/// "NAME=VALUE" or "NAME" (which defines it as 1, as compilers do); else Error(usage).
std::pair<std::string, std::string> parse_define(std::string_view text);

/// Reads a launch from a JSON file: an object with `kernel`, `grid`, `block`, `cluster` (each a
/// number, a list of one to three, or text as above), `shared`, `cooperative` and
/// `overlaps_previous` (true or false), `defines` and `constants` (objects by name), `include` (a
/// list of folders), `args` and `guessed` (lists of texts). Several launches are a list of such
/// objects, or `launches` of an object. The other keys of that object hold for each of them, and
/// its `arrays`, {"NAME": "TYPE[COUNT]=INIT"}, are arguments by their bare names. Relative paths
/// start from the file's folder. Throws Error(bad_input) naming the file and the key.
LaunchDescription read_launch_file(const std::string& path);

/// Throws Error(usage), naming the array `what`, unless it has the requested type.
void require_data_type(std::string_view what, DataType type, DataType asked);

// --- templates
// ------------------------------------------------------------------------------------

template <typename T>
LaunchArgument LaunchArgument::scalar(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "kernel parameters are copied as bytes");
  LaunchArgument argument;
  if constexpr (std::is_arithmetic_v<T>) {
    argument.type = data_type_of<T>();
  } else {
    argument.type = DataType::uint8;  // a structure: so many bytes
  }
  argument.value.resize(sizeof(T));
  std::memcpy(argument.value.data(), &value, sizeof(T));
  return argument;
}

inline LaunchArgument LaunchArgument::number(std::int64_t value) {
  LaunchArgument argument = scalar(value);
  argument.adapts = true;
  return argument;
}

inline LaunchArgument LaunchArgument::number(double value) {
  LaunchArgument argument = scalar(value);
  argument.adapts = true;
  return argument;
}

template <typename T>
LaunchArgument LaunchArgument::array(const std::vector<T>& elements) {
  return array(data_type_of<T>(), std::as_bytes(std::span(elements)));
}

}  // namespace tilescope
