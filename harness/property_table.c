/* SPDX-License-Identifier: Apache-2.0 */
/* Which properties there are, and which encodings are to have them. */
#include "property_impl.h"

#include <string.h>

#define ROWS(name) posref_##name##_ask, NULL, posref_##name##_compare
#define WAVES(name) posref_##name##_ask, posref_##name##_more, posref_##name##_compare

const struct posref_property_def posref_property_defs[] = {
    {"identity", "position 0 does not leave things as they are", ROWS(identity)},
    {"composition", "turning by b and then by a is not turning by a + b", WAVES(composition)},
    {"relative", "the product of two rows depends on more than their distance", ROWS(relative)},
    {"linearity", "f(x + z) + f(0) is not f(x) + f(z)", ROWS(linearity)},
    {"inverse", "direction=inverse does not undo direction=forward", WAVES(inverse)},
    {"batch", "the same row gives another result elsewhere in the batch", ROWS(batch)},
    {"heads", "the same row gives another result in another head", ROWS(heads)},
    {"incremental", "one row at a time gives another result than all at once", ROWS(incremental)},
    {"base", "another base changes nothing", ROWS(base)},
    {"shift", "the result changes when all positions move by the same amount", ROWS(shift)},
    {"toeplitz", "a bias depends on more than the distance", ROWS(toeplitz)},
    {"sum", "the weights of a row do not add up to 1", ROWS(sum)},
    {"constant", "attention to values that are all alike is not that value", ROWS(constant)},
    {"terms", "the scores are not the sum of their terms", ROWS(terms)},
    {"later", "what a key is worth depends on keys before it", ROWS(later)},
    {"permutation", "attention depends on the order of the keys", ROWS(permutation)},
    {"adjoint", "<R x, dy> is not <x, R^T dy>: rotate_backward is no gradient of rotate",
     ROWS(adjoint)},
    {"window", "the bias of two tokens depends on more than their offset", ROWS(window)},
    {"entries", "different offsets have the same entry of the table", ROWS(entries)},
    {"class", "the bias of the class token depends on the other token", ROWS(class)},
    {"odd", "exchanging query and key does not change the sign", ROWS(odd)},
    {"ends", "beyond the threshold the bias of the first token, or of the query itself, depends on "
     "the query", ROWS(ends)},
    {NULL, NULL, NULL, NULL, NULL},
};

#define ROTATION "identity composition relative linearity inverse batch heads incremental base "
#define SECTIONS "identity composition relative linearity inverse batch heads incremental "
#define BIAS "shift toeplitz incremental "

