// Membership in a short list.
#pragma once

#include <initializer_list>

namespace tilescope {

template <typename T>
constexpr bool is_one_of(T value, std::initializer_list<T> list) {
  for (const T& one : list) {
    if (value == one) return true;
  }
  return false;
}

}  // namespace tilescope
