// wide_test.cpp - whole numbers of many bits.
#include "gstar/base/wide.hpp"

#include <cmath>
#include <random>

#include "check.hpp"

using gstar::wide;

int main() {
    {  // adding and taking away again leaves nothing, wherever the bits stand
        std::mt19937_64 random(1);
        for (int i = 0; i < 2000; ++i) {
            wide<6> w;
            const auto v = static_cast<std::int64_t>(random());
            const auto bit = static_cast<unsigned>(random() % 300);
            w.add(v, bit);
            CHECK(w.negative() == (v < 0));
            wide<6> minus = w;
            minus.negate();
            w += minus;
            CHECK(w.is_zero());
        }
    }
    {  // the order of additions leaves no trace
        std::mt19937_64 random(2);
        wide<4> a;
        wide<4> b;
        std::int64_t v[64];
        unsigned bit[64];
        for (int i = 0; i < 64; ++i) {
            v[i] = static_cast<std::int64_t>(random());
            bit[i] = static_cast<unsigned>(random() % 180);
        }
        for (int i = 0; i < 64; ++i) a.add(v[i], bit[i]);
        for (int i = 63; i >= 0; --i) b.add(v[i], bit[i]);
        CHECK(a == b);
    }
    {  // products carry across words
        wide<3> w;
        w.add_product(~std::uint64_t{0}, ~std::uint64_t{0}, 0);
        CHECK(w.limb(0) == 1 && w.limb(1) == ~std::uint64_t{0} - 1 &&
              w.limb(2) == 0);
        w.add_product(~std::uint64_t{0}, ~std::uint64_t{0}, 0, true);
        CHECK(w.is_zero());
        w.add_product(3, 5, 70, true);
        CHECK(w.to_double(0) == -15 * std::ldexp(1.0, 70));
    }
    {  // halving rounds down, shifting is its inverse
        wide<2> w;
        w.add(-7, 0);
        w.halve();
        CHECK(w.to_double(0) == -4);
        w.shift_left(3);
        CHECK(w.to_double(0) == -32);
    }
    {  // to_double rounds once, to nearest even, whatever is cut off
        wide<4> w;
        w.add(1, 53);
        w.add(1, 0);
        CHECK(w.to_double(0) == std::ldexp(1.0, 53));  // a tie
        w.add(1, 0);
        CHECK(w.to_double(0) == std::ldexp(1.0, 53) + 2);
        wide<4> tie;
        tie.add(1, 200);
        tie.add(1, 147);  // half a unit in the last place
        CHECK(tie.to_double(0) == std::ldexp(1.0, 200));
        tie.add(1, 0);  // and a bit far below
        CHECK(tie.to_double(0) == std::ldexp(1.0, 200) + std::ldexp(1.0, 148));
    }
    {  // order and length
        wide<2> a;
        wide<2> b;
        a.add(-1, 64);
        b.add(1, 0);
        CHECK(a < b && !(b < a));
        CHECK(b.bits() == 1 && gstar::bit_length(0) == 0);
        CHECK(gstar::bit_length(~std::uint64_t{0}) == 64);
    }
}
