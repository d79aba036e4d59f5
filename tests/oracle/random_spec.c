/* SPDX-License-Identifier: Apache-2.0 */
/* Random requests for the fuzz: parameters of real models and arbitrary ones, plain and hard
 * numbers, so that exact cases, band edges and ordinary values are all met. */
#include "random_spec.h"

#include <math.h>

static double pick_base(struct dice *d)
{
    static const double usual[] = {1e4,    5e5, 1e6,  150000, 1000, 100,   256,   65536, 2,
                                   0x1p20, 9,   81.0, 1e12,   1e8,  5e4, 10, 4, 1.5, 2.25};
    switch (dice_below(d, 4)) {
    case 0:
        return 1 + dice_real(d, 0, 10);
    case 1:
        return exp(dice_real(d, 1e-6, log(1e12)));
    default:
        return PICK(d, usual);
    }
}

static double pick_position(struct dice *d)
{
    static const double usual[] = {0, 1, -1, 2, 17, 255, 256, 257, 4095, 131071, 1048575,
                                   2147483647.0, -2147483647.0};
    double limit = ldexp(1, 1 + (int)dice_below(d, 31)) - 1;
    return dice_below(d, 3) ? floor(dice_real(d, -limit, limit)) : PICK(d, usual);
}

static double pick_factor(struct dice *d)
{
    static const double usual[] = {1, 2, 4, 8, 16, 32, 40, 1.5, 0.5, 3, 10};
    return dice_below(d, 2) ? PICK(d, usual) : exp(dice_real(d, -1, 5));
}

static double pick_value(struct dice *d)
{
    static const double usual[] = {0, -0.0, 1, -1, 0.5, 3, 0x1p-1074, -0x1p-1060, 0x1p1000, 1e-300};
    double x = dice_real(d, -4, 4);
    switch (dice_below(d, 8)) {
    case 0:
        return PICK(d, usual);
    case 1:
        return ldexp(x, (int)dice_below(d, 400) - 200);
    case 2:
        return ldexp(round(ldexp(x, 8)), -8); /* as in the suites: exact in bfloat16 */
    default:
        return x;
    }
}

static void add_positions(struct request *r, struct oracle_case *c, struct dice *d,
                          const char *name, int64_t n)
{
    double position[16];
    for (int64_t k = 0; k < n; k++)
        position[k] = pick_position(d);
    request_tensor(r, c, name, 1, &n, position);
}

static void add_values(struct request *r, struct oracle_case *c, struct dice *d, const char *name,
                       int rank, const int64_t *shape)
{
    static double value[1 << 12];
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    for (int64_t k = 0; k < count; k++)
        value[k] = pick_value(d);
    request_tensor(r, c, name, rank, shape, value);
}

static void add_yarn_magnitude(struct request *r, struct dice *d)
{
    static const char *const rules[] = {"both", "ratio", "ignored", "telechat", "ggml", "none"};
    static const char *const meanings[] = {"replaces", "multiplies", "ignored"};
    if (dice_below(d, 3) == 0) {
        request_add(r, "attention_factor=%.17g", dice_real(d, 0.5, 2));
        if (dice_below(d, 2))
            request_add(r, "attention_factor_rule=%s", PICK(d, meanings));
    }
    if (dice_below(d, 2))
        request_add(r, "mscale_rule=%s", PICK(d, rules));
    const double mscales[] = {0, 1, dice_real(d, 0.1, 2), dice_real(d, 0.1, 2)};
    if (dice_below(d, 2))
        request_add(r, "mscale=%.17g", PICK(d, mscales));
    if (dice_below(d, 2))
        request_add(r, "mscale_all_dim=%.17g", PICK(d, mscales));
}

