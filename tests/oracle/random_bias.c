/* SPDX-License-Identifier: Apache-2.0 */
/* Random requests for additive biases: distances at and beside the edges of buckets, tables of
 * every kind, networks small enough to be many. */
#include "random_spec.h"

#include <math.h>

/* Whole positions near each other or far apart. */
static void grid(struct request *r, struct oracle_case *c, struct dice *d, int64_t n[2],
                 double limit)
{
    static const double edges[] = {0, 1, 7, 8, 15, 16, 17, 32, 64, 90, 91, 127, 128, 129, 511};
    double position[8];
    for (int side = 0; side < 2; side++) {
        n[side] = 1 + dice_below(d, 5);
        for (int64_t i = 0; i < n[side]; i++) {
            position[i] = dice_below(d, 2) ? PICK(d, edges) : floor(dice_real(d, -limit, limit));
            position[i] = fmax(-limit, fmin(position[i], limit));
        }
        request_tensor(r, c, side ? "k_positions" : "q_positions", 1, &n[side], position);
    }
}

/* Rows of y, then of x, in a window. */
static void window_grid(struct request *r, struct oracle_case *c, struct dice *d, int64_t n[2],
                        int64_t height, int64_t width)
{
    for (int side = 0; side < 2; side++) {
        char text[256];
        double position[16];
        size_t used = 0;
        n[side] = 1 + dice_below(d, 4);
        for (int64_t i = 0; i < n[side]; i++) {
            position[i] = (double)dice_below(d, height);
            position[n[side] + i] = (double)dice_below(d, width);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.0f:%.0f", i ? "," : "",
                                     position[i], position[n[side] + i]);
        }
        request_add(r, "%s=%s", side ? "k_positions" : "q_positions", text);
        request_note(c, side ? "k_positions" : "q_positions", 2, (const int64_t[]){2, n[side]},
                     position);
    }
}

static void values(struct request *r, struct oracle_case *c, struct dice *d, const char *name,
                   int rank, const int64_t *shape, double low, double high)
{
    static double value[1 << 13];
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    for (int64_t k = 0; k < count; k++)
        value[k] = dice_below(d, 3) ? dice_real(d, low, high)
                                    : ldexp(round(ldexp(dice_real(d, low, high), 4)), -4);
    for (int64_t k = 0; k < count && low >= 0; k++)
        value[k] = fmax(value[k], 0x1p-10);
    request_tensor(r, c, name, rank, shape, value);
}

static void table(struct request *r, struct oracle_case *c, struct dice *d, int64_t entries)
{
    int64_t heads = 1 + dice_below(d, 3);
    const bool transposed = dice_below(d, 2);
    if (dice_below(d, 2))
        request_add(r, "num_heads=%lld", (long long)heads);
    request_add(r, "weights_layout=%s", transposed ? "heads_entries" : "entries_heads");
    values(r, c, d, "weights", 2,
           transposed ? (const int64_t[]){heads, entries} : (const int64_t[]){entries, heads}, -4,
           4);
}

static void buckets(struct request *r, struct oracle_case *c, struct dice *d, bool deberta)
{
    static const int counts[] = {4, 6, 8, 10, 16, 20, 24, 32, 48, 64, 256, 320};
    static const int powers[] = {1, 2, 3, 4, 8, 16, 10, 9, 27};
    const int n = PICK(d, counts);
    const bool both = deberta || dice_below(d, 2);
    /* Multiples by powers have edges that are whole distances. */
    const int exact = both && !deberta ? n / 4 : n / 2;
    int limit = exact * PICK(d, powers) + deberta + (int)dice_below(d, 2);
    int64_t n_pos[2];
    request_add(r, "scheme=%s", deberta ? "deberta" : "t5_bias");
    request_add(r, "num_buckets=%d", n);
    request_add(r, "max_distance=%d", dice_below(d, 4) ? limit : 2 + (int)dice_below(d, 1000));
    if (!deberta)
        request_add(r, "bidirectional=%s", both ? "true" : "false");
    grid(r, c, d, n_pos, dice_below(d, 3) ? 400 : 2147483647);
    if (dice_below(d, 2))
        table(r, c, d, deberta ? 2 * n : n);
}

