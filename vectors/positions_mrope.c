/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of mixed sequences for M-RoPE (Qwen2-VL and its descendants): rows t, h, w.
 *
 * A text's tokens have t = h = w, counting on. An image or video is a grid of T x H x W tokens
 * (after merging) that starts at the position s where it stands: token (k, i, j) has
 * t = s + f(k), h = s + i, w = s + j. The f of frame k is k; or, with seconds=S per grid step and
 * rate=R positions per second, floor(k S R) (step=after: older Hugging Face, vLLM) or
 * k R floor(S) (step=before: Hugging Face 5). What follows starts at 1 + the largest coordinate so
 * far (next=all: older Hugging Face, vLLM), or at s + max(H, W) (next=space: Hugging Face 5).
 * Options hold for what follows them. streams=4 adds ggml's fourth row, 0 everywhere. */
#include "vectors/positions.h"

#include <math.h>
#include <string.h>

#define MAX_WORD 64

struct sequence {
    struct posref_gather *to;
    double next; /* where the next part starts */
    double seconds;
    int64_t rate, streams;
    bool seconds_given, before, space;
};

static enum posref_status add(struct sequence *s, double t, double h, double w,
                              struct posref_error *err)
{
    const double token[4] = {t, h, w, 0};
    return posref_gather_add(s->to, token, (int)s->streams, err);
}

static enum posref_status add_text(struct sequence *s, const char *value, struct posref_error *err)
{
    int64_t n = 0;
    enum posref_status status =
        posref_gather_whole(&n, value, 1, POSREF_MAX_POSITIONS, s->to->key, err);
    for (int64_t k = 0; k < n && status == POSREF_OK; k++, s->next++)
        status = add(s, s->next, s->next, s->next, err);
    return status;
}

/* floor(n x) for whole n >= 0 and x >= 0, exactly: the product is rounded, its error is not. */
static double floor_of_product(double n, double x)
{
    double product = n * x, whole = floor(product);
    return whole == product && fma(n, x, -product) < 0 ? whole - 1 : whole;
}

static double frame_offset(const struct sequence *s, int64_t k)
{
    const double frame = (double)k, rate = (double)s->rate;
    if (!s->seconds_given)
        return frame;
    return s->before ? frame * rate * floor(s->seconds)
                     : floor_of_product(frame * rate, s->seconds);
}

/* T x H x W tokens. */
static enum posref_status add_grid(struct sequence *s, const int64_t size[3],
                                   struct posref_error *err)
{
    const double start = s->next, side = (double)(size[1] > size[2] ? size[1] : size[2]);
    double largest = start + side - 1;
    enum posref_status status = POSREF_OK;
    for (int64_t k = 0; k < size[0]; k++) {
        const double t = start + frame_offset(s, k);
        largest = fmax(largest, t);
        for (int64_t i = 0; i < size[1]; i++)
            for (int64_t j = 0; j < size[2] && status == POSREF_OK; j++)
                status = add(s, t, start + (double)i, start + (double)j, err);
        if (status != POSREF_OK)
            return status;
    }
    s->next = s->space ? start + side : largest + 1;
    return POSREF_OK;
}

/* n sizes with an x between them. */
static enum posref_status read_sizes(int64_t *size, int n, char *value, const char *key,
                                     struct posref_error *err)
{
    const char *whole = n == 2 ? "HxW" : "TxHxW";
    int64_t total = 1;
    for (int k = 0; k < n; k++) {
        char *end = strchr(value, 'x');
        if (!end != (k == n - 1))
            return posref_fail(err, POSREF_BAD_INPUT, key, "the size of %s is %s",
                               n == 2 ? "an image" : "a video", whole);
        if (end)
            *end = '\0';
        enum posref_status status =
            posref_gather_whole(&size[k], value, 1, POSREF_MAX_POSITIONS, key, err);
        if (status != POSREF_OK)
            return status;
        if (total > POSREF_MAX_POSITIONS / size[k])
            return posref_fail(err, POSREF_BAD_INPUT, key, "more than %d positions",
                               POSREF_MAX_POSITIONS);
        total *= size[k];
        value = end ? end + 1 : value;
    }
    return POSREF_OK;
}

