// Fat binaries. Those in tests/data/fat_binaries were made of scale.cu, which lies beside them:
//   nvcc -fatbin -lineinfo -gencode arch=compute_75,code=compute_75
//     -gencode 'arch=compute_80,code=[sm_80,compute_80]' --compress-mode=none|speed|size
// gave plain, lz4 and zstd; specific has -arch=compute_90a, machine_code
// arch=compute_90,code=sm_90.
#include "compile/fat_binary.hpp"

#include <cstring>

#include "base/host_pages.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::compile {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string stored(std::string_view name) {
  return testing::read_file(TILESCOPE_TEST_DATA "/fat_binaries/" + std::string(name) + ".fatbin");
}
Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// A copy that ends where readable memory ends.
class AtTheEdge {
 public:
  explicit AtTheEdge(std::string_view data) : size_(data.size()), pages_(allocate_pages(size_)) {
    constexpr std::size_t page = 4096;
    const std::size_t whole = std::max(page, (size_ + page - 1) / page * page);
    data_ = static_cast<char*>(pages_) + whole - size_;
    std::memcpy(data_, data.data(), size_);
  }
  ~AtTheEdge() { free_pages(pages_, size_); }
  AtTheEdge(const AtTheEdge&) = delete;
  AtTheEdge& operator=(const AtTheEdge&) = delete;
  Bytes bytes() const { return {reinterpret_cast<const std::byte*>(data_), size_}; }

 private:
  std::size_t size_;
  void* pages_;
  char* data_;
};

/// Reads everything, as far as the bytes allow. Any other exception, or a crash, fails the test.
void read_all(std::string_view data) {
  const AtTheEdge copy(data);
  try {
    for (const FatBinaryEntry& entry : read_fat_binary(copy.bytes(), "k")) {
      try {
        if (entry.kind == FatBinaryKind::ptx) ptx_text(entry, "k");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      }
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    EXPECT_THAT(error.what(), StartsWith("k: damaged fat binary: "));
  }
}

TEST(FatBinary, EveryCompressionHoldsTheSameText) {
  const std::string plain = stored("plain");
  const std::string expected = ptx_for(bytes_of(plain), 8, 0, "k");
  EXPECT_THAT(expected, HasSubstr(".target sm_80"));
  EXPECT_THAT(expected, HasSubstr(".visible .entry scale("));
  EXPECT_EQ(expected.find('\0'), std::string::npos);
  for (const char* name : {"lz4", "zstd"}) {
    const std::string compressed = stored(name);
    EXPECT_EQ(ptx_for(bytes_of(compressed), 8, 0, "k"), expected) << name;
    EXPECT_LT(compressed.size(), plain.size());
  }
}

TEST(FatBinary, EntriesSayWhatTheyAre) {
  const std::string zstd = stored("zstd"), lz4 = stored("lz4"), specific = stored("specific");
  const auto entries = read_fat_binary(bytes_of(zstd), "k");
  std::vector<std::string> names;
  for (const FatBinaryEntry& entry : entries) names.push_back(entry.architecture());
  EXPECT_THAT(names, ElementsAre("compute_75", "sm_80", "compute_80"));
  EXPECT_EQ(entries[0].compression, FatBinaryCompression::zstd);
  EXPECT_EQ(entries[0].file, "scale.cu");
  EXPECT_EQ(entries[0].options, "--generate-line-info");
  EXPECT_EQ(read_fat_binary(bytes_of(lz4), "k")[0].compression, FatBinaryCompression::lz4);
  EXPECT_EQ(read_fat_binary(bytes_of(specific), "k")[1].architecture(), "compute_90a");
}

TEST(FatBinary, TheNewestTextThatIsNotNewerThanTheGpu) {
  const std::string plain = stored("plain"), specific = stored("specific");
  const auto entries = read_fat_binary(bytes_of(plain), "k");
  EXPECT_EQ(find_ptx(entries, 7, 5), &entries[0]);
  EXPECT_EQ(find_ptx(entries, 8, 0), &entries[2]);
  EXPECT_EQ(find_ptx(entries, 9, 0), &entries[2]);
  EXPECT_EQ(find_ptx(entries, 7, 0), nullptr);
  const auto both = read_fat_binary(bytes_of(specific), "k");
  EXPECT_EQ(find_ptx(both, 9, 0), &both[1]) << "the text for this very GPU";
  EXPECT_EQ(find_ptx(both, 10, 0), &both[0]) << "newer GPUs cannot run compute_90a";
}

TEST(FatBinary, WithoutTextSaysWhatThereIsAndWhatToDo) {
  const std::string machine_code = stored("machine_code");
  const std::string message =
      error_of(ErrorKind::bad_input, [&] { ptx_for(bytes_of(machine_code), 9, 0, "k.cu"); });
  EXPECT_THAT(message, StartsWith("k.cu has no PTX"));
  EXPECT_THAT(message, HasSubstr("it has sm_90"));
  EXPECT_THAT(message, HasSubstr("-arch=compute_90"));
  const std::string empty = stored("plain").substr(0, 8) + std::string(8, '\0');
  EXPECT_THAT(read_fat_binary(bytes_of(empty), "k"), IsEmpty());
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { ptx_for(bytes_of(empty), 9, 0, "k"); }),
              HasSubstr("it has no code"));
}

