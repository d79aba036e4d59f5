/* SPDX-License-Identifier: Apache-2.0 */
/* End to end: an attention layer with random weights in half order is ported to interleaved, and
 * its scores through the reference stay; then each known mistake is made: the scores change, and
 * weights check says which mistake it was. */
#include "tests/unit/suite.h"
#include "tests/unit/weights_fixture.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEADS 12
#define KV_HEADS 2
#define HIDDEN 24
#define TOKENS 3
#define N_SCORES (HEADS * TOKENS * TOKENS)

static const double positions[TOKENS] = {0, 5, 2049};

/* A layer's shape: rotary rows first.. first + rotary - 1 of a head of dim; latent attention has
 * one k head, whose rope rows follow kv_lora others. */
struct shape {
    int64_t dim, first, rotary, kv_lora;
};

static const struct shape shapes[] = {
    {12, 0, 12, 0}, {16, 0, 16, 0}, {64, 0, 64, 0}, {96, 0, 96, 0}, {128, 0, 128, 0},
    {24, 0, 12, 0}, {64, 0, 16, 0}, {96, 0, 48, 0}, {24, 8, 16, 40}, {192, 128, 64, 80}};
#define N_SHAPES ((int)(sizeof shapes / sizeof *shapes))

enum part { Q, K, Q_BIAS, K_BIAS, Q_NORM, K_NORM };
static const char *const separate[] = {"q_proj.weight", "k_proj.weight", "q_proj.bias",
                                       "k_proj.bias", "q_norm.weight", "k_norm.weight"};
static const char *const latent[] = {"q_b_proj.weight", "kv_a_proj_with_mqa.weight"};

static struct made_tensor *part_of(struct made_model *model, const struct shape *shape, int part)
{
    char name[128];
    snprintf(name, sizeof name, "model.layers.0.self_attn.%s",
             shape->kv_lora > 0 ? latent[part] : separate[part]);
    return made_find(model, name);
}

static int64_t heads_of(const struct shape *shape, int part)
{
    return part >= Q_NORM ? 1 : part % 2 == 0 ? HEADS : shape->kv_lora > 0 ? 1 : KV_HEADS;
}

static void make(struct made_model *model, const struct shape *shape)
{
    char config[320], name[128];
    made_init(model, (uint64_t)(shape->dim * 1000 + shape->rotary));
    for (int part = 0; part < (shape->kv_lora > 0 ? 2 : 6); part++) {
        int64_t rows = shape->kv_lora > 0 && part == K ? shape->kv_lora + shape->rotary
                                                       : heads_of(shape, part) * shape->dim;
        snprintf(name, sizeof name, "model.layers.0.self_attn.%s",
                 shape->kv_lora > 0 ? latent[part] : separate[part]);
        made_add(model, name, rows, part < 2 ? HIDDEN : 0);
    }
    if (shape->kv_lora > 0)
        snprintf(config, sizeof config, "{\"model_type\":\"llama\",\"num_attention_heads\":%d,"
                 "\"qk_nope_head_dim\":%lld,\"qk_rope_head_dim\":%lld,\"kv_lora_rank\":%lld}",
                 HEADS, (long long)shape->first, (long long)shape->rotary,
                 (long long)shape->kv_lora);
    else
        snprintf(config, sizeof config, "{\"model_type\":\"llama\",\"num_attention_heads\":%d,"
                 "\"num_key_value_heads\":%d,\"head_dim\":%lld,\"rotary_dim\":%lld}", HEADS,
                 KV_HEADS, (long long)shape->dim, (long long)shape->rotary);
    made_save_text(in("config.json"), config);
}

/* Permutes one part's rotary rows, once. */
static void port(struct made_model *model, const struct shape *shape, int part, bool to_half)
{
    struct made_tensor *t = part_of(model, shape, part);
    bool latent_k = shape->kv_lora > 0 && part == K;
    if (t)
        made_port(t, heads_of(shape, part), latent_k ? shape->kv_lora : shape->first,
                  shape->rotary, to_half);
}

static void port_all(struct made_model *model, const struct shape *shape, bool to_half)
{
    for (int part = Q; part <= K_NORM; part++)
        if (shape->kv_lora == 0 || part <= K)
            port(model, shape, part, to_half);
}

/* ---- scores ---- */

