// NVIDIA's compiler for whole programs, run as a command.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/error.hpp>
#include <vector>

#include "compile/compilation.hpp"

namespace tilescope::compile {

/// The path of nvcc: of a toolkit or of its wheels, else the one in PATH. Throws Error(no_device)
/// that says what to install if there is none.
std::string find_nvcc();

/// Whether nvcc takes the word of a command line: alone, or with a value behind "=" or in the same
/// word.
bool is_nvcc_option(std::string_view word);
/// Whether the word is an option of nvcc whose value is the next word.
bool takes_next_word(std::string_view word);

/// Identifies this compiler: its files with their sizes and times.
std::string nvcc_identity(const std::string& nvcc);

/// Runs nvcc. Throws Error(bad_input) with its own messages if it fails.
void run_nvcc(const std::string& nvcc, const std::vector<std::string>& arguments);

/// Whether nvcc failed for want of -rdc=true: kernels launch kernels.
bool lacks_separate_compilation(const Error& error);

/// The compilation by nvcc instead of NVRTC: host code may be anything. Without `kernel` the
/// source's only one is meant. Finds the result in the cache like compile(). Throws as run_nvcc(),
/// and Error(usage) for a kernel that is not there or not the only one of its name.
Program compile_with_nvcc(const Compilation& compilation);

}  // namespace tilescope::compile
