#include "cli/command_line.hpp"

int main(int argc, char** argv) {
  return tilescope::cli::run_command_line(argc, argv);
}
