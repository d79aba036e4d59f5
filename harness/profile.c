/* SPDX-License-Identifier: Apache-2.0 */
/* Errors over position, added up: see profile.h. */
#include "profile.h"

#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LOG2 (-63)
#define PER_OCTAVE 8

struct posref_profile *posref_profile_new(void)
{
    return calloc(1, sizeof(struct posref_profile));
}

void posref_profile_free(struct posref_profile *profile)
{
    if (profile)
        free(profile->place);
    free(profile);
}

static int bin_of(double position)
{
    const double size = fabs(position);
    int decade = size == 0 ? 0 : 1;
    for (double least = 1; decade > 0 && size >= least && decade < POSREF_PROFILE_DECADES - 1;
         least *= 10)
        decade++;
    return position < 0 ? POSREF_PROFILE_DECADES - decade : POSREF_PROFILE_DECADES + decade;
}

void posref_profile_label(char out[64], int bin)
{
    const int decade = abs(bin - POSREF_PROFILE_DECADES);
    const char *sign = bin < POSREF_PROFILE_DECADES ? "-" : "";
    const double low = pow(10, decade - 2), high = 10 * low - 1;
    if (decade == 0)
        snprintf(out, 64, "0");
    else if (decade == 1)
        snprintf(out, 64, *sign ? "above -1" : "below 1");
    else if (decade == POSREF_PROFILE_DECADES - 1)
        snprintf(out, 64, *sign ? "..-%.0f" : "%.0f..", low);
    else if (*sign)
        snprintf(out, 64, "-%.0f..-%.0f", high, low);
    else
        snprintf(out, 64, "%.0f..%.0f", low, high);
}

static int bucket_of(double error)
{
    if (!(error > 0x1p-63))
        return 0;
    const double at = ceil(PER_OCTAVE * (log2(error) - LEAST_LOG2));
    return at < POSREF_PROFILE_BUCKETS ? (int)at : POSREF_PROFILE_BUCKETS - 1;
}

double posref_profile_bucket_end(int bucket)
{
    return bucket == POSREF_PROFILE_BUCKETS - 1
               ? HUGE_VAL : bucket == 0 ? 0 : exp2(LEAST_LOG2 + (double)bucket / PER_OCTAVE);
}

/* ---- places: a table by position, open addressing ---- */

static size_t slot_of(const struct posref_profile *p, double position)
{
    uint64_t bits;
    memcpy(&bits, &position, sizeof bits);
    size_t at = (size_t)(bits * 0x9E3779B97F4A7C15u >> 32) & (p->room - 1);
    while (p->place[at].position >= 0 && p->place[at].position != position)
        at = (at + 1) & (p->room - 1);
    return at;
}

static bool make_room(struct posref_profile *p)
{
    struct posref_profile old = {.place = p->place, .room = p->room};
    if (2 * (p->n_places + 1) <= p->room)
        return true;
    p->room = old.room ? 2 * old.room : 1024;
    p->place = malloc(p->room * sizeof *p->place);
    if (!p->place) {
        p->place = old.place;
        p->room = old.room;
        return false;
    }
    for (size_t k = 0; k < p->room; k++)
        p->place[k] = (struct posref_profile_place){-1, 0};
    for (size_t k = 0; k < old.room; k++)
        if (old.place[k].position >= 0)
            p->place[slot_of(p, old.place[k].position)] = old.place[k];
    free(old.place);
    return true;
}

void posref_profile_see(void *ctx, double position, double error, double signed_error)
{
    struct posref_profile *p = ctx;
    if (!(fabs(position) < 1e300))
        return;
    struct posref_profile_bin *bin = &p->bin[bin_of(position)];
    bin->n++;
    bin->worst = error > bin->worst ? error : bin->worst;
    bin->signed_sum += isfinite(signed_error) ? signed_error : 0;
    bin->bucket[bucket_of(error)]++;
    if (!make_room(p)) {
        p->failed = true;
        return;
    }
    struct posref_profile_place *place = &p->place[slot_of(p, fabs(position))];
    if (place->position < 0) {
        *place = (struct posref_profile_place){fabs(position), 0};
        p->n_places++;
    }
    place->worst = error > place->worst ? error : place->worst;
}

/* ---- as JSON ---- */

static int by_position(const void *a, const void *b)
{
    const struct posref_profile_place *x = a, *y = b;
    return (x->position > y->position) - (x->position < y->position);
}

/* Ends the table: it becomes a sorted list. */
static void sort_places(struct posref_profile *p)
{
    size_t n = 0;
    for (size_t k = 0; k < p->room; k++)
        if (p->place[k].position >= 0)
            p->place[n++] = p->place[k];
    p->room = n;
    if (n > 0)
        qsort(p->place, n, sizeof *p->place, by_position);
}

static void add_bin(struct posref_buffer *out, const struct posref_profile_bin *bin, int number)
{
    const char *separator = "";
    posref_buffer_printf(out, "{\"bin\": %d, \"n\": %lld, \"worst\": ", number,
                         (long long)bin->n);
    posref_stream_number(out, bin->worst);
    posref_buffer_text(out, ", \"signed_sum\": ");
    posref_stream_number(out, bin->signed_sum);
    posref_buffer_text(out, ", \"buckets\": [");
    for (int k = 0; k < POSREF_PROFILE_BUCKETS; k++)
        if (bin->bucket[k]) {
            posref_buffer_printf(out, "%s[%d, %lu]", separator, k, (unsigned long)bin->bucket[k]);
            separator = ", ";
        }
    posref_buffer_text(out, "]}");
}

void posref_profile_json(struct posref_buffer *out, struct posref_profile *p, bool shard)
{
    const char *separator = "";
    double worst = 0, before = -1;
    posref_buffer_text(out, "\"decades\": [");
    for (int k = 0; k < POSREF_PROFILE_BINS; k++)
        if (p->bin[k].n > 0) {
            posref_buffer_text(out, separator);
            add_bin(out, &p->bin[k], k);
            separator = ", ";
        }
    sort_places(p);
    posref_buffer_text(out, "], \"steps\": [");
    separator = "";
    for (size_t k = 0; k < p->room; k++) {
        const struct posref_profile_place *place = &p->place[k];
        if (place->worst > worst) {
            const double step[] = {before, place->position, place->worst};
            posref_buffer_printf(out, "%s[", separator);
            for (int part = 0; part < 3; part++) {
                posref_buffer_text(out, part ? ", " : "");
                posref_stream_number(out, step[part]);
            }
            posref_buffer_text(out, "]");
            separator = ", ";
            worst = place->worst;
        }
        before = place->position;
    }
    posref_buffer_text(out, "], \"farthest\": ");
    posref_stream_number(out, before);
    if (!shard)
        return;
    posref_buffer_text(out, ", \"positions\": [");
    for (size_t k = 0; k < p->room; k++) {
        posref_buffer_text(out, k ? ", " : "");
        posref_stream_number(out, p->place[k].position);
    }
    posref_buffer_text(out, "]");
}
