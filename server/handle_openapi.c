/* SPDX-License-Identifier: Apache-2.0 */
/* GET /openapi.json: schema/openapi.json, built into the program. */
#include "handle.h"

void posref_handle_openapi(const struct posref_call *call, struct posref_reply *reply)
{
    (void)call;
    posref_buffer_text(&reply->body, posref_openapi);
    reply->caching = POSREF_CACHE_SHORT;
}
