/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of rope's tables. With c_i, s_i of pair i < n a row is
 *
 *   split        cos = c_0 ..., sin = s_0 ...              flash-attn, ONNX
 *   cos_sin      c_0 ... c_(n-1) s_0 ... s_(n-1)           vLLM's cos_sin_cache
 *   concat       cos = c_0 ... c_(n-1) c_0 ... c_(n-1)     Llama in Hugging Face
 *   repeat       cos = c_0 c_0 c_1 c_1 ...                 Cohere in Hugging Face, diffusers
 *   complex      (c_0, s_0), (c_1, s_1) ...                Meta's freqs_cis
 *   matrix       ((c_0, -s_0), (s_0, c_0)) ...             Flux
 *   sin_cos      s_0 ... s_(n-1) c_0 ... c_(n-1)           GPT-J, RoFormer in Hugging Face
 *   interleaved  c_0 s_0 c_1 s_1 ...                       ggml's cache
 *   angles       p w_0, p w_1 ...                          TransformerEngine
 *
 * sin is laid out as cos is where the two are apart. */
#include "rope_table.h"

bool rope_table_read(struct rope_table *t, struct oracle_case *c)
{
    static const char *const names[] = {"split", "cos_sin", "concat", "repeat", "complex",
                                        "matrix", "sin_cos", "interleaved", "angles"};
    t->cos = oracle_output(c, "cos");
    t->sin = oracle_output(c, "sin");
    t->table = oracle_output(c, "table");
    t->angles = oracle_output(c, "angles");
    t->layout = ROPE_SPLIT;
    if (!oracle_has(c, "table_layout"))
        return true;
    for (int k = 0; k <= ROPE_ANGLES; k++)
        if (oracle_is(c, "table_layout", names[k])) {
            t->layout = (enum rope_layout)k;
            return true;
        }
    return oracle_fail(c, "table_layout: the oracle has no formula for it");
}

bool rope_table_any(const struct rope_table *t)
{
    return t->cos || t->sin || t->table || t->angles;
}

bool rope_table_shaped(struct rope_table *t, struct oracle_case *c, int64_t positions, int64_t n)
{
    enum rope_layout l = t->layout;
    bool angles = l == ROPE_ANGLES, apart = l == ROPE_SPLIT || l == ROPE_CONCAT || l == ROPE_REPEAT;
    int64_t narrow[2] = {positions, n}, wide[2] = {positions, 2 * n};
    int64_t deep[4] = {positions, n, 2, 2};
    int rank = l == ROPE_COMPLEX ? 3 : l == ROPE_MATRIX ? 4 : 2;
    const int64_t *both = l == ROPE_SPLIT ? narrow : wide;
    t->n = n;
    if ((t->angles && !angles) || (t->table && (angles || apart)) || ((t->cos || t->sin) && !apart))
        return oracle_fail(c, "an output that this table_layout does not have");
    return (!t->cos || oracle_shaped(c, t->cos, 2, both)) &&
           (!t->sin || oracle_shaped(c, t->sin, 2, both)) &&
           (!t->angles || oracle_shaped(c, t->angles, 2, narrow)) &&
           (!t->table || oracle_shaped(c, t->table, rank, rank == 2 ? wide : deep));
}

/* cos or sin, apart. */
static bool judge_apart(const struct rope_table *t, struct oracle_tally *tally,
                        struct oracle_case *c, struct oracle_tensor *out, int64_t row, int64_t i,
                        const arb_t value, slong prec)
{
    if (!out)
        return true;
    if (t->layout == ROPE_SPLIT)
        return oracle_judge(tally, c, out, row * t->n + i, value, prec);
    int64_t first = t->layout == ROPE_CONCAT ? i : 2 * i;
    int64_t second = t->layout == ROPE_CONCAT ? t->n + i : 2 * i + 1;
    bool done = oracle_judge(tally, c, out, row * 2 * t->n + first, value, prec);
    return oracle_judge(tally, c, out, row * 2 * t->n + second, value, prec) && done;
}

static bool judge_matrix(const struct rope_table *t, struct oracle_tally *tally,
                         struct oracle_case *c, int64_t at, const arb_t cosine, const arb_t sine,
                         slong prec)
{
    arb_t minus;
    arb_init(minus);
    arb_neg(minus, sine);
    bool done = oracle_judge(tally, c, t->table, at, cosine, prec);
    done &= oracle_judge(tally, c, t->table, at + 1, minus, prec);
    done &= oracle_judge(tally, c, t->table, at + 2, sine, prec);
    done &= oracle_judge(tally, c, t->table, at + 3, cosine, prec);
    arb_clear(minus);
    return done;
}

bool rope_table_judge(const struct rope_table *t, struct oracle_tally *tally, struct oracle_case *c,
                      int64_t row, int64_t i, const arb_t cosine, const arb_t sine, slong prec)
{
    bool done = judge_apart(t, tally, c, t->cos, row, i, cosine, prec);
    done &= judge_apart(t, tally, c, t->sin, row, i, sine, prec);
    if (!t->table)
        return done;
    if (t->layout == ROPE_MATRIX)
        return judge_matrix(t, tally, c, (row * t->n + i) * 4, cosine, sine, prec) && done;
    bool joined = t->layout == ROPE_COS_SIN || t->layout == ROPE_SIN_COS;
    int64_t first = row * 2 * t->n + (joined ? i : 2 * i), second = first + (joined ? t->n : 1);
    bool flipped = t->layout == ROPE_SIN_COS;
    done &= oracle_judge(tally, c, t->table, first, flipped ? sine : cosine, prec);
    return oracle_judge(tally, c, t->table, second, flipped ? cosine : sine, prec) && done;
}

bool rope_table_angle(const struct rope_table *t, struct oracle_tally *tally,
                      struct oracle_case *c, int64_t row, int64_t i, const arb_t angle, slong prec)
{
    return !t->angles || oracle_judge(tally, c, t->angles, row * t->n + i, angle, prec);
}
