// capi.cpp - the C interface: handles around the core's classes, exceptions turned into messages.
#define GSTAR_BUILDING 1
#include "handles.hpp"

const char* gstar_error(void) { return last_error().c_str(); }

gstar_decider* gstar_decider_read(const void* bytes, size_t size) {
    return made([&] {
        return new gstar_decider(gstar::read_thresholds(span_of(bytes, size)));
    });
}

gstar_decider* gstar_decider_open(const char* path) {
    return made([&] {
        if (path == nullptr) throw std::invalid_argument("path is NULL");
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::invalid_argument(std::string("cannot read ") + path);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        return new gstar_decider(
            gstar::read_thresholds(span_of(text.data(), text.size())));
    });
}

void gstar_decider_release(gstar_decider* decider) { delete decider; }

int gstar_decider_swap(gstar_decider* decider, const void* bytes, size_t size) {
    return guarded(
        [&] { decider->live.swap(gstar::read_thresholds(span_of(bytes, size))); });
}

uint64_t gstar_decider_version(gstar_decider* decider) {
    return decider->live.version();
}

int64_t gstar_decider_expires(gstar_decider* decider) {
    const reading now(decider->live);
    return now->set().expires.value_or(std::numeric_limits<std::int64_t>::max());
}

size_t gstar_decider_groups(gstar_decider* decider) {
    return reading(decider->live)->set().groups.size();
}

int gstar_decider_group(gstar_decider* decider, size_t group, uint8_t** bytes,
                        size_t* size) {
    return guarded([&] {
        const reading now(decider->live);
        const name& n = now->set().groups.at(group).group;
        give(n.type == name::kind::text ? n.text : text_of(n), bytes, size);
    });
}

int gstar_decide_text(gstar_decider* decider, double score, const char* group,
                      size_t group_size, int* accepted) {
    if (group == nullptr) return guarded([&] { text_name(group, group_size); });
    return decide_one(decider, accepted, score,
                      std::string_view(group, group_size));
}

int gstar_decide_number(gstar_decider* decider, double score, int64_t group,
                        int* accepted) {
    return decide_one(decider, accepted, score, group);
}

int gstar_decide_text_keyed(gstar_decider* decider, double score, const char* group,
                            size_t group_size, uint64_t hash, int* accepted) {
    return guarded([&] {
        const reading now(decider->live);
        *accepted = now->one(score, text_name(group, group_size), hash) ? 1 : 0;
    });
}

int gstar_decide_number_keyed(gstar_decider* decider, double score, int64_t group,
                              uint64_t hash, int* accepted) {
    return decide_one(decider, accepted, score, name::of(group), hash);
}

int gstar_decide_real(gstar_decider* decider, double score, double number,
                      int* accepted) {
    return decide_one(decider, accepted, score, number);
}

int gstar_decide_real_keyed(gstar_decider* decider, double score, double number,
                            uint64_t hash, int* accepted) {
    return decide_one(decider, accepted, score, number, hash);
}

uint64_t gstar_hash_text(const char* key, size_t size) {
    return gstar::hash_key(std::string_view(key, size));
}

uint64_t gstar_hash_number(int64_t key) {
    return gstar::hash_key(static_cast<std::uint64_t>(key));
}

int gstar_decide_f32(gstar_decider* decider, size_t n, const float* scores,
                     const int32_t* groups, int codes, uint8_t* accepted) {
    return decide_many(decider, n, scores, groups, codes, accepted);
}

int gstar_decide_f64(gstar_decider* decider, size_t n, const double* scores,
                     const int32_t* groups, int codes, uint8_t* accepted) {
    return decide_many(decider, n, scores, groups, codes, accepted);
}

int gstar_decide_keyed_f32(gstar_decider* decider, size_t n, const float* scores,
                           const int32_t* groups, int codes, const uint64_t* hashes,
                           uint8_t* accepted) {
    return decide_many(decider, n, scores, groups, codes, accepted, hashes);
}

int gstar_decide_texts_f32(gstar_decider* decider, size_t n, const float* scores,
                           const char* texts, const int64_t* offsets,
                           const uint64_t* hashes, uint8_t* accepted) {
    return decide_texts(decider, n, scores, texts, offsets, hashes, accepted);
}

int gstar_decide_keyed_f64(gstar_decider* decider, size_t n, const double* scores,
                           const int32_t* groups, int codes, const uint64_t* hashes,
                           uint8_t* accepted) {
    return decide_many(decider, n, scores, groups, codes, accepted, hashes);
}

int gstar_decide_texts_f64(gstar_decider* decider, size_t n, const double* scores,
                           const char* texts, const int64_t* offsets,
                           const uint64_t* hashes, uint8_t* accepted) {
    return decide_texts(decider, n, scores, texts, offsets, hashes, accepted);
}

int gstar_decide_reals_f32(gstar_decider* decider, size_t n, const float* scores,
                           const float* numbers, uint8_t* accepted) {
    return decide_many(decider, n, scores, numbers, 0, accepted);
}

int gstar_decide_reals_f64(gstar_decider* decider, size_t n, const double* scores,
                           const double* numbers, uint8_t* accepted) {
    return decide_many(decider, n, scores, numbers, 0, accepted);
}

gstar_sketch* gstar_sketch_new(uint32_t bins) {
    return made([&] {
        if (bins < 16 || bins > 65536 || (bins & (bins - 1)) != 0)
            throw std::invalid_argument(
                "bins must be a power of two from 16 to 65536, got " +
                std::to_string(bins));
        gstar::sketch_options o;
        o.at = gstar::no_window(bins);
        return new gstar_sketch{std::make_unique<gstar::sketch>(o)};
    });
}

