/* SPDX-License-Identifier: Apache-2.0 */
/* From a model's config.json, or a GGUF header, to the specs that it implies. Private to vectors/
 * (resolve*.c); vectors.h has posref_resolve. */
#ifndef POSREF_VECTORS_RESOLVE_H
#define POSREF_VECTORS_RESOLVE_H

#include "vectors/vectors.h"

#include <jansson.h>

#define POSREF_RESOLVE_MAX_BYTES ((size_t)8 << 20)
#define POSREF_RESOLVE_MAX_SCOPES 24
#define POSREF_RESOLVE_MAX_LAYERS 12
#define POSREF_RESOLVE_MAX_NOTES 48

/* ---- the config's objects, and which of their keys were read ---- */

struct resolve_scope {
    const json_t *at;   /* the object */
    json_t *rest;       /* a copy without the keys that were read */
    char path[96];      /* "text_config.rope_scaling."; "" for the root */
};

/* ---- what is said beside the numbers ---- */

enum resolve_runtime { RESOLVE_HF, RESOLVE_VLLM, RESOLVE_LLAMA_CPP, RESOLVE_MLX,
                       RESOLVE_N_RUNTIMES };

struct resolve_note {
    const char *kind; /* default, contradiction, ignored, unknown, legacy, missing, info, runtime */
    char key[96];     /* of the config, or "" */
    char text[320];
    int runtime;      /* of kind runtime: who reads it otherwise; else -1 */
    bool has_spec;    /* and what it computes then; without one it refuses, or cannot be said */
    struct posref_spec spec;
};

struct resolve_regime {
    char when[96];
    struct posref_spec spec;
};

struct resolve_layer {
    char applies_to[64]; /* "all", "full_attention", "sliding_attention", "nope", "vision", ... */
    int n_layers;        /* how many, or -1 where the config does not say */
    bool has_spec;       /* false: no positions, or none that posref can say; see notes */
    struct posref_spec spec;
    bool refused;           /* by resolve_put: `why` says what */
    struct posref_error why;
    struct resolve_regime regime[4];
    int n_regimes;
    struct resolve_note *note; /* POSREF_RESOLVE_MAX_NOTES of them */
    int n_notes;
};

struct resolve {
    struct posref_error *err;
    const struct posref_arena *arena;
    struct resolve_scope scope[POSREF_RESOLVE_MAX_SCOPES];
    int n_scopes;
    struct resolve_layer layer[POSREF_RESOLVE_MAX_LAYERS];
    int n_layers;
    struct resolve_note *note; /* of the config as a whole */
    int n_notes;
    const char *family;        /* model_type or GGUF architecture, in the arena */
    const char *format;        /* "config.json" or "gguf" */
};

/* Puts ? for every byte that is not printable ASCII: what a config says is cut and quoted. */
void resolve_ascii(char *text);
/* A scope for an object; the parent's key, if there is one, counts as read. NULL: too many, or no
 * memory (err is filled). */
struct resolve_scope *resolve_enter(struct resolve *r, struct resolve_scope *parent,
                                    const char *key, const json_t *object);
/* The value of a key, NULL where it is missing or null; it counts as read. */
const json_t *resolve_get(struct resolve_scope *scope, const char *key);
/* Whether the key is there and not null, without reading it. */
bool resolve_has(const struct resolve_scope *scope, const char *key);

/* Reads a number, boolean, string; *given tells whether it was there. A value of another type, or
 * one outside [low, high], is POSREF_BAD_INPUT with the key's path. */
POSREF_MUST_USE enum posref_status resolve_number(struct resolve *r, struct resolve_scope *scope,
                                                  const char *key, double low, double high,
                                                  double *out, bool *given);
POSREF_MUST_USE enum posref_status resolve_whole(struct resolve *r, struct resolve_scope *scope,
                                                 const char *key, int low, int high, int *out,
                                                 bool *given);
POSREF_MUST_USE enum posref_status resolve_bool(struct resolve *r, struct resolve_scope *scope,
                                                const char *key, bool *out, bool *given);
POSREF_MUST_USE enum posref_status resolve_string(struct resolve *r, struct resolve_scope *scope,
                                                  const char *key, const char **out);
/* The same for the first of several keys that is there; a second one with another value is noted
 * as a contradiction. */
POSREF_MUST_USE enum posref_status resolve_whole_of(struct resolve *r, struct resolve_scope *scope,
                                                    const char *const *keys, int low, int high,
                                                    int *out, bool *given);
POSREF_MUST_USE enum posref_status resolve_number_of(struct resolve *r,
                                                     struct resolve_scope *scope,
                                                     const char *const *keys, double low,
                                                     double high, double *out, bool *given);

/* A size of an image, a patch or a window, in [1, 65536]: a number, or a list of height and width.
 * Where the key is missing, out keeps the class' own size, and a note says so. */
POSREF_MUST_USE enum posref_status resolve_size(struct resolve *r, struct resolve_scope *scope,
                                                const char *key, int out[2]);
