/* SPDX-License-Identifier: Apache-2.0 */
/* Which scheme to ask about, and what is done with the answer. */
#include "identify.h"

#include <stdarg.h>
#include <string.h>

void posref_identity_family(struct posref_identity *id, const char *keys, const char *format, ...)
{
    if (id->n_families == (int)(sizeof id->family / sizeof *id->family))
        return;
    struct posref_family *family = &id->family[id->n_families++];
    va_list arguments;
    family->handed = false;
    snprintf(family->keys, sizeof family->keys, "%s", keys);
    va_start(arguments, format);
    vsnprintf(family->text, sizeof family->text, format, arguments);
    va_end(arguments);
}

void posref_identity_finding(struct posref_identity *id, const char *format, ...)
{
    if (id->n_findings == (int)(sizeof id->finding / sizeof *id->finding))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(id->finding[id->n_findings++], sizeof id->finding[0], format, arguments);
    va_end(arguments);
}

typedef enum posref_status measure_fn(struct posref_identity *, struct posref_probe *,
                                      struct posref_error *);

static measure_fn *measure_of(int scheme)
{
    switch (scheme) {
    case POSREF_SCHEME_ROPE: return posref_identify_rope;
    case POSREF_SCHEME_SINUSOIDAL: return posref_identify_sinusoidal;
    case POSREF_SCHEME_ALIBI: return posref_identify_alibi;
    case POSREF_SCHEME_T5_BIAS: return posref_identify_buckets;
    default: return NULL;
    }
}

/* The asked spec with what it needs at least. */
static enum posref_status complete(struct posref_spec *out, const struct posref_spec *asked,
                                   int scheme, struct posref_error *err)
{
    *out = *asked;
    out->scheme = scheme;
    out->given[POSREF_FIELD_SCHEME] = true;
    if (!out->given[POSREF_FIELD_DIM] && posref_field_applies(out, POSREF_FIELD_DIM)) {
        out->dim = 128;
        out->given[POSREF_FIELD_DIM] = true;
    }
    if (!out->given[POSREF_FIELD_NUM_HEADS] && posref_field_applies(out, POSREF_FIELD_NUM_HEADS)) {
        out->num_heads = 12;
        out->given[POSREF_FIELD_NUM_HEADS] = true;
    }
    enum posref_status status = posref_spec_complete(out, err);
    /* Calls of different lengths would be of different frequencies. */
    if (status == POSREF_OK && posref_field_applies(out, POSREF_FIELD_SEQ_LEN) &&
        !out->given[POSREF_FIELD_SEQ_LEN] &&
        out->given[POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS]) {
        out->seq_len = out->original_max_position_embeddings;
        out->given[POSREF_FIELD_SEQ_LEN] = true;
    }
    if (status == POSREF_OK && out->given[POSREF_FIELD_DIM] && out->dim > POSREF_IDENTIFY_MAX_DIM)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "at most %d channels are identified; got "
                           "%d", POSREF_IDENTIFY_MAX_DIM, out->dim);
    return status;
}

static enum posref_status identify_one(struct posref_identity *out, struct posref_probe *probe,
                                       const struct posref_spec *asked, int scheme,
                                       struct posref_error *err)
{
    memset(out, 0, sizeof *out);
    enum posref_status status = complete(&out->asked, asked, scheme, err);
    if (status != POSREF_OK)
        return status;
    out->spec = out->asked;
    out->how[POSREF_FIELD_SCHEME] = POSREF_HOW_MEASURED;
    probe->spec = &out->asked;
    probe->verdict = POSREF_VERDICT_UNSUPPORTED;
    probe->form = NULL;
    if (out->asked.given[POSREF_FIELD_SEQ_LEN] && !asked->given[POSREF_FIELD_SEQ_LEN])
        posref_identity_family(out, "seq_len", "looked at in sequences of %.9g; give seq_len to "
                               "look at others", out->asked.seq_len);
    return measure_of(scheme)(out, probe, err);
}

/* A call that ended badly is what was found. */
static void keep_verdict(struct posref_identity *out, const struct posref_probe *probe)
{
    out->decided = false;
    out->dtype = probe->dtype;
    posref_identity_finding(out, "a call came back with verdict %s%s%.140s",
                            posref_verdict_name(probe->verdict), *probe->why ? ": " : "",
                            probe->why);
    posref_identity_family(out, "spec", "it could not be measured");
}

enum posref_status posref_identify(struct posref_identity *out, const struct posref_spec *asked,
                                   struct posref_runner *runner, const struct posref_arena *arena,
                                   struct posref_error *err)
{
    struct posref_probe probe = {.runner = runner, .arena = arena};
    struct posref_identity other = {0};
    const bool told = asked->given[POSREF_FIELD_SCHEME];
    bool measured = false;
    for (int scheme = 0; scheme < POSREF_N_SCHEMES; scheme++) {
        if (!measure_of(scheme) || (told && asked->scheme != scheme))
            continue;
        struct posref_identity *into = measured ? &other : out;
        enum posref_status status = identify_one(into, &probe, asked, scheme, err);
        if (status == POSREF_BAD_INPUT && !told && scheme != POSREF_SCHEME_ROPE)
            continue; /* keys that only another scheme takes */
        if (status != POSREF_OK)
            return status;
        if (probe.verdict == POSREF_VERDICT_UNSUPPORTED)
            continue;
        if (measured) {
            size_t length = strlen(out->also);
            snprintf(out->also + length, sizeof out->also - length, "%s%s", length ? " " : "",
                     posref_scheme_info((enum posref_scheme)scheme)->name);
            continue;
        }
        measured = true;
        if (probe.verdict != POSREF_VERDICT_PASS)
            keep_verdict(out, &probe);
        if (out->decided && scheme != POSREF_SCHEME_T5_BIAS) { /* numbers of rows are exact */
            probe.spec = &out->asked;
            status = posref_identify_class(out, &probe, err);
        }
        if (status != POSREF_OK)
            return status;
    }
    if (told && !measure_of(asked->scheme))
        return posref_fail(err, POSREF_BAD_INPUT, "scheme", "%s is not identified yet; rope, "
                           "sinusoidal, alibi and t5_bias are",
                           posref_scheme_info((enum posref_scheme)asked->scheme)->name);
    if (!measured)
        return posref_fail(err, POSREF_BAD_INPUT, "PLUGIN", "declined every question (rope, "
                           "sinusoidal, alibi and t5_bias are asked about): %.120s", probe.why);
    return POSREF_OK;
}
