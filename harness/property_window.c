/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of biases that tables or networks of relative positions give: of tokens in a window
 * (Swin, BEiT, SwinV2), of signs (DeBERTa's buckets, SwinV2's coordinates), of FIRE's ends. */
#include "property_impl.h"

#include <math.h>

#define MAX_OFFSETS 64

/* What stands before the tokens in rows and columns of beit: its class token. */
static int64_t class_rows(const struct posref_property *p)
{
    return p->spec->scheme == POSREF_SCHEME_BEIT;
}

static int64_t tokens_of(const struct posref_property *p)
{
    return (int64_t)p->spec->window_size.item[0] * p->spec->window_size.item[1];
}

/* All tokens of the window, and the table: drawn, or (told_apart) entry e is (e + 1) / 16 in every
 * head, so that no two are the same (exact in bf16 below 256 entries). */
static enum posref_status ask_window(struct posref_property *p, bool told_apart)
{
    const int64_t n = tokens_of(p), columns = p->spec->window_size.item[1], shape[] = {2, n};
    struct posref_tensors in = {.n = 0};
    double *at = posref_property_tensor(p, &in, "positions", 2, shape);
    if (!at)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < n; k++) {
        at[k] = (double)(k / columns);
        at[n + k] = (double)(k % columns);
    }
    enum posref_status status = posref_property_draw(p, &in, 0);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensor *table = posref_tensors_find(&in, "weights");
    for (int64_t k = 0; table && told_apart && k < posref_tensor_count(table); k++)
        ((double *)table->data)[k] = (double)(k / table->shape[1] + 1) / 16;
    return posref_property_ask(p, p->spec, &in);
}

/* Element (head, token i, token j) of the answer, and the number of the tokens' offset. */
static int64_t element_of(const struct posref_property *p, int64_t h, int64_t i, int64_t j)
{
    const int64_t first = class_rows(p), side = tokens_of(p) + first;
    return (h * side + i + first) * side + j + first;
}

static int64_t offset_of(const struct posref_property *p, int64_t i, int64_t j)
{
    const int64_t rows = p->spec->window_size.item[0], columns = p->spec->window_size.item[1];
    return (i / columns - j / columns + rows - 1) * (2 * columns - 1) +
           i % columns - j % columns + columns - 1;
}

static int64_t heads_of(const struct posref_property *p)
{
    const int64_t side = tokens_of(p) + class_rows(p);
    return posref_tensor_count(&p->call[0]->got.item[0]) / (side * side);
}

/* ---- tokens of one offset ---- */

enum posref_status posref_window_ask(struct posref_property *p)
{
    return ask_window(p, false);
}

void posref_window_compare(struct posref_property *p)
{
    for (int64_t h = 0; h < heads_of(p); h++) {
        int64_t first[MAX_OFFSETS];
        for (int k = 0; k < MAX_OFFSETS; k++)
            first[k] = -1;
        for (int64_t pair = 0; pair < tokens_of(p) * tokens_of(p); pair++) {
            const int64_t i = pair / tokens_of(p), j = pair % tokens_of(p);
            int64_t *before = &first[offset_of(p, i, j)];
            if (*before >= 0)
                posref_property_same(p, 0, *before, 0, element_of(p, h, i, j), 0);
            else
                *before = element_of(p, h, i, j);
        }
    }
}

/* ---- every offset has an entry of its own ---- */

enum posref_status posref_entries_ask(struct posref_property *p)
{
    return ask_window(p, true);
}

/* One element each: of the offsets, then of class to token, token to class and class to class. */
static int one_each(int64_t element[MAX_OFFSETS], const struct posref_property *p)
{
    const int64_t n = tokens_of(p);
    int n_offsets = (int)offset_of(p, n - 1, 0) + 1; /* the largest of all */
    for (int64_t pair = 0; pair < n * n; pair++)
        element[offset_of(p, pair / n, pair % n)] = element_of(p, 0, pair / n, pair % n);
    if (class_rows(p)) {
        element[n_offsets++] = element_of(p, 0, -1, 0);
        element[n_offsets++] = element_of(p, 0, 0, -1);
        element[n_offsets++] = element_of(p, 0, -1, -1);
    }
    return n_offsets;
}

