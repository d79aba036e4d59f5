/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of learned tables, and of what sinusoidal tables share with them, most likely first. */
#include "faults_spec.h"

#define BOTH (BIT(LEARNED) | BIT(SINUSOIDAL))

const struct posref_fault posref_faults_learned[] = {
    {.name = "offset_ignored", .kind = "R", .field = POSREF_FIELD_OFFSET, .schemes = BOTH,
     .n_values = 1, .value = {0},
     .formula = "row p for row p + offset",
     .advice = "the first rows of the table are no positions: add the offset",
     .seen = "huggingface/transformers#10200 huggingface/transformers#20761 "
             "EleutherAI/gpt-neox#650"},
    {.name = "padding_counted", .kind = "R", .schemes = BOTH, .twist = posref_twist_see_all,
     .formula = "padding tokens counted like others",
     .advice = "positions come from the mask: padding stays at padding_idx and is not counted",
     .seen = "huggingface/transformers#5285 bytedance/lightseq#144 ndif-team/nnsight#672"},
    {.name = "mask_read_reversed", .kind = "R", .schemes = BOTH, .twist = posref_twist_invert_mask,
     .formula = "1 - mask for mask",
     .advice = "1 marks a token and 0 padding, not the reverse", .seen = ""},
    {.name = "x_scale", .kind = "R", .field = POSREF_FIELD_X_SCALE, .schemes = BOTH, .n_values = 2,
     .value = {POSREF_X_SCALE_ONE, POSREF_X_SCALE_SQRT_DIM},
     .formula = "x for sqrt(dim) x, or the reverse, before the table is added",
     .advice = "multiply the embeddings by sqrt(dim) exactly where the model does", .seen = ""},
    {.name = "table_scale_ignored", .kind = "R", .field = POSREF_FIELD_TABLE_SCALE,
     .schemes = BOTH, .n_values = 1, .value = {1}, .formula = "table for table_scale table",
     .advice = "multiply the table by its scale", .seen = ""},
    {.name = "interpolation", .kind = "N", .field = POSREF_FIELD_INTERPOLATION,
     .schemes = BIT(LEARNED), .becomes = POSREF_BECOMES_OTHER,
     .formula = "linear for cubic interpolation of the table, or the reverse",
     .advice = "resample the table by the kernel that the model's library has: bicubic for grids",
     .seen = ""},
    {.name = "table_not_added", .kind = "R", .schemes = BOTH, .mend = posref_mend_not_added,
     .formula = "y = x for y = x + table",
     .advice = "add the table to the embeddings", .seen = ""},
    {.name = "embeddings_doubled", .kind = "N", .schemes = BOTH, .mend = posref_mend_doubled,
     .formula = "y = x + x for y = x + table",
     .advice = "what is added is the embeddings once more: a shortcut returns them for the table",
     .seen = "huggingface/candle#2286"},
    {.name = NULL},
};
