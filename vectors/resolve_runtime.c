/* SPDX-License-Identifier: Apache-2.0 */
/* Where vLLM, llama.cpp and MLX read the same config otherwise than Hugging Face: for each the spec
 * that it computes by, or why it refuses. docs/resolve.md names the files and versions that were
 * read; a rule that nobody read is not here. */
#include "vectors/resolve.h"

#include <math.h>
#include <string.h>

struct reading {
    struct resolve *r;
    const struct resolve_model *m;
    struct resolve_layer *layer;
    const struct resolve_rope *rope;
};

static bool is(const struct reading *at, const char *kind)
{
    return strcmp(at->rope->kind, kind) == 0;
}

static void unset(struct posref_spec *spec, const char *name)
{
    int field = posref_field_find(name);
    if (field >= 0)
        spec->given[field] = false;
}

static const char *const names[] = {"huggingface", "vllm", "llama.cpp", "mlx"};

/* Whether two completed specs rotate alike: the same channels by the same numbers. */
static bool alike(const struct reading *at, const struct posref_spec *a,
                  const struct posref_spec *b)
{
    struct resolve_curve *curve = at->r->arena->alloc(at->r->arena->ctx, 2 * sizeof *curve);
    if (a->pairing != b->pairing || a->dim != b->dim || a->rotary_dim != b->rotary_dim ||
        a->direction != b->direction || a->partial != b->partial || !curve)
        return false;
    return resolve_measure(&curve[0], at->r, a) == POSREF_OK &&
           resolve_measure(&curve[1], at->r, b) == POSREF_OK && curve[0].n == curve[1].n &&
           curve[0].n > 0 && curve[0].attention_factor == curve[1].attention_factor && /* bits */
           memcmp(curve[0].inv_freq, curve[1].inv_freq, (size_t)curve[0].n * sizeof(double)) == 0;
}

/* A runtime that computes by another spec; one that comes to the same numbers says nothing. */
static void differs(const struct reading *at, enum resolve_runtime runtime, const char *key,
                    struct posref_spec *spec, const char *text)
{
    struct posref_error err;
    if (posref_spec_complete(spec, &err) != POSREF_OK || alike(at, spec, &at->layer->spec))
        return;
    struct resolve_note *note = resolve_say(at->r, at->layer, "runtime", key, "%s %s",
                                            names[runtime], text);
    note->runtime = (int)runtime;
    note->has_spec = true;
    note->spec = *spec;
}

static void refuses(const struct reading *at, enum resolve_runtime runtime, const char *key,
                    const char *text)
{
    resolve_say(at->r, at->layer, "runtime", key, "%s %s", names[runtime], text)->runtime =
        (int)runtime;
}

static struct posref_spec copy(const struct reading *at)
{
    return at->layer->spec;
}

/* The magnitude of yarn by one rule: m(mscale) / m(all), m(s) = 1 + 0.1 s ln f. */
static void set_magnitude(struct posref_spec *spec, double mscale, double all)
{
    unset(spec, "attention_factor");
    unset(spec, "mscale");
    unset(spec, "mscale_all_dim");
    if (mscale == 1 && all == 0) /* exact: the formula's own default */
        return;
    resolve_set_number(spec, "mscale", mscale);
    resolve_set_number(spec, "mscale_all_dim", all);
    if (!(mscale > 0 && all > 0))
        resolve_set(spec, "mscale_rule", "ratio");
}

static double mscale_or(const struct reading *at, double otherwise)
{
    return at->rope->has_mscale ? at->rope->mscale : otherwise;
}

static double all_or(const struct reading *at, double otherwise)
{
    return at->rope->has_mscale_all_dim ? at->rope->mscale_all_dim : otherwise;
}

/* ---- vLLM ---- */

