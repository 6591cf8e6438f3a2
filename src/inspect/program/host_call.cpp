#include "inspect/program/host_call.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <filesystem>

namespace tilescope::inspect {
namespace {

const link_map* object_at(std::uintptr_t address) {
  Dl_info ignored;
  link_map* object = nullptr;
  const bool known = ::dladdr1(reinterpret_cast<const void*>(address), &ignored,
                               reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) != 0;
  return known ? object : nullptr;
}

/// The walk up a stack, which begins in the run time.
struct Walk {
  HostCall& call;
  const link_map* run_time;
  bool outside = false;  ///< the run time has been left
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  int is_exact = 0;
  std::uintptr_t address = ::_Unwind_GetIPInfo(context, &is_exact);
  if (address == 0) return _URC_END_OF_STACK;
  if (is_exact == 0) --address;  // from where it returns to into the call
  if (!walk.outside && object_at(address) == walk.run_time) return _URC_NO_REASON;
  walk.outside = true;
  walk.call.frames[walk.call.depth++] = address;
  return walk.call.depth == HostCall::most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

HostCall HostCall::here(const char* name) {
  static const link_map* const run_time =
      object_at(reinterpret_cast<std::uintptr_t>(&HostCall::here));
  HostCall call;
  call.name = name;
  // A program that the run time is linked into statically has no outside.
  const bool is_shared = run_time != nullptr && run_time->l_name[0] != '\0';
  Walk walk{call, run_time, !is_shared};
  ::_Unwind_Backtrace(visit, &walk);
  return call;
}

std::vector<HostAddress> addresses_of(const HostCall& call) {
  std::vector<HostAddress> addresses;
  for (std::size_t i = 0; i < call.depth; ++i) {
    const link_map* object = object_at(call.frames[i]);
    if (object == nullptr) continue;
    std::string file = object->l_name;
    if (file.empty()) {  // the program itself
      std::error_code failed;
      file = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    }
    addresses.push_back({std::move(file), call.frames[i] - object->l_addr});
  }
  return addresses;
}

}  // namespace tilescope::inspect
