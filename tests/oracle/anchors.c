/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's own test: values that others computed (mpmath, 17 digits; bc, 30 digits where the
 * 17 read back as the neighbour) must be what the oracle calls right, and their neighbours one ulp
 * away what it calls wrong. */
#include "oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct anchor {
    const char *spec;   /* key=value, separated by spaces */
    const char *output; /* the tensor, its rank and shape as "name n m ..." */
    double position;    /* of the one row */
    int at;
    double value;
};

#define ROPE "partial=leading pairing=half direction=forward "
#define LLAMA31 "scheme=rope dim=128 rotary_dim=128 base=500000 scaling=llama3 factor=8 " \
    "original_max_position_embeddings=8192 low_freq_factor=1 high_freq_factor=4 " ROPE
#define LLAMA32 "scheme=rope dim=64 rotary_dim=64 base=500000 scaling=llama3 factor=32 " \
    "original_max_position_embeddings=8192 low_freq_factor=1 high_freq_factor=4 " ROPE
#define YARN "scheme=rope scaling=yarn beta_fast=32 beta_slow=1 " ROPE
#define GPT_OSS YARN "dim=64 rotary_dim=64 base=150000 factor=32 " \
    "original_max_position_embeddings=4096 "
#define DEEPSEEK YARN "dim=64 rotary_dim=64 base=10000 factor=40 truncate=true " \
    "original_max_position_embeddings=4096 "
#define QWEN YARN "dim=128 rotary_dim=128 base=1000000 factor=4 truncate=true " \
    "original_max_position_embeddings=32768 "
#define ALIBI(heads)                                                                              \
    "scheme=alibi num_heads=" heads " alibi_bias_max=8 form=distance align=bottom_right "         \
    "slopes=published"
#define VASWANI                                                                                   \
    "scheme=sinusoidal dim=8 base=10000 order=interleaved exponent=d offset=0 min_timescale=1 "   \
    "table_scale=1 x_scale=one"

static const struct anchor anchors[] = {
    {LLAMA31, "inv_freq 64", 0, 28, 0.003211445994752591},
    {LLAMA31, "inv_freq 64", 0, 29, 0.0021665707635033586},
    {LLAMA31, "inv_freq 64", 0, 30, 0.0013718935677611382},
    {LLAMA31, "inv_freq 64", 0, 31, 0.00085675141291963208},
    {LLAMA31, "inv_freq 64", 0, 32, 0.00052484616099295467},
    {LLAMA31, "inv_freq 64", 0, 33, 0.00031269375038406513},
    {LLAMA31, "inv_freq 64", 0, 34, 0.00017850781276799642},
    {LLAMA31, "inv_freq 64", 0, 35, 9.556212353964683e-05},
    {LLAMA32, "inv_freq 32", 0, 14, 0.003211445994752591},
    {LLAMA32, "inv_freq 32", 0, 15, 0.0012905479282092638},
    {LLAMA32, "inv_freq 32", 0, 16, 0.0004295567965593682},
    {LLAMA32, "inv_freq 32", 0, 17, 9.7082878026276723e-05},
    {LLAMA32, "inv_freq 32", 0, 18, 1.9461638184831124e-05},
    {GPT_OSS "truncate=false", "inv_freq 32", 0, 8, 0.050813274815461474},
    {GPT_OSS "truncate=false", "inv_freq 32", 0, 9, 0.031705696184663766},
    {GPT_OSS "truncate=false", "inv_freq 32", 0, 12, 0.0067949594897322178},
    {GPT_OSS "truncate=false", "inv_freq 32", 0, 17, 0.000129318701245062720607860761284},
    {GPT_OSS "truncate=false", "inv_freq 32", 0, 18, 3.8308812373753383e-05},
    {GPT_OSS "truncate=true", "inv_freq 32", 0, 8, 0.050813274815461474},
    {GPT_OSS "truncate=true", "inv_freq 32", 0, 9, 0.031620752275346488},
    {GPT_OSS "truncate=true", "inv_freq 32", 0, 12, 0.0070157139105043882},
    {GPT_OSS "truncate=true", "inv_freq 32", 0, 17, 0.00022794779579512526},
    {GPT_OSS "truncate=true", "inv_freq 32", 0, 18, 3.8308812373753383e-05},
    {DEEPSEEK, "inv_freq 32", 0, 10, 0.056234132519034908},
    {DEEPSEEK, "inv_freq 32", 0, 11, 0.039006926567143858},
    {DEEPSEEK, "inv_freq 32", 0, 16, 0.0055},
    {DEEPSEEK, "inv_freq 32", 0, 22, 0.00017782794100389228},
    {DEEPSEEK, "inv_freq 32", 0, 23, 3.3338035804083101e-05},
    {DEEPSEEK, "attention_factor", 0, 0, 1.3688879454113936},
    {DEEPSEEK "mscale=0.707 mscale_all_dim=0.707", "attention_factor", 0, 0, 1},
    {QWEN, "inv_freq 64", 0, 23, 0.0069783058485986634},
    {QWEN, "inv_freq 64", 0, 24, 0.0053753214907901015},
    {QWEN, "inv_freq 64", 0, 31, 0.00080295972754523031},
    {QWEN, "inv_freq 64", 0, 39, 6.4903943208370288e-05},
    {QWEN, "inv_freq 64", 0, 40, 4.445698525097307e-05},
    {VASWANI, "table 1 8", 3, 0, 0.14112000805986722},
    {VASWANI, "table 1 8", 3, 1, -0.98999249660044546},
    {VASWANI, "table 1 8", 3, 2, 0.29552020666133958},
    {VASWANI, "table 1 8", 3, 3, 0.95533648912560602},
    {VASWANI, "table 1 8", 3, 4, 0.029995500202495661},
    {VASWANI, "table 1 8", 3, 5, 0.99955003374898752},
    {VASWANI, "table 1 8", 3, 6, 0.002999995500002025},
    {VASWANI, "table 1 8", 3, 7, 0.999995500003375},
    {ALIBI("12"), "slopes 12", 0, 11,
     0.08838834764831845},
    {ALIBI("71"), "slopes 71", 0, 70,
     0.56939431737834583},
    {ALIBI("8"), "slopes 8", 0, 0, 0.5},
};

