/* decide.c - one decision through the C interface:  decide_c thresholds.json score group */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gstar/capi.h"

int main(int argc, char** argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s thresholds.json score group\n", argv[0]);
        return 2;
    }
    char* end = argv[2];
    errno = 0;
    const double score = strtod(argv[2], &end);
    const int too_large =
        errno == ERANGE && (score == HUGE_VAL || score == -HUGE_VAL);
    if (end == argv[2] || *end != '\0' || too_large) { /* atof would say 0 */
        fprintf(stderr, "score must be a number, got '%s'\n", argv[2]);
        return 2;
    }
    int accepted = 0;
    gstar_decider* decider = gstar_decider_open(argv[1]);
    int failed = decider == NULL || gstar_decide_text(decider, score, argv[3],
                                                      strlen(argv[3]), &accepted);
    if (failed)
        fprintf(stderr, "%s\n", gstar_error());
    else
        printf("%d\n", accepted);
    gstar_decider_release(decider);
    return failed;
}
