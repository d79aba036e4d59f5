/* SPDX-License-Identifier: Apache-2.0 */
/* What core promises, checked on the generated database: sizes, and that every width, base,
 * scaling, position and op that it is meant to cover is there. And the expansion of suites: what
 * it refuses, the text form, the inputs. */
#include "tests/unit/suite.h"
#include "vectors/case.h"
#include "vectors/embedded.h"
#include "vectors/sha256.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static struct posref_db *db;

static void setup(void)
{
    struct posref_error err = {{0}, {0}};
    snprintf(path, sizeof path, "/tmp/posref-test-suites-%ld.db", (long)getpid());
    ck_assert_msg(posref_generate(path, "core", 2, NULL, NULL, &err) == POSREF_OK, "%s: %s",
                  err.key, err.text);
    ck_assert_msg(posref_db_open(&db, path, &err) == POSREF_OK, "%s: %s", err.key, err.text);
}

static void teardown(void)
{
    posref_db_close(db);
    unlink(path);
}

static bool count_one(void *ctx, const char *id)
{
    (void)id;
    ++*(int *)ctx;
    return true;
}

/* How many vectors match KEY=VALUE, KEY=VALUE, ... NULL. */
static int count(const char *suite, const char *const *pairs)
{
    struct posref_error err = {{0}, {0}};
    struct posref_filter *filter = posref_filter_new();
    int n = 0;
    for (; *pairs; pairs += 2)
        ck_assert_msg(posref_filter_add(filter, pairs[0], pairs[1], &err) == POSREF_OK, "%s: %s",
                      err.key, err.text);
    ck_assert(posref_db_ids(db, filter, suite, NULL, -1, count_one, &n, &err) == POSREF_OK);
    posref_filter_free(filter);
    return n;
}

#define COUNT(...) count(NULL, (const char *[]){__VA_ARGS__, NULL})
#define SMOKE(...) count("smoke", (const char *[]){__VA_ARGS__, NULL})

struct sizes {
    size_t length[65536];
    int n;
    struct posref_db *reader;
};

