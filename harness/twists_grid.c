/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of grids in another order, and of one axis on another scale. */
#include "twists_impl.h"

#include <string.h>

/* The last two axes of positions that walk a grid row by row, frame by frame. */
struct walk {
    int64_t rows, columns, n; /* n tokens, a multiple of rows columns */
    const double *y, *x;      /* [n] */
};

/* False: these positions are no such grid, or one of a single row or column. */
static bool find_walk(struct walk *out, const struct posref_tensor *t)
{
    const int64_t n = t->shape[1];
    const double *y = (const double *)t->data + (t->shape[0] - 2) * n, *x = y + n;
    int64_t columns = 1, rows = 1;
    while (columns < n && y[columns] == y[0])
        columns++;
    while ((rows + 1) * columns <= n && y[rows * columns] != y[0])
        rows++;
    if (columns < 2 || rows < 2 || n % (rows * columns) != 0)
        return false;
    for (int64_t k = 0; k < n; k++)
        if (x[k] != x[k % columns] || y[k] != y[k / columns % rows * columns])
            return false;
    *out = (struct walk){.rows = rows, .columns = columns, .n = n, .y = y, .x = x};
    return true;
}

/* Token l of a frame that is walked in blocks of m by m tokens. */
static void place(int64_t *row, int64_t *column, const struct walk *w, int64_t l, int64_t m)
{
    const int64_t block = l / (m * m), within = l % (m * m), across = w->columns / m;
    *row = block / across * m + within / m;
    *column = block % across * m + within % m;
}

/* m 0: down the columns. */
static bool walk_otherwise(struct posref_tensors *set, const struct posref_twisting *t, int64_t m)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        const struct posref_tensor old = set->item[i];
        struct walk w;
        if (!posref_twist_has_axes(&old) || old.shape[0] < 2 || !find_walk(&w, &old) ||
            (m > 0 && (w.rows % m != 0 || w.columns % m != 0 || w.columns == m)))
            continue;
        double *data = posref_twist_renew(set, i, t);
        if (!data)
            continue;
        double *y = data + (old.shape[0] - 2) * w.n;
        changed = true;
        for (int64_t k = 0; k < w.n; k++) {
            const int64_t l = k % (w.rows * w.columns);
            int64_t row = l % w.rows, column = l / w.rows;
            if (m > 0)
                place(&row, &column, &w, l, m);
            y[k] = w.y[row * w.columns];
            y[w.n + k] = w.x[column];
        }
    }
    return changed;
}

bool posref_twist_grid_columns(struct posref_tensors *set, const struct posref_twisting *t)
{
    return walk_otherwise(set, t, 0);
}

bool posref_twist_grid_blocks(struct posref_tensors *set, const struct posref_twisting *t)
{
    return t->value >= 2 && walk_otherwise(set, t, (int64_t)t->value);
}

/* The values in rising order, each once: how many, at most `most`; 0: there are more. */
static int64_t distinct(double *out, int64_t most, const double *value, int64_t n)
{
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0;
        while (at < count && out[at] < value[k])
            at++;
        if (at < count && out[at] == value[k])
            continue;
        if (count == most)
            return 0;
        memmove(out + at + 1, out + at, (size_t)(count - at) * sizeof *out);
        out[at] = value[k];
        count++;
    }
    return count;
}

#define MAX_SIDE 64

/* Frames of rows by columns tokens in which each place occurs once. */
static bool fills(const double *y, const double *x, int64_t n, int64_t frame)
{
    for (int64_t k = 0; k < n; k++)
        for (int64_t l = k / frame * frame; l < k; l++)
            if (y[l] == y[k] && x[l] == x[k])
                return false;
    return true;
}

bool posref_twist_grid_rows(struct posref_tensors *set, const struct posref_twisting *t)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        const struct posref_tensor old = set->item[i];
        struct walk w;
        double row[MAX_SIDE], column[MAX_SIDE];
        if (!posref_twist_has_axes(&old) || old.shape[0] < 2 || find_walk(&w, &old))
            continue;
        const int64_t n = old.shape[1], at = (old.shape[0] - 2) * n;
        const double *y = (const double *)old.data + at, *x = y + n;
        const int64_t rows = distinct(row, MAX_SIDE, y, n);
        const int64_t columns = distinct(column, MAX_SIDE, x, n);
        const bool full = rows > 1 && columns > 1 && n % (rows * columns) == 0 &&
                          fills(y, x, n, rows * columns);
        double *data = full ? posref_twist_renew(set, i, t) : NULL;
        for (int64_t k = 0; data && k < n; k++) {
            data[at + k] = row[k / columns % rows];
            data[at + n + k] = column[k % columns];
        }
        changed = changed || data;
    }
    return changed;
}

bool posref_twist_axis_scale(struct posref_tensors *set, const struct posref_twisting *t)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        double *data = posref_twist_has_axes(&set->item[i]) && set->item[i].shape[0] > 1
                           ? posref_twist_renew(set, i, t) : NULL;
        for (int64_t k = 0; data && k < set->item[i].shape[1]; k++)
            data[k] *= t->value;
        changed = changed || data;
    }
    return changed;
}

bool posref_twist_positions_packed(struct posref_tensors *set, const struct posref_twisting *t)
{
    bool changed = false;
    for (int i = 0; i < set->n; i++) {
        const struct posref_tensor old = set->item[i];
        const int64_t n = posref_twist_has_axes(&old) ? old.shape[1] : 0, axes = old.shape[0];
        double *data = n > 1 && axes > 1 ? posref_twist_renew(set, i, t) : NULL;
        for (int64_t k = 0; data && k < axes * n; k++)
            data[k] = ((const double *)old.data)[k % n * axes + k / n];
        changed = changed || data;
    }
    return changed;
}
