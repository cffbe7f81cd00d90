// narrow.hpp - whole numbers of a group column as 16 bits, for the kernels.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>

#include "gstar/base/rows.hpp"
#include "gstar/decide/kernels/decide.hpp"

namespace gstar {

template <std::size_t Block, class From>
bool narrow_as(const column& c, std::size_t begin, std::size_t n,
               std::uint16_t* out) {
    From copied[Block];
    const From* from = copied;
    if (c.is_array_of<From>())
        from = reinterpret_cast<const From*>(c.data) + begin;
    else
        detail::read_as<From>(c, begin, n, copied);
    return narrow_numbers(from, n, out);
}

/// At most `Block` whole numbers of any type; false if one does not fit.
template <std::size_t Block>
bool narrow(const column& c, std::size_t begin, std::size_t n, std::uint16_t* out) {
    switch (c.type) {
        case dtype::i8: return narrow_as<Block, std::int8_t>(c, begin, n, out);
        case dtype::i16: return narrow_as<Block, std::int16_t>(c, begin, n, out);
        case dtype::i32: return narrow_as<Block, std::int32_t>(c, begin, n, out);
        case dtype::i64: return narrow_as<Block, std::int64_t>(c, begin, n, out);
        case dtype::u16: return narrow_as<Block, std::uint16_t>(c, begin, n, out);
        case dtype::u32: return narrow_as<Block, std::uint32_t>(c, begin, n, out);
        case dtype::u64: return narrow_as<Block, std::uint64_t>(c, begin, n, out);
        default: return narrow_as<Block, std::uint8_t>(c, begin, n, out);
    }
}

}  // namespace gstar
