/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of positions: lists, ranges with a step, several axes; grids and mixed sequences are
 * read elsewhere. */
#include "vectors/positions.h"

#include <math.h>
#include <string.h>

#define MAX_AXES POSREF_GATHER_AXES
#define MAX_WORD 4500 /* MAX_AXES numbers, each as long as posref_number_parse takes */
#define MROPE "mrope:"
#define BITS "bits:" /* the prefix of a number's bits: its colon separates no axes */

enum posref_status posref_gather_add(struct posref_gather *to, const double *token, int n_axes,
                                     struct posref_error *err)
{
    if (to->n_axes == 0)
        to->n_axes = n_axes;
    if (to->n_axes != n_axes)
        return posref_fail(err, POSREF_BAD_INPUT, to->key,
                           "every position needs the same number of axes");
    if (to->n >= POSREF_MAX_POSITIONS)
        return posref_fail(err, POSREF_BAD_INPUT, to->key, "more than %d positions",
                           POSREF_MAX_POSITIONS);
    for (int axis = 0; axis < n_axes && to->value; axis++)
        to->value[to->n * n_axes + axis] = token[axis];
    to->n++;
    return POSREF_OK;
}

/* A..B or A..B/STEP: each A + i STEP, rounded once, that is not above B. `word` is cut up. */
static enum posref_status add_range(struct posref_gather *to, char *word, char *dots,
                                    struct posref_error *err)
{
    double first, last, step = 1;
    char *slash = strchr(dots + 2, '/');
    *dots = '\0';
    if (slash)
        *slash = '\0';
    enum posref_status status = posref_number_parse(&first, word, to->key, err);
    if (status == POSREF_OK)
        status = posref_number_parse(&last, dots + 2, to->key, err);
    if (status == POSREF_OK && slash)
        status = posref_number_parse(&step, slash + 1, to->key, err);
    if (status != POSREF_OK)
        return status;
    if (!(step > 0))
        return posref_fail(err, POSREF_BAD_INPUT, to->key, "the step of a range must be positive");
    if (last < first)
        return posref_fail(err, POSREF_BAD_INPUT, to->key, "the range %s..%s is empty", word,
                           dots + 2);
    double n_steps = floor((last - first) / step);
    if (!(n_steps < POSREF_MAX_POSITIONS))
        return posref_fail(err, POSREF_BAD_INPUT, to->key, "more than %d positions",
                           POSREF_MAX_POSITIONS);
    /* The quotient is rounded, so that the last step is decided by the position itself. */
    for (int64_t i = 0; i <= (int64_t)n_steps + 1 && status == POSREF_OK; i++) {
        double position = fma((double)i, step, first);
        if (position > last)
            break;
        status = posref_gather_add(to, &position, 1, err);
    }
    return status;
}

/* A number, or numbers with colons between them, one an axis. Returns how many, 0 on failure. */
static int read_axes(double token[MAX_AXES], char *word, const char *key, struct posref_error *err)
{
    int n = 0;
    for (char *colon = word; colon; word = colon + 1) {
        colon = strchr(word + (strncmp(word, BITS, strlen(BITS)) == 0 ? strlen(BITS) : 0), ':');
        if (colon)
            *colon = '\0';
        if (n == MAX_AXES) {
            (void)posref_fail(err, POSREF_BAD_INPUT, key, "more than %d axes", MAX_AXES);
            return 0;
        }
        if (posref_number_parse(&token[n++], word, key, err) != POSREF_OK)
            return 0;
        if (!colon)
            break;
    }
    return n;
}

static enum posref_status add_word(struct posref_gather *to, char *word, struct posref_error *err)
{
    char *dots = strstr(word, "..");
    if (dots)
        return add_range(to, word, dots, err);
    double token[MAX_AXES];
    int n_axes = read_axes(token, word, to->key, err);
    return n_axes ? posref_gather_add(to, token, n_axes, err) : POSREF_BAD_INPUT;
}

static enum posref_status add_list(struct posref_gather *to, const char *text,
                                   struct posref_error *err)
{
    if (strncmp(text, MROPE, strlen(MROPE)) == 0)
        return posref_gather_mrope(to, text + strlen(MROPE), err);
    for (;;) {
        size_t length = strcspn(text, ",");
        char word[MAX_WORD];
        if (length >= sizeof word)
            return posref_fail(err, POSREF_BAD_INPUT, to->key, "'%.20s...' is not a position",
                               text);
        memcpy(word, text, length);
        word[length] = '\0';
        enum posref_status status = posref_gather_is_grid(word) ? posref_gather_grid(to, word, err)
                                                                : add_word(to, word, err);
        if (status != POSREF_OK || text[length] == '\0')
            return status;
        text += length + 1;
    }
}

enum posref_status posref_positions_parse(struct posref_tensor *out, const char *text,
                                          const char *key, const struct posref_arena *arena,
                                          struct posref_error *err)
{
    struct posref_gather gather = {.key = key}; /* counts first */
    enum posref_status status = add_list(&gather, text, err);
    if (status != POSREF_OK)
        return status;
    gather.value = arena->alloc(arena->ctx, sizeof(double) * (size_t)gather.n *
                                                (size_t)gather.n_axes);
    if (!gather.value)
        return posref_fail(err, POSREF_NO_MEMORY, key, "no memory");
    gather.n = 0;
    status = add_list(&gather, text, err);
    if (status != POSREF_OK)
        return status;
    struct posref_tensor tensor = {.dtype = POSREF_F64, .rank = 1, .shape = {gather.n}};
    tensor.data = gather.value;
    snprintf(tensor.name, sizeof tensor.name, "%s", key);
    if (gather.n_axes > 1) {
        double *turned = arena->alloc(arena->ctx, sizeof(double) * (size_t)gather.n *
                                                      (size_t)gather.n_axes);
        if (!turned)
            return posref_fail(err, POSREF_NO_MEMORY, key, "no memory");
        for (int axis = 0; axis < gather.n_axes; axis++)
            for (int64_t i = 0; i < gather.n; i++)
                turned[axis * gather.n + i] = gather.value[i * gather.n_axes + axis];
        tensor.data = turned;
        tensor.rank = 2;
        tensor.shape[0] = gather.n_axes;
        tensor.shape[1] = gather.n;
    }
    *out = tensor;
    return POSREF_OK;
}
