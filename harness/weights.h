/* SPDX-License-Identifier: Apache-2.0 */
/* Weights: which order the rows of the q and k projections are in. A checkpoint is cut into parts
 * (the q or k rows of one tensor), two checkpoints' parts are paired, and the row permutation of
 * each pair is found and judged. Internal to harness/weights*.c and cmd_weights.c.
 *
 * Row orders, for r rotary rows of a head: half pairs (i, i + r/2), interleaved pairs (2i, 2i + 1).
 * half_to_interleaved puts old row t*r/2 + i at new row 2i + t; interleaved_to_half undoes it. */
#ifndef POSREF_HARNESS_WEIGHTS_H
#define POSREF_HARNESS_WEIGHTS_H

#include "vectors/files.h"
#include "vectors/vectors.h"

/* ---- geometry: what a model's config says about its heads ---- */

enum posref_weights_layout { /* of the rows of a fused projection */
    POSREF_LAYOUT_UNKNOWN,
    POSREF_LAYOUT_CONCAT,    /* all q, all k, all v */
    POSREF_LAYOUT_PER_HEAD,  /* head by head: q, k, v */
    POSREF_LAYOUT_PER_GROUP, /* kv head by kv head: its q heads, k, v */
    POSREF_LAYOUT_CODEGEN    /* four blocks of q, v, k, each a quarter of the heads */
};

enum posref_weights_order { POSREF_ORDER_UNKNOWN, POSREF_ORDER_HALF, POSREF_ORDER_INTERLEAVED_ROWS,
                            POSREF_ORDER_NONE /* the family has no rotary embedding */ };

#define POSREF_WEIGHTS_MAX_LAYERS 1024

struct posref_weights_geometry { /* 0: unknown */
    int n_heads, n_kv_heads, head_dim, rotary_dim;
    double rotary_fraction;   /* of head_dim; 0 when rotary_dim says it, or unknown */
    int rotary_first;         /* rows of a head before the rotated ones */
    int nope_dim, kv_lora;    /* multi-head latent attention: rows before the rope rows, of q, k */
    bool latent;
    bool heads_vary;          /* from layer to layer: rows over head_dim count them */
    bool own;                 /* read beside this checkpoint or in it, not given or shared */
    bool family_known;        /* its family's defaults are: a silent config means them */
    bool gated_q;             /* q_proj holds as many gate rows after each head */
    enum posref_weights_layout layout;
    enum posref_weights_order order; /* the pairing of the family's own kernel */
    char family[64];          /* model_type, or GGUF's architecture */
    const char *source;       /* "config.json", "GGUF metadata", "options" or "" */
    bool gguf;
    bool no_rope[POSREF_WEIGHTS_MAX_LAYERS];
};

/* Reads a Hugging Face config.json (text_config and the like are looked into). */
POSREF_MUST_USE enum posref_status
posref_weights_read_config(struct posref_weights_geometry *out, const char *path,
                           struct posref_error *err);
/* Reads a GGUF file's metadata. */
void posref_weights_read_gguf(struct posref_weights_geometry *out, const struct posref_gguf *gguf);
/* What is known of a family by its name: fills layout, order and rotary_fraction where unset. */
void posref_weights_know_family(struct posref_weights_geometry *geometry);
const char *posref_weights_order_name(enum posref_weights_order order);
/* "concat", "per_head", "per_group", "codegen" -> the layout, or UNKNOWN. */
enum posref_weights_layout posref_weights_find_layout(const char *name);

/* ---- names ---- */

enum posref_weights_role { POSREF_ROLE_OTHER, POSREF_ROLE_Q, POSREF_ROLE_K, POSREF_ROLE_V,
                           POSREF_ROLE_FUSED };
enum posref_weights_kind { POSREF_KIND_WEIGHT, POSREF_KIND_BIAS, POSREF_KIND_NORM,
                           POSREF_KIND_SCALE, POSREF_KIND_LORA };

struct posref_weights_name {
    int layer;                 /* -1: none */
    enum posref_weights_role role;
    enum posref_weights_kind kind;
    enum posref_weights_layout layout; /* of a fused name that tells it; else UNKNOWN */
    uint64_t block;            /* alike for what lies beside one another: one attention's tensors */
    const char *packing;       /* "GPTQ or AWQ", ...: cannot be read; or NULL */
    char canonical[192];       /* the Hugging Face name (of GGUF names; others as they are) */
};
void posref_weights_parse_name(struct posref_weights_name *out, const char *name);
const char *posref_weights_role_name(enum posref_weights_role role); /* "q", "k", "v" */
const char *posref_weights_kind_name(enum posref_weights_kind kind);

/* ---- parts ---- */

/* The rows of one role in one tensor. Row i of the part (head i / head_rows) is row
 * posref_weights_row() of the tensor. */
