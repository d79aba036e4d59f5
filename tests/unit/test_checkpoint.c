/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF, npy and checkpoints of several files: what is written reads back, and truncation at every
 * byte, lies about offsets, sizes that overflow and missing shards are refused by name. */
#include "tests/unit/made_model.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static void setup(void)
{
    snprintf(directory, sizeof directory, "/tmp/posref-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void teardown(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

static const char *in(const char *name)
{
    static char path[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", directory, name);
    return path[turn];
}

static size_t load(unsigned char *out, size_t room, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = fread(out, 1, room, file);
    fclose(file);
    return size;
}

static void store(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    fwrite(data, 1, size, file);
    fclose(file);
}

static const struct made_pair pairs[] = {{"general.architecture", 0, "llama"},
                                         {"llama.attention.head_count", 12, NULL},
                                         {"llama.attention.head_count_kv", 2, NULL},
                                         {NULL, 0, NULL}};

static void sample(struct made_model *model)
{
    made_init(model, 3);
    made_add(model, "blk.0.attn_q.weight", 8, 256)->type = POSREF_STORED_Q4_K;
    made_add(model, "blk.0.attn_k.weight", 4, 32)->type = POSREF_STORED_Q8_0;
    made_add(model, "blk.0.attn_q.bias", 8, 0);
}

START_TEST(gguf_reads_back)
{
    struct made_model model;
    struct posref_gguf gguf;
    struct posref_error err = {{0}, {0}};
    int64_t number;
    size_t length;
    sample(&model);
    made_save_gguf(&model, in("m.gguf"), pairs, 0, model.n);
    ck_assert_msg(posref_gguf_open(&gguf, in("m.gguf"), &err) == POSREF_OK, "%s", err.text);
    ck_assert_uint_eq(gguf.n, 3);
    ck_assert_str_eq(gguf.item[1].name, "blk.0.attn_k.weight");
    ck_assert_int_eq(gguf.item[1].shape[0], 4);
    ck_assert_int_eq(gguf.item[1].shape[1], 32);
    ck_assert_uint_eq(gguf.item[1].size_bytes, 4 * 34);
    ck_assert_uint_eq(gguf.item[1].offset % 32, 0);
    ck_assert_mem_eq(posref_gguf_string(&gguf, "general.architecture", &length), "llama", 5);
    ck_assert(posref_gguf_integer(&number, &gguf, "llama.attention.head_count_kv", 0));
    ck_assert_int_eq(number, 2);
    ck_assert(!posref_gguf_integer(&number, &gguf, "llama.nothing", 0));
    ck_assert(!posref_gguf_integer(&number, &gguf, "general.architecture", 0));
    posref_gguf_close(&gguf);
    made_clear(&model);
}
END_TEST

/* Every prefix is refused without a step beyond it (ASan sees one: the copy is exact). */
START_TEST(gguf_truncated_anywhere)
{
    static unsigned char whole[8192];
    struct made_model model;
    struct posref_gguf gguf;
    struct posref_error err;
    sample(&model);
    made_save_gguf(&model, in("m.gguf"), pairs, 0, model.n);
    size_t size = load(whole, sizeof whole, in("m.gguf"));
    for (size_t n = 0; n < size - 32; n++) { /* the last 32 may be padding */
        unsigned char *cut = malloc(n > 0 ? n : 1);
        memcpy(cut, whole, n);
        err.text[0] = '\0';
        ck_assert_msg(posref_gguf_parse(&gguf, cut, n, "cut", &err) == POSREF_BAD_INPUT, "%zu", n);
        ck_assert_ptr_nonnull(strstr(err.text, "byte "));
        free(cut);
    }
    made_clear(&model);
}
END_TEST

static size_t find(const unsigned char *data, size_t size, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= size; i++)
        if (memcmp(data + i, text, strlen(text)) == 0)
            return i;
    ck_abort_msg("%s not found", text);
    return 0;
}

START_TEST(gguf_lies)
{
    static unsigned char whole[8192], lie[8192];
    struct made_model model;
    struct posref_gguf gguf;
    struct posref_error err;
    sample(&model);
    made_save_gguf(&model, in("m.gguf"), pairs, 0, model.n);
    size_t size = load(whole, sizeof whole, in("m.gguf"));
    size_t k = find(whole, size, "blk.0.attn_k.weight") + 19; /* rank, 2 extents, type, offset */
    const struct { size_t at; uint64_t value; int n_bytes; const char *says; } lies[] = {
        {4, 1, 4, "version 1"}, {4, 0x03000000, 4, "big-endian"}, {0, 0, 4, "no GGUF file"},
        {8, UINT64_C(1) << 60, 8, "tensors in a file"},
        {16, UINT64_C(1) << 60, 8, "metadata keys in a file"},
        {24, UINT64_C(1) << 62, 8, "cut off"}, {k, 5, 4, "more than 4 dimensions"},
        {k + 4, UINT64_MAX, 8, "too large"}, {k + 4, 33, 8, "no whole Q8_0 blocks"},
        {k + 12, INT64_MAX, 8, "overflows"}, {k + 20, 99, 4, "unknown type 99"},
        {k + 24, 7, 8, "no multiple of"}, {k + 24, 0, 8, "overlaps"},
        {k + 24, UINT64_C(1) << 40, 8, "leave the file"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(lie, whole, size);
        for (int b = 0; b < lies[i].n_bytes; b++)
            lie[lies[i].at + (size_t)b] = (unsigned char)(lies[i].value >> (8 * b));
        err.text[0] = '\0';
        ck_assert_msg(posref_gguf_parse(&gguf, lie, size, "lie", &err) == POSREF_BAD_INPUT,
                      "%s", lies[i].says);
        ck_assert_msg(strstr(err.text, lies[i].says) != NULL, "%s: %s", lies[i].says, err.text);
    }
    /* A second tensor under the first one's name. */
    memcpy(lie, whole, size);
    memcpy(lie + k - 19, "blk.0.attn_q.weight", 19);
    ck_assert_int_eq(posref_gguf_parse(&gguf, lie, size, "lie", &err), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "blk.0.attn_q.weight: given twice"));
    made_clear(&model);
}
END_TEST

START_TEST(npy_reads_and_refuses)
{
    static unsigned char whole[4096];
    struct made_model model;
    struct posref_npy npy;
    struct posref_error err;
    made_init(&model, 5);
    made_save_npy(made_add(&model, "q", 4, 6), in("q_proj.npy"));
    ck_assert_int_eq(posref_npy_open(&npy, in("q_proj.npy"), &err), POSREF_OK);
    ck_assert_str_eq(npy.item.name, "q_proj");
    ck_assert_int_eq(npy.item.shape[1], 6);
    ck_assert_mem_eq(npy.item.data, model.tensor[0].value, 96);
    posref_npy_close(&npy);
    size_t size = load(whole, sizeof whole, in("q_proj.npy"));
    for (size_t n = 0; n < size; n++) {
        unsigned char *cut = malloc(n > 0 ? n : 1);
        memcpy(cut, whole, n);
        ck_assert_int_eq(posref_npy_parse(&npy, cut, n, "cut", &err), POSREF_BAD_INPUT);
        free(cut);
    }
    static const struct { const char *from, *to, *says; } lies[] = {
        {"False", "True ", "fortran_order"}, {"'<f4'", "'>f4'", "descr"},
        {"'<f4'", "'|O4'", "descr"},
        {"(4, 6)", "(4, 7)", "its shape needs"}, {"(4, 6)", "(4,-6)", "shape"},
        {"'shape'", "'shbpe'", "shape is missing"}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        unsigned char lie[4096];
        memcpy(lie, whole, size);
        memcpy(lie + find(whole, size, lies[i].from), lies[i].to, strlen(lies[i].to));
        ck_assert_int_eq(posref_npy_parse(&npy, lie, size, "lie", &err), POSREF_BAD_INPUT);
        ck_assert_msg(strstr(err.text, lies[i].says) != NULL, "%s", err.text);
    }
    made_clear(&model);
}
END_TEST

/* A model with the tensors from first to last - 1 of another; shares their values. */
static void slice(struct made_model *out, const struct made_model *from, int first, int last)
{
    memset(out, 0, sizeof *out);
    out->n = last - first;
    memcpy(out->tensor, from->tensor + first, (size_t)out->n * sizeof *out->tensor);
}

static void plain_sample(struct made_model *model)
{
    made_init(model, 3);
    made_add(model, "model.layers.0.self_attn.q_proj.weight", 8, 4);
    made_add(model, "model.layers.0.self_attn.k_proj.weight", 4, 4);
    made_add(model, "model.norm.weight", 4, 0);
}

#define MAP(q, k, n) "{\"metadata\":{},\"weight_map\":{" \
    "\"model.layers.0.self_attn.q_proj.weight\":\"" q "\"," \
    "\"model.layers.0.self_attn.k_proj.weight\":\"" k "\",\"model.norm.weight\":\"" n "\"}}"

START_TEST(safetensors_shards)
{
    struct made_model model, part;
    struct posref_checkpoint c;
    struct posref_error err = {{0}, {0}};
    plain_sample(&model);
    slice(&part, &model, 0, 1);
    made_save_safetensors(&part, in("a.safetensors"));
    slice(&part, &model, 1, 3);
    made_save_safetensors(&part, in("b.safetensors"));
    made_save_text(in("model.safetensors.index.json"),
                   MAP("a.safetensors", "b.safetensors", "b.safetensors"));
    ck_assert_msg(posref_checkpoint_open(&c, directory, &err) == POSREF_OK, "%s", err.text);
    ck_assert_uint_eq(c.n, 3);
    ck_assert_uint_eq(c.n_files, 2);
    ck_assert_str_eq(c.directory, directory);
    const struct posref_stored *norm = posref_checkpoint_find(&c, "model.norm.weight");
    ck_assert_int_eq(norm->file, 1);
    ck_assert_mem_eq(norm->data, model.tensor[2].value, 16);
    posref_checkpoint_close(&c);

    static const struct { const char *map, *says; } lies[] = {
        {MAP("b.safetensors", "b.safetensors", "b.safetensors"), "has no tensor model.layers.0"},
        {MAP("../x", "b.safetensors", "b.safetensors"), "no plain file name"},
        {MAP("c.safetensors", "b.safetensors", "b.safetensors"), "No such file"},
        {"{\"weight_map\":{}}", "weight_map is empty"}, {"{}", "no weight_map"}, {"[", "expected"},
        {"{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}", "duplicate"}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        made_save_text(in("model.safetensors.index.json"), lies[i].map);
        ck_assert_int_eq(posref_checkpoint_open(&c, directory, &err), POSREF_BAD_INPUT);
        ck_assert_msg(strstr(err.text, lies[i].says) != NULL, "%s", err.text);
    }
    slice(&part, &model, 0, 3); /* q in both shards */
    made_save_safetensors(&part, in("b.safetensors"));
    made_save_text(in("model.safetensors.index.json"),
                   MAP("a.safetensors", "b.safetensors", "b.safetensors"));
    ck_assert_int_eq(posref_checkpoint_open(&c, directory, &err), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "another shard holds it too"));
    made_clear(&model);
}
END_TEST

static const struct made_pair first_part[] = {{"general.architecture", 0, "llama"},
                                              {"split.count", 2, NULL}, {"split.no", 0, NULL},
                                              {"split.tensors.count", 3, NULL}, {NULL, 0, NULL}};
static const struct made_pair second_part[] = {{"split.count", 2, NULL}, {"split.no", 1, NULL},
                                               {NULL, 0, NULL}};

START_TEST(gguf_split)
{
    struct made_model model;
    struct posref_checkpoint c;
    struct posref_error err = {{0}, {0}};
    sample(&model);
    made_save_gguf(&model, in("m-00001-of-00002.gguf"), first_part, 0, 1);
    made_save_gguf(&model, in("m-00002-of-00002.gguf"), second_part, 1, 3);
    for (int given = 1; given <= 2; given++) { /* any part will do */
        const char *path = in(given == 1 ? "m-00001-of-00002.gguf" : "m-00002-of-00002.gguf");
        ck_assert_msg(posref_checkpoint_open(&c, path, &err) == POSREF_OK, "%s", err.text);
        ck_assert_uint_eq(c.n, 3);
        ck_assert_int_eq(posref_checkpoint_find(&c, "blk.0.attn_q.weight")->file, 0);
        ck_assert_int_eq(posref_checkpoint_find(&c, "blk.0.attn_q.bias")->file, 1);
        posref_checkpoint_close(&c);
    }
    ck_assert_int_eq(posref_checkpoint_open(&c, directory, &err), POSREF_OK); /* or their place */
    ck_assert_uint_eq(c.n, 3);
    posref_checkpoint_close(&c);
    made_save_gguf(&model, in("n-00002-of-00002.gguf"), second_part, 1, 3);
    ck_assert_int_eq(posref_checkpoint_open(&c, directory, &err), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "several"));
    unlink(in("n-00002-of-00002.gguf"));
    made_save_gguf(&model, in("m-00002-of-00002.gguf"), second_part, 1, 2);
    ck_assert_int_eq(posref_checkpoint_open(&c, in("m-00001-of-00002.gguf"), &err),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "split.tensors.count"));
    made_save_gguf(&model, in("m-00002-of-00002.gguf"), first_part, 1, 3);
    ck_assert_int_eq(posref_checkpoint_open(&c, in("m-00001-of-00002.gguf"), &err),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "split.no"));
    unlink(in("m-00002-of-00002.gguf"));
    ck_assert_int_eq(posref_checkpoint_open(&c, in("m-00001-of-00002.gguf"), &err),
                     POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.key, "m-00002-of-00002.gguf"));
    made_clear(&model);
}
END_TEST

