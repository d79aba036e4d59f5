/* SPDX-License-Identifier: Apache-2.0 */
/* vectors/models.txt: every preset parses, evaluates, says where each parameter is from and what
 * its pairing is; what a request takes from a preset and what it replaces. */
#include "tests/unit/suite.h"
#include "vectors/models.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct posref_heap *heap;
static struct posref_arena arena;

static void setup(void)
{
    heap = posref_heap_new(0);
    arena = posref_heap_arena(heap);
}

static void teardown(void)
{
    posref_heap_free(heap);
}

/* Parameters that no preset of the scheme may leave to posref's own defaults. */
static void check_spelt_out(const struct posref_model *model,
                            const struct posref_model_layers *layers)
{
    const enum posref_field needed[] = {POSREF_FIELD_SCHEME, POSREF_FIELD_DIM, POSREF_FIELD_BASE,
                                        POSREF_FIELD_PAIRING, POSREF_FIELD_SCALING};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (posref_field_applies(&layers->spec, needed[i]))
            ck_assert_msg(layers->known[needed[i]], "%s/%s does not say %s", model->name,
                          layers->name, posref_field_def(needed[i])->name);
}

/* Positions, but for rope by its frequencies, whose positions have another shape where there are
 * several axes; a grid for windows of an image; and the table that learned positions read. */
static void give_inputs(struct posref_tensors *in, const struct posref_spec *spec)
{
    static double position[] = {0, 1, 2, 0, 1, 1};
    bool grid = posref_field_applies(spec, POSREF_FIELD_WINDOW_SIZE) || spec->axes_dims.n == 2;
    if (spec->scheme != POSREF_SCHEME_ROPE || posref_field_applies(spec, POSREF_FIELD_SEQ_LEN))
        in->item[in->n++] = (struct posref_tensor){
            "positions", POSREF_F64, grid ? 2 : 1, {grid ? 2 : 3, 3}, position};
    if (spec->scheme != POSREF_SCHEME_LEARNED)
        return;
    const int64_t rows = (int64_t)spec->offset + 3;
    double *weights = arena.alloc(arena.ctx, (size_t)(rows * spec->dim) * sizeof *weights);
    ck_assert_ptr_nonnull(weights);
    for (int64_t i = 0; i < rows * spec->dim; i++)
        weights[i] = (double)i;
    in->item[in->n++] = (struct posref_tensor){
        "weights", POSREF_F64, 2, {rows, spec->dim}, weights};
}

static void check_layers(const struct posref_model *model, const struct posref_model_layers *layers)
{
    struct posref_spec spec = layers->spec;
    struct posref_error err = {{0}, {0}};
    struct posref_tensors in = {.n = 0}, out;
    ck_assert_msg(posref_spec_complete(&spec, &err) == POSREF_OK, "%s/%s: %s: %s", model->name,
                  layers->name, err.key, err.text);
    check_spelt_out(model, layers);
    bool rope = spec.scheme == POSREF_SCHEME_ROPE;
    give_inputs(&in, &spec);
    const enum posref_op op = rope ? POSREF_OP_FREQUENCIES : POSREF_OP_ALL;
    ck_assert_msg(posref_eval(&out, &spec, op, &in, &arena, &err) == POSREF_OK,
                  "%s/%s: %s: %s", model->name, layers->name, err.key, err.text);
    ck_assert_int_gt(out.n, 0);
    bool rotates = posref_field_applies(&spec, POSREF_FIELD_PAIRING);
    if (!rotates)
        return;
    const char *pairing = posref_field_def(POSREF_FIELD_PAIRING)->choices[spec.pairing];
    ck_assert_msg(*model->original, "%s: no original pairing", model->name);
    ck_assert_msg(strstr(model->huggingface, pairing), "%s: %s is not %s", model->name, pairing,
                  model->huggingface);
}

START_TEST(every_preset_evaluates)
{
    const char *at = posref_models_text();
    int n = 0;
    for (;; n++) {
        struct posref_model model;
        struct posref_error err = {{0}, {0}};
        bool found;
        ck_assert_msg(posref_model_next(&model, &at, &found, &arena, &err) == POSREF_OK, "%s: %s",
                      err.key, err.text);
        if (!found)
            break;
        for (int i = 0; i < model.n_layers; i++)
            check_layers(&model, &model.layers[i]);
        for (int i = 0; i < model.n_sources; i++)
            ck_assert_msg(strchr(model.source[i], '/') && strchr(model.source[i], ':') &&
                              strchr(model.source[i], ' '),
                          "%s: %s", model.name, model.source[i]);
        posref_heap_reset(heap);
    }
    ck_assert_int_ge(n, 1);
}
END_TEST

/* Every name, the other names too, leads to one preset and no other. */
START_TEST(names_are_unique)
{
    const char *at = posref_models_text();
    for (;;) {
        struct posref_model model, again;
        struct posref_error err = {{0}, {0}};
        bool found;
        int layers;
        char *names = NULL, *rest, *name;
        ck_assert(posref_model_next(&model, &at, &found, &arena, &err) == POSREF_OK);
        if (!found)
            break;
        ck_assert_int_ge(asprintf(&names, "%s %s", model.name, model.same), 0);
        for (name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
            ck_assert_msg(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(name),
                          "%s", name);
            ck_assert(posref_model_find(&again, &layers, name, &arena, &err) == POSREF_OK);
            ck_assert_msg(strcmp(again.name, model.name) == 0, "%s is also %s", name, again.name);
        }
        free(names);
    }
}
END_TEST

