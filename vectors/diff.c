/* SPDX-License-Identifier: Apache-2.0 */
/* Where two specs part: the first position, and the pair (or column, channel, head) there, at which
 * their values differ by more than a dtype's spacing.
 *
 * Positions 0 to 4095 are compared one by one, then sixteen in each octave; from the first that
 * differs the search goes back by halves. As long as two frequencies have not yet parted by half a
 * turn, the distance of their points on the circle grows with the position, so nothing earlier is
 * missed. Where a spec has several axes, position p is p on the first, p + 1 on the second, ...:
 * equal coordinates would hide which pair has which axis. */
#include "vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define N_NEAR 4096
#define CHUNK 256
#define PER_OCTAVE 16
#define N_DTYPES 4

enum kind { PAIRS, CHANNELS, COLUMNS, HEADS };

static const struct {
    const char *element, *compared;
} kinds[] = {
    [PAIRS] = {"pair", "cos and sin of each pair, relative to the attention factor"},
    [CHANNELS] = {"channel", "y of a fixed x, since the two rotate different channels"},
    [COLUMNS] = {"column", "the table"},
    [HEADS] = {"head", "the biases of query and key that lie the position apart, relative to "
                       "themselves"},
};

static const struct {
    const char *name;
    double spacing; /* at 1 */
} dtypes[N_DTYPES] = {{"f64", 0x1p-52}, {"f32", 0x1p-23}, {"f16", 0x1p-10}, {"bf16", 0x1p-7}};

struct found {
    bool any;
    double position, difference;
    int64_t element;
    double a[2], b[2];
};

struct comparison {
    enum kind kind;
    const struct posref_spec *spec[2];
    struct posref_spec evaluated[2];
    struct posref_prepared *prepared[2];
    const double *x;          /* one row, for CHANNELS */
    struct posref_heap *heap; /* reset with every evaluation */
    struct found found[N_DTYPES];
    struct posref_error *err;
};

/* One side's values at n positions: value[part][(row * width) + element], part 1 is NULL when the
 * values have one part. */
struct values {
    const double *part[2];
    int64_t width;
    bool by_head; /* the element comes before the row */
};

static void add_input(struct posref_tensors *inputs, const char *name, int64_t rows, int64_t cols,
                      const double *data)
{
    struct posref_tensor *tensor = &inputs->item[inputs->n++];
    *tensor = (struct posref_tensor){.dtype = POSREF_F64, .rank = cols ? 2 : 1,
                                     .shape = {rows, cols}};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    memcpy(&tensor->data, &data, sizeof data); /* inputs are only read */
}

/* Adds positions, for each of the spec's axes one further on than for the one before. */
static enum posref_status add_positions(struct posref_tensors *inputs,
                                        const struct posref_spec *spec, const double *positions,
                                        int64_t n, const struct posref_arena *arena,
                                        struct posref_error *err)
{
    const int n_axes = posref_spec_axes(spec);
    double *rows = arena->alloc(arena->ctx, (size_t)(n_axes * n) * sizeof *rows);
    if (!rows)
        return posref_fail(err, POSREF_NO_MEMORY, "positions", "no memory");
    for (int axis = 0; axis < n_axes; axis++)
        for (int64_t i = 0; i < n; i++)
            rows[axis * n + i] = fmin(positions[i] + axis, POSREF_MAX_POSITION);
    add_input(inputs, "positions", n_axes > 1 ? n_axes : n, n_axes > 1 ? n : 0, rows);
    return POSREF_OK;
}

static enum posref_status evaluate(struct values *out, const struct comparison *of, int side,
                                   const double *positions, const double *rows_of_x, int64_t n,
                                   const struct posref_arena *arena)
{
    static const enum posref_op ops[] = {[PAIRS] = POSREF_OP_TABLE, [CHANNELS] = POSREF_OP_ROTATE,
                                         [COLUMNS] = POSREF_OP_TABLE};
    struct posref_tensors inputs = {.n = 0}, outputs;
    enum posref_status status = add_positions(&inputs, of->spec[side], positions, n, arena,
                                              of->err);
    if (status != POSREF_OK)
        return status;
    if (of->kind == CHANNELS)
        add_input(&inputs, "x", n, of->spec[side]->dim, rows_of_x);
    status = posref_eval_prepared(&outputs, of->prepared[side], ops[of->kind],
                                  &inputs, arena, of->err);
    if (status != POSREF_OK)
        return status;
    *out = (struct values){.by_head = false};
    out->part[0] = outputs.item[0].data;
    out->part[1] = outputs.n > 1 ? outputs.item[1].data : NULL;
    out->width = posref_tensor_count(&outputs.item[0]) / n;
    return POSREF_OK;
}

