/* SPDX-License-Identifier: Apache-2.0 */
/* The row permutations that ports apply, and the numbered list of those that are looked for. */
#include "harness/weights.h"

const char *posref_weights_mapping_name(enum posref_weights_mapping mapping)
{
    static const char *const names[POSREF_N_MAPPINGS] = {
        "identity", "half_to_interleaved", "interleaved_to_half", "applied_twice",
        "rotary_rows_only", "wrong_head_count", "heads_reordered", "none"};
    return names[mapping];
}

int64_t posref_weights_source(const struct posref_weights_permutation *permutation, int64_t row)
{
    int64_t at = row - permutation->first, half = permutation->rows / 2;
    if (at < 0 || at >= permutation->rows)
        return row;
    for (int step = 0; step < permutation->power; step++) {
        if (permutation->to_half) /* new row t*half + i is old row 2i + t */
            at = at < half ? 2 * at : 2 * (at - half) + 1;
        else                      /* new row 2i + t is old row t*half + i */
            at = at % 2 * half + at / 2;
    }
    return permutation->first + at;
}

bool posref_weights_candidate(struct posref_weights_permutation *out, int number,
                              int64_t head_rows, int64_t rotary_first, int64_t rotary_rows)
{
    static const struct { int power; bool to_half; } kinds[] = {
        {1, false}, {1, true}, {2, false}, {2, true}};
    struct posref_weights_permutation p = {.first = rotary_first, .rows = rotary_rows};
    bool whole = rotary_first == 0 && rotary_rows == head_rows;
    if (number == 0) {
        *out = p;
        return true;
    }
    if (number < 9) { /* 1..4 the rotary rows, 5..8 the whole head */
        if (number >= 5) {
            if (whole || head_rows % 2 != 0)
                return false;
            p.first = 0;
            p.rows = head_rows;
        }
        p.power = kinds[(number - 1) % 4].power;
        p.to_half = kinds[(number - 1) % 4].to_half;
    } else {          /* a prefix of the head that is neither of these */
        p.first = 0;
        p.rows = 4 + (number - 9) / 2 * 2;
        p.power = 1;
        p.to_half = (number - 9) % 2 == 1;
        if (p.rows >= head_rows || (rotary_first == 0 && p.rows == rotary_rows))
            return false;
    }
    if (p.rows < 4) /* of two rows there is nothing to exchange */
        return false;
    *out = p;
    return true;
}

enum posref_weights_mapping
posref_weights_candidate_mapping(const struct posref_weights_permutation *permutation,
                                 int64_t head_rows)
{
    if (permutation->power == 0)
        return POSREF_MAPPING_IDENTITY;
    if (permutation->power == 2)
        return POSREF_MAPPING_APPLIED_TWICE;
    if (permutation->rows < head_rows)
        return POSREF_MAPPING_ROTARY_ROWS_ONLY;
    return permutation->to_half ? POSREF_MAPPING_INTERLEAVED_TO_HALF
                                : POSREF_MAPPING_HALF_TO_INTERLEAVED;
}
