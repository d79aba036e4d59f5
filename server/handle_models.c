/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/models: the presets that model=NAME takes. */
#include "route.h"

void posref_handle_models(const struct posref_call *call, struct posref_reply *reply)
{
    struct posref_error err = {{0}, {0}};
    (void)call;
    if (posref_models_answer(&reply->body, NULL, &err) != POSREF_OK) {
        posref_reply_fail(reply, POSREF_PROBLEM_INTERNAL, NULL, "%s: %s", err.key, err.text);
        return;
    }
    reply->caching = POSREF_CACHE_SHORT;
}