struct posref_weights_part {
    const struct posref_stored *tensor;
    struct posref_weights_name name;   /* role is Q, K or V here, never FUSED */
    int64_t n_heads, head_rows;
    int64_t base, per_group, group_stride, head_stride; /* rows */
    int rotary_first, rotary_rows;     /* in a head; rows 0: unknown */
    int64_t row_bytes, row_elements;
    bool fused, dims_known;
};
static inline int64_t posref_weights_row(const struct posref_weights_part *part, int64_t i)
{
    int64_t head = i / part->head_rows;
    return part->base + head / part->per_group * part->group_stride +
           head % part->per_group * part->head_stride + i % part->head_rows;
}

/* One checkpoint, cut into parts. */
struct posref_weights_side {
    struct posref_checkpoint checkpoint;
    struct posref_weights_geometry geometry;
    struct posref_weights_part *part;
    size_t n_parts;
    const struct posref_stored **other; /* tensors that are no part */
    size_t n_others;
    bool only_one;                 /* one chosen tensor: q, if its name says nothing */
};

struct posref_weights_options {
    const char *config;            /* path or NULL: beside the checkpoint */
    const char *tensor;            /* only this one, or NULL */
    int n_heads, n_kv_heads, head_dim, rotary_dim, rotary_first; /* 0: not given */
    enum posref_weights_layout layout;
    enum posref_weights_order order;   /* --pairing: of BEFORE, or of guess's model */
    enum posref_weights_order kernel;  /* --kernel: the kernel that AFTER will meet */
    int n_threads;                     /* 0: all */
};

/* Opens PATH or PATH:TENSOR and reads its geometry; it has no parts until it is cut. */
POSREF_MUST_USE enum posref_status
posref_weights_open(struct posref_weights_side *out, const char *path,
                    const struct posref_weights_options *options, struct posref_error *err);
/* Two sides of one model: what one knows of the heads and the other does not is shared. */
void posref_weights_share(struct posref_weights_side *a, struct posref_weights_side *b);
/* Fills part and other, anew when called again. */
POSREF_MUST_USE enum posref_status posref_weights_cut(struct posref_weights_side *side,
                                                      struct posref_error *err);
void posref_weights_close(struct posref_weights_side *side);

/* ---- permutations ---- */

enum posref_weights_mapping {
    POSREF_MAPPING_IDENTITY, POSREF_MAPPING_HALF_TO_INTERLEAVED,
    POSREF_MAPPING_INTERLEAVED_TO_HALF, POSREF_MAPPING_APPLIED_TWICE,
    POSREF_MAPPING_ROTARY_ROWS_ONLY, POSREF_MAPPING_WRONG_HEAD_COUNT,
    POSREF_MAPPING_HEADS_REORDERED, POSREF_MAPPING_NONE, POSREF_N_MAPPINGS
};
const char *posref_weights_mapping_name(enum posref_weights_mapping mapping);

/* A permutation of the `rows` rows from `first` in each head: half to interleaved or its inverse,
 * `power` times (0: identity). */
struct posref_weights_permutation {
    bool to_half;
    int power;
    int64_t first, rows;
};
/* The old row, within its head, of the new row. */
int64_t posref_weights_source(const struct posref_weights_permutation *permutation, int64_t row);

/* Candidates are numbered so that the same number means the same thing for q, k, bias and norm. */
#define POSREF_WEIGHTS_MAX_ROWS 1024 /* longest prefix that is looked at */
#define POSREF_WEIGHTS_CANDIDATES (9 + POSREF_WEIGHTS_MAX_ROWS)
#define POSREF_WEIGHTS_WORDS ((POSREF_WEIGHTS_CANDIDATES + 63) / 64)
/* Fills the permutation of a number; false when that number does not exist for this head. */
bool posref_weights_candidate(struct posref_weights_permutation *out, int number,
                              int64_t head_rows, int64_t rotary_first, int64_t rotary_rows);
/* Its mapping's name: partial ones are ROTARY_ROWS_ONLY. */
enum posref_weights_mapping
posref_weights_candidate_mapping(const struct posref_weights_permutation *permutation,
                                 int64_t head_rows);

/* ---- comparing rows ---- */

struct posref_weights_hash { uint64_t word[2]; };

/* Runs task(ctx, i) for i < n on up to n_threads threads (0: all cores). */
POSREF_MUST_USE enum posref_status posref_weights_run(void (*task)(void *ctx, int64_t i),
                                                      void *ctx, int64_t n, int n_threads,
                                                      struct posref_error *err);
/* 128 bits that differ for different bytes (not against an adversary). */
struct posref_weights_hash posref_weights_hash(const unsigned char *data, int64_t size_bytes);
/* Relative error (root mean square) beyond which a row stored in `type` is not that row. */
double posref_weights_type_tolerance(enum posref_stored_type type);

