/* SPDX-License-Identifier: Apache-2.0 */
/* Towers beside the language model, and models of images or sound alone: learned tables of patches,
 * rotations over two axes, sinusoids of audio frames. A row says what Hugging Face's class does. */
#include "vectors/resolve.h"

#include <string.h>

enum {
    TABLE = 1,         /* a learned table, a row a patch */
    CLASS_FIRST = 2,   /* and one for a class token before them */
    CLASS_LAST = 4,    /* or behind them */
    DISTILLED = 8,     /* a second such token */
    CUBIC = 16,        /* resampled for other sizes by cubic convolution */
    CORNERS = 32,      /* or linearly, corner on corner */
    BY_FRACTION = 64,  /* rows are chosen by the patch's place in its image */
    TILED = 128,       /* gated, and a table of tiles beside it */
    BY_AXIS = 256,     /* two tables, of columns and of rows */
    TEXT = 512,        /* a row a token */
    SINES = 1024,      /* sinusoids of frames */
    EMBED_DIM = 2048,  /* the width is embed_dim; hidden_size is that of the language model */
    HEAD = 4096,       /* rotates: rows and columns halve the head, pairs are halves of it all */
    AXIS = 8192,       /* rotates: pairs are halves of each axis' channels */
    NEIGHBOURS = 16384, /* rotates: pairs are neighbours */
    SPLIT = 32768,     /* rotates: one ladder, dealt out to the axes in turn */
    IN_TURN = 65536,   /* rotates: the axes take turns, pair by pair */
    TURNS = 131072,    /* rotates: angles are turns, coordinates in [-1, 1] */
    ROTATES = HEAD | AXIS | NEIGHBOURS
};

/* Sizes that the class takes where the config names none; 0: it must. side: of the image in
 * pixels, or the number of rows where the table is not made of patches. */
struct tower {
    const char *name;
    int width, heads, side, patch;
    double theta;
    unsigned traits;
    const char *positions; /* what eval is to be given, or "" */
};

#define BLOCKS "positions=blocks:2:H:W: patches come in blocks that are merged"
#define GRID "positions=grid:H:W"
#define COLUMNS_FIRST "columns, then rows: positions=xgrid:W:H"