gstar_sketch* gstar_sketch_read(const void* bytes, size_t size) {
    return made([&] {
        return new gstar_sketch{
            gstar::from_bytes(span_of(bytes, size), memory_limit)};
    });
}

void gstar_sketch_release(gstar_sketch* sketch) { delete sketch; }

int gstar_sketch_count_text(gstar_sketch* sketch, double score, unsigned label,
                            const char* group, size_t group_size) {
    return gstar_sketch_weigh_text(sketch, score, label, group, group_size, 1, 1);
}

int gstar_sketch_count_number(gstar_sketch* sketch, double score, unsigned label,
                              int64_t group) {
    return gstar_sketch_weigh_number(sketch, score, label, group, 1, 1);
}

int gstar_sketch_weigh_text(gstar_sketch* sketch, double score, unsigned label,
                            const char* group, size_t group_size, double weight,
                            uint64_t repeats) {
    return guarded([&] {
        weigh_one(sketch, score, label, text_name(group, group_size), weight,
                  repeats);
    });
}

int gstar_sketch_weigh_number(gstar_sketch* sketch, double score, unsigned label,
                              int64_t group, double weight, uint64_t repeats) {
    return guarded(
        [&] { weigh_one(sketch, score, label, name::of(group), weight, repeats); });
}

int gstar_sketch_weigh_f32(gstar_sketch* sketch, size_t n, const float* scores,
                           const uint8_t* labels, const int32_t* groups,
                           const double* weights, const int64_t* repeats) {
    return weigh_many(sketch, n, scores, labels, groups, weights, repeats);
}

int gstar_sketch_weigh_f64(gstar_sketch* sketch, size_t n, const double* scores,
                           const uint8_t* labels, const int32_t* groups,
                           const double* weights, const int64_t* repeats) {
    return weigh_many(sketch, n, scores, labels, groups, weights, repeats);
}

int gstar_sketch_count_f32(gstar_sketch* sketch, size_t n, const float* scores,
                           const uint8_t* labels, const int32_t* groups) {
    return weigh_many(sketch, n, scores, labels, groups, nullptr, nullptr);
}

int gstar_sketch_count_f64(gstar_sketch* sketch, size_t n, const double* scores,
                           const uint8_t* labels, const int32_t* groups) {
    return weigh_many(sketch, n, scores, labels, groups, nullptr, nullptr);
}

int gstar_sketch_weigh_texts_f32(gstar_sketch* sketch, size_t n,
                                 const float* scores, const uint8_t* labels,
                                 const char* texts, const int64_t* offsets,
                                 const double* weights, const int64_t* repeats) {
    return weigh_texts(sketch, n, scores, labels, texts, offsets, weights, repeats);
}

int gstar_sketch_weigh_texts_f64(gstar_sketch* sketch, size_t n,
                                 const double* scores, const uint8_t* labels,
                                 const char* texts, const int64_t* offsets,
                                 const double* weights, const int64_t* repeats) {
    return weigh_texts(sketch, n, scores, labels, texts, offsets, weights, repeats);
}

int gstar_sketch_merge(gstar_sketch* into, gstar_sketch* from) {
    return guarded([&] { into->counts->merge(*from->counts); });
}

int64_t gstar_sketch_rows(gstar_sketch* sketch) {
    return sketch->counts->look(
        [](const gstar::tally& t, const std::vector<std::uint32_t>&) {
            if (!t.weighted()) return t.total();
            std::int64_t rows = 0;
            for (const gstar::plane* p : {&t.labelled, &t.unlabelled})
                for (std::uint32_t c = 0; c < p->cells(); ++c) rows += p->rows(c);
            return rows;
        });
}

double gstar_sketch_weight(gstar_sketch* sketch) {
    return sketch->counts->look(
        [](const gstar::tally& t, const std::vector<std::uint32_t>&) {
            const auto total = static_cast<double>(t.total());
            return t.weighted() ? total / static_cast<double>(gstar::one_weight)
                                : total;
        });
}

int gstar_sketch_write(gstar_sketch* sketch, uint8_t** bytes, size_t* size) {
    return guarded([&] { give(gstar::to_bytes(*sketch->counts), bytes, size); });
}

void gstar_bytes_release(uint8_t* bytes) { delete[] bytes; }

int gstar_solve(const void* sketch, size_t sketch_size, const char* question,
                size_t question_size, uint8_t** thresholds, size_t* size) {
    int answer = 1;
    guarded([&] {
        if (question == nullptr) throw std::invalid_argument("question is NULL");
        gstar::question asked;
        try {
            asked = gstar::read_question({question, question_size});
        } catch (const gstar::unsupported_question&) {
            answer = GSTAR_UNSUPPORTED;
            throw;
        }
        const std::unique_ptr<gstar::sketch> counts =
            gstar::from_bytes(span_of(sketch, sketch_size), memory_limit);
        const gstar::result found = gstar::solve(*counts, asked);
        if (!found.found())
            throw std::invalid_argument(
                "the sketch lacks rows or labels that the question needs");
        give(gstar::to_bytes(found.set), thresholds, size);
        answer = found.outcome == gstar::verdict::optimal ? 0
                 : found.outcome == gstar::verdict::infeasible
                     ? GSTAR_INFEASIBLE
                     : GSTAR_NOT_CONVERGED;
    });
    return answer;
}
