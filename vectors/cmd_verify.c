/* SPDX-License-Identifier: Apache-2.0 */
/* posref verify: checks a database against the published digests, from the bits of its tensors. */
#include "vectors/canonical.h"
#include "vectors/commands.h"
#include "vectors/db.h"
#include "vectors/embedded.h"

#include <string.h>

#define MAX_SUITES 8
#define MAX_NAMED 5 /* vectors named when their JSON differs */

static void print_help(void)
{
    puts("usage: posref verify [--db FILE]\n"
         "\n"
         "Recomputes the digest of every suite from the tensors in the database and compares it\n"
         "with the digest published with this program and the one in the database; checks that\n"
         "the stored JSON, and what filters search, say the same as the vectors. Exit 1 when\n"
         "anything differs.\n"
         "\n"
         "Example:\n"
         "  posref verify --db smoke.db");
}

struct check {
    struct posref_db *db;
    struct posref_db_check lookups;
    struct posref_suite_info info[MAX_SUITES];
    size_t n_suites;
    struct posref_sha256 sha[MAX_SUITES];
    int64_t n_vectors[MAX_SUITES];
    struct posref_buffer text;
    size_t n_bad;
    enum posref_status status;
    struct posref_error err;
};

static void differs(struct check *check, const char *id, const char *what)
{
    if (check->n_bad++ < MAX_NAMED)
        printf("%s: %s\n", id, what);
}

/* The stored JSON must be what the stored tensors make. */
static void check_documents(struct check *check, const struct posref_vector *vector)
{
    for (int answers = 0; answers < 2 && check->status == POSREF_OK; answers++) {
        const char *json;
        size_t length;
        char stored[65], computed[65];
        bool found = false;
        check->status = posref_db_json(check->db, vector->id, answers, &json, &length, stored,
                                       &found, &check->err);
        if (check->status != POSREF_OK)
            return;
        check->text.length = 0;
        posref_vector_json(&check->text, vector, answers, POSREF_NUMBERS_DECIMAL);
        posref_sha256_hex(computed, check->text.data, check->text.length);
        if (!found || length != check->text.length || memcmp(json, check->text.data, length) != 0)
            differs(check, vector->id, "the stored JSON is not what the tensors say");
        else if (strcmp(stored, computed) != 0)
            differs(check, vector->id, "the SHA-256 of the stored JSON is wrong");
    }
}

static bool check_vector(void *ctx, const struct posref_vector *vector)
{
    struct check *check = ctx;
    char digest[65];
    size_t rank = 0;
    while (rank < check->n_suites && strcmp(check->info[rank].name, vector->suite_min) != 0)
        rank++;
    check->text.length = 0;
    posref_canonical_text(&check->text, vector);
    posref_sha256_hex(digest, check->text.data, check->text.length);
    for (; rank < check->n_suites; rank++) {
        posref_suite_digest_add(&check->sha[rank], vector->id, digest);
        check->n_vectors[rank]++;
    }
    check_documents(check, vector);
    bool good = true;
    if (check->status == POSREF_OK)
        check->status =
            posref_db_check_vector(&check->lookups, &good, vector, digest, &check->err);
    if (!good)
        differs(check, vector->id, "what filters search is not what the vector says");
    return check->status == POSREF_OK && !check->text.failed;
}

/* Whether a line of digests.txt says NAME VERSION DIGEST. */
static bool is_published(const char *name, const char *version, const char *digest)
{
    char line[160];
    const char *published = posref_embedded_find("digests.txt");
    int length = snprintf(line, sizeof line, "%s %s %s\n", name, version, digest);
    for (const char *at = published; at && *at; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, line, (size_t)length) == 0)
            return true;
    return false;
}

static void judge_suite(struct check *check, size_t i)
{
    const struct posref_suite_info *info = &check->info[i];
    char digest[65];
    posref_sha256_finish(digest, &check->sha[i]);
    const char *verdict = "ok";
    if (strcmp(digest, info->digest) != 0 || check->n_vectors[i] != info->n_vectors)
        verdict = "NOT what the database claims";
    else if (!is_published(info->name, info->version, digest))
        verdict = "NOT the published digest";
    check->n_bad += strcmp(verdict, "ok") != 0;
    printf("%s %s %lld vectors %s %s\n", info->name, info->version,
           (long long)check->n_vectors[i], digest, verdict);
}

static enum posref_status check_all(struct check *check)
{
    check->n_suites = MAX_SUITES;
    enum posref_status status =
        posref_db_suites(check->db, check->info, &check->n_suites, &check->err);
    if (status != POSREF_OK)
        return status;
    for (size_t i = 0; i < check->n_suites; i++)
        posref_suite_digest_init(&check->sha[i], check->info[i].name, check->info[i].version);
    status = posref_db_each(check->db, NULL, NULL, NULL, -1, check_vector, check, &check->err);
    if (status == POSREF_OK && check->text.failed)
        status = posref_fail(&check->err, POSREF_NO_MEMORY, "", "no memory");
    if (status == POSREF_OK)
        status = check->status;
    char what[256] = "";
    if (status == POSREF_OK)
        status = posref_db_check_whole(&check->lookups, what, sizeof what, &check->err);
    if (status == POSREF_OK && what[0])
        differs(check, "the database", what);
    return status;
}

int posref_cmd_verify(int argc, char **argv)
{
    const char *path = NULL;
    const struct posref_option options[] = {{"--db", &path, NULL}, {NULL, NULL, NULL}};
    struct check check = {.status = POSREF_OK};
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    posref_buffer_init(&check.text, (size_t)1 << 26);
    enum posref_status status = posref_options_read(options, &argc, argv, &check.err);
    if (status == POSREF_OK && argc > 1)
        status = posref_fail(&check.err, POSREF_BAD_INPUT, argv[1], "not an option of verify");
    if (status == POSREF_OK)
        status = posref_db_open_progress(&check.db, path, posref_progress_terminal, NULL,
                                         &check.err);
    check.lookups.db = check.db;
    if (status == POSREF_OK)
        status = check_all(&check);
    for (size_t i = 0; i < check.n_suites && status == POSREF_OK; i++)
        judge_suite(&check, i);
    posref_db_check_clear(&check.lookups);
    posref_db_close(check.db);
    posref_buffer_clear(&check.text);
    if (status != POSREF_OK)
        return posref_report_error("verify", status, &check.err);
    return check.n_bad ? POSREF_EXIT_FAIL : POSREF_EXIT_OK;
}
