/* SPDX-License-Identifier: Apache-2.0 */
/* The front door of reference/: the mathematics of positional encodings. A spec and inputs go in,
 * correctly rounded doubles come out. Upper rooms include this header and no other of this room.
 *
 * The room uses libc and libm only. It has no globals that change, does no I/O, prints nothing,
 * and takes memory only from the arena its caller hands in. Every function is reentrant: two
 * threads may call anything here at once as long as they do not share an arena or an output.
 *
 * Contract of every value: the exact value is that of the spec's parameters as the doubles they
 * were given, with no intermediate rounding; each output is that value rounded once, to nearest
 * even, unless the op's comment states a bound instead. */
#ifndef POSREF_REFERENCE_H
#define POSREF_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- status, errors, memory -------------------------------------------------------------- */

enum posref_status {
    POSREF_OK = 0,
    POSREF_BAD_INPUT, /* the caller's input is wrong; posref_error names the key   (exit 2) */
    POSREF_NO_MEMORY, /* the arena's allocator returned NULL                       (exit 3) */
    POSREF_IO,        /* the operating system refused; used by upper rooms         (exit 3) */
    POSREF_INTERNAL   /* a bound did not decide or an invariant broke: our fault   (exit 3) */
};

#define POSREF_MUST_USE __attribute__((warn_unused_result))

/* Caller-owned. Filled on any status but POSREF_OK, untouched otherwise. `key` is the parameter,
 * tensor or file at fault ("" when none); `text` is one line without the key, for people. Both are
 * UTF-8 without control characters: posref_fail puts ? for each byte that is not. */
struct posref_error {
    char key[64];
    char text[256];
};

/* Fills *err (which may be NULL) and returns `status`, so that a check is one line:
 * return posref_fail(err, POSREF_BAD_INPUT, "dim", "must be even, got %d", dim); */
