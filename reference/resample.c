/* SPDX-License-Identifier: Apache-2.0 */
/* Linear and cubic taps, in whole numbers. With m = 2 target, x = ((2t + 1) source - target) / m,
 * and its fraction is k / m. Keys' kernel for a = -3/4, times 4 m^3:
 *     |u| <= 1:      5 u^3 - 9 u^2 m + 4 m^3
 *     1 < |u| < 2:  -3 u^3 + 15 u^2 m - 24 u m^2 + 12 m^3            (u in units of 1/m) */
#include "resample.h"

static int64_t clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static int64_t inner(int64_t u, int64_t m)
{
    return (5 * u - 9 * m) * u * u + 4 * m * m * m;
}

static int64_t outer(int64_t u, int64_t m)
{
    return ((-3 * u + 15 * m) * u - 24 * m * m) * u + 12 * m * m * m;
}

void posref_resample(struct posref_taps *out, int64_t source, int64_t target, int64_t t, bool cubic)
{
    const int64_t m = 2 * target;
    int64_t place = (2 * t + 1) * source - target; /* x m */
    if (source == target) {
        *out = (struct posref_taps){.n = 1, .index = {t}, .numerator = {1}, .denominator = 1};
        return;
    }
    if (!cubic && place < 0)
        place = 0;
    const int64_t low = place >= 0 ? place / m : -((m - 1 - place) / m), k = place - low * m;
    if (!cubic) {
        *out = (struct posref_taps){.n = 2, .index = {low, clamp(low + 1, source)},
                                    .numerator = {m - k, k}, .denominator = m};
        return;
    }
    *out = (struct posref_taps){.n = 4, .denominator = 4 * m * m * m,
                                .numerator = {outer(m + k, m), inner(k, m), inner(m - k, m),
                                              outer(2 * m - k, m)}};
    for (int i = 0; i < 4; i++)
        out->index[i] = clamp(low - 1 + i, source);
}