/* The rotary rows of one projection of every token, rotated by the reference:
 * y[token][head][rotary], from x = gains * normalised(weight * token + bias). The latent k head is
 * shared by all q heads. The rest of the head adds the same to every score and is left out. */
static void project(double *y, struct made_model *model, const struct shape *shape, int part,
                    enum posref_pairing pairing, const struct posref_arena *arena)
{
    const struct made_tensor *weight = part_of(model, shape, part);
    const struct made_tensor *bias = shape->kv_lora ? NULL : part_of(model, shape, part + Q_BIAS);
    const struct made_tensor *gain = shape->kv_lora ? NULL : part_of(model, shape, part + Q_NORM);
    int64_t heads = heads_of(shape, part), rows = weight->rows / heads;
    int64_t first = shape->kv_lora && part == K ? shape->kv_lora : shape->first;
    struct made_model tokens;
    made_init(&tokens, 99);
    for (int64_t token = 0; token < TOKENS; token++) {
        double input[HIDDEN];
        for (int c = 0; c < HIDDEN; c++)
            input[c] = made_random(&tokens) - 0.5;
        for (int64_t head = 0; head < heads; head++) {
            double x[256], square = 0;
            for (int64_t i = 0; i < rows; i++) {
                int64_t row = head * rows + i;
                x[i] = bias ? (double)bias->value[row] : 0;
                for (int c = 0; c < HIDDEN; c++)
                    x[i] += (double)weight->value[row * HIDDEN + c] * input[c];
                square += x[i] * x[i];
            }
            for (int64_t i = 0; i < shape->rotary; i++) {
                int64_t row = first + i;
                double scale = gain ? (double)gain->value[row] / sqrt(square / (double)rows) : 1;
                y[(token * heads + head) * shape->rotary + i] = x[row] * scale;
            }
        }
    }
    struct posref_spec spec;
    struct posref_error *err = &fixture.err;
    char dim[24];
    snprintf(dim, sizeof dim, "%lld", (long long)shape->rotary);
    posref_spec_init(&spec);
    ck_assert_int_eq(posref_spec_set(&spec, "scheme", "rope", err), POSREF_OK);
    ck_assert_int_eq(posref_spec_set(&spec, "dim", dim, err), POSREF_OK);
    ck_assert_int_eq(posref_spec_set(&spec, "pairing", pairing == POSREF_PAIRING_HALF
                                     ? "half" : "interleaved", err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&spec, err), POSREF_OK);
    double at[TOKENS];
    memcpy(at, positions, sizeof at);
    struct posref_tensors inputs = {.n = 2, .item = {
        {"positions", POSREF_F64, 1, {TOKENS}, at},
        {"x", POSREF_F64, 3, {TOKENS, heads, shape->rotary}, y}}};
    struct posref_tensors outputs;
    ck_assert_msg(posref_eval(&outputs, &spec, POSREF_OP_ROTATE, &inputs, arena, err) == POSREF_OK,
                  "%s: %s", err->key, err->text);
    memcpy(y, posref_tensors_find(&outputs, "y")->data,
           (size_t)(TOKENS * heads * shape->rotary) * sizeof *y);
}

static void scores(double out[N_SCORES], struct made_model *model, const struct shape *shape,
                   enum posref_pairing pairing)
{
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    int64_t k_heads = heads_of(shape, K), r = shape->rotary;
    double *q = malloc((size_t)(TOKENS * HEADS * r) * sizeof *q);
    double *k = malloc((size_t)(TOKENS * k_heads * r) * sizeof *k);
    project(q, model, shape, Q, pairing, &arena);
    project(k, model, shape, K, pairing, &arena);
    for (int64_t head = 0; head < HEADS; head++)
        for (int64_t m = 0; m < TOKENS; m++)
            for (int64_t n = 0; n < TOKENS; n++) {
                double sum = 0;
                for (int64_t i = 0; i < r; i++)
                    sum += q[(m * HEADS + head) * r + i] *
                           k[(n * k_heads + head / (HEADS / k_heads)) * r + i];
                out[(head * TOKENS + m) * TOKENS + n] = sum;
            }
    free(q);
    free(k);
    posref_heap_free(heap);
}

/* Largest difference over the largest magnitude. */
static double distance(const double a[N_SCORES], const double b[N_SCORES])
{
    double worst = 0, largest = 0;
    for (int i = 0; i < N_SCORES; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        largest = fmax(largest, fabs(a[i]));
    }
    return worst / largest;
}