START_TEST(directories_and_nonsense)
{
    struct posref_checkpoint c;
    struct posref_error err;
    ck_assert_int_eq(posref_checkpoint_open(&c, directory, &err), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "holds no"));
    store(in("a.gguf"), (const unsigned char *)"x", 1);
    store(in("b.gguf"), (const unsigned char *)"x", 1);
    ck_assert_int_eq(posref_checkpoint_open(&c, directory, &err), POSREF_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "several"));
    ck_assert_int_eq(posref_checkpoint_open(&c, in("a.gguf"), &err), POSREF_BAD_INPUT);
    ck_assert_int_eq(posref_checkpoint_open(&c, in("none"), &err), POSREF_BAD_INPUT);
    ck_assert_int_eq(posref_checkpoint_open(&c, "/dev/null", &err), POSREF_BAD_INPUT);
    ck_assert_int_eq(mkfifo(in("pipe"), 0600), 0); /* must not hang */
    ck_assert_int_eq(posref_checkpoint_open(&c, in("pipe"), &err), POSREF_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, gguf_reads_back);
    tcase_add_test(cases, gguf_truncated_anywhere);
    tcase_add_test(cases, gguf_lies);
    tcase_add_test(cases, npy_reads_and_refuses);
    tcase_add_test(cases, safetensors_shards);
    tcase_add_test(cases, gguf_split);
    tcase_add_test(cases, directories_and_nonsense);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
