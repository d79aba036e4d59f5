/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of weights share. */
#include "tests/unit/weights_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct weights_fixture fixture;

void fixture_setup(void)
{
    snprintf(fixture.directory, sizeof fixture.directory, "/tmp/posref-weights-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fixture.directory));
}

static void end_comparison(void)
{
    posref_weights_result_clear(&fixture.result);
    posref_weights_close(&fixture.before);
    posref_weights_close(&fixture.after);
}

void fixture_teardown(void)
{
    char command[96];
    end_comparison();
    snprintf(command, sizeof command, "rm -rf '%s'", fixture.directory);
    ck_assert_int_eq(system(command), 0);
}

const char *in(const char *name)
{
    static char path[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", fixture.directory, name);
    return path[turn];
}

enum posref_status compare_paths(const char *a, const char *b,
                                 const struct posref_weights_options *options)
{
    static const struct posref_weights_options none;
    struct posref_error *err = &fixture.err;
    memset(err, 0, sizeof *err);
    end_comparison();
    options = options ? options : &none;
    enum posref_status status = posref_weights_open(&fixture.before, a, options, err);
    if (status == POSREF_OK)
        status = posref_weights_open(&fixture.after, b, options, err);
    if (status == POSREF_OK)
        status = posref_weights_compare(&fixture.result, &fixture.before, &fixture.after, options,
                                        err);
    return status;
}

enum posref_status compare_models(const struct made_model *a, const struct made_model *b,
                                  const struct posref_weights_options *options)
{
    made_save_safetensors(a, in("a.safetensors"));
    made_save_safetensors(b, in("b.safetensors"));
    return compare_paths(in("a.safetensors"), in("b.safetensors"), options);
}

const struct posref_weights_pair *pair_named(const char *name)
{
    for (size_t i = 0; i < fixture.result.n_pairs; i++)
        if (strcmp(fixture.result.pair[i].before->tensor->name, name) == 0)
            return &fixture.result.pair[i];
    ck_abort_msg("no pair %s", name);
    return NULL;
}

const struct posref_weights_pair *pair_of(enum posref_weights_role role,
                                          enum posref_weights_kind kind)
{
    for (size_t i = 0; i < fixture.result.n_pairs; i++)
        if (fixture.result.pair[i].before->name.role == role &&
            fixture.result.pair[i].before->name.kind == kind)
            return &fixture.result.pair[i];
    ck_abort_msg("no such pair");
    return NULL;
}

const struct posref_weights_finding *finding_of(const char *fault)
{
    for (size_t i = 0; i < fixture.result.n_findings; i++)
        if (strcmp(fixture.result.finding[i].fault, fault) == 0)
            return &fixture.result.finding[i];
    return NULL;
}

int wrong_count(void)
{
    int n = 0;
    for (size_t i = 0; i < fixture.result.n_findings; i++)
        n += fixture.result.finding[i].severity == POSREF_WRONG;
    return n;
}