void posref_entries_compare(struct posref_property *p)
{
    int64_t element[MAX_OFFSETS], n_apart = 0, last = 0;
    const int n = one_each(element, p);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++) {
            const bool apart = posref_property_got(p, 0, 0, element[a]) !=
                               posref_property_got(p, 0, 0, element[b]);
            n_apart += apart;
            last = apart ? last : element[a];
        }
    /* One comparison stands for all: no two of them share an entry. */
    const struct posref_slack none = {{0}};
    posref_property_compare(p, 0, 0, last, (double)n_apart, n * (n - 1) / 2.0, &none);
}

/* ---- the class token ---- */

enum posref_status posref_class_ask(struct posref_property *p)
{
    return ask_window(p, false);
}

void posref_class_compare(struct posref_property *p)
{
    for (int64_t h = 0; h < heads_of(p); h++)
        for (int64_t k = 1; k < tokens_of(p); k++) {
            posref_property_same(p, 0, element_of(p, h, -1, 0), 0, element_of(p, h, -1, k), 0);
            posref_property_same(p, 0, element_of(p, h, 0, -1), 0, element_of(p, h, k, -1), 0);
        }
}

/* ---- query and key exchanged ---- */

enum posref_status posref_odd_ask(struct posref_property *p)
{
    return p->spec->given[POSREF_FIELD_WINDOW_SIZE] ? ask_window(p, false)
                                                    : posref_toeplitz_ask(p);
}

/* [i, j, ...] is the negative of [j, i, ...]. */
void posref_odd_compare(struct posref_property *p)
{
    const struct posref_tensor *out = &p->call[0]->vector.outputs.item[0];
    const int64_t n = out->shape[0], width = posref_tensor_count(out) / (n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            for (int64_t k = 0; k < width; k++) {
                const int64_t a = (i * n + j) * width + k, b = (j * n + i) * width + k;
                const struct posref_slack slack =
                    posref_slack_sum(posref_property_slack(p, 0, 0, a, 1),
                                     posref_property_slack(p, 0, 0, b, 1));
                posref_property_compare(p, 0, 0, a, posref_property_got(p, 0, 0, a),
                                        -posref_property_got(p, 0, 0, b), &slack);
            }
}

/* ---- beyond FIRE's threshold ---- */

#define N_ENDS 4

/* Queries beyond the threshold; keys are the first token, and each query itself. */
enum posref_status posref_ends_ask(struct posref_property *p)
{
    const int64_t n_q[] = {N_ENDS}, n_k[] = {N_ENDS + 1};
    struct posref_tensors in = {.n = 0};
    double *q = posref_property_tensor(p, &in, "q_positions", 1, n_q);
    double *k = posref_property_tensor(p, &in, "k_positions", 1, n_k);
    if (!q || !k)
        return POSREF_NO_MEMORY;
    k[0] = 0;
    for (int i = 0; i < N_ENDS; i++)
        k[1 + i] = q[i] = ceil(p->spec->threshold) + (double)posref_draw_below(&p->draw, 900);
    enum posref_status status = posref_property_draw(p, &in, 0);
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &in) : status;
}

/* psi(q) / psi(q) is 1 for the first token, and 0 / psi(q) is 0 for the query's own. */
void posref_ends_compare(struct posref_property *p)
{
    const int64_t n_k = N_ENDS + 1;
    for (int64_t h = 0; h < p->spec->num_heads; h++)
        for (int64_t i = 1; i < N_ENDS; i++) {
            const int64_t row = (h * N_ENDS + i) * n_k, first = h * N_ENDS * n_k;
            posref_property_same(p, 0, first, 0, row, 0);
            posref_property_same(p, 0, first + 1, 0, row + 1 + i, 0);
        }
}
