/* SPDX-License-Identifier: Apache-2.0 */
/* Whether reports of posref test fit their schemas: fits_schema DIR FILE..., DIR the schemas'.
 * A file that begins as a run's header is a stream of lines, one that begins as a report is one;
 * others are none of its business. A stream that ends within a line was broken off there. Prints
 * what does not fit, and exits 1. */
#include "tests/unit/json_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 3 /* of a file */

struct fitting {
    json_t *schemas; /* read so far */
    const char *dir;
    bool good;
};

static bool fits(struct fitting *f, const char *schema, const json_t *value, const char *path,
                 size_t number)
{
    char by[512], why[512] = "";
    snprintf(by, sizeof by, "%s/%s", f->dir, schema);
    if (json_schema_valid_by(f->schemas, by, value, why, sizeof why))
        return true;
    fprintf(stderr, "%s:%zu does not fit %s: %s\n", path, number, schema, why);
    f->good = false;
    return false;
}

static void check_lines(struct fitting *f, const char *path, FILE *file)
{
    char *line = NULL;
    size_t room = 0, number = 0;
    int n_wrong = 0;
    for (ssize_t n; n_wrong < SHOWN && (n = getline(&line, &room, file)) > 0;) {
        char part[48];
        json_t *value = json_loadb(line, (size_t)n, 0, NULL);
        number++;
        if (line[n - 1] == '\n') {
            const char *type = json_string_value(json_object_get(value, "type"));
            snprintf(part, sizeof part, "run.schema.json#/$defs/%s", type ? type : "?");
            n_wrong += !fits(f, part, value, path, number);
        }
        json_decref(value);
    }
    free(line);
}

static void check_file(struct fitting *f, const char *path)
{
    static const char header[] = "{\"type\": \"header\", ", report[] = "{\"verdict\": \"";
    char begin[32] = "";
    FILE *file = fopen(path, "rbe");
    if (!file || fread(begin, 1, sizeof begin - 1, file) == 0 || fseek(file, 0, SEEK_SET) != 0) {
        if (file)
            fclose(file);
        return;
    }
    if (strncmp(begin, header, strlen(header)) == 0)
        check_lines(f, path, file);
    if (strncmp(begin, report, strlen(report)) == 0) {
        json_t *value = json_loadf(file, 0, NULL);
        if (json_object_get(value, "run")) /* explain and check answer with less */
            (void)fits(f, "report.schema.json", value, path, 1);
        json_decref(value);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    struct fitting f = {.schemas = json_object(), .dir = argc > 1 ? argv[1] : "", .good = true};
    for (int i = 2; i < argc; i++)
        check_file(&f, argv[i]);
    json_decref(f.schemas);
    return f.good ? 0 : 1;
}
