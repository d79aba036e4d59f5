/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref weights check|permute|guess: arguments in, a report out. */
#include "harness/weights.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPORT_BYTES ((size_t)256 << 20)

static const char help[] =
    "usage: posref weights check BEFORE AFTER [OPTION]...\n"
    "       posref weights permute IN -o OUT --from half|interleaved --to interleaved|half\n"
    "       posref weights guess MODEL [OPTION]...\n\n"
    "q and k rows of a model before and after a port. A model is a .safetensors file, an index\n"
    "of shards, a .gguf (any part of a split one), a .npy, or a directory; FILE:TENSOR is one\n"
    "tensor.\n\n"
    "  --config FILE        a config.json (default: beside the model; GGUF: its metadata)\n"
    "  --heads N --kv-heads N --head-dim N --rotary-dim N --rotary-first N\n"
    "                       what no config says\n"
    "  --fused LAYOUT       of a fused projection: concat, per_head, per_group, codegen\n"
    "  --tensor NAME        only this tensor\n"
    "  --pairing NAME       check: what BEFORE was made for (default: by its family)\n"
    "  --kernel NAME        check: the kernel AFTER will meet (default: by GGUF architecture)\n"
    "  --from, --to NAME    permute: half, interleaved\n"
    "  -o OUT               permute: a file, or a new directory for several files\n"
    "  --dry-run            permute: say what would move, write nothing\n"
    "  --format text|json   default text\n"
    "  -j N                 threads (default: all cores)\n\n"
    "Exit codes: 0 conforms; 1 does not; 2 bad input.\n\n"
    "Example:\n  posref weights check llama/ port/model.gguf\n";

struct arguments {
    struct posref_weights_options options;
    const char *path[2], *out;
    int n_paths;
    enum posref_weights_order from, to;
    bool json, dry_run;
};

static enum posref_status bad(struct posref_error *err, const char *key, const char *text)
{
    return posref_fail(err, POSREF_BAD_INPUT, key, "%s", text);
}

static enum posref_status read_size(int *out, const char *key, const char *value, int min,
                                    struct posref_error *err)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (*end != '\0' || end == value || errno != 0 || number < min || number > (1 << 24))
        return posref_fail(err, POSREF_BAD_INPUT, key, "no integer from %d to %d: %.60s", min,
                           1 << 24, value);
    *out = (int)number;
    return POSREF_OK;
}

static enum posref_status read_order(enum posref_weights_order *out, const char *key,
                                     const char *value, struct posref_error *err)
{
    if (strcmp(value, "half") == 0)
        *out = POSREF_ORDER_HALF;
    else if (strcmp(value, "interleaved") == 0)
        *out = POSREF_ORDER_INTERLEAVED_ROWS;
    else
        return posref_fail(err, POSREF_BAD_INPUT, key, "neither half nor interleaved: %.60s",
                           value);
    return POSREF_OK;
}

static enum posref_status read_format(struct arguments *a, const char *value,
                                      struct posref_error *err)
{
    a->json = strcmp(value, "json") == 0;
    if (!a->json && strcmp(value, "text") != 0)
        return bad(err, "--format", "neither text nor json");
    return POSREF_OK;
}

static enum posref_status read_layout(struct arguments *a, const char *value,
                                      struct posref_error *err)
{
    a->options.layout = posref_weights_find_layout(value);
    if (a->options.layout == POSREF_LAYOUT_UNKNOWN)
        return bad(err, "--fused", "none of concat, per_head, per_group, codegen");
    return POSREF_OK;
}

