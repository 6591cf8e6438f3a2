// Loads and stores: recognising the pattern of the lanes' addresses, checking them once for the
// whole warp, and moving the data. Accesses that do not fit (several allocations or spaces, a
// fault) go lane by lane (instructions/loads_and_stores.cpp).
#include "emulator/lanes/lane_loop.hpp"
#include "emulator/memory_access.hpp"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define TILESCOPE_GATHER 1
#endif

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

/// The place of the warp's access on the host: lane l's data are at base + (difference of lane l).
struct Resolved {
  std::uint8_t* base;  ///< null: take the slow way
  AccessPattern* pattern;
  /// 128 bytes from the lowest address may be read, though the access itself may need fewer.
  bool readable;
};

/// Whether the pattern of addresses is that of the last time. `a` are the lanes' addresses less the
/// offset.
template <class A>
TILESCOPE_INLINE bool matches(const AccessPattern& p, const A* a, std::uint32_t mask) {
  if (p.mask != mask) return false;
  const A first = a[p.first];
#ifdef TILESCOPE_GATHER
  if constexpr (sizeof(A) == 8) {
    const __m512i origin = _mm512_set1_epi64(static_cast<long long>(first));
    unsigned differs = 0;
    for (int h = 0; h < 32; h += 8) {
      const __m512i d = _mm512_sub_epi64(_mm512_load_si512(a + h), origin);
      const unsigned group = _mm512_cmpneq_epi64_mask(d, _mm512_load_si512(p.difference + h));
      differs |= group & (mask >> h & 0xff);
    }
    return differs == 0;
  }
#endif
  A miss = 0;
  if (mask == kAllLanes) {
    for (int l = 0; l < 32; ++l) {
      miss |= static_cast<A>(a[l] - first) ^ static_cast<A>(p.difference[l]);
    }
  } else {
    for (int l = 0; l < 32; ++l) {
      const A differs = static_cast<A>(a[l] - first) ^ static_cast<A>(p.difference[l]);
      miss |= (mask >> l & 1) != 0 ? differs : A{0};
    }
  }
  return miss == 0;
}
/// 32-bit addresses compare with the narrow copy of the differences.
template <>
[[gnu::always_inline]] inline bool matches<std::uint32_t>(const AccessPattern& p,
                                                          const std::uint32_t* a,
                                                          std::uint32_t mask) {
  if (p.mask != mask || !p.narrow) return false;
  const std::uint32_t first = a[p.first];
#ifdef TILESCOPE_GATHER
  const __m512i origin = _mm512_set1_epi32(static_cast<int>(first));
  const __m512i low = _mm512_sub_epi32(_mm512_load_si512(a), origin);
  const __m512i high = _mm512_sub_epi32(_mm512_load_si512(a + 16), origin);
  const unsigned differs =
      (_mm512_cmpneq_epi32_mask(low, _mm512_load_si512(p.index)) & mask) |
      (_mm512_cmpneq_epi32_mask(high, _mm512_load_si512(p.index + 16)) & mask >> 16);
  return differs == 0;
#else
  std::uint32_t miss = 0;
  if (mask == kAllLanes) {
    for (int l = 0; l < 32; ++l) {
      miss |= (a[l] - first) ^ static_cast<std::uint32_t>(p.index[l]);
    }
  } else {
    for (int l = 0; l < 32; ++l) {
      const std::uint32_t differs = (a[l] - first) ^ static_cast<std::uint32_t>(p.index[l]);
      miss |= (mask >> l & 1) != 0 ? differs : 0u;
    }
  }
  return miss == 0;
#endif
}

