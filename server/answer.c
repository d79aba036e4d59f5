/* SPDX-License-Identifier: Apache-2.0 */
/* Answers on their connections: see answer.h. A connection whose answer is left to a worker is
 * suspended meanwhile, so that nothing of it is touched by the thread that serves it. */
#include "answer.h"

#include "access_log.h"
#include "send.h"

#include <poll.h>
#include <stdlib.h>

#define LEAST_BYTES_A_MS 64 /* of a long answer, or its client is too slow */
#define MAX_WAITING 64      /* for each worker: a second at most, but for a few */

enum state { ASKED, QUEUED, MADE, GIVEN_UP };

struct posref_later {
    struct posref_job job;
    struct posref_answers *answers;
    struct MHD_Connection *connection;
    struct posref_incoming *in;
    int fd;
    uint64_t begun_ns;
    enum state state;
    int route;
    struct posref_reply reply; /* when MADE */
};

static void log_request(const struct posref_answers *answers, const struct posref_connection *one,
                        const struct posref_incoming *in, unsigned status, size_t body_bytes)
{
    if (answers->access_log)
        posref_access_log(answers->access_log, one, in, status, body_bytes);
}

static uint64_t generation_of(const struct posref_answers *answers)
{
    return answers->service.store ? posref_store_generation(answers->service.store) : 0;
}

/* Answers with what lies ready; false: nothing does. */
static bool send_ready(struct posref_answers *answers, struct MHD_Connection *connection,
                       const struct posref_connection *one, const struct posref_incoming *in,
                       enum MHD_Result *result)
{
    struct posref_ready_sent sent;
    uint64_t begun = posref_now_ns();
    if (in->refused || in->body_too_large || atomic_load(&answers->draining) ||
        !posref_ready_send(answers->ready, &sent, connection, &in->http, generation_of(answers)))
        return false;
    posref_metrics_count(&answers->service.metrics, sent.route, sent.status, sent.body_bytes,
                         posref_now_ns() - begun);
    log_request(answers, one, in, sent.status, sent.body_bytes);
    *result = sent.queued;
    return true;
}

/* After an answer with stored bytes: the second time, it is made once more, to lie ready. */
static void make_ready(struct posref_answers *answers, const struct posref_http_request *http)
{
    if (!posref_ready_note(answers->ready, http))
        return;
    struct posref_http_request whole = *http;
    struct posref_reply reply;
    uint64_t generation = generation_of(answers);
    whole.if_none_match = NULL;
    int route = posref_service_make(&answers->service, &whole, &reply);
    if (reply.stored && reply.status == 200)
        posref_ready_add(answers->ready, http, generation, &reply, route);
    posref_reply_clear(&reply);
}

/* Sends what was made, which is cleared. */
static enum MHD_Result send_made(struct posref_answers *answers, struct MHD_Connection *connection,
                                 struct posref_connection *one, const struct posref_incoming *in,
                                 struct posref_reply *reply)
{
    unsigned status = reply->status;
    size_t body_bytes = posref_reply_length(reply);
    if (reply->fd >= 0)
        posref_connection_extend(one, (int64_t)(body_bytes / LEAST_BYTES_A_MS));
    enum MHD_Result result = posref_send(connection, reply, atomic_load(&answers->draining));
    posref_reply_clear(reply);
    log_request(answers, one, in, status, body_bytes);
    return result;
}

/* ---- later ---- */

/* Whether the client has left for certain, or was made to. One that has only ended its sending half
 * may still wait. */
static bool has_left(int fd)
{
    struct pollfd one = {.fd = fd};
    return poll(&one, 1, 0) > 0 && (one.revents & (POLLHUP | POLLERR));
}

/* By a worker, which has the request to itself until the connection is resumed. */
static void make_later(struct posref_job *job)
{
    struct posref_later *later = (struct posref_later *)job;
    struct posref_answers *answers = later->answers;
    struct MHD_Connection *connection = later->connection;
    if (atomic_load(&answers->stopping) || has_left(later->fd)) {
        later->state = GIVEN_UP;
    } else {
        struct posref_http_request *http = &later->in->http;
        http->brief = false;
        later->route = posref_service_make(&answers->service, http, &later->reply);
        later->state = MADE;
        if (later->reply.stored)
            make_ready(answers, http);
    }
    MHD_resume_connection(connection);
}

void posref_later_free(struct posref_later *later)
{
    if (later && later->state == MADE)
        posref_reply_clear(&later->reply);
    free(later);
}

/* Puts the request off; false: there is no memory for it. libmicrohttpd is told nothing yet: a
 * connection that is suspended by the first call after it was read is read again when it is
 * resumed, and closed unanswered where the client has ended its sending half. By the second call
 * version 0.9.75 has noted that there is nothing to read for. */
