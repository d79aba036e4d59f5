/* SPDX-License-Identifier: Apache-2.0 */
/* Relative position index of a window of Wh x Ww tokens at positions y:x.
 *
 * swin (Liu et al., arXiv 2103.14030; microsoft/Swin-Transformer): with dy = y_q - y_k, dx likewise
 *     index = (dy + Wh - 1) (2 Ww - 1) + (dx + Ww - 1), of N = (2 Wh - 1)(2 Ww - 1) entries
 * beit (Bao et al., arXiv 2106.08254; microsoft/unilm: beit): the same and three more entries; row
 * and column 0 are the class token: N for class to token, N + 1 for token to class, N + 2 for class
 * to class. */
#include "bias.h"
#include "judge_impl.h"
#include "window.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_WINDOW_SIZE, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_WEIGHTS_LAYOUT, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"weights", "entries,heads"},
    {NULL, NULL}};

enum posref_status posref_window_check(struct posref_ints *window, const char *name,
                                       struct posref_error *err)
{
    if (window->n == 1)
        window->item[window->n++] = window->item[0];
    if (window->n != 2)
        return posref_fail(err, POSREF_BAD_INPUT, name, "must be W or Wh,Ww; got %d numbers",
                           window->n);
    return POSREF_OK;
}

enum posref_status posref_window_difference(int64_t d[2], struct posref_job *job,
                                            const struct posref_grid *grid, int64_t i, int64_t j)
{
    const int *window = job->spec->window_size.item;
    for (int axis = 0; axis < 2; axis++) {
        double q = grid->q.value[axis * grid->q.n + i], k = grid->k.value[axis * grid->k.n + j];
        if (fabs(q - k) > window[axis] - 1)
            return posref_fail(job->err, POSREF_BAD_INPUT, posref_grid_name(job, true),
                               "query %.0f and key %.0f of axis %d are %.0f apart; "
                               "window_size=%d,%d ends at %d",
                               q, k, axis, fabs(q - k), window[0], window[1], window[axis] - 1);
        d[axis] = (int64_t)(q - k);
    }
    return POSREF_OK;
}

int64_t posref_window_index(const int window[2], const int64_t d[2])
{
    return (d[0] + window[0] - 1) * (2 * (int64_t)window[1] - 1) + d[1] + window[1] - 1;
}

int64_t posref_window_entries(const int window[2])
{
    return (2 * (int64_t)window[0] - 1) * (2 * (int64_t)window[1] - 1);
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    return posref_window_check(&spec->window_size, "window_size", err);
}

static int64_t swin_entries(const struct posref_spec *spec)
{
    return posref_window_entries(spec->window_size.item);
}

static int64_t beit_entries(const struct posref_spec *spec)
{
    return posref_window_entries(spec->window_size.item) + 3;
}

enum posref_status posref_window_fill(int64_t *out, struct posref_job *job,
                                      const struct posref_grid *grid)
{
    enum posref_status status = POSREF_OK;
    for (int64_t at = 0; at < grid->q.n * grid->k.n && status == POSREF_OK; at++) {
        int64_t d[2];
        status = posref_window_difference(d, job, grid, at / grid->k.n, at % grid->k.n);
        if (status == POSREF_OK)
            out[at] = posref_window_index(job->spec->window_size.item, d);
    }
    return status;
}

static enum posref_status fill_beit(int64_t *out, struct posref_job *job,
                                    const struct posref_grid *grid)
{
    const int64_t n_k = grid->k.n + 1, n = swin_entries(job->spec);
    enum posref_status status = POSREF_OK;
    for (int64_t at = 0; at < (grid->q.n + 1) * n_k && status == POSREF_OK; at++) {
        const int64_t i = at / n_k, j = at % n_k;
        int64_t d[2];
        if (i == 0 || j == 0) {
            out[at] = n + (i > 0) + 2 * (i == 0 && j == 0);
            continue;
        }
        status = posref_window_difference(d, job, grid, i - 1, j - 1);
        if (status == POSREF_OK)
            out[at] = posref_window_index(job->spec->window_size.item, d);
    }
    return status;
}

static enum posref_status eval_swin(struct posref_job *job)
{
    return posref_eval_table(job, 2, 0, swin_entries(job->spec), "index", posref_window_fill);
}

static enum posref_status eval_beit(struct posref_job *job)
{
    return posref_eval_table(job, 2, 1, beit_entries(job->spec), "index", fill_beit);
}

const struct posref_scheme_def posref_swin = {
    .info = {.name = "swin",
             .summary = "a learned scalar for each two-dimensional offset within a window and "
                        "head, added to the scores",
             .formula = "bias = weights[(dy + Wh - 1)(2 Ww - 1) + dx + Ww - 1][head], dy, dx = "
                        "query - key",
             .source = "Liu et al., Swin Transformer, arXiv 2103.14030",
             .learned = "one scalar an entry and head: (2 Wh - 1)(2 Ww - 1) entries",
             .injected = "added to the scores of every layer",
             .relative = "exact within the window: the bias depends on the two offsets",
             .beyond = "another window needs an interpolated table",
             .cost = "one addition a score; one look-up",
             .users = "Swin",
             .advice = "windows of one size",
             .differs = "order of the axes (y first) and sign (query minus key)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_INDEX | 1U << POSREF_OP_BIAS,
    .check = check,
    .entries = swin_entries,
    .eval = eval_swin,
    .judge = posref_judge_units_table,
};

const struct posref_scheme_def posref_beit = {
    .info = {.name = "beit",
             .summary = "swin's table with three entries more, for a class token before the others",
             .formula = "index of swin; row and column 0: N (class to token), N + 1 (token to "
                        "class), N + 2 (class to class), N = (2 Wh - 1)(2 Ww - 1)",
             .source = "Bao et al., BEiT, arXiv 2106.08254",
             .learned = "one scalar an entry and head: (2 Wh - 1)(2 Ww - 1) + 3 entries",
             .injected = "added to the scores of every layer",
             .relative = "exact among patches; the class token has its own entries",
             .beyond = "another window needs an interpolated table, the three last entries apart",
             .cost = "one addition a score; one look-up",
             .users = "BEiT",
             .advice = "images with a class token",
             .differs = "the three last entries: class to token, token to class, class to class, "
                        "in this order"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_INDEX | 1U << POSREF_OP_BIAS,
    .check = check,
    .entries = beit_entries,
    .eval = eval_beit,
    .judge = posref_judge_units_table,
};