/* Biases: part 0 of a key at 0 before the query, part 1 of a key after a query at 0. */
static enum posref_status evaluate_bias(struct values *out, const struct comparison *of, int side,
                                        const double *positions, int64_t n,
                                        const struct posref_arena *arena)
{
    static const double zero = 0;
    *out = (struct values){.width = of->spec[side]->num_heads, .by_head = true};
    for (int ahead = 0; ahead < 2; ahead++) {
        struct posref_tensors inputs = {.n = 0}, outputs;
        add_input(&inputs, ahead ? "k_positions" : "q_positions", n, 0, positions);
        add_input(&inputs, ahead ? "q_positions" : "k_positions", 1, 0, &zero);
        enum posref_status status = posref_eval_prepared(&outputs, of->prepared[side],
                                                         POSREF_OP_BIAS, &inputs, arena, of->err);
        if (status != POSREF_OK)
            return status;
        out->part[ahead] = outputs.item[0].data;
    }
    return POSREF_OK;
}

static void read_value(double out[2], const struct values *from, int64_t row, int64_t element,
                       int64_t n)
{
    int64_t at = from->by_head ? element * n + row : row * from->width + element;
    out[0] = from->part[0][at];
    out[1] = from->part[1] ? from->part[1][at] : 0;
}

static double relative(double a, double b)
{
    double scale = fmax(fabs(a), fabs(b));
    return scale > 0 ? fabs(a - b) / scale : 0;
}

/* Distance of two values, relative where the kind says so. */
static double distance(enum kind kind, const double a[2], const double b[2])
{
    if (kind == HEADS)
        return fmax(relative(a[0], b[0]), relative(a[1], b[1]));
    double difference = hypot(a[0] - b[0], a[1] - b[1]);
    double scale = fmax(hypot(a[0], a[1]), hypot(b[0], b[1]));
    if (kind == COLUMNS || kind == CHANNELS || scale == 0)
        return difference;
    return difference / scale;
}

/* Looks through n positions (rising) for the first element beyond each dtype's spacing that has no
 * place yet. */
static enum posref_status compare(struct comparison *of, const double *positions, int64_t n)
{
    struct values side[2];
    posref_heap_reset(of->heap);
    struct posref_arena arena = posref_heap_arena(of->heap);
    int64_t dim = of->kind == CHANNELS ? of->spec[0]->dim : 0;
    double *x = arena.alloc(arena.ctx, (size_t)(n * dim) * sizeof *x);
    if (!x)
        return posref_fail(of->err, POSREF_NO_MEMORY, "", "no memory");
    for (int64_t row = 0; row < n && dim; row++)
        memcpy(x + row * dim, of->x, (size_t)dim * sizeof *x);
    for (int s = 0; s < 2; s++) {
        enum posref_status status =
            of->kind == HEADS ? evaluate_bias(&side[s], of, s, positions, n, &arena)
                              : evaluate(&side[s], of, s, positions, x, n, &arena);
        if (status != POSREF_OK)
            return status;
    }
    for (int64_t row = 0; row < n; row++) {
        for (int64_t element = 0; element < side[0].width; element++) {
            double a[2], b[2];
            read_value(a, &side[0], row, element, n);
            read_value(b, &side[1], row, element, n);
            double difference = distance(of->kind, a, b);
            for (int d = 0; d < N_DTYPES && difference > dtypes[d].spacing; d++)
                if (!of->found[d].any)
                    of->found[d] = (struct found){true, positions[row], difference, element,
                                                  {a[0], a[1]}, {b[0], b[1]}};
        }
    }
    return POSREF_OK;
}

/* Dtype d parts at `high` but not at `low`: finds where in between it begins. */
static enum posref_status go_back(struct comparison *of, int d, double low, double high)
{
    const struct found at_high = of->found[d];
    struct found best = at_high;
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        of->found[d].any = false;
        enum posref_status status = compare(of, &middle, 1);
        if (status != POSREF_OK)
            return status;
        if (of->found[d].any) {
            high = middle;
            best = of->found[d];
        } else {
            low = middle;
        }
    }
    of->found[d] = best;
    return POSREF_OK;
}

