/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of spec fields. Which scheme takes which field is said by the scheme (scheme.h)
 * and, for rope, by the scaling (scaling.h). Defaults are names or whole numbers. */
#include "reference.h"

#include <string.h>

#define AT(member) offsetof(struct posref_spec, member)
#define CHOICE(key, member, names, first, text)                                                   \
    {.name = (key), .type = POSREF_TYPE_CHOICE, .offset = AT(member), .unit = "",                 \
     .default_text = (first), .choices = (names), .meaning = (text)}
#define INT(key, member, lowest, highest, of, otherwise, text)                                    \
    {.name = (key), .type = POSREF_TYPE_INT, .offset = AT(member), .min = (lowest),               \
     .max = (highest), .unit = (of), .default_text = (otherwise), .meaning = (text)}
#define REAL(key, member, lowest, open, highest, of, otherwise, text)                             \
    {.name = (key), .type = POSREF_TYPE_REAL, .offset = AT(member), .min = (lowest),              \
     .max = (highest), .min_open = (open), .unit = (of), .default_text = (otherwise),             \
     .meaning = (text)}

/* POSREF_TYPE_INTS or _REALS: each entry lies in [lowest, highest]. */
#define LIST(key, member, of_type, lowest, highest, of, text)                                     \
    {.name = (key), .type = (of_type), .offset = AT(member), .min = (lowest), .max = (highest),   \
     .unit = (of), .meaning = (text)}

/* One name a line, in enum order. */
static const char *const schemes[] = {
    "rope",
    "sinusoidal",
    "alibi",
    "timestep",
    "learned",
    "none",
    "fourier",
    "shaw",
    "transformer_xl",
    "t5_bias",
    "relative_bias",
    "deberta",
    "swin",
    "beit",
    "swinv2",
    "kerple",
    "fire",
    "sandwich",
    "cope",
    NULL,
};
static const char *const partials[] = {"leading", "trailing", "proportional", NULL};
static const char *const pairings[] = {"half", "interleaved", "interleaved_to_half", "mismatched",
                                       NULL};
static const char *const directions[] = {"forward", "inverse", NULL};
static const char *const scalings[] = {"none", "linear", "ntk", "yarn", "llama3", "dynamic",
                                       "longrope", "proportional", "ntk_by_parts", "ntk_fixed",
                                       "ntk_mixed", "dynamic_constant", "dynamic_alpha",
                                       "dynamic_linear", NULL};
static const char *const xpos_sides[] = {"query", "key", NULL};
static const char *const range_rules[] = {"clamped", "half", "unclamped", "at_least", NULL};
static const char *const mscale_rules[] = {"both", "ratio", "ignored", "telechat", "ggml", "none",
                                           NULL};
static const char *const attention_factor_rules[] = {"replaces", "multiplies", "ignored", NULL};
static const char *const magnitudes[] = {"su", "yarn", NULL};
static const char *const ladders[] = {"independent", "shared", "split", "log_linspace", NULL};
static const char *const axes_orders[] = {"axis", "frequency", NULL};
static const char *const spans[] = {"axis", "head", NULL};
static const char *const units[] = {"radian", "turn", "quarter_turn", NULL};
static const char *const axes_channels[] = {"in_order", "column_first", "reversed", NULL};
static const char *const mrope_orders[] = {"chunked", "interleaved", "imrope", "hw_t", "greedy",
                                           NULL};
static const char *const table_layouts[] = {"split", "cos_sin", "concat", "repeat", "complex",
                                            "matrix", "sin_cos", "interleaved", "angles", NULL};
static const char *const orders[] = {"interleaved", "concat", "flipped", NULL};
static const char *const exponents[] = {"d", "half_minus_one", NULL};
static const char *const odd_dims[] = {"zero_column", "extra_sine", NULL};
static const char *const beyonds[] = {"error", "truncate", "interpolate", NULL};
static const char *const interpolations[] = {"linear", "cubic", NULL};
static const char *const x_scales[] = {"one", "sqrt_dim", NULL};
static const char *const forms[] = {"distance", "row", "symmetric", NULL};
static const char *const alibi_aligns[] = {"bottom_right", "top_left", NULL};
static const char *const slopes[] = {"published", "geometric", "published_bf16", NULL};
static const char *const tables[] = {"clipped", "full", NULL};
static const char *const differences[] = {"query_minus_key", "key_minus_query", NULL};
static const char *const weights_layouts[] = {"entries_heads", "heads_entries", NULL};
static const char *const pos_att_types[] = {"c2p_p2c", "c2p", "p2c", NULL};
static const char *const gate_logits[] = {"scaled", "unscaled", NULL};
static const char *const position_logits[] = {"unscaled", "scaled", NULL};
static const char *const kernels[] = {"log", "power", NULL};