static void vllm_yarn(const struct reading *at)
{
    struct posref_spec spec = copy(at);
    const struct resolve_rope *rope = at->rope;
    if (rope->has_beta_slow && rope->beta_slow == 0) { /* exact */
        refuses(at, RESOLVE_VLLM, "beta_slow", "divides by it: 0 is an error there");
        return;
    }
    if (at->m->family->traits & RESOLVE_MLA) {
        resolve_set(&spec, "truncate", "true");
        set_magnitude(&spec, mscale_or(at, 1), all_or(at, 0));
        differs(at, RESOLVE_VLLM, "mscale", &spec, "takes the ratio of mscale (else 1) and "
                "mscale_all_dim (else 0), always, and rounds the range");
        return;
    }
    set_magnitude(&spec, 1, 0);
    if (rope->has_attn_factor) {
        resolve_set_number(&spec, "attention_factor", rope->attn_factor);
        resolve_set(&spec, "attention_factor_rule", "multiplies");
    }
    if (strcmp(rope->rope_type ? rope->rope_type : rope->type ? rope->type : "",
               "telechat3-yarn") == 0)
        resolve_set(&spec, "mscale_rule", "telechat");
    differs(at, RESOLVE_VLLM, rope->has_attention_factor ? "attention_factor"
            : rope->has_attn_factor ? "attn_factor" : "mscale", &spec, "ignores attention_factor, "
            "mscale and mscale_all_dim under yarn; attn_factor multiplies");
    if (rope->mrope_section) {
        spec = copy(at);
        resolve_set_number(&spec, "original_max_position_embeddings",
                           4 * spec.original_max_position_embeddings);
        differs(at, RESOLVE_VLLM, "mrope_section", &spec, "hands four times the original length to "
                "yarn's range where there are sections");
    }
}

static void vllm(const struct reading *at)
{
    const struct resolve_rope *rope = at->rope;
    const char *a = rope->rope_type, *b = rope->type;
    if (a && b && strcmp(a, b) != 0 && !(strcmp(a, "longrope") == 0 && strcmp(b, "su") == 0) &&
        !(strcmp(a, "default") == 0 && strcmp(b, "mrope") == 0)) {
        refuses(at, RESOLVE_VLLM, "rope_type", "refuses a rope_type and a type that differ");
        return;
    }
    if (is(at, "yarn"))
        vllm_yarn(at);
    if (is(at, "dynamic") && !rope->has_alpha)
        refuses(at, RESOLVE_VLLM, "rope_type", "fixes the base once, by the maximal length that it "
                "serves, not by the sequence");
    if (is(at, "longrope"))
        refuses(at, RESOLVE_VLLM, "rope_type", "takes the long factors for every length when it "
                "serves more than the original length, else the short ones");
    if (is(at, "longrope") && (rope->has_short_mscale || rope->has_long_mscale) &&
        strcmp(at->m->family->name, "phimoe") != 0)
        refuses(at, RESOLVE_VLLM, "short_mscale", "multiplies by short_mscale or long_mscale "
                "instead of the formula");
}

/* ---- llama.cpp (by way of its converter) ---- */

static void ggml_yarn(const struct reading *at)
{
    struct posref_spec spec = copy(at);
    const char *family = at->m->family->name;
    if (!at->rope->has_inside && !at->rope->has_outside) {
        refuses(at, RESOLVE_LLAMA_CPP, "original_max_position_embeddings",
                "does not convert yarn without original_max_position_embeddings");
        return;
    }
    resolve_set(&spec, "truncate", "true");
    if (at->m->family->traits & RESOLVE_MLA && at->rope->has_mscale_all_dim)
        set_magnitude(&spec, all_or(at, 1), all_or(at, 1));
    else if (strcmp(family, "mistral3") == 0 || strcmp(family, "ministral3") == 0)
        set_magnitude(&spec, 1, all_or(at, 0));
    else
        set_magnitude(&spec, 1, 0);
    differs(at, RESOLVE_LLAMA_CPP, !at->rope->truncate ? "truncate"
            : at->rope->has_attention_factor ? "attention_factor" : "mscale", &spec, "always "
            "rounds yarn's range, and recomputes the attention factor from the factor alone");
}

static void ggml_llama3(const struct reading *at)
{
    struct posref_spec spec = copy(at);
    double length = at->rope->has_outside ? at->rope->original_outside : 8192;
    if (length == spec.original_max_position_embeddings) /* exact: both as written */
        return;
    resolve_set_number(&spec, "original_max_position_embeddings", length);
    differs(at, RESOLVE_LLAMA_CPP, "original_max_position_embeddings", &spec, "reads it at the top "
            "level only, and takes 8192 where it is not there");
}