static void add_yarn(struct request *r, struct dice *d)
{
    /* Short ones put both ends of the ramp at or below 0, long ones beyond the last pair. */
    static const double lengths[] = {2048, 4096, 8192, 16384, 32768, 100, 7, 1, 2.5, 1e6, 1e9};
    request_add(r, "original_max_position_embeddings=%.17g", PICK(d, lengths));
    if (dice_below(d, 2)) {
        double slow = dice_below(d, 2) ? 1 : dice_real(d, 0.25, 8);
        request_add(r, "beta_slow=%.17g", slow);
        static const double more[] = {0, 0.125, 0x1p-40};
        request_add(r, "beta_fast=%.17g",
                    slow + (dice_below(d, 4) ? dice_real(d, 0.5, 64) : PICK(d, more)));
    }
    if (dice_below(d, 2))
        request_add(r, "truncate=%s", dice_below(d, 2) ? "true" : "false");
    if (dice_below(d, 2)) {
        static const char *const rules[] = {"clamped", "half", "unclamped", "at_least"};
        request_add(r, "range_rule=%s", PICK(d, rules));
    }
    add_yarn_magnitude(r, d);
}

/* Lengths on both sides of the original one, and at it. */
static void add_lengths(struct request *r, struct dice *d, bool history)
{
    static const double originals[] = {2048, 4096, 100, 1, 3, 2.5};
    double original = PICK(d, originals);
    request_add(r, "original_max_position_embeddings=%.17g", original);
    if (dice_below(d, 4) == 0)
        request_add(r, "seq_len=%.17g", fmax(1, original + (double)dice_below(d, 3) - 1));
    else if (dice_below(d, 2))
        request_add(r, "seq_len=%.17g", fmax(1, floor(dice_real(d, 0.25, 40) * original)));
    if (history && dice_below(d, 3) == 0)
        request_add(r, "seq_len_history=%.17g,%.17g", 1 + floor(dice_real(d, 0, 30000)),
                    1 + floor(dice_real(d, 0, 8000)));
}

static void add_divisors(struct request *r, struct dice *d, const char *key, int64_t n)
{
    char list[2048];
    int length = snprintf(list, sizeof list, "%s=", key);
    for (int64_t i = 0; i < n; i++)
        length += snprintf(list + length, sizeof list - (size_t)length, "%s%.17g", i ? "," : "",
                           dice_below(d, 4) ? floor(dice_real(d, 64, 4096)) / 64 : 1);
    request_add(r, "%s", list);
}

static void add_other_scaling(struct request *r, struct dice *d, int64_t rotary_dim)
{
    static const char *const names[] = {"dynamic", "dynamic_alpha", "dynamic_linear",
                                        "dynamic_constant", "ntk_fixed", "ntk_mixed",
                                        "ntk_by_parts", "longrope"};
    int64_t at = dice_below(d, 8);
    if (rotary_dim == 2 && at != 2)
        at = 4 + at % 4;
    if (rotary_dim > 96 && at == 7)
        at = 5;
    request_add(r, "scaling=%s", names[at]);
    if (at != 1)
        request_add(r, "factor=%.17g", pick_factor(d));
    if (at < 3)
        add_lengths(r, d, at == 0);
    if (at == 5)
        request_add(r, "mixed_b=%.17g", dice_below(d, 2) ? 0.625 : dice_real(d, 0, 2));
    if (at == 6) {
        request_add(r, "original_max_position_embeddings=%d", dice_below(d, 2) ? 4096 : 300);
        if (dice_below(d, 2))
            request_add(r, "beta_fast=%.17g", 1 + (double)dice_below(d, 8));
    }
    if (at == 7) {
        add_lengths(r, d, false);
        add_divisors(r, d, "short_factor", rotary_dim / 2);
        add_divisors(r, d, "long_factor", rotary_dim / 2);
        request_add(r, "magnitude=%s", dice_below(d, 2) ? "su" : "yarn");
        if (dice_below(d, 3) == 0)
            request_add(r, "long_mscale=%.17g", dice_real(d, 0.5, 2));
    }
}

