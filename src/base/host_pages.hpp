// Memory of this process by whole pages, and whether an address is memory of this process at all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilescope {

/// Whole pages for `bytes` (at least one page), zero-filled, between two pages that nobody may
/// access. Null if the system has no more.
void* allocate_pages(std::size_t bytes) noexcept;
/// `bytes` is the size given to allocate_pages(). Null is allowed.
void free_pages(void* pages, std::size_t bytes) noexcept;

/// Lets the system give memory that was never used in pages of 2 MiB, which it clears in a third of
/// the time that as many of 4 KiB take. It may refuse, and then nothing changes.
void ask_for_large_pages(void* memory, std::size_t bytes) noexcept;

/// Memory for arrays that are used as a whole, zero-filled, from a multiple of 2 MiB on. Where the
/// system has large pages it is made of them: rows that lie apart then miss fewer translations.
/// Null if the system has no more.
void* allocate_large_pages(std::size_t bytes) noexcept;
/// `bytes` is the size given to allocate_large_pages(). Null is allowed.
void free_large_pages(void* pages, std::size_t bytes) noexcept;

/// Whether this process can read memory there. Asks the system, in about 100 ns; touches nothing.
bool is_readable(std::uint64_t address) noexcept;

}  // namespace tilescope
