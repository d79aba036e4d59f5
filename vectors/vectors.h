/* SPDX-License-Identifier: Apache-2.0 */
/* The front door of vectors/: specs as text and JSON, the cases of the suites, the generator, and
 * the database (this is the only room that knows SQLite). Upper rooms include this header and
 * reference/reference.h. */
#ifndef POSREF_VECTORS_H
#define POSREF_VECTORS_H

#include "reference/reference.h"

#include <stdio.h>

/* ---- commands ------------------------------------------------------------------------------ */

enum posref_exit { POSREF_EXIT_OK = 0, POSREF_EXIT_FAIL = 1, POSREF_EXIT_USAGE = 2,
                   POSREF_EXIT_BROKEN = 3 };

/* One `posref NAME`; argv[0] is NAME. Tables end with a NULL name. */
struct posref_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};
extern const struct posref_command posref_vectors_commands[]; /* eval diff models resolve ... */

/* Prints "posref NAME: KEY: TEXT" on stderr, one line; returns the exit code of the status. */
int posref_report_error(const char *command, enum posref_status status,
                        const struct posref_error *err);

/* --help or -h among the arguments. */
bool posref_wants_help(int argc, char **argv);
struct posref_buffer;
/* Writes the buffer to stdout and flushes; a failed write is reported (exit code 3). */
int posref_write_out(const char *command, const struct posref_buffer *out);

/* An option of a command: NAME VALUE or NAME=VALUE into *value, or, when it takes none, *seen. */
struct posref_option {
    const char *name; /* "--db"; NULL ends a list */
    const char **value;
    bool *seen;
};
/* Takes the options out of argv; what is left (argv[0] first) is counted by *argc. An unknown
 * option, one given twice, and one without its value fail. */
POSREF_MUST_USE enum posref_status posref_options_read(const struct posref_option *options,
                                                       int *argc, char **argv,
                                                       struct posref_error *err);
/* "text" or "json". */
POSREF_MUST_USE enum posref_status posref_format_json(bool *json, const char *format,
                                                      struct posref_error *err);

/* ---- memory -------------------------------------------------------------------------------- */

/* A heap arena: chunks by malloc, freed together. max_bytes bounds it (0: 1 GiB). */
struct posref_heap;
struct posref_heap *posref_heap_new(size_t max_bytes); /* NULL: no memory */
void posref_heap_free(struct posref_heap *heap);       /* NULL is fine */
void posref_heap_reset(struct posref_heap *heap);      /* frees all but the first chunk */
struct posref_arena posref_heap_arena(struct posref_heap *heap);

/* A growable byte buffer with a maximum; after a failed append `failed` stays true and later
 * appends do nothing, so that a writer checks once at the end. */
