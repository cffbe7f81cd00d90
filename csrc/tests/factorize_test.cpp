// factorize_test.cpp - numbers for texts.
#include "gstar/base/factorize.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

/// What a plain map gives.
std::vector<std::int32_t> by_map(const std::vector<std::string>& texts) {
    std::map<std::string, std::int32_t> numbers;
    std::vector<std::int32_t> out;
    for (const std::string& t : texts)
        out.push_back(numbers.emplace(t, static_cast<std::int32_t>(numbers.size()))
                          .first->second);
    return out;
}

/// Texts that differ in one byte only, at every place, and in length only.
std::vector<std::string> near_texts() {
    std::vector<std::string> out;
    for (std::size_t n = 0; n < 70; ++n) {
        out.emplace_back(n, 'x');
        out.emplace_back(n, '\0');
        for (std::size_t i = 0; i < n; ++i) {
            out.emplace_back(n, 'x');
            out.back()[i] = 'y';
        }
    }
    const std::vector<std::string> once = out;
    for (std::size_t i = 0; i < 3 * once.size(); ++i)
        out.push_back(once[(i * 7919) % once.size()]);
    return out;
}

template <class Offset>
void check_offsets(const std::vector<std::string>& texts,
                   const std::vector<std::int32_t>& expected) {
    // In a block of exactly its size, so that a byte too far is seen.
    std::size_t size = 0;
    for (const std::string& t : texts) size += t.size();
    std::vector<char> data;
    data.reserve(size);
    std::vector<Offset> offsets{0};
    for (const std::string& t : texts) {
        data.insert(data.end(), t.begin(), t.end());
        offsets.push_back(static_cast<Offset>(data.size()));
    }
    gstar::text_numbers numbers;
    std::vector<std::int32_t> codes(texts.size());
    gstar::number_offsets<Offset>(
        numbers, reinterpret_cast<const char*>(offsets.data()), texts.size(),
        data.data(), data.size(), nullptr, codes.data());
    CHECK(codes == expected);
    for (std::size_t i = 0; i < texts.size(); ++i)
        CHECK(numbers.text(static_cast<std::size_t>(codes[i])) == texts[i]);
}

/// What refuses these offsets of a block of `size` bytes; empty if nothing does.
std::string refused_offsets(const std::vector<std::int32_t>& offsets,
                            std::size_t size) {
    const std::vector<char> data(size);
    gstar::text_numbers numbers;
    std::vector<std::int32_t> codes(offsets.size());
    try {
        gstar::number_offsets<std::int32_t>(
            numbers, reinterpret_cast<const char*>(offsets.data()),
            offsets.size() - 1, data.data(), size, nullptr, codes.data());
    } catch (const gstar::refused& e) {
        return e.why.code;
    }
    return "";
}

struct view {
    std::int32_t length, first, buffer, place;
};

std::string refused_view(const view& v, std::size_t size) {
    const std::vector<char> data(size);
    gstar::text_numbers numbers;
    std::int32_t code = 0;
    try {
        gstar::number_views(numbers, reinterpret_cast<const char*>(&v), 1,
                            {{data.data(), size}}, nullptr, &code);
    } catch (const gstar::refused& e) {
        return e.why.code;
    }
    return "";
}

}  // namespace