static void read_spec(struct oracle_case *c, const char *spec)
{
    char text[512], *save = NULL;
    snprintf(text, sizeof text, "%s", spec);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        if (equals) {
            *equals = 0;
            oracle_case_set(c, word, equals + 1);
        }
    }
}

/* The output tensor, NaN but for the anchored value. */
static void add_output(struct oracle_case *c, const struct anchor *anchor, double value)
{
    char text[64], *save = NULL;
    int64_t shape[2] = {0}, count = 1;
    int rank = 0;
    snprintf(text, sizeof text, "%s", anchor->output);
    const char *name = strtok_r(text, " ", &save);
    for (char *word; (word = strtok_r(NULL, " ", &save)) && rank < 2; rank++)
        count *= shape[rank] = strtol(word, NULL, 10);
    double *data = malloc((size_t)count * sizeof *data), *position = malloc(sizeof *position);
    for (int64_t k = 0; data && k < count; k++)
        data[k] = k == anchor->at ? value : (double)NAN;
    int64_t one = 1;
    if (position)
        *position = anchor->position;
    oracle_case_add(c, true, name, rank, shape, data);
    oracle_case_add(c, false, "positions", 1, &one, position);
}

static int state_of(const struct anchor *anchor, double value)
{
    struct oracle_case c;
    struct oracle_tally ignored;
    oracle_case_init(&c, "anchor");
    oracle_tally_init(&ignored);
    read_spec(&c, anchor->spec);
    add_output(&c, anchor, value);
    oracle_case_judge(&ignored, &c);
    int state = c.n_outputs ? c.output[0].state[anchor->at] : ORACLE_PENDING;
    if (c.error[0])
        printf("%s: %s\n", anchor->spec, c.error);
    oracle_case_clear(&c);
    return state;
}

int main(void)
{
    int passed = 0, failed = 0;
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++) {
        const struct anchor *a = &anchors[i];
        bool ok = state_of(a, a->value) == ORACLE_RIGHT &&
                  state_of(a, nextafter(a->value, HUGE_VAL)) == ORACLE_WRONG &&
                  state_of(a, nextafter(a->value, -HUGE_VAL)) == ORACLE_WRONG;
        if (!ok)
            printf("%s %s[%d]: %.17g is not what the oracle finds, or not alone\n", a->spec,
                   a->output, a->at, a->value);
        passed += ok;
        failed += !ok;
    }
    flint_cleanup();
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