static void add_scaling(struct request *r, struct dice *d, int64_t rotary_dim)
{
    if (dice_below(d, 2)) {
        add_other_scaling(r, d, rotary_dim);
        return;
    }
    static const char *const names[] = {"none", "linear", "ntk", "yarn", "llama3"};
    const char *name = PICK(d, names);
    if (rotary_dim == 2 && name[1] == 't')
        name = "linear";
    request_add(r, "scaling=%s", name);
    if (name[0] == 'n' && name[1] == 'o')
        return;
    request_add(r, "factor=%.17g", pick_factor(d));
    if (name[0] == 'y')
        add_yarn(r, d);
    if (name[0] == 'l' && name[1] == 'l') {
        double low = dice_below(d, 2) ? 1 : dice_real(d, 0.25, 4);
        request_add(r, "original_max_position_embeddings=%d", dice_below(d, 2) ? 8192 : 500);
        request_add(r, "low_freq_factor=%.17g", low);
        request_add(r, "high_freq_factor=%.17g",
                    dice_below(d, 4) ? low + dice_real(d, 0.1, 6) : low);
    }
}

/* Shares of whole pairs (n / pairs, often just below a whole number as a double) and others. */
static void add_proportional(struct request *r, struct dice *d, int64_t dim)
{
    double pairs = (double)(dim / 2), n = 1 + (double)dice_below(d, dim / 2);
    request_add(r, "partial=proportional");
    request_add(r, "pairing=%s", dice_below(d, 2) ? "half" : "interleaved");
    request_add(r, "partial_rotary_factor=%.17g",
                dice_below(d, 2) ? n / pairs : fmin(1, dice_real(d, 1 / pairs, 1)));
    if (dice_below(d, 2)) {
        request_add(r, "scaling=%s", dice_below(d, 2) ? "linear" : "proportional");
        request_add(r, "factor=%.17g", pick_factor(d));
    }
}

static void add_xpos(struct request *r, struct dice *d)
{
    static const double bases[] = {512, 64, 1e6, 4194304}; /* far positions fit the last alone */
    static const double centers[] = {0, 512, -17408, 0.5};
    request_add(r, "xpos_scale_base=%.17g", dice_below(d, 2) ? PICK(d, bases)
                                                            : dice_real(d, 1e7, 1e8));
    if (dice_below(d, 2))
        request_add(r, "xpos_center=%.17g", PICK(d, centers));
    if (dice_below(d, 2))
        request_add(r, "xpos_side=%s", dice_below(d, 2) ? "query" : "key");
}

static void add_table_layout(struct request *r, struct dice *d)
{
    static const char *const layouts[] = {"split", "cos_sin", "concat", "repeat", "complex",
                                          "matrix", "sin_cos", "interleaved", "angles"};
    if (dice_below(d, 3) == 0)
        request_add(r, "table_layout=%s", PICK(d, layouts));
}

static void random_rope(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const int dims[] = {2, 4, 6, 8, 16, 24, 64, 80, 96, 128};
    int64_t dim = PICK(d, dims), n = 1 + dice_below(d, 4);
    int64_t rotary_dim = dice_below(d, 3) ? dim : 2 + 2 * dice_below(d, dim / 2);
    request_add(r, "scheme=rope");
    request_add(r, "dim=%lld", (long long)dim);
    request_add(r, "base=%.17g", pick_base(d));
    if (rotary_dim != dim)
        request_add(r, "rotary_dim=%lld", (long long)rotary_dim);
    if (dice_below(d, 3) == 0)
        request_add(r, "direction=inverse");
    bool mismatched = false;
    if (rotary_dim == dim && dice_below(d, 6) == 0) {
        add_proportional(r, d, dim);
    } else {
        static const char *const pairings[] = {"half", "interleaved", "interleaved_to_half",
                                               "mismatched"};
        const char *pairing = PICK(d, pairings);
        mismatched = pairing[0] == 'm';
        request_add(r, "pairing=%s", pairing);
        request_add(r, "partial=%s", dice_below(d, 3) ? "leading" : "trailing");
        if (!mismatched && dice_below(d, 4) == 0)
            add_xpos(r, d);
        else
            add_scaling(r, d, rotary_dim);
    }
    add_table_layout(r, d);
    add_positions(r, c, d, "positions", n);
    int64_t shape[2] = {n, dim};
    if (dice_below(d, 4))
        add_values(r, c, d, "x", 2, shape);
    if (!mismatched && dice_below(d, 3) == 0)
        add_values(r, c, d, "dy", 2, shape);
}