static const struct tower towers[] = {
    {"qwen2_vl", 1280, 16, 0, 14, 1e4, HEAD | EMBED_DIM, BLOCKS},
    {"DFNRope_vision_transformer", 1280, 16, 0, 14, 1e4, HEAD | EMBED_DIM, BLOCKS},
    {"qwen2_5_vl", 3584, 16, 0, 14, 1e4, HEAD, BLOCKS},
    {"qwen2_5_omni_vision_encoder", 3584, 16, 0, 14, 1e4, HEAD, BLOCKS},
    {"qwen3_vl", 1152, 16, 2304, 0, 1e4, TABLE | CORNERS | HEAD, BLOCKS},
    {"qwen3_vl_moe", 1152, 16, 2304, 0, 1e4, TABLE | CORNERS | HEAD, BLOCKS},
    {"qwen3_5", 1152, 16, 2304, 0, 1e4, TABLE | CORNERS | HEAD, BLOCKS},
    {"qwen3_5_moe", 1152, 16, 2304, 0, 1e4, TABLE | CORNERS | HEAD, BLOCKS},
    {"qwen3_omni_moe_vision_encoder", 1152, 16, 2304, 0, 1e4, TABLE | CORNERS | HEAD, BLOCKS},
    {"glm4v", 1536, 12, 336, 14, 1e4, TABLE | CUBIC | HEAD, BLOCKS},
    {"glm4v_moe", 1536, 12, 336, 14, 1e4, TABLE | CUBIC | HEAD, BLOCKS},
    {"glm4v_vision", 1536, 12, 336, 14, 1e4, TABLE | CUBIC | HEAD, BLOCKS},
    {"glm4v_moe_vision", 1536, 12, 336, 14, 1e4, TABLE | CUBIC | HEAD, BLOCKS},
    {"llama4_vision_model", 768, 16, 448, 14, 1e4, TABLE | CLASS_LAST | NEIGHBOURS,
     "columns, then rows, from 1: positions=xgrid:W@1:H@1, then the class token at 0:0"},
    {"pixtral", 1024, 16, 0, 16, 1e4, HEAD | SPLIT, GRID},
    {"gemma4_vision", 768, 12, 10240, 0, 100, TABLE | BY_AXIS | AXIS, COLUMNS_FIRST},
    {"dinov3_vit", 384, 6, 0, 16, 100, HEAD | TURNS,
     "positions=grid:Hn:Wn, centres of patches; class and register tokens are not rotated"},
    {"moonvit", 1152, 16, 64, 0, 1e4, TABLE | CUBIC | NEIGHBOURS | IN_TURN, COLUMNS_FIRST},
    {"siglip_vision_model", 768, 12, 224, 16, 0, TABLE, ""},
    {"clip_vision_model", 768, 12, 224, 32, 0, TABLE | CLASS_FIRST, ""},
    {"chinese_clip_vision_model", 768, 12, 224, 32, 0, TABLE | CLASS_FIRST, ""},
    {"blip_vision_model", 768, 12, 384, 16, 0, TABLE | CLASS_FIRST | CUBIC, ""},
    {"vit", 768, 12, 224, 16, 0, TABLE | CLASS_FIRST | CUBIC, ""},
    {"deit", 768, 12, 224, 16, 0, TABLE | CLASS_FIRST | DISTILLED | CUBIC, ""},
    {"dinov2", 768, 12, 224, 14, 0, TABLE | CLASS_FIRST | CUBIC, ""},
    {"dinov2_with_registers", 768, 12, 224, 16, 0, TABLE | CLASS_FIRST | CUBIC, ""},
    {"internvl_vision", 1024, 16, 448, 14, 0, TABLE | CLASS_FIRST | CUBIC, ""},
    {"intern_vit_6b", 3200, 25, 224, 14, 0, TABLE | CLASS_FIRST | CUBIC, ""},
    {"idefics2_vision", 768, 12, 224, 32, 0, TABLE | BY_FRACTION, ""},
    {"idefics3_vision", 1152, 16, 224, 32, 0, TABLE | BY_FRACTION, ""},
    {"smolvlm_vision", 1152, 16, 224, 32, 0, TABLE | BY_FRACTION, ""},
    {"mllama_vision_model", 1280, 16, 448, 14, 0, TABLE | CLASS_FIRST | TILED, ""},
    {"clip_text_model", 512, 8, 77, 0, 0, TABLE | TEXT, ""},
    {"siglip_text_model", 768, 12, 64, 0, 0, TABLE | TEXT, ""},
    {"whisper", 384, 6, 1500, 0, 0, SINES, ""},
    {"voxtral_encoder", 1280, 20, 1500, 0, 0, SINES, ""},
    {"qwen2_audio_encoder", 1280, 20, 1500, 0, 0, SINES, ""},
    {"qwen2_5_omni_audio_encoder", 1280, 20, 1500, 0, 0, SINES, ""},
};

struct view {
    struct resolve *r;
    struct resolve_model m; /* scope and prefix; its family is not used */
    const struct tower *tower;
    int head_dim;
    double theta;
};

/* One size; the class' own where the config has none, which is noted. */
static enum posref_status read_or(struct view *v, const char *const *keys, int otherwise, int *out)
{
    bool given = false;
    *out = otherwise;
    enum posref_status status = resolve_whole_of(v->r, v->m.scope, keys, 1, 1 << 24, out, &given);
    if (status == POSREF_OK && !given && otherwise)
        resolve_say(v->r, NULL, "default", keys[0], "%s%s is missing; %d is what Hugging Face's "
                    "class takes", v->m.scope->path, keys[0], otherwise);
    return status;
}

static enum posref_status read_sizes(struct view *v)
{
    static const char *const wide[] = {"embed_dim", NULL};
    static const char *const usual[] = {"hidden_size", "d_model", "embed_dim", "width", NULL};
    static const char *const heads[] = {"num_heads", "num_attention_heads",
                                        "encoder_attention_heads", NULL};
    static const char *const layers[] = {"num_hidden_layers", "depth", "encoder_layers", "layers",
                                         NULL};
    bool given = false, embeds = v->tower->traits & EMBED_DIM;
    struct resolve_model *m = &v->m;
    m->n_hidden_layers = -1;
    if (embeds)
        resolve_get(m->scope, "hidden_size"); /* of the language model */
    if (!(v->tower->traits & TEXT))
        resolve_get(m->scope, "max_position_embeddings"); /* of no table of patches */
    enum posref_status status = read_or(v, embeds ? wide : usual, v->tower->width,
                                        &m->hidden_size);
    if (status == POSREF_OK && v->tower->traits & ROTATES)
        status = read_or(v, heads, v->tower->heads, &m->n_heads);
    if (status == POSREF_OK)
        status = resolve_whole_of(v->r, m->scope, layers, 1, 65536, &m->n_hidden_layers, &given);
    if (status != POSREF_OK || !(v->tower->traits & ROTATES))
        return status;
    v->head_dim = m->hidden_size / m->n_heads;
    return resolve_whole(v->r, m->scope, "head_dim", 2, POSREF_MAX_DIM, &v->head_dim, &given);
}

