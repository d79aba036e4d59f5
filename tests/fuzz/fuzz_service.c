/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: the service without a network or a database. Input: a byte of switches, the target up
 * to a line feed, the body. Whatever comes in, the answer must be well formed. */
#include "server/service.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_reply(const struct posref_reply *reply)
{
    const struct posref_buffer *body = &reply->body;
    must(reply->status >= 200 && reply->status <= 503 && !body->failed);
    if (reply->status == 204 || reply->status == 304) {
        must(body->length == 0);
        return;
    }
    if (reply->encoding)
        return;
    must(body->length > 0 && posref_utf8_valid(body->data, body->length));
    if (strstr(reply->content_type, "json")) {
        json_t *document =
            json_loadb(body->data, body->length, JSON_REJECT_DUPLICATES, NULL);
        must(document != NULL);
        if (reply->status >= 400)
            must(json_integer_value(json_object_get(document, "status")) == reply->status);
        json_decref(document);
    }
    must((reply->status >= 400) == (strcmp(reply->content_type, "application/problem+json") == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > POSREF_URI_MAX_BYTES * 2)
        return 0;
    static const char *const methods[] = {"GET", "POST", "HEAD", "OPTIONS"};
    static const char *const accepts[] = {NULL, "text/html", "*/*;q=0.1, text/plain;q=0", ""};
    static const char *const types[] = {"application/json", NULL, "application/json ; a=b",
                                        "application/vnd.safetensors"};
    uint8_t switches = data[0];
    const uint8_t *end = memchr(data + 1, '\n', size - 1);
    size_t length = end ? (size_t)(end - data - 1) : size - 1;
    char *target = malloc(length + 1);
    must(target != NULL);
    memcpy(target, data + 1, length);
    target[length] = '\0';
    struct posref_http_request http = {
        .method = methods[switches & 3],
        .target = target,
        .accept = accepts[switches >> 2 & 3],
        .content_type = types[switches >> 4 & 3],
        .accept_encoding = switches & 0x40 ? "gzip" : NULL,
        .if_none_match = switches & 0x80 ? "W/\"x\", *" : NULL,
        .host = "localhost",
        .body = end ? (const char *)end + 1 : "",
        .body_length = end ? size - length - 2 : 0,
    };
    struct posref_service service = {.store = NULL};
    struct posref_reply reply;
    posref_service_answer(&service, &http, &reply);
    check_reply(&reply);
    posref_reply_clear(&reply);
    free(target);
    return 0;
}
