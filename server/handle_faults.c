/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/faults: the registry that explains failures. */
#include "harness/harness.h"
#include "route.h"

void posref_handle_faults(const struct posref_call *call, struct posref_reply *reply)
{
    (void)call;
    reply->caching = POSREF_CACHE_SHORT;
    posref_faults_json(&reply->body);
}
