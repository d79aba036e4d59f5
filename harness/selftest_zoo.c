/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the zoo; the plugins themselves are tests/mutants/NAME.c. */
#include "selftest.h"

#include <stddef.h>

#define BAD(plugin, becomes, does) \
    {.name = (plugin), .verdict = POSREF_VERDICT_##becomes, .what = (does)}

const struct posref_bad_plugin posref_zoo[] = {
    BAD("null_write", CRASH, "writes through a null pointer"),
    BAD("wild_read", CRASH, "reads through a wild pointer"),
    BAD("overflows_stack", CRASH, "recurses without end"),
    BAD("aborts", CRASH, "calls abort"),
    BAD("kills_itself", CRASH, "sends itself SIGKILL"),
    BAD("kills_posref", CRASH, "sends posref SIGKILL"),
    BAD("reaches_into_posref", CRASH, "attaches to posref by ptrace"),
    BAD("child_signals", CRASH, "signals from a child"),
    BAD("exits", EXITED, "calls exit"),
    BAD("exits_at_once", EXITED, "calls _exit with status 0"),
    BAD("loops", TIMEOUT, "loops for ever"),
    BAD("sleeps", TIMEOUT, "sleeps for ever"),
    BAD("reads_after", BAD_READ, "reads one element behind x"),
    BAD("reads_before", BAD_READ, "reads one element before x"),
    BAD("writes_after", BAD_WRITE, "writes one element behind y"),
    BAD("writes_before", BAD_WRITE, "writes one element before y"),
    BAD("modifies_input", INPUT_MODIFIED, "writes to x"),
    BAD("leaves_unwritten", UNWRITTEN, "leaves an element of y unwritten"),
    BAD("writes_nan", NAN, "writes a NaN"),
    BAD("returns_error", ERROR, "returns the status error"),
    BAD("returns_garbage", ERROR, "returns a status that there is not"),
    BAD("returns_huge", FAIL, "writes values near 2^64"),
    BAD("varies", NONDETERMINISTIC, "gives other bits each time"),
    BAD("stale", NONDETERMINISTIC, "gives what the call before computed"),
    BAD("writes_later", BAD_WRITE, "writes to y after it returned"),
    BAD("closes_descriptors", ERROR, "closes descriptors that are not its own"),
    BAD("swaps_pairs", FAIL, "rotates the wrong pairs"),
    {.name = "knows_values", .verdict = POSREF_VERDICT_FAIL,
     .id = "fresh/rope/half/none/d4-b1e4/near", .here = "fresh/",
     .what = "knows a stored vector, and not how to compute it"},
    {.name = "far_rows", .verdict = POSREF_VERDICT_FAIL, .id = "property/rope/", .here = "/batch/",
     .what = "mixes up rows behind the 64th"},
    {.name = "decodes_late", .verdict = POSREF_VERDICT_FAIL, .id = "property/rope/",
     .here = "/incremental/", .what = "turns single rows by the next position"},
    {.name = "crashes_in_open", .verdict = POSREF_VERDICT_CRASH, .everywhere = true,
     .what = "calls abort while it is opened"},
    {.name = "crashes_in_close", .verdict = POSREF_VERDICT_PASS, .close = "crash",
     .what = "is right, and calls abort while it is closed"},
    {.name = "prints", .verdict = POSREF_VERDICT_PASS,
     .what = "is right, and prints lines that look like a report's"},
    {.name = "leaves_threads", .verdict = POSREF_VERDICT_PASS,
     .what = "is right, and leaves a thread, a signal handler and a locale behind"},
    {.name = "forks", .verdict = POSREF_VERDICT_PASS,
     .what = "is right, and leaves children behind"},
    {.name = "no_entry", .no_plugin = true, .what = "exports no entry point"},
    {.name = "other_abi", .no_plugin = true, .what = "has an ABI of another time"},
    {.name = "refuses_to_open", .no_plugin = true, .what = "returns an error from open"},
    {.name = NULL},
};