static enum posref_status set_choice(bool *out, const char *name, const char *value,
                                     const char *off, const char *on, const char *key,
                                     struct posref_error *err)
{
    *out = strcmp(value, on) == 0;
    if (!*out && strcmp(value, off) != 0)
        return posref_fail(err, POSREF_BAD_INPUT, key, "%s is %s or %s, not '%.20s'", name, off,
                           on, value);
    return POSREF_OK;
}

static enum posref_status set_number(double *out, const char *name, const char *value,
                                     const char *key, struct posref_error *err)
{
    enum posref_status status = posref_number_parse(out, value, key, err);
    if (status == POSREF_OK && !(*out >= 0 && *out <= POSREF_MAX_POSITION))
        return posref_fail(err, POSREF_BAD_INPUT, key, "%s must lie in [0, %.0f]", name,
                           POSREF_MAX_POSITION);
    return status;
}

/* NAME=VALUE: a part of the sequence, or an option. */
static enum posref_status add_part(struct sequence *s, const char *name, char *value,
                                   struct posref_error *err)
{
    const char *key = s->to->key;
    int64_t size[3] = {1, 1, 1};
    enum posref_status status;
    if (strcmp(name, "text") == 0)
        return add_text(s, value, err);
    if (strcmp(name, "image") == 0) {
        status = read_sizes(size + 1, 2, value, key, err);
        return status == POSREF_OK ? add_grid(s, size, err) : status;
    }
    if (strcmp(name, "video") == 0) {
        status = read_sizes(size, 3, value, key, err);
        return status == POSREF_OK ? add_grid(s, size, err) : status;
    }
    if (strcmp(name, "next") == 0)
        return set_choice(&s->space, name, value, "all", "space", key, err);
    if (strcmp(name, "step") == 0)
        return set_choice(&s->before, name, value, "after", "before", key, err);
    if (strcmp(name, "start") == 0)
        return set_number(&s->next, name, value, key, err);
    if (strcmp(name, "rate") == 0)
        return posref_gather_whole(&s->rate, value, 1, POSREF_MAX_POSITIONS, key, err);
    if (strcmp(name, "streams") == 0)
        return posref_gather_whole(&s->streams, value, 3, 4, key, err);
    if (strcmp(name, "seconds") == 0) {
        s->seconds_given = true;
        return set_number(&s->seconds, name, value, key, err);
    }
    return posref_fail(err, POSREF_BAD_INPUT, key,
                       "'%.20s' is no part of a mixed sequence (text, image, video) and no option "
                       "(next, start, step, seconds, rate, streams)", name);
}

enum posref_status posref_gather_mrope(struct posref_gather *to, const char *text,
                                       struct posref_error *err)
{
    struct sequence s = {.to = to, .rate = 1, .streams = 3};
    for (;;) {
        char word[MAX_WORD];
        size_t length = strcspn(text, ",");
        if (length >= sizeof word)
            return posref_fail(err, POSREF_BAD_INPUT, to->key, "'%.20s...' is too long", text);
        memcpy(word, text, length);
        word[length] = '\0';
        char *equals = strchr(word, '=');
        if (!equals)
            return posref_fail(err, POSREF_BAD_INPUT, to->key,
                               "'%.40s' needs the form NAME=VALUE behind mrope:", word);
        *equals = '\0';
        enum posref_status status = add_part(&s, word, equals + 1, err);
        if (status != POSREF_OK)
            return status;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    return to->n > 0 ? POSREF_OK
                     : posref_fail(err, POSREF_BAD_INPUT, to->key, "the sequence is empty");
}
