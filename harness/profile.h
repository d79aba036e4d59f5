/* SPDX-License-Identifier: Apache-2.0 */
/* The error of a kernel over position: by decade the worst, the 99.9 % point and the mean, and up
 * to which position it stays within a bound. Of rotations and tables of angles: schemes whose
 * judged pairs have a position. Private to harness/. */
#ifndef POSREF_PROFILE_H
#define POSREF_PROFILE_H

#include "reference/judge.h"
#include "vectors/vectors.h"

/* Decades of |position|: 0, below 1, 1 to 9, ..., 1e9 and more; negative ones first. */
#define POSREF_PROFILE_DECADES 12
#define POSREF_PROFILE_BINS (2 * POSREF_PROFILE_DECADES)
/* Errors by powers of 2^(1/8), from 2^-63 on: the 99.9 % point is right within 9 %. */
#define POSREF_PROFILE_BUCKETS 576

struct posref_profile_bin {
    int64_t n;
    double worst, signed_sum;
    uint32_t bucket[POSREF_PROFILE_BUCKETS];
};

struct posref_profile {
    bool failed; /* no memory: it is not drawn */
    struct posref_profile_bin bin[POSREF_PROFILE_BINS];
    /* The largest error at each |position| there was. */
    struct posref_profile_place {
        double position, worst; /* position < 0: free */
    } *place;
    size_t n_places, room;
};

struct posref_profile *posref_profile_new(void); /* NULL: no memory */
void posref_profile_free(struct posref_profile *profile);

/* A watch of posref_judge_watched; ctx is the profile. */
void posref_profile_see(void *ctx, double position, double error, double signed_error);

/* The members of a stream's footer, without braces: "decades" with n, worst, signed_sum and
 * buckets; "steps": where the largest error so far grows with |position|, as [last position before
 * (-1: none), position, error]; "farthest": the last position; of a shard also "positions", all of
 * them, without which shards could not be joined. Ends the profile. */
void posref_profile_json(struct posref_buffer *out, struct posref_profile *profile, bool shard);

/* The largest error that a bucket stands for. */
double posref_profile_bucket_end(int bucket);
/* "0", "<1", "1..9", "-99..-10", ..., "1000000000.." */
void posref_profile_label(char out[64], int bin);

#endif