struct posref_buffer {
    char *data;
    size_t length, capacity, max_bytes;
    bool failed;
};
void posref_buffer_init(struct posref_buffer *buffer, size_t max_bytes);
void posref_buffer_clear(struct posref_buffer *buffer);
void posref_buffer_add(struct posref_buffer *buffer, const void *data, size_t size_bytes);
void posref_buffer_text(struct posref_buffer *buffer, const char *text);
void posref_buffer_printf(struct posref_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends what is left of the file; false: it cannot be read, or the buffer failed. */
bool posref_buffer_read(struct posref_buffer *buffer, FILE *file);
/* Room for size_bytes more; false: failed. */
bool posref_buffer_reserve(struct posref_buffer *buffer, size_t size_bytes);
/* posref_number_format's text of x. */
void posref_buffer_number(struct posref_buffer *buffer, double x);
/* `text` quoted and escaped as a JSON string. */
void posref_buffer_json_string(struct posref_buffer *buffer, const char *text);

/* ---- canonical numbers ----------------------------------------------------------------- */

#define POSREF_NUMBER_SIZE 32
/* The shortest decimal that reads back to x, in ECMAScript's form, except -0.0 for negative zero
 * and "Infinity", "-Infinity", "NaN" (with the quotes, as JSON strings). Returns the length. */
size_t posref_number_format(char out[POSREF_NUMBER_SIZE], double x);
/* Reads a decimal, a C99 hex float (0x...), or the 16 hex digits of a double's bits; correctly
 * rounded; the whole text must be one finite number. Text that is a decimal is read as one, so
 * bits made of decimal digits alone need the prefix "bits:", which is always allowed.
 * Independent of the locale. On failure err->key is `key`. */
POSREF_MUST_USE enum posref_status posref_number_parse(double *out, const char *text,
                                                       const char *key, struct posref_error *err);

/* How numbers are written: as posref_number_format has them, as C99 hex floats (0x1.8p+1), or as
 * the 16 hex digits of a double's bits. The last two are strings in JSON, and posref_body_json
 * reads all three. */
enum posref_number_form { POSREF_NUMBERS_DECIMAL, POSREF_NUMBERS_HEX, POSREF_NUMBERS_BITS,
                          POSREF_N_NUMBER_FORMS };
const char *posref_number_form_name(enum posref_number_form form); /* "decimal", "hex", "bits" */
int posref_number_form_find(const char *name);                     /* or -1 */
/* x in the form, as a JSON value; NaN and infinities are words except as bits. Returns the
 * length. */
size_t posref_number_write(char out[POSREF_NUMBER_SIZE], double x, enum posref_number_form form);

/* The double whose bits the 16 hex digits are (NaN and infinity included); false: not 16 digits. */
bool posref_number_bits(double *out, const char *text);

/* ---- specs and requests as text and JSON ------------------------------------------------ */

/* Sets one field from text, as typed after KEY=. Ranges are posref_spec_complete's business. */
POSREF_MUST_USE enum posref_status posref_spec_set(struct posref_spec *spec, const char *key,
                                                   const char *value, struct posref_error *err);
/* "scheme=rope dim=128 base=10000 ...": every field with a value, canonical order and numbers. */
void posref_spec_text(struct posref_buffer *out, const struct posref_spec *spec);
/* The most bytes that KEY=VALUE of one field takes, with the NUL: the longest list. */
#define POSREF_MAX_FIELD_TEXT (POSREF_MAX_REALS * POSREF_NUMBER_SIZE + 64)
/* One field's value as typed after KEY= (nothing when it has none). */
void posref_field_text(struct posref_buffer *out, const struct posref_spec *spec,
                       enum posref_field field);
/* The same as a JSON object. */
void posref_spec_json(struct posref_buffer *out, const struct posref_spec *spec);
/* The JSON Schema of a spec, made from the table of fields; schema/spec.schema.json is a copy. */
void posref_spec_schema(struct posref_buffer *out);
/* The inverse of posref_spec_text (fields separated by spaces). The spec is not yet complete. */
POSREF_MUST_USE enum posref_status posref_spec_parse(struct posref_spec *spec, const char *text,
                                                     struct posref_error *err);

/* What a user asked for: a spec and inputs, gathered from KEY=VALUE pairs (command line or query
 * string) or from a JSON body {"spec": {...}, "inputs": {NAME: {"shape", "data"}}}. */
struct posref_request {
    struct posref_spec spec;
    enum posref_op op;            /* POSREF_OP_ALL unless given */
    bool op_given;
    enum posref_number_form numbers; /* of the answer's tensors; decimal unless set */
    struct posref_tensors inputs; /* data in the arena; flat ones get their shape late */
    /* A preset's name as typed ("" when none), and which fields of the spec are still its: 1, or 2
     * where nobody verified the value. Fields that the user gives replace them. */
    char model[64];
    unsigned char from_model[POSREF_N_FIELDS];
    bool allow_unverified, allow_given;
};
void posref_request_init(struct posref_request *request);
/* KEY is a spec field, `model`, `allow_unverified`, `op`, or an input (posref_input_def lists
 * them). An unknown key fails and names the nearest known one. A key given twice fails. */
POSREF_MUST_USE enum posref_status posref_request_set(struct posref_request *request,
                                                      const char *key, const char *value,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);
/* The same for what says a spec alone: a field, `model` or `allow_unverified`; takes no memory. */
POSREF_MUST_USE enum posref_status posref_request_set_field(struct posref_request *request,
                                                            const char *key, const char *value,
                                                            struct posref_error *err);
/* KEY=VALUE words between any of the `separators` bytes, as a user types a spec: `model` too. The
 * spec is settled, and not yet complete. `text` is cut up. */
POSREF_MUST_USE enum posref_status posref_spec_typed(struct posref_spec *out, char *text,
                                                     const char *separators,
                                                     struct posref_error *err);
/* After the last key: drops what the preset gives and the scheme or scaling that the user chose
 * does not take, and refuses parameters that nobody verified, unless they are allowed. */
POSREF_MUST_USE enum posref_status posref_request_settle(struct posref_request *request,
                                                         struct posref_error *err);
/* The body of a POST. Unknown members, duplicate keys, NaN and infinity are errors. */
POSREF_MUST_USE enum posref_status posref_request_json(struct posref_request *request,
                                                       const char *json, size_t length,
                                                       const struct posref_arena *arena,
                                                       struct posref_error *err);
/* The same for bodies that carry results: {"spec", "inputs", "outputs"}; *request may be NULL
 * (then "spec" and "inputs" are unknown members). Outputs may hold "NaN", "Infinity" and
 * "-Infinity". */
POSREF_MUST_USE enum posref_status posref_body_json(struct posref_request *request,
                                                    struct posref_tensors *outputs,
                                                    const char *json, size_t length,
                                                    const struct posref_arena *arena,
                                                    struct posref_error *err);
/* A spec alone: an object of fields, or {"spec": {...}, anything}, as posref eval answers. */
POSREF_MUST_USE enum posref_status posref_spec_json_read(struct posref_spec *out, const char *json,
                                                         size_t length, struct posref_error *err);
/* Appends, as JSON and a newline, where two specs part: for each dtype the first position, and the
 * pair (column, channel, head) there, whose values differ by more than the dtype's spacing at 1.
 * {"a": SPEC, "b": SPEC, "differing": [KEY...], "compared": TEXT, "parts": [{"dtype", "position",
 * "pair", "a", "b", "difference", "ulps"}, ...]}; position null: nowhere up to 2^31 - 1. */
POSREF_MUST_USE enum posref_status posref_diff_answer(struct posref_buffer *out,
                                                      const struct posref_spec *a,
                                                      const struct posref_spec *b,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);
/* Adds an input tensor (data borrowed; it must outlive the request), as KEY=@FILE does. */
POSREF_MUST_USE enum posref_status posref_request_add(struct posref_request *request,
                                                      const struct posref_tensor *tensor,
                                                      struct posref_error *err);
/* Completes the spec and gives flat inputs the shape that the scheme takes. */
POSREF_MUST_USE enum posref_status posref_request_complete(struct posref_request *request,
                                                           struct posref_error *err);
/* Completes, evaluates, and appends the answer {"spec":..., "outputs":...} and a newline: the same
 * bytes on the command line and over HTTP. */
POSREF_MUST_USE enum posref_status posref_request_answer(struct posref_buffer *out,
                                                         struct posref_request *request,
                                                         const struct posref_arena *arena,
                                                         struct posref_error *err);
/* Positions as typed: `0,1,7`, `0..15`, `0..60/4` (each A + i STEP, rounded once, that is not above
 * B), `1:2:3,4:5:6`, `grid:T:H:W`, `mrope:text=3,image=2x2`, ... (docs/positions.md has the
 * grammar); shape [n], or [n_axes, n]. Named `key`. */
POSREF_MUST_USE enum posref_status posref_positions_parse(struct posref_tensor *out,
                                                          const char *text, const char *key,
                                                          const struct posref_arena *arena,
                                                          struct posref_error *err);
/* Comma-separated numbers as the tensor `key`, rank 1. */
POSREF_MUST_USE enum posref_status posref_values_parse(struct posref_tensor *out, const char *text,
                                                       const char *key,
                                                       const struct posref_arena *arena,
                                                       struct posref_error *err);
/* Gives a flat input the shape that the spec's scheme takes (posref_input_shape); other ranks, and
 * inputs that the scheme does not read, stay as they are. */
POSREF_MUST_USE enum posref_status posref_input_reshape(struct posref_tensor *tensor,
                                                        const struct posref_spec *spec,
                                                        const struct posref_tensors *inputs,
                                                        struct posref_error *err);
/* {"NAME": {"shape": ..., "data": ...}, ...} */
void posref_tensors_json(struct posref_buffer *out, const struct posref_tensors *tensors,
                         enum posref_number_form numbers);
/* JSON of a tensor: {"shape": [...], "data": [...]}, flat. Integers are integers in every form. */
void posref_tensor_json(struct posref_buffer *out, const struct posref_tensor *tensor,
                        enum posref_number_form numbers);
/* The name in the NULL-terminated list that is closest to what was typed, or NULL when none is
 * close. For "unknown key" messages. */
const char *posref_nearest(const char *typed, const char *const *names);

/* posref_eval on all cores where the request is large enough: tables, rotations and embeddings cut
 * by positions. The same bytes as posref_eval, the same errors. */
POSREF_MUST_USE enum posref_status
posref_eval_bulk(struct posref_tensors *out, const struct posref_spec *spec, enum posref_op op,
                 const struct posref_tensors *in, const struct posref_arena *arena,
                 struct posref_error *err);

/* ---- presets (vectors/models.txt) --------------------------------------------------------- */

/* Calls `visit` with the name (NAME, or NAME/LAYERS) and the completed spec of every layer type of
 * every preset, in the order of vectors/models.txt. */
typedef void posref_model_fn(void *ctx, const char *name, const struct posref_spec *spec);
POSREF_MUST_USE enum posref_status posref_models_each(posref_model_fn *visit, void *ctx,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);

/* {"models": [...]} and a newline: every preset, or the one called `name` (NULL: all) alone. */
POSREF_MUST_USE enum posref_status posref_models_answer(struct posref_buffer *out,
                                                        const char *name,
                                                        struct posref_error *err);

/* ---- resolve ----------------------------------------------------------------------------- */

/* Appends, as JSON and a newline, what a model's config.json (or the header of a GGUF file) of
 * size_bytes in memory implies: {"format", "model_type", "layers": [{"applies_to", "n_layers",
 * "spec", "inv_freq", "attention_factor", "regimes", "notes"}, ...], "notes", "unused_keys"}. A
 * value of the wrong type or out of range is POSREF_BAD_INPUT with the key's path; configs of more
 * than 8 MiB and nests deeper than 2048 are refused. docs/resolve.md. */
POSREF_MUST_USE enum posref_status posref_resolve(struct posref_buffer *out, const void *data,
                                                  size_t size_bytes,
                                                  const struct posref_arena *arena,
                                                  struct posref_error *err);

/* ---- vectors and the database ------------------------------------------------------------ */

#define POSREF_MAX_ID 160

/* One vector as stored. All pointers live in the arena it was read with. */
struct posref_vector {
    const char *id;
    const char *suite_min;    /* the smallest suite that holds it: "smoke", "core" or "full" */
    enum posref_op op;
    struct posref_spec spec;  /* completed: every field spelt out */
    struct posref_tensors inputs;
    struct posref_tensors outputs; /* golden */
    const char *flags;        /* space-separated, sorted: "boundary long-position ..." */
    const char *source;       /* provenance: paper, or owner/repo:path */
};

/* {"id", "suite", "op", "spec", "flags", "source", without the closing brace: what lists show. */
void posref_vector_head_json(struct posref_buffer *out, const struct posref_vector *vector);
/* The same with its brace: what is stored for lists. */
void posref_vector_summary_json(struct posref_buffer *out, const struct posref_vector *vector);
/* The whole vector, as it is served and (in decimals) stored: the head, then "inputs" and, when
 * asked for, "outputs"; ends with a newline. */
void posref_vector_json(struct posref_buffer *out, const struct posref_vector *vector,
                        bool answers, enum posref_number_form numbers);

/* The vector as a safetensors document: inputs, and outputs when asked for, bit for bit; id, op,
 * spec, suite, flags and source as metadata. */
void posref_vector_safetensors(struct posref_buffer *out, const struct posref_vector *vector,
                               bool answers);

/* Called now and then while vectors are made. NULL is fine everywhere. */
typedef void posref_progress(void *ctx, size_t n_done, size_t n_total);
/* For commands: one line on stderr that counts, when stderr is a terminal. ctx is unused. */
void posref_progress_terminal(void *ctx, size_t n_done, size_t n_total);

/* Makes every vector of the suite (and the smaller ones) on n_workers threads (0: one a core) and
 * writes the database to `path`: a temporary file beside it, synced, then renamed. A generator that
 * is killed leaves the old file or none. */
POSREF_MUST_USE enum posref_status posref_generate(const char *path, const char *suite,
                                                   int n_workers, posref_progress *progress,
                                                   void *ctx, struct posref_error *err);

struct posref_db;

/* Opens read-only and immutable. NULL path: --db's default rule ($POSREF_DB, else the XDG cache
 * directory), generating a missing core database there first. Errors name the file. */
POSREF_MUST_USE enum posref_status posref_db_open(struct posref_db **out, const char *path,
                                                  struct posref_error *err);
/* The same, with progress while a missing database is generated. */
POSREF_MUST_USE enum posref_status posref_db_open_progress(struct posref_db **out,
                                                           const char *path,
                                                           posref_progress *progress, void *ctx,
                                                           struct posref_error *err);
/* The file's absolute path; lives as long as the handle. */
const char *posref_db_path(const struct posref_db *db);
void posref_db_close(struct posref_db *db); /* NULL is fine. One db handle per thread. */

struct posref_suite_info {
    char name[32], version[16], digest[65]; /* SHA-256 of the canonical content, hex */
    int64_t n_vectors;
};
/* Suites in the database, smallest first. *n in: capacity; out: how many. */
POSREF_MUST_USE enum posref_status posref_db_suites(struct posref_db *db,
                                                    struct posref_suite_info *out, size_t *n,
                                                    struct posref_error *err);

/* A filter: KEY=VALUE conditions, all of which must hold: any spec field, op, id (a prefix), flag.
 * `suite` is NAME[@VERSION], NULL for all vectors. `after` starts behind that id (keyset paging).
 * Rows come in id order. */
struct posref_filter;
struct posref_filter *posref_filter_new(void);
void posref_filter_free(struct posref_filter *filter);
POSREF_MUST_USE enum posref_status posref_filter_add(struct posref_filter *filter, const char *key,
                                                     const char *value, struct posref_error *err);
/* Whether a vector that is in no database fulfils the conditions. NULL: there are none. */
bool posref_filter_matches(const struct posref_filter *filter, const struct posref_vector *vector);
/* The arguments KEY=VALUE that are left as conditions of a filter. They are cut up. */
POSREF_MUST_USE enum posref_status posref_filter_arguments(struct posref_filter *filter, int argc,
                                                           char **argv, struct posref_error *err);
/* Calls visit(ctx, vector) for each match with heap memory that is reset between vectors (copy
 * what you keep); stops early when it returns false. limit < 0: no limit. */
POSREF_MUST_USE enum posref_status
posref_db_each(struct posref_db *db, const struct posref_filter *filter, const char *suite,
               const char *after, int64_t limit,
               bool (*visit)(void *ctx, const struct posref_vector *vector), void *ctx,
               struct posref_error *err);
/* Ids only, without loading tensors: fast. */
POSREF_MUST_USE enum posref_status
posref_db_ids(struct posref_db *db, const struct posref_filter *filter, const char *suite,
              const char *after, int64_t limit, bool (*visit)(void *ctx, const char *id), void *ctx,
              struct posref_error *err);
/* Ids and stored summaries (posref_vector_summary_json), without loading tensors. */
POSREF_MUST_USE enum posref_status
posref_db_summaries(struct posref_db *db, const struct posref_filter *filter, const char *suite,
                    const char *after, int64_t limit,
                    bool (*visit)(void *ctx, const char *id, const char *json, size_t length),
                    void *ctx, struct posref_error *err);
/* *found = false when no such id. */
POSREF_MUST_USE enum posref_status posref_db_get(struct posref_db *db, const char *id,
                                                 struct posref_vector *out, bool *found,
                                                 const struct posref_arena *arena,
                                                 struct posref_error *err);
/* The vector that took the place of a retired id. *found = false when the id is none. */
POSREF_MUST_USE enum posref_status posref_db_successor(struct posref_db *db, const char *id,
                                                       char successor[POSREF_MAX_ID + 1],
                                                       bool *found, struct posref_error *err);
/* The stored JSON, ready to send, and its SHA-256 as 64 hex digits (the ETag). Borrowed from the
 * handle until its next call. answers = false: the same without outputs. */
POSREF_MUST_USE enum posref_status posref_db_json(struct posref_db *db, const char *id,
                                                  bool answers, const char **json, size_t *length,
                                                  char sha256[65], bool *found,
                                                  struct posref_error *err);

/* SHA-256 as 64 hex digits and a NUL. */
void posref_sha256_hex(char out[65], const void *data, size_t size_bytes);

#define POSREF_VERSION "0.1.0"

#endif
