/* SPDX-License-Identifier: Apache-2.0 */
/* Known failures: see baseline.h. */
#include "baseline.h"

#include "report_fields.h"
#include "stream.h"
#include "vectors/files.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_BYTES ((size_t)64 << 20)

struct entry {
    const char *id; /* in text */
    enum posref_dtype dtype;
    enum posref_verdict verdict;
};

struct posref_baseline {
    struct posref_buffer text;
    struct entry *entry; /* sorted */
    size_t n;
};

void posref_baseline_free(struct posref_baseline *baseline)
{
    if (!baseline)
        return;
    posref_buffer_clear(&baseline->text);
    free(baseline->entry);
    free(baseline);
}

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->dtype > y->dtype) - (x->dtype < y->dtype);
}

static enum posref_status read_text(struct posref_buffer *out, const char *path,
                                    struct posref_error *err)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return posref_fail(err, POSREF_BAD_INPUT, path, "%s",
                           errno == ENOENT ? "no such file" : "cannot be opened");
    bool good = posref_buffer_read(out, file);
    fclose(file);
    posref_buffer_add(out, "\n", 2); /* a last line without an end, and the NUL */
    if (!good || out->failed)
        return posref_fail(err, POSREF_BAD_INPUT, path, "cannot be read, or is too large");
    if (strlen(out->data) + 1 != out->length)
        return posref_fail(err, POSREF_BAD_INPUT, path, "holds a NUL byte");
    return POSREF_OK;
}

/* One line, cut into words; *blank: nothing on it. */
static bool read_line(struct entry *out, bool *blank, char *line)
{
    char *word[4] = {NULL}, *at = NULL;
    int n = 0;
    line[strcspn(line, "#\r")] = '\0';
    for (char *w = strtok_r(line, " \t", &at); w && n < 4; w = strtok_r(NULL, " \t", &at))
        word[n++] = w;
    *blank = n == 0;
    if (n != 3)
        return *blank;
    int dtype = posref_dtype_find(word[1]), verdict = posref_verdict_find(word[2]);
    if (dtype < 0 || dtype >= POSREF_N_FLOATS || verdict < 0 ||
        !posref_verdict_is_failure((enum posref_verdict)verdict))
        return false;
    *out = (struct entry){word[0], (enum posref_dtype)dtype, (enum posref_verdict)verdict};
    return true;
}

static enum posref_status read_entries(struct posref_baseline *baseline, const char *path,
                                       struct posref_error *err)
{
    size_t room = 1, number = 0;
    for (const char *at = baseline->text.data; *at; at++)
        room += *at == '\n';
    baseline->entry = calloc(room, sizeof *baseline->entry);
    if (!baseline->entry)
        return posref_fail(err, POSREF_NO_MEMORY, path, "no memory");
    for (char *line = baseline->text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        bool blank;
        *end = '\0';
        number++;
        if (!read_line(&baseline->entry[baseline->n], &blank, line))
            return posref_fail(err, POSREF_BAD_INPUT, path,
                               "line %zu is not ID DTYPE VERDICT, with a verdict that fails",
                               number);
        baseline->n += !blank;
    }
    qsort(baseline->entry, baseline->n, sizeof *baseline->entry, compare);
    for (size_t k = 1; k < baseline->n; k++)
        if (compare(&baseline->entry[k - 1], &baseline->entry[k]) == 0)
            return posref_fail(err, POSREF_BAD_INPUT, path, "lists %s %s twice",
                               baseline->entry[k].id,
                               posref_dtype_name(baseline->entry[k].dtype));
    return POSREF_OK;
}

enum posref_status posref_baseline_read(struct posref_baseline **out, const char *path,
                                        struct posref_error *err)
{
    struct posref_baseline *baseline = calloc(1, sizeof *baseline);
    if (!baseline)
        return posref_fail(err, POSREF_NO_MEMORY, path, "no memory");
    posref_buffer_init(&baseline->text, MAX_BYTES);
    enum posref_status status = read_text(&baseline->text, path, err);
    if (status == POSREF_OK)
        status = read_entries(baseline, path, err);
    if (status == POSREF_OK)
        *out = baseline;
    else
        posref_baseline_free(baseline);
    return status;
}

enum posref_baseline_answer posref_baseline_look(const struct posref_baseline *baseline,
                                                 const char *id, enum posref_dtype dtype,
                                                 enum posref_verdict verdict)
{
    const struct entry key = {id, dtype, verdict};
    const struct entry *entry =
        baseline ? bsearch(&key, baseline->entry, baseline->n, sizeof key, compare) : NULL;
    if (!entry)
        return POSREF_BASELINE_NONE;
    if (!posref_verdict_is_failure(verdict))
        return verdict == POSREF_VERDICT_PASS ? POSREF_BASELINE_FIXED : POSREF_BASELINE_NONE;
    return entry->verdict == verdict ? POSREF_BASELINE_KNOWN : POSREF_BASELINE_OTHER;
}

/* ---- writing ---- */

struct writing {
    struct posref_buffer text;
    const char *died; /* a verdict that leaves a run incomplete */
};

static void add_line(void *ctx, const char *type, const json_t *line)
{
    static const char *const partial[] = {"crash", "timeout", "exited", NULL};
    struct writing *writing = ctx;
    const char *verdict = text_of(line, "verdict");
    if (strcmp(type, "vector") != 0 || strcmp(verdict, "pass") == 0 ||
        strcmp(verdict, "unsupported") == 0)
        return;
    for (int k = 0; partial[k]; k++)
        if (strcmp(verdict, partial[k]) == 0)
            writing->died = partial[k];
    posref_buffer_printf(&writing->text, "%s %s %s\n", text_of(line, "id"),
                         text_of(line, "dtype"), verdict);
}

enum posref_status posref_baseline_write(const char *path, const char *lines, size_t size_bytes,
                                         struct posref_error *err)
{
    struct writing writing = {.died = NULL};
    posref_buffer_init(&writing.text, MAX_BYTES);
    posref_buffer_text(&writing.text, "# Known failures: ID DTYPE VERDICT (posref test)\n");
    enum posref_status status = posref_stream_read(lines, size_bytes, add_line, &writing, err);
    if (status == POSREF_OK && writing.died)
        status = posref_fail(err, POSREF_BAD_INPUT, path,
                             "is not written: a vector's verdict is %s", writing.died);
    if (status == POSREF_OK && writing.text.failed)
        status = posref_fail(err, POSREF_NO_MEMORY, path, "no memory");
    if (status == POSREF_OK)
        status = posref_file_replace(path, writing.text.data, writing.text.length, err);
    posref_buffer_clear(&writing.text);
    return status;
}
