// resolve_test.cpp - names, lookups and groups.
#include "gstar/count/resolve.hpp"

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "check.hpp"
#include "gstar/base/number_table.hpp"
#include "gstar/count/group_table.hpp"
#include "table.hpp"

using namespace gstar;

namespace {

std::size_t bytes_asked = 0;  // of memory, by everything in this program

/// `n` numbers, `step` apart, around zero.
std::vector<std::int64_t> steps(std::int64_t n, std::int64_t step) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = -n / 2; out.size() < static_cast<std::size_t>(n); ++i)
        out.push_back(i * step);
    return out;
}

/// Memory asked for while a table of given groups is made.
std::size_t bytes_for(const std::vector<std::int64_t>& numbers) {
    std::vector<name> names;
    for (const std::int64_t v : numbers) names.push_back(name::of(v));
    const std::size_t before = bytes_asked;
    const group_table made(names);
    CHECK(made.size() == numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
        CHECK(made.find(numbers[i]) == static_cast<std::int32_t>(i));
    return bytes_asked - before;
}

}  // namespace

void* operator new(std::size_t n) {
    bytes_asked += n;
    if (void* const p = std::malloc(n != 0 ? n : 1)) return p;
    throw std::bad_alloc();
}
// Not inlined: GCC would see `free` of what `operator new` gave, and warn.
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}

int main() {
    {  // canonical order: bools, ints, strings by code point, tuples
        const std::vector<name> sorted = {
            name::of_bool(false),
            name::of(-3),
            name::of(10),
            name::of_text("Z"),
            name::of_text("a"),
            name::of_text("\xC3\xA9"),
            name::of_tuple({name::of(1)}),
            name::of_tuple({name::of(1), name::of(0)})};
        for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
            CHECK(sorted[i] < sorted[i + 1] && !(sorted[i + 1] < sorted[i]));
        CHECK(text_of(sorted[7]) == "(1, 0)" && text_of(sorted[6]) == "(1,)");
        CHECK(text_of(name::of_text("it's")) == "\"it's\"");
    }
    {  // lookups by small and by large numbers
        group_lookup look;
        look.put(3, 0);
        look.put(-5, 1);
        look.put(std::int64_t{1} << 40, 2);
        CHECK(look.find(3) == 0 && look.find(-5) == 1);
        CHECK(look.find(std::int64_t{1} << 40) == 2);
        CHECK(look.find(4) == group_lookup::unknown);
        CHECK(look.find(-6) == group_lookup::unknown);
    }
    {  // no step between numbers makes a search long
        const std::int64_t n = 65535;
        for (const std::int64_t step :
             {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000},
              std::int64_t{85229}, std::int64_t{1} << 16, std::int64_t{1} << 32,
              std::int64_t{1} << 47}) {
            number_table table;
            const std::vector<std::int64_t> numbers = steps(n, step);
            for (std::size_t i = 0; i < numbers.size(); ++i)
                table.put(numbers[i], static_cast<std::int32_t>(i));
            std::size_t looked_at = 0;
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                CHECK(table.find(numbers[i]) == static_cast<std::int32_t>(i));
                looked_at += table.reach(numbers[i]);
            }
            CHECK(looked_at < 2 * numbers.size());
            CHECK(table.find(step / 2 + n * step) == number_table::unknown);
        }
    }
    {  // given groups take memory, and so time, in proportion to their number
        for (const std::int64_t step : {std::int64_t{-3}, std::int64_t{1} << 40}) {
            const std::size_t few = bytes_for(steps(1000, step));
            CHECK(bytes_for(steps(4000, step)) < 6 * few);
        }
    }
    {  // the quick way and the long way agree, and learn the same
        const table<float> t = make_table<float>(1000, 12, 4);
        resolved_block quick;
        resolved_block slow;
        resolver a(t.view(), std::make_shared<group_lookup>(), 0, nullptr);
        a.resolve(0, 1000, slow);  // learns on the long way
        CHECK(a.learned().size() == 12 && a.n_slots() == 12);
        a.resolve(0, 1000, quick);  // knows all of them now
        for (std::size_t i = 0; i < 1000; ++i)
            CHECK(quick.cells[i] == slow.cells[i]);
        CHECK(a.learned().size() == 12);
    }
    {  // strides and wide integers are read as they are
        std::vector<std::int64_t> pairs = {0, 100, 1, 200, 1, 100};
        const std::vector<double> scores = {1, 2, 3};
        rows r;
        r.n = 3;
        r.scores = {reinterpret_cast<const char*>(scores.data()), 8, dtype::f64};
        r.labels = {reinterpret_cast<const char*>(pairs.data()), 16, dtype::i64};
        r.groups = {reinterpret_cast<const char*>(pairs.data() + 1), 16,
                    dtype::i64};
        resolver a(r, std::make_shared<group_lookup>(), 0, nullptr);
        resolved_block b;
        a.resolve(0, 3, b);
        CHECK(b.cells[0] == 0 && b.cells[1] == 3 && b.cells[2] == 1);
        CHECK((a.learned() == std::vector<std::int64_t>{100, 200}));
    }
    {  // given groups are all there are, in the order given
        group_table given({name::of_text("M"), name::of_text("F")});
        CHECK(given.order()[0] == name::of_text("M"));
        group_table learned;
        learned.commit(learned.prepare({name::of_text("F")}));
        given.check(learned);
        learned.commit(learned.prepare({name::of_text("X")}));
        CHECK(throws<std::invalid_argument>([&] { given.check(learned); }));
        group_table other({name::of_text("F"), name::of_text("M")});
        given.check(other);
        given.commit(given.prepare({}, &other));
        CHECK(given.order()[0] == name::of_text("F"));
        CHECK(throws<std::invalid_argument>([] {
            group_table twice({name::of(1), name::of(1)});
        }));
    }
}
