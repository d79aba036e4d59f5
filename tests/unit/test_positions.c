/* SPDX-License-Identifier: Apache-2.0 */
/* Positions as typed: lists and ranges, grids in every order and coordinate, and the mixed
 * sequences of M-RoPE, against values worked out by hand or published with the models' code. */
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct posref_heap *heap;
static struct posref_arena arena;

static void setup(void)
{
    heap = posref_heap_new(0);
    arena = posref_heap_arena(heap);
}

static void teardown(void)
{
    posref_heap_free(heap);
}

/* want: the rows, axis after axis. */
static void check_rows(const char *text, int n_axes, int n, const double *want)
{
    struct posref_tensor got;
    struct posref_error err = {{0}, {0}};
    ck_assert_msg(posref_positions_parse(&got, text, "positions", &arena, &err) == POSREF_OK,
                  "%s: %s", text, err.text);
    ck_assert_int_eq(got.rank, n_axes > 1 ? 2 : 1);
    ck_assert_int_eq(n_axes > 1 ? got.shape[0] : 1, n_axes);
    ck_assert_int_eq(got.shape[got.rank - 1], n);
    for (int i = 0; i < n * n_axes; i++)
        ck_assert_msg(((double *)got.data)[i] == want[i], "%s: %d is %.17g, not %.17g", text, i,
                      ((double *)got.data)[i], want[i]);
}

START_TEST(lists)
{
    check_rows("0", 1, 1, (double[]){0});
    check_rows("0,1,7", 1, 3, (double[]){0, 1, 7});
    check_rows("7,1,7,-3", 1, 4, (double[]){7, 1, 7, -3});
    check_rows("0..3", 1, 4, (double[]){0, 1, 2, 3});
    check_rows("-2..1", 1, 4, (double[]){-2, -1, 0, 1});
    check_rows("5..5", 1, 1, (double[]){5});
    check_rows("0..60/20", 1, 4, (double[]){0, 20, 40, 60});
    check_rows("0..7/3,100", 1, 4, (double[]){0, 3, 6, 100});
    check_rows("0.5,1.25,1e3", 1, 3, (double[]){0.5, 1.25, 1000});
    check_rows("0..1/0.25", 1, 5, (double[]){0, 0.25, 0.5, 0.75, 1});
    check_rows("1:2:3,4:5:6", 3, 2, (double[]){1, 4, 2, 5, 3, 6});
    check_rows("1:2", 2, 1, (double[]){1, 2});
    check_rows("grid:2:3", 2, 6, (double[]){0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2});
    check_rows("grid:2:1:2", 3, 4, (double[]){0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1});
    check_rows("2147483647", 1, 1, (double[]){2147483647});
}
END_TEST

START_TEST(coordinates)
{
    check_rows("grid:3@1", 1, 3, (double[]){1, 2, 3});
    check_rows("grid:3@-2", 1, 3, (double[]){-2, -1, 0});
    check_rows("grid:3@-1/0.25", 1, 3, (double[]){-1, -0.75, -0.5});
    /* Qwen-Image: the first ceil(n / 2) are negative. */
    check_rows("grid:4c", 1, 4, (double[]){-2, -1, 0, 1});
    check_rows("grid:5c", 1, 5, (double[]){-3, -2, -1, 0, 1});
    check_rows("grid:1c", 1, 1, (double[]){-1});
    /* DINOv3: centres of n bins of [-1, 1]. */
    check_rows("grid:4n", 1, 4, (double[]){-0.75, -0.25, 0.25, 0.75});
    check_rows("grid:3n", 1, 3, (double[]){-2.0 / 3, 0, 2.0 / 3});
    check_rows("grid:1n", 1, 1, (double[]){0});
    /* CogVideoX: linspace(first, last (n - 1) / n, n). */
    check_rows("grid:4@0..4", 1, 4, (double[]){0, 1, 2, 3});
    check_rows("grid:4@0..6", 1, 4, (double[]){0, 1.5, 3, 4.5});
    check_rows("grid:3@2..8", 1, 3, (double[]){2, 11.0 / 3, 16.0 / 3});
    check_rows("grid:1@5..9", 1, 1, (double[]){5});
}
END_TEST

