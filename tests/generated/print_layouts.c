/* SPDX-License-Identifier: Apache-2.0 */
/* print-layouts DATABASE LAYOUT...: every vector of core that a layout applies to, in that layout
 * as the harness judges it, as JSON, a line each. For the oracle, which links nothing of posref. */
#include "harness/layouts.h"

#include <stdio.h>
#include <string.h>

struct printing {
    const struct posref_layout *layout;
    struct posref_heap *heap;
    enum posref_status status;
    struct posref_error *err;
};

static bool print(void *ctx, const struct posref_vector *vector)
{
    struct printing *p = ctx;
    struct posref_layout_case laid;
    struct posref_buffer line;
    if (!posref_layout_applies(p->layout, vector))
        return true;
    const struct posref_arena arena = posref_heap_arena(p->heap);
    p->status = posref_layout_make(&laid, p->layout, vector, &arena, p->err);
    if (p->status != POSREF_OK)
        return false;
    posref_buffer_init(&line, (size_t)1 << 26);
    posref_vector_json(&line, &laid.judged, true, POSREF_NUMBERS_DECIMAL);
    for (size_t k = 0; k + 1 < line.length; k++)
        if (line.data[k] == '\n')
            line.data[k] = ' ';
    const bool written = !line.failed && fwrite(line.data, 1, line.length, stdout) == line.length;
    posref_buffer_clear(&line);
    posref_heap_reset(p->heap);
    p->status = written ? POSREF_OK : POSREF_IO;
    return written;
}

int main(int argc, char **argv)
{
    struct posref_db *db = NULL;
    struct posref_error err = {.key = ""};
    struct printing p = {.heap = posref_heap_new(0), .err = &err};
    if (argc < 3 || !p.heap)
        return POSREF_EXIT_USAGE;
    p.status = posref_db_open(&db, argv[1], &err);
    for (int i = 2; i < argc && p.status == POSREF_OK; i++) {
        p.layout = posref_layout_find(argv[i], strlen(argv[i]));
        if (!p.layout)
            return POSREF_EXIT_USAGE;
        const enum posref_status status = posref_db_each(db, NULL, "core", NULL, -1, print, &p,
                                                         &err);
        p.status = p.status == POSREF_OK ? status : p.status;
    }
    posref_db_close(db);
    posref_heap_free(p.heap);
    if (p.status != POSREF_OK)
        fprintf(stderr, "print-layouts: %s: %s\n", err.key, err.text);
    return p.status == POSREF_OK && fflush(stdout) == 0 ? POSREF_EXIT_OK : POSREF_EXIT_BROKEN;
}
