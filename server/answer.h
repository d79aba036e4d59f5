/* SPDX-License-Identifier: Apache-2.0 */
/* Answers complete requests on their connections: with what lies ready, at once with what is made
 * quickly, and later with what is left to worker threads, so that nobody waits for another's long
 * evaluation. */
#ifndef POSREF_SERVER_ANSWER_H
#define POSREF_SERVER_ANSWER_H

#include "connections.h"
#include "incoming.h"
#include "jobs.h"
#include "ready.h"
#include "service.h"

struct posref_answers {
    struct posref_service service;
    struct posref_ready *ready;
    struct posref_jobs *jobs;
    FILE *access_log; /* NULL: none */
    atomic_bool draining; /* clients are asked to go */
    atomic_bool stopping; /* what is still in the queue is not worth doing any more */
};

/* `out` is the caller's and stays where it is. The store is borrowed; NULL: none. */
POSREF_MUST_USE enum posref_status posref_answers_start(struct posref_answers *out,
                                                        struct posref_store *store,
                                                        FILE *access_log, unsigned n_workers,
                                                        struct posref_error *err);

/* Gives up what waits in the queue; returns when what runs is done and every connection is resumed.
 * To be called before the daemon is stopped, and posref_answers_clear after it. */
void posref_answers_stop(struct posref_answers *answers);
void posref_answers_clear(struct posref_answers *answers);

/* To be called when a request is complete, and again as long as there is no answer: a request that
 * is put off is suspended in the second call and answered in the third. `in->http` is set but for
 * the body. */
enum MHD_Result posref_answer(struct posref_answers *answers, struct MHD_Connection *connection,
                              struct posref_connection *one, struct posref_incoming *in);

/* Gives up an answer that is not sent: the connection has ended. NULL is fine. */
void posref_later_free(struct posref_later *later);

#endif
