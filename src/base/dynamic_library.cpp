#include "base/dynamic_library.hpp"

#include <dlfcn.h>

namespace tilescope {

DynamicLibrary DynamicLibrary::open(const std::vector<std::string>& candidates,
                                    std::string* failure) {
  DynamicLibrary library;
  for (const std::string& candidate : candidates) {
    library.handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_) {
      library.path_ = candidate;
      return library;
    }
    if (failure) {
      const char* text = dlerror();
      *failure = text ? text : "unknown loader error";
    }
  }
  return library;
}

void* DynamicLibrary::find(const char* symbol) const {
  return handle_ ? dlsym(handle_, symbol) : nullptr;
}

}  // namespace tilescope
