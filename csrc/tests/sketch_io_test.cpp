// sketch_io_test.cpp - bytes: there and back, and nothing else gets in.
#include "gstar/sketch_io.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "table.hpp"

using namespace gstar;

namespace {

using bytes = std::vector<std::uint8_t>;

std::unique_ptr<sketch> read(const bytes& b, std::uint64_t limit = 1 << 28) {
    return from_bytes({b.data(), b.size()}, limit);
}

void sign(bytes& b) {
    const std::uint32_t c = crc32(b.data(), b.size() - 4);
    for (std::size_t i = 0; i < 4; ++i)
        b[b.size() - 4 + i] = static_cast<std::uint8_t>(c >> (8 * i));
}

/// A sketch with every kind of group, of cell and of row.
bytes of_everything() {
    sketch s{sketch_options{}};
    const name groups[] = {name::of(-7), name::of_text("caf\xC3\xA9"),
                           name::of_tuple({name::of(1), name::of_text("x")}),
                           name::of_bool(true)};
    for (const name& g : groups) {
        s.update_one(0.25, 1, g);
        s.update_one(-0.001, 0, g);
        s.update_one(1e-9, 2, g);
        s.update_one(INFINITY, 1, g);
        s.update_one(-3.5, 0, g);
    }
    return to_bytes(s);
}

}  // namespace

int main() {
    {  // the checksum is the one everybody knows
        const std::uint8_t digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
        CHECK(crc32(digits, 9) == 0xCBF43926u);
    }
    {  // there and back
        const bytes b = of_everything();
        CHECK(to_bytes(*read(b)) == b);
        const table<double> t = make_table<double>(5000, 7, 3);
        sketch s{sketch_options{}};
        s.update(t.view());
        const bytes c = to_bytes(s);
        const auto again = read(c);
        CHECK(to_bytes(*again) == c);
        again->update(t.view());  // what was read goes on counting
        s.update(t.view());
        CHECK(to_bytes(*again) == to_bytes(s));
    }
    {  // every flipped bit and every cut is refused
        const bytes b = of_everything();
        for (std::size_t i = 0; i < 8 * b.size(); ++i) {
            bytes bad = b;
            bad[i / 8] = static_cast<std::uint8_t>(bad[i / 8] ^ (1u << (i % 8)));
            CHECK(throws<std::invalid_argument>([&] { read(bad); }));
        }
        for (std::size_t n = 0; n < b.size(); ++n)
            CHECK(throws<std::invalid_argument>([&] {
                read(bytes(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n)));
            }));
    }
    {  // a flipped bit with a right checksum is refused, or means another sketch
        const bytes b = of_everything();
        std::size_t taken = 0;
        for (std::size_t i = 8 * 24; i < 8 * (b.size() - 4); ++i) {
            bytes other = b;
            other[i / 8] =
                static_cast<std::uint8_t>(other[i / 8] ^ (1u << (i % 8)));
            sign(other);
            try {
                CHECK(to_bytes(*read(other)) == other);
                ++taken;
            } catch (const std::invalid_argument&) {
            }
        }
        CHECK(taken > 0);  // names may change, and so may counts
    }
    {  // a few bytes cannot ask for much memory
        bytes b = of_everything();
        CHECK(throws<std::invalid_argument>([&] { read(b, 1000); }));
    }
}
