/* solve.c - count, solve and decide in C, without Python:
 *
 *     solve_c question thresholds < rows.csv       (score,label,group)
 *
 * with a question such as
 *
 *     {"evidence": 0, "limits": [{"of": "equalized_odds", "at_most": 0.1}]}
 *
 * saves the thresholds, which decide.cpp reads, and prints the groups and how
 * many of the rows are accepted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gstar/capi.h"

enum { most_rows = 100000, longest_line = 256 };

/* Columns; the groups are one text after the other, with the place where each begins. */
static double scores[most_rows];
static uint8_t labels[most_rows], accepted[most_rows];
static int64_t offsets[most_rows + 1];
static char groups[(size_t)most_rows * 32];

static int fail(const char* why) {
    fprintf(stderr, "%s\n", why);
    return 1;
}

/* The number of rows, or -1 for a line that is no row. */
static long read_rows(FILE* from) {
    char line[longest_line];
    long n = 0;
    while (n < most_rows && fgets(line, sizeof line, from) != NULL) {
        char *end = line, *group = line;
        scores[n] = strtod(line, &end);
        if (end == line || end[0] != ',' || (end[1] != '0' && end[1] != '1') ||
            end[2] != ',')
            return -1;
        labels[n] = (uint8_t)(end[1] - '0');
        group = end + 3;
        const size_t size = strcspn(group, "\r\n");
        if ((size_t)offsets[n] + size > sizeof groups) return -1;
        memcpy(groups + offsets[n], group, size);
        ++n;
        offsets[n] = offsets[n - 1] + (int64_t)size;
    }
    return n;
}

static int save(const char* path, const uint8_t* bytes, size_t size) {
    FILE* const file = fopen(path, "wb");
    const int failed = file == NULL || fwrite(bytes, 1, size, file) != size;
    return (file != NULL && fclose(file) != 0) || failed;
}

static int print(gstar_decider* decider, long n) {
    long sum = 0;
    for (size_t k = 0; k < gstar_decider_groups(decider); ++k) {
        uint8_t* name = NULL;
        size_t size = 0;
        if (gstar_decider_group(decider, k, &name, &size)) return 1;
        printf("%.*s\n", (int)size, (const char*)name);
        gstar_bytes_release(name);
    }
    if (gstar_decide_texts_f64(decider, (size_t)n, scores, groups, offsets, NULL,
                               accepted))
        return 1;
    for (long i = 0; i < n; ++i) sum += accepted[i];
    printf("%ld of %ld rows are accepted\n", sum, n);
    return 0;
}

int main(int argc, char** argv) {
    if (argc != 3) return fail("usage: solve_c question thresholds < rows.csv");
    const long n = read_rows(stdin);
    if (n < 0) return fail("a line is score,label,group");

    uint8_t *counts = NULL, *thresholds = NULL;
    size_t counted = 0, size = 0;
    gstar_sketch* const sketch = gstar_sketch_new(4096);
    if (sketch == NULL ||
        gstar_sketch_weigh_texts_f64(sketch, (size_t)n, scores, labels, groups,
                                     offsets, NULL, NULL) ||
        gstar_sketch_write(sketch, &counts, &counted))
        return fail(gstar_error());
    gstar_sketch_release(sketch);

    const int answer =
        gstar_solve(counts, counted, argv[1], strlen(argv[1]), &thresholds, &size);
    gstar_bytes_release(counts);
    if (answer == 1 || answer == GSTAR_UNSUPPORTED) {
        fprintf(stderr, "%s\n", gstar_error());
        return answer;
    }
    if (answer == GSTAR_INFEASIBLE)
        fprintf(stderr, "no thresholds meet the limits; these miss them by least\n");

    gstar_decider* const decider = gstar_decider_read(thresholds, size);
    int failed = decider == NULL || print(decider, n);
    if (failed) fprintf(stderr, "%s\n", gstar_error());
    if (!failed && save(argv[2], thresholds, size))
        failed = fail("cannot write the thresholds");
    gstar_decider_release(decider);
    gstar_bytes_release(thresholds);
    return failed ? 1 : answer;
}
