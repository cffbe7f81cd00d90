// factorize_test.cpp - numbers for records.
#include "gstar/base/factorize.hpp"

#include <string>
#include <vector>

#include "check.hpp"

int main() {
    {  // equal records get equal numbers, in order of appearance
        std::string column;
        std::vector<std::int32_t> expected;
        for (int i = 0; i < 5000; ++i) {
            const int group = i < 50 ? i : (i * 7919) % 50;
            column += static_cast<char>('A' + group % 10);
            column += static_cast<char>('a' + group / 10);
            column += '\0';
            expected.push_back(group);
        }
        std::vector<std::int32_t> codes(5000);
        const auto firsts = gstar::factorize(column.data(), 5000, 3, codes.data());
        CHECK(codes == expected);
        CHECK(firsts.size() == 50 && firsts[49] == 49);
    }
    {  // nothing in, nothing out
        CHECK(gstar::factorize(nullptr, 0, 4, nullptr).empty());
    }
}
