// handles.hpp - what stands behind the handles of the C interface, and how its calls are made.
#pragma once

#include "gstar/capi.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gstar/base/factorize.hpp"
#include "gstar/live.hpp"
#include "gstar/question_json.hpp"
#include "gstar/sketch_io.hpp"
#include "gstar/solve.hpp"
#include "gstar/thresholds_json.hpp"

struct gstar_decider {
    gstar::live_decider live;
    explicit gstar_decider(gstar::thresholds t) : live(std::move(t)) {}
};

struct gstar_sketch {
    std::unique_ptr<gstar::sketch> counts;
};

namespace {

using gstar::name;
using reading = gstar::live_decider::reading;

constexpr std::uint64_t memory_limit = std::uint64_t{1} << 30;

std::string& last_error() {
    thread_local std::string text;
    return text;
}

/// Run; 0, or 1 with the reason kept.
template <class Run>
int guarded(Run run) noexcept {
    try {
        run();
        return 0;
    } catch (const std::exception& e) {
        try {
            last_error() = e.what();
        } catch (...) {  // no memory left for the words
            last_error().clear();
        }
    } catch (...) {
        last_error() = "unknown error";
    }
    return 1;
}

gstar::span<const std::uint8_t> span_of(const void* bytes, std::size_t size) {
    if (bytes == nullptr && size != 0) throw std::invalid_argument("bytes is NULL");
    return {static_cast<const std::uint8_t*>(bytes), size};
}

name text_name(const char* text, std::size_t size) {
    if (text == nullptr) throw std::invalid_argument("group is NULL");
    return name::of_text(std::string(text, size));
}

template <class Number>
gstar::column column_of(const Number* values) {
    using gstar::dtype;
    return {reinterpret_cast<const char*>(values), sizeof(Number),
            !std::is_floating_point<Number>::value ? dtype::i32
            : sizeof(Number) == 4                  ? dtype::f32
                                                   : dtype::f64};
}

/// Groups are int32, or floats that stand for them.
template <class Float, class Group>
gstar::rows rows_of(std::size_t n, const Float* scores, const std::uint8_t* labels,
                    const Group* groups) {
    if (n != 0 && (scores == nullptr || groups == nullptr))
        throw std::invalid_argument("scores and groups must not be NULL");
    gstar::rows r;
    r.n = n;
    r.scores = column_of(scores);
    r.groups = column_of(groups);
    if (labels != nullptr) {
        r.labels = {reinterpret_cast<const char*>(labels), 1, gstar::dtype::u8};
        r.two_is_unlabelled = true;
    }
    return r;
}

/// Groups that are strings: each name once, and its place for each row.
class texts {
public:
    texts(std::size_t n, const char* data, const std::int64_t* offsets) : codes(n) {
        if (n == 0) return;
        if (data == nullptr || offsets == nullptr)
            throw std::invalid_argument("texts and offsets must not be NULL");
        gstar::text_numbers numbers;
        gstar::number_offsets<std::int64_t>(
            numbers, reinterpret_cast<const char*>(offsets), n, data,
            static_cast<std::size_t>(offsets[n]), nullptr, codes.data());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            names.push_back(name::of_text(numbers.text(i)));
    }

    std::vector<std::int32_t> codes;
    std::vector<name> names;
};

template <class Float>
int weigh_many(gstar_sketch* sketch, std::size_t n, const Float* scores,
               const std::uint8_t* labels, const std::int32_t* groups,
               const double* weights, const std::int64_t* repeats,
               const std::vector<name>* names = nullptr) {
    return guarded([&] {
        gstar::rows r = rows_of(n, scores, labels, groups);
        r.names = names;
        if (weights != nullptr) r.weights = column_of(weights);
        if (repeats != nullptr)
            r.repeats = {reinterpret_cast<const char*>(repeats), 8,
                         gstar::dtype::i64};
        sketch->counts->update(r);
    });
}

template <class Float>
int weigh_texts(gstar_sketch* sketch, std::size_t n, const Float* scores,
                const std::uint8_t* labels, const char* data,
                const std::int64_t* offsets, const double* weights,
                const std::int64_t* repeats) {
    int failed = 1;
    return guarded([&] {
               const texts groups(n, data, offsets);
               failed = weigh_many(sketch, n, scores, labels, groups.codes.data(),
                                   weights, repeats, &groups.names);
           }) |
           failed;
}

void weigh_one(gstar_sketch* sketch, double score, unsigned label,
               const name& group, double weight, std::uint64_t repeats) {
    if (label > 2) gstar::refuse_label(std::uint64_t{label}, -1);
    sketch->counts->update_one(score, label, group, weight, repeats);
}

/// A new handle; null where `make` throws.
template <class Make>
auto made(Make make) {
    decltype(make()) out = nullptr;
    guarded([&] { out = make(); });
    return out;
}

/// Decide one row by whatever stands for its group.
template <class... Group>
int decide_one(gstar_decider* decider, int* accepted, double score,
               const Group&... group) {
    return guarded([&] {
        const reading now(decider->live);
        *accepted = now->one(score, group...) ? 1 : 0;
    });
}

template <class Float, class Group>
int decide_many(gstar_decider* decider, std::size_t n, const Float* scores,
                const Group* groups, int codes, std::uint8_t* accepted,
                const std::uint64_t* hashes = nullptr,
                const std::vector<name>* names = nullptr) {
    return guarded([&] {
        gstar::decide_options o;
        o.codes = codes != 0;
        if (hashes != nullptr)
            o.keys = {reinterpret_cast<const char*>(hashes), 8, gstar::dtype::u64};
        gstar::rows r = rows_of(n, scores, nullptr, groups);
        r.names = names;
        std::vector<std::uint8_t> out(n);  // all rows or none
        const reading now(decider->live);
        now->many(r, out.data(), o);
        if (n != 0) std::memcpy(accepted, out.data(), n);
    });
}

template <class Float>
int decide_texts(gstar_decider* decider, std::size_t n, const Float* scores,
                 const char* data, const std::int64_t* offsets,
                 const std::uint64_t* hashes, std::uint8_t* accepted) {
    int failed = 1;
    return guarded([&] {
               const texts groups(n, data, offsets);
               failed = decide_many(decider, n, scores, groups.codes.data(), 0,
                                    accepted, hashes, &groups.names);
           }) |
           failed;
}

/// A copy that gstar_bytes_release takes back.
template <class Bytes>
void give(const Bytes& from, std::uint8_t** bytes, std::size_t* size) {
    *bytes = new std::uint8_t[from.size()];
    if (!from.empty()) std::memcpy(*bytes, from.data(), from.size());
    *size = from.size();
}

}  // namespace
