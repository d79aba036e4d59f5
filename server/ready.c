/* SPDX-License-Identifier: Apache-2.0 */
/* Answers made once and sent many times: see ready.h. The answers are spread over shelves by the
 * hash of their key; each shelf has a lock and a share of the bounds of its own. */
#include "ready.h"

#include "send.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define N_SHELVES 16
#define SHELF_ANSWERS (POSREF_READY_ANSWERS / N_SHELVES)
#define SHELF_BYTES (POSREF_READY_BYTES / N_SHELVES)
#define ANSWER_BYTES 4096 /* of an answer beside its body: key, headers, records; an upper bound */
#define MAX_KEY 1024      /* longer ones are answered as if this file did not exist */

struct answer {
    char *key; /* NULL: the place is free */
    uint64_t generation;
    uint64_t used; /* the shelf's clock */
    struct MHD_Response *whole, *unchanged; /* 200 and 304 */
    char etag[POSREF_ETAG_SIZE];
    int route;
    size_t body_bytes;
};

struct shelf {
    pthread_mutex_t lock;
    uint64_t clock;
    size_t n_bytes;
    uint64_t hash[SHELF_ANSWERS]; /* 0 where the place is free */
    struct answer answer[SHELF_ANSWERS];
    uint64_t noted[SHELF_ANSWERS]; /* hashes met once, each at the place that it names */
};

struct posref_ready {
    struct shelf shelf[N_SHELVES];
};

/* All that the answer depends on beside the database; no part can hold a line feed. Returns the
 * hash, or 0: the request has no key. */
static uint64_t make_key(char key[MAX_KEY], const struct posref_http_request *http)
{
    const char *part[] = {http->target, http->accept ? http->accept : "\r",
                          http->accept_encoding ? http->accept_encoding : "\r"};
    size_t n = 0;
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        for (const char *s = part[i];; s++) {
            if (n == MAX_KEY)
                return 0;
            key[n] = *s ? *s : '\n';
            hash = (hash ^ (unsigned char)key[n++]) * 0x100000001b3;
            if (!*s)
                break;
        }
    key[n - 1] = '\0';
    return hash ? hash : 1;
}

static struct shelf *shelf_of(struct posref_ready *ready, uint64_t hash)
{
    return &ready->shelf[hash >> 60];
}
_Static_assert(N_SHELVES == 16, "the shelf is named by four bits of the hash");

/* The place of the key, or SHELF_ANSWERS. */
static size_t find(const struct shelf *shelf, uint64_t hash, const char *key)
{
    size_t i = 0;
    while (i < SHELF_ANSWERS &&
           (shelf->hash[i] != hash || strcmp(shelf->answer[i].key, key) != 0))
        i++;
    return i;
}

static void empty(struct shelf *shelf, size_t i)
{
    struct answer *answer = &shelf->answer[i];
    if (!answer->key)
        return;
    MHD_destroy_response(answer->whole); /* those being sent live until they are */
    MHD_destroy_response(answer->unchanged);
    free(answer->key);
    shelf->n_bytes -= answer->body_bytes + ANSWER_BYTES;
    shelf->hash[i] = 0;
    *answer = (struct answer){.key = NULL};
}

/* The place unused for the longest time, a free one first; of those with an answer when `full`. */
static size_t oldest(const struct shelf *shelf, bool full)
{
    size_t found = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < SHELF_ANSWERS; i++)
        if (shelf->answer[i].used < least && (shelf->hash[i] || !full)) {
            least = shelf->answer[i].used;
            found = i;
        }
    return found;
}

struct posref_ready *posref_ready_new(void)
{
    struct posref_ready *ready = calloc(1, sizeof *ready);
    for (size_t i = 0; ready && i < N_SHELVES; i++)
        pthread_mutex_init(&ready->shelf[i].lock, NULL);
    return ready;
}

