/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that several commands read in the same way. */
#include "command_words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum posref_status posref_bad_word(struct posref_error *err, const char *key, const char *text)
{
    return posref_fail(err, POSREF_BAD_INPUT, key, "%s", text);
}

enum posref_status posref_word_option(char key[POSREF_WORD_KEY_SIZE], const char **value, int *i,
                                      int argc, char **argv, struct posref_error *err)
{
    const char *text = argv[*i], *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    if (length > POSREF_WORD_KEY_SIZE - 1)
        length = POSREF_WORD_KEY_SIZE - 1;
    snprintf(key, POSREF_WORD_KEY_SIZE, "%.*s", (int)length, text);
    if (!equals && *i + 1 == argc)
        return posref_bad_word(err, key, "needs a value");
    *value = equals ? equals + 1 : argv[++*i];
    return POSREF_OK;
}

enum posref_status posref_word_pair(char key[POSREF_WORD_KEY_SIZE], const char **value,
                                    const char *text, struct posref_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text >= POSREF_WORD_KEY_SIZE)
        return posref_bad_word(err, text, "is neither KEY=VALUE nor an option");
    snprintf(key, POSREF_WORD_KEY_SIZE, "%.*s", (int)(equals - text), text);
    *value = equals + 1;
    return POSREF_OK;
}

enum posref_status posref_word_dtypes(bool dtype[POSREF_N_FLOATS], const char *text,
                                      struct posref_error *err)
{
    memset(dtype, 0, POSREF_N_FLOATS * sizeof *dtype);
    for (;; text++) {
        char name[8];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", length < 7 ? (int)length : 7, text);
        int found = posref_dtype_find(name);
        if (found < 0 || found >= POSREF_N_FLOATS)
            return posref_fail(err, POSREF_BAD_INPUT, "--dtype",
                               "'%s' is none of f64, f32, f16, bf16, f8e4m3, f8e5m2", name);
        dtype[found] = true;
        text += length;
        if (*text == '\0')
            return POSREF_OK;
    }
}

enum posref_status posref_word_seconds(double *out, const char *key, const char *text,
                                       struct posref_error *err)
{
    enum posref_status status = posref_number_parse(out, text, key, err);
    if (status == POSREF_OK && !(*out > 0 && *out <= 86400))
        return posref_bad_word(err, key, "must be more than 0 and at most 86400 seconds");
    return status;
}

enum posref_status posref_word_config(struct posref_buffer *config, const char *text,
                                      struct posref_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || strpbrk(text, " \n\t"))
        return posref_bad_word(err, "--config", "must be KEY=VALUE without spaces");
    posref_buffer_text(config, config->length ? " " : "");
    posref_buffer_text(config, text);
    return POSREF_OK;
}

enum posref_status posref_word_gate(enum posref_grade *gate, enum posref_dtype dtype,
                                    const char *text, struct posref_error *err)
{
    *gate = posref_grade_default(dtype);
    if (!text)
        return POSREF_OK;
    const int asked = posref_grade_find(text);
    if (asked < 0 || asked == POSREF_GRADE_FAIL)
        return posref_fail(err, POSREF_BAD_INPUT, "--min-grade",
                           "'%.40s' is none of exact, float32, recurrence, fast, low", text);
    *gate = dtype != POSREF_F64 && asked == POSREF_GRADE_EXACT ? POSREF_GRADE_FLOAT32
                                                               : (enum posref_grade)asked;
    return POSREF_OK;
}

uint64_t posref_default_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);
}
