/* SPDX-License-Identifier: Apache-2.0 */
/* The known name closest to a mistyped one: edit distance with swaps of neighbours. */
#include "vectors/vectors.h"

#include <string.h>

#define MAX_NAME 47

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int edit_distance(const char *a, const char *b)
{
    int d[MAX_NAME + 1][MAX_NAME + 1];
    int n_a = (int)strlen(a), n_b = (int)strlen(b);
    for (int i = 0; i <= n_a; i++) {
        for (int j = 0; j <= n_b; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int best = smaller(d[i - 1][j], d[i][j - 1]) + 1;
            best = smaller(best, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    }
    return d[n_a][n_b];
}

const char *posref_nearest(const char *typed, const char *const *names)
{
    const char *best = NULL;
    size_t length = strlen(typed);
    if (length == 0 || length > MAX_NAME)
        return NULL;
    /* Further than a third of the word is no longer a slip of the fingers. */
    int best_distance = (int)(length + 5) / 3;
    for (; *names; names++) {
        if (strlen(*names) > MAX_NAME)
            continue;
        int distance = edit_distance(typed, *names);
        if (distance < best_distance) {
            best = *names;
            best_distance = distance;
        }
    }
    return best;
}
