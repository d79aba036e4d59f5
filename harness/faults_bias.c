/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of biases and relative terms, tables and functions of the distance, most likely first. */
#include "faults_spec.h"

#define BUCKETS (BIT(T5_BIAS) | BIT(DEBERTA))
#define RELATIVE (BUCKETS | BIT(RELATIVE_BIAS) | BIT(SHAW) | BIT(TRANSFORMER_XL))
#define WINDOWS (BIT(SWIN) | BIT(BEIT) | BIT(SWINV2))
#define FUNCTIONS (BIT(KERPLE) | BIT(FIRE) | BIT(SANDWICH))

const struct posref_fault posref_faults_bias[] = {
    {.name = "relative_sign", .kind = "P", .schemes = RELATIVE,
     .twist = posref_twist_negate_positions,
     .formula = "query - key for key - query, or the reverse",
     .advice = "look at which of the two is subtracted before the table is looked up",
     .seen = "dmlc/gluon-nlp#1470 nntrainer/nntrainer#3982"},
    {.name = "index_transposed", .kind = "Q", .schemes = RELATIVE | WINDOWS,
     .untwist = posref_twist_transpose,
     .formula = "entry (key, query) for entry (query, key)",
     .advice = "the index of a query and a key is not that of the key and the query: look for a "
               "transpose too many or one that is missing",
     .seen = "nntrainer/nntrainer#3982"},
    {.name = "bidirectional", .kind = "P", .schemes = BUCKETS,
     .change = posref_change_bidirectional,
     .formula = "causal buckets for bidirectional ones, or the reverse",
     .advice = "encoders have buckets for both sides, decoders for one: take bidirectional from "
               "the spec",
     .seen = ""},
    {.name = "max_distance_default", .kind = "P", .schemes = BUCKETS,
     .field = POSREF_FIELD_MAX_DISTANCE, .n_values = 1, .value = {128},
     .formula = "max_distance = 128",
     .advice = "take max_distance from the spec: the usual default was used",
     .seen = "lucidrains/x-transformers#11"},
    {.name = "num_buckets_halved", .kind = "P", .schemes = BUCKETS,
     .change = posref_change_buckets_halved, .twist = posref_twist_cut_table,
     .formula = "num_buckets / 2 for num_buckets",
     .advice = "num_buckets counts both sides together, and is halved once", .seen = ""},
    {.name = "weights_layout", .kind = "P",
     .schemes = BUCKETS | BIT(RELATIVE_BIAS) | BIT(SWIN) | BIT(BEIT),
     .change = posref_change_layout_of_weights, .twist = posref_twist_reshape_table,
     .formula = "the table read as [heads, entries] for [entries, heads], or the reverse",
     .advice = "transpose the table, or exchange its strides", .seen = ""},
    {.name = "window_exchanged", .kind = "Q", .schemes = WINDOWS, .change = posref_change_window,
     .twist = posref_twist_axes_exchange,
     .formula = "(dx + Ww - 1)(2 Wh - 1) + dy + Wh - 1: the index runs down the columns",
     .advice = "the index is a row's number times the width of the window's differences",
     .seen = "282857341/nnFormer#8"},
    {.name = "kernel", .kind = "Q", .schemes = BIT(KERPLE), .change = posref_change_kernel,
     .formula = "-r1 n^r2 for -r1 ln(1 + r2 n), or the reverse",
     .advice = "compute the kernel that the spec asks for", .seen = ""},
    {.name = "parameters_exchanged", .kind = "Q", .schemes = BIT(KERPLE) | BIT(TRANSFORMER_XL),
     .twist = posref_twist_exchange_parameters,
     .formula = "r2 for r1 and r1 for r2, or u for v and v for u",
     .advice = "hand the two learned parameters over in their order", .seen = ""},
    {.name = "bias_negated", .kind = "Q", .schemes = FUNCTIONS, .untwist = posref_twist_negate,
     .formula = "-bias for bias",
     .advice = "look at the sign of the bias", .seen = "meta-pytorch/attention-gym#86"},
    {.name = "threshold_ignored", .kind = "Q", .schemes = BIT(FIRE),
     .field = POSREF_FIELD_THRESHOLD, .n_values = 1, .value = {1},
     .formula = "psi(max(1, q)) for psi(max(L, q))",
     .advice = "queries before the threshold are divided by the threshold's psi", .seen = ""},
    {.name = "value_terms_missing", .kind = "Q", .schemes = BIT(SHAW),
     .twist = posref_twist_drop_values,
     .formula = "v_j for v_j + a_ij in the sum over values",
     .advice = "add the relative terms of the values", .seen = ""},
    {.name = "clamp_ignored", .kind = "Q", .schemes = BIT(TRANSFORMER_XL),
     .change = posref_change_clamp, .formula = "distances beyond clamp_len not clamped",
     .advice = "clamp distances to clamp_len before the sinusoids are formed", .seen = ""},
    {.name = NULL},
};