void posref_ready_free(struct posref_ready *ready)
{
    for (size_t s = 0; ready && s < N_SHELVES; s++) {
        for (size_t i = 0; i < SHELF_ANSWERS; i++)
            empty(&ready->shelf[s], i);
        pthread_mutex_destroy(&ready->shelf[s].lock);
    }
    free(ready);
}

bool posref_ready_send(struct posref_ready *ready, struct posref_ready_sent *sent,
                       struct MHD_Connection *connection, const struct posref_http_request *http,
                       uint64_t generation)
{
    char key[MAX_KEY];
    if (strcmp(http->method, "GET") != 0 && strcmp(http->method, "HEAD") != 0)
        return false;
    uint64_t hash = make_key(key, http);
    if (!hash)
        return false;
    struct shelf *shelf = shelf_of(ready, hash);
    pthread_mutex_lock(&shelf->lock);
    size_t i = find(shelf, hash, key);
    bool there = i < SHELF_ANSWERS && shelf->answer[i].generation == generation;
    if (there) {
        struct answer *answer = &shelf->answer[i];
        bool unchanged =
            http->if_none_match && posref_etag_matches(http->if_none_match, answer->etag);
        answer->used = ++shelf->clock;
        *sent = (struct posref_ready_sent){.route = answer->route,
                                           .status = unchanged ? 304 : 200,
                                           .body_bytes = unchanged ? 0 : answer->body_bytes};
        sent->queued = MHD_queue_response(connection, sent->status,
                                          unchanged ? answer->unchanged : answer->whole);
    }
    pthread_mutex_unlock(&shelf->lock);
    return there;
}

bool posref_ready_note(struct posref_ready *ready, const struct posref_http_request *http)
{
    char key[MAX_KEY];
    uint64_t hash = make_key(key, http);
    if (!hash)
        return false;
    struct shelf *shelf = shelf_of(ready, hash);
    pthread_mutex_lock(&shelf->lock);
    uint64_t *noted = &shelf->noted[hash % SHELF_ANSWERS];
    bool again = *noted == hash;
    *noted = hash;
    pthread_mutex_unlock(&shelf->lock);
    return again;
}

/* Puts a finished answer on the shelf, which owns it then. */
static void put(struct shelf *shelf, uint64_t hash, const struct answer *answer)
{
    size_t size_bytes = answer->body_bytes + ANSWER_BYTES;
    pthread_mutex_lock(&shelf->lock);
    size_t i = find(shelf, hash, answer->key); /* another thread's, or another database's */
    if (i == SHELF_ANSWERS)
        i = oldest(shelf, false);
    empty(shelf, i);
    while (shelf->n_bytes + size_bytes > SHELF_BYTES)
        empty(shelf, oldest(shelf, true));
    shelf->n_bytes += size_bytes;
    shelf->hash[i] = hash;
    shelf->answer[i] = *answer;
    shelf->answer[i].used = ++shelf->clock;
    pthread_mutex_unlock(&shelf->lock);
}

void posref_ready_add(struct posref_ready *ready, const struct posref_http_request *http,
                      uint64_t generation, const struct posref_reply *reply, int route)
{
    char key[MAX_KEY];
    uint64_t hash = make_key(key, http);
    struct answer answer = {.generation = generation, .route = route,
                            .body_bytes = reply->body.length};
    if (!hash || answer.body_bytes + ANSWER_BYTES > SHELF_BYTES)
        return;
    struct posref_reply unchanged = *reply; /* borrows the body, of which nothing is sent */
    unchanged.status = 304;
    posref_etag(answer.etag, reply->sha256, reply->encoding != NULL);
    answer.key = strdup(key);
    answer.whole = posref_response_copy(reply);
    answer.unchanged = posref_response_copy(&unchanged);
    if (answer.key && answer.whole && answer.unchanged) {
        put(shelf_of(ready, hash), hash, &answer);
        return;
    }
    if (answer.whole)
        MHD_destroy_response(answer.whole);
    if (answer.unchanged)
        MHD_destroy_response(answer.unchanged);
    free(answer.key);
}