/* The rows and columns of patches in an image, one of each at least; image and patch are the class'
 * own sizes in pixels. */
POSREF_MUST_USE enum posref_status resolve_grid(struct resolve *r, struct resolve_scope *scope,
                                                int image, int patch, int out[2]);

/* Adds a note to the layer, or to the config where layer is NULL. */
struct resolve_note *resolve_say(struct resolve *r, struct resolve_layer *layer, const char *kind,
                                 const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- the layers' specs (resolve_layer.c) ---- */

/* NULL: too many, or no memory (err is filled). */
struct resolve_layer *resolve_add_layer(struct resolve *r, const char *applies_to, int n_layers);

/* Sets a spec field by its name. False where the field or the choice is not known; what is wrong
 * with a value comes out when the spec is completed. */
bool resolve_set(struct posref_spec *spec, const char *field, const char *value);
bool resolve_set_number(struct posref_spec *spec, const char *field, double value);
/* A list of numbers; false too where it is no list of numbers. */
bool resolve_set_list(struct posref_spec *spec, const char *field, const json_t *list);

/* The same for a layer whose sizes the config may leave out or overdo: what posref refuses is kept
 * for resolve_finish, which completes the spec, or leaves the layer without one and says why. */
void resolve_put(struct resolve_layer *layer, const char *field, const char *value);
void resolve_put_number(struct resolve_layer *layer, const char *field, double value);
void resolve_put_pair(struct resolve_layer *layer, const char *field, int a, int b);
void resolve_finish(struct resolve *r, struct resolve_layer *layer);

/* ---- families ---- */

enum resolve_kind { RESOLVE_ROPE, RESOLVE_LEARNED, RESOLVE_ALIBI, RESOLVE_T5, RESOLVE_SINUSOIDAL,
                    RESOLVE_STATE_SPACE, RESOLVE_DEBERTA, RESOLVE_SWIN, RESOLVE_BEIT, RESOLVE_XL,
                    RESOLVE_CONFORMER, RESOLVE_UNSAID };

struct resolve_family {
    const char *name;      /* Hugging Face's model_type */
    enum resolve_kind kind;
    const char *pairing;   /* of the Hugging Face code */
    double theta;          /* where the config says none */
    double partial;        /* where the config says none */
    unsigned traits;
};

enum {
    RESOLVE_FULL_IS_NOPE = 1,   /* layers of full attention do not rotate */
    RESOLVE_EVERY_4TH_NOPE = 2, /* unless no_rope_layers or its interval say otherwise */
    RESOLVE_MLA = 4,            /* DeepSeek's latent attention and its yarn */
    RESOLVE_LOCAL_PLAIN = 8,    /* sliding layers are not scaled */
    RESOLVE_MLX_PLAIN = 16,     /* mlx-lm reads no scaling */
    RESOLVE_MLX_WHOLE = 32,     /* mlx-lm rotates the whole head */
    RESOLVE_GGML_NORMAL = 64,   /* llama.cpp pairs neighbours and permutes the rows */
    RESOLVE_TRAILING = 128,     /* the rotated channels come last */
    RESOLVE_INVERSE = 256,      /* rotates by the negative angle */
    RESOLVE_ROW_OFFSET_2 = 512,  /* the table's first two rows are not positions */
    RESOLVE_ROW_AFTER_PAD = 1024, /* position 0 is the row behind the padding's */
    RESOLVE_SCALED_INPUT = 2048, /* scale_embedding is true where the config does not say it */
    RESOLVE_EXPONENT_D = 4096,   /* sinusoids: base^(-2i/dim) */
    RESOLVE_LOCAL_10000 = 16384, /* sliding layers have a base of their own, 10000 if not said */
    RESOLVE_HF_ONLY = 8192       /* what other runtimes do with the family was not read */
};

/* The width of a head that the family's class takes where the config names none: whatever the sizes
 * are, or where these are missing too. 0: by division, or not known here. */
int resolve_family_head_dim(const char *name, bool has_sizes);
/* NULL: unknown. */
const struct resolve_family *resolve_family_find(const char *name);

/* ---- the steps ---- */

/* What one dictionary of rope parameters says, beside the model's sizes. */
struct resolve_rope {
    const char *rope_type, *type; /* as written, or NULL */
    const char *kind;             /* default, linear, dynamic, yarn, llama3, longrope, ... */
    double theta, partial, factor, alpha, original, original_inside, original_outside, max_position;
    double beta_fast, beta_slow, mscale, mscale_all_dim, attention_factor, attn_factor;
    double low_freq_factor, high_freq_factor, short_mscale, long_mscale;
    bool has_theta, has_partial, has_factor, has_alpha, has_original, has_inside, has_outside;
    bool has_max, has_beta_fast, has_beta_slow, has_mscale, has_mscale_all_dim;
    bool has_attention_factor, has_attn_factor, has_low, has_high, has_short_mscale;
    bool has_long_mscale, has_truncate, truncate, mrope_interleaved;
    double query_beta;
    bool has_query_beta, logn;    /* temperatures of the query */
    const char *pairing;
    const json_t *short_factor, *long_factor, *mrope_section;
    struct resolve_scope *inside; /* the dictionary, or NULL */
    bool layered;                 /* one of several, a layer type each */
};

struct resolve_model {
    struct resolve_scope *scope;
    const struct resolve_family *family; /* never NULL: a default for unknown ones */
    bool family_known;
    int head_dim, rotary_dim, n_heads, n_hidden_layers, hidden_size;
    bool latent, has_rotary_dim;
    char prefix[16]; /* of layer names: "", "vision/" */
};

POSREF_MUST_USE enum posref_status resolve_model(struct resolve *r, struct resolve_scope *scope,
                                                 const char *family, const char *prefix);
/* Families that do not rotate. */
POSREF_MUST_USE enum posref_status resolve_other(struct resolve *r, struct resolve_model *m);
POSREF_MUST_USE enum posref_status resolve_learned(struct resolve *r, struct resolve_model *m,
                                                   const char *position_embedding_type);
POSREF_MUST_USE enum posref_status resolve_sinusoidal(struct resolve *r, struct resolve_model *m);
POSREF_MUST_USE enum posref_status resolve_deberta(struct resolve *r, struct resolve_model *m);
POSREF_MUST_USE enum posref_status resolve_xl(struct resolve *r, struct resolve_model *m);
POSREF_MUST_USE enum posref_status resolve_conformer(struct resolve *r, struct resolve_model *m);
POSREF_MUST_USE enum posref_status resolve_swin(struct resolve *r, struct resolve_model *m);
POSREF_MUST_USE enum posref_status resolve_beit(struct resolve *r, struct resolve_model *m);
/* A layer of the model, its name behind the model's prefix; as resolve_add_layer. */
struct resolve_layer *resolve_add(struct resolve *r, const struct resolve_model *m,
                                  const char *applies_to, int n_layers);
/* Layers that know no positions, with the reason. */
POSREF_MUST_USE enum posref_status resolve_none(struct resolve *r, const struct resolve_model *m,
                                                const char *applies_to, int n_layers,
                                                const char *key, const char *why);
/* Falcon's `alibi: true`, which any family's config may carry. */
POSREF_MUST_USE enum posref_status resolve_falcon_alibi(struct resolve *r,
                                                        struct resolve_scope *scope,
                                                        const char *family);
POSREF_MUST_USE enum posref_status resolve_rope_layers(struct resolve *r, struct resolve_model *m);
POSREF_MUST_USE enum posref_status resolve_rope_read(struct resolve *r, struct resolve_model *m,
                                                     struct resolve_layer *layer,
                                                     struct resolve_scope *inside,
                                                     struct resolve_rope *out);
POSREF_MUST_USE enum posref_status resolve_rope_spec(struct resolve *r, struct resolve_model *m,
                                                     struct resolve_layer *layer,
                                                     const struct resolve_rope *rope);
/* Keys of single families (resolve_own.c): read into `rope`, set in the spec and its regimes, and
 * the layers that do not rotate. */
POSREF_MUST_USE enum posref_status resolve_own_read(struct resolve *r, struct resolve_model *m,
                                                    struct resolve_rope *rope);
void resolve_own_spec(struct resolve *r, const struct resolve_model *m,
                      struct resolve_layer *layer, const struct resolve_rope *rope);
POSREF_MUST_USE enum posref_status resolve_own_nope(struct resolve *r, struct resolve_model *m,
                                                    int n_layers);
/* Notes where vLLM, llama.cpp or MLX compute another thing than the layer's spec. */
POSREF_MUST_USE enum posref_status resolve_runtimes(struct resolve *r,
                                                    const struct resolve_model *m,
                                                    struct resolve_layer *layer,
                                                    const struct resolve_rope *rope);
/* A tower by its model_type, or, where it has none, by that of the whole model: NAME, NAME_KIND or
 * NAME_KIND_model. *found is false, and nothing read, where none is known. */
POSREF_MUST_USE enum posref_status resolve_tower(struct resolve *r, struct resolve_scope *scope,
                                                 const char *name, const char *outer,
                                                 const char *kind, const char *prefix,
                                                 bool *found);
/* What stands beside the language model: a tower, or another family that does not rotate. */
POSREF_MUST_USE enum posref_status resolve_beside(struct resolve *r, struct resolve_scope *scope,
                                                  const char *name, const char *outer,
                                                  const char *kind);
POSREF_MUST_USE enum posref_status resolve_gguf(struct resolve *r, const void *data,
                                                size_t size_bytes);
/* inv_freq and attention_factor of a spec; n < 0 where its scheme has none. */
struct resolve_curve {
    double inv_freq[POSREF_MAX_DIM / 2];
    double attention_factor;
    int n;
};
POSREF_MUST_USE enum posref_status resolve_measure(struct resolve_curve *out,
                                                   const struct resolve *r,
                                                   const struct posref_spec *spec);
POSREF_MUST_USE enum posref_status resolve_write(struct posref_buffer *out, struct resolve *r);

#endif
