// thresholds_test.cpp - bytes and JSON say the same, and nothing damaged is believed.
#include "gstar/thresholds_io.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "gstar/thresholds_json.hpp"

using namespace gstar;

namespace {

thresholds sample() {
    thresholds t;
    t.groups = {
        {name::of_text("F"), -0.627, {}},
        {name::of(-7), std::numeric_limits<double>::infinity(), {}},
        {name::of_bool(true), 1e-310, {}},
        {name::of_tuple({name::of_text("\xC3\x84\"\\"), name::of(1)}), 0.1, {}}};
    t.default_threshold = 0.5;
    t.unknown = unknown_policy::use_default;
    t.nan = nan_policy::accept;
    t.expires = 1896134399;
    t.sketch_digest.emplace();
    for (std::size_t i = 0; i < 32; ++i)
        (*t.sketch_digest)[i] = static_cast<std::uint8_t>(7 * i);
    return t;
}

thresholds read(const std::vector<std::uint8_t>& b) {
    return thresholds_from_bytes({b.data(), b.size()});
}

const char* const text = R"({
  "format": "gstar_fast.thresholds", "version": 1, "unified": false,
  "groups": [
    {"name": "F", "threshold": -0.627},
    {"name": -7, "threshold": "inf"},
    {"name": true, "threshold": 1e-310},
    {"name": {"tuple": ["\u00c4\"\\", 1]}, "threshold": 0.1}
  ],
  "default_threshold": 0.5, "unknown": "default", "nan": true,
  "sketch_digest": "00070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9",
  "expires": "2030-01-31T23:59:59Z", "score_column": null)";

}  // namespace