/* Disentangled scores: content, and the rows that pos_att_type asks for. */
static void disentangled(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const char *const types[] = {"c2p_p2c", "c2p", "p2c"};
    const bool plain = dice_below(d, 2);
    const int type = (int)dice_below(d, 3);
    const int64_t span = plain ? 1 + dice_below(d, 9) : 4 + 2 * dice_below(d, 4);
    const int64_t heads = 1 + dice_below(d, 3), dim = 2 + dice_below(d, 5);
    const int64_t shape[] = {heads, 2 * span, dim}, shared = dice_below(d, 2);
    int64_t n[2];
    request_add(r, "scheme=deberta");
    request_add(r, "dim=%lld", (long long)dim);
    request_add(r, "num_heads=%lld", (long long)heads);
    if (plain)
        request_add(r, "log_buckets=false");
    else
        request_add(r, "num_buckets=%lld", (long long)span);
    request_add(r, "max_distance=%lld",
                (long long)(plain ? span : span / 2 + 2 + dice_below(d, 100)));
    request_add(r, "pos_att_type=%s", types[type]);
    request_add(r, "p2c_difference=%s", dice_below(d, 2) ? "query_minus_key" : "key_minus_query");
    grid(r, c, d, n, dice_below(d, 3) ? 40 : 2147483647);
    values(r, c, d, "q", 3, (const int64_t[]){n[0], heads, dim}, -2, 2);
    values(r, c, d, "k", 3, (const int64_t[]){n[1], heads, dim}, -2, 2);
    if (type != 2)
        values(r, c, d, "key_weights", shared ? 2 : 3, shape + shared, -2, 2);
    if (type != 1)
        values(r, c, d, "query_weights", shared ? 2 : 3, shape + shared, -2, 2);
}

/* Contextual positions: rows that are hit, clamped and missed; zero logits, masks, flat gates. */
static void contextual(struct request *r, struct oracle_case *c, struct dice *d)
{
    const int64_t heads = 1 + dice_below(d, 3), dim = 2 + dice_below(d, 4);
    const int64_t npos = 1 + dice_below(d, 6), n_q = 1 + dice_below(d, 4);
    const int64_t n_k = 1 + dice_below(d, 7);
    const int64_t shape[] = {heads, npos, dim}, shared = dice_below(d, 2);
    const double size = dice_below(d, 3) ? 2 : dice_below(d, 2) ? 40 : 0.01;
    request_add(r, "scheme=cope");
    request_add(r, "dim=%lld", (long long)dim);
    request_add(r, "num_heads=%lld", (long long)heads);
    request_add(r, "npos_max=%lld", (long long)npos);
    request_add(r, "gate_logits=%s", dice_below(d, 2) ? "scaled" : "unscaled");
    request_add(r, "position_logits=%s", dice_below(d, 2) ? "scaled" : "unscaled");
    request_add(r, "causal=%s", dice_below(d, 2) ? "true" : "false");
    if (dice_below(d, 3) == 0)
        request_add(r, "softmax_scale=%.17g", dice_below(d, 2) ? 1 : dice_real(d, 0.01, 2));
    values(r, c, d, "q", 3, (const int64_t[]){n_q, heads, dim}, -size, size);
    values(r, c, d, "k", 3, (const int64_t[]){n_k, heads, dim}, -size, size);
    values(r, c, d, "weights", shared ? 2 : 3, shape + shared, -2, 2);
}

static void relative(struct request *r, struct oracle_case *c, struct dice *d)
{
    const int64_t size = 1 + dice_below(d, 40);
    const bool full = dice_below(d, 2);
    int64_t n[2];
    request_add(r, "scheme=relative_bias");
    request_add(r, full ? "max_position_embeddings=%lld" : "max_distance=%lld", (long long)size);
    request_add(r, "table=%s", full ? "full" : "clipped");
    request_add(r, "difference=%s", dice_below(d, 2) ? "query_minus_key" : "key_minus_query");
    grid(r, c, d, n, full ? floor((double)(size - 1) / 2) : 1000);
    if (dice_below(d, 4))
        table(r, c, d, full ? 2 * size - 1 : 2 * size + 1);
}