static enum posref_status set_option(struct arguments *a, const char *key, const char *value,
                                     struct posref_error *err)
{
    struct posref_weights_options *o = &a->options;
    struct { const char *key; int *to; int min; } sizes[] = {
        {"--heads", &o->n_heads, 1}, {"--kv-heads", &o->n_kv_heads, 1},
        {"--head-dim", &o->head_dim, 1}, {"--rotary-dim", &o->rotary_dim, 1},
        {"--rotary-first", &o->rotary_first, 0}, {"-j", &o->n_threads, 1}};
    struct { const char *key; const char **to; } texts[] = {
        {"--config", &o->config}, {"--tensor", &o->tensor}, {"-o", &a->out}};
    struct { const char *key; enum posref_weights_order *to; } orders[] = {
        {"--pairing", &o->order}, {"--kernel", &o->kernel}, {"--from", &a->from}, {"--to", &a->to}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i].key, key) == 0)
            return read_size(sizes[i].to, key, value, sizes[i].min, err);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].key, key) == 0) {
            *texts[i].to = value;
            return POSREF_OK;
        }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(orders[i].key, key) == 0)
            return read_order(orders[i].to, key, value, err);
    if (strcmp(key, "--format") == 0)
        return read_format(a, value, err);
    if (strcmp(key, "--fused") == 0)
        return read_layout(a, value, err);
    return bad(err, key, "no such option; posref weights --help lists them");
}

