#include "base/own_file.hpp"

#include <dlfcn.h>
#include <link.h>

namespace tilescope {

std::filesystem::path own_folder() {
  std::error_code failed;
  Dl_info found{};
  link_map* object = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&own_folder), &found, reinterpret_cast<void**>(&object),
              RTLD_DL_LINKMAP) != 0 &&
      object->l_name[0] != '\0') {  // the program itself has no name
    return std::filesystem::absolute(object->l_name, failed).parent_path();
  }
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
}

}  // namespace tilescope