template <class A>
[[gnu::noinline]] void learn(AccessPattern& p, const A* a, std::uint32_t mask, unsigned bytes) {
  p.mask = mask;
  p.first = static_cast<std::uint32_t>(__builtin_ctz(mask));
  const A first = a[p.first];
  // Plain loops without branches, for the sake of vectors.
  for (int l = 0; l < 32; ++l) {
    const A difference = a[l] - first;  // modulo 2^32 for 32-bit addresses
    const auto d = sizeof(A) == 4 ? std::int64_t{static_cast<std::int32_t>(difference)}
                                  : static_cast<std::int64_t>(difference);
    const std::uint64_t on = -static_cast<std::uint64_t>(mask >> l & 1);
    p.difference[l] = static_cast<std::uint64_t>(d) & on;
    p.index[l] = static_cast<std::int32_t>(p.difference[l]);
  }
  std::int64_t low = 0, high = 0;
  std::uint64_t bits = 0, misses = 0;
  for (int l = 0; l < 32; ++l) {
    const auto d = static_cast<std::int64_t>(p.difference[l]);
    const std::uint64_t on = -static_cast<std::uint64_t>(mask >> l & 1);
    const std::uint64_t expected = (static_cast<std::uint64_t>(l) - p.first) * bytes;
    low = d < low ? d : low;
    high = d > high ? d : high;
    bits |= p.difference[l];
    misses |= (p.difference[l] ^ expected) & on;
  }
  p.low = low;
  p.high = high;
  p.alignment = bits;
  const bool uniform = bits == 0, consecutive = misses == 0;
  p.narrow = p.low >= INT32_MIN && p.high <= INT32_MAX;
  // Wild addresses may lie so far apart that their extent overflows. No memory holds that much:
  // an extent beyond any memory sends the access the slow way, lane by lane.
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  if (p.low < -kFar || p.high > kFar) p.low = -kFar, p.high = kFar;
  p.window = p.high - p.low <= 124 && (p.alignment & 3) == 0;
  const auto lowest = static_cast<std::uint32_t>(p.low);
  for (int l = 0; l < 32; ++l) {
    p.word[l] = (static_cast<std::uint32_t>(p.index[l]) - lowest) / 4 & 31;
  }
  p.shape = static_cast<std::uint32_t>(uniform       ? AccessShape::uniform
                                       : consecutive ? AccessShape::consecutive
                                                     : AccessShape::scattered);
  ++p.serial;
}

TILESCOPE_INLINE void announce(Context& w, const Code& c, const AccessPattern& p,
                               std::uint64_t first, std::uint32_t event, Space space) {
  if ((w.events & event) == 0) [[likely]] {
    return;
  }
  for (int l = 0; l < 32; ++l) w.addresses[l] = first + p.difference[l];
  emit_access(w, c, p, space);
}

/// Checks the access as a whole and finds its place on the host.
template <class A, Space space>
TILESCOPE_INLINE Resolved resolve(Context& w, const Code& c, unsigned bytes) {
  AccessPattern& p = w.patterns[c.slot];
  const A* a = slots<A>(w, c.a);
  if (!matches<A>(p, a, w.mask)) [[unlikely]] {
    learn<A>(p, a, w.mask, bytes);
  }
  const std::uint64_t first = static_cast<A>(a[p.first] + static_cast<A>(c.offset));
  if (((p.alignment | first) & (bytes - 1)) != 0) [[unlikely]] {
    return {nullptr, &p, false};
  }
  const std::uint64_t low = first + static_cast<std::uint64_t>(p.low);
  const std::uint64_t span = static_cast<std::uint64_t>(p.high - p.low) + bytes;
  if constexpr (space == Space::shared) {
    if (low >= w.shared_bytes || span > w.shared_bytes - low) [[unlikely]] {
      return {nullptr, &p, false};
    }
    announce(w, c, p, first, kSharedAccess, Space::shared);
    return {w.shared + first, &p, true};
  } else {
    if (low < p.begin || low >= p.end || span > p.end - low) [[unlikely]] {
      if (!find_allocation(w, p, low, span, space)) return {nullptr, &p, false};
    }
    announce(w, c, p, first, space == Space::global ? kGlobalAccess : kOtherAccess, space);
    return {p.host + (first - p.begin), &p, p.end - low >= 128};
  }
}

/// Resolves a generic access whose lanes all lie in shared memory, or all in global memory.
TILESCOPE_INLINE Resolved resolve_any(Context& w, const Code& c, unsigned bytes) {
  AccessPattern& p = w.patterns[c.slot];
  const std::uint64_t* a = slots<std::uint64_t>(w, c.a);
  if (!matches<std::uint64_t>(p, a, w.mask)) [[unlikely]] {
    learn<std::uint64_t>(p, a, w.mask, bytes);
  }
  std::uint64_t first = a[p.first] + static_cast<std::uint64_t>(c.offset);
  if (((p.alignment | first) & (bytes - 1)) != 0) [[unlikely]] {
    return {nullptr, &p, false};
  }
  std::uint64_t low = first + static_cast<std::uint64_t>(p.low);
  const std::uint64_t span = static_cast<std::uint64_t>(p.high - p.low) + bytes;
  if (low - kSharedWindow < kWindowBytes) {
    first -= kSharedWindow, low -= kSharedWindow;
    if (low >= w.shared_bytes || span > w.shared_bytes - low) return {nullptr, &p, false};
    announce(w, c, p, first, kSharedAccess, Space::shared);
    return {w.shared + first, &p, true};
  }
  if (low < p.begin || low >= p.end || span > p.end - low) [[unlikely]] {
    if (!find_allocation(w, p, low, span, Space::global)) return {nullptr, &p, false};
  }
  announce(w, c, p, first, kGlobalAccess, Space::global);
  return {p.host + (first - p.begin), &p, p.end - low >= 128};
}

