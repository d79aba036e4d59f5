/* SPDX-License-Identifier: Apache-2.0 */
/* Presets: what released models use, read from vectors/models.txt (built in). A preset has one spec
 * a layer type; each of its parameters was read in source code, seen in a config, or neither. */
#ifndef POSREF_VECTORS_MODELS_H
#define POSREF_VECTORS_MODELS_H

#include "vectors/vectors.h"

enum posref_known { POSREF_KNOWN_NOT, POSREF_KNOWN_SOURCE, POSREF_KNOWN_CONFIG,
                    POSREF_KNOWN_UNVERIFIED, POSREF_N_KNOWN };
/* "", "source", "config", "unverified". */
const char *posref_known_name(enum posref_known known);

struct posref_model_layers {
    const char *name;         /* "all", "local", "global", "vision", ... */
    struct posref_spec spec;  /* the fields that the preset gives; not completed */
    unsigned char known[POSREF_N_FIELDS]; /* enum posref_known of each */
};

#define POSREF_MODEL_MAX_LAYERS 8
#define POSREF_MODEL_MAX_LINES 16

struct posref_model {
    const char *name, *title, *family;
    const char *same;     /* other names, separated by spaces, or "" */
    const char *original; /* pairing of the original checkpoint, or "" where nothing rotates */
    const char *huggingface; /* pairing of the Hugging Face layout, which the specs have; or "" */
    struct posref_model_layers *layers;
    const char *source[POSREF_MODEL_MAX_LINES]; /* "owner/repo:path what" */
    const char *note[POSREF_MODEL_MAX_LINES];
    int n_layers, n_sources, n_notes;
};

/* Reads the preset that begins at or behind *at, and moves *at past it; *found is false at the end.
 * *at starts as posref_models_text(). All memory comes from the arena. POSREF_INTERNAL, with the
 * line's number, where the built-in file is malformed. */
const char *posref_models_text(void);
POSREF_MUST_USE enum posref_status posref_model_next(struct posref_model *out, const char **at,
                                                     bool *found,
                                                     const struct posref_arena *arena,
                                                     struct posref_error *err);
/* The preset NAME or NAME/LAYERS (also by its other names); *layers is the index of the layer
 * type, 0 where none is named. Unknown names fail with the nearest known one. */
POSREF_MUST_USE enum posref_status posref_model_find(struct posref_model *out, int *layers,
                                                     const char *name,
                                                     const struct posref_arena *arena,
                                                     struct posref_error *err);
/* True where every parameter of every layer type is read or seen. */
bool posref_model_verified(const struct posref_model *model);

/* One preset as a JSON object, specs completed. */
POSREF_MUST_USE enum posref_status posref_model_json(struct posref_buffer *out,
                                                     const struct posref_model *model,
                                                     struct posref_error *err);
/* One row of a Markdown table a layer type: name, title, fields, pairing. */
void posref_model_markdown(struct posref_buffer *out, const struct posref_model *model);

#endif
