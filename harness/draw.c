/* SPDX-License-Identifier: Apache-2.0 */
/* Values from a nonce: see draw.h. The words are those of splitmix64, the start is FNV-1a. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum posref_status posref_nonce_new(uint64_t *out, struct posref_error *err)
{
    if (getrandom(out, sizeof *out, 0) != sizeof *out)
        return posref_fail(err, POSREF_IO, "--nonce", "the system has no random numbers");
    return POSREF_OK;
}

enum posref_status posref_nonce_parse(uint64_t *out, const char *text, struct posref_error *err)
{
    const size_t length = strlen(text);
    if (length < 1 || length > 16 || strspn(text, "0123456789abcdefABCDEF") != length)
        return posref_fail(err, POSREF_BAD_INPUT, "--nonce",
                           "must be 1 to 16 hexadecimal digits, got '%.40s'", text);
    *out = strtoull(text, NULL, 16);
    return POSREF_OK;
}

struct posref_draw posref_draw_begin(uint64_t nonce, const char *name)
{
    struct posref_draw draw = {0xcbf29ce484222325u};
    for (int k = 0; k < 8; k++)
        draw.state = (draw.state ^ (nonce >> (8 * k) & 0xff)) * 0x100000001b3u;
    for (; *name; name++)
        draw.state = (draw.state ^ (unsigned char)*name) * 0x100000001b3u;
    return draw;
}

uint64_t posref_draw_word(struct posref_draw *draw)
{
    uint64_t word = draw->state += 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

int64_t posref_draw_below(struct posref_draw *draw, int64_t n)
{
    return (int64_t)(posref_draw_word(draw) >> 1) % n; /* biased by less than n / 2^63 */
}

double posref_draw_value(struct posref_draw *draw)
{
    const uint64_t word = posref_draw_word(draw);
    const double size = (double)(1 + (word >> 8) % 63) / 16;
    return word & 1 ? -size : size;
}

static bool is_positions(const struct posref_tensor *tensor)
{
    const int input = posref_input_find(tensor->name);
    return input >= 0 && posref_input_def(input)->is_positions;
}

/* Signs mean nothing where a value is data; a parameter may have to be positive. */
static bool is_data(const char *name)
{
    static const char *const data[] = {"x", "q", "k", "v", "logits"};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        if (strcmp(name, data[i]) == 0)
            return true;
    return false;
}

static void draw_values(double *out, const struct posref_tensor *in, struct posref_draw *draw)
{
    const double *value = in->data;
    const bool is_mask = strcmp(in->name, "mask") == 0, data = is_data(in->name);
    for (int64_t k = 0; k < posref_tensor_count(in); k++) {
        const uint64_t word = posref_draw_word(draw);
        const double size = fabs(value[k]);
        out[k] = value[k];
        /* Seven bits beside the leading one: bf16's all, and f16's normal numbers have ten. */
        if (is_mask || size == 0 || isinf(value[k]) || size < 0x1p-14)
            continue;
        out[k] = copysign(ldexp((double)(128 + (word >> 8) % 128), ilogb(size) - 7), value[k]);
        if (data && word & 1)
            out[k] = -out[k];
    }
}

static bool is_whole_row(const struct posref_tensor *in)
{
    const double *p = in->data;
    for (int64_t k = 0; k < posref_tensor_count(in); k++)
        if (p[k] != floor(p[k]))
            return false;
    return in->rank == 1;
}

static bool counts_up(const struct posref_tensor *in)
{
    const double *p = in->data;
    for (int64_t k = 1; k < posref_tensor_count(in); k++)
        if (p[k] != p[k - 1] + 1)
            return false;
    return posref_tensor_count(in) > 0;
}

/* What is drawn once for all position tensors of a vector, so that queries and keys stay what they
 * are to each other. */
struct shift {
    bool moves;         /* all count up: by `by` */
    double by, share;   /* else p - floor(|p| share), with p's sign */
};

static struct shift draw_shift(const struct posref_tensors *in, struct posref_draw *draw)
{
    struct shift shift = {.moves = true,
                          .share = (double)(posref_draw_word(draw) >> 11) * 0x1p-53 / 8};
    double least = HUGE_VAL;
    for (int i = 0; i < in->n; i++) {
        if (!is_positions(&in->item[i]))
            continue;
        shift.moves = shift.moves && is_whole_row(&in->item[i]) && counts_up(&in->item[i]);
        if (shift.moves)
            least = fmin(least, ((const double *)in->item[i].data)[0]);
    }
    shift.moves = shift.moves && least > 0 && least <= POSREF_MAX_POSITION;
    if (shift.moves)
        shift.by = -(double)posref_draw_below(draw, (int64_t)least + 1);
    return shift;
}

static void draw_positions(double *out, const struct posref_tensor *in, const struct shift *shift)
{
    const double *p = in->data;
    const bool whole = is_whole_row(in);
    for (int64_t k = 0; k < posref_tensor_count(in); k++) {
        out[k] = p[k];
        if (whole && shift->moves)
            out[k] = p[k] + shift->by;
        else if (whole && !counts_up(in))
            out[k] = copysign(fabs(p[k]) - floor(fabs(p[k]) * shift->share), p[k]);
    }
}

enum posref_status posref_draw_inputs(struct posref_tensors *out,
                                      const struct posref_vector *vector, struct posref_draw *draw,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_tensors *in = &vector->inputs;
    const struct shift shift = draw_shift(in, draw);
    *out = *in;
    for (int i = 0; i < in->n; i++) {
        const size_t size = (size_t)posref_tensor_count(&in->item[i]) * sizeof(double);
        double *value = arena->alloc(arena->ctx, size ? size : 1);
        if (!value)
            return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
        if (is_positions(&in->item[i]))
            draw_positions(value, &in->item[i], &shift);
        else
            draw_values(value, &in->item[i], draw);
        out->item[i].data = value;
    }
    return POSREF_OK;
}