template <class Address, Space space>
struct Direct {
  TILESCOPE_INLINE Resolved find(Context& w, const Code& c, unsigned bytes) {
    return resolve<Address, space>(w, c, bytes);
  }
};
using Shared32 = Direct<std::uint32_t, Space::shared>;
using Shared64 = Direct<std::uint64_t, Space::shared>;
using Global64 = Direct<std::uint64_t, Space::global>;
using Constant64 = Direct<std::uint64_t, Space::constant>;
struct Generic64 {
  TILESCOPE_INLINE Resolved find(Context& w, const Code& c, unsigned bytes) {
    return resolve_any(w, c, bytes);
  }
};

template <class T>
TILESCOPE_INLINE T peek(const std::uint8_t* p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
TILESCOPE_INLINE void poke(std::uint8_t* p, T v) {
  __builtin_memcpy(p, &v, sizeof v);
}

/// 32 elements from base + difference[l] + extra.
template <class T, class S, class X>
TILESCOPE_INLINE void gather(Context& w, std::uint32_t dst, const std::uint8_t* base,
                             const AccessPattern& p, int extra, X extend) {
  S* d = slots<S>(w, dst);
#ifdef TILESCOPE_GATHER
  if constexpr (sizeof(T) == 4 && sizeof(S) == 4) {
    if (p.narrow) {
      for (int h = 0; h < 32; h += 16) {
        const auto active = static_cast<__mmask16>(w.mask >> h);
        const __m512i index = _mm512_load_si512(p.index + h);
        const __m512i old = _mm512_load_si512(d + h);
        _mm512_store_si512(d + h, _mm512_mask_i32gather_epi32(old, active, index, base + extra, 1));
      }
      return;
    }
  }
  if constexpr (sizeof(T) == 8) {
    for (int h = 0; h < 32; h += 8) {
      const auto active = static_cast<__mmask8>(w.mask >> h);
      const __m512i index = _mm512_load_si512(p.difference + h);
      const __m512i old = _mm512_load_si512(d + h);
      _mm512_store_si512(d + h, _mm512_mask_i64gather_epi64(old, active, index, base + extra, 1));
    }
    return;
  }
#endif
  if (w.mask == kAllLanes) {
    for (int l = 0; l < 32; ++l) {
      d[l] = extend(peek<T>(base + static_cast<std::int64_t>(p.difference[l]) + extra));
    }
    return;
  }
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const int l = __builtin_ctz(m);
    d[l] = extend(peek<T>(base + static_cast<std::int64_t>(p.difference[l]) + extra));
  }
}

#ifdef TILESCOPE_GATHER
/// Rows of tiles and broadcasts: all lanes within 32 words. Two loads and a permutation are several
/// times as fast as a gather.
TILESCOPE_INLINE void load_window(Context& w, std::uint32_t dst, const std::uint8_t* lowest,
                                  const AccessPattern& p) {
  std::uint32_t* d = slots<std::uint32_t>(w, dst);
  const __m512i head = _mm512_loadu_si512(lowest);
  const __m512i tail = _mm512_loadu_si512(lowest + 64);
  for (int h = 0; h < 32; h += 16) {
    const auto active = static_cast<__mmask16>(w.mask >> h);
    const __m512i index = _mm512_load_si512(p.word + h);
    const __m512i picked = _mm512_permutex2var_epi32(head, index, tail);
    _mm512_mask_store_epi32(d + h, active, picked);
  }
}
#endif

