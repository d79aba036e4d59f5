/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts whose kernel writes into a cache of keys and values: rotated k and copied v go to the
 * slot of each token, and every other row of the caches stays as it was. */
#include "layout_build.h"

#define BLOCK 4 /* slots of a block */
#define UNUSED 2 /* tokens without a slot: the first and the last */

/* Token t of n + 2 is judged row t - 1; the two without a slot have the first and the last row's
 * values, which are not to appear anywhere. */
static int64_t row_of_token(int64_t t, int64_t n)
{
    return t == 0 ? 0 : t > n ? n - 1 : t - 1;
}

/* The slot of judged row r, of n_slots: no two alike, downwards, around the end, never the last
 * one, which -1 would be when it is taken for an index from the end. */
static int64_t slot_of(int64_t r, int64_t n_slots)
{
    const int64_t m = n_slots - 1;
    return (5 + (m - 2) * r) % m; /* m is odd, so m - 2 has no divisor in common with it */
}

struct cache {
    int64_t n, heads, n_blocks, n_slots;
    int64_t *token, *slot;      /* [n + 2]: judged row of each token, its slot or -1 */
    int64_t *k_rows, *v_rows;   /* [n + 2, heads] */
    int64_t *k_slots, *v_slots; /* [n_slots, heads]: of rotated k, rows of v */
};

static bool make_cache(struct cache *c, struct posref_layout_build *b)
{
    const int64_t n = b->of->n, heads = b->of->heads, tokens = n + UNUSED;
    const int64_t n_blocks = (n + BLOCK - 1) / BLOCK + 2, n_slots = n_blocks * BLOCK;
    *c = (struct cache){.n = n, .heads = heads, .n_blocks = n_blocks, .n_slots = n_slots,
                        .token = posref_layout_room(b, tokens),
                        .slot = posref_layout_room(b, tokens),
                        .k_rows = posref_layout_room(b, tokens * heads),
                        .v_rows = posref_layout_room(b, tokens * heads),
                        .k_slots = posref_layout_room(b, n_slots * heads),
                        .v_slots = posref_layout_room(b, n_slots * heads)};
    if (b->failed)
        return false;
    for (int64_t k = 0; k < n_slots * heads; k++)
        c->k_slots[k] = c->v_slots[k] = POSREF_LAYOUT_STAYS;
    for (int64_t t = 0; t < tokens; t++) {
        const int64_t row = c->token[t] = row_of_token(t, n);
        const bool has_slot = t > 0 && t <= n;
        c->slot[t] = has_slot ? slot_of(row, n_slots) : -1;
        for (int64_t h = 0; h < heads; h++) {
            c->k_rows[t * heads + h] = row * heads + h;
            c->v_rows[t * heads + h] = (n - 1 - row) * heads + h; /* any but k's own */
            if (!has_slot)
                continue;
            c->k_slots[c->slot[t] * heads + h] = row * heads + h;
            c->v_slots[c->slot[t] * heads + h] = t * heads + h;
        }
    }
    return true;
}

static void lay(struct posref_layout_build *b, bool heads_first)
{
    struct cache c;
    if (!make_cache(&c, b))
        return;
    const int64_t dim = b->of->dim, tokens = c.n + UNUSED;
    const int64_t shape[] = {tokens, c.heads, dim};
    const int64_t cache_shape[] = {c.n_blocks, BLOCK, c.heads, dim};
    posref_layout_input(b, "k", 3, shape, c.k_rows);
    posref_layout_input(b, "v", 3, shape, c.v_rows);
    posref_layout_positions(b, 1, &tokens, c.token);
    posref_layout_integers(b, "slot", POSREF_I64, 1, &tokens, c.slot);
    posref_layout_output(b, "key_cache", 4, cache_shape, c.k_slots);
    posref_layout_output(b, "value_cache", 4, cache_shape, c.v_slots);
    b->result->copied[1] = posref_tensors_find(&b->trial->in, "v");
    for (int t = b->trial->in.n; t < b->trial->in.n + 2 && !b->failed; t++) {
        struct posref_place *place = posref_layout_place(b, t);
        place->is_written = true; /* what is not written is to stay */
        if (heads_first) {
            place->strides[1] = dim;
            place->strides[2] = BLOCK * dim;
        }
    }
}

void posref_lay_kv_cache(struct posref_layout_build *b)
{
    lay(b, false);
}

void posref_lay_kv_cache_hnd(struct posref_layout_build *b)
{
    lay(b, true);
}