static const char *const embedding_types[] = {"shaw", "relative_key", "relative_key_query", NULL};
static const char *const relative_keys[] = {"sinusoid", "learned", "zero_padded", NULL};
static const char *const attention_kinds[] = {"softmax", "linear", NULL};
static const char *const aligns[] = {"bottom_right", "top_left", "position", NULL};
static const char *const scale_sources[] = {"dim", "mla", "mla_mscale", NULL};
static const char *const temperatures[] = {"none", "llama4", "ministral", "llama_cpp", "logn",
                                           NULL};

static const struct posref_field_def fields[POSREF_N_FIELDS] = {
    [POSREF_FIELD_SCHEME] = CHOICE("scheme", scheme, schemes, "rope", "the encoding"),
    [POSREF_FIELD_DIM] = INT("dim", dim, 2, POSREF_MAX_DIM, "channels", NULL,
                             "head width (rope, even) or model width; required"),
    [POSREF_FIELD_BASE] = REAL("base", base, 1, true, 1e12, "", "10000",
                               "base of the frequency ladder (rope_theta)"),
    [POSREF_FIELD_ROTARY_DIM] = INT("rotary_dim", rotary_dim, 2, POSREF_MAX_DIM, "channels", NULL,
                                    "rotated channels, even, at most dim; default: dim"),
    [POSREF_FIELD_PARTIAL] = CHOICE("partial", partial, partials, "leading",
                                    "where the rotated channels lie when rotary_dim < dim: the "
                                    "first or the last; proportional: pairs over all channels, "
                                    "of which the first partial_rotary_factor dim / 2 turn"),
    [POSREF_FIELD_PARTIAL_ROTARY_FACTOR] =
        REAL("partial_rotary_factor", partial_rotary_factor, 0, true, 1, "", NULL,
             "share of the pairs that turn, rounded down to whole pairs; required by "
             "partial=proportional"),
    [POSREF_FIELD_PAIRING] = CHOICE("pairing", pairing, pairings, "half",
                                    "channels that one rotation mixes: half (i, i + r/2); "
                                    "interleaved (2i, 2i + 1); interleaved_to_half reads the "
                                    "latter and writes the former; mismatched: (2i, 2i + 1), but "
                                    "channel k turns by angle k mod r/2, which is no rotation"),
    [POSREF_FIELD_DIRECTION] = CHOICE("direction", direction, directions, "forward",
                                      "sense of the rotation of x: by +angle or by -angle; cos "
                                      "and sin are those of +angle in both"),
    [POSREF_FIELD_AXES_DIMS] = LIST("axes_dims", axes_dims, POSREF_TYPE_INTS, 2, POSREF_MAX_DIM,
                                    "channels",
                                    "channels of each position axis, even, adding up to "
                                    "rotary_dim (of rope, whose pairing then defaults to "
                                    "interleaved) or dim (of "
                                    "a sinusoidal table)"),
    [POSREF_FIELD_AXES_LADDER] =
        CHOICE("axes_ladder", axes_ladder, ladders, NULL,
               "frequencies of the axes, D their dims: independent base^(-2j/D) for each; shared "
               "or split one ladder base^(-2i/r) that goes on from axis to axis, or is dealt out "
               "to them in turn; log_linspace base^(j/(D/2 - 1)); default: independent"),
    [POSREF_FIELD_AXES_ORDER] =
        CHOICE("axes_order", axes_order, axes_orders, NULL,
               "order of the pairs: axis after axis, or the axes of the first frequency, of the "
               "second, ...; default: axis"),
    [POSREF_FIELD_AXES_SPAN] =
        CHOICE("axes_span", axes_span, spans, NULL,
               "channels that pairing is about: those of one axis, or of the head with all axes; "
               "default: axis (head for axes_order=frequency)"),
    [POSREF_FIELD_AXES_NTK] = LIST("axes_ntk", axes_ntk, POSREF_TYPE_REALS, 1e-6, 1e6, "",
                                   "one factor an axis: its base becomes base factor^(D/(D-2))"),
    [POSREF_FIELD_ANGLE_UNIT] =
        CHOICE("angle_unit", angle_unit, units, NULL,
               "what a frequency of 1 turns by at position 1: a radian, a turn (2 pi) or a quarter "
               "turn (pi / 2); inv_freq is in radians; default: radian"),
    [POSREF_FIELD_MROPE_SECTION] =
        LIST("mrope_section", mrope_section, POSREF_TYPE_INTS, 0, POSREF_MAX_DIM / 2, "pairs",
             "pairs of each position axis (t, h, w), adding up to rotary_dim / 2; frequencies "
             "are those of rope in one axis"),
    [POSREF_FIELD_MROPE_INTERLEAVED] =
        {.name = "mrope_interleaved", .type = POSREF_TYPE_BOOL, .offset = AT(mrope_interleaved),
         .unit = "", .meaning = "sections take turns: mrope_order=interleaved; default: false"},
    [POSREF_FIELD_MROPE_ORDER] =
        CHOICE("mrope_order", mrope_order, mrope_orders, NULL,
               "axis of pair i: chunked section after section; interleaved h where i mod 3 = 1, w "
               "where 2, each below 3 times its section, else t; imrope the same, but t where "
               "i mod 3 = 0 below 3 times its section, else a fourth stream; hw_t sections h, w, "
               "t: h and w alternate, then t; greedy evenly mixed; default: chunked"),
    [POSREF_FIELD_XPOS_SCALE_BASE] =
        REAL("xpos_scale_base", xpos_scale_base, 1e-3, false, 1e9, "tokens", NULL,
             "B of xPos: pair i is scaled by zeta^((p - xpos_center)/B), keys by the reciprocal, "
             "zeta = (2i/r + 2/5)/(7/5), r = rotary_dim; usually 512; default: no scale"),
    [POSREF_FIELD_XPOS_CENTER] =
        REAL("xpos_center", xpos_center, -POSREF_MAX_POSITION, false, POSREF_MAX_POSITION,
             "tokens", NULL, "position where xPos scales by 1; it drops out of scores; default: 0"),
    [POSREF_FIELD_XPOS_SIDE] =
        CHOICE("xpos_side", xpos_side, xpos_sides, NULL,
               "whose scale tables and rotations have: that of queries, or of keys; scores have "
               "both; default: query"),
    [POSREF_FIELD_TABLE_LAYOUT] =
        CHOICE("table_layout", table_layout, table_layouts, NULL,
               "what op table gives, r = rotary_dim: cos and sin apart (split, r/2 wide; concat "
               "twice in a row, repeat each value twice, r wide), or one table (cos_sin, sin_cos "
               "one after the other; interleaved c,s,c,s; complex [r/2, 2]; matrix [c,-s;s,c]), or "
               "the angles in radians; default: split"),
    [POSREF_FIELD_SCALING] = CHOICE("scaling", scaling, scalings, "none",
                                    "how frequencies change for long context"),
    [POSREF_FIELD_FACTOR] = REAL("factor", factor, 1e-6, false, 1e6, "", NULL,
                                 "context extension factor; required where a scaling divides "
                                 "by it"),
    [POSREF_FIELD_ALPHA] = REAL("alpha", alpha, 1e-6, false, 1e6, "", NULL,
                                "another name of factor for ntk (Hunyuan's constant alpha)"),
    [POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS] =
        REAL("original_max_position_embeddings", original_max_position_embeddings, 1, false,
             2147483648.0, "tokens", NULL, "context length before scaling; required"),
    [POSREF_FIELD_SEQ_LEN] = REAL("seq_len", seq_len, 1, false, 2147483648.0, "tokens", NULL,
                                  "length of the sequence at hand; default: largest position + 1"),
    [POSREF_FIELD_SEQ_LEN_HISTORY] =
        LIST("seq_len_history", seq_len_history, POSREF_TYPE_REALS, 1, 2147483648.0, "tokens",
             "lengths of the calls before this one, first to last: Hugging Face keeps the largest "
             "until a call is shorter than original_max_position_embeddings; default: no call"),
    [POSREF_FIELD_BETA_FAST] = REAL("beta_fast", beta_fast, 1e-6, false, 1e6, "rotations", "32",
                                    "pairs that turn more often in the original context keep "
                                    "their frequency"),
    [POSREF_FIELD_BETA_SLOW] = REAL("beta_slow", beta_slow, 1e-6, false, 1e6, "rotations", "1",
                                    "pairs that turn less often in the original context are "
                                    "divided by factor"),
    [POSREF_FIELD_TRUNCATE] = {.name = "truncate", .type = POSREF_TYPE_BOOL,
                               .offset = AT(truncate), .unit = "", .default_text = "true",
                               .meaning = "round yarn's correction range outwards to whole pairs"},
    [POSREF_FIELD_RANGE_RULE] =
        CHOICE("range_rule", range_rule, range_rules, NULL,
               "ends of yarn's range: at least 0 and at most rotary_dim - 1, 0.001 apart where "
               "they meet (clamped); at most rotary_dim / 2 - 1 (half); as they come (unclamped); "
               "clamped, and never closer than 0.001, an end before the beginning included "
               "(at_least: ggml); default: clamped"),
    [POSREF_FIELD_MSCALE] = REAL("mscale", mscale, 0, false, 1e3, "", NULL,
                                 "yarn's attention factor is m(mscale) / m(mscale_all_dim) when "
                                 "both are given and not 0; m(s) = 1 + 0.1 s ln factor"),
    [POSREF_FIELD_MSCALE_ALL_DIM] = REAL("mscale_all_dim", mscale_all_dim, 0, false, 1e3, "", NULL,
                                         "see mscale"),
    [POSREF_FIELD_MSCALE_RULE] =
        CHOICE("mscale_rule", mscale_rule, mscale_rules, NULL,
               "yarn's attention factor where attention_factor does not replace it: as mscale "
               "says (both: Hugging Face); the ratio always, mscale else 1, mscale_all_dim else 0 "
               "(ratio: DeepSeek, vLLM's deepseek_yarn, mlx-lm); m(1) whatever they are (ignored: "
               "vLLM); 1 + 0.07 ln factor (telechat); 1 + 0.1 ln factor for factors below 1 too "
               "(ggml); 1 (none: DeepSeek-V3's own code); default: both"),
    [POSREF_FIELD_ATTENTION_FACTOR] = REAL("attention_factor", attention_factor, 1e-6, false, 1e6,
                                           "", NULL,
                                           "multiplies cos and sin; default: 1 + 0.1 ln factor, "
                                           "or as mscale says"),
    [POSREF_FIELD_ATTENTION_FACTOR_RULE] =
        CHOICE("attention_factor_rule", attention_factor_rule, attention_factor_rules, NULL,
               "what attention_factor does to yarn's own factor: replaces it (Hugging Face), "
               "multiplies it (vLLM's and jquesnelle's attn_factor), or nothing (ignored: vLLM); "
               "default: replaces"),
    [POSREF_FIELD_LOW_FREQ_FACTOR] = REAL("low_freq_factor", low_freq_factor, 1e-6, false, 1e6,
                                          "rotations", "1",
                                          "pairs that turn less often in the original context "
                                          "are divided by factor"),
    [POSREF_FIELD_HIGH_FREQ_FACTOR] = REAL("high_freq_factor", high_freq_factor, 1e-6, false, 1e6,
                                           "rotations", "4",
                                           "pairs that turn more often in the original context "
                                           "keep their frequency"),
    [POSREF_FIELD_MIXED_B] = REAL("mixed_b", mixed_b, 0, false, 100, "", NULL,
                                  "exponent of ntk_mixed: frequency i is divided by factor to "
                                  "the power (2 (i + 1) / rotary_dim)^mixed_b; required"),
    [POSREF_FIELD_SHORT_FACTOR] =
        LIST("short_factor", short_factor, POSREF_TYPE_REALS, 1e-6, 1e6, "",
             "divisors of the frequencies for seq_len up to original_max_position_embeddings; "
             "rotary_dim / 2 of them; required"),
    [POSREF_FIELD_LONG_FACTOR] =
        LIST("long_factor", long_factor, POSREF_TYPE_REALS, 1e-6, 1e6, "",
             "divisors of the frequencies for larger seq_len; rotary_dim / 2 of them; required"),
    [POSREF_FIELD_MAGNITUDE] =
        CHOICE("magnitude", magnitude, magnitudes, "su",
               "longrope's attention factor for factor > 1: sqrt(1 + ln factor / ln "
               "original_max_position_embeddings) (su) or 1 + 0.1 ln factor (yarn)"),
    [POSREF_FIELD_SHORT_MSCALE] = REAL("short_mscale", short_mscale, 1e-6, false, 1e6, "", NULL,
                                       "replaces longrope's attention factor while short_factor "
                                       "is in use"),
    [POSREF_FIELD_LONG_MSCALE] = REAL("long_mscale", long_mscale, 1e-6, false, 1e6, "", NULL,
                                      "replaces longrope's attention factor while long_factor is "
                                      "in use"),
    [POSREF_FIELD_ORDER] = CHOICE("order", order, orders, "interleaved",
                                  "channel order: sin, cos, sin, cos, ...; all sin, all cos "
                                  "(concat); all cos, all sin (flipped)"),
    [POSREF_FIELD_EXPONENT] = CHOICE("exponent", exponent, exponents, "d",
                                     "frequency i is base^(-2i/dim) (d) or "
                                     "base^(-i/(dim/2 - 1)) (half_minus_one)"),
    [POSREF_FIELD_ODD_DIM] = CHOICE("odd_dim", odd_dim, odd_dims, NULL,
                                    "what an odd dim means; required there: the table of dim - 1 "
                                    "and a column of zeros, or (exponent=d) a sine without cosine"),
    [POSREF_FIELD_OFFSET] = REAL("offset", offset, -POSREF_MAX_POSITION, false,
                                 POSREF_MAX_POSITION, "tokens", "0", "added to every position"),
    [POSREF_FIELD_PADDING_IDX] = INT("padding_idx", padding_idx, 0, 1048576, "tokens", NULL,
                                     "with a mask instead of positions: token k of those not "
                                     "masked is at padding_idx + 1 + k, the others at padding_idx"),
    [POSREF_FIELD_AXES_CHANNELS] =
        CHOICE("axes_channels", axes_channels, axes_channels, NULL,
               "order of the axes in the channels: that of the positions; the last two exchanged, "
               "so that of (row, column) the column comes first; or reversed; default: in_order"),
    [POSREF_FIELD_AXES_LENGTHS] =
        LIST("axes_lengths", axes_lengths, POSREF_TYPE_REALS, 1e-3, 2147483648.0, "tokens",
             "one length L an axis: positions are divided by L + length_eps"),
    [POSREF_FIELD_LENGTH_EPS] = REAL("length_eps", length_eps, 0, false, 1, "tokens", NULL,
                                     "added to every length of axes_lengths; default: 0"),
    [POSREF_FIELD_MIN_TIMESCALE] = REAL("min_timescale", min_timescale, 1e-6, false, 1e6, "", "1",
                                        "frequency i is min_timescale (base / min_timescale)^-e_i, "
                                        "e_i as exponent says; below base"),
    [POSREF_FIELD_TABLE_SCALE] = REAL("table_scale", table_scale, 1e-6, false, 1e6, "", "1",
                                      "multiplies the table (a learned scalar)"),
    [POSREF_FIELD_X_SCALE] = CHOICE("x_scale", x_scale, x_scales, "one",
                                    "multiplies x before the table is added: 1, or the square "
                                    "root of dim"),
    [POSREF_FIELD_BEYOND] = CHOICE("beyond", beyond, beyonds, "error",
                                   "positions without a row: an error, the nearest row "
                                   "(truncate), or the table resampled (interpolate)"),
    [POSREF_FIELD_INTERPOLATION] = CHOICE("interpolation", interpolation, interpolations, NULL,
                                          "linear, or cubic convolution with a = -3/4; default: "
                                          "linear for one axis, cubic for two"),
    [POSREF_FIELD_PREFIX_ROWS] = INT("prefix_rows", prefix_rows, 0, 1048576, "rows", NULL,
                                     "rows before the grid (class tokens), not resampled; "
                                     "default: 0"),
    [POSREF_FIELD_SOURCE_GRID] = LIST("source_grid", source_grid, POSREF_TYPE_INTS, 1, 65536,
                                      "rows", "the table's grid: length, or height and width; "
                                      "required by beyond=interpolate"),
    [POSREF_FIELD_TARGET_GRID] = LIST("target_grid", target_grid, POSREF_TYPE_INTS, 1, 65536,
                                      "rows", "the grid that positions count, row by row"),
    [POSREF_FIELD_FLIP_SIN_TO_COS] = {.name = "flip_sin_to_cos", .type = POSREF_TYPE_BOOL,
                                      .offset = AT(flip_sin_to_cos), .unit = "",
                                      .default_text = "false",
                                      .meaning = "all cosines before all sines"},
    [POSREF_FIELD_DOWNSCALE_FREQ_SHIFT] =
        INT("downscale_freq_shift", downscale_freq_shift, 0, 1024, "", "1",
            "frequency i is max_period^(-i/(floor(dim/2) - downscale_freq_shift))"),
    [POSREF_FIELD_SCALE] = REAL("scale", scale, 1e-6, false, 1e6, "", "1",
                                "multiplies the timestep"),
    [POSREF_FIELD_MAX_PERIOD] = REAL("max_period", max_period, 1, true, 1e12, "", "10000",
                                     "base of the frequency ladder"),
    [POSREF_FIELD_LOG] = {.name = "log", .type = POSREF_TYPE_BOOL, .offset = AT(log), .unit = "",
                          .default_text = "true",
                          .meaning = "take the logarithm of the position first"},
    [POSREF_FIELD_NUM_HEADS] = INT("num_heads", num_heads, 1, POSREF_MAX_HEADS, "heads", NULL,
                                   "attention heads; required"),
    [POSREF_FIELD_ALIBI_BIAS_MAX] = REAL("alibi_bias_max", alibi_bias_max, 0, true, 256, "", "8",
                                         "the last slope is 2^-alibi_bias_max when num_heads is "
                                         "a power of two"),
    [POSREF_FIELD_FORM] = CHOICE("form", form, forms, "distance",
                                 "bias of query position i and key position j, slope m: distance "
                                 "-m (i - j), row m j, symmetric -m |i - j|"),
    [POSREF_FIELD_MAX_RELATIVE_POSITION] =
        INT("max_relative_position", max_relative_position, 1, 65535, "tokens", NULL,
            "k: the table has 2 k + 1 rows; required"),
    [POSREF_FIELD_POSITION_EMBEDDING_TYPE] =
        CHOICE("position_embedding_type", position_embedding_type, embedding_types, "shaw",
               "row clip(j - i, -k, k) + k for keys and values (shaw), or i - j + k for keys alone "
               "(relative_key), for keys and queries (relative_key_query)"),
    [POSREF_FIELD_RELATIVE_KEYS] =
        CHOICE("relative_keys", relative_keys, relative_keys, "sinusoid",
               "R of a distance: projected sinusoids, or learned rows of which the farthest is "
               "repeated (learned) or followed by zeros (zero_padded)"),
    [POSREF_FIELD_MODEL_DIM] = INT("model_dim", model_dim, 2, POSREF_MAX_DIM, "channels", NULL,
                                   "width of the sinusoids, even; required by "
                                   "relative_keys=sinusoid"),
    [POSREF_FIELD_CLAMP_LEN] = INT("clamp_len", clamp_len, 1, 2147483647, "tokens", NULL,
                                   "distances are clamped to it; default: not at all"),
    [POSREF_FIELD_ATTENTION_KIND] =
        CHOICE("attention_kind", attention_kind, attention_kinds, "softmax",
               "softmax of the scores, or RoFormer's linear form: phi(x) = elu(x) + 1 of q and k "
               "is rotated in the numerator and not in the denominator; no scale, no scores"),
    [POSREF_FIELD_CAUSAL] = {.name = "causal", .type = POSREF_TYPE_BOOL, .offset = AT(causal),
                             .unit = "", .default_text = "false",
                             .meaning = "keys after the query are not seen"},
    [POSREF_FIELD_CAUSAL_ALIGN] = CHOICE("causal_align", causal_align, aligns, "bottom_right",
                                         "which keys come after: by row, the last query at the "
                                         "last key (bottom_right) or the first at the first "
                                         "(top_left), or those of a larger position"),
    [POSREF_FIELD_SOFTMAX_SCALE] = REAL("softmax_scale", softmax_scale, 0, true, 1e6, "", NULL,
                                        "factor of q . k; default: 1/sqrt(dim), not rounded "
                                        "(deberta: of dim times the number of its terms)"),
    [POSREF_FIELD_SOFTMAX_SCALE_FROM] =
        CHOICE("softmax_scale_from", softmax_scale_from, scale_sources, "dim",
               "1/sqrt(dim), or DeepSeek's m^2/sqrt(dim) with m = 1 + 0.1 s ln factor, s = "
               "mscale_all_dim (mla) or mscale (mla_mscale: DeepSeek-V3's own code); factor > 1, "
               "else m = 1"),
    [POSREF_FIELD_TEMPERATURE] = CHOICE("temperature", temperature, temperatures, "none",
                                        "factor of the query by its position p: 1 + s ln(1 + "
                                        "floor((p + o)/L)), o = 1 (llama4), 0 (ministral), any "
                                        "(llama_cpp); max(1, ln(p + 1)/ln L) (logn)"),
    [POSREF_FIELD_TEMPERATURE_SCALE] = REAL("temperature_scale", temperature_scale, 0, true, 1e3,
                                            "", NULL, "s of temperature; default: 0.1"),
    [POSREF_FIELD_TEMPERATURE_LENGTH] = REAL("temperature_length", temperature_length, 1, false,
                                             2147483648.0, "tokens", NULL,
                                             "L of temperature; required by it"),
    [POSREF_FIELD_TEMPERATURE_OFFSET] = REAL("temperature_offset", temperature_offset, 0, false,
                                             2147483648.0, "tokens", NULL,
                                             "o of temperature=llama_cpp; default: 0"),
    [POSREF_FIELD_ALIGN] = CHOICE("align", align, alibi_aligns, "bottom_right",
                                  "bottom_right: distances are those of the positions: with "
                                  "queries at n_k - n_q + i, |i + n_k - n_q - j| as in "
                                  "flash-attention "
                                  "and TransformerEngine; top_left: the first query "
                                  "stands on the first "
                                  "key whatever its position, |i - j|"),
    [POSREF_FIELD_SLOPES] = CHOICE("slopes", slopes, slopes, "published",
                                   "published: powers of two of the next lower power of two of "
                                   "heads, the rest in between; geometric: 2^(-alibi_bias_max "
                                   "(h + 1)/num_heads); published_bf16: published, rounded to "
                                   "bfloat16"),
    [POSREF_FIELD_NUM_BUCKETS] = INT("num_buckets", num_buckets, 2, 65536, "buckets", "32",
                                     "buckets of relative distances, even (deberta: "
                                     "position_buckets)"),
    [POSREF_FIELD_MAX_DISTANCE] = INT("max_distance", max_distance, 1, 2147483647, "tokens", "128",
                                      "t5_bias: distances from here on share the last bucket; "
                                      "deberta: its max_relative_positions; relative_bias, "
                                      "required by table=clipped: distances are clipped to this"),
    [POSREF_FIELD_BIDIRECTIONAL] = {.name = "bidirectional", .type = POSREF_TYPE_BOOL,
                                    .offset = AT(bidirectional), .unit = "",
                                    .default_text = "true",
                                    .meaning = "half of the buckets are for keys after the query; "
                                               "false: these share the bucket of distance 0"},
    [POSREF_FIELD_LOG_BUCKETS] = {.name = "log_buckets", .type = POSREF_TYPE_BOOL,
                                  .offset = AT(log_buckets), .unit = "", .default_text = "true",
                                  .meaning = "false: no buckets, rows are distances clamped to "
                                             "max_distance (position_buckets=-1, as DeBERTa v1)"},
    [POSREF_FIELD_POS_ATT_TYPE] =
        CHOICE("pos_att_type", pos_att_type, pos_att_types, "c2p_p2c",
               "terms beside q . k: the query with a row for keys (c2p), the key with a row for "
               "queries (p2c), or both; all are divided by sqrt(dim (1 + their number))"),
    [POSREF_FIELD_P2C_DIFFERENCE] =
        CHOICE("p2c_difference", p2c_difference, differences, "query_minus_key",
               "distance by which p2c looks its row up: that of c2p, as all released code does, or "
               "its negative, as the paper writes"),
    [POSREF_FIELD_TABLE] = CHOICE("table", table, tables, "clipped",
                                  "2 max_distance + 1 entries, further distances clipped, or the "
                                  "full 2 max_position_embeddings - 1"),
    [POSREF_FIELD_MAX_POSITION_EMBEDDINGS] =
        INT("max_position_embeddings", max_position_embeddings, 1, 1048576, "tokens", NULL,
            "longest sequence that the table is made for; required by table=full"),
    [POSREF_FIELD_DIFFERENCE] = CHOICE("difference", difference, differences, "query_minus_key",
                                       "sign of the relative distance that the table is looked up "
                                       "by"),
    [POSREF_FIELD_WINDOW_SIZE] = LIST("window_size", window_size, POSREF_TYPE_INTS, 1, 1024,
                                      "tokens", "height and width of the window, or one number for "
                                      "both; required"),
    [POSREF_FIELD_PRETRAINED_WINDOW_SIZE] =
        LIST("pretrained_window_size", pretrained_window_size, POSREF_TYPE_INTS, 1, 1024, "tokens",
             "window of the pre-training, which scales the coordinates; default: window_size"),
    [POSREF_FIELD_WEIGHTS_LAYOUT] = CHOICE("weights_layout", weights_layout, weights_layouts,
                                           "entries_heads",
                                           "shape of weights: [entries, heads], or [heads, "
                                           "entries] (T5X)"),
    [POSREF_FIELD_KERNEL] = CHOICE("kernel", kernel, kernels, "log",
                                   "bias at distance n: -r1 ln(1 + r2 n) or -r1 n^r2"),
    [POSREF_FIELD_LOG_SCALE] = REAL("log_scale", log_scale, 0, true, 1e6, "", NULL,
                                    "c of ln(c n + 1), learned; required"),
    [POSREF_FIELD_THRESHOLD] = REAL("threshold", threshold, 0, true, 2147483647.0, "tokens", NULL,
                                    "L: queries before this position are interpolated as if at "
                                    "it, learned; required"),
    [POSREF_FIELD_EPSILON] = REAL("epsilon", epsilon, 0, false, 1, "", "0",
                                  "added to the denominator; the paper's formula has none, its "
                                  "code 1e-6"),
    [POSREF_FIELD_MLP_WIDTH] = INT("mlp_width", mlp_width, 1, 4096, "channels", NULL,
                                   "hidden channels of the network; default: 32 (fire), 512 "
                                   "(swinv2)"),
    [POSREF_FIELD_NPOS_MAX] = INT("npos_max", npos_max, 1, 65536, "rows", NULL,
                                  "rows of the table, for positions 0 to npos_max - 1; required"),
    [POSREF_FIELD_GATE_LOGITS] = CHOICE("gate_logits", gate_logits, gate_logits, "scaled",
                                        "what gates are the sigmoid of: q . k times the scale of "
                                        "the scores, or q . k"),
    [POSREF_FIELD_POSITION_LOGITS] =
        CHOICE("position_logits", position_logits, position_logits, "unscaled",
               "the query's product with the position's row: added to the scaled q . k, or scaled "
               "with it"),
};

const struct posref_field_def *posref_field_def(enum posref_field field)
{
    return &fields[field];
}

bool posref_field_is_list(const struct posref_field_def *def)
{
    return def->type == POSREF_TYPE_INTS || def->type == POSREF_TYPE_REALS;
}

bool posref_field_is_number(const struct posref_field_def *def)
{
    return def->type != POSREF_TYPE_BOOL && def->type != POSREF_TYPE_CHOICE;
}

int posref_field_find(const char *name)
{
    for (int field = 0; field < POSREF_N_FIELDS; field++)
        if (strcmp(fields[field].name, name) == 0)
            return field;
    return -1;
}
