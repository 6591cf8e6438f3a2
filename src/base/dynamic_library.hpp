// A shared library opened at run time, so that the program starts on machines that lack it.
#pragma once

#include <string>
#include <vector>

namespace tilescope {

/// Owns a dlopen handle. Libraries that register state for the whole process (the driver, NVRTC)
/// stay loaded: closing them at exit would run their destructors in an undefined order.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;

  /// Opens the first of `candidates` (names or paths) that loads. On failure the result is empty
  /// and `failure` holds the loader's message about the last candidate.
  static DynamicLibrary open(const std::vector<std::string>& candidates,
                             std::string* failure = nullptr);

  explicit operator bool() const { return handle_ != nullptr; }
  /// The candidate that loaded.
  const std::string& path() const { return path_; }

  /// The symbol's address, or nullptr.
  void* find(const char* symbol) const;

  /// Sets `function` to the symbol; false when the library lacks it.
  template <typename Function>
  bool load(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(find(symbol));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace tilescope
