// sketch_test.cpp - counting: one answer, whatever the way there.
#include "gstar/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "gstar/count/readout.hpp"
#include "gstar/sketch_io.hpp"
#include "table.hpp"

using namespace gstar;

namespace {

using bytes = std::vector<std::uint8_t>;

std::vector<kernel> kernels() {
    std::vector<kernel> out;
    for (const kernel k : all_kernels)
        if (use_kernel(k)) out.push_back(k);
    use_kernel(best_kernel());
    return out;
}

template <class Float>
bytes counted(const table<Float>& t, std::size_t batch, unsigned threads = 1) {
    sketch s{sketch_options{}};
    for (std::size_t i = 0; i < t.scores.size(); i += batch)
        s.update(t.view(i, std::min(i + batch, t.scores.size())), false, threads);
    return to_bytes(s);
}

template <class Float>
void check_one_answer(unsigned n_groups) {
    const table<Float> t = make_table<Float>(200000, n_groups, 7);
    const bytes expected = counted(t, t.scores.size());
    for (const kernel k : kernels()) {
        CHECK(use_kernel(k));
        for (const std::size_t batch :
             {std::size_t{77}, std::size_t{1025}, std::size_t{5000}})
            CHECK(counted(t, batch) == expected);
        for (const unsigned threads : {2u, 3u})
            CHECK(counted(t, t.scores.size(), threads) == expected);
    }
    use_kernel(best_kernel());
}

}  // namespace