int main() {
    const std::vector<std::uint8_t> bytes = to_bytes(sample());
    {  // bytes are read back as they were
        CHECK(to_bytes(read(bytes)) == bytes);
        thresholds mixed;
        mixed.randomized = true;
        mixed.groups = {{name::of(1), 0.5, {{0.5, 0.75}, {0.25, 0.25}}}};
        mixed.unknown = unknown_policy::use_number;
        mixed.unknown_number = -std::numeric_limits<double>::infinity();
        CHECK(to_bytes(read(to_bytes(mixed))) == to_bytes(mixed));
    }
    {  // cut points are read back; those that do not fit are refused
        thresholds cut;
        cut.groups = {{name::of(0), 0.5, {}}, {name::of(2), 0.25, {}}};
        for (const std::vector<double>& cuts :
             {std::vector<double>{0.25, 0.5}, {-1.0, 0.0, 1e300}}) {
            cut.cuts = cuts;
            CHECK(to_bytes(read(to_bytes(cut))) == to_bytes(cut));
            CHECK(read(to_bytes(cut)).cuts == cuts);
        }
        const double not_a_number = std::numeric_limits<double>::quiet_NaN();
        for (const std::vector<double>& cuts :
             {std::vector<double>{},
              {0.5},
              {0.5, 0.25},
              {0.5, 0.5},
              {0.5, not_a_number},
              {0.5, std::numeric_limits<double>::infinity()}}) {
            cut.cuts = cuts;
            CHECK(throws<std::invalid_argument>([&] { read(to_bytes(cut)); }));
        }
        cut.cuts = std::vector<double>{0.25, 0.5};
        const std::vector<std::uint8_t> whole = to_bytes(cut);
        for (std::size_t n = 0; n < whole.size(); ++n)
            CHECK(throws<std::invalid_argument>([&] {
                thresholds_from_bytes({whole.data(), n});
            }));
        cut.groups[0].group = name::of_bool(true);
        CHECK(throws<std::invalid_argument>([&] { check_thresholds(cut); }));
        cut.groups[0].group = name::of_text("a");
        CHECK(throws<std::invalid_argument>([&] { check_thresholds(cut); }));
        cut.groups = {{name::of(0), 0.5, {}}};
        cut.unified = true;
        CHECK(throws<std::invalid_argument>([&] { check_thresholds(cut); }));
    }
    {  // a cut or a changed byte anywhere is refused
        for (std::size_t n = 0; n < bytes.size(); ++n)
            CHECK(throws<std::invalid_argument>([&] {
                thresholds_from_bytes({bytes.data(), n});
            }));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            std::vector<std::uint8_t> bad = bytes;
            bad[i] ^= 0x10;
            CHECK(throws<std::invalid_argument>([&] { read(bad); }));
        }
    }
    {  // JSON says the same
        const std::string whole =
            std::string(text) + ", \"checksum\": \"" +
            detail::checksum_text(read_json(std::string(text) + "}")) + "\"}";
        CHECK(to_bytes(read_thresholds(
                  {reinterpret_cast<const std::uint8_t*>(whole.data()),
                   whole.size()})) == bytes);
        std::string edited = whole;
        edited.replace(edited.find("0.627"), 5, "0.628");
        CHECK(throws<std::invalid_argument>([&] { thresholds_from_json(edited); }));
        for (std::size_t n = 0; n < whole.size(); ++n)
            CHECK(throws<std::invalid_argument>(
                [&] { thresholds_from_json(whole.substr(0, n)); }));
    }
    {  // the checksum, which Python computed, is of all that is said
        const std::string content =
            R"("unified": false, "score_column": "\u00e4", "group_column": null,)"
            R"( "verdict": "optimal", "message": "", "method": "exact", "density": "kde",)"
            R"( "iterations": 3, "balanced": false, "error": 0.25, "cost": 0.5, "loss": 0.0625,)"
            R"( "lower_bound": 0, "optimality_gap": 0, "n_rows": 8, "sketch_digest": null,)"
            R"( "limits": {}, "penalties": {}, "costs": [1, 2], "notes": [],)"
            R"( "gaps": {"equalized_odds": 0.5}, "default_threshold": "inf", "groups": [)"
            R"({"name": 9007199254740993, "threshold": 1.0, "rows": 1e300, "tpr": null,)"
            R"( "fpr": 0, "selection_rate": 1, "accuracy": 0.5, "balanced_accuracy": null}],)"
            R"( "before": {"error": -0.0, "cost": 1, "gaps": {}}, "trace": [0.1, "inf"])";
        const std::string head =
            R"({"format": "gstar_fast.result", "version": 1, )";
        const std::string tail = R"(, "checksum": "crc32:2d33c905"})";
        const auto reads = [](const std::string& document) {
            return !throws<std::invalid_argument>(
                [&] { thresholds_from_json(document); });
        };
        const auto with = [&](const std::string& old, const std::string& now) {
            std::string document = head + content + tail;
            document.replace(document.find(old), old.size(), now);
            return document;
        };
        CHECK(reads(head + content + tail));
        // what is said in another way
        CHECK(reads(with("1.0", "1")));
        CHECK(reads(with("-0.0", "0")));
        CHECK(reads(with("1e300", "10.0E+299")));
        CHECK(reads(with("\\u00e4", "\xC3\xA4")));
        CHECK(reads(with(R"("error": -0.0, "cost": 1, "gaps": {})",
                         "\n\"gaps\" : {} , \"cost\":1.0,\"error\":-0")));
        // what is said differently, or not at all
        CHECK(!reads(with("1.0", "1.5")));
        CHECK(!reads(with("9007199254740993", "9007199254740992")));
        CHECK(!reads(with("0.1", "0.2")));
        CHECK(!reads(with("\"inf\"", "\"-inf\"")));
        CHECK(!reads(with("null", "\"g\"")));
        CHECK(!reads(with("\\u00e4", "\\u00e5")));
        CHECK(!reads(with("0.0625", "0.0626")));
        CHECK(!reads(with(R"("notes": [])", R"("notes": [""])")));
        CHECK(!reads(with(R"("version": 1)", R"("version": 2)")));
        CHECK(!reads(head + content + "}"));
    }
    {  // mixtures that are none, and too many groups
        thresholds mixed;
        mixed.randomized = true;
        mixed.groups = {{name::of(1), 0.5, {{0.5, 1.5}, {0.25, -0.5}}}};
        CHECK(throws<std::invalid_argument>([&] { check_thresholds(mixed); }));
        thresholds many;
        for (std::size_t i = 0; i < most_groups; ++i)
            many.groups.push_back(
                {name::of(static_cast<std::int64_t>(i)), 0.5, {}});
        check_thresholds(many);
        many.groups.push_back({name::of(-1), 0.5, {}});
        CHECK(throws<std::invalid_argument>([&] { check_thresholds(many); }));
    }
    {  // JSON that is none, or says nothing we can use
        for (const char* bad :
             {"", "{", "[1,]", "nul", "\"a", "\"\\ud800\"", "\"\\x\"", "01a",
              "1e999", "-", "{\"a\":1,\"a\":2}", "1 2", "007", "-01", "1E+400",
              "1e99999999999999999999", "\"\\ud800\\n\"", "\"\xED\xA0\x80\"",
              "\xEF\xBB\xBF"
              "1"})
            CHECK(throws<std::invalid_argument>([&] { read_json(bad); }));
        CHECK(throws<std::invalid_argument>(
            [&] { read_json(std::string(1000, '[')); }));
        CHECK(read_json("\"\\ud834\\udd1e\"").text == "\xF0\x9D\x84\x9E");
        CHECK(read_json(" -12 ").whole == -12 && read_json("1e-999").real == 0);
        const std::string zeros(400, '0');
        for (const std::string& tiny : std::vector<std::string>{
                 "1E-400", "-0." + zeros + "1", "0." + zeros + "7e9",
                 "1e-99999999999999999999", "0e999", "0.0e99999999999999999999"})
            CHECK(read_json(tiny).real == 0);
        for (const std::string& huge : std::vector<std::string>{
                 "1" + zeros, "1" + zeros + "e-9", "-1" + zeros + ".5"})
            CHECK(throws<std::invalid_argument>([&] { read_json(huge); }));
        CHECK(read_json("1" + zeros + "e-400").real == 1);
        CHECK(read_json("12345678901234567890").type == json::kind::real);
        const std::string head =
            R"({"format": "gstar_fast.thresholds", "version": 1, )";
        for (
            const char* bad :
            {R"("groups": []})", R"("groups": [{"name": 1}]})",
             R"("groups": [{"name": 1.5, "threshold": 1}]})",
             R"("groups": [{"name": 1, "threshold": 1}, {"name": true, "threshold": 1}]})",
             R"("groups": [{"name": 1, "threshold": 1}], "unknown": "first"})",
             R"("groups": [{"name": 1, "threshold": 1}], "unknown": "default"})",
             R"("groups": [{"name": 1, "threshold": 1}], "nan": 0})",
             "\"groups\": [{\"name\": \"\xC3\", \"threshold\": 1}]}",
             R"("groups": [{"name": 1, "threshold": 1}], "expires": "soon"})",
             R"("groups": [{"name": 1, "threshold": 1}], "unified": 7})",
             R"("groups": [{"name": 1, "threshold": 1}], "unified": null})",
             R"("groups": [{"name": 1, "threshold": 1}], "nan": null})",
             R"("groups": [{"name": 1, "threshold": 1}], "more": 1})",
             R"("groups": [{"name": 1, "threshold": 1, "mixture": 3}]})",
             R"("groups": [{"name": 1, "threshold": 1, "mixture": []}]})",
             "\"groups\": [{\"name\": 1, \"threshold\": 1}], \"score_column\": "
             "\"\xFF\"}",
             R"("groups": [{"name": 1, "threshold": 1, "mixture": [{"threshold": 1, "probability": 0.5}]}]})"})
            CHECK(throws<std::invalid_argument>(
                [&] { detail::thresholds_of(read_json(head + bad)); }));
        const thresholds zero = detail::thresholds_of(
            read_json(head + R"("groups": [{"name": 1, "threshold": -0.0}]})"));
        CHECK(zero.groups[0].threshold == 0 &&
              !std::signbit(zero.groups[0].threshold));
    }
    {  // -0.0 is 0.0 wherever a set has a number
        thresholds plus;
        plus.groups.push_back({name::of(1), 0.0, {{0.0, 1.0}, {0.0, 0.0}}});
        plus.randomized = true;
        plus.default_threshold = plus.unknown_number = 0.0;
        plus.unknown = unknown_policy::use_number;
        thresholds minus = plus;
        minus.groups[0] = {name::of(1), -0.0, {{-0.0, 1.0}, {-0.0, -0.0}}};
        minus.default_threshold = minus.unknown_number = -0.0;
        CHECK(to_bytes(plus) == to_bytes(minus));
    }
    {  // dates
        CHECK(detail::seconds_of("1970-01-01T00:00:00Z") == 0);
        CHECK(detail::seconds_of("2000-02-29T12:00:01Z") == 951825601);
        CHECK(detail::seconds_of("1969-12-31T23:59:59Z") == -1);
        CHECK(detail::seconds_of("0001-01-01T00:00:00Z") == -62135596800);
        CHECK(detail::seconds_of("9999-12-31T23:59:59Z") == 253402300799);
        for (const char* bad :
             {"2030-13-45T99:99:99Z", "2030-00-01T00:00:00Z",
              "2030-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
              "0000-01-01T00:00:00Z", "2030-01-01T24:00:00Z",
              "2030-06-30T23:59:60Z", "2030-01-31T00:00:00+00:00", "2030-01-31"})
            CHECK(throws<std::invalid_argument>([&] { detail::seconds_of(bad); }));
    }
    {  // an object of many members is searched for twins in good time
        std::string many = "{";
        for (int i = 0; i < 100000; ++i) many += "\"" + std::to_string(i) + "\":0,";
        CHECK(read_json(many + "\"\":0}").members.size() == 100001);
        CHECK(throws<std::invalid_argument>([&] { read_json(many + "\"7\":0}"); }));
    }
    {  // a text too long to be thresholds is not even looked at
        const std::string longest(longest_json + 1, ' ');
        try {
            thresholds_from_json(longest);
            CHECK(false);
        } catch (const std::invalid_argument& e) {
            CHECK(std::string(e.what()).find("128 MiB") != std::string::npos);
        }
    }
}
