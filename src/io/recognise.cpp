// Formats that people pass by mistake where a .npy file is needed, known by their first bytes.
#include <array>

#include "io/npy_header.hpp"

namespace tilescope::io {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view front;
  const char* meaning;
};

constexpr std::array signatures = {
    Signature{"\x89PNG\r\n\x1a\n"sv,
              "a PNG picture; load it in Python and save it with numpy.save"},
    Signature{"\xff\xd8\xff"sv, "a JPEG picture; load it in Python and save it with numpy.save"},
    Signature{"PK\x03\x04"sv,
              "a zip or .npz archive; save one array of it: np.save('a.npy', np.load(f)['name'])"},
    Signature{"PK\x05\x06"sv, "an empty zip or .npz archive; save an array with numpy.save"},
    Signature{"\x1f\x8b"sv, "compressed by gzip; unpack it first (gunzip)"},
    Signature{"\x28\xb5\x2f\xfd"sv, "compressed by zstd; unpack it first (unzstd)"},
    Signature{"\xfd"
              "7zXZ"sv,
              "compressed by xz; unpack it first (unxz)"},
    Signature{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file; read it with h5py and save it with numpy.save"},
    Signature{"MATLAB "sv, "a MATLAB file; read it with scipy.io and save it with numpy.save"},
    Signature{"%PDF"sv, "a PDF document; a .npy file is needed"},
    Signature{"\x7f"
              "ELF"sv,
              "a program; a .npy file is needed"},
    Signature{"\x80\x02"sv, "a Python pickle; load it and save the array with numpy.save"},
    Signature{"\x80\x03"sv, "a Python pickle; load it and save the array with numpy.save"},
    Signature{"\x80\x04"sv, "a Python pickle; load it and save the array with numpy.save"},
    Signature{"\x80\x05"sv, "a Python pickle; load it and save the array with numpy.save"},
};

bool is_text(std::string_view front) {
  for (const char c : front) {
    const auto byte = static_cast<unsigned char>(c);
    const bool white = byte == '\t' || byte == '\n' || byte == '\r';
    if ((byte < 0x20 && !white) || byte == 0x7f) return false;
  }
  return !front.empty();
}

}  // namespace

std::string recognise(std::string_view front) {
  for (const Signature& known : signatures) {
    if (front.substr(0, known.front.size()) == known.front) return known.meaning;
  }
  if (is_text(front)) {
    return "text; numbers in text are converted by np.save('a.npy', np.loadtxt(f))";
  }
  return {};
}

}  // namespace tilescope::io