START_TEST(orders)
{
    check_rows("grid:2@1:3", 2, 6, (double[]){1, 1, 1, 2, 2, 2, 0, 1, 2, 0, 1, 2});
    check_rows("xgrid:3:2", 2, 6, (double[]){0, 1, 2, 0, 1, 2, 0, 0, 0, 1, 1, 1});
    check_rows("xgrid:2@1:2@1,0:0", 2, 5, (double[]){1, 2, 1, 2, 0, 1, 1, 2, 2, 0});
    check_rows("grid:2:1:1:2", 4, 4, (double[]){0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1});
    /* Blocks of 2 x 2: patches 0 1 4 5, 2 3 6 7, ... of a row-major 2 x 4 grid. */
    check_rows("blocks:2:2:4", 2, 8,
               (double[]){0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 2, 3, 2, 3});
    check_rows("blocks:1:2:2", 2, 4, (double[]){0, 0, 1, 1, 0, 1, 0, 1});
    check_rows("blocks:2:2:2:2", 3, 8,
               (double[]){0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1,
                          0, 1, 0, 1, 0, 1, 0, 1});
}
END_TEST

/* The patches of a 4 x 4 grid with merge size 2, as vision towers take them. */
START_TEST(merge_order)
{
    static const int order[] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    double want[32];
    for (int i = 0; i < 16; i++) {
        want[i] = order[i] / 4;
        want[16 + i] = order[i] % 4;
    }
    check_rows("blocks:2:4:4", 2, 16, want);
}
END_TEST

START_TEST(sequences)
{
    /* Qwen2-VL's own example of a text, an image of 2 x 2 and a text. */
    check_rows("mrope:text=3,image=2x2,text=2", 3, 9,
               (double[]){0, 1, 2, 3, 3, 3, 3, 5, 6, 0, 1, 2, 3, 3, 4, 4, 5, 6,
                          0, 1, 2, 3, 4, 3, 4, 5, 6});
    check_rows("mrope:streams=4,text=1,image=1x2", 4, 3,
               (double[]){0, 1, 1, 0, 1, 1, 0, 1, 2, 0, 0, 0});
    check_rows("mrope:start=7,text=2", 3, 2, (double[]){7, 8, 7, 8, 7, 8});
    /* The two rules of what follows a long video: 1 + the largest, or max(H, W) on. */
    check_rows("mrope:text=1,video=3x1x1,text=1", 3, 5,
               (double[]){0, 1, 2, 3, 4, 0, 1, 1, 1, 4, 0, 1, 1, 1, 4});
    check_rows("mrope:next=space,text=1,video=3x1x1,text=1", 3, 5,
               (double[]){0, 1, 2, 3, 2, 0, 1, 1, 1, 2, 0, 1, 1, 1, 2});
    /* and they agree where the grid is at least as wide as the video is long */
    check_rows("mrope:next=space,video=1x1x2,text=1", 3, 3,
               (double[]){0, 0, 2, 0, 0, 2, 0, 1, 2});
    check_rows("mrope:video=1x1x2,text=1", 3, 3, (double[]){0, 0, 2, 0, 0, 2, 0, 1, 2});
}
END_TEST

START_TEST(temporal_steps)
{
    /* Half a second a grid step, 2 positions a second: 0, 1, 2 when truncated after the product;
     * every frame the same when the seconds are truncated first. */
    check_rows("mrope:seconds=0.5,rate=2,video=3x1x1", 3, 3,
               (double[]){0, 1, 2, 0, 0, 0, 0, 0, 0});
    check_rows("mrope:step=before,seconds=0.5,rate=2,video=3x1x1", 3, 3,
               (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0});
    check_rows("mrope:step=before,seconds=2.5,rate=3,video=3x1x1", 3, 3,
               (double[]){0, 6, 12, 0, 0, 0, 0, 0, 0});
    check_rows("mrope:seconds=2.5,rate=3,video=3x1x1", 3, 3,
               (double[]){0, 7, 15, 0, 0, 0, 0, 0, 0});
    /* 10 times the double nearest to 0.1, which is above it, and of 0.29 below 2.9 / 10 */
    check_rows("mrope:seconds=0.1,rate=10,video=2x1x1", 3, 2, (double[]){0, 1, 0, 0, 0, 0});
    check_rows("mrope:seconds=0.29,rate=100,video=2x1x1", 3, 2, (double[]){0, 28, 0, 0, 0, 0});
    /* options hold for what follows them */
    check_rows("mrope:video=2x1x1,seconds=4,video=2x1x1", 3, 4,
               (double[]){0, 1, 2, 6, 0, 0, 2, 2, 0, 0, 2, 2});
}
END_TEST