static enum posref_status search_near(struct comparison *of)
{
    for (int begin = 0; begin < N_NEAR; begin += CHUNK) {
        double positions[CHUNK];
        for (int i = 0; i < CHUNK; i++)
            positions[i] = begin + i;
        enum posref_status status = compare(of, positions, CHUNK);
        if (status != POSREF_OK || of->found[N_DTYPES - 1].any)
            return status;
    }
    return POSREF_OK;
}

static enum posref_status search_far(struct comparison *of)
{
    double last = N_NEAR - 1;
    for (double octave = N_NEAR; octave < POSREF_MAX_POSITION; octave *= 2) {
        for (int i = 1; i <= PER_OCTAVE; i++) {
            double position = fmin(octave + octave / PER_OCTAVE * i, POSREF_MAX_POSITION);
            bool before[N_DTYPES];
            for (int d = 0; d < N_DTYPES; d++)
                before[d] = of->found[d].any;
            enum posref_status status = compare(of, &position, 1);
            for (int d = 0; d < N_DTYPES && status == POSREF_OK; d++)
                if (of->found[d].any && !before[d])
                    status = go_back(of, d, last, position);
            if (status != POSREF_OK || of->found[N_DTYPES - 1].any)
                return status;
            last = position;
        }
    }
    return POSREF_OK;
}

/* The same channels turn together, in the same sense. */
static bool same_axes(const struct posref_spec *a, const struct posref_spec *b)
{
    return a->axes_order == b->axes_order && a->axes_span == b->axes_span &&
           memcmp(&a->axes_dims, &b->axes_dims, sizeof a->axes_dims) == 0;
}

static bool same_layout(const struct posref_spec *a, const struct posref_spec *b)
{
    if (!same_axes(a, b))
        return false;
    return a->rotary_dim == b->rotary_dim && a->direction == b->direction &&
           a->partial == b->partial && (a->pairing == b->pairing || a->rotary_dim == 2);
}

static enum posref_status choose_kind(enum kind *out, const struct posref_spec *a,
                                      const struct posref_spec *b, struct posref_error *err)
{
    if (a->scheme != b->scheme)
        return posref_fail(err, POSREF_BAD_INPUT, "scheme", "a and b have different schemes (%s "
                           "and %s): there is nothing to compare",
                           posref_scheme_info((enum posref_scheme)a->scheme)->name,
                           posref_scheme_info((enum posref_scheme)b->scheme)->name);
    if (a->given[POSREF_FIELD_DIM] && a->dim != b->dim)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "is %d in a and %d in b: there is nothing "
                           "to compare", a->dim, b->dim);
    if (a->given[POSREF_FIELD_NUM_HEADS] && a->num_heads != b->num_heads)
        return posref_fail(err, POSREF_BAD_INPUT, "num_heads", "is %d in a and %d in b: there is "
                           "nothing to compare", a->num_heads, b->num_heads);
    *out = a->scheme == POSREF_SCHEME_ALIBI        ? HEADS
           : a->given[POSREF_FIELD_DIM] && !a->given[POSREF_FIELD_ROTARY_DIM] ? COLUMNS
           : same_layout(a, b)                     ? PAIRS
                                                   : CHANNELS;
    return POSREF_OK;
}

static void add_point(struct posref_buffer *out, const double value[2], enum kind kind)
{
    static const char *const names[][2] = {[PAIRS] = {"{\"cos\": ", ", \"sin\": "},
                                           [HEADS] = {"{\"before\": ", ", \"after\": "}};
    bool both = kind == PAIRS || kind == HEADS;
    posref_buffer_text(out, both ? names[kind][0] : "");
    posref_buffer_number(out, value[0]);
    if (!both)
        return;
    posref_buffer_text(out, names[kind][1]);
    posref_buffer_number(out, value[1]);
    posref_buffer_text(out, "}");
}

