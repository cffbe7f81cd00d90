// sketch_io_test.cpp - bytes: there and back, straight into a sketch, and nothing
// else gets in.
#include "gstar/sketch_io.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "stored.hpp"
#include "table.hpp"

using namespace gstar;
using stored::bytes;
using stored::view;

namespace {

constexpr unsigned kinds = 16;  ///< of `stored::sketch_of`

std::unique_ptr<sketch> read(const bytes& b, std::uint64_t limit = 1 << 28) {
    return from_bytes(view(b), limit);
}

bytes of_everything() { return to_bytes(*stored::sketch_of(8)); }

/// Whether merging bytes is refused, and leaves the sketch as it was.
bool refuses(sketch& s, const bytes& b) {
    const bytes before = to_bytes(s);
    return throws<std::invalid_argument>([&] { merge_bytes(s, view(b)); }) &&
           to_bytes(s) == before;
}

}  // namespace

int main() {
    {  // the checksum is the one everybody knows, also of many bytes
        const std::uint8_t digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
        CHECK(crc32(digits, 9) == 0xCBF43926u);
        CHECK(crc32(digits, 0) == 0);
        CHECK(crc32(digits, 8) == 0x9AE0DAAFu);
    }
    {  // there and back
        for (unsigned which = 0; which < kinds; ++which) {
            const bytes b = to_bytes(*stored::sketch_of(which));
            CHECK(to_bytes(*read(b)) == b);
        }
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
    {  // bytes go straight into a sketch of every kind, or are refused as it would be
        for (unsigned one = 0; one < kinds; ++one) {
            for (unsigned other = 0; other < kinds; ++other) {
                const bytes b = to_bytes(*stored::sketch_of(other));
                const auto straight = stored::sketch_of(one);
                const auto apart = stored::sketch_of(one);
                const bool refused = throws<std::exception>(
                    [&] { merge_bytes(*straight, view(b)); });
                const bool also =
                    throws<std::exception>([&] { apart->merge(*read(b)); });
                CHECK(refused == also);
                CHECK(to_bytes(*straight) == to_bytes(*apart));
            }
        }
    }
    {  // in any order, from any part, also where the window grows and moves
        const table<double> t = make_table<double>(900, 5, 11);
        sketch whole{sketch_options{}};
        whole.update(t.view());
        whole.update_one(-1e6, 0, name::of(2));
        whole.update_one(1e-30, 2, name::of(9));
        std::vector<bytes> parts;
        for (std::size_t i = 0; i < 3; ++i) {
            sketch part{sketch_options{}};
            part.update(t.view(300 * i, 300 * (i + 1)));
            if (i == 0) part.update_one(-1e6, 0, name::of(2));
            if (i == 2) part.update_one(1e-30, 2, name::of(9));
            parts.push_back(to_bytes(part));
        }
        for (std::size_t first = 0; first < 3; ++first) {
            for (const std::size_t step : {1, 2}) {
                sketch sum{sketch_options{}};
                for (std::size_t i = 0; i < 3; ++i)
                    merge_bytes(sum, view(parts[(first + step * i) % 3]));
                CHECK(to_bytes(sum) == to_bytes(whole));
            }
        }
    }
    {  // every flipped bit and every cut is refused
        const bytes b = of_everything();
        const auto s = stored::sketch_of(0);
        for (std::size_t i = 0; i < 8 * b.size(); ++i) {
            bytes bad = b;
            bad[i / 8] = static_cast<std::uint8_t>(bad[i / 8] ^ (1u << (i % 8)));
            CHECK(throws<std::invalid_argument>([&] { read(bad); }));
        }
        for (std::size_t n = 0; n < b.size(); ++n) {
            const bytes cut(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n));
            CHECK(throws<std::invalid_argument>([&] { read(cut); }));
            if (n % 8 == 0) CHECK(refuses(*s, cut));
        }
    }
    {  // a flipped bit with a right checksum is refused, or means another sketch
        for (const unsigned which : {2u, 8u, 15u}) {
            const bytes b = to_bytes(*stored::sketch_of(which));
            std::size_t taken = 0;
            for (std::size_t i = 8 * 24; i < 8 * (b.size() - 4); ++i) {
                bytes other = b;
                other[i / 8] =
                    static_cast<std::uint8_t>(other[i / 8] ^ (1u << (i % 8)));
                stored::sign(other);
                try {
                    CHECK(to_bytes(*read(other)) == other);
                    ++taken;
                } catch (const std::invalid_argument&) {
                }
            }
            CHECK(taken > 0);  // names may change, and so may counts
        }
    }
    {  // sections: kept, left out of what speaks of rows, refused where unknown
        const auto s = stored::sketch_of(8);
        CHECK(read(to_bytes(*s))->sections().size() == 3);
        const auto rows = read(row_bytes(*s));
        CHECK(rows->sections().size() == 1);
        CHECK(rows->sections()[0].type == section::positive);
        merge_bytes(*s, view(to_bytes(*s)));
        CHECK(s->sections().size() == 2);  // both have rows: the unknown one goes
        const bytes before = to_bytes(*s);
        for (const sections& wrong :
             {sections{{9, true, "?"}}, sections{{2, false, std::string(2, '\0')}},
              sections{{1, false, std::string(3, '\0')}}, sections{{3, false, ""}},
              sections{{3, true, "?"}}, sections{{5, false, ""}, {5, false, ""}},
              sections{{2, true, std::string("\3\1\0\0", 4)}}})
            CHECK(throws<std::invalid_argument>([&] { s->set_sections(wrong); }));
        CHECK(to_bytes(*s) == before);
        sketch other{sketch_options{}};
        other.set_sections({{2, true, std::string("\1\2no", 4)}});
        CHECK(refuses(*s, to_bytes(other)));
    }
    {  // texts of labels: the first eight of both, kept while rows have one label
        const auto of = [](const std::string& texts, bool more) {
            std::string out{static_cast<char>(more),
                            static_cast<char>(texts.size())};
            for (const char c : texts) out += {'\1', c};
            return sections{{section::labels, false, out}};
        };
        const auto with = [](const sections& all) {
            auto s = std::make_unique<sketch>(sketch_options{});
            s->update_one(0.5, 0, name::of_text("a"));
            s->set_sections(all);
            return s;
        };
        const std::vector<std::array<std::string, 3>> cases = {
            {"xz", "wz", "wxz"}, {"aceg", "bdfh", "abcdefgh"}};
        for (const auto& [ours, theirs, both] : cases) {
            auto s = with(of(ours, false));
            merge_bytes(*s, view(to_bytes(*with(of(theirs, false)))));
            CHECK(s->sections()[0].content == of(both, false)[0].content);
            CHECK(to_bytes(*read(to_bytes(*s))) == to_bytes(*s));
        }
        auto s = with(of("abcdefgh", false));
        merge_bytes(*s, view(to_bytes(*with(of("Az", false)))));
        CHECK(s->sections()[0].content == of("Aabcdefg", true)[0].content);
        const bytes one_label = to_bytes(*s);
        s->update_one(0.5, 1, name::of_text("a"));
        CHECK(read(to_bytes(*s))->sections().empty());
        CHECK(read(one_label)->sections().size() == 1);
        const std::string longest =
            std::string("\0\1", 2) + "\x80\2" + std::string(256, 'x');
        auto long_one = with({{section::labels, false, longest}});
        merge_bytes(*long_one, view(to_bytes(*with(of("x", false)))));
        CHECK(read(to_bytes(*long_one))->sections()[0].content ==
              std::string("\0\2\1x", 4) + longest.substr(2));
        for (const sections& wrong :
             {of("", false), of("ba", false), of("aa", false), of("ab", true),
              of("abcdefghi", false), sections{{section::labels, true, "?"}},
              sections{{section::labels, false, longest + "?"}}})
            CHECK(throws<std::invalid_argument>([&] { s->set_sections(wrong); }));
    }
    {  // a few bytes cannot ask for much memory
        const bytes b = of_everything();
        CHECK(throws<std::invalid_argument>([&] { read(b, 1000); }));
        sketch_options small;
        small.memory_limit = 1000;
        sketch s{small};
        CHECK(refuses(s, b));
    }
    {  // nor may rows wrap
        const auto s = stored::sketch_of(0);
        for (int i = 0; i < 57; ++i) s->merge(*s);  // 24 * 2^57 rows
        const bytes b = to_bytes(*s);
        const bytes before = b;
        merge_bytes(*s, view(b));
        CHECK(throws<std::overflow_error>(
            [&] { merge_bytes(*s, view(to_bytes(*s))); }));
        CHECK(throws<std::overflow_error>([&] {
            merge_bytes(*s, view(to_bytes(*stored::sketch_of(4))));  // weighted
        }));
    }
}
