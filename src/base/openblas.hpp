// OpenBLAS, opened when it is first needed: a program that multiplies nothing on the CPU does not
// pay for its start (threads, buffers), and its kernels can be chosen before it starts.
#pragma once

#include <cblas.h>

#include <cstddef>
#include <string>

#include "base/dynamic_library.hpp"

namespace tilescope {

struct OpenBlas {
  DynamicLibrary shared_object;
  decltype(cblas_sgemm)* sgemm = nullptr;
  decltype(cblas_dgemm)* dgemm = nullptr;
  int (*threads)() = nullptr;  ///< these two may be absent
  void (*set_threads)(int) = nullptr;
  std::size_t callers = 1;  ///< threads that may call at once: for each there is memory
  std::string core;         ///< the processor its kernels are made for, such as "SkylakeX"

  /// Throws Error(no_device) when the library is not installed, or has too little memory.
  static const OpenBlas& instance();

  /// While it lives, each call runs on the core of its caller; several threads may then call.
  class OneThread {
   public:
    OneThread();
    ~OneThread();
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

   private:
    int before_ = 0;
  };
};

}  // namespace tilescope