static void llama_cpp(const struct reading *at)
{
    if (is(at, "yarn"))
        ggml_yarn(at);
    if (is(at, "llama3"))
        ggml_llama3(at);
    if (is(at, "dynamic") && !at->rope->has_alpha)
        refuses(at, RESOLVE_LLAMA_CPP, "rope_type", "does not convert dynamic scaling: the base "
                "never grows");
    if (is(at, "longrope"))
        refuses(at, RESOLVE_LLAMA_CPP, "rope_type", "takes the long factors when the context of a "
                "sequence is longer than the original length, whatever its tokens");
    if (at->rope->mrope_interleaved)
        refuses(at, RESOLVE_LLAMA_CPP, "mrope_interleaved", "turns pairs behind the sections by a "
                "fourth position, 0 for text");
}

/* ---- MLX (mlx-lm) ---- */

static void drop_scaling(struct posref_spec *spec)
{
    static const char *const own[] = {"factor", "original_max_position_embeddings", "beta_fast",
                                      "beta_slow", "truncate", "mscale", "mscale_all_dim",
                                      "attention_factor", "low_freq_factor", "high_freq_factor",
                                      "short_factor", "long_factor", "seq_len"};
    resolve_set(spec, "scaling", "none");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        unset(spec, own[i]);
}

static void mlx_yarn(const struct reading *at)
{
    struct posref_spec spec = copy(at);
    const struct resolve_rope *rope = at->rope;
    if (!rope->has_inside)
        resolve_set_number(&spec, "original_max_position_embeddings", 4096);
    resolve_set(&spec, "truncate", "true");
    set_magnitude(&spec, mscale_or(at, 1), all_or(at, 0));
    differs(at, RESOLVE_MLX, !rope->truncate ? "truncate" : !rope->has_inside
            ? "original_max_position_embeddings" : rope->has_attention_factor
            ? "attention_factor" : "mscale", &spec, "always rounds yarn's range, takes the ratio "
            "of mscale (else 1) and mscale_all_dim (else 0), and 4096 for a missing original "
            "length");
}

static void mlx(const struct reading *at)
{
    struct posref_spec spec = copy(at);
    const struct resolve_rope *rope = at->rope;
    unsigned traits = at->m->family->traits;
    if (traits & RESOLVE_MLX_WHOLE && spec.rotary_dim < spec.dim) {
        resolve_set_number(&spec, "rotary_dim", spec.dim);
        differs(at, RESOLVE_MLX, "partial_rotary_factor", &spec, "rotates the whole head");
        return;
    }
    if (traits & RESOLVE_MLX_PLAIN && !is(at, "default")) {
        drop_scaling(&spec);
        differs(at, RESOLVE_MLX, "rope_scaling", &spec, "reads no scaling in this family");
        return;
    }
    if (rope->rope_type && rope->type && strcmp(rope->rope_type, rope->type) != 0) {
        refuses(at, RESOLVE_MLX, "type", "reads type before rope_type");
        return;
    }
    if (is(at, "yarn"))
        mlx_yarn(at);
    if (is(at, "llama3") && !rope->has_inside &&
        spec.original_max_position_embeddings != 8192) { /* exact: both as written */
        resolve_set(&spec, "original_max_position_embeddings", "8192");
        differs(at, RESOLVE_MLX, "original_max_position_embeddings", &spec,
                "takes 8192 where the dictionary does not say it");
    }
    if (is(at, "longrope") && at->layer->n_regimes > 0) {
        spec = at->layer->regime[0].spec;
        differs(at, RESOLVE_MLX, "rope_type", &spec, "takes the long factors at every length");
    }
}

enum posref_status resolve_runtimes(struct resolve *r, const struct resolve_model *m,
                                    struct resolve_layer *layer, const struct resolve_rope *rope)
{
    const struct reading at = {r, m, layer, rope};
    if (!m->family_known || m->family->traits & RESOLVE_HF_ONLY)
        return POSREF_OK;
    vllm(&at);
    llama_cpp(&at);
    mlx(&at);
    if (m->family->traits & RESOLVE_GGML_NORMAL && layer->spec.pairing == POSREF_PAIRING_HALF) {
        struct posref_spec spec = layer->spec;
        resolve_set(&spec, "pairing", "interleaved");
        differs(&at, RESOLVE_LLAMA_CPP, "model_type", &spec, "pairs neighbours; its converter "
                "permutes the rows of q and k to match, so scores agree and vectors do not");
    }
    return POSREF_OK;
}
