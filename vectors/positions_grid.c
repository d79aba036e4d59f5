/* SPDX-License-Identifier: Apache-2.0 */
/* Grids of positions: row major, first axis fastest, or in blocks; each axis counted from an
 * offset, with a step, centred, normalised or spread over a crop. */
#include "vectors/positions.h"

#include <math.h>
#include <string.h>

enum kind { COUNTED, CENTRED, NORMALISED, SPREAD };

/* Coordinate k < n: first + k step (counted); k - ceil(n / 2) (centred: Qwen-Image);
 * (2 k + 1) / n - 1 (normalised: bin centres in [-1, 1], DINOv3);
 * first + k (last (n - 1) / n - first) / (n - 1) (spread: linspace over a crop, CogVideoX). */
struct axis {
    int64_t n;
    enum kind kind;
    double first, last, step;
};

static double coordinate(const struct axis *axis, int64_t k)
{
    const double n = (double)axis->n, i = (double)k;
    switch (axis->kind) {
    case CENTRED: return i - ceil(n / 2);
    case NORMALISED: return (2 * i + 1 - n) / n;
    case SPREAD: /* whole numbers below 2^53 up to the one division */
        if (axis->n == 1)
            return axis->first;
        return (axis->first * n * (n - 1) + i * (axis->last * (n - 1) - axis->first * n)) /
               (n * (n - 1));
    default: return fma(i, axis->step, axis->first);
    }
}

enum posref_status posref_gather_whole(int64_t *out, const char *text, int64_t least, int64_t most,
                                       const char *key, struct posref_error *err)
{
    double value;
    enum posref_status status = posref_number_parse(&value, text, key, err);
    if (status != POSREF_OK)
        return status;
    if (value != floor(value) || value < (double)least || value > (double)most)
        return posref_fail(err, POSREF_BAD_INPUT, key,
                           "'%.40s' must be a whole number from %lld to %lld", text,
                           (long long)least, (long long)most);
    *out = (int64_t)value;
    return POSREF_OK;
}

/* FIRST, FIRST/STEP or FIRST..LAST, as it stands behind the @ of an axis. */
static enum posref_status read_start(struct axis *axis, char *text, const char *key,
                                     struct posref_error *err)
{
    char *dots = strstr(text, ".."), *slash = strchr(text, '/');
    enum posref_status status;
    if (dots) {
        int64_t first = 0, last = 0;
        *dots = '\0';
        status = posref_gather_whole(&first, text, -65536, 65536, key, err);
        if (status == POSREF_OK)
            status = posref_gather_whole(&last, dots + 2, -65536, 65536, key, err);
        axis->kind = SPREAD;
        axis->first = (double)first;
        axis->last = (double)last;
        return status;
    }
    if (slash)
        *slash = '\0';
    status = posref_number_parse(&axis->first, text, key, err);
    if (status == POSREF_OK && slash)
        status = posref_number_parse(&axis->step, slash + 1, key, err);
    return status;
}

/* N, Nc, Nn, N@FIRST, N@FIRST/STEP or N@FIRST..LAST. */
static enum posref_status read_axis(struct axis *axis, char *text, const char *key,
                                    struct posref_error *err)
{
    *axis = (struct axis){.kind = COUNTED, .step = 1};
    char *at = strchr(text, '@');
    size_t length = strlen(text);
    if (at) {
        *at = '\0';
    } else if (length > 1 && (text[length - 1] == 'c' || text[length - 1] == 'n')) {
        axis->kind = text[length - 1] == 'c' ? CENTRED : NORMALISED;
        text[length - 1] = '\0';
    }
    enum posref_status status =
        posref_gather_whole(&axis->n, text, 1, POSREF_MAX_POSITIONS, key, err);
    return status == POSREF_OK && at ? read_start(axis, at + 1, key, err) : status;
}