const struct posref_property_subject posref_property_subjects[] = {
    {"half", "scheme=rope dim=64 pairing=half", POSREF_OP_ROTATE, "x", ROTATION, "base=500000"},
    {"interleaved", "scheme=rope dim=64 pairing=interleaved", POSREF_OP_ROTATE, "x", ROTATION,
     "base=500000"},
    {"half-partial", "scheme=rope dim=80 rotary_dim=24 pairing=half", POSREF_OP_ROTATE, "x",
     ROTATION, "base=500000"},
    {"interleaved-partial", "scheme=rope dim=80 rotary_dim=24 pairing=interleaved",
     POSREF_OP_ROTATE, "x", ROTATION, "base=500000"},
    {"half-linear", "scheme=rope dim=64 pairing=half scaling=linear factor=4", POSREF_OP_ROTATE,
     "x", ROTATION, "base=500000"},
    {"half-llama3",
     "scheme=rope dim=128 base=500000 pairing=half scaling=llama3 factor=8 "
     "original_max_position_embeddings=8192",
     POSREF_OP_ROTATE, "x", ROTATION, "base=10000"},
    {"half-yarn",
     "scheme=rope dim=64 pairing=half scaling=yarn factor=4 "
     "original_max_position_embeddings=4096 attention_factor=1",
     POSREF_OP_ROTATE, "x", ROTATION, "base=500000"},
    {"half-sections", "scheme=rope dim=128 base=1000000 pairing=half mrope_section=16,24,24",
     POSREF_OP_ROTATE, "x", SECTIONS, NULL},
    {"half-axes", "scheme=rope dim=64 pairing=half axes_dims=32,32", POSREF_OP_ROTATE, "x",
     SECTIONS, NULL},
    {"table", "scheme=rope dim=64", POSREF_OP_TABLE, "",
     "identity composition batch incremental base ", "base=500000"},
    {"scores", "scheme=rope dim=32", POSREF_OP_SCORES, "q k", "shift incremental ", NULL},
    {"attention", "scheme=rope dim=32 causal=true", POSREF_OP_ATTENTION, "q k v",
     "shift incremental constant ", NULL},
    {"interleaved", "scheme=sinusoidal dim=64", POSREF_OP_TABLE, "",
     "relative batch incremental base ", "base=500000"},
    {"concat", "scheme=sinusoidal dim=64 order=concat", POSREF_OP_TABLE, "",
     "relative batch incremental base ", "base=500000"},
    {"embed", "scheme=sinusoidal dim=64", POSREF_OP_EMBED, "x",
     "linearity batch heads incremental ", NULL},
    {"table", "scheme=timestep dim=64", POSREF_OP_TABLE, "", "relative batch incremental base ",
     "max_period=500000"},
    {"table", "scheme=learned dim=32", POSREF_OP_TABLE, "weights", "batch incremental ", NULL},
    {"embed", "scheme=learned dim=32", POSREF_OP_EMBED, "x weights",
     "linearity batch incremental ", NULL},
    {"bias", "scheme=alibi num_heads=12", POSREF_OP_BIAS, "", BIAS, NULL},
    {"weights", "scheme=alibi num_heads=12", POSREF_OP_WEIGHTS, "logits",
     "shift sum incremental ", NULL},
    {"attention", "scheme=alibi num_heads=4 causal=true", POSREF_OP_ATTENTION, "q k v",
     "shift incremental constant ", NULL},
    {"bias", "scheme=t5_bias", POSREF_OP_BIAS, "weights", BIAS, NULL},
    {"bias", "scheme=relative_bias max_distance=8", POSREF_OP_BIAS, "weights", BIAS, NULL},
    {"log", "scheme=kerple num_heads=4", POSREF_OP_BIAS, "r1 r2", BIAS, NULL},
    {"bias", "scheme=sandwich dim=64 num_heads=4", POSREF_OP_BIAS, "", BIAS, NULL},
    {"scores", "scheme=shaw dim=16 max_relative_position=4", POSREF_OP_SCORES, "q k key_weights",
     "shift incremental terms ", NULL},
    {"attention", "scheme=shaw dim=16 max_relative_position=4", POSREF_OP_ATTENTION,
     "q k v key_weights value_weights", "shift incremental ", NULL},
    {"half", "scheme=rope dim=64 pairing=half", POSREF_OP_ROTATE_BACKWARD, "dy", "adjoint ", NULL},
    {"interleaved", "scheme=rope dim=64 pairing=interleaved", POSREF_OP_ROTATE_BACKWARD, "dy",
     "adjoint ", NULL},
    {"half-partial", "scheme=rope dim=80 rotary_dim=24 pairing=half", POSREF_OP_ROTATE_BACKWARD,
     "dy", "adjoint ", NULL},
    {"half-yarn",
     "scheme=rope dim=64 pairing=half scaling=yarn factor=4 "
     "original_max_position_embeddings=4096",
     POSREF_OP_ROTATE_BACKWARD, "dy", "adjoint ", NULL},
    {"scores", "scheme=none dim=16", POSREF_OP_SCORES, "q k", "shift incremental ", NULL},
    {"attention", "scheme=none dim=16", POSREF_OP_ATTENTION, "q k v",
     "shift incremental constant permutation ", NULL},
    {"table", "scheme=fourier dim=32 log=false", POSREF_OP_TABLE, "weights",
     "relative batch incremental ", NULL},
    {"index", "scheme=t5_bias", POSREF_OP_INDEX, "", "shift toeplitz ", NULL},
    {"index", "scheme=relative_bias max_distance=8", POSREF_OP_INDEX, "", "shift toeplitz ", NULL},
    {"power", "scheme=kerple num_heads=4 kernel=power", POSREF_OP_BIAS, "r1 r2", BIAS, NULL},
    {"within", "scheme=fire num_heads=4 log_scale=0.125 threshold=4096 mlp_width=8", POSREF_OP_BIAS,
     "w1 b1 w2 b2", BIAS, NULL},
    {"beyond", "scheme=fire num_heads=4 log_scale=0.125 threshold=64 epsilon=0 mlp_width=8",
     POSREF_OP_BIAS, "w1 b1 w2 b2", "ends incremental ", NULL},
    {"bias", "scheme=swin window_size=3,5", POSREF_OP_BIAS, "weights", "window entries ", NULL},
    {"index", "scheme=swin window_size=3,5", POSREF_OP_INDEX, "", "window entries ", NULL},
    {"bias", "scheme=beit window_size=3,4", POSREF_OP_BIAS, "weights", "window entries class ",
     NULL},
    {"index", "scheme=beit window_size=3,4", POSREF_OP_INDEX, "", "window entries class ", NULL},
    {"bias", "scheme=swinv2 window_size=3,5 num_heads=4 mlp_width=16", POSREF_OP_BIAS, "w1 b1 w2",
     "window ", NULL},
    {"coordinates", "scheme=swinv2 window_size=3,5 mlp_width=16", POSREF_OP_TABLE, "", "odd ",
     NULL},
    {"index", "scheme=deberta num_buckets=16 max_distance=64", POSREF_OP_INDEX, "",
     "shift toeplitz odd ", NULL},
    {"bias", "scheme=deberta num_buckets=16 max_distance=64", POSREF_OP_BIAS, "weights", BIAS,
     NULL},
    {"scores", "scheme=deberta dim=16 num_buckets=8 max_distance=32", POSREF_OP_SCORES,
     "q k key_weights query_weights", "shift incremental terms ", NULL},
    {"attention", "scheme=deberta dim=16 num_buckets=8 max_distance=32", POSREF_OP_ATTENTION,
     "q k v key_weights query_weights", "shift incremental constant ", NULL},
    /* Projected positions make large scores, and those large limits in 16 bits. */
    {"sinusoid", "scheme=transformer_xl dim=16 model_dim=24 softmax_scale=0.03125",
     POSREF_OP_SCORES, "q k key_weights u v_bias", "shift incremental terms ", NULL},
    {"learned", "scheme=transformer_xl dim=16 relative_keys=learned causal=true", POSREF_OP_SCORES,
     "q k weights u v_bias", "shift incremental ", NULL},
    {"attention", "scheme=transformer_xl dim=16 model_dim=24 softmax_scale=0.03125 causal=true",
     POSREF_OP_ATTENTION, "q k v key_weights u v_bias", "shift incremental constant ", NULL},
    {"positions", "scheme=cope dim=16 npos_max=8", POSREF_OP_TABLE, "q k weights",
     "incremental later ", NULL},
    {"scores", "scheme=cope dim=16 npos_max=8", POSREF_OP_SCORES, "q k weights",
     "incremental later terms ", NULL},
    {"attention", "scheme=cope dim=16 npos_max=8 causal=true", POSREF_OP_ATTENTION, "q k v weights",
     "shift incremental constant ", NULL},
    {NULL, NULL, POSREF_OP_ALL, NULL, NULL, NULL},
};

