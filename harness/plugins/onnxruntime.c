/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime's RotaryEmbedding behind the plugin ABI: op rotate, f32 and f16, by the operator of
 * ai.onnx (opset 23) or of com.microsoft. It needs no header of ONNX Runtime's.
 *
 *   --config lib=FILE            libonnxruntime.so; else the variable POSREF_ONNXRUNTIME; else the
 *                                package under node_modules here
 *   --config domain=microsoft    the operator of com.microsoft instead of ai.onnx
 *   --config pairing=swapped     asks for the other pairing, to see that this is caught
 *
 * The operator is handed its cosines and sines. In layout tables they are those of the call; else
 * this adapter makes them: in double, rounded to the dtype, for scaling none, linear and ntk; other
 * scalings are declined, since they would test this file. What is judged of ONNX Runtime is
 * pairing, layout, partial rotation, look-up and the arithmetic of the rotation. direction=inverse
 * negates the sines. The model is a protobuf of one node, written here. Results go straight into y,
 * so that channels left unwritten show. */
#include "../posref_plugin.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIBRARY "node_modules/sherpa-onnx-linux-x64/libonnxruntime.so"
#define MAX_SESSIONS 32

/* ONNX's numbers of element types. */
enum { ONNX_FLOAT = 1, ONNX_INT64 = 7, ONNX_FLOAT16 = 10 };

/* Places of the functions used in the append-only table that GetApi(10) returns. */
enum { GET_ERROR_MESSAGE = 2, CREATE_ENV = 3, CREATE_SESSION_FROM_ARRAY = 8, RUN = 9,
       CREATE_SESSION_OPTIONS = 10, SET_INTRA_OP_THREADS = 24, CREATE_TENSOR_WITH_DATA = 49,
       CREATE_CPU_MEMORY_INFO = 69, RELEASE_STATUS = 93, RELEASE_SESSION = 95,
       RELEASE_VALUE = 96 };

/* gcc and clang let this type be cast to any other function's. */
typedef void any_function(void);

typedef const char *message_fn(const void *status);
typedef void release_fn(void *object);
typedef void *create_tensor_fn(const void *memory, void *data, size_t bytes, const int64_t *shape,
                               size_t rank, int type, void **out);
typedef void *create_session_fn(const void *env, const void *model, size_t bytes,
                                const void *options, void **out);
typedef void *run_fn(void *session, const void *options, const char *const *in_names,
                     void *const *in, size_t n_in, const char *const *out_names, size_t n_out,
                     void **out);
typedef void *create_env_fn(int severity, const char *name, void **out);
typedef void *create_options_fn(void **out);
typedef void *set_threads_fn(void *options, int n);
typedef void *create_memory_fn(int allocator, int kind, void **out);