static enum posref_status ask(struct posref_request *request, struct posref_error *err,
                              const char *const *pairs)
{
    enum posref_status status = POSREF_OK;
    posref_request_init(request);
    for (; *pairs && status == POSREF_OK; pairs += 2)
        status = posref_request_set(request, pairs[0], pairs[1], &arena, err);
    return status == POSREF_OK ? posref_request_complete(request, err) : status;
}

START_TEST(keys_replace_what_the_preset_says)
{
    struct posref_request r;
    struct posref_error err = {{0}, {0}};
    ck_assert(ask(&r, &err, (const char *[]){"model", "llama-3.1-8b", NULL}) == POSREF_OK);
    ck_assert(r.spec.dim == 128 && r.spec.base == 5e5 && r.spec.factor == 8 &&
              r.spec.scaling == POSREF_SCALING_LLAMA3);
    /* before or after, and what the other scaling does not take goes */
    ck_assert(ask(&r, &err, (const char *[]){"base", "1e4", "model", "llama-3.1-8b", "scaling",
                                             "none", NULL}) == POSREF_OK);
    ck_assert(r.spec.base == 1e4 && r.spec.dim == 128 && !r.spec.given[POSREF_FIELD_FACTOR]);
    ck_assert(ask(&r, &err, (const char *[]){"model", "llama-3.1-8b", "scheme", "sinusoidal",
                                             "dim", "16", NULL}) == POSREF_OK);
    ck_assert(r.spec.dim == 16 && !r.spec.given[POSREF_FIELD_PAIRING]);
    /* what the user says and the scaling does not take stays an error */
    ck_assert(ask(&r, &err, (const char *[]){"model", "llama-3.1-8b", "scaling", "none", "factor",
                                             "2", NULL}) == POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "factor");
    ck_assert(ask(&r, &err, (const char *[]){"model", "llama-3.1-8b", "dim", "64", "dim", "32",
                                             NULL}) == POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "dim");
}
END_TEST

START_TEST(bad_names)
{
    static const char *const bad[] = {"", "/", "llama-3.1-8", "llama-3.1-8b/none", "model",
                                      "# SPDX", "llama-3.1-8b\n", "family llama"};
    struct posref_request r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct posref_error err = {{0}, {0}};
        ck_assert_msg(ask(&r, &err, (const char *[]){"model", bad[i], NULL}) == POSREF_BAD_INPUT,
                      "%s", bad[i]);
        ck_assert_str_eq(err.key, "model");
        ck_assert(!strchr(err.text, '\n'));
    }
    struct posref_error err = {{0}, {0}};
    ck_assert(ask(&r, &err, (const char *[]){"model", "llama-3.1-8", NULL}) == POSREF_BAD_INPUT);
    ck_assert(strstr(err.text, "did you mean llama-3.1-8b?"));
    ck_assert(ask(&r, &err, (const char *[]){"model", "llama-3.1-8b", "model", "llama-3.1-8b",
                                             NULL}) == POSREF_BAD_INPUT);
    ck_assert(ask(&r, &err, (const char *[]){"allow_unverified", "maybe", NULL}) ==
              POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "allow_unverified");
}
END_TEST

/* A value that nobody verified needs the user's consent, or the user's own value. */
START_TEST(unverified_needs_consent)
{
    const char *at = posref_models_text();
    for (bool found = true; found;) {
        struct posref_model model;
        struct posref_request r;
        struct posref_error err = {{0}, {0}};
        ck_assert(posref_model_next(&model, &at, &found, &arena, &err) == POSREF_OK);
        for (int i = 0; found && i < model.n_layers; i++) {
            char name[128];
            bool unverified = memchr(model.layers[i].known, POSREF_KNOWN_UNVERIFIED,
                                     POSREF_N_FIELDS) != NULL;
            snprintf(name, sizeof name, "%s/%s", model.name, model.layers[i].name);
            const char *const plain[] = {"model", name, "positions", "0", NULL};
            ck_assert_msg((ask(&r, &err, plain) == POSREF_BAD_INPUT) == unverified, "%s: %s", name,
                          err.text);
            ck_assert_msg(!unverified || strstr(err.text, "allow_unverified=1"), "%s", err.text);
            const char *const consent[] = {"allow_unverified", "1", "model", name,
                                           "positions", "0", NULL};
            ck_assert_msg(ask(&r, &err, consent) == POSREF_OK, "%s", name);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("models");
    TCase *tests = tcase_create("models");
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_preset_evaluates);
    tcase_add_test(tests, names_are_unique);
    tcase_add_test(tests, keys_replace_what_the_preset_says);
    tcase_add_test(tests, bad_names);
    tcase_add_test(tests, unverified_needs_consent);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