/* Reads a ported file back into the model's tensors. */
static void load(struct made_model *model, const char *path)
{
    struct posref_checkpoint c;
    ck_assert_int_eq(posref_checkpoint_open(&c, path, &fixture.err), POSREF_OK);
    for (int i = 0; i < model->n; i++) {
        const struct posref_stored *t = posref_checkpoint_find(&c, model->tensor[i].name);
        memcpy(model->tensor[i].value, t->data, t->size_bytes);
    }
    posref_checkpoint_close(&c);
}

static void permute(const char *from, const char *to)
{
    static const struct posref_weights_options none;
    struct posref_weights_side side;
    struct posref_weights_plan plan;
    ck_assert_int_eq(posref_weights_open(&side, from, &none, &fixture.err), POSREF_OK);
    ck_assert_int_eq(posref_weights_cut(&side, &fixture.err), POSREF_OK);
    ck_assert_msg(posref_weights_permute(&plan, &side, to, false, false, &fixture.err) == POSREF_OK,
                  "%s", fixture.err.text);
    posref_buffer_clear(&plan.text);
    posref_buffer_clear(&plan.json);
    posref_weights_close(&side);
}

START_TEST(a_right_port_keeps_the_scores)
{
    for (int s = 0; s < N_SHAPES; s++) {
        struct made_model model, ported;
        double before[N_SCORES], after[N_SCORES], other[N_SCORES];
        make(&model, &shapes[s]);
        made_save_safetensors(&model, in("a.safetensors"));
        permute(in("a.safetensors"), in("b.safetensors"));
        made_copy(&ported, &model);
        load(&ported, in("b.safetensors"));
        scores(before, &model, &shapes[s], POSREF_PAIRING_HALF);
        scores(after, &ported, &shapes[s], POSREF_PAIRING_INTERLEAVED);
        scores(other, &ported, &shapes[s], POSREF_PAIRING_HALF);
        ck_assert_msg(distance(before, after) < 1e-13, "%d: %g", s, distance(before, after));
        ck_assert_msg(distance(before, other) > 1e-3, "%d: %g", s, distance(before, other));
        ck_assert_int_eq(compare_paths(in("a.safetensors"), in("b.safetensors"), NULL), POSREF_OK);
        ck_assert_str_eq(fixture.result.kernel_pairing, "interleaved");
        ck_assert(fixture.result.consistent);
        ck_assert_int_eq(wrong_count(), 0);
        made_clear(&model);
        made_clear(&ported);
    }
}
END_TEST

enum mistake { Q_ONLY, K_ONLY, NO_BIAS, NO_NORM, INVERSE, TWICE, QUERY_HEADS, ORDER, WHOLE_HEAD,
               FEWER_ROWS, SHUFFLED, N_MISTAKES };

static const struct {
    const char *fault;
    enum posref_weights_mapping mapping;
    int part;
} names[] = {
    [Q_ONLY] = {"q_k_disagree", POSREF_MAPPING_IDENTITY, K},
    [K_ONLY] = {"q_k_disagree", POSREF_MAPPING_IDENTITY, Q},
    [NO_BIAS] = {"bias_not_permuted", POSREF_MAPPING_IDENTITY, Q_BIAS},
    [NO_NORM] = {"norm_not_permuted", POSREF_MAPPING_IDENTITY, K_NORM},
    [INVERSE] = {"wrong_direction", POSREF_MAPPING_INTERLEAVED_TO_HALF, K},
    [TWICE] = {"applied_twice", POSREF_MAPPING_APPLIED_TWICE, Q},
    [QUERY_HEADS] = {"wrong_head_count", POSREF_MAPPING_WRONG_HEAD_COUNT, K},
    [ORDER] = {"heads_reordered", POSREF_MAPPING_HEADS_REORDERED, Q},
    [WHOLE_HEAD] = {"rotary_dim_ignored", POSREF_MAPPING_HALF_TO_INTERLEAVED, Q},
    [FEWER_ROWS] = {"rotary_rows_wrong", POSREF_MAPPING_ROTARY_ROWS_ONLY, Q},
    [SHUFFLED] = {"rows_unexplained", POSREF_MAPPING_NONE, K},
};

