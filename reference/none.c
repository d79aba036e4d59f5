/* SPDX-License-Identifier: Apache-2.0 */
/* No position encoding (NoPE; Kazemnejad et al., arXiv 2305.19466): scores are q . k / sqrt(dim)
 * and positions enter through the causal mask alone, or through a temperature of the queries
 * (temperature.c). Without a mask, permuting the tokens permutes the outputs. */
#include "attention.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {{NULL, NULL}};

static enum posref_status eval(struct posref_job *job)
{
    (void)job; /* the two ops of attention are all there is */
    return POSREF_OK;
}

static const struct posref_attention_hook hook = {.positions = POSREF_POSITIONS_OPTIONAL};

const struct posref_scheme_def posref_none = {
    .info = {.name = "none",
             .summary = "no explicit position encoding (NoPE): plain scores, and temperatures of "
                        "the queries by position",
             .formula = "scores = t_i q_i . k_j / sqrt(dim)",
             .source = "Kazemnejad et al., The Impact of Positional Encoding on Length "
                       "Generalization in Transformers, arXiv 2305.19466",
             .learned = "none",
             .injected = "nowhere; the causal mask alone tells positions apart",
             .relative = "no position enters a score, but for temperatures",
             .beyond = "generalizes better than most encodings in small models; large ones combine "
                       "it with layers that have rope",
             .cost = "nothing",
             .users = "every fourth layer of Llama 4 and SmolLM3, full-attention layers of Cohere2 "
                      "and EXAONE 4",
             .advice = "some layers of a decoder, beside rope in the others",
             .differs = "the temperature of the queries (temperature and its keys)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 0,
    .eval = eval,
    .attention = &hook,
};
