// Arrays of groups of records that begin at a cache line.
//
// operator new with an alignment looks through the allocator's free memory each time; a page of
// records is allocated too often for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilescope::observe {

/// Group: numbers without constructors, at most a cache line aligned. They begin as zeros.
template <class Group>
class GroupArray {
 public:
  GroupArray() = default;
  explicit GroupArray(std::size_t groups)
      : bytes_(std::make_unique<std::byte[]>(groups * sizeof(Group) + alignof(Group))) {}
  explicit operator bool() const { return bytes_ != nullptr; }
  Group* get() const {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get());
    return reinterpret_cast<Group*>((address + alignof(Group) - 1) & ~(alignof(Group) - 1));
  }
  Group& operator[](std::size_t i) const { return get()[i]; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace tilescope::observe