/* The k-th name of a subject's properties; NULL: there are not so many. */
static const char *nth_word(size_t *length, const char *words, int k)
{
    for (; *words; words += *length + 1) {
        *length = strcspn(words, " ");
        if (k-- == 0)
            return words;
    }
    return NULL;
}

static const struct posref_property_def *find(const char *name, size_t length)
{
    const struct posref_property_def *def = posref_property_defs;
    while (def->name && (strlen(def->name) != length || strncmp(def->name, name, length) != 0))
        def++;
    return def;
}

bool posref_property_case_at(struct posref_property_case *out, int k)
{
    for (const struct posref_property_subject *s = posref_property_subjects; s->spec; s++) {
        size_t length;
        int n = 0;
        const char *name = nth_word(&length, s->properties, k);
        if (name) {
            const char *scheme = s->spec + strlen("scheme=");
            *out = (struct posref_property_case){.def = find(name, length), .subject = s};
            snprintf(out->id, sizeof out->id, "property/%.*s/%s/%s", (int)strcspn(scheme, " "),
                     scheme, out->def->name, s->variant);
            return true;
        }
        while (nth_word(&length, s->properties, n))
            n++;
        k -= n;
    }
    return false;
}

const char *posref_property_name(const struct posref_property_case *of)
{
    return of->def->name;
}