template <class T, class S, int n, class Where, class X>
TILESCOPE_INLINE void load_elements(Context& w, const Code& c, X extend) {
  const Resolved r = Where::find(w, c, sizeof(T) * n);
  if (r.base == nullptr) [[unlikely]] {
    slow_load(w, c);
    return;
  }
  if constexpr (n == 1) {
    if (w.mask == kAllLanes) {
      S* d = slots<S>(w, c.dst);
      if (r.pattern->shape == static_cast<std::uint32_t>(AccessShape::uniform)) {
        const S v = extend(peek<T>(r.base));
        for (int l = 0; l < 32; ++l) d[l] = v;
        return;
      }
      if (r.pattern->shape == static_cast<std::uint32_t>(AccessShape::consecutive)) {
        T t[32];
        __builtin_memcpy(t, r.base, sizeof t);
        for (int l = 0; l < 32; ++l) d[l] = extend(t[l]);
        return;
      }
    }
#ifdef TILESCOPE_GATHER
    if constexpr (sizeof(T) == 4 && sizeof(S) == 4) {
      if (r.pattern->window && r.readable) {
        load_window(w, c.dst, r.base + r.pattern->low, *r.pattern);
        return;
      }
    }
#endif
    gather<T, S>(w, c.dst, r.base, *r.pattern, 0, extend);
  } else {
    for (int i = 0; i < n; ++i) {
      gather<T, S>(w, c.list[i], r.base, *r.pattern, i * static_cast<int>(sizeof(T)), extend);
    }
  }
}
template <class T, int n, class Where>
void load(Context& w, const Code& c) {
  load_elements<T, Slot<T>, n, Where>(w, c, [](T v) { return static_cast<Slot<T>>(v); });
}
template <class T, class Where>
void load_signed_32(Context& w, const Code& c) {
  load_elements<T, std::uint32_t, 1, Where>(
      w, c, [](T v) { return static_cast<std::uint32_t>(std::int32_t{v}); });
}
template <class T, class Where>
void load_signed_16(Context& w, const Code& c) {
  load_elements<T, std::uint32_t, 1, Where>(
      w, c, [](T v) { return std::uint32_t{static_cast<std::uint16_t>(std::int16_t{v})}; });
}

/// Lanes store in ascending order: if they collide, the highest wins.
template <class T, int n, class Where>
void store(Context& w, const Code& c) {
  using S = Slot<T>;
  const Resolved r = Where::find(w, c, sizeof(T) * n);
  if (r.base == nullptr) [[unlikely]] {
    slow_store(w, c);
    return;
  }
  const AccessPattern& p = *r.pattern;
  if constexpr (n == 1) {
    const S* s = slots<S>(w, c.b);
    if (w.mask == kAllLanes && p.shape == static_cast<std::uint32_t>(AccessShape::consecutive)) {
      T t[32];
      for (int l = 0; l < 32; ++l) t[l] = static_cast<T>(s[l]);
      __builtin_memcpy(r.base, t, sizeof t);
      return;
    }
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      poke<T>(r.base + static_cast<std::int64_t>(p.difference[l]), static_cast<T>(s[l]));
    }
  } else {
    const S* s[n];
    for (int i = 0; i < n; ++i) s[i] = slots<S>(w, c.list[i]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
      const int l = __builtin_ctz(m);
      std::uint8_t* to = r.base + static_cast<std::int64_t>(p.difference[l]);
      for (int i = 0; i < n; ++i)
        poke<T>(to + i * static_cast<int>(sizeof(T)), static_cast<T>(s[i][l]));
    }
  }
}

template <class T, class Where>
Execute access_of(const MemoryKey& k) {
  if (k.store) {
    return k.elements == 1   ? store<T, 1, Where>
           : k.elements == 2 ? store<T, 2, Where>
                             : static_cast<Execute>(store<T, 4, Where>);
  }
  return k.elements == 1   ? load<T, 1, Where>
         : k.elements == 2 ? load<T, 2, Where>
                           : static_cast<Execute>(load<T, 4, Where>);
}
template <class Where>
Execute memory_of(const MemoryKey& k) {
  if (k.sign_extend) {
    if (k.store || k.elements != 1) return nullptr;
    if (k.bytes == 1) {
      return k.extend_to == 16 ? load_signed_16<std::int8_t, Where>
                               : load_signed_32<std::int8_t, Where>;
    }
    return k.bytes == 2 ? load_signed_32<std::int16_t, Where> : nullptr;
  }
  switch (k.bytes) {
    case 1:
      return access_of<std::uint8_t, Where>(k);
    case 2:
      return access_of<std::uint16_t, Where>(k);
    case 4:
      return access_of<std::uint32_t, Where>(k);
    case 8:
      return k.elements == 4 ? nullptr : access_of<std::uint64_t, Where>(k);
    default:
      return nullptr;
  }
}

}  // namespace

Execute find_memory(const MemoryKey& k) {
  if (k.elements != 1 && k.elements != 2 && k.elements != 4) return nullptr;
  switch (k.address) {
    case LaneAddress::shared32:
      return memory_of<Shared32>(k);
    case LaneAddress::shared64:
      return memory_of<Shared64>(k);
    case LaneAddress::global64:
      return memory_of<Global64>(k);
    case LaneAddress::constant64:
      return k.store ? nullptr : memory_of<Constant64>(k);
    case LaneAddress::generic64:
      return memory_of<Generic64>(k);
  }
  return nullptr;
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
