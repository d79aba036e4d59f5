/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of suites. A vector's digest is the SHA-256 of its canonical text; a suite's is the
 * SHA-256 of the line "posref suite NAME VERSION" and, sorted by id, a line "DIGEST  ID" for each
 * of its vectors. So a difference can be traced to its vectors. Private to vectors/. */
#ifndef POSREF_CANONICAL_H
#define POSREF_CANONICAL_H

#include "vectors/case.h"
#include "vectors/sha256.h"

void posref_suite_digest_init(struct posref_sha256 *sha, const char *name, const char *version);
void posref_suite_digest_add(struct posref_sha256 *sha, const char *id, const char vector_sha[65]);
/* posref_sha256_finish ends it. */

#endif
