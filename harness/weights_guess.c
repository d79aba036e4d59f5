/* SPDX-License-Identifier: Apache-2.0 */
/* What posref weights guess reports: what one checkpoint alone says of the order of its rows. A
 * family's rule is a rule; statistics of rows are weak evidence and never a verdict.
 *
 * The statistic: training treats the two rows of a rotated pair alike, so their norms tend to be
 * closer than those of other rows. It is the mean squared difference of the logarithms of the
 * norms in the pairs of each order, over both. */
#include "harness/weights_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 1024
#define LEAN 1.25 /* how many times closer the pairs of one order must be to be said to lean */

struct spread {
    double half, interleaved; /* sums of squared differences */
    int64_t n_pairs, n_tensors;
};

struct norming {
    const struct posref_weights_part *part;
    double *norm; /* logarithm of each row's norm */
};

static double log_norm(const struct posref_weights_part *part, int64_t row)
{
    float value[CHUNK];
    const struct posref_stored *tensor = part->tensor;
    const unsigned char *data = tensor->data + posref_weights_row(part, row) * part->row_bytes;
    double sum = 0;
    for (int64_t at = 0; at < part->row_elements; at += CHUNK) {
        int64_t n = part->row_elements - at < CHUNK ? part->row_elements - at : CHUNK;
        posref_decode(value, tensor->type, data + at / tensor->block_elements *
                      tensor->block_bytes, n);
        for (int64_t c = 0; c < n; c++)
            sum += (double)value[c] * (double)value[c];
    }
    return sum > 0 ? 0.5 * log(sum) : (double)-INFINITY;
}

static void norm_task(void *ctx, int64_t row)
{
    const struct norming *n = ctx;
    n->norm[row] = log_norm(n->part, row);
}

/* Adds the rows of one part; rows of zeros say nothing. */
static void add_spread(struct spread *spread, const struct posref_weights_part *part,
                       const double *norm)
{
    int64_t half = part->rotary_rows / 2;
    for (int64_t head = 0; head < part->n_heads; head++) {
        const double *rows = norm + head * part->head_rows + part->rotary_first;
        for (int64_t i = 0; i < half; i++) {
            double a = rows[i] - rows[i + half], b = rows[2 * i] - rows[2 * i + 1];
            if (!isfinite(a) || !isfinite(b))
                continue;
            spread->half += a * a;
            spread->interleaved += b * b;
            spread->n_pairs++;
        }
    }
    spread->n_tensors++;
}

static enum posref_status measure(struct spread *spread, const struct posref_weights_side *side,
                                  bool norms, int n_threads, struct posref_error *err)
{
    for (size_t i = 0; i < side->n_parts; i++) {
        const struct posref_weights_part *part = &side->part[i];
        bool wanted = part->name.kind == (norms ? POSREF_KIND_NORM : POSREF_KIND_WEIGHT);
        if (!wanted || part->name.role == POSREF_ROLE_V || !part->dims_known ||
            part->rotary_rows < 4 || !posref_decode_knows(part->tensor->type))
            continue;
        int64_t n = part->n_heads * part->head_rows;
        struct norming norming = {part, calloc((size_t)n + 1, sizeof(double))};
        if (!norming.norm)
            return posref_fail(err, POSREF_NO_MEMORY, part->tensor->name, "no memory");
        enum posref_status status = posref_weights_run(norm_task, &norming, n, n_threads, err);
        if (status == POSREF_OK)
            add_spread(spread, part, norming.norm);
        free(norming.norm);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static const char *leans(const struct spread *spread)
{
    if (spread->n_pairs < 16)
        return "neither";
    if (spread->interleaved > LEAN * spread->half)
        return "half";
    if (spread->half > LEAN * spread->interleaved)
        return "interleaved";
    return "neither";
}

static void add_number(struct posref_buffer *out, double x)
{
    char text[POSREF_NUMBER_SIZE];
    posref_number_format(text, x);
    posref_buffer_text(out, text);
}

static void add_statistic(struct posref_buffer *out, bool json, const char *source,
                          const struct spread *spread)
{
    double n = spread->n_pairs > 0 ? (double)spread->n_pairs : 1;
    if (spread->n_tensors == 0)
        return;
    if (!json) {
        posref_buffer_printf(out, "weak evidence, %s of %lld tensors: lean to %s (mean squared "
                             "difference in pairs: half %.4g, interleaved %.4g)\n", source,
                             (long long)spread->n_tensors, leans(spread), spread->half / n,
                             spread->interleaved / n);
        return;
    }
    posref_buffer_printf(out, ",\n  {\"source\": \"%s\", \"strength\": \"weak\", "
                         "\"leans\": \"%s\", \"tensors\": %lld, \"pairs\": %lld, \"half\": ",
                         source, leans(spread), (long long)spread->n_tensors,
                         (long long)spread->n_pairs);
    add_number(out, spread->half / n);
    posref_buffer_text(out, ", \"interleaved\": ");
    add_number(out, spread->interleaved / n);
    posref_buffer_text(out, "}");
}

static void add_rule(struct posref_buffer *out, bool json,
                     const struct posref_weights_geometry *g)
{
    const char *order = posref_weights_order_name(g->order);
    const char *source = g->gguf ? "GGUF architecture" : "config family";
    bool known = g->order != POSREF_ORDER_UNKNOWN;
    if (json) {
        posref_buffer_printf(out, "{\"pairing\": \"%s\", \"strength\": \"%s\", \"verdict\": null, "
                             "\"evidence\": [{\"source\": \"%s\", \"strength\": \"%s\", \"name\": ",
                             order, known ? "rule" : "none", source, known ? "rule" : "none");
        posref_buffer_json_string(out, g->family);
        posref_buffer_printf(out, ", \"pairing\": \"%s\"}", order);
        return;
    }
    if (!known)
        posref_buffer_printf(out, "rule: none; %s %s%s%s is not known\n", source,
                             g->family[0] ? "\"" : "", g->family[0] ? g->family : "missing, it",
                             g->family[0] ? "\"" : "");
    else
        posref_buffer_printf(out, "rule: checkpoints of %s %s are for a kernel that pairs %s\n",
                             source, g->family, order);
}

enum posref_status posref_weights_guess(struct posref_buffer *out, bool json,
                                        const struct posref_weights_side *side, int n_threads,
                                        struct posref_error *err)
{
    struct spread rows = {0}, gains = {0};
    enum posref_status status = measure(&rows, side, false, n_threads, err);
    if (status == POSREF_OK)
        status = measure(&gains, side, true, n_threads, err);
    if (status != POSREF_OK)
        return status;
    add_rule(out, json, &side->geometry);
    add_statistic(out, json, "row norms", &rows);
    add_statistic(out, json, "norm gains", &gains);
    posref_buffer_text(out, json ? "]}\n"
                                 : "this is no verdict: only `weights check` against the original "
                                   "decides\n");
    return POSREF_OK;
}