enum posref_status posref_fail(struct posref_error *err, enum posref_status status,
                               const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Where memory comes from. alloc returns at least size_bytes aligned for any type, or NULL.
 * Nothing is freed one by one: the owner of ctx frees everything at once. */
struct posref_arena {
    void *(*alloc)(void *ctx, size_t size_bytes);
    void *ctx;
};

/* ---- specs --------------------------------------------------------------------------------- */

enum posref_pairing { POSREF_PAIRING_HALF, POSREF_PAIRING_INTERLEAVED,
                      POSREF_PAIRING_INTERLEAVED_TO_HALF, POSREF_PAIRING_MISMATCHED };
enum posref_partial { POSREF_PARTIAL_LEADING, POSREF_PARTIAL_TRAILING,
                      POSREF_PARTIAL_PROPORTIONAL };
/* One a line: names and definitions follow in the same order. */
enum posref_scheme {
    POSREF_SCHEME_ROPE,
    POSREF_SCHEME_SINUSOIDAL,
    POSREF_SCHEME_ALIBI,
    POSREF_SCHEME_TIMESTEP,
    POSREF_SCHEME_LEARNED,
    POSREF_SCHEME_NONE,
    POSREF_SCHEME_FOURIER,
    POSREF_SCHEME_SHAW,
    POSREF_SCHEME_TRANSFORMER_XL,
    POSREF_SCHEME_T5_BIAS,
    POSREF_SCHEME_RELATIVE_BIAS,
    POSREF_SCHEME_DEBERTA,
    POSREF_SCHEME_SWIN,
    POSREF_SCHEME_BEIT,
    POSREF_SCHEME_SWINV2,
    POSREF_SCHEME_KERPLE,
    POSREF_SCHEME_FIRE,
    POSREF_SCHEME_SANDWICH,
    POSREF_SCHEME_COPE,
    POSREF_N_SCHEMES
};
enum posref_direction { POSREF_DIRECTION_FORWARD, POSREF_DIRECTION_INVERSE };
enum posref_scaling { POSREF_SCALING_NONE, POSREF_SCALING_LINEAR, POSREF_SCALING_NTK,
                      POSREF_SCALING_YARN, POSREF_SCALING_LLAMA3, POSREF_SCALING_DYNAMIC,
                      POSREF_SCALING_LONGROPE, POSREF_SCALING_PROPORTIONAL,
                      POSREF_SCALING_NTK_BY_PARTS, POSREF_SCALING_NTK_FIXED,
                      POSREF_SCALING_NTK_MIXED, POSREF_SCALING_DYNAMIC_CONSTANT,
                      POSREF_SCALING_DYNAMIC_ALPHA, POSREF_SCALING_DYNAMIC_LINEAR };
enum posref_xpos_side { POSREF_XPOS_QUERY, POSREF_XPOS_KEY };
enum posref_range_rule { POSREF_RANGE_CLAMPED, POSREF_RANGE_HALF, POSREF_RANGE_UNCLAMPED,
                         POSREF_RANGE_AT_LEAST };
enum posref_mscale_rule { POSREF_MSCALE_BOTH, POSREF_MSCALE_RATIO, POSREF_MSCALE_IGNORED,
                          POSREF_MSCALE_TELECHAT, POSREF_MSCALE_GGML, POSREF_MSCALE_NONE };
enum posref_attention_factor_rule { POSREF_ATTENTION_FACTOR_REPLACES,
                                    POSREF_ATTENTION_FACTOR_MULTIPLIES,
                                    POSREF_ATTENTION_FACTOR_IGNORED };
enum posref_longrope_magnitude { POSREF_LONGROPE_SU, POSREF_LONGROPE_YARN };
enum posref_axes_ladder { POSREF_AXES_LADDER_INDEPENDENT, POSREF_AXES_LADDER_SHARED,
                          POSREF_AXES_LADDER_SPLIT, POSREF_AXES_LADDER_LOG_LINSPACE };
enum posref_axes_order { POSREF_AXES_ORDER_AXIS, POSREF_AXES_ORDER_FREQUENCY };
enum posref_axes_span { POSREF_AXES_SPAN_AXIS, POSREF_AXES_SPAN_HEAD };
enum posref_angle_unit { POSREF_ANGLE_UNIT_RADIAN, POSREF_ANGLE_UNIT_TURN,
                         POSREF_ANGLE_UNIT_QUARTER_TURN };
enum posref_axes_channels { POSREF_AXES_CHANNELS_IN_ORDER, POSREF_AXES_CHANNELS_COLUMN_FIRST,
                            POSREF_AXES_CHANNELS_REVERSED };
enum posref_mrope_order { POSREF_MROPE_CHUNKED, POSREF_MROPE_INTERLEAVED, POSREF_MROPE_IMROPE,
                          POSREF_MROPE_HW_T, POSREF_MROPE_GREEDY };
enum posref_table_layout { POSREF_TABLE_SPLIT, POSREF_TABLE_COS_SIN, POSREF_TABLE_CONCAT,
                           POSREF_TABLE_REPEAT, POSREF_TABLE_COMPLEX, POSREF_TABLE_MATRIX,
                           POSREF_TABLE_SIN_COS, POSREF_TABLE_INTERLEAVED, POSREF_TABLE_ANGLES };
enum posref_order { POSREF_ORDER_INTERLEAVED, POSREF_ORDER_CONCAT, POSREF_ORDER_FLIPPED };
enum posref_odd_dim { POSREF_ODD_DIM_ZERO_COLUMN, POSREF_ODD_DIM_EXTRA_SINE };
enum posref_beyond { POSREF_BEYOND_ERROR, POSREF_BEYOND_TRUNCATE, POSREF_BEYOND_INTERPOLATE };
enum posref_interpolation { POSREF_INTERPOLATION_LINEAR, POSREF_INTERPOLATION_CUBIC };
enum posref_x_scale { POSREF_X_SCALE_ONE, POSREF_X_SCALE_SQRT_DIM };
enum posref_exponent { POSREF_EXPONENT_D, POSREF_EXPONENT_HALF_MINUS_ONE };
enum posref_alibi_form { POSREF_ALIBI_DISTANCE, POSREF_ALIBI_ROW, POSREF_ALIBI_SYMMETRIC };
enum posref_slopes { POSREF_SLOPES_PUBLISHED, POSREF_SLOPES_GEOMETRIC,
                     POSREF_SLOPES_PUBLISHED_BF16 };
enum posref_table_kind { POSREF_TABLE_CLIPPED, POSREF_TABLE_FULL };
enum posref_difference { POSREF_DIFFERENCE_QUERY_MINUS_KEY, POSREF_DIFFERENCE_KEY_MINUS_QUERY };
enum posref_entries_layout { POSREF_WEIGHTS_ENTRIES_HEADS, POSREF_WEIGHTS_HEADS_ENTRIES };
enum posref_pos_att_type { POSREF_POS_ATT_BOTH, POSREF_POS_ATT_C2P, POSREF_POS_ATT_P2C };
enum posref_gate_logits { POSREF_GATE_LOGITS_SCALED, POSREF_GATE_LOGITS_UNSCALED };
enum posref_position_logits { POSREF_POSITION_LOGITS_UNSCALED, POSREF_POSITION_LOGITS_SCALED };
enum posref_kernel { POSREF_KERNEL_LOG, POSREF_KERNEL_POWER };

enum posref_embedding_type { POSREF_EMBEDDING_SHAW, POSREF_EMBEDDING_RELATIVE_KEY,
                             POSREF_EMBEDDING_RELATIVE_KEY_QUERY };
enum posref_relative_keys { POSREF_RELATIVE_SINUSOID, POSREF_RELATIVE_LEARNED,
                            POSREF_RELATIVE_ZERO_PADDED };
enum posref_attention_kind { POSREF_ATTENTION_SOFTMAX, POSREF_ATTENTION_LINEAR };
enum posref_causal_align { POSREF_ALIGN_BOTTOM_RIGHT, POSREF_ALIGN_TOP_LEFT,
                           POSREF_ALIGN_POSITION };
enum posref_scale_from { POSREF_SCALE_FROM_DIM, POSREF_SCALE_FROM_MLA,
                         POSREF_SCALE_FROM_MLA_MSCALE };
enum posref_temperature { POSREF_TEMPERATURE_NONE, POSREF_TEMPERATURE_LLAMA4,
                          POSREF_TEMPERATURE_MINISTRAL, POSREF_TEMPERATURE_LLAMA_CPP,
                          POSREF_TEMPERATURE_LOGN };

/* One entry a spec field, in canonical order: the order in which a spec is printed. */
enum posref_field {
    POSREF_FIELD_SCHEME,
    POSREF_FIELD_DIM,
    POSREF_FIELD_BASE,
    POSREF_FIELD_ROTARY_DIM,
    POSREF_FIELD_PARTIAL,
    POSREF_FIELD_PARTIAL_ROTARY_FACTOR,
    POSREF_FIELD_PAIRING,
    POSREF_FIELD_DIRECTION,
    POSREF_FIELD_AXES_DIMS,
    POSREF_FIELD_AXES_LADDER,
    POSREF_FIELD_AXES_ORDER,
    POSREF_FIELD_AXES_SPAN,
    POSREF_FIELD_AXES_NTK,
    POSREF_FIELD_ANGLE_UNIT,
    POSREF_FIELD_MROPE_SECTION,
    POSREF_FIELD_MROPE_INTERLEAVED,
    POSREF_FIELD_MROPE_ORDER,
    POSREF_FIELD_XPOS_SCALE_BASE,
    POSREF_FIELD_XPOS_CENTER,
    POSREF_FIELD_XPOS_SIDE,
    POSREF_FIELD_TABLE_LAYOUT,
    POSREF_FIELD_SCALING,
    POSREF_FIELD_FACTOR,
    POSREF_FIELD_ALPHA,
    POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS,
    POSREF_FIELD_SEQ_LEN,
    POSREF_FIELD_SEQ_LEN_HISTORY,
    POSREF_FIELD_BETA_FAST,
    POSREF_FIELD_BETA_SLOW,
    POSREF_FIELD_TRUNCATE,
    POSREF_FIELD_RANGE_RULE,
    POSREF_FIELD_MSCALE,
    POSREF_FIELD_MSCALE_ALL_DIM,
    POSREF_FIELD_MSCALE_RULE,
    POSREF_FIELD_ATTENTION_FACTOR,
    POSREF_FIELD_ATTENTION_FACTOR_RULE,
    POSREF_FIELD_LOW_FREQ_FACTOR,
    POSREF_FIELD_HIGH_FREQ_FACTOR,
    POSREF_FIELD_MIXED_B,
    POSREF_FIELD_SHORT_FACTOR,
    POSREF_FIELD_LONG_FACTOR,
    POSREF_FIELD_MAGNITUDE,
    POSREF_FIELD_SHORT_MSCALE,
    POSREF_FIELD_LONG_MSCALE,
    POSREF_FIELD_ORDER,
    POSREF_FIELD_EXPONENT,
    POSREF_FIELD_ODD_DIM,
    POSREF_FIELD_OFFSET,
    POSREF_FIELD_PADDING_IDX,
    POSREF_FIELD_AXES_CHANNELS,
    POSREF_FIELD_AXES_LENGTHS,
    POSREF_FIELD_LENGTH_EPS,
    POSREF_FIELD_MIN_TIMESCALE,
    POSREF_FIELD_TABLE_SCALE,
    POSREF_FIELD_X_SCALE,
    POSREF_FIELD_BEYOND,
    POSREF_FIELD_INTERPOLATION,
    POSREF_FIELD_PREFIX_ROWS,
    POSREF_FIELD_SOURCE_GRID,
    POSREF_FIELD_TARGET_GRID,
    POSREF_FIELD_FLIP_SIN_TO_COS,
    POSREF_FIELD_DOWNSCALE_FREQ_SHIFT,
    POSREF_FIELD_SCALE,
    POSREF_FIELD_MAX_PERIOD,
    POSREF_FIELD_LOG,
    POSREF_FIELD_NUM_HEADS,
    POSREF_FIELD_ALIBI_BIAS_MAX,
    POSREF_FIELD_FORM,
    POSREF_FIELD_MAX_RELATIVE_POSITION,
    POSREF_FIELD_POSITION_EMBEDDING_TYPE,
    POSREF_FIELD_RELATIVE_KEYS,
    POSREF_FIELD_MODEL_DIM,
    POSREF_FIELD_CLAMP_LEN,
    POSREF_FIELD_ATTENTION_KIND,
    POSREF_FIELD_CAUSAL, /* from here to TEMPERATURE_OFFSET: every scheme that has scores */
    POSREF_FIELD_CAUSAL_ALIGN,
    POSREF_FIELD_SOFTMAX_SCALE,
    POSREF_FIELD_SOFTMAX_SCALE_FROM,
    POSREF_FIELD_TEMPERATURE,
    POSREF_FIELD_TEMPERATURE_SCALE,
    POSREF_FIELD_TEMPERATURE_LENGTH,
    POSREF_FIELD_TEMPERATURE_OFFSET,
    POSREF_FIELD_ALIGN,
    POSREF_FIELD_SLOPES,
    POSREF_FIELD_NUM_BUCKETS,
    POSREF_FIELD_MAX_DISTANCE,
    POSREF_FIELD_BIDIRECTIONAL,
    POSREF_FIELD_LOG_BUCKETS,
    POSREF_FIELD_POS_ATT_TYPE,
    POSREF_FIELD_P2C_DIFFERENCE,
    POSREF_FIELD_TABLE,
    POSREF_FIELD_MAX_POSITION_EMBEDDINGS,
    POSREF_FIELD_DIFFERENCE,
    POSREF_FIELD_WINDOW_SIZE,
    POSREF_FIELD_PRETRAINED_WINDOW_SIZE,
    POSREF_FIELD_WEIGHTS_LAYOUT,
    POSREF_FIELD_KERNEL,
    POSREF_FIELD_LOG_SCALE,
    POSREF_FIELD_THRESHOLD,
    POSREF_FIELD_EPSILON,
    POSREF_FIELD_MLP_WIDTH,
    POSREF_FIELD_NPOS_MAX,
    POSREF_FIELD_GATE_LOGITS,
    POSREF_FIELD_POSITION_LOGITS,
    POSREF_N_FIELDS
};

/* List-valued fields. Entries behind n are 0. */
#define POSREF_MAX_INTS 8
#define POSREF_MAX_REALS 256
struct posref_ints {
    int n;
    int item[POSREF_MAX_INTS];
};
struct posref_reals {
    int n;
    double item[POSREF_MAX_REALS];
};

/* Ways to be wrong that no field says. Part of no text, document or vector: the registry of faults
 * alone sets them, to evaluate and judge what a kernel with that fault would give. */
enum posref_slip {
    POSREF_SLIP_BUCKET_FLOOR = 1 << 0,   /* deberta: floor for ceil */
    POSREF_SLIP_BUCKET_CEIL = 1 << 1,    /* t5_bias: ceil for floor */
    POSREF_SLIP_BUCKET_NEAREST = 1 << 2, /* either: rounded */
    POSREF_SLIP_BUCKET_SIGNED = 1 << 3,  /* deberta: ceil of the number with its sign */
    POSREF_SLIP_SPAN_LESS = 1 << 4,      /* deberta: rows of bucket + span - 1 */
    POSREF_SLIP_SPAN_MORE = 1 << 5,      /* ... + 1 */
    POSREF_SLIP_P2C_UNTURNED = 1 << 6,   /* deberta: p2c left as [keys, queries] */
    POSREF_SLIP_GATES_FROM_START = 1 << 7, /* cope: g_i0 + ... + g_ij */
    POSREF_SLIP_GATES_BEYOND = 1 << 8,   /* cope: without g_ij itself */
    POSREF_SLIP_GATES_UNMASKED = 1 << 9, /* cope: gates of keys that are not seen count */
    POSREF_SLIP_ROW_FLOOR = 1 << 10,     /* cope: E(floor(p)) */
    POSREF_SLIP_ROW_NEAREST = 1 << 11,   /* cope: E(floor(p + 1/2)) */
    POSREF_SLIP_ROW_NONE_BEYOND = 1 << 12, /* cope: p not clamped, and E = 0 beyond the table */
    POSREF_SLIP_OWN_POSITIONS = 1 << 13, /* added tables: q . p_i and k . r_j */
    POSREF_SLIP_QUERIES_BARE = 1 << 14,  /* added tables: q for q + p_i */
    POSREF_SLIP_KEYS_BARE = 1 << 15,     /* added tables: k for k + r_j */
    POSREF_SLIP_POSITIONS_APART = 1 << 16, /* added tables: p_i . r_j is left out */
    POSREF_SLIP_SHIFT_CAUSAL = 1 << 17,  /* transformer_xl: the causal shift, for all keys */
    POSREF_SLIP_SHIFT_LAST = 1 << 18,    /* transformer_xl: the shift drops the last row */
    POSREF_SLIP_SOFTMAX_QUERIES = 1 << 19, /* attention: weights of a key add up to 1 */
    POSREF_SLIP_MASK_ADDED = 1 << 20,    /* attention: scores + mask */
    POSREF_SLIP_KEYS_APART = 1 << 21,    /* shaw: without k . K[row] of relative_key_query */
};

/* The value of every field; given[f] says that the user set field f (or, after
 * posref_spec_complete, that the field has a value: its default or the given one). A field that
 * has no value (attention_factor left to the formula, rotary_dim of an alibi) is given = false. */
struct posref_spec {
    int scheme;
    int dim;
    double base;
    int rotary_dim;
    int partial;
    double partial_rotary_factor;
    int pairing;
    int direction;
    struct posref_ints axes_dims;
    int axes_ladder;
    int axes_order;
    int axes_span;
    struct posref_reals axes_ntk;
    int angle_unit;
    struct posref_ints mrope_section;
    bool mrope_interleaved;
    int mrope_order;
    double xpos_scale_base;
    double xpos_center;
    int xpos_side;
    int table_layout;
    int scaling;
    double factor;
    double alpha;
    double original_max_position_embeddings;
    double seq_len;
    struct posref_reals seq_len_history;
    double beta_fast;
    double beta_slow;
    bool truncate;
    int range_rule;
    double mscale;
    double mscale_all_dim;
    int mscale_rule;
    double attention_factor;
    int attention_factor_rule;
    double low_freq_factor;
    double high_freq_factor;
    double mixed_b;
    struct posref_reals short_factor, long_factor;
    int magnitude;
    double short_mscale, long_mscale;
    int order;
    int exponent;
    int odd_dim;
    double offset;
    int padding_idx;
    int axes_channels;
    struct posref_reals axes_lengths;
    double length_eps;
    double min_timescale;
    double table_scale;
    int x_scale;
    int beyond;
    int interpolation;
    int prefix_rows;
    struct posref_ints source_grid;
    struct posref_ints target_grid;
    bool flip_sin_to_cos;
    int downscale_freq_shift;
    double scale;
    double max_period;
    bool log;
    int num_heads;
    double alibi_bias_max;
    int form;
    int max_relative_position;
    int position_embedding_type;
    int relative_keys;
    int model_dim;
    int clamp_len;
    int attention_kind;
    bool causal;
    int causal_align;
    double softmax_scale;
    int softmax_scale_from;
    int temperature;
    double temperature_scale;
    double temperature_length;
    double temperature_offset;
    int align;
    int slopes;
    int num_buckets;
    int max_distance;
    bool bidirectional;
    bool log_buckets;
    int pos_att_type;
    int p2c_difference;
    int table;
    int max_position_embeddings;
    int difference;
    struct posref_ints window_size;
    struct posref_ints pretrained_window_size;
    int weights_layout;
    int kernel;
    double log_scale;
    double threshold;
    double epsilon;
    int mlp_width;
    int npos_max;
    int gate_logits;
    int position_logits;
    bool given[POSREF_N_FIELDS];
    unsigned slips; /* bits of enum posref_slip: 0 but in hypotheses about failures */
};

enum posref_field_type { POSREF_TYPE_INT, POSREF_TYPE_REAL, POSREF_TYPE_BOOL, POSREF_TYPE_CHOICE,
                         POSREF_TYPE_INTS /* struct posref_ints */,
                         POSREF_TYPE_REALS /* struct posref_reals */ };

/* The one table of fields: it drives the command line, query strings, JSON in and out, the JSON
 * Schema and the documentation. */
struct posref_field_def {
    const char *name;            /* the key users type */
    enum posref_field_type type;
    size_t offset;               /* of the value in struct posref_spec */
    double min, max;             /* allowed range of INT and REAL, and of each entry of a list */
    bool min_open, max_open;     /* true: the end itself is not allowed */
    const char *unit;            /* "channels", "tokens", "" ... */
    const char *default_text;    /* as typed; NULL: none (required, or derived: see meaning) */
    const char *const *choices;  /* CHOICE: names in enum order, NULL-terminated */
    const char *meaning;         /* one line for people */
};

const struct posref_field_def *posref_field_def(enum posref_field field);
bool posref_field_is_list(const struct posref_field_def *def);
bool posref_field_is_number(const struct posref_field_def *def); /* or a list of numbers */

/* Axes of the positions of a completed spec: more than 1 for rope and sinusoidal tables over
 * several axes alone. */
int posref_spec_axes(const struct posref_spec *spec);

/* The field called `name`, or -1. */
int posref_field_find(const char *name);

/* Whether the scheme (and, for rope, the scaling: spec->scaling) takes the field at all. */
bool posref_field_applies(const struct posref_spec *spec, enum posref_field field);

/* No field given. */
void posref_spec_init(struct posref_spec *spec);

/* Fills every default that applies, and checks ranges, combinations and keys that the scheme does
 * not take. On failure *spec is unchanged and err->key is the field's name. */
POSREF_MUST_USE enum posref_status posref_spec_complete(struct posref_spec *spec,
                                                        struct posref_error *err);

/* Whether a completed spec leaves something to the positions. */
bool posref_spec_is_unsettled(const struct posref_spec *spec);

/* Fills what a completed spec leaves to the positions: seq_len, where the scaling takes it and it
 * is not given, is the largest position of `in` + 1 (rounded), at least 1. POSREF_BAD_INPUT
 * (seq_len)
 * without positions. posref_eval does this by itself; posref_prepare needs it done, and whoever
 * shows or stores the spec wants it done. */
struct posref_tensors;
POSREF_MUST_USE enum posref_status posref_spec_settle(struct posref_spec *spec,
                                                      const struct posref_tensors *in,
                                                      struct posref_error *err);

/* ---- tensors ------------------------------------------------------------------------------- */

/* Of 8 bits, as the Open Compute Project has them: E4M3 without infinities (largest 448, one NaN of
 * each sign, called E4M3FN elsewhere), and E5M2 with them (largest 57344). */
enum posref_dtype { POSREF_F64, POSREF_F32, POSREF_F16, POSREF_BF16, POSREF_F8E4M3, POSREF_F8E5M2,
                    POSREF_I32, POSREF_I64, POSREF_N_DTYPES };

size_t posref_dtype_size(enum posref_dtype dtype);       /* bytes per element */
const char *posref_dtype_name(enum posref_dtype dtype);  /* "f64", "bf16", "f8e4m3", "i32", ... */
bool posref_dtype_is_float8(enum posref_dtype dtype);
int posref_dtype_find(const char *name);                 /* or -1 */

#define POSREF_MAX_RANK 8
#define POSREF_MAX_TENSORS 16

/* Contiguous, row major. `data` holds `dtype` elements, native byte order. */
struct posref_tensor {
    char name[32];
    enum posref_dtype dtype;
    int rank;
    int64_t shape[POSREF_MAX_RANK];
    void *data;
};

/* A named set: eval's inputs, or its outputs. Inputs of this room are F64 (positions too), outputs
 * F64, or I64 where they are integers (buckets, indexes). */
struct posref_tensors {
    struct posref_tensor item[POSREF_MAX_TENSORS];
    int n;
};

int64_t posref_tensor_count(const struct posref_tensor *tensor); /* elements */
/* Element k as a double, whatever the dtype: integers beyond 2^53 are rounded. data need not be
 * aligned. */
double posref_tensor_value(const struct posref_tensor *tensor, int64_t k);
const struct posref_tensor *posref_tensors_find(const struct posref_tensors *set, const char *name);

/* ---- inputs -------------------------------------------------------------------------------- */

/* The one table of inputs, in canonical order. Which scheme reads which, and in what shape, is said
 * by the scheme (scheme.h). */
struct posref_input_def {
    const char *name;
    const char *meaning; /* one line for people */
    bool is_positions;   /* typed in the grammar of positions */
};
const struct posref_input_def *posref_input_def(int i); /* NULL: there are not so many */
/* The input called `name`, or -1. */
int posref_input_find(const char *name);
/* The shape of the input as the scheme takes it, for people and for posref_input_shape: "n,dim",
 * "num_heads,n_q,n_k", ...; NULL: the scheme reads no such input. "" stands for positions. */
const char *posref_input_shape_text(enum posref_scheme scheme, const char *name);
/* The shape of `name` for a completed spec and its positions among `inputs`, from the scheme's
 * shape text. An axis is n, n_q or n_k (positions, queries, keys), a number, the name of an INT
 * field with an optional factor before and a summand behind it (2*max_distance+1), `entries` (of
 * the scheme's learned table, in the order of weights_layout), `*` (free: what `count` elements
 * leave for it), `[*]` (the same, absent when nothing is left), or `heads` (num_heads, free where
 * the spec has none). count = -1: unknown; the free axis has `free_size` entries then (0: absent).
 * Fails, naming the input, when count does not fit, positions are missing, or the scheme reads no
 * such input. */
POSREF_MUST_USE enum posref_status posref_input_shape(int64_t shape[POSREF_MAX_RANK], int *rank,
                                                      const struct posref_spec *spec,
                                                      const struct posref_tensors *inputs,
                                                      const char *name, int64_t count,
                                                      int64_t free_size, struct posref_error *err);

/* ---- evaluation ---------------------------------------------------------------------------- */

/* What is computed. Each op names the outputs it has; ALL is everything the inputs permit. */
enum posref_op {
    POSREF_OP_ALL,
    POSREF_OP_FREQUENCIES, /* inv_freq [r/2], attention_factor []            | alibi: slopes [h] */
    POSREF_OP_TABLE,       /* rope: cos, sin [n, r/2]   | others: table [n, dim];
                            * swinv2: coordinates [n_q, n_k, 2]; cope: contextual_positions, the
                            * shape of scores, from q and k. Rope with table_layout concat,
                            * repeat: cos, sin [n, r]; cos_sin, sin_cos, interleaved: table [n, r];
                            * complex: table [n, r/2, 2]; matrix: table [n, r/2, 2, 2]; angles:
                            * angles [n, r/2], radians, without the attention factor             */
    POSREF_OP_ROTATE,      /* rope: y [n, dim] or [n, heads, dim], from x of that shape          */
    POSREF_OP_ROTATE_BACKWARD, /* rope: dx, from dy of that shape: the gradient of rotate, the
                            * rotation by -position with the same attention factor, dx = R^T dy  */
    POSREF_OP_EMBED,       /* sinusoidal, learned: y = x + table, shape of x                     */
    POSREF_OP_BIAS,        /* additive biases: bias [h, n_q, n_k]                                */
    POSREF_OP_WEIGHTS,     /* alibi: weights [h, n_q, n_k] = softmax over k of logits + bias     */
    POSREF_OP_SCORES,      /* scores [n_q, n_k], or [h, n_q, n_k] where q has heads, and of the
                            * same shape the terms by name, scaled: scores is their sum and the
                            * bias; -infinity where the key is not seen                          */
    POSREF_OP_ATTENTION,   /* attention [n_q, dim_v] or [n_q, h, dim_v] = softmax(scores) v      */
    POSREF_OP_INDEX,       /* I64 [n_q, n_k]: index (relative_bias, swin, beit, swinv2), buckets
                            * (t5_bias), buckets, c2p, p2c (deberta)                             */
    POSREF_N_OPS
};
const char *posref_op_name(enum posref_op op);
int posref_op_find(const char *name);
bool posref_op_applies(enum posref_op op, const struct posref_spec *spec);

#define POSREF_MAX_POSITION 2147483647.0 /* absolute value, tokens */
#define POSREF_MAX_POSITIONS 65536       /* positions of one call */
#define POSREF_MAX_DIM 16384
#define POSREF_MAX_HEADS 1024
#define POSREF_MAX_OUTPUT_ELEMENTS (1 << 24)
#define POSREF_MAX_ATTENTION_PRODUCTS (1 << 22) /* queries * keys * heads * dim of one call */

/* Evaluates `op` of a completed spec. Inputs by name (F64): positions [n] (or [n_axes, n]),
 * q_positions and k_positions for biases and scores (default: positions), x, logits, q, k, v, mask
 * (1: the key is seen, 0: not). q is [n_q, dim] or [n_q, heads, dim], k and v the same with n_k
 * rows and a number of heads that divides q's (grouped queries). Unknown input names and
 * wrong shapes are POSREF_BAD_INPUT with the tensor's name. Output data come from the arena and
 * live as long as it does. Elements of inputs must be finite, |position| at most
 * POSREF_MAX_POSITION; position -0 is position 0. Outputs are correctly rounded, weights (softmax)
 * too; scores and attention where 2048 bits decide (always, but for ties that irrational terms
 * make by cancellation), else within 2^-60 of the sum of |terms|.
 * An exact zero is +0 unless every term of its sum is -0. direction=inverse turns x by the
 * negative angle; cos and sin stay those of the positive one. *out is untouched on failure. */
POSREF_MUST_USE enum posref_status
posref_eval(struct posref_tensors *out, const struct posref_spec *spec, enum posref_op op,
            const struct posref_tensors *in, const struct posref_arena *arena,
            struct posref_error *err);

/* A completed spec with what evaluating it many times can share (rope: its plan). Read-only once
 * made, so threads may share it; lives in the arena it was made with. */
struct posref_prepared;
POSREF_MUST_USE enum posref_status posref_prepare(struct posref_prepared **out,
                                                  const struct posref_spec *spec,
                                                  const struct posref_arena *arena,
                                                  struct posref_error *err);
/* posref_eval of the prepared spec: the same outputs, sooner. */
POSREF_MUST_USE enum posref_status
posref_eval_prepared(struct posref_tensors *out, const struct posref_prepared *prepared,
                     enum posref_op op, const struct posref_tensors *in,
                     const struct posref_arena *arena, struct posref_error *err);

/* Rope whose tables are handed in: y [n, heads, dim] of x of that shape, each pair turned by its
 * entries of cosine and sine [n, rotary_dim / 2] (attention factor included), of angles as if
 * direction were forward; backward: dx of dy in their place. Each element is the sum of two
 * products, rounded once; channels that do not turn are copies. The spec is completed, its pairing
 * not mismatched; values are 0 or of 2^-900 to 2^900 in size. Fails only with POSREF_INTERNAL. y
 * must not overlap x. */
POSREF_MUST_USE enum posref_status
posref_rotate_given(double *y, const double *x, const double *cosine, const double *sine, int64_t n,
                    int64_t heads, const struct posref_spec *spec, bool backward);

/* Rope fused with an RMS norm of each row, as models norm queries and keys; a row is a head's dim
 * channels, those that do not turn among them:
 *     before: y = R (gain x) / sqrt(mean(x^2) + eps)       (Qwen 3, Gemma 3: gain = 1 + weight)
 *     after:  y = gain (R x) / sqrt(mean((R x)^2) + eps)   (HunYuan)
 * R with the attention factor. */
struct posref_norm {
    const double *gain; /* [dim] */
    double eps;         /* > 0 */
    bool after;
};
/* `in` has positions and x as for rotate, the spec is completed, its pairing not mismatched and
 * without xpos_scale_base; y has room for x's elements. Each element is correctly rounded; zero is
 * +0. BAD_INPUT where posref_eval would refuse the inputs, where a product of gain and x is no
 * double, or eps is not positive and finite; POSREF_INTERNAL where an irrational attention factor
 * makes a tie (longrope's roots can: sqrt(2) over the root of a mean of 2). y is lost then. */
POSREF_MUST_USE enum posref_status
posref_rotate_normed(double *y, const struct posref_norm *norm, const struct posref_spec *spec,
                     const struct posref_tensors *in, const struct posref_arena *arena,
                     struct posref_error *err);

/* ---- what a scheme says about itself (GET /v1/schemes, --help, docs/schemes.md) -------------- */

struct posref_scheme_info {
    const char *name;    /* "rope" */
    const char *summary; /* one line */
    const char *formula; /* ASCII */
    const char *source;  /* paper */
    /* For choosing (docs/choosing.md), a phrase each: */
    const char *learned;  /* its learned parameters */
    const char *injected; /* where it enters the model */
    const char *relative; /* whether scores depend on the distance alone */
    const char *beyond;   /* behaviour beyond the trained length */
    const char *cost;     /* of computing it, for n tokens of width d */
    const char *users;    /* models that have it */
    const char *advice;   /* what to take it for */
    const char *differs;  /* where implementations disagree, and the keys that say which is meant */
};
const struct posref_scheme_info *posref_scheme_info(enum posref_scheme scheme);

/* ---- narrowing: golden doubles to the dtype under test --------------------------------- */

/* x rounded to nearest even in the dtype, as bits (f32 in 32, f16 and bf16 in 16, f8e4m3 and f8e5m2
 * in 8). Overflow goes to infinity (in f8e4m3, which has none, to NaN), NaN to a quiet NaN,
 * subnormals are kept. Right from the double, never through float. */
uint32_t posref_narrow(double x, enum posref_dtype dtype);
/* The exact value of those bits. */
double posref_widen(uint32_t bits, enum posref_dtype dtype);
/* Both: the value of the dtype that is nearest to x; x itself for f64. */
double posref_rounded(double x, enum posref_dtype dtype);

#endif
