/* capi.h - gstar from C and every language that calls C: count, solve and decide.
 *
 * Every function that may fail returns 0, or 1 with the reason in gstar_error(),
 * which belongs to the calling thread. Handles may be shared by threads; each is
 * released once, by its own release function. Nothing here throws or exits.
 */
#ifndef GSTAR_CAPI_H
#define GSTAR_CAPI_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): this is C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers) */

#if defined(_WIN32) && defined(GSTAR_SHARED)
#ifdef GSTAR_BUILDING
#define GSTAR_API __declspec(dllexport)
#else
#define GSTAR_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define GSTAR_API __attribute__((visibility("default")))
#else
#define GSTAR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GSTAR_C_VERSION 1

/* Why the last failed call of this thread failed; "" if none did. */
GSTAR_API const char* gstar_error(void);

/* ---- thresholds: a place whose set may be swapped while others decide ---- */

typedef struct gstar_decider gstar_decider;

/* From JSON or the binary form, by its bytes or from a file. NULL on failure. */
GSTAR_API gstar_decider* gstar_decider_read(const void* bytes, size_t size);
GSTAR_API gstar_decider* gstar_decider_open(const char* path);
GSTAR_API void gstar_decider_release(gstar_decider* decider);

/* Replace the set; readers never wait, and a batch is decided by one set. Fails for
   a set that has expired. */
GSTAR_API int gstar_decider_swap(gstar_decider* decider, const void* bytes,
                                 size_t size);
GSTAR_API uint64_t gstar_decider_version(gstar_decider* decider);

/* Seconds since 1970 (UTC) after which the set should not be used; INT64_MAX: never. */
GSTAR_API int64_t gstar_decider_expires(gstar_decider* decider);

/* The number of groups, and the name of one of them: a string as it is, another name as
   Python prints it. Give it back with gstar_bytes_release. A swap may change both. */
GSTAR_API size_t gstar_decider_groups(gstar_decider* decider);
GSTAR_API int gstar_decider_group(gstar_decider* decider, size_t group,
                                  uint8_t** name, size_t* size);

/* One row: *accepted becomes 0 or 1. The group is a string (UTF-8) or a number. */
GSTAR_API int gstar_decide_text(gstar_decider* decider, double score,
                                const char* group, size_t group_size,
                                int* accepted);
GSTAR_API int gstar_decide_number(gstar_decider* decider, double score,
                                  int64_t group, int* accepted);
/* Of a randomised set: drawn by the hash of the row's key. */
GSTAR_API int gstar_decide_text_keyed(gstar_decider* decider, double score,
                                      const char* group, size_t group_size,
                                      uint64_t hash, int* accepted);
GSTAR_API int gstar_decide_number_keyed(gstar_decider* decider, double score,
                                        int64_t group, uint64_t hash,
                                        int* accepted);
/* Of a set with cut points: by the number that stands for the group, such as
 * P(group | x). Its segment is found here. */
GSTAR_API int gstar_decide_real(gstar_decider* decider, double score, double number,
                                int* accepted);
GSTAR_API int gstar_decide_real_keyed(gstar_decider* decider, double score,
                                      double number, uint64_t hash, int* accepted);
GSTAR_API uint64_t gstar_hash_text(const char* key, size_t size);
GSTAR_API uint64_t gstar_hash_number(int64_t key);

/* Many rows: accepted[i] becomes 0 or 1; on failure it keeps what it had.
 * Groups are numbers; with `codes` not 0, positions among the groups. */
GSTAR_API int gstar_decide_f32(gstar_decider* decider, size_t n,
                               const float* scores, const int32_t* groups,
                               int codes, uint8_t* accepted);
GSTAR_API int gstar_decide_f64(gstar_decider* decider, size_t n,
                               const double* scores, const int32_t* groups,
                               int codes, uint8_t* accepted);

/* The same of a randomised set: hashes[i] is the hash of the key of row i. */
GSTAR_API int gstar_decide_keyed_f32(gstar_decider* decider, size_t n,
                                     const float* scores, const int32_t* groups,
                                     int codes, const uint64_t* hashes,
                                     uint8_t* accepted);
GSTAR_API int gstar_decide_keyed_f64(gstar_decider* decider, size_t n,
                                     const double* scores, const int32_t* groups,
                                     int codes, const uint64_t* hashes,
                                     uint8_t* accepted);
/* The same of groups that are strings: that of row i goes from byte offsets[i] of
   `texts` to offsets[i + 1]. Hashes are NULL where the set is not randomised. */
GSTAR_API int gstar_decide_texts_f32(gstar_decider* decider, size_t n,
                                     const float* scores, const char* texts,
                                     const int64_t* offsets, const uint64_t* hashes,
                                     uint8_t* accepted);
GSTAR_API int gstar_decide_texts_f64(gstar_decider* decider, size_t n,
                                     const double* scores, const char* texts,
                                     const int64_t* offsets, const uint64_t* hashes,
                                     uint8_t* accepted);