static bool measure(void *ctx, const char *id)
{
    struct sizes *sizes = ctx;
    struct posref_error err;
    const char *json;
    char sha256[65], again[65];
    bool found;
    ck_assert(posref_db_json(sizes->reader, id, true, &json, &sizes->length[sizes->n], sha256,
                             &found, &err) == POSREF_OK && found);
    posref_sha256_hex(again, json, sizes->length[sizes->n]);
    ck_assert_str_eq(sha256, again);
    ck_assert_msg(sizes->length[sizes->n] <= 65536, "%s: %zu bytes", id,
                  sizes->length[sizes->n]);
    sizes->n++;
    return true;
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

START_TEST(sizes_are_as_promised)
{
    struct sizes *sizes = calloc(1, sizeof *sizes);
    struct posref_error err = {{0}, {0}};
    struct stat file;
    ck_assert(posref_db_open(&sizes->reader, path, &err) == POSREF_OK);
    ck_assert(posref_db_ids(db, NULL, NULL, NULL, -1, measure, sizes, &err) == POSREF_OK);
    posref_db_close(sizes->reader);
    ck_assert_int_ge(sizes->n, 1500);
    qsort(sizes->length, (size_t)sizes->n, sizeof *sizes->length, compare_sizes);
    size_t median = sizes->length[sizes->n / 2];
    ck_assert_msg(median <= 8192, "the median is %zu", median);
    ck_assert(stat(path, &file) == 0);
    ck_assert_msg(file.st_size < 50000000, "the database has %lld bytes", (long long)file.st_size);
    printf("core: %d vectors, median %zu bytes of JSON, largest %zu, database %lld\n", sizes->n,
           median, sizes->length[sizes->n - 1], (long long)file.st_size);
    free(sizes);
}
END_TEST

START_TEST(core_covers)
{
    static const char *const dims[] = {"2", "4", "6", "24", "64", "80", "96", "128", "256"};
    static const char *const bases[] = {"1e4", "5e5", "1e6", "150000"};
    static const char *const scalings[] = {"none", "linear", "ntk", "yarn", "llama3"};
    static const char *const pairings[] = {"half", "interleaved"};
    static const char *const heads[] = {"1", "3", "6", "8", "12", "40", "71", "112"};
    static const char *const rope_ops[] = {"frequencies", "table", "rotate"};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (int p = 0; p < 2; p++)
            ck_assert_msg(COUNT("scheme", "rope", "dim", dims[i], "pairing", pairings[p], "op",
                                "rotate") >= 5, "dim %s", dims[i]);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        ck_assert_msg(COUNT("scheme", "rope", "base", bases[i]) >= 20, "base %s", bases[i]);
    for (size_t i = 0; i < 5; i++)
        for (int p = 0; p < 2; p++)
            for (size_t o = p ? 0 : 1; o < 3; o += 2)
                ck_assert_msg(COUNT("scaling", scalings[i], "pairing", pairings[p], "op",
                                    rope_ops[o]) >= 4 || (p == 0 && o == 1), "%s %s %s",
                              scalings[i], pairings[p], rope_ops[o]);
    for (size_t i = 0; i < 5; i++)
        for (int p = 0; p < 2; p++)
            ck_assert_msg(COUNT("scaling", scalings[i], "pairing", pairings[p], "direction",
                                "inverse") >= 1 &&
                          SMOKE("scaling", scalings[i], "pairing", pairings[p]) >= 2, "%s %s",
                          scalings[i], pairings[p]);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        ck_assert_msg(COUNT("num_heads", heads[i], "op", "bias") >= 3 &&
                      COUNT("num_heads", heads[i], "op", "weights") >= 1 &&
                      COUNT("num_heads", heads[i], "op", "frequencies") >= 1, "%s heads",
                      heads[i]);
    ck_assert_int_ge(COUNT("flag", "partial"), 100);
    ck_assert_int_ge(COUNT("flag", "heads"), 40);
    ck_assert_int_ge(COUNT("flag", "basis"), 40);
    ck_assert_int_ge(COUNT("alibi_bias_max", "16"), 3);
    ck_assert_int_ge(COUNT("form", "symmetric", "op", "weights"), 5);
    ck_assert_int_ge(COUNT("order", "concat", "exponent", "half_minus_one", "op", "embed"), 5);
    ck_assert_int_eq(COUNT("id", "rope/half/yarn/d128-b1e6-f4-o32768/long"), 1);
    ck_assert_int_le(SMOKE("id", "r") + SMOKE("id", "s") + SMOKE("id", "a"), 120);
}
END_TEST

/* Parameters of released models (catalogue of conventions, section 8). */
START_TEST(core_holds_models)
{
    ck_assert_int_ge(COUNT("scaling", "llama3", "dim", "128", "base", "5e5", "factor", "8",
                           "original_max_position_embeddings", "8192"), 10);
    ck_assert_int_ge(COUNT("scaling", "llama3", "dim", "64", "factor", "32"), 10);
    ck_assert_int_ge(COUNT("scaling", "llama3", "low_freq_factor", "1", "high_freq_factor", "1"),
                     10);
    ck_assert_int_ge(COUNT("scaling", "yarn", "dim", "128", "base", "1e6", "factor", "4",
                           "original_max_position_embeddings", "32768"), 10);
    ck_assert_int_ge(COUNT("scaling", "yarn", "truncate", "false", "base", "150000"), 10);
    ck_assert_int_ge(COUNT("scaling", "yarn", "factor", "40", "mscale", "1", "mscale_all_dim", "1"),
                     10);
    ck_assert_int_ge(COUNT("scaling", "yarn", "mscale", "0.707"), 10);
    ck_assert_int_ge(COUNT("scaling", "yarn", "attention_factor", "1.2079441541679836"), 10);
    ck_assert_int_ge(COUNT("scaling", "linear", "dim", "256", "base", "1e6", "factor", "8"), 10);
    ck_assert_int_ge(COUNT("scaling", "ntk", "factor", "1000"), 10);
    ck_assert_int_ge(COUNT("dim", "96", "rotary_dim", "24"), 10);
}
END_TEST

struct seen {
    double want[64];
    int n[64], n_want;
    int n_several_heads, n_uneven_bias, n_alone_at_zero;
};

static bool look(void *ctx, const struct posref_vector *vector)
{
    struct seen *seen = ctx;
    const struct posref_tensor *x = posref_tensors_find(&vector->inputs, "x");
    const struct posref_tensor *q = posref_tensors_find(&vector->inputs, "q_positions");
    const struct posref_tensor *k = posref_tensors_find(&vector->inputs, "k_positions");
    const struct posref_tensor *positions = posref_tensors_find(&vector->inputs, "positions");
    ck_assert(vector->source[0] && strlen(vector->id) < POSREF_MAX_ID);
    seen->n_several_heads += x && x->rank == 3 && x->shape[1] > 1;
    seen->n_uneven_bias += q && k && q->shape[0] != k->shape[0];
    if (positions && positions->shape[0] == 1 && *(double *)positions->data == 0)
        seen->n_alone_at_zero++;
    for (int64_t i = 0; positions && vector->op == POSREF_OP_ROTATE && i < positions->shape[0]; i++)
        for (int w = 0; w < seen->n_want; w++)
            seen->n[w] += ((double *)positions->data)[i] == seen->want[w];
    for (int64_t i = 0; x && i < posref_tensor_count(x); i++) {
        double value = ((double *)x->data)[i];
        ck_assert_msg(posref_widen(posref_narrow(value, POSREF_BF16), POSREF_BF16) == value &&
                      posref_widen(posref_narrow(value, POSREF_F16), POSREF_F16) == value,
                      "%s: x %.17g", vector->id, value);
        ck_assert(value != 0 || strstr(vector->flags, "basis"));
    }
    for (int t = 0; t < vector->outputs.n; t++)
        for (int64_t i = 0; vector->outputs.item[t].dtype == POSREF_F64 &&
                            i < posref_tensor_count(&vector->outputs.item[t]); i++)
            ck_assert_msg(isfinite(((double *)vector->outputs.item[t].data)[i]) ||
                              vector->op == POSREF_OP_SCORES, /* -infinity: not seen */
                          "%s", vector->id);
    ck_assert(vector->outputs.n > 0);
    return true;
}

START_TEST(positions_are_there)
{
    struct posref_error err = {{0}, {0}};
    struct seen seen = {.want = {0, 1, 2, 17, 255, 256, 257, 2047, 2048, 2049, 131071, 1048575,
                                 2147483647, -1, -2, -257, -2147483647, 65535, 65537, 16777215,
                                 16777217, /* L-1, L, L+1, 4L of several models: */
                                 4095, 4096, 4097, 16384, 8191, 8192, 8193, 32767, 32768, 32769,
                                 131072, 262143},
                        .n_want = 33};
    ck_assert(posref_db_each(db, NULL, NULL, NULL, -1, look, &seen, &err) == POSREF_OK);
    for (int w = 0; w < seen.n_want; w++)
        ck_assert_msg(seen.n[w] >= 2, "position %.0f: %d", seen.want[w], seen.n[w]);
    ck_assert_int_ge(seen.n_several_heads, 80);
    ck_assert_int_ge(seen.n_uneven_bias, 50);
    ck_assert_int_eq(seen.n_alone_at_zero, 0);
}
END_TEST

/* Every flag in use is explained, and every explained flag is in use; every vector has one. */
START_TEST(flags_are_explained)
{
    struct posref_error err = {{0}, {0}};
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_case_list list;
    json_t *root = json_loads(posref_embedded_find("flags.json"), JSON_REJECT_DUPLICATES, NULL);
    json_t *flags = json_object_get(root, "flags"), *value;
    const char *name;
    ck_assert(json_object_size(flags) > 10);
    ck_assert(posref_suites_load(&list, NULL, &arena, &err) == POSREF_OK);
    for (size_t i = 0; i < list.n; i++) {
        char text[256], *at = text;
        snprintf(text, sizeof text, "%s", list.item[i].flags);
        ck_assert_str_eq(text, list.item[i].flags);
        ck_assert_msg(*text || list.item[i].suite < 2, "%s: no flag says why it is there",
                      list.item[i].id);
        for (char *word; (word = strsep(&at, " "));) {
            ck_assert_msg(*word == '\0' || json_object_get(flags, word),
                          "%s: flag '%s' has no explanation", list.item[i].id, word);
            json_object_set_new(flags, word, json_null());
        }
    }
    ck_assert_uint_ge(list.n, 20000);
    json_object_foreach(flags, name, value)
        ck_assert_msg(json_is_null(value), "no vector has flag '%s'", name);
    json_decref(root);
    posref_heap_free(heap);
}
END_TEST

/* Each line of retired.txt names an id that is none, and a vector of the largest suite. */
START_TEST(retired_ids_have_successors)
{
    struct posref_error err = {{0}, {0}};
    struct posref_case_list list;
    struct posref_heap *memory = posref_heap_new(0);
    const struct posref_arena arena = posref_heap_arena(memory);
    ck_assert(posref_suites_load(&list, NULL, &arena, &err) == POSREF_OK);
    for (const char *at = posref_embedded_find("retired.txt"); *at; at = strchr(at, '\n') + 1) {
        char line[2 * POSREF_MAX_ID + 2], *old = line;
        bool is = false, was = false;
        if (*at == '#')
            continue;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        char *successor = strchr(line, ' ');
        ck_assert_msg(successor != NULL, "retired.txt: %.100s", at);
        *successor++ = '\0';
        for (size_t i = 0; i < list.n; i++) {
            is = is || strcmp(list.item[i].id, successor) == 0;
            was = was || strcmp(list.item[i].id, old) == 0;
        }
        ck_assert_msg(is && !was && strlen(old) < POSREF_MAX_ID, "%s %s", old, successor);
    }
    posref_heap_free(memory);
}
END_TEST

/* ---- expansion ---- */

#define SMOKE_JSON "{\"suite\": \"s\", \"version\": \"1\", \"select\": [\"*\"]}"
#define CORE_JSON(groups) "{\"suite\": \"c\", \"version\": \"1\", \"sets\": {\"w\": " \
    "[{\"slug\": \"a\", \"spec\": {\"dim\": 4}}, {\"slug\": \"b\", \"spec\": {\"dim\": 6}}]}, " \
    "\"groups\": [" groups "]}"
#define GROUP(id, more) "{\"id\": \"" id "\", \"spec\": {\"scheme\": \"rope\"}, " \
    "\"source\": \"t\", \"op\": \"rotate\", \"x\": \"random\", " \
    "\"of\": {\"w\": \"w\"}, \"length\": 100" more "}"

static enum posref_status expand_one(struct posref_case_list *out, const char *json,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_suite_text texts[] = {{"smoke.json", SMOKE_JSON}, {"core.json", json}};
    return posref_suites_expand(out, texts, 2, arena, err);
}

START_TEST(expands)
{
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_case_list list;
    struct posref_error err = {{0}, {0}};
    enum posref_status status = expand_one(
        &list, CORE_JSON(GROUP("r/{w}/p", ", \"positions\": \"L-1,L,2L+3,7\"")), &arena, &err);
    ck_assert_msg(status == POSREF_OK, "%s: %s", err.key, err.text);
    ck_assert_uint_eq(list.n, 2);
    ck_assert_str_eq(list.item[0].id, "r/a/p");
    ck_assert_str_eq(list.item[0].inputs, "positions=99,100,203,7 x=random");
    ck_assert_str_eq(list.item[1].flags, "non-pow2-width pairing");
    ck_assert_int_eq(list.item[1].suite, 0);
    posref_heap_free(heap);
}
END_TEST

/* Files that add to a suite, sets of earlier files, and the larger suite. */
START_TEST(expands_several_files)
{
    static const struct posref_suite_text texts[] = {
        {"smoke.json", "{\"suite\": \"s\", \"version\": \"1\", \"select\": [\"r/a/*\"]}"},
        {"core.json", CORE_JSON(GROUP("r/{w}/p", ", \"positions\": \"1\""))},
        {"core-more.json", "{\"suite\": \"c\", \"groups\": ["
                           GROUP("q/{w}/p", ", \"positions\": \"2\"") "]}"},
        {"full.json", "{\"suite\": \"f\", \"version\": \"3\", \"groups\": ["
                      GROUP("a/{w}/p", ", \"positions\": \"3\"") "]}"},
    };
    const struct posref_suite_text twice[] = {texts[0], texts[1], texts[1]};
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_case_list list;
    struct posref_error err = {{0}, {0}};
    enum posref_status status = posref_suites_expand(&list, texts, 4, &arena, &err);
    ck_assert_msg(status == POSREF_OK, "%s: %s", err.key, err.text);
    ck_assert_uint_eq(list.n, 6);
    ck_assert_int_eq(list.n_suites, 3);
    static const int want[] = {2, 2, 1, 1, 0, 1}; /* a/a, a/b, q/a, q/b, r/a, r/b */
    for (size_t i = 0; i < list.n; i++)
        ck_assert_msg(list.item[i].suite == want[i], "%s: %d", list.item[i].id,
                      list.item[i].suite);
    ck_assert(posref_suites_expand(&list, twice, 3, &arena, &err) == POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "core.json");
    posref_heap_free(heap);
}
END_TEST

START_TEST(expansion_refuses)
{
    static const char *const bad[] = {
        "{", "{}",
        CORE_JSON(GROUP("r/{w}/p", ", \"psitions\": \"1\"")),
        CORE_JSON(GROUP("r/{w}/p", ", \"positions\": \"one\"")),
        CORE_JSON(GROUP("r/{v}/p", ", \"positions\": \"1\"")),
        CORE_JSON(GROUP("r/{w/p", ", \"positions\": \"1\"")),
        CORE_JSON(GROUP("r/{w}/check", ", \"positions\": \"1\"")),
        CORE_JSON(GROUP("R/{w}/p", ", \"positions\": \"1\"")),
        CORE_JSON(GROUP("/{w}/p", ", \"positions\": \"1\"")),
        CORE_JSON(GROUP("r/{w}/p", ", \"positions\": \"1\"") ", "
                  GROUP("r/{w}/p", ", \"positions\": \"1\"")),
        CORE_JSON("{\"id\": \"r/{w}/p\", \"spec\": {\"dim\": 8}, \"of\": {\"w\": \"w\"}}"),
        CORE_JSON("{\"id\": \"r/{w}/p\", \"spec\": {\"dmi\": 8}, \"of\": {\"w\": \"w\"}}"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct posref_heap *heap = posref_heap_new(0);
        struct posref_arena arena = posref_heap_arena(heap);
        struct posref_case_list list = {.n = 7};
        struct posref_error err = {{0}, {0}};
        ck_assert_msg(expand_one(&list, bad[i], &arena, &err) ==
                      POSREF_BAD_INPUT, "%zu", i);
        ck_assert_msg(err.text[0] && err.key[0], "%zu", i);
        ck_assert_uint_eq(list.n, 7);
        posref_heap_free(heap);
    }
}
END_TEST

START_TEST(text_form_there_and_back)
{
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_case_list list, again;
    struct posref_error err = {{0}, {0}};
    struct posref_buffer text, second;
    posref_buffer_init(&text, 1 << 24);
    posref_buffer_init(&second, 1 << 24);
    ck_assert(posref_suites_load(&list, NULL, &arena, &err) == POSREF_OK);
    posref_cases_text(&text, &list);
    char *copy = strdup(text.data);
    ck_assert_msg(posref_cases_parse(&again, copy, &arena, &err) == POSREF_OK, "%s", err.text);
    ck_assert_uint_eq(again.n, list.n);
    posref_cases_text(&second, &again);
    ck_assert(second.length == text.length && memcmp(second.data, text.data, text.length) == 0);
    free(copy);
    for (size_t cut = 0; cut < 3000; cut += 7) { /* a file that ends early is refused */
        copy = strndup(text.data, cut);
        if (cut && copy[cut - 1] != '\n')
            ck_assert_msg(posref_cases_parse(&again, copy, &arena, &err) != POSREF_OK, "%zu", cut);
        free(copy);
    }
    posref_buffer_clear(&text);
    posref_buffer_clear(&second);
    posref_heap_free(heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("suites");
    TCase *tests = tcase_create("suites"), *plain = tcase_create("expansion");
    tcase_set_timeout(tests, 0);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_test(tests, sizes_are_as_promised);
    tcase_add_test(tests, core_covers);
    tcase_add_test(tests, core_holds_models);
    tcase_add_test(tests, positions_are_there);
    tcase_add_test(tests, flags_are_explained);
    tcase_add_test(plain, retired_ids_have_successors);
    tcase_add_test(plain, expands);
    tcase_add_test(plain, expands_several_files);
    tcase_add_test(plain, expansion_refuses);
    tcase_add_test(plain, text_form_there_and_back);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, plain);
    return run_suite(suite);
}