/* Positions, with an offset or a mask, or a mask that they are counted from. */
static void add_rows(struct request *r, struct oracle_case *c, struct dice *d, int64_t n,
                     double offset)
{
    double mask[16];
    for (int64_t k = 0; k < n; k++)
        mask[k] = (double)dice_below(d, 2);
    const int64_t kind = dice_below(d, 4);
    if (kind == 0)
        request_add(r, "padding_idx=%lld", (long long)dice_below(d, 3));
    else
        add_positions(r, c, d, "positions", n);
    if (kind < 2)
        request_tensor(r, c, "mask", 1, &n, mask);
    if (kind == 2)
        request_add(r, "offset=%.17g", offset);
}

static void random_sinusoidal(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const int dims[] = {4, 5, 6, 7, 8, 16, 24, 33, 64, 80, 96};
    int64_t dim = PICK(d, dims), n = 1 + dice_below(d, 4);
    request_add(r, "scheme=sinusoidal");
    request_add(r, "dim=%lld", (long long)dim);
    request_add(r, "base=%.17g", pick_base(d));
    static const char *const orders[] = {"interleaved", "concat", "flipped"};
    static const double offsets[] = {0, 1, 2, -1, 0.5, 0.1, 1e-9, 511};
    const bool half = dice_below(d, 2);
    request_add(r, "order=%s", PICK(d, orders));
    request_add(r, "exponent=%s", half ? "half_minus_one" : "d");
    if (dim % 2)
        request_add(r, "odd_dim=%s", half || dice_below(d, 2) ? "zero_column" : "extra_sine");
    if (dice_below(d, 3) == 0)
        request_add(r, "min_timescale=%.17g", exp(dice_real(d, -8, 2)));
    if (dice_below(d, 3) == 0)
        request_add(r, "table_scale=%.17g", dice_below(d, 2) ? 0.125 : dice_real(d, 0.01, 3));
    if (dice_below(d, 3) == 0)
        request_add(r, "x_scale=sqrt_dim");
    add_rows(r, c, d, n, PICK(d, offsets));
    int64_t shape[2] = {n, dim};
    if (dice_below(d, 2))
        add_values(r, c, d, "x", 2, shape);
}

static void random_timestep(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const int dims[] = {4, 5, 6, 7, 32, 33, 64, 160};
    static const double scales[] = {1, 1000, 0.001, 1.5};
    request_add(r, "scheme=timestep");
    request_add(r, "dim=%d", PICK(d, dims));
    request_add(r, "flip_sin_to_cos=%s", dice_below(d, 2) ? "true" : "false");
    request_add(r, "downscale_freq_shift=%d", (int)dice_below(d, 2));
    request_add(r, "scale=%.17g", PICK(d, scales));
    request_add(r, "max_period=%.17g", pick_base(d));
    double t[4];
    const int64_t n = 4;
    for (int k = 0; k < 4; k++)
        t[k] = k ? dice_real(d, 0, 1000) : floor(dice_real(d, 0, 1000));
    request_tensor(r, c, "positions", 1, &n, t);
}

static void random_fourier(struct request *r, struct oracle_case *c, struct dice *d)
{
    const int64_t half = 1 + dice_below(d, 12), n = 4;
    double t[4], weights[12];
    request_add(r, "scheme=fourier");
    request_add(r, "dim=%lld", (long long)(2 * half));
    request_add(r, "flip_sin_to_cos=%s", dice_below(d, 2) ? "true" : "false");
    request_add(r, "log=%s", dice_below(d, 2) ? "true" : "false");
    for (int k = 0; k < 4; k++)
        t[k] = dice_below(d, 2) ? exp(dice_real(d, -12, 8)) : (double)(1 + dice_below(d, 1000));
    for (int64_t i = 0; i < half; i++)
        weights[i] = dice_below(d, 2) ? dice_real(d, -48, 48)
                                      : (double)(dice_below(d, 64) - 32) / 64;
    request_tensor(r, c, "positions", 1, &n, t);
    request_tensor(r, c, "weights", 1, &half, weights);
}