/* The same of a set with cut points, by the number that stands for each group. */
GSTAR_API int gstar_decide_reals_f32(gstar_decider* decider, size_t n,
                                     const float* scores, const float* numbers,
                                     uint8_t* accepted);
GSTAR_API int gstar_decide_reals_f64(gstar_decider* decider, size_t n,
                                     const double* scores, const double* numbers,
                                     uint8_t* accepted);

/* ---- sketches: count here, merge anywhere ---- */

typedef struct gstar_sketch gstar_sketch;

#define GSTAR_UNLABELLED 2

/* A new sketch with this many bins (4096 is Python's default). NULL on failure. */
GSTAR_API gstar_sketch* gstar_sketch_new(uint32_t bins);
GSTAR_API gstar_sketch* gstar_sketch_read(const void* bytes, size_t size);
GSTAR_API void gstar_sketch_release(gstar_sketch* sketch);

/* Count one row; label 0, 1 or GSTAR_UNLABELLED. */
GSTAR_API int gstar_sketch_count_text(gstar_sketch* sketch, double score,
                                      unsigned label, const char* group,
                                      size_t group_size);
GSTAR_API int gstar_sketch_count_number(gstar_sketch* sketch, double score,
                                        unsigned label, int64_t group);
/* The same for `repeats` rows of a weight: a weight of 10 is one row of weight 10. */
GSTAR_API int gstar_sketch_weigh_text(gstar_sketch* sketch, double score,
                                      unsigned label, const char* group,
                                      size_t group_size, double weight,
                                      uint64_t repeats);
GSTAR_API int gstar_sketch_weigh_number(gstar_sketch* sketch, double score,
                                        unsigned label, int64_t group,
                                        double weight, uint64_t repeats);
/* Count many rows, all or none; labels may be NULL. */
GSTAR_API int gstar_sketch_count_f32(gstar_sketch* sketch, size_t n,
                                     const float* scores, const uint8_t* labels,
                                     const int32_t* groups);
GSTAR_API int gstar_sketch_count_f64(gstar_sketch* sketch, size_t n,
                                     const double* scores, const uint8_t* labels,
                                     const int32_t* groups);
/* The same with weights and repeats; either may be NULL. */
GSTAR_API int gstar_sketch_weigh_f32(gstar_sketch* sketch, size_t n,
                                     const float* scores, const uint8_t* labels,
                                     const int32_t* groups, const double* weights,
                                     const int64_t* repeats);
GSTAR_API int gstar_sketch_weigh_f64(gstar_sketch* sketch, size_t n,
                                     const double* scores, const uint8_t* labels,
                                     const int32_t* groups, const double* weights,
                                     const int64_t* repeats);
/* The same of groups that are strings, as gstar_decide_texts_f32 takes them. */
GSTAR_API int gstar_sketch_weigh_texts_f32(gstar_sketch* sketch, size_t n,
                                           const float* scores,
                                           const uint8_t* labels, const char* texts,
                                           const int64_t* offsets,
                                           const double* weights,
                                           const int64_t* repeats);
GSTAR_API int gstar_sketch_weigh_texts_f64(gstar_sketch* sketch, size_t n,
                                           const double* scores,
                                           const uint8_t* labels, const char* texts,
                                           const int64_t* offsets,
                                           const double* weights,
                                           const int64_t* repeats);
GSTAR_API int gstar_sketch_merge(gstar_sketch* into, gstar_sketch* from);
/* The number of rows, and the sum of their weights. */
GSTAR_API int64_t gstar_sketch_rows(gstar_sketch* sketch);
GSTAR_API double gstar_sketch_weight(gstar_sketch* sketch);

/* The sketch as bytes; give them back with gstar_bytes_release. */
GSTAR_API int gstar_sketch_write(gstar_sketch* sketch, uint8_t** bytes,
                                 size_t* size);
GSTAR_API void gstar_bytes_release(uint8_t* bytes);

/* ---- a sketch and a question -> thresholds ---- */

#define GSTAR_INFEASIBLE 2 /* none meet the limits; these miss them by the least */
#define GSTAR_NOT_CONVERGED 3 /* the search was ended early; the best so far */
#define GSTAR_UNSUPPORTED 4   /* no thresholds: only Python answers this question */

/* The bytes of a sketch, and the JSON of Python's Question.to_dict, such as
 *
 *     {"evidence": 0, "limits": [{"of": "equalized_odds", "at_most": 0.05}]}
 *
 * -> the bytes of thresholds, for gstar_decider_read; give them back with
 * gstar_bytes_release. Returns 0, one of the numbers above, or 1. */
GSTAR_API int gstar_solve(const void* sketch, size_t sketch_size,
                          const char* question, size_t question_size,
                          uint8_t** thresholds, size_t* size);

#ifdef __cplusplus
}
#endif
#endif
