// The format is an ELF file with the kernel's code in .text.NAME and its static shared memory as
// the (empty) section .nv.shared.NAME. From 9.0 on there is a section .nv.shared.reserved.0; that
// size then includes the kilobyte that the system keeps of every block's shared memory. The section
// .nv.info is a list of records {format, attribute, size or value}. With format 4, `size` bytes
// follow: for the two attributes below the index of the kernel's symbol and the value, 4 bytes
// each. Checked against cuobjdump --dump-resource-usage.
#include "compile/cubin.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tilescope/error.hpp>

namespace tilescope::compile {
namespace {

constexpr unsigned char format_with_size = 4;
constexpr unsigned char attribute_frame_size = 0x11;
constexpr unsigned char attribute_register_count = 0x2f;
constexpr std::size_t reserved_shared_bytes = 1024;

class Image {
 public:
  explicit Image(std::string_view bytes) : bytes_(bytes) {
    header_ = at<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != EM_CUDA) {
      fail("is no CUDA machine code");
    }
  }

  template <typename T>
  T at(std::size_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) fail("is cut short");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  std::size_t section_count() const { return header_.e_shnum; }
  Elf64_Shdr section(std::size_t index) const {
    return at<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr));
  }
  std::string section_name(const Elf64_Shdr& section) const {
    return string_at(this->section(header_.e_shstrndx), section.sh_name);
  }
  std::string string_at(const Elf64_Shdr& strings, std::size_t index) const {
    if (index >= strings.sh_size || strings.sh_offset > bytes_.size() ||
        bytes_.size() - strings.sh_offset < strings.sh_size) {
      fail("is cut short");
    }
    const std::string_view rest = bytes_.substr(strings.sh_offset + index, strings.sh_size - index);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  /// The name of symbol `index` of the symbol table.
  std::string symbol_name(std::size_t index) const {
    for (std::size_t i = 0; i < section_count(); ++i) {
      const Elf64_Shdr table = section(i);
      if (table.sh_type != SHT_SYMTAB) continue;
      if (index >= table.sh_size / sizeof(Elf64_Sym)) break;
      const auto symbol = at<Elf64_Sym>(table.sh_offset + index * sizeof(Elf64_Sym));
      return string_at(section(table.sh_link), symbol.st_name);
    }
    fail("names a symbol that it does not have");
  }

  [[noreturn]] static void fail(std::string_view why) {
    throw Error(ErrorKind::bad_input, "the compiled kernel " + std::string(why));
  }

 private:
  std::string_view bytes_;
  Elf64_Ehdr header_{};
};

}  // namespace

std::vector<KernelResources> kernel_resources(std::string_view cubin) {
  const Image image(cubin);
  std::map<std::string, KernelResources> kernels;
  std::size_t reserved = 0;
  for (std::size_t i = 0; i < image.section_count(); ++i) {
    const std::string name = image.section_name(image.section(i));
    constexpr std::string_view text = ".text.";
    if (name.starts_with(text)) kernels[name.substr(text.size())].name = name.substr(text.size());
    if (name == ".nv.shared.reserved.0") reserved = reserved_shared_bytes;
  }
  for (std::size_t i = 0; i < image.section_count(); ++i) {
    const Elf64_Shdr section = image.section(i);
    const std::string name = image.section_name(section);
    constexpr std::string_view shared = ".nv.shared.";
    if (name.starts_with(shared)) {
      const auto found = kernels.find(name.substr(shared.size()));
      if (found != kernels.end()) {
        found->second.shared_bytes =
            section.sh_size - std::min<std::size_t>(section.sh_size, reserved);
      }
    }
    if (name != ".nv.info") continue;
    for (std::size_t at = 0; at + 4 <= section.sh_size;) {
      const std::size_t record = section.sh_offset + at;
      const auto format = image.at<unsigned char>(record);
      const auto attribute = image.at<unsigned char>(record + 1);
      const auto size = image.at<std::uint16_t>(record + 2);
      at += 4;
      if (format != format_with_size) continue;
      if ((attribute == attribute_frame_size || attribute == attribute_register_count) &&
          size >= 8) {
        const auto value = image.at<std::uint32_t>(record + 8);
        const auto found = kernels.find(image.symbol_name(image.at<std::uint32_t>(record + 4)));
        if (found != kernels.end()) {
          if (attribute == attribute_frame_size) found->second.stack_bytes = value;
          if (attribute == attribute_register_count) {
            found->second.registers = static_cast<int>(value);
          }
        }
      }
      at += size;
    }
  }
  std::vector<KernelResources> result;
  for (auto& [name, kernel] : kernels) result.push_back(std::move(kernel));
  return result;
}

}  // namespace tilescope::compile