int main() {
    {  // batches, threads and kernels leave no trace; nor do two or many groups
        check_one_answer<float>(2);
        check_one_answer<double>(2);
        check_one_answer<float>(20);
        check_one_answer<double>(20);
    }
    {  // the order of rows leaves no trace, though groups are learned in another
        table<double> t = make_table<double>(6000, 5, 1);
        const bytes expected = counted(t, 6000);
        table<double> back = t;
        std::reverse(back.scores.begin(), back.scores.end());
        std::reverse(back.labels.begin(), back.labels.end());
        std::reverse(back.groups.begin(), back.groups.end());
        CHECK(counted(back, 100) == expected);
    }
    {  // counts above every edge are those of `score >= edge`
        const table<float> t = make_table<float>(3000, 2, 5);
        sketch s{sketch_options{}};
        s.update(t.view());
        s.look([&](const tally& c, const std::vector<std::uint32_t>& slots) {
            for (std::uint32_t b = 0; b < 4096; b += 13) {
                std::int64_t above = 0;
                for (std::uint32_t j = b; j < 4096; ++j)
                    above += c.labelled.count(2 * slots[1] + 1, j);
                std::int64_t rows = 0;
                for (std::size_t i = 0; i < 3000; ++i)
                    rows += t.groups[i] == 1 && t.labels[i] == 1 &&
                            static_cast<double>(t.scores[i]) >= c.at().edge(b);
                CHECK(above == rows);
            }
            return 0;
        });
    }
    {  // merging equals one pass, also with itself
        const table<double> t = make_table<double>(20000, 3, 9);
        sketch whole{sketch_options{}};
        whole.update(t.view());
        sketch left{sketch_options{}};
        sketch right{sketch_options{}};
        left.update(t.view(0, 3000));
        right.update(t.view(3000, 20000));
        right.merge(left);
        CHECK(to_bytes(right) == to_bytes(whole));
        sketch twice{sketch_options{}};
        twice.update(t.view());
        twice.update(t.view());
        whole.merge(whole);
        CHECK(to_bytes(whole) == to_bytes(twice));
    }
    {  // groups that get one name count as if their rows had had it
        table<float> t = make_table<float>(20000, 5, 3);
        sketch five{sketch_options{}};
        five.update(t.view());
        const name few = name::of(9);
        const std::unique_ptr<sketch> fewer =
            five.relabelled({few, name::of(1), few, name::of(3), few});
        for (std::uint8_t& g : t.groups) g = g % 2 == 0 ? 9 : g;
        sketch expected{sketch_options{}};
        expected.update(t.view());
        CHECK(to_bytes(*fewer) == to_bytes(expected));
        CHECK(five.n_groups() == 5);
        CHECK(throws<std::invalid_argument>([&] { five.relabelled({few}); }));
    }
    {  // a refused batch changes nothing, small or large, and names the row
        for (const std::size_t n : {std::size_t{100}, std::size_t{100000}}) {
            table<float> t = make_table<float>(n, 2, 11);
            sketch s{sketch_options{}};
            s.update(t.view(0, 50));
            const bytes before = to_bytes(s);
            t.scores[n - 3] = std::numeric_limits<float>::quiet_NaN();
            std::string said;
            try {
                s.update(t.view());
            } catch (const std::invalid_argument& e) {
                said = e.what();
            }
            CHECK(said.find("at row " + std::to_string(n - 3)) !=
                  std::string::npos);
            CHECK(to_bytes(s) == before);
            s.update(t.view(), true);
            CHECK(s.skipped() == 1);
            t.scores[n - 3] = 0;
            t.labels[n / 2] = 3;
            const bytes after = to_bytes(s);
            CHECK(throws<std::invalid_argument>([&] { s.update(t.view()); }));
            CHECK(to_bytes(s) == after);
        }
    }
    {  // nothing wraps: doubling ends in an error and leaves the sketch whole
        sketch s{sketch_options{}};
        s.update_one(0.3, 1, name::of(4));
        for (int i = 0; i < 62; ++i) s.merge(s);
        CHECK(s.total() == std::int64_t{1} << 62);
        const bytes before = to_bytes(s);
        CHECK(throws<std::overflow_error>([&] { s.merge(s); }));
        CHECK(to_bytes(s) == before);
        s.look([](const tally& c, const std::vector<std::uint32_t>&) {
            for (std::uint32_t b = 0; b < 4096; ++b)
                if (c.labelled.count(1, b) != 0)
                    CHECK(std::fabs(bin_mean(c.labelled, c.at(), 1, b) - 0.3) <
                          1e-7);
            return 0;
        });
    }
    {  // words are flushed before they overflow: many rows in one bin
        table<float> t;
        t.scores.assign(1 << 21, 3.14159f);
        t.labels.assign(1 << 21, 1);
        t.groups.assign(1 << 21, 0);
        sketch s{sketch_options{}};
        for (int i = 0; i < 3; ++i) s.update(t.view());
        s.look([](const tally& c, const std::vector<std::uint32_t>&) {
            CHECK(c.labelled.count(1, 0) == 3 << 21);
            CHECK(static_cast<float>(bin_mean(c.labelled, c.at(), 1, 0)) ==
                  3.14159f);
            return 0;
        });
    }
    {  // groups beyond the limits are refused before memory is taken
        sketch_options o;
        o.memory_limit = 1 << 20;
        sketch s{o};
        const table<float> t = make_table<float>(100, 9, 2);
        CHECK(throws<memory_limit_error>([&] { s.update(t.view()); }));
        CHECK(s.n_groups() == 0 && s.total() == 0);
    }
    // A merge that comes while rows are counted may change what they are counted in.
    for (int option = 0; option < 4; ++option) {
        sketch_options o;
        if (option == 0) o.at = no_window(65536);
        if (option == 1) o.at = window::linear(-3, -100, 4096);
        if (option == 1) o.fixed = true;
        if (option == 2) o.given = true;
        if (option == 2) o.groups = {name::of(7), name::of(1), name::of(0)};
        sketch other{o};
        other.update_one(0.5, 1, name::of(7));
        const table<float> t = make_table<float>(20000, 2, 2);
        sketch s{sketch_options{}};
        sketch::job j = s.prepare(t.view(), false, 1);
        s.run(j);
        s.merge(other);
        const bytes before = to_bytes(s);
        CHECK(s.commit(j) == (option == 3));
        if (option == 3) continue;
        CHECK(to_bytes(s) == before);
        s.update(t.view());
        other.update(t.view());
        CHECK(to_bytes(s) == to_bytes(other));
    }
    {  // True and 1 cannot stand in one sketch
        sketch s{sketch_options{}};
        s.update_one(1.0, 1, name::of(1));
        CHECK(throws<std::invalid_argument>(
            [&] { s.update_one(1.0, 1, name::of_bool(true)); }));
        CHECK(s.n_groups() == 1);
        sketch other{sketch_options{}};
        other.update_one(1.0, 1, name::of_bool(true));
        CHECK(throws<std::invalid_argument>(
            [&] { other.update_one(1.0, 1, name::of(1)); }));
    }
    {  // names are found whatever they have in common
        std::vector<name> names;
        for (const char* text :
             {"", "a", "b", "ab", "ba", "7 bytes", "8 bytes.", "9 bytes..",
              "beginning A ending", "beginning B ending", "beginning C ending"})
            names.push_back(name::of_text(text));
        names.push_back(name::of_text(std::string(3, '\0')));
        names.push_back(name::of_text(std::string(7, '\0')));
        for (const std::int64_t number : {-1, 0, 1, 70000})
            names.push_back(name::of(number));
        names.push_back(name::of_tuple({name::of(1), name::of_text("a")}));
        sketch s{sketch_options{}};
        sketch apart{sketch_options{}};
        for (int round = 0; round < 3; ++round)
            for (const name& n : names) {
                s.update_one(0.5, 1, n);
                sketch one{sketch_options{}};
                one.update_one(0.5, 1, n);
                apart.merge(one);
            }
        CHECK(s.n_groups() == names.size());
        CHECK(to_bytes(s) == to_bytes(apart));
    }
}