static enum posref_status read_base(struct view *v)
{
    bool given = false;
    struct resolve_scope *scope = v->m.scope;
    const json_t *inside = resolve_get(scope, "rope_parameters");
    v->theta = v->tower->theta;
    enum posref_status status = resolve_number(v->r, scope, "rope_theta", 1.0000001, 1e12,
                                               &v->theta, &given);
    if (status == POSREF_OK && json_is_object(inside)) {
        scope = resolve_enter(v->r, scope, "rope_parameters", inside);
        if (!scope)
            return POSREF_BAD_INPUT;
        const char *type = NULL;
        status = resolve_string(v->r, scope, "rope_type", &type);
        if (status == POSREF_OK && type && strcmp(type, "default") != 0)
            status = posref_fail(v->r->err, POSREF_BAD_INPUT, "rope_type", "'%.40s' is not read "
                                 "for a tower", type);
        if (status == POSREF_OK)
            status = resolve_number(v->r, scope, "rope_theta", 1.0000001, 1e12, &v->theta, &given);
    }
    return status;
}

static enum posref_status rotation(struct view *v)
{
    const unsigned traits = v->tower->traits;
    bool neighbours = traits & NEIGHBOURS;
    const int axis = v->head_dim / 4 * 2;
    enum posref_status status = read_base(v);
    struct resolve_layer *layer =
        status == POSREF_OK ? resolve_add(v->r, &v->m, "all", v->m.n_hidden_layers) : NULL;
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_put(layer, "scheme", "rope");
    resolve_put_number(layer, "dim", v->head_dim);
    resolve_put_number(layer, "base", v->theta);
    resolve_put(layer, "pairing", neighbours ? "interleaved" : "half");
    resolve_put(layer, "scaling", "none");
    resolve_put_pair(layer, "axes_dims", axis, axis);
    if (traits & HEAD)
        resolve_put(layer, "axes_span", "head");
    if (traits & SPLIT)
        resolve_put(layer, "axes_ladder", "split");
    if (traits & IN_TURN)
        resolve_put(layer, "axes_order", "frequency");
    if (traits & TURNS)
        resolve_put(layer, "angle_unit", "turn");
    resolve_say(v->r, layer, "info", "", "two axes; %s", v->tower->positions);
    resolve_finish(v->r, layer);
    return POSREF_OK;
}

/* Rows of the table, and the grid that they make: columns 0 where it is none. */
static enum posref_status read_rows(struct view *v, int64_t *rows, int grid[2])
{
    static const char *const counts[][2] = {{"num_position_embeddings", NULL},
                                            {"position_embedding_size", NULL},
                                            {"max_position_embeddings", NULL}};
    const struct tower *tower = v->tower;
    const int name = tower->traits & TEXT ? 2 : tower->traits & BY_AXIS ? 1 : 0;
    bool given = false;
    int count = 0;
    enum posref_status status;
    grid[0] = grid[1] = 0;
    if (strcmp(tower->name, "moonvit") == 0) {
        grid[0] = grid[1] = tower->side;
        status = resolve_whole(v->r, v->m.scope, "init_pos_emb_height", 1, 4096, &grid[0], &given);
        if (status == POSREF_OK)
            status = resolve_whole(v->r, v->m.scope, "init_pos_emb_width", 1, 4096, &grid[1],
                                   &given);
    } else if (tower->patch) {
        status = resolve_grid(v->r, v->m.scope, tower->side, tower->patch, grid);
    } else {
        status = read_or(v, counts[name], tower->side, &count);
    }
    *rows = count ? count : (int64_t)grid[0] * grid[1];
    return status;
}