/* Makes a mistake in a model that is still as it was; false where it cannot be made. */
static bool err_so(struct made_model *model, const struct shape *shape, enum mistake mistake)
{
    bool partial = shape->rotary < shape->dim, is_latent = shape->kv_lora > 0;
    struct made_tensor *q = part_of(model, shape, Q), *k = part_of(model, shape, K);
    int64_t source[256 * HEADS], k_per_query = k->rows / HEADS;
    switch (mistake) {
    case Q_ONLY: port(model, shape, Q, false); return !is_latent;
    case K_ONLY: port(model, shape, K, false); return true;
    case NO_BIAS:
    case NO_NORM:
        if (is_latent)
            return false;
        port_all(model, shape, false);
        port(model, shape, mistake == NO_BIAS ? Q_BIAS : K_NORM, true);
        return true;
    case INVERSE: port_all(model, shape, true); return true;
    case TWICE:
        port_all(model, shape, false);
        port_all(model, shape, false);
        return true;
    case QUERY_HEADS:
        if (partial || is_latent || k->rows % HEADS != 0 || k_per_query % 2 != 0 || k_per_query < 4)
            return false;
        port_all(model, shape, false);
        port(model, shape, K, true);
        made_port(k, HEADS, 0, k_per_query, false);
        return true;
    case ORDER:
        port_all(model, shape, false);
        for (int64_t row = 0; row < q->rows; row++)
            source[row] = (row + shape->dim) % q->rows;
        made_move_rows(q, source);
        return true;
    case WHOLE_HEAD:
    case FEWER_ROWS:
        if (is_latent || (mistake == WHOLE_HEAD && !partial))
            return false;
        for (int part = Q; part <= K_NORM; part++)
            made_port(part_of(model, shape, part), heads_of(shape, part), 0,
                      mistake == WHOLE_HEAD ? shape->dim : shape->rotary - 2, false);
        return true;
    default:
        port_all(model, shape, false);
        for (int64_t row = 0; row < k->rows; row++)
            source[row] = (row * 5 + 3) % k->rows;
        made_move_rows(k, source);
        return k->rows % 5 != 0;
    }
}

START_TEST(every_mistake_changes_scores_and_is_named)
{
    int made[N_MISTAKES] = {0};
    for (int s = 0; s < N_SHAPES; s++)
        for (int mistake = 0; mistake < N_MISTAKES; mistake++) {
            const struct shape *shape = &shapes[s];
            struct made_model model, wrong;
            double before[N_SCORES], after[N_SCORES];
            make(&model, shape);
            made_copy(&wrong, &model);
            if (err_so(&wrong, shape, (enum mistake)mistake)) {
                made[mistake]++;
                scores(before, &model, shape, POSREF_PAIRING_HALF);
                for (int pairing = 0; pairing < 2; pairing++) { /* no kernel mends it */
                    scores(after, &wrong, shape, (enum posref_pairing)pairing);
                    ck_assert_msg(distance(before, after) > 1e-3, "%s of %d: %g",
                                  names[mistake].fault, s, distance(before, after));
                }
                ck_assert_msg(compare_models(&model, &wrong, NULL) == POSREF_OK, "%s",
                              fixture.err.text);
                ck_assert_msg(finding_of(names[mistake].fault) != NULL, "%s of %d: %s",
                              names[mistake].fault, s, fixture.result.n_findings
                              ? fixture.result.finding[0].summary : "nothing found");
                const struct posref_weights_pair *pair =
                    pair_named(part_of(&wrong, shape, names[mistake].part)->name);
                enum posref_weights_mapping mapping = names[mistake].mapping;
                if (mistake == INVERSE && shape->rotary < shape->dim)
                    mapping = POSREF_MAPPING_ROTARY_ROWS_ONLY;
                ck_assert_msg(pair->mapping == mapping, "%s of %d: %s", names[mistake].fault, s,
                              posref_weights_mapping_name(pair->mapping));
            }
            made_clear(&model);
            made_clear(&wrong);
        }
    for (int mistake = 0; mistake < N_MISTAKES; mistake++)
        ck_assert_msg(made[mistake] > 0, "%s was never made", names[mistake].fault);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights_port");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
    tcase_add_test(cases, a_right_port_keeps_the_scores);
    tcase_add_test(cases, every_mistake_changes_scores_and_is_named);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
