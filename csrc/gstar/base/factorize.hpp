// factorize.hpp - number the distinct texts of a column.
#pragma once

#include <algorithm>  // min
#include <array>
#include <cstddef>  // ptrdiff_t, size_t
#include <cstdint>
#include <cstring>  // memcmp, memcpy
#include <limits>
#include <stdexcept>  // length_error
#include <string>
#include <utility>  // move, swap
#include <vector>

#include "gstar/base/error.hpp"

namespace gstar {

/// Texts, which may be any bytes, and their numbers in the order they came.
///
/// A hash table with open addressing, at most a quarter full. It holds the length,
/// the first eight bytes and the last eight of each text, which is all of a
/// text of up to 16 bytes. A row of a column of few names so costs two loads, a
/// hash and a comparison, and no branch depends on which of the names it has.
///
/// A new text is copied, and the copy is what is numbered: where another thread
/// writes to the caller's bytes meanwhile, a number still means one text.
class text_numbers {
public:
    /// The number of a text; a new one gets the next. Texts of different tags
    /// (0 to 3) are different. All bytes from `readable` up to the text may be
    /// read, and mean nothing.
    std::int32_t of(const char* text, std::size_t n, const char* readable,
                    unsigned tag = 0) {
        const key k = key_of(text, n, readable, tag);
        const std::int32_t number = entries_[place(k, text)].number;
        return number != unknown ? number : add(std::string(text, n), tag);
    }

    std::size_t size() const noexcept { return texts_.size(); }
    const std::string& text(std::size_t number) const { return texts_[number]; }

    /// Places looked at to find a text of tag 0 that has a number.
    std::size_t reach(const std::string& text) const noexcept {
        const key k = key_of(text.data(), text.size(), text.data(), 0);
        const auto home = static_cast<std::size_t>(k.hash >> shift_);
        return ((place(k, text.data()) - home) & (entries_.size() - 1)) + 1;
    }

private:
    static constexpr std::int32_t unknown = -1;
    static constexpr std::uint64_t multiplier = 0x9E3779B97F4A7C15u;

    struct key {
        std::uint64_t first = 0;  ///< up to eight bytes, in the machine's order
        std::uint64_t last = 0;
        std::uint64_t mark = 0;  ///< length and tag
        std::uint64_t hash = 0;
    };
    struct entry {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        std::uint64_t mark = 0;
        std::int32_t number = unknown;
    };

    static std::uint64_t word(const void* from) noexcept {
        std::uint64_t out = 0;
        std::memcpy(&out, from, sizeof out);
        return out;
    }

    static std::uint64_t mix(std::uint64_t hash, std::uint64_t with) noexcept {
        hash = (hash ^ with) * multiplier;
        return hash ^ (hash >> 32);
    }

    static key key_of(const char* text, std::size_t n, const char* readable,
                      unsigned tag) noexcept {
        static constexpr std::array<unsigned char, 16> keep = {
            0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255};
        char copy[16] = {};
        if (text - readable + static_cast<std::ptrdiff_t>(n) < 8) {
            if (n != 0) std::memcpy(copy + 8, text, n);
            text = copy + 8;
        }
        // Eight bytes that end with the first eight of the text, and eight that end
        // with its last; what stands before a shorter text is cut.
        const std::size_t few = std::min<std::size_t>(n, 8);
        const std::uint64_t mask = word(keep.data() + few);
        key k;
        k.first = word(text + few - 8) & mask;
        k.last = word(text + n - 8) & mask;
        k.mark = (std::uint64_t{n} << 2) | tag;
        k.hash = mix(mix(k.mark, k.first), k.last);
        for (std::size_t i = 8; i + 8 < n; i += 8)
            k.hash = mix(k.hash, word(text + i));
        k.hash *= multiplier;  // for the upper bits, which say where to look
        return k;
    }

    bool is(const entry& e, const key& k, const char* text) const noexcept {
        if (e.first != k.first || e.last != k.last || e.mark != k.mark)
            return false;
        const std::size_t n = k.mark >> 2;
        return n <= 16 ||
               std::memcmp(texts_[static_cast<std::size_t>(e.number)].data() + 8,
                           text + 8, n - 16) == 0;
    }

    /// Where the text is, or the empty place where it would be.
    std::size_t place(const key& k, const char* text) const noexcept {
        auto at = static_cast<std::size_t>(k.hash >> shift_);
        while (entries_[at].number != unknown && !is(entries_[at], k, text))
            at = (at + 1) & (entries_.size() - 1);
        return at;
    }

