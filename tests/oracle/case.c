/* SPDX-License-Identifier: Apache-2.0 */
/* A case in memory: spec fields as text, and named tensors. */
#include "oracle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oracle_case_init(struct oracle_case *c, const char *id)
{
    memset(c, 0, sizeof *c);
    snprintf(c->id, sizeof c->id, "%s", id);
}

static void clear_tensors(struct oracle_tensor *set, int n)
{
    for (int i = 0; i < n; i++) {
        free(set[i].data);
        free(set[i].state);
    }
}

void oracle_case_clear(struct oracle_case *c)
{
    for (int i = 0; i < c->n_fields; i++) {
        free(c->field[i].key);
        free(c->field[i].value);
    }
    clear_tensors(c->input, c->n_inputs);
    clear_tensors(c->output, c->n_outputs);
    memset(c, 0, sizeof *c);
}

bool oracle_fail(struct oracle_case *c, const char *format, ...)
{
    if (c->error[0])
        return false;
    va_list list;
    va_start(list, format);
    vsnprintf(c->error, sizeof c->error, format, list);
    va_end(list);
    return false;
}

bool oracle_case_set(struct oracle_case *c, const char *key, const char *value)
{
    if (c->n_fields == ORACLE_MAX_FIELDS)
        return oracle_fail(c, "too many spec fields");
    struct oracle_field *f = &c->field[c->n_fields];
    f->key = strdup(key);
    f->value = strdup(value);
    if (!f->key || !f->value) {
        free(f->key);
        free(f->value);
        return oracle_fail(c, "no memory");
    }
    c->n_fields++;
    return true;
}

bool oracle_case_add(struct oracle_case *c, bool is_output, const char *name, int rank,
                     const int64_t *shape, double *data)
{
    int *n = is_output ? &c->n_outputs : &c->n_inputs;
    struct oracle_tensor *tensor = (is_output ? c->output : c->input) + *n;
    int64_t count = 1;
    for (int i = 0; i < rank && rank <= ORACLE_MAX_RANK; i++)
        count *= shape[i];
    unsigned char *state = calloc((size_t)count + 1, 1);
    if (*n == ORACLE_MAX_TENSORS || rank < 0 || rank > ORACLE_MAX_RANK || !state || !data ||
        strlen(name) >= sizeof tensor->name) {
        free(state);
        free(data);
        return oracle_fail(c, "tensor %s: no room for it", name);
    }
    memset(tensor, 0, sizeof *tensor);
    memcpy(tensor->name, name, strlen(name) + 1);
    tensor->rank = rank;
    for (int i = 0; i < rank; i++)
        tensor->shape[i] = shape[i];
    tensor->count = count;
    tensor->data = data;
    tensor->state = state;
    ++*n;
    return true;
}

const char *oracle_text(const struct oracle_case *c, const char *key)
{
    for (int i = 0; i < c->n_fields; i++)
        if (strcmp(c->field[i].key, key) == 0)
            return c->field[i].value;
    return NULL;
}

bool oracle_has(const struct oracle_case *c, const char *key)
{
    return oracle_text(c, key) != NULL;
}

bool oracle_is(const struct oracle_case *c, const char *key, const char *value)
{
    const char *text = oracle_text(c, key);
    return text && strcmp(text, value) == 0;
}

double oracle_real(struct oracle_case *c, const char *key)
{
    const char *text = oracle_text(c, key);
    char *end = NULL;
    double x = text ? strtod(text, &end) : 0;
    if (!text)
        oracle_fail(c, "%s: the spec does not say", key);
    else if (end == text || *end)
        oracle_fail(c, "%s: %s is no number", key, text);
    return x;
}

int64_t oracle_int(struct oracle_case *c, const char *key)
{
    double x = oracle_real(c, key);
    if (!(x >= -9e15 && x <= 9e15) || x != (double)(int64_t)x) {
        oracle_fail(c, "%s: no integer", key);
        return 0;
    }
    return (int64_t)x;
}

static struct oracle_tensor *find_tensor(struct oracle_tensor *set, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(set[i].name, name) == 0)
            return &set[i];
    return NULL;
}

struct oracle_tensor *oracle_input(struct oracle_case *c, const char *name)
{
    return find_tensor(c->input, c->n_inputs, name);
}

struct oracle_tensor *oracle_output(struct oracle_case *c, const char *name)
{
    return find_tensor(c->output, c->n_outputs, name);
}

bool oracle_shaped(struct oracle_case *c, const struct oracle_tensor *tensor, int rank,
                   const int64_t *shape)
{
    bool same = tensor->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = tensor->shape[i] == shape[i];
    return same || oracle_fail(c, "%s: another shape than the spec and inputs imply",
                               tensor->name);
}
