#include "emulator/decoder.hpp"
namespace tilescope::emulator {
bool decode_half(FunctionDecoder&, const ptx::Instruction&, Code&) {
  return false;
}
bool decode_integer_rare(FunctionDecoder&, const ptx::Instruction&, Code&) {
  return false;
}
bool decode_float_rare(FunctionDecoder&, const ptx::Instruction&, Code&) {
  return false;
}
bool decode_async(FunctionDecoder&, const ptx::Instruction&, Code&) {
  return false;
}
bool decode_matrix(FunctionDecoder&, const ptx::Instruction&, Code&) {
  return false;
}
bool decode_video(FunctionDecoder&, const ptx::Instruction&, Code&) {
  return false;
}
}  // namespace tilescope::emulator
