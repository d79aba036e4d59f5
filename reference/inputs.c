/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of inputs, and their shapes as schemes describe them. */
#include "attention.h"

#include <stdio.h>
#include <string.h>

static const struct posref_input_def inputs[] = {
    {"positions", "positions of tokens, [n] or [n_axes, n]", true},
    {"q_positions", "positions of queries; default: positions", true},
    {"k_positions", "positions of keys; default: positions", true},
    {"mask", "one value a token: 1, or 0 for padding; of scores and attention [n_q, n_k]: 1 where "
             "the key is seen, else 0", false},
    {"x", "what is rotated, or what the table is added to", false},
    {"dy", "gradient with respect to the rotated vectors, for rotate_backward", false},
    {"weights", "the learned table of the scheme", false},
    {"logits", "scaled scores before the bias, for weights", false},
    {"q", "queries of scores and attention, [n_q, dim] or [n_q, heads, dim]", false},
    {"k", "keys, the same with n_k rows; fewer heads are shared by groups of query heads", false},
    {"key_weights", "learned vectors of distances for keys; or their projection", false},
    {"query_weights", "learned vectors of distances in place of the query", false},
    {"value_weights", "learned vectors of distances for values", false},
    {"u", "in place of the query against keys, [dim] or [heads, dim]", false},
    {"v_bias", "in place of the query against relative keys, [dim] or [heads, dim]", false},
    {"v", "values of attention, [n_k, dim_v] or [n_k, heads, dim_v]", false},
    {"r1", "kerple: the factor of each head, positive", false},
    {"r2", "kerple: the second parameter of each head, positive", false},
    {"w1", "first layer of the network of a bias, [mlp_width, inputs]", false},
    {"b1", "bias of the first layer, [mlp_width]", false},
    {"w2", "second layer, [num_heads, mlp_width]", false},
    {"b2", "bias of the second layer, [num_heads]", false},
};

const struct posref_input_def *posref_input_def(int i)
{
    return i >= 0 && (size_t)i < sizeof inputs / sizeof *inputs ? &inputs[i] : NULL;
}

int posref_input_find(const char *name)
{
    for (int i = 0; posref_input_def(i); i++)
        if (strcmp(inputs[i].name, name) == 0)
            return i;
    return -1;
}

const char *posref_input_shape_text(enum posref_scheme scheme, const char *name)
{
    const struct posref_input_use *use = posref_scheme_def((int)scheme)->inputs;
    while (use->name && strcmp(use->name, name) != 0)
        use++;
    if (!use->name && posref_scheme_def((int)scheme)->attention &&
        posref_attention_reads(posref_scheme_def((int)scheme)->attention, name))
        return ""; /* [n] or [n, heads, dim]: vectors/request_shape.c */
    return use->name ? use->shape : NULL;
}

/* One input while its shape is read. */
struct shaping {
    const struct posref_spec *spec;
    const struct posref_tensors *inputs;
    const char *name;
    struct posref_error *err;
};

/* Reads a whole number of at most nine digits; false: there is none, and *out is untouched. */
static bool read_number(int64_t *out, const char **at)
{
    const char *from = *at;
    int64_t number = 0;
    for (; **at >= '0' && **at <= '9' && *at - from < 9; ++*at)
        number = 10 * number + (**at - '0');
    if (*at == from)
        return false;
    *out = number;
    return true;
}

static enum posref_status count_positions(int64_t *out, const struct shaping *s, const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(s->inputs, name);
    if (!tensor)
        tensor = posref_tensors_find(s->inputs, "positions");
    if (!tensor) /* they may be counted from a mask */
        tensor = posref_tensors_find(s->inputs, "mask");
    if (!tensor || tensor->rank < 1)
        return posref_fail(s->err, POSREF_BAD_INPUT, name, "%s needs them", s->name);
    *out = tensor->shape[tensor->rank - 1];
    return POSREF_OK;
}