struct base {
    any_function *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

/* What a session depends on. */
struct key {
    int type, rotary_dim, heads;
    bool interleaved;
};

struct session {
    struct key key;
    void *session;
};

struct runtime {
    any_function *const *api;
    void *env, *options, *memory;
    bool is_microsoft, is_swapped;
    struct session cached[MAX_SESSIONS];
    int n_cached, next;
};

static char version_text[32];

/* ---- calls through the table ------------------------------------------------------------- */

/* true: done. Otherwise why has the runtime's message. */
static bool good(const struct runtime *r, void *status, char *why, size_t why_size)
{
    if (!status)
        return true;
    snprintf(why, why_size, "%s", ((message_fn *)r->api[GET_ERROR_MESSAGE])(status));
    ((release_fn *)r->api[RELEASE_STATUS])(status);
    return false;
}

static void release(const struct runtime *r, int place, void *object)
{
    if (object)
        ((release_fn *)r->api[place])(object);
}

static void *tensor(const struct runtime *r, const void *data, size_t bytes, const int64_t *shape,
                    size_t rank, int type, char *why, size_t why_size)
{
    create_tensor_fn *create = (create_tensor_fn *)r->api[CREATE_TENSOR_WITH_DATA];
    void *value = NULL;
    if (!good(r, create(r->memory, (void *)(uintptr_t)data, bytes, shape, rank, type, &value), why,
              why_size))
        return NULL;
    return value;
}

/* ---- the model ---------------------------------------------------------------------------- */

struct bytes {
    unsigned char data[2048];
    size_t n;
};

static void put(struct bytes *out, const void *data, size_t n)
{
    if (out->n + n <= sizeof out->data)
        memcpy(out->data + out->n, data, n);
    out->n += n;
}

static void put_varint(struct bytes *out, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        put(out, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_integer(struct bytes *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_block(struct bytes *out, unsigned field, const void *data, size_t n)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, n);
    put(out, data, n);
}

static void put_text(struct bytes *out, unsigned field, const char *text)
{
    put_block(out, field, text, strlen(text));
}

/* ValueInfoProto: a tensor of `rank` axes of any size. */
static void put_value(struct bytes *out, unsigned field, const char *name, int type, int rank)
{
    struct bytes shape = {.n = 0}, of_tensor = {.n = 0}, of_type = {.n = 0}, value = {.n = 0};
    for (int axis = 0; axis < rank; axis++) {
        struct bytes dim = {.n = 0};
        char symbol[32];
        snprintf(symbol, sizeof symbol, "%s_%d", name, axis);
        put_text(&dim, 2, symbol);
        put_block(&shape, 1, dim.data, dim.n);
    }
    put_integer(&of_tensor, 1, (uint64_t)type);
    put_block(&of_tensor, 2, shape.data, shape.n);
    put_block(&of_type, 1, of_tensor.data, of_tensor.n);
    put_text(&value, 1, name);
    put_block(&value, 2, of_type.data, of_type.n);
    put_block(out, field, value.data, value.n);
}

static void put_attribute(struct bytes *node, const char *name, int value)
{
    struct bytes attribute = {.n = 0};
    put_text(&attribute, 1, name);
    put_integer(&attribute, 3, (uint64_t)value);
    put_integer(&attribute, 20, 2); /* INT */
    put_block(node, 5, attribute.data, attribute.n);
}

static void put_opset(struct bytes *model, const char *domain, uint64_t version)
{
    struct bytes opset = {.n = 0};
    put_text(&opset, 1, domain);
    put_integer(&opset, 2, version);
    put_block(model, 8, opset.data, opset.n);
}

/* One node, y = RotaryEmbedding(x, cos, sin, positions), whose inputs have an order in each domain.
 * x is [1, n, heads * dim]; the tables are [n, rotary_dim / 2], looked up by positions [1, n]. */
static void put_model(struct bytes *model, const struct key *key, bool is_microsoft)
{
    static const char *const orders[2][4] = {{"x", "cos", "sin", "positions"},
                                             {"x", "positions", "cos", "sin"}};
    struct bytes node = {.n = 0}, graph = {.n = 0};
    for (int i = 0; i < 4; i++)
        put_text(&node, 1, orders[is_microsoft][i]);
    put_text(&node, 2, "y");
    put_text(&node, 4, "RotaryEmbedding");
    put_attribute(&node, "interleaved", key->interleaved);
    put_attribute(&node, "num_heads", key->heads);
    put_attribute(&node, "rotary_embedding_dim", key->rotary_dim);
    if (is_microsoft)
        put_text(&node, 7, "com.microsoft");
    put_block(&graph, 1, node.data, node.n);
    put_text(&graph, 2, "rotary");
    put_value(&graph, 11, "x", key->type, 3);
    put_value(&graph, 11, "cos", key->type, 2);
    put_value(&graph, 11, "sin", key->type, 2);
    put_value(&graph, 11, "positions", ONNX_INT64, 2);
    put_value(&graph, 12, "y", key->type, 3);
    put_integer(model, 1, 10); /* IR version */
    put_block(model, 7, graph.data, graph.n);
    put_opset(model, "", 23);
    if (is_microsoft)
        put_opset(model, "com.microsoft", 1);
}

static void *session_of(struct runtime *r, const struct key *key, char *why, size_t why_size)
{
    for (int i = 0; i < r->n_cached; i++)
        if (memcmp(&r->cached[i].key, key, sizeof *key) == 0)
            return r->cached[i].session;
    struct bytes model = {.n = 0};
    create_session_fn *create = (create_session_fn *)r->api[CREATE_SESSION_FROM_ARRAY];
    void *session = NULL;
    put_model(&model, key, r->is_microsoft);
    if (!good(r, create(r->env, model.data, model.n, r->options, &session), why, why_size))
        return NULL;
    struct session *place = &r->cached[r->next];
    r->next = (r->next + 1) % MAX_SESSIONS;
    if (r->n_cached < MAX_SESSIONS)
        r->n_cached++;
    else
        release(r, RELEASE_SESSION, place->session);
    *place = (struct session){*key, session};
    return session;
}

/* ---- a call ------------------------------------------------------------------------------- */

static double number(const char *spec, const char *key, const char *missing)
{
    return strtod(posref_plugin_value(spec, key, missing), NULL);
}

/* A double rounded to binary16, to nearest even; enough for cosines and sines. */
static uint16_t to_f16(double x)
{
    int exponent;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double fraction = frexp(fabs(x), &exponent); /* [0.5, 1) */
    if (fraction == 0 || exponent < -24)
        return sign;
    int digits = exponent < -13 ? 11 + exponent + 13 : 11;
    double rounded = nearbyint(ldexp(fraction, digits)); /* an integer of at most 11 bits */
    if (exponent < -13)
        return (uint16_t)(sign | (uint16_t)rounded);
    /* rounded has its leading bit at 2^10; a carry into 2^11 raises the exponent by itself. */
    return (uint16_t)(sign | (uint16_t)(((exponent + 13) << 10) + (int)rounded));
}

static void put_element(void *table, int64_t at, double value, int type)
{
    if (type == ONNX_FLOAT)
        ((float *)table)[at] = (float)value;
    else
        ((uint16_t *)table)[at] = to_f16(value);
}

/* Those that are handed in, in the dtype of x. */
static bool copy_tables(void *cosines, void *sines, const struct posref_plugin_call *call,
                        size_t width)
{
    const struct posref_plugin_tensor *in[2] = {posref_plugin_find(call, "cos"),
                                                posref_plugin_find(call, "sin")};
    void *out[2] = {cosines, sines};
    const bool inverse = posref_plugin_is(call->spec, "direction", "inverse");
    for (int k = 0; k < 2 && in[0] && in[1]; k++)
        for (int64_t e = 0; e < in[k]->shape[0] * in[k]->shape[1]; e++) {
            unsigned char *element = (unsigned char *)out[k] + (size_t)e * width;
            memcpy(element, posref_plugin_at(in[k], e / in[k]->shape[1], e % in[k]->shape[1], 0),
                   width);
            if (k == 1 && inverse)
                element[width - 1] ^= 0x80; /* the sign, on a little-endian machine */
        }
    return in[0] && in[1];
}

/* cos and sin [n, r / 2] of the positions, in double. */
static void fill_tables(void *cosines, void *sines, const struct posref_plugin_call *call,
                        const struct key *key)
{
    const struct posref_plugin_tensor *positions = posref_plugin_find(call, "positions");
    const int r = key->rotary_dim;
    double base = number(call->spec, "base", "10000"), divisor = 1;
    const double sign = posref_plugin_is(call->spec, "direction", "inverse") ? -1 : 1;
    if (posref_plugin_is(call->spec, "scaling", "linear"))
        divisor = number(call->spec, "factor", "1");
    if (posref_plugin_is(call->spec, "scaling", "ntk"))
        base *= pow(number(call->spec, "factor", "1"), r / (r - 2.0));
    for (int64_t row = 0; row < positions->shape[0]; row++) {
        for (int i = 0; i < r / 2; i++) {
            double angle = posref_plugin_position(positions, 0, row) * pow(base, -2.0 * i / r) /
                           divisor;
            put_element(cosines, row * (r / 2) + i, cos(angle), key->type);
            put_element(sines, row * (r / 2) + i, sign * sin(angle), key->type);
        }
    }
}

static int32_t run_session(struct runtime *r, void *session, void *const values[5], char *why,
                           size_t why_size)
{
    static const char *const inputs[] = {"x", "cos", "sin", "positions"};
    static const char *const outputs[] = {"y"};
    run_fn *run_function = (run_fn *)r->api[RUN];
    void *y = values[4];
    return good(r, run_function(session, NULL, inputs, values, 4, outputs, 1, &y), why, why_size)
               ? POSREF_PLUGIN_OK : POSREF_PLUGIN_ERROR;
}

static int32_t rotate(struct runtime *r, const struct posref_plugin_call *call,
                      const struct key *key, char *why, size_t why_size)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const size_t width = posref_plugin_dtype_size(x->dtype);
    const int64_t n = x->shape[0], dim = x->shape[x->rank - 1], half = key->rotary_dim / 2;
    const size_t bytes = (size_t)(n * key->heads * dim) * width;
    const int64_t shape[] = {1, n, key->heads * dim}, table[] = {n, half}, rows[] = {1, n};
    const size_t table_bytes = (size_t)(n * half) * width;
    void *cosines = malloc(table_bytes), *sines = malloc(table_bytes), *values[5] = {NULL};
    int64_t *row = malloc((size_t)n * sizeof *row);
    void *session = session_of(r, key, why, why_size);
    int32_t status = POSREF_PLUGIN_ERROR;
    if (cosines && sines && row && session) {
        for (int64_t k = 0; k < n; k++)
            row[k] = k;
        if (!copy_tables(cosines, sines, call, width))
            fill_tables(cosines, sines, call, key);
        values[0] = tensor(r, x->data, bytes, shape, 3, key->type, why, why_size);
        values[1] = tensor(r, cosines, table_bytes, table, 2, key->type, why, why_size);
        values[2] = tensor(r, sines, table_bytes, table, 2, key->type, why, why_size);
        values[3] = tensor(r, row, (size_t)n * sizeof *row, rows, 2, ONNX_INT64, why, why_size);
        values[4] = tensor(r, y->data, bytes, shape, 3, key->type, why, why_size);
        if (values[0] && values[1] && values[2] && values[3] && values[4])
            status = run_session(r, session, values, why, why_size);
    }
    for (int k = 0; k < 5; k++)
        release(r, RELEASE_VALUE, values[k]);
    free(cosines);
    free(sines);
    free(row);
    return status;
}

static const char *declines(const struct posref_plugin_call *call)
{
    static const char *const plain[] = {"none", "linear", "ntk"};
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *positions = posref_plugin_find(call, "positions");
    bool scaling = posref_plugin_find(call, "cos") != NULL; /* whatever it is */
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        scaling = scaling || posref_plugin_is(call->spec, "scaling", plain[k]);
    if (!posref_plugin_word_is(call->op, "rotate") ||
        !posref_plugin_is(call->spec, "scheme", "rope") || !x ||
        (!positions && !posref_plugin_find(call, "cos")))
        return "RotaryEmbedding rotates, and nothing else";
    if ((positions && positions->rank != 1) || posref_plugin_value(call->spec, "axes_dims", NULL))
        return "one axis only";
    if (x->dtype != POSREF_PLUGIN_F32 && x->dtype != POSREF_PLUGIN_F16)
        return "the operator runs in f32 and f16 here";
    if (!posref_plugin_is(call->spec, "pairing", "half") &&
        !posref_plugin_is(call->spec, "pairing", "interleaved"))
        return "the operator knows half and interleaved";
    if (!posref_plugin_is(call->spec, "partial", "leading"))
        return "the operator rotates leading channels";
    if (!scaling)
        return "tables of this scaling would be this adapter's own";
    return NULL;
}

static int32_t run(void *state, const struct posref_plugin_call *call, char *why, size_t why_size)
{
    struct runtime *r = state;
    const char *declined = declines(call);
    if (declined) {
        snprintf(why, why_size, "%s", declined);
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    struct key key;
    memset(&key, 0, sizeof key); /* padding too: keys are compared as bytes */
    key.type = x->dtype == POSREF_PLUGIN_F32 ? ONNX_FLOAT : ONNX_FLOAT16;
    key.rotary_dim = (int)number(call->spec, "rotary_dim", "0");
    key.heads = x->rank == 3 ? (int)x->shape[1] : 1;
    key.interleaved = posref_plugin_is(call->spec, "pairing", "interleaved") != r->is_swapped;
    return rotate(r, call, &key, why, why_size);
}

/* ---- opening ------------------------------------------------------------------------------ */

static bool known(const char *config)
{
    for (const char *at = config; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strncmp(at, "lib=", 4) != 0 && !posref_plugin_word_is(at, "domain=microsoft") &&
            !posref_plugin_word_is(at, "domain=onnx") &&
            !posref_plugin_word_is(at, "pairing=swapped"))
            return false;
    return true;
}

static bool begin(struct runtime *r, char *why, size_t why_size)
{
    create_env_fn *create_env = (create_env_fn *)r->api[CREATE_ENV];
    create_options_fn *create_options = (create_options_fn *)r->api[CREATE_SESSION_OPTIONS];
    set_threads_fn *set_threads = (set_threads_fn *)r->api[SET_INTRA_OP_THREADS];
    create_memory_fn *create_memory = (create_memory_fn *)r->api[CREATE_CPU_MEMORY_INFO];
    return good(r, create_env(3, "posref", &r->env), why, why_size) && /* errors only */
           good(r, create_options(&r->options), why, why_size) &&
           good(r, set_threads(r->options, 1), why, why_size) &&
           good(r, create_memory(0, 0, &r->memory), why, why_size);
}

static int32_t open_runtime(void **state, const char *config, char *why, size_t why_size)
{
    char path[4096];
    const char *set = getenv("POSREF_ONNXRUNTIME");
    const char *lib = posref_plugin_value(config, "lib", set ? set : DEFAULT_LIBRARY);
    const struct base *(*get_base)(void) = NULL;
    if (!known(config)) {
        snprintf(why, why_size, "knows lib=FILE, domain=onnx, domain=microsoft, pairing=swapped");
        return POSREF_PLUGIN_ERROR;
    }
    snprintf(path, sizeof path, "%.*s", (int)strcspn(lib, " "), lib);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&get_base = dlsym(library, "OrtGetApiBase");
    struct runtime *r = get_base ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        snprintf(why, why_size, "%s", library ? "no OrtGetApiBase, or no memory" : dlerror());
        return POSREF_PLUGIN_ERROR;
    }
    r->api = get_base()->get_api(10);
    r->is_microsoft = posref_plugin_is(config, "domain", "microsoft");
    r->is_swapped = posref_plugin_is(config, "pairing", "swapped");
    snprintf(version_text, sizeof version_text, "%s", get_base()->get_version());
    *state = r;
    return r->api && begin(r, why, why_size) ? POSREF_PLUGIN_OK : POSREF_PLUGIN_ERROR;
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {.abi = POSREF_PLUGIN_ABI,
                                                .struct_size = sizeof plugin,
                                                .name = "onnxruntime",
                                                .version = version_text,
                                                .open = open_runtime,
                                                .run = run,
                                                .layouts = "tables"};
    (void)host_abi;
    return &plugin;
}