/* --key value, --key=value, paths. */
static enum posref_status read_arguments(struct arguments *a, int argc, char **argv,
                                         struct posref_error *err)
{
    char key[32];
    for (int i = 2; i < argc; i++) {
        const char *text = argv[i], *equals = strchr(text, '=');
        if (strcmp(text, "--dry-run") == 0) {
            a->dry_run = true;
            continue;
        }
        if (text[0] != '-') {
            if (a->n_paths == 2)
                return bad(err, text, "one path too many");
            a->path[a->n_paths++] = text;
            continue;
        }
        bool joined = equals && strncmp(text, "--", 2) == 0;
        snprintf(key, sizeof key, "%.*s", joined ? (int)(equals - text) : 31, text);
        if (!joined && i + 1 == argc)
            return bad(err, key, "needs a value");
        enum posref_status status = set_option(a, key, joined ? equals + 1 : argv[++i], err);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

/* A buffer to stdout; the verdict stands only when it was written. */
static int write_report(struct posref_buffer *report, int code)
{
    struct posref_error err = {{0}, {0}};
    if (report->failed)
        return posref_report_error("weights", posref_fail(&err, POSREF_NO_MEMORY, "", "no memory"),
                                   &err);
    const int written = posref_write_out("weights", report);
    return written == POSREF_EXIT_OK ? code : written;
}

static bool conforms(const struct posref_weights_result *result)
{
    for (size_t i = 0; i < result->n_findings; i++)
        if (result->finding[i].severity == POSREF_WRONG)
            return false;
    return result->consistent && strcmp(result->kernel_pairing, "none") != 0;
}

static enum posref_status check(int *code, const struct arguments *a, struct posref_error *err)
{
    struct posref_weights_side before = {0}, after = {0};
    struct posref_weights_result result = {0};
    struct posref_buffer report;
    posref_buffer_init(&report, MAX_REPORT_BYTES);
    if (a->n_paths != 2)
        return bad(err, "check", "needs BEFORE and AFTER");
    enum posref_status status = posref_weights_open(&before, a->path[0], &a->options, err);
    if (status == POSREF_OK)
        status = posref_weights_open(&after, a->path[1], &a->options, err);
    if (status == POSREF_OK)
        status = posref_weights_compare(&result, &before, &after, &a->options, err);
    if (status == POSREF_OK) {
        if (a->json)
            posref_weights_report_json(&report, &result, &before, &after);
        else
            posref_weights_report_text(&report, &result, &before, &after);
        *code = write_report(&report, conforms(&result) ? POSREF_EXIT_OK : POSREF_EXIT_FAIL);
    }
    posref_buffer_clear(&report);
    posref_weights_result_clear(&result);
    posref_weights_close(&before);
    posref_weights_close(&after);
    return status;
}

static enum posref_status check_direction(const struct arguments *a, struct posref_error *err)
{
    if (a->n_paths != 1)
        return bad(err, "permute", "needs one IN");
    if (!a->out && !a->dry_run)
        return bad(err, "-o", "missing: where the result goes");
    if (a->from == POSREF_ORDER_UNKNOWN || a->to == POSREF_ORDER_UNKNOWN)
        return bad(err, a->from == POSREF_ORDER_UNKNOWN ? "--from" : "--to",
                   "missing: half or interleaved");
    if (a->from == a->to)
        return bad(err, "--to", "is the same as --from: nothing to permute");
    return POSREF_OK;
}

static void report_plan(struct posref_buffer *report, const struct arguments *a,
                        const struct posref_weights_plan *plan)
{
    if (a->json) {
        posref_buffer_printf(report, "{\"written\": %s, \"direction\": \"%s\", \"tensors\": ",
                             a->dry_run ? "false" : "true",
                             a->to == POSREF_ORDER_HALF ? "interleaved_to_half"
                                                        : "half_to_interleaved");
        posref_buffer_add(report, plan->json.data, plan->json.length);
        posref_buffer_text(report, "}\n");
        return;
    }
    posref_buffer_printf(report, "%s %zu tensors, %s to %s:\n",
                         a->dry_run ? "would permute" : "permuted", plan->n_tensors,
                         posref_weights_order_name(a->from), posref_weights_order_name(a->to));
    posref_buffer_add(report, plan->text.data, plan->text.length);
}

static enum posref_status permute(int *code, const struct arguments *a, struct posref_error *err)
{
    struct posref_weights_side side = {0};
    struct posref_weights_plan plan = {0};
    struct posref_buffer report;
    posref_buffer_init(&report, MAX_REPORT_BYTES);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error like a full disk, and as clean */
    enum posref_status status = check_direction(a, err);
    if (status == POSREF_OK)
        status = posref_weights_open(&side, a->path[0], &a->options, err);
    if (status == POSREF_OK)
        status = posref_weights_cut(&side, err);
    if (status == POSREF_OK)
        status = posref_weights_permute(&plan, &side, a->out, a->to == POSREF_ORDER_HALF,
                                        a->dry_run, err);
    if (status == POSREF_OK) {
        report_plan(&report, a, &plan);
        *code = write_report(&report, POSREF_EXIT_OK);
    }
    posref_buffer_clear(&report);
    posref_buffer_clear(&plan.text);
    posref_buffer_clear(&plan.json);
    posref_weights_close(&side);
    return status;
}

static enum posref_status guess(int *code, const struct arguments *a, struct posref_error *err)
{
    struct posref_weights_side side = {0};
    struct posref_buffer report;
    posref_buffer_init(&report, MAX_REPORT_BYTES);
    if (a->n_paths != 1)
        return bad(err, "guess", "needs one MODEL");
    enum posref_status status = posref_weights_open(&side, a->path[0], &a->options, err);
    if (status == POSREF_OK)
        status = posref_weights_cut(&side, err);
    if (status == POSREF_OK)
        status = posref_weights_guess(&report, a->json, &side, a->options.n_threads, err);
    if (status == POSREF_OK)
        *code = write_report(&report, POSREF_EXIT_OK);
    posref_buffer_clear(&report);
    posref_weights_close(&side);
    return status;
}

int posref_cmd_weights(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum posref_status (*run)(int *code, const struct arguments *a, struct posref_error *err);
    } verbs[] = {{"check", check}, {"permute", permute}, {"guess", guess}};
    struct arguments a = {.json = false};
    struct posref_error err = {{0}, {0}};
    int code = POSREF_EXIT_OK;
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    enum posref_status status =
        bad(&err, argc > 1 ? argv[1] : "weights", "check, permute or guess comes first");
    for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(argv[1], verbs[i].name) == 0) {
            status = read_arguments(&a, argc, argv, &err);
            if (status == POSREF_OK)
                status = verbs[i].run(&code, &a, &err);
        }
    return status == POSREF_OK ? code : posref_report_error("weights", status, &err);
}