/* One pair of parts, and what was found. */
struct posref_weights_pair {
    const struct posref_weights_part *before, *after;
    uint64_t fits[POSREF_WEIGHTS_WORDS]; /* bit per candidate that explains every row */
    enum posref_weights_mapping mapping;
    int candidate;                       /* the chosen one, or -1 */
    int64_t head_count_used;             /* wrong_head_count */
    bool to_half;                        /* its direction */
    int64_t *head_order;                 /* heads_reordered: old head of each new one */
    int within;                          /* the candidate inside the reordered heads */
    int64_t first_bad_row;               /* none: the first new row that identity leaves open */
    int64_t rows_found;                  /* none: new rows that are some old row; -1: not counted */
    char detail[160];                    /* none: more, for people; or "" */
    bool same_type, exact;               /* exact: bytes equal, or equal after rounding */
    bool uniform;                        /* all rows are equal: fits everything */
    double worst_error;                  /* relative, of the worst row, when not exact */
};
static inline bool posref_weights_fits(const struct posref_weights_pair *pair, int candidate)
{
    return pair->fits[candidate / 64] >> (candidate % 64) & 1;
}

/* Finds what explains a pair; the parts' shapes must agree. */
POSREF_MUST_USE enum posref_status posref_weights_match(struct posref_weights_pair *pair,
                                                        double shift, int n_threads,
                                                        struct posref_error *err);

/* ---- judging ---- */

enum posref_weights_severity { POSREF_NOTE, POSREF_WRONG };

struct posref_weights_finding {
    const char *fault;          /* stable name */
    enum posref_weights_severity severity;
    bool layer[POSREF_WEIGHTS_MAX_LAYERS];
    char summary[320];
    const char *advice;
};

struct posref_weights_changed { const struct posref_stored *before, *after; double error; };

struct posref_weights_result {
    struct posref_weights_pair *pair;
    size_t n_pairs;
    struct posref_weights_finding *finding;
    size_t n_findings, finding_capacity;
    struct posref_weights_changed *changed; /* other tensors whose values differ */
    size_t n_changed, n_other_equal, n_other_within, n_other_skipped;
    int consensus;                          /* candidate, or -1 */
    enum posref_weights_order before_order, kernel;
    const char *kernel_pairing;             /* "half", "interleaved", "unchanged", "none" */
    bool consistent, head_dim_inferred;
};

/* Compares two open sides: cuts them (anew, when the head size has to be inferred), pairs their
 * parts, matches and judges. Different models are POSREF_BAD_INPUT. */
POSREF_MUST_USE enum posref_status
posref_weights_compare(struct posref_weights_result *out, struct posref_weights_side *before,
                       struct posref_weights_side *after,
                       const struct posref_weights_options *options, struct posref_error *err);
void posref_weights_result_clear(struct posref_weights_result *result);
/* Fills consensus, findings, kernel_pairing, consistent from the pairs. */
POSREF_MUST_USE enum posref_status
posref_weights_judge(struct posref_weights_result *result,
                     const struct posref_weights_side *before,
                     const struct posref_weights_side *after,
                     const struct posref_weights_options *options, struct posref_error *err);
/* Compares the tensors that are no part. */
POSREF_MUST_USE enum posref_status
posref_weights_compare_others(struct posref_weights_result *result,
                              const struct posref_weights_side *before,
                              const struct posref_weights_side *after, int n_threads,
                              struct posref_error *err);

void posref_weights_report_json(struct posref_buffer *out,
                                const struct posref_weights_result *result,
                                const struct posref_weights_side *before,
                                const struct posref_weights_side *after);
void posref_weights_report_text(struct posref_buffer *out,
                                const struct posref_weights_result *result,
                                const struct posref_weights_side *before,
                                const struct posref_weights_side *after);

/* ---- permute ---- */

/* What permute does, or would do. */
struct posref_weights_plan {
    size_t n_tensors;              /* that are rewritten */
    struct posref_buffer text;     /* one line each, for people */
    struct posref_buffer json;     /* a list */
};
/* Ports a cut side from one order to the other: every q and k part's rotary rows are permuted, all
 * other bytes are copied. A checkpoint of one file goes to the file `out`, one of several to the
 * new directory `out`; both appear whole or not at all. dry_run: only the plan. */
POSREF_MUST_USE enum posref_status
posref_weights_permute(struct posref_weights_plan *plan, const struct posref_weights_side *side,
                       const char *out, bool to_half, bool dry_run, struct posref_error *err);

/* ---- guess ---- */

/* Appends what one checkpoint alone says of its own order, as JSON or text. */
POSREF_MUST_USE enum posref_status
posref_weights_guess(struct posref_buffer *out, bool json, const struct posref_weights_side *side,
                     int n_threads, struct posref_error *err);

int posref_cmd_weights(int argc, char **argv);

#endif