static void random_learned(struct request *r, struct oracle_case *c, struct dice *d)
{
    const int64_t dim = 2 + dice_below(d, 3), n = 1 + dice_below(d, 6);
    const bool grid = dice_below(d, 2), two = dice_below(d, 2), counted = dice_below(d, 3) == 0;
    int64_t prefix = dice_below(d, 3), h = 1 + dice_below(d, 7), w = 1 + dice_below(d, 5);
    int64_t th = dice_below(d, 4) ? 1 + dice_below(d, 16) : h, tw = 1 + dice_below(d, 9);
    int64_t rows = grid ? prefix + h * (two ? w : 1) : 8 + dice_below(d, 8);
    int64_t end = grid ? prefix + th * (two ? tw : 1) : rows;
    double at[8];
    request_add(r, "scheme=learned");
    request_add(r, "dim=%lld", (long long)dim);
    for (int64_t k = 0; k < n; k++)
        at[k] = counted ? (double)dice_below(d, 2) : (double)dice_below(d, end);
    request_tensor(r, c, counted ? "mask" : "positions", 1, &n, at);
    if (counted)
        request_add(r, "%s=%d", dice_below(d, 2) ? "padding_idx" : "offset", 1);
    if (grid) {
        request_add(r, "beyond=interpolate");
        request_add(r, "prefix_rows=%lld", (long long)prefix);
        request_add(r, two ? "source_grid=%lld,%lld" : "source_grid=%lld", (long long)h,
                    (long long)w);
        request_add(r, two ? "target_grid=%lld,%lld" : "target_grid=%lld", (long long)th,
                    (long long)tw);
        if (dice_below(d, 2))
            request_add(r, "interpolation=%s", dice_below(d, 2) ? "linear" : "cubic");
    } else if (dice_below(d, 2)) {
        request_add(r, "beyond=truncate");
    }
    if (dice_below(d, 3) == 0)
        request_add(r, "table_scale=%.17g", dice_below(d, 2) ? 0.125 : dice_real(d, 0.01, 3));
    if (dice_below(d, 3) == 0)
        request_add(r, "x_scale=sqrt_dim");
    int64_t shape[2] = {n, dim}, of_weights[2] = {rows, dim};
    if (dice_below(d, 2))
        add_values(r, c, d, "x", 2, shape);
    add_values(r, c, d, "weights", 2, of_weights);
}

static void random_alibi(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const char *const forms[] = {"distance", "row", "symmetric"};
    static const char *const slopes[] = {"published", "geometric", "published_bf16"};
    static const int heads[] = {1, 2, 3, 8, 12, 16, 40, 71, 112};
    int64_t shape[3] = {PICK(d, heads), 1 + dice_below(d, 3), 1 + dice_below(d, 6)};
    request_add(r, "scheme=alibi");
    request_add(r, "num_heads=%lld", (long long)shape[0]);
    if (dice_below(d, 2))
        request_add(r, "alibi_bias_max=%.17g",
                    dice_below(d, 2) ? (double)(1 + dice_below(d, 16)) : dice_real(d, 0.5, 16));
    request_add(r, "form=%s", PICK(d, forms));
    request_add(r, "slopes=%s", PICK(d, slopes));
    request_add(r, "align=%s", dice_below(d, 3) ? "bottom_right" : "top_left");
    if (dice_below(d, 3)) {
        add_positions(r, c, d, "q_positions", shape[1]);
        add_positions(r, c, d, "k_positions", shape[2]);
    } else {
        shape[1] = shape[2];
        add_positions(r, c, d, "positions", shape[2]);
    }
    if (dice_below(d, 2))
        add_values(r, c, d, "logits", 3, shape);
}

void random_request(struct request *r, struct oracle_case *c, struct dice *d)
{
    switch (dice_below(d, 16)) {
    case 0:
        random_alibi(r, c, d);
        break;
    case 15:
        random_sincos(r, c, d);
        break;
    case 10:
        random_fourier(r, c, d);
        break;
    case 9:
        random_learned(r, c, d);
        break;
    case 8:
        random_timestep(r, c, d);
        break;
    case 11:
    case 12:
    case 13:
    case 14:
        random_bias(r, c, d);
        break;
    case 1:
    case 2:
        random_sinusoidal(r, c, d);
        break;
    case 3:
    case 4:
        random_axes(r, c, d);
        break;
    default:
        random_rope(r, c, d);
        break;
    }
}
