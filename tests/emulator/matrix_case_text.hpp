// The parts of a matrix case: PTX text, register lists, the metadata of a sparse A.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/matrix_values.hpp"

namespace tilescope::testing {

inline std::string number(unsigned value) {
  return std::to_string(value);
}

/// "{%a0, %a1}"
inline std::string list(const std::string& name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + name + number(i);
  return text + "}";
}

/// A kernel whose threads read the same number of words each, and write some.
class KernelText {
 public:
  /// `head` words of a block's input precede those of its threads; the first `writers` threads
  /// write.
  KernelText(unsigned threads, unsigned head, unsigned writers)
      : threads_(threads), head_(head), writers_(writers) {}

  /// Declares registers name0... and loads them.
  void load(const std::string& name, unsigned count, bool wide) {
    body_ += ".reg .b" + number(wide ? 64 : 32) + " %" + name + "<" + number(count) + ">;\n";
    for (unsigned i = 0; i < count; ++i) {
      body_ += "ld.global.b" + number(wide ? 64 : 32) + " %" + name + number(i) + ", [%from+" +
               number(in_ * 4) + "];\n";
      in_ += wide ? 2 : 1;
    }
  }
  void store(const std::string& name, unsigned count, bool wide, const std::string& guard = "") {
    for (unsigned i = 0; i < count; ++i) {
      body_ += guard + "st.global.b" + number(wide ? 64 : 32) + " [%to+" + number(out_ * 4) +
               "], %" + name + number(i) + ";\n";
      out_ += wide ? 2 : 1;
    }
  }
  void line(const std::string& text) { body_ += text + "\n"; }

  unsigned in_words() const { return head_ + threads_ * in_; }
  unsigned thread_words() const { return in_; }
  unsigned out_words() const { return writers_ * out_; }

  std::string text() const {
    return ".version 8.7\n.target sm_90a\n.address_size 64\n"
           ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
           ".reg .b64 %in, %from, %to;\n.reg .b32 %thread, %number;\n"
           "mov.u32 %thread, %tid.x;\nmov.u32 %number, %ctaid.x;\n"
           "ld.param.u64 %in, [in];\nmad.wide.u32 %in, %number, " +
           number(in_words() * 4) + ", %in;\nadd.u64 %from, %in, " + number(head_ * 4) +
           ";\nmad.wide.u32 %from, %thread, " + number(in_ * 4) +
           ", %from;\nld.param.u64 %to, [out];\nmad.wide.u32 %to, %number, " +
           number(out_words() * 4) + ", %to;\nmad.wide.u32 %to, %thread, " + number(out_ * 4) +
           ", %to;\n" + body_ + "ret;\n}\n";
  }

 private:
  unsigned threads_, head_, writers_, in_ = 0, out_ = 0;
  std::string body_;
};

inline bool is_real(const std::string& type) {
  return type[0] == 'f' || type[0] == 't' || type[0] == 'e' || type == "bf16";
}

inline unsigned bits_of(const std::string& type) {
  if (type == "tf32") return 32;
  if (type == "e4m3" || type == "e5m2") return 8;
  return static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

/// Metadata of a thread. One of two (tf32): 4 bits that name one half. Else two of four: the first
/// index below the second, or in any order.
inline std::uint32_t metadata(const std::string& type, bool ordered, MatrixRandom& random) {
  static constexpr std::uint32_t rising[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  static constexpr std::uint32_t falling[] = {0x1, 0x2, 0x3, 0x6, 0x7, 0xb};
  std::uint32_t word = 0;
  for (unsigned at = 0; at < 32; at += 4) {
    std::uint32_t part = rising[random.below(6)];
    if (!ordered && random.below(2) != 0) part = falling[random.below(6)];
    if (type == "tf32") part = random.below(2) != 0 ? 0x4 : 0xe;
    word |= part << at;
  }
  return word;
}

inline unsigned blocks_for(const std::string& type, unsigned each) {
  return each * (is_real(type) && type != "f64" ? static_cast<unsigned>(MatrixRegime::count) : 2u);
}

}  // namespace tilescope::testing