static void say_table(struct view *v, struct resolve_layer *layer, int64_t rows, int extra,
                      const int grid[2])
{
    const unsigned traits = v->tower->traits;
    resolve_say(v->r, layer, "info", "", "a learned table of %lld rows%s%s",
                (long long)rows + extra,
                extra == 0 ? "" : traits & CLASS_LAST ? "; the last one is the class token's"
                : extra == 2 ? "; the first two are the class and the distillation token's"
                : "; the first one is the class token's",
                traits & BY_AXIS ? " for columns and one for rows, whose vectors are added"
                : traits & TILED ? "; it is gated, and a table of tiles is added" : "");
    if (traits & CUBIC)
        resolve_say(v->r, layer, "info", "", "other sizes: beyond=interpolate prefix_rows=%d "
                    "source_grid=%d,%d and target_grid, by cubic convolution", extra, grid[0],
                    grid[1]);
    if (traits & CORNERS)
        resolve_say(v->r, layer, "info", "", "other grids are read linearly, corner on corner, "
                    "which is not posref's interpolation=linear");
    if (traits & BY_FRACTION)
        resolve_say(v->r, layer, "info", "", "a patch reads the row at its own share of the "
                    "image's height and width; images of the full size count row by row");
}

static enum posref_status table(struct view *v)
{
    const unsigned traits = v->tower->traits;
    int grid[2], extra = traits & (CLASS_FIRST | CLASS_LAST) ? 1 : 0;
    int64_t rows = 0;
    extra += traits & DISTILLED ? 1 : 0;
    struct resolve_layer *layer = resolve_add(v->r, &v->m, "embedding", 1);
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = read_rows(v, &rows, grid);
    if (status != POSREF_OK)
        return status;
    resolve_put(layer, "scheme", "learned");
    if (v->m.hidden_size)
        resolve_put_number(layer, "dim", v->m.hidden_size);
    say_table(v, layer, rows, extra, grid);
    resolve_finish(v->r, layer);
    return POSREF_OK;
}

static enum posref_status sines(struct view *v)
{
    static const char *const counts[] = {"max_source_positions", NULL};
    int rows = 0;
    struct resolve_layer *layer = resolve_add(v->r, &v->m, "embedding", 1);
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = read_or(v, counts, v->tower->side, &rows);
    if (status != POSREF_OK)
        return status;
    resolve_say(v->r, layer, "info", counts[0], "sinusoids of %d frames", rows);
    resolve_put(layer, "scheme", "sinusoidal");
    resolve_put_number(layer, "dim", v->m.hidden_size);
    resolve_put(layer, "order", "concat");
    resolve_put(layer, "exponent", "half_minus_one");
    resolve_finish(v->r, layer);
    return POSREF_OK;
}

static enum posref_status resolve_as(struct resolve *r, struct resolve_scope *scope,
                                     const struct tower *tower, const char *prefix)
{
    struct view v = {.r = r, .m = {.scope = scope}, .tower = tower};
    snprintf(v.m.prefix, sizeof v.m.prefix, "%s", prefix);
    enum posref_status status = read_sizes(&v);
    if (status == POSREF_OK && tower->traits & TABLE)
        status = table(&v);
    if (status == POSREF_OK && tower->traits & ROTATES)
        status = rotation(&v);
    if (status == POSREF_OK && tower->traits & SINES)
        status = sines(&v);
    return status;
}

static const struct tower *find(const char *name)
{
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++)
        if (strcmp(towers[i].name, name) == 0)
            return &towers[i];
    return NULL;
}

enum posref_status resolve_tower(struct resolve *r, struct resolve_scope *scope, const char *name,
                                 const char *outer, const char *kind, const char *prefix,
                                 bool *found)
{
    const char *stem = *name ? name : outer;
    char nested[96], model[96];
    snprintf(nested, sizeof nested, "%.60s_%s", stem, kind);
    snprintf(model, sizeof model, "%.60s_%s_model", stem, kind);
    const struct tower *tower = find(stem);
    tower = tower ? tower : find(nested);
    tower = tower ? tower : find(model);
    *found = tower != NULL;
    return tower ? resolve_as(r, scope, tower, prefix) : POSREF_OK;
}

enum posref_status resolve_beside(struct resolve *r, struct resolve_scope *scope,
                                  const char *name, const char *outer, const char *kind)
{
    char prefix[16];
    bool found = false;
    const struct resolve_family *known = resolve_family_find(name);
    snprintf(prefix, sizeof prefix, "%s/", kind);
    enum posref_status status = resolve_tower(r, scope, name, outer, kind, prefix, &found);
    if (status != POSREF_OK || found)
        return status;
    if (known && known->kind != RESOLVE_ROPE)
        return resolve_model(r, scope, name, prefix);
    snprintf(prefix, sizeof prefix, "%s/all", kind);
    struct resolve_layer *layer = resolve_add_layer(r, prefix, -1);
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_say(r, layer, "missing", "model_type", "the positions of a tower of '%.40s' are not "
                "resolved", *name ? name : outer);
    return POSREF_OK;
}
