-- SPDX-License-Identifier: Apache-2.0
-- The database of golden vectors. Written once by `posref generate` (a temporary file, then a
-- rename), read-only and immutable for everyone else. docs/formats.md explains the content.
PRAGMA application_id = 1886352230; -- "posf"
PRAGMA user_version = 3;            -- the version of this schema

CREATE TABLE suite (
    rank        INTEGER PRIMARY KEY,  -- 0 is the smallest; a suite holds every suite before it
    name        TEXT NOT NULL UNIQUE,
    version     TEXT NOT NULL,
    digest      TEXT NOT NULL,        -- SHA-256 over the digests and ids of its vectors
    n_vectors   INTEGER NOT NULL
) STRICT;

CREATE TABLE vector (
    n       INTEGER PRIMARY KEY,      -- in the order of ids
    id      TEXT NOT NULL UNIQUE,
    suite   INTEGER NOT NULL REFERENCES suite (rank),
    op      TEXT NOT NULL,
    spec    TEXT NOT NULL,            -- key=value text, every field
    flags   TEXT NOT NULL,            -- sorted, separated by spaces
    source  TEXT NOT NULL,
    sha256  TEXT NOT NULL,            -- of its canonical text
    summary TEXT NOT NULL             -- what lists show of it, as JSON, ready to send
) STRICT;

-- Ids that were in use once, and the vector that says now what they said.
CREATE TABLE retired (
    id        TEXT PRIMARY KEY,
    successor TEXT NOT NULL REFERENCES vector (id)
) STRICT, WITHOUT ROWID;

-- What filters ask for: every spec field with a value, each flag (key "flag") and the op.
CREATE TABLE attribute (
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    vector  INTEGER NOT NULL REFERENCES vector (n),
    PRIMARY KEY (key, value, vector)
) STRICT, WITHOUT ROWID;

CREATE TABLE tensor (
    vector  INTEGER NOT NULL REFERENCES vector (n),
    output  INTEGER NOT NULL,         -- 0: input, 1: golden output
    place   INTEGER NOT NULL,         -- order among them
    name    TEXT NOT NULL,
    dtype   TEXT NOT NULL,
    shape   TEXT NOT NULL,            -- "4,2,128"; "" for a scalar
    data    BLOB NOT NULL,            -- little-endian, row major
    UNIQUE (vector, output, place)
) STRICT; -- with row ids: large rows waste less there

-- A vector as JSON, ready to send. Its first prompt_bytes bytes, a closing brace and a newline are
-- the prompt: the same without the outputs.
CREATE TABLE document (
    vector        INTEGER PRIMARY KEY REFERENCES vector (n),
    sha256        TEXT NOT NULL,      -- of the JSON
    prompt_sha256 TEXT NOT NULL,
    prompt_bytes  INTEGER NOT NULL,
    json          BLOB NOT NULL
) STRICT;