/* The axes, with colons between them; *block is read first where there is one. */
static enum posref_status read_axes(struct axis axis[POSREF_GATHER_AXES], int *n_axes,
                                    int64_t *block, char *text, const char *key,
                                    struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    int n = 0;
    for (bool first = *block > 0; text && status == POSREF_OK; first = false) {
        char *colon = strchr(text, ':');
        if (colon)
            *colon = '\0';
        if (first)
            status = posref_gather_whole(block, text, 1, 256, key, err);
        else if (n == POSREF_GATHER_AXES)
            status = posref_fail(err, POSREF_BAD_INPUT, key, "more than %d axes",
                                 POSREF_GATHER_AXES);
        else
            status = read_axis(&axis[n++], text, key, err);
        text = colon ? colon + 1 : NULL;
    }
    *n_axes = n;
    return status;
}

static enum posref_status check(const struct axis *axis, int n_axes, int64_t block,
                                const char *key, struct posref_error *err)
{
    int64_t total = 1;
    if (n_axes < (block ? 2 : 1))
        return posref_fail(err, POSREF_BAD_INPUT, key, "a grid needs %s",
                           block ? "two axes at least" : "an axis");
    for (int a = 0; a < n_axes; a++) {
        if (block && a >= n_axes - 2 && axis[a].n % block)
            return posref_fail(err, POSREF_BAD_INPUT, key,
                               "size %lld is no multiple of the block size %lld",
                               (long long)axis[a].n, (long long)block);
        if (total > POSREF_MAX_POSITIONS / axis[a].n)
            return posref_fail(err, POSREF_BAD_INPUT, key, "more than %d positions",
                               POSREF_MAX_POSITIONS);
        total *= axis[a].n;
    }
    return POSREF_OK;
}

/* Index of token i on each axis: the last axis fastest, or the first. */
static void place(int64_t index[POSREF_GATHER_AXES], int64_t i, const struct axis *axis, int n_axes,
                  bool first_fastest)
{
    for (int k = 0; k < n_axes; k++) {
        int a = first_fastest ? k : n_axes - 1 - k;
        index[a] = i % axis[a].n;
        i /= axis[a].n;
    }
}

/* The same in square blocks of the last two axes, each block row by row (Qwen2-VL's patches). */
static void place_in_blocks(int64_t index[POSREF_GATHER_AXES], int64_t i, const struct axis *axis,
                            int n_axes, int64_t block)
{
    const int row = n_axes - 2, column = n_axes - 1;
    const int64_t across = axis[column].n / block, down = axis[row].n / block;
    int64_t in_row = i / block % block, in_column = i % block;
    i /= block * block;
    index[column] = i % across * block + in_column;
    index[row] = i / across % down * block + in_row;
    i /= across * down;
    for (int a = row - 1; a >= 0; a--) {
        index[a] = i % axis[a].n;
        i /= axis[a].n;
    }
}

bool posref_gather_is_grid(const char *word)
{
    return strncmp(word, "grid:", 5) == 0 || strncmp(word, "xgrid:", 6) == 0 ||
           strncmp(word, "blocks:", 7) == 0;
}

enum posref_status posref_gather_grid(struct posref_gather *to, char *word,
                                      struct posref_error *err)
{
    struct axis axis[POSREF_GATHER_AXES];
    const bool first_fastest = word[0] == 'x';
    int64_t block = word[0] == 'b', total = 1;
    int n_axes;
    enum posref_status status = read_axes(axis, &n_axes, &block, strchr(word, ':') + 1, to->key,
                                          err);
    if (status == POSREF_OK)
        status = check(axis, n_axes, block, to->key, err);
    if (status != POSREF_OK)
        return status;
    for (int a = 0; a < n_axes; a++)
        total *= axis[a].n;
    for (int64_t i = 0; i < total && status == POSREF_OK; i++) {
        int64_t index[POSREF_GATHER_AXES];
        double token[POSREF_GATHER_AXES];
        if (block)
            place_in_blocks(index, i, axis, n_axes, block);
        else
            place(index, i, axis, n_axes, first_fastest);
        for (int a = 0; a < n_axes; a++)
            token[a] = coordinate(&axis[a], index[a]);
        status = posref_gather_add(to, token, n_axes, err);
    }
    return status;
}