TEST(FatBinary, WrappersNameTheirContainers) {
  const std::string first = stored("plain"), second = stored("zstd");
  const void* const units[] = {first.data(), second.data(), nullptr};
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* container;
    const void* units;
  } wrapper;
  wrapper.container = first.data();
  wrapper.units = "a file's name";  // version 1
  auto containers = containers_of(&wrapper);
  ASSERT_EQ(containers.size(), 1u);
  EXPECT_EQ(containers[0].size(), first.size());
  wrapper.version = 2;
  wrapper.units = units;
  containers = containers_of(&wrapper);
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(containers[1].size(), second.size());
  wrapper.magic = 7;
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { containers_of(&wrapper); }),
              HasSubstr("expected the magic number 0x466243b1, got 0x7"));
  EXPECT_THAT(error_of(ErrorKind::bad_input, [] { containers_of(nullptr); }),
              HasSubstr("no fat binary"));
}

TEST(FatBinary, UnitsOfMachineCodeComeLast) {
  const std::string text = stored("zstd"), machine_code = stored("machine_code");
  struct {
    std::uint32_t magic = 0x466243b1, version = 2;
    const void* container;
    const void* units;
  } wrapper;
  wrapper.container = text.data();
  const void* const both[] = {machine_code.data(), text.data(), nullptr};
  wrapper.units = both;
  const std::vector<PtxText> texts = embedded_ptx(&wrapper, 9, 0, "the program");
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].name, "scale.cu");
  EXPECT_THAT(texts[0].ptx, HasSubstr(".target sm_80"));
  EXPECT_TRUE(texts[0].machine_code.empty());
  EXPECT_TRUE(texts[1].ptx.empty());
  EXPECT_EQ(static_cast<const void*>(texts[1].machine_code.data()), machine_code.data());
  EXPECT_EQ(texts[1].machine_code.size(), machine_code.size());
  const void* const without[] = {machine_code.data(), machine_code.data(), nullptr};
  wrapper.units = without;
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { embedded_ptx(&wrapper, 9, 0, "the program"); }),
              HasSubstr("the program has no PTX for a GPU of compute capability 9.0 (it has sm_90, "
                        "sm_90)"));
}

TEST(FatBinary, TruncatedBytesAreRefused) {
  for (const char* name : {"plain", "lz4", "zstd"}) {
    const std::string whole = stored(name);
    for (std::size_t size = 0; size < whole.size(); size += size < 400 ? 1 : 37) {
      const std::string part = whole.substr(0, size);
      read_all(part);
      EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { read_fat_binary(bytes_of(part), "k"); }),
                  HasSubstr("damaged fat binary"));
    }
  }
}

TEST(FatBinary, DamagedBytesNeverCrash) {
  for (const char* name : {"plain", "lz4", "zstd", "specific"}) {
    std::string bytes = stored(name);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char before = bytes[i];
      for (const int flip : {0x01, 0x80, 0xff}) {
        bytes[i] = static_cast<char>(before ^ flip);
        read_all(bytes);
      }
      bytes[i] = before;
    }
  }
}

TEST(FatBinary, SizesThatCannotBeAreRefusedBeforeMemoryIsTaken) {
  for (const char* name : {"lz4", "zstd"}) {
    std::string bytes = stored(name);
    constexpr std::size_t full_size = 16 + 56;
    const std::uint64_t huge = std::uint64_t{1} << 29;
    std::memcpy(bytes.data() + full_size, &huge, sizeof huge);
    EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { ptx_for(bytes_of(bytes), 7, 5, "k"); }),
                HasSubstr("cannot be 536870912 bytes of text"))
        << name;
  }
}

}  // namespace
}  // namespace tilescope::compile
