#include "emulator/decoder.hpp"
namespace tilescope::emulator {
bool decode_async(FunctionDecoder&, const ptx::Instruction&, Code&) { return false; }
bool decode_matrix(FunctionDecoder&, const ptx::Instruction&, Code&) { return false; }
bool decode_video(FunctionDecoder&, const ptx::Instruction&, Code&) { return false; }
}
