/* SPDX-License-Identifier: Apache-2.0 */
/* posref-digest CASES [CANONICAL]: evaluates a case list (posref generate --cases) and prints
 * "NAME VERSION DIGEST" for each suite; CANONICAL receives the canonical content. Links reference/
 * and the plain files of vectors/ only: libc and libm, no SQLite, no jansson, no threads. */
#include "vectors/canonical.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CASES_BYTES ((size_t)1 << 28)

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "posref-digest: %s: %s\n", what, why); /* lint: allow stderr, a program */
    return POSREF_EXIT_BROKEN;
}

static bool read_file(struct posref_buffer *out, const char *path)
{
    FILE *file = fopen(path, "rb");
    bool ok = file && posref_buffer_read(out, file) && out->data;
    if (file)
        fclose(file);
    return ok;
}

/* Evaluates every case in id order and feeds the suites that hold it. */
static enum posref_status digest_all(struct posref_sha256 sha[], FILE *canonical,
                                     const struct posref_case_list *list, struct posref_error *err)
{
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_buffer text;
    posref_buffer_init(&text, MAX_CASES_BYTES);
    enum posref_status status = POSREF_OK;
    for (size_t i = 0; i < list->n && status == POSREF_OK; i++) {
        struct posref_vector vector;
        char digest[65];
        posref_heap_reset(heap);
        text.length = 0;
        status = posref_case_vector(&vector, list, &list->item[i], &arena, err);
        if (status == POSREF_OK)
            status = posref_eval(&vector.outputs, &vector.spec, vector.op, &vector.inputs, &arena,
                                 err);
        if (status != POSREF_OK)
            break;
        posref_canonical_text(&text, &vector);
        posref_sha256_hex(digest, text.data, text.length);
        for (int suite = list->item[i].suite; suite < list->n_suites; suite++)
            posref_suite_digest_add(&sha[suite], vector.id, digest);
        bool written = !canonical || fwrite(text.data, 1, text.length, canonical) == text.length;
        if (text.failed || !written)
            status = posref_fail(err, POSREF_IO, "canonical", "cannot be written");
    }
    posref_buffer_clear(&text);
    posref_heap_free(heap);
    return status;
}

static int run(const char *cases_path, FILE *canonical)
{
    struct posref_error err = {{0}, {0}};
    struct posref_case_list list;
    struct posref_sha256 sha[POSREF_MAX_SUITES];
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_buffer text;
    posref_buffer_init(&text, MAX_CASES_BYTES);
    if (!heap || !read_file(&text, cases_path))
        return fail(cases_path, "cannot be read");
    struct posref_arena arena = posref_heap_arena(heap);
    enum posref_status status = posref_cases_parse(&list, text.data, &arena, &err);
    for (int i = 0; status == POSREF_OK && i < list.n_suites; i++)
        posref_suite_digest_init(&sha[i], list.suite[i].name, list.suite[i].version);
    if (status == POSREF_OK)
        status = digest_all(sha, canonical, &list, &err);
    for (int i = 0; status == POSREF_OK && i < list.n_suites; i++) {
        char digest[65];
        posref_sha256_finish(digest, &sha[i]);
        printf("%s %s %s\n", list.suite[i].name, list.suite[i].version, /* lint: allow printf */
               digest);
    }
    posref_buffer_clear(&text);
    posref_heap_free(heap);
    return status == POSREF_OK ? POSREF_EXIT_OK : fail(err.key, err.text);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        return fail("usage", "posref-digest CASES [CANONICAL]");
    FILE *canonical = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (argc == 3 && !canonical)
        return fail(argv[2], "cannot be written");
    int exit_code = run(argv[1], canonical);
    if (canonical && fclose(canonical) != 0)
        return fail(argv[2], "cannot be written");
    return exit_code;
}