/* One axis that is not free: a number, a count of positions, or FACTOR*FIELD+SUMMAND. */
static enum posref_status read_axis(int64_t *out, const struct shaping *s, const char *axis,
                                    size_t length)
{
    char word[48];
    const char *at = word;
    int64_t factor = 1, summand = 0;
    int value = 0;
    if (length >= sizeof word)
        return posref_fail(s->err, POSREF_INTERNAL, s->name, "has too long a shape");
    memcpy(word, axis, length);
    word[length] = '\0';
    if (read_number(&factor, &at)) {
        *out = factor;
        if (*at == '\0')
            return POSREF_OK;
        at++; /* the asterisk */
    }
    size_t name_length = strcspn(at, "+-");
    char name[48];
    memcpy(name, at, name_length);
    name[name_length] = '\0';
    at += name_length;
    const int sign = *at == '-' ? -1 : 1;
    if (*at && (at++, !read_number(&summand, &at)))
        return posref_fail(s->err, POSREF_INTERNAL, s->name, "has the unreadable axis %s", word);
    enum posref_status status = POSREF_OK;
    int field = posref_field_find(name);
    const char *spec = (const char *)s->spec;
    if (field >= 0 && !s->spec->given[field])
        return posref_fail(s->err, POSREF_BAD_INPUT, s->name, "needs %s to know its shape", name);
    if (field >= 0)
        memcpy(&value, spec + posref_field_def((enum posref_field)field)->offset, sizeof value);
    if (strcmp(name, "entries") == 0)
        *out = posref_scheme_def(s->spec->scheme)->entries(s->spec);
    else if (field >= 0)
        *out = value;
    else
        status = count_positions(out, s, strcmp(name, "n") == 0     ? "positions"
                                         : strcmp(name, "n_q") == 0 ? "q_positions"
                                                                    : "k_positions");
    *out = factor * *out + sign * summand;
    return status;
}

static enum posref_status fail_count(const struct shaping *s, const int64_t *shape, int rank,
                                     int free_axis, int64_t count)
{
    char text[160];
    size_t length = 0;
    for (int axis = 0; axis < rank && length < sizeof text; axis++)
        length += (size_t)(axis == free_axis
                               ? snprintf(text + length, sizeof text - length, "%s*",
                                          axis ? ", " : "")
                               : snprintf(text + length, sizeof text - length, "%s%lld",
                                          axis ? ", " : "", (long long)shape[axis]));
    return posref_fail(s->err, POSREF_BAD_INPUT, s->name,
                       "%lld values do not fill [%s], its shape (%s)", (long long)count, text,
                       posref_input_shape_text((enum posref_scheme)s->spec->scheme, s->name));
}

/* Gives the free axis its size, or takes it out. */
static enum posref_status settle(int64_t *shape, int *rank, const struct shaping *s, int free_axis,
                                 bool optional, int64_t count, int64_t free_size)
{
    int64_t others = 1;
    for (int axis = 0; axis < *rank; axis++)
        others *= axis == free_axis ? 1 : shape[axis];
    if (count >= 0 && (others < 1 || count % others != 0 || count == 0 ||
                       (free_axis < 0 && count != others)))
        return fail_count(s, shape, *rank, free_axis, count);
    if (free_axis < 0)
        return POSREF_OK;
    if (count >= 0)
        free_size = optional && count == others ? 0 : count / others;
    shape[free_axis] = free_size;
    if (free_size > 0 || !optional)
        return POSREF_OK;
    --*rank;
    for (int axis = free_axis; axis < *rank; axis++)
        shape[axis] = shape[axis + 1];
    return POSREF_OK;
}

/* The axis `heads`: num_heads, or free when the spec does not say. */
static bool is_heads(const char *text)
{
    return strncmp(text, "heads", 5) == 0 && (text[5] == ',' || text[5] == '\0');
}

enum posref_status posref_input_shape(int64_t shape[POSREF_MAX_RANK], int *rank,
                                      const struct posref_spec *spec,
                                      const struct posref_tensors *inputs_given, const char *name,
                                      int64_t count, int64_t free_size, struct posref_error *err)
{
    const char *text = posref_input_shape_text((enum posref_scheme)spec->scheme, name);
    const struct shaping s = {spec, inputs_given, name, err};
    const bool heads_given = spec->given[POSREF_FIELD_NUM_HEADS];
    int free_axis = -1;
    bool optional = false;
    if (!text || !*text)
        return posref_fail(err, POSREF_BAD_INPUT, name, "scheme=%s reads no such input",
                           posref_scheme_def(spec->scheme)->info.name);
    for (*rank = 0; *rank < POSREF_MAX_RANK; ++*rank, text++) {
        size_t length = strcspn(text, ",");
        if (text[0] == '*' || text[0] == '[' || (is_heads(text) && !heads_given)) {
            free_axis = *rank;
            optional = text[0] == '[';
        } else {
            enum posref_status status = is_heads(text)
                                            ? read_axis(&shape[*rank], &s, "num_heads", 9)
                                            : read_axis(&shape[*rank], &s, text, length);
            if (status != POSREF_OK)
                return status;
        }
        text += length;
        if (*text == '\0') {
            ++*rank;
            break;
        }
    }
    if (spec->weights_layout == POSREF_WEIGHTS_HEADS_ENTRIES && strcmp(name, "weights") == 0) {
        const int64_t entries = shape[0];
        shape[0] = shape[1];
        shape[1] = entries;
        free_axis = free_axis < 0 ? -1 : 1 - free_axis;
    }
    return settle(shape, rank, &s, free_axis, optional, count, free_size);
}