int main() {
    const std::vector<std::string> texts = near_texts();
    const std::vector<std::int32_t> expected = by_map(texts);
    {  // texts end to end get the numbers of a map, and no byte outside is read
        check_offsets<std::int32_t>(texts, expected);
        check_offsets<std::int64_t>(texts, expected);
        for (const std::string& t : texts) check_offsets<std::int32_t>({t}, {0});
    }
    {  // so do texts that stand alone, whatever may be read before them
        gstar::text_numbers numbers;
        std::vector<std::int32_t> codes;
        for (const std::string& t : texts) {
            const std::string before = "0123456789";
            const std::string block = before + t;
            const char* const text = block.data() + before.size();
            const std::int32_t alone = numbers.of(text, t.size(), text);
            CHECK(numbers.of(text, t.size(), block.data()) == alone);
            codes.push_back(alone);
        }
        CHECK(codes == expected);
    }
    {  // views: short texts lie in the view, others in one of two buffers
        std::vector<view> views(texts.size());
        std::string buffers[2];
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::string& t = texts[i];
            views[i] = {static_cast<std::int32_t>(t.size()), 0, 0, 0};
            if (t.size() <= 12) {
                if (!t.empty()) std::memcpy(&views[i].first, t.data(), t.size());
            } else {
                std::string& to = buffers[i % 2];
                views[i].buffer = static_cast<std::int32_t>(i % 2);
                views[i].place = static_cast<std::int32_t>(to.size());
                to += t;
            }
        }
        gstar::text_numbers numbers;
        std::vector<std::int32_t> codes(texts.size());
        gstar::number_views(numbers, reinterpret_cast<const char*>(views.data()),
                            texts.size(),
                            {{buffers[0].data(), buffers[0].size()},
                             {buffers[1].data(), buffers[1].size()}},
                            nullptr, codes.data());
        CHECK(codes == expected);
    }
    {  // records of one width, forwards and backwards
        for (const std::size_t width : {1u, 3u, 4u, 8u, 12u, 36u}) {
            std::vector<std::string> rows;
            std::string column;
            for (std::size_t i = 0; i < 5000; ++i) {
                std::string row(width, 'r');
                row[(i * 31) % width] = static_cast<char>('a' + (i * 7919) % 23);
                rows.push_back(row);
                column += row;
            }
            const auto step = static_cast<std::ptrdiff_t>(width);
            gstar::text_numbers numbers;
            std::vector<std::int32_t> codes(rows.size());
            gstar::number_records(numbers, column.data(), rows.size(), width, step,
                                  codes.data());
            CHECK(codes == by_map(rows));
            gstar::text_numbers again;
            gstar::number_records(again, column.data() + column.size() - width,
                                  rows.size(), width, -step, codes.data());
            CHECK(codes ==
                  by_map(std::vector<std::string>(rows.rbegin(), rows.rend())));
        }
    }
    {  // rows that are not there have the empty text, whatever stands there
        const char data[] = "abc";
        const std::int32_t offsets[] = {0, 1, 2, 3};
        const std::uint8_t valid[] = {1, 0, 1};
        gstar::text_numbers numbers;
        std::int32_t codes[3] = {};
        gstar::number_offsets<std::int32_t>(numbers,
                                            reinterpret_cast<const char*>(offsets),
                                            3, data, 3, valid, codes);
        CHECK(codes[0] == 0 && codes[1] == 1 && codes[2] == 2);
        CHECK(numbers.text(1).empty() && numbers.text(2) == "c");
        const view junk[] = {{-5, 1, -1, -1}, {0, 0, 0, 0}};
        const std::uint8_t second[] = {0, 1};
        gstar::number_views(numbers, reinterpret_cast<const char*>(junk), 2, {},
                            second, codes);
        CHECK(codes[0] == 1 && codes[1] == 1 && numbers.size() == 3);
    }
    {  // the same bytes with another tag are another text
        const char ab[] = "ab";
        gstar::text_numbers numbers;
        CHECK(numbers.of(ab, 2, ab, 0) == 0);
        CHECK(numbers.of(ab, 2, ab, 1) == 1);
        CHECK(numbers.of(ab, 2, ab, 2) == 2);
        for (int i = 0; i < 1000; ++i) {
            const std::string text = std::to_string(i);
            CHECK(numbers.of(text.data(), text.size(), text.data()) == 3 + i);
        }
        CHECK(numbers.of(ab, 2, ab, 1) == 1);
        CHECK(numbers.of(ab, 2, ab, 0) == 0);
    }
    {  // names that count up, at either end or in the middle, are found at once
        const std::string around[][2] = {
            {"", ""},
            {"district ", ""},
            {"", " street"},
            {"g", ""},
            {"0000000", "0000000"},
            {"region/", "/north"},
            {"8 bytes:", "hi"},
            {std::string(40, 'a'), std::string(40, 'b')}};
        for (const auto& text : around)
            for (const int step : {1, 10, 16, 1000, 4096}) {
                gstar::text_numbers numbers;
                std::vector<std::string> names;
                for (int i = 0; i < 5000; ++i) {
                    names.push_back(text[0] + std::to_string(i * step) + text[1]);
                    numbers.of(names.back().data(), names.back().size(),
                               names.back().data());
                }
                std::size_t reach = 0;
                for (const std::string& n : names) reach += numbers.reach(n);
                CHECK(numbers.size() == 5000 && reach < 7000);
            }
    }
    {  // what leads out of the data is refused
        CHECK(refused_offsets({0, 2, 4}, 4).empty());
        CHECK(refused_offsets({0, 3, 2}, 4) == "arrow_offsets");
        CHECK(refused_offsets({-1, 3, 4}, 4) == "arrow_offsets");
        CHECK(refused_offsets({0, 3, 5}, 4) == "arrow_offsets");
        constexpr std::int32_t most = 2147483647;
        CHECK(refused_view({20, 0, 0, 4}, 24).empty());
        CHECK(refused_view({20, 0, 0, 5}, 24) == "arrow_view");
        CHECK(refused_view({20, 0, 1, 0}, 24) == "arrow_view");
        CHECK(refused_view({20, 0, -1, 0}, 24) == "arrow_view");
        CHECK(refused_view({20, 0, 0, -1}, 24) == "arrow_view");
        CHECK(refused_view({-1, 0, 0, 0}, 24) == "arrow_view");
        CHECK(refused_view({most, 0, 0, most}, 24) == "arrow_view");
    }
    {  // nothing in, nothing out
        gstar::text_numbers numbers;
        gstar::number_offsets<std::int32_t>(numbers, nullptr, 0, nullptr, 0,
                                            nullptr, nullptr);
        gstar::number_views(numbers, nullptr, 0, {}, nullptr, nullptr);
        gstar::number_records(numbers, nullptr, 0, 4, 4, nullptr);
        CHECK(numbers.size() == 0);
        CHECK(numbers.of(nullptr, 0, nullptr) == 0);
    }
}