static bool put_off(struct posref_answers *answers, struct MHD_Connection *connection,
                    const struct posref_connection *one, struct posref_incoming *in,
                    uint64_t begun_ns)
{
    in->later = malloc(sizeof *in->later);
    if (!in->later)
        return false;
    *in->later = (struct posref_later){.answers = answers, .connection = connection, .in = in,
                                       .fd = one->fd, .begun_ns = begun_ns, .state = ASKED};
    return true;
}

static enum MHD_Result refuse(struct posref_answers *answers, struct MHD_Connection *connection,
                              struct posref_connection *one, const struct posref_incoming *in)
{
    struct posref_problem busy = {.kind = POSREF_PROBLEM_UNAVAILABLE,
                                  .detail = "too many long requests at once"};
    struct posref_reply reply;
    atomic_fetch_add(&answers->service.metrics.turned_away, 1);
    posref_service_refuse(&answers->service, &busy, &reply);
    return send_made(answers, connection, one, in, &reply);
}

/* The second call: queues the request and lets the connection rest. */
static enum MHD_Result enqueue(struct posref_answers *answers, struct posref_connection *one,
                               struct posref_incoming *in)
{
    struct posref_later *later = in->later;
    struct MHD_Connection *connection = later->connection;
    later->state = QUEUED;
    MHD_suspend_connection(connection); /* first: a worker may resume it at once */
    if (posref_jobs_add(answers->jobs, &later->job))
        return MHD_YES;
    later->state = ASKED;
    MHD_resume_connection(connection);
    return refuse(answers, connection, one, in);
}

static enum MHD_Result go_on(struct posref_answers *answers, struct MHD_Connection *connection,
                             struct posref_connection *one, struct posref_incoming *in)
{
    struct posref_later *later = in->later;
    if (later->state == ASKED)
        return enqueue(answers, one, in);
    if (later->state == GIVEN_UP)
        return MHD_NO;
    posref_service_count(&answers->service, later->route, &later->reply, later->begun_ns);
    return send_made(answers, connection, one, in, &later->reply);
}

/* ---- now ---- */

static enum MHD_Result answer_now(struct posref_answers *answers,
                                  struct MHD_Connection *connection,
                                  struct posref_connection *one, struct posref_incoming *in)
{
    struct posref_reply reply;
    if (in->refused) {
        posref_service_refuse(&answers->service, &in->refusal, &reply);
        return send_made(answers, connection, one, in, &reply);
    }
    uint64_t begun_ns = posref_now_ns();
    in->http.brief = one != NULL;
    int route = posref_service_make(&answers->service, &in->http, &reply);
    if (reply.put_off) {
        posref_reply_clear(&reply);
        return put_off(answers, connection, one, in, begun_ns)
                   ? MHD_YES
                   : refuse(answers, connection, one, in);
    }
    posref_service_count(&answers->service, route, &reply, begun_ns);
    bool stored = reply.stored;
    enum MHD_Result result = send_made(answers, connection, one, in, &reply);
    if (stored)
        make_ready(answers, &in->http);
    return result;
}

enum MHD_Result posref_answer(struct posref_answers *answers, struct MHD_Connection *connection,
                              struct posref_connection *one, struct posref_incoming *in)
{
    enum MHD_Result result;
    if (in->later)
        return go_on(answers, connection, one, in);
    in->http.body = in->body.data ? in->body.data : "";
    in->http.body_length = in->body.length;
    if (send_ready(answers, connection, one, in, &result))
        return result;
    if (in->body_too_large && !in->refused) {
        in->refusal.kind = POSREF_PROBLEM_TOO_LARGE;
        snprintf(in->refusal.detail, sizeof in->refusal.detail, "a body may have %u bytes",
                 POSREF_MAX_BODY_BYTES);
        in->refused = true;
    }
    return answer_now(answers, connection, one, in);
}

enum posref_status posref_answers_start(struct posref_answers *out, struct posref_store *store,
                                        FILE *access_log, unsigned n_workers,
                                        struct posref_error *err)
{
    out->service.store = store;
    out->access_log = access_log;
    atomic_init(&out->draining, false);
    atomic_init(&out->stopping, false);
    out->ready = posref_ready_new();
    if (!out->ready)
        return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
    enum posref_status status = posref_jobs_new(&out->jobs, make_later, n_workers,
                                                (size_t)n_workers * MAX_WAITING, err);
    if (status != POSREF_OK)
        posref_ready_free(out->ready);
    return status;
}

void posref_answers_stop(struct posref_answers *answers)
{
    atomic_store(&answers->stopping, true);
    posref_jobs_stop(answers->jobs);
}

void posref_answers_clear(struct posref_answers *answers)
{
    posref_jobs_free(answers->jobs);
    posref_ready_free(answers->ready);
}