    std::int32_t add(std::string text, unsigned tag) {
        if (4 * (texts_.size() + 1) > entries_.size()) grow();
        const key k = key_of(text.data(), text.size(), text.data(), tag);
        entry& to = entries_[place(k, text.data())];
        if (to.number != unknown) return to.number;  // changed since it was read
        if (texts_.size() >= std::numeric_limits<std::int32_t>::max())
            throw std::length_error("more than 2^31 distinct texts");
        texts_.push_back(std::move(text));
        to = {k.first, k.last, k.mark,
              static_cast<std::int32_t>(texts_.size() - 1)};
        return to.number;
    }

    void grow() {
        std::vector<entry> old(2 * entries_.size());
        std::swap(old, entries_);
        --shift_;
        for (const entry& e : old) {
            if (e.number == unknown) continue;
            const std::string& text = texts_[static_cast<std::size_t>(e.number)];
            const key k = key_of(text.data(), text.size(), text.data(), e.mark & 3);
            entries_[place(k, text.data())] = e;
        }
    }

    std::vector<entry> entries_ = std::vector<entry>(64);
    int shift_ = 64 - 6;  ///< of a hash, to a place among the entries
    std::vector<std::string> texts_;
};

// ---- columns of texts, as Arrow and NumPy have them; a row that is not `valid`
// has the empty text -----------------------------------------------------------

/// Text i goes from offset i to offset i + 1 of `size` bytes.
template <class Offset>
void number_offsets(text_numbers& numbers, const char* offsets, std::size_t n,
                    const char* data, std::size_t size, const std::uint8_t* valid,
                    std::int32_t* codes) {
    const auto read = [offsets](std::size_t i) {
        Offset out = 0;
        std::memcpy(&out, offsets + i * sizeof out, sizeof out);
        return static_cast<std::int64_t>(out);
    };
    std::int64_t begin = n != 0 ? read(0) : 0;
    if (begin < 0) refuse({"arrow_offsets"});
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t end = read(i + 1);
        if (end < begin || static_cast<std::uint64_t>(end) > size)
            refuse({"arrow_offsets"});
        const bool there = valid == nullptr || valid[i] != 0;
        codes[i] = numbers.of(
            data + begin, static_cast<std::size_t>(there ? end - begin : 0), data);
        begin = end;
    }
}

/// Some bytes that views point into.
struct text_buffer {
    const char* data = nullptr;
    std::size_t size = 0;
};

/// Views of 16 bytes: a length, and up to twelve bytes of text; or a length, four
/// bytes of text, the number of a buffer and the place in it.
inline void number_views(text_numbers& numbers, const char* views, std::size_t n,
                         const std::vector<text_buffer>& buffers,
                         const std::uint8_t* valid, std::int32_t* codes) {
    for (std::size_t i = 0; i < n; ++i) {
        std::int32_t view[4] = {};  // length, first bytes, buffer, place
        std::memcpy(view, views + 16 * i, sizeof view);
        if (valid != nullptr && valid[i] == 0) view[0] = 0;
        const auto length = static_cast<std::size_t>(view[0]);
        if (view[0] >= 0 && length <= 12) {
            codes[i] = numbers.of(views + 16 * i + 4, length, views);
            continue;
        }
        const auto buffer = static_cast<std::size_t>(view[2]);
        const auto place = static_cast<std::size_t>(view[3]);
        if (view[0] < 0 || view[2] < 0 || view[3] < 0 || buffer >= buffers.size() ||
            place > buffers[buffer].size || length > buffers[buffer].size - place)
            refuse({"arrow_view"});
        const char* const data = buffers[buffer].data;
        codes[i] = numbers.of(data + place, length, data);
    }
}

/// Texts of one width, `stride` bytes apart.
inline void number_records(text_numbers& numbers, const char* records,
                           std::size_t n, std::size_t width, std::ptrdiff_t stride,
                           std::int32_t* codes) {
    const bool onward = stride >= static_cast<std::ptrdiff_t>(width);
    for (std::size_t i = 0; i < n; ++i) {
        const char* const text = records + static_cast<std::ptrdiff_t>(i) * stride;
        codes[i] = numbers.of(text, width, onward ? records : text);
    }
}

}  // namespace gstar