static void add_found(struct posref_buffer *out, const struct comparison *of, int d)
{
    const struct found *found = &of->found[d];
    posref_buffer_printf(out, "%s{\"dtype\": \"%s\", \"position\": ", d ? ", " : "",
                         dtypes[d].name);
    if (!found->any) {
        posref_buffer_text(out, "null}");
        return;
    }
    posref_buffer_number(out, found->position);
    posref_buffer_printf(out, ", \"%s\": %" PRId64 ", \"a\": ", kinds[of->kind].element,
                         found->element);
    add_point(out, found->a, of->kind);
    posref_buffer_text(out, ", \"b\": ");
    add_point(out, found->b, of->kind);
    posref_buffer_text(out, ", \"difference\": ");
    posref_buffer_number(out, found->difference);
    posref_buffer_text(out, ", \"ulps\": ");
    posref_buffer_number(out, found->difference / dtypes[d].spacing);
    posref_buffer_text(out, "}");
}

static bool same_field(const struct posref_spec *a, const struct posref_spec *b,
                       enum posref_field field)
{
    struct posref_buffer text[2];
    for (int s = 0; s < 2; s++) {
        posref_buffer_init(&text[s], 256);
        posref_buffer_text(&text[s], "=");
        posref_field_text(&text[s], s ? b : a, field);
    }
    bool same = strcmp(text[0].data, text[1].data) == 0;
    posref_buffer_clear(&text[0]);
    posref_buffer_clear(&text[1]);
    return same;
}

static void add_answer(struct posref_buffer *out, const struct comparison *of)
{
    const char *separator = "";
    posref_buffer_text(out, "{\"a\": ");
    posref_spec_json(out, of->spec[0]);
    posref_buffer_text(out, ", \"b\": ");
    posref_spec_json(out, of->spec[1]);
    posref_buffer_text(out, ", \"differing\": [");
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (same_field(of->spec[0], of->spec[1], (enum posref_field)f))
            continue;
        posref_buffer_text(out, separator);
        posref_buffer_json_string(out, posref_field_def((enum posref_field)f)->name);
        separator = ", ";
    }
    posref_buffer_printf(out, "], \"compared\": \"%s\", \"parts\": [", kinds[of->kind].compared);
    for (int d = 0; d < N_DTYPES; d++)
        add_found(out, of, d);
    posref_buffer_text(out, "]}\n");
}

static enum posref_status prepare(struct comparison *of, const struct posref_arena *arena)
{
    enum posref_status status = POSREF_OK;
    int64_t dim = of->spec[0]->dim;
    double *x = arena->alloc(arena->ctx, (size_t)(dim > 0 ? dim : 1) * sizeof *x);
    of->heap = posref_heap_new(0);
    if (!of->heap || !x)
        return posref_fail(of->err, POSREF_NO_MEMORY, "", "no memory");
    for (int64_t i = 0; i < dim; i++) /* unequal neighbours, signs mixed, sizes 1 to 2 */
        x[i] = (i * 7 % 3 == 1 ? -1.0 : 1.0) * (1 + (double)(i * 37 % 64) / 64);
    of->x = x;
    for (int s = 0; s < 2 && status == POSREF_OK; s++) {
        of->evaluated[s] = *of->spec[s]; /* cos and sin apart: a layout changes no value */
        of->evaluated[s].given[POSREF_FIELD_TABLE_LAYOUT] = false;
        status = posref_prepare(&of->prepared[s], &of->evaluated[s], arena, of->err);
    }
    return status;
}

enum posref_status posref_diff_answer(struct posref_buffer *out, const struct posref_spec *a,
                                      const struct posref_spec *b,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_spec complete[2] = {*a, *b};
    struct comparison of = {.spec = {&complete[0], &complete[1]}, .err = err};
    enum posref_status status = posref_spec_complete(&complete[0], err);
    if (status == POSREF_OK)
        status = posref_spec_complete(&complete[1], err);
    if (status == POSREF_OK)
        status = choose_kind(&of.kind, &complete[0], &complete[1], err);
    if (status == POSREF_OK)
        status = prepare(&of, arena);
    if (status == POSREF_OK)
        status = search_near(&of);
    if (status == POSREF_OK && !of.found[N_DTYPES - 1].any)
        status = search_far(&of);
    posref_heap_free(of.heap);
    if (status != POSREF_OK)
        return status;
    add_answer(out, &of);
    return out->failed ? posref_fail(err, POSREF_NO_MEMORY, "", "no memory") : POSREF_OK;
}