static void network(struct request *r, struct oracle_case *c, struct dice *d, int64_t n_in,
                    bool with_b2)
{
    const int64_t width = 1 + dice_below(d, 12), heads = 1 + dice_below(d, 3);
    request_add(r, "mlp_width=%lld", (long long)width);
    request_add(r, "num_heads=%lld", (long long)heads);
    values(r, c, d, "w1", 2, (const int64_t[]){width, n_in}, -2, 2);
    values(r, c, d, "b1", 1, &width, -1, 1);
    values(r, c, d, "w2", 2, (const int64_t[]){heads, width}, -2, 2);
    if (with_b2)
        values(r, c, d, "b2", 1, &heads, -1, 1);
}

static void window(struct request *r, struct oracle_case *c, struct dice *d, int kind)
{
    static const char *const names[] = {"swin", "beit", "swinv2"};
    const int64_t height = 1 + dice_below(d, 9), width = 1 + dice_below(d, 9);
    int64_t n[2];
    request_add(r, "scheme=%s", names[kind]);
    request_add(r, "window_size=%lld,%lld", (long long)height, (long long)width);
    window_grid(r, c, d, n, height, width);
    if (kind < 2)
        table(r, c, d, (2 * height - 1) * (2 * width - 1) + 3 * kind);
    else if (dice_below(d, 2))
        request_add(r, "pretrained_window_size=%d", 2 + (int)dice_below(d, 12));
    if (kind == 2)
        network(r, c, d, 2, false);
}

static void kernel(struct request *r, struct oracle_case *c, struct dice *d)
{
    const int64_t heads = 1 + dice_below(d, 4);
    const bool power = dice_below(d, 2);
    int64_t n[2];
    request_add(r, "scheme=kerple");
    request_add(r, "kernel=%s", power ? "power" : "log");
    request_add(r, "num_heads=%lld", (long long)heads);
    values(r, c, d, "r1", 1, &heads, 0, 4);
    values(r, c, d, "r2", 1, &heads, 0, power ? 2 : 8);
    grid(r, c, d, n, dice_below(d, 2) ? 300 : 2147483647);
}

static void fire(struct request *r, struct oracle_case *c, struct dice *d)
{
    int64_t n[2];
    request_add(r, "scheme=fire");
    request_add(r, "log_scale=%.17g", dice_below(d, 2) ? 0.1 : dice_real(d, 1e-3, 3));
    request_add(r, "threshold=%.17g", dice_below(d, 2) ? 512 : dice_real(d, 1, 3000));
    request_add(r, "epsilon=%s", dice_below(d, 2) ? "0" : "1e-6");
    grid(r, c, d, n, dice_below(d, 2) ? 2000 : 2147483647);
    network(r, c, d, 1, true);
}

static void sandwich(struct request *r, struct oracle_case *c, struct dice *d)
{
    static const int dims[] = {2, 6, 8, 24, 64, 128};
    int64_t n[2];
    request_add(r, "scheme=sandwich");
    request_add(r, "dim=%d", PICK(d, dims));
    request_add(r, "base=%.17g", dice_below(d, 2) ? 1e4 : dice_real(d, 1.5, 1e6));
    request_add(r, "num_heads=%d", 1 + (int)dice_below(d, 12));
    grid(r, c, d, n, dice_below(d, 2) ? 300 : 2147483647);
}

void random_bias(struct request *r, struct oracle_case *c, struct dice *d)
{
    const int kind = (int)dice_below(d, 12);
    if (kind <= 1)
        buckets(r, c, d, kind);
    else if (kind == 9)
        disentangled(r, c, d);
    else if (kind > 9)
        contextual(r, c, d);
    else if (kind == 2)
        relative(r, c, d);
    else if (kind <= 5)
        window(r, c, d, kind - 3);
    else if (kind == 6)
        kernel(r, c, d);
    else if (kind == 7)
        fire(r, c, d);
    else
        sandwich(r, c, d);
}