START_TEST(lists_refused)
{
    static const char *const bad[] = {"", ",", "0,", ",0", "a", "0..", "..3", "3..1", "0..3/0",
                                      "0..3/-1", "0..1e9", "0..65536", "1:2,3", "1:2:3:4:5:6:7:8:9",
                                      "grid:0:2", "grid:300:300", "grid:1.5:2", "grid:", "1:",
                                      "0 ,1", "0..3..5", "nan", "inf", "1e400", "0;1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct posref_tensor got;
        struct posref_error err = {{0}, {0}};
        ck_assert_msg(posref_positions_parse(&got, bad[i], "k_positions", &arena, &err) ==
                      POSREF_BAD_INPUT, "%s", bad[i]);
        ck_assert_str_eq(err.key, "k_positions");
        ck_assert(err.text[0] && !strchr(err.text, '\n'));
    }
    struct posref_tensor got;
    struct posref_error err = {{0}, {0}};
    char *many = malloc(200001);
    for (int i = 0; i < 100000; i++)
        memcpy(many + 2 * i, "1,", 2);
    many[199999] = '\0';
    ck_assert(posref_positions_parse(&got, many, "positions", &arena, &err) == POSREF_BAD_INPUT);
    free(many);
}
END_TEST

START_TEST(refused)
{
    static const char *const bad[] = {
        "grid:3d", "grid:c", "grid:3@", "grid:3@x", "grid:3@1/", "grid:3@1..", "grid:3@0.5..2",
        "grid:2c3", "grid:3cn", "grid:3c@1", "grid:-3", "grid:3:", "grid::3",
        "grid:1:1:1:1:1:1:1:1:1",
        "xgrid:", "blocks:2", "blocks:2:4", "blocks:2:3:4", "blocks:2:4:3", "blocks:0:2:2",
        "blocks:2:300:300", "grid:2:2,grid:2", "grid:2:2,1",
        "mrope:", "mrope:text", "mrope:text=", "mrope:text=0", "mrope:text=-1", "mrope:text=1.5",
        "mrope:text=70000", "mrope:image=2", "mrope:image=2x2x2", "mrope:image=2x",
        "mrope:image=x2",
        "mrope:image=0x2", "mrope:image=300x300", "mrope:video=2x2", "mrope:next=up,text=1",
        "mrope:next=all", "mrope:step=2,text=1", "mrope:seconds=-1,text=1", "mrope:rate=0,text=1",
        "mrope:streams=5,text=1", "mrope:pixels=3", "mrope:text=1,", "mrope:text=1,,text=1",
        "mrope:text=1,1:1:1", "mrope:streams=3,text=1,streams=4,text=1", "0:0:0,mrope:text=1",
        "mrope:text=40000,text=40000", "mrope:start=1e10,text=1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct posref_tensor got;
        struct posref_error err = {{0}, {0}};
        ck_assert_msg(posref_positions_parse(&got, bad[i], "positions", &arena, &err) ==
                      POSREF_BAD_INPUT, "%s", bad[i]);
        ck_assert_str_eq(err.key, "positions");
        ck_assert_msg(err.text[0] && !strchr(err.text, '\n'), "%s", bad[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("positions");
    TCase *tests = tcase_create("positions");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, coordinates);
    tcase_add_test(tests, orders);
    tcase_add_test(tests, merge_order);
    tcase_add_test(tests, sequences);
    tcase_add_test(tests, temporal_steps);
    tcase_add_test(tests, lists_refused);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
