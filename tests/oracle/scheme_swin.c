/* SPDX-License-Identifier: Apache-2.0 */
/* Swin (arXiv 2103.14030): offsets of two tokens of a window, from -(W - 1) to W - 1 on each axis,
 * numbered row by row; query minus key. BEiT (arXiv 2106.08254; microsoft/unilm) puts a class token
 * first and gives it the last three entries: class to token, token to class, class to class. */
#include "bias_grid.h"
#include "window.h"

#include <stdlib.h>

struct swin {
    struct oracle_grid g;
    int64_t size[2];
    bool has_class;
};

bool oracle_window(int64_t size[2], struct oracle_case *c, const char *key)
{
    const char *text = oracle_text(c, key);
    char *end = NULL;
    size[0] = size[1] = text ? strtoll(text, &end, 10) : 0;
    if (end && *end == ',')
        size[1] = strtoll(end + 1, &end, 10);
    return (end && *end == 0 &&
            size[0] > 0 && size[1] > 0 && size[0] < 1 << 14 && size[1] < 1 << 14) ||
           oracle_fail(c, "%s: no size of a window", key);
}

static int64_t offset(const struct swin *s, int64_t i, int64_t j)
{
    const int64_t columns = 2 * s->size[1] - 1;
    int64_t y = oracle_grid_q(&s->g, 0, i) - oracle_grid_k(&s->g, 0, j);
    int64_t x = oracle_grid_q(&s->g, 1, i) - oracle_grid_k(&s->g, 1, j);
    return (y + s->size[0] - 1) * columns + x + s->size[1] - 1;
}

static int64_t entry(const void *ctx, int64_t i, int64_t j)
{
    const struct swin *s = ctx;
    const int64_t offsets = (2 * s->size[0] - 1) * (2 * s->size[1] - 1);
    if (!s->has_class)
        return offset(s, i, j);
    if (i == 0 && j == 0)
        return offsets + 2;
    if (i == 0 || j == 0)
        return i == 0 ? offsets : offsets + 1;
    struct swin inner = *s; /* the grid that was read has no class token */
    inner.g.n_q--;
    inner.g.n_k--;
    return offset(&inner, i - 1, j - 1);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct swin s = {.has_class = oracle_is(c, "scheme", "beit")};
    if (!oracle_grid_read(&s.g, t, c, 2) || !oracle_window(s.size, c, "window_size"))
        return;
    s.g.n_q += s.has_class;
    s.g.n_k += s.has_class;
    const int64_t offsets = (2 * s.size[0] - 1) * (2 * s.size[1] - 1);
    if (oracle_judge_entries(&s.g, "index", entry, &s))
        oracle_judge_lookup(&s.g, offsets + (s.has_class ? 3 : 0), entry, &s);
}

const struct oracle_scheme oracle_swin = {"swin", judge}, oracle_beit = {"beit", judge};
