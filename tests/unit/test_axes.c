/* SPDX-License-Identifier: Apache-2.0 */
/* Rope over several axes: which axis and frequency each pair has, the relative property over
 * (dt, dh, dw), the independence of axes, equalities between models' conventions, exact parts of a
 * turn, and what is refused. */
#include "eval_fixture.h"

#include <math.h>
#include <string.h>

#define MAX_DIM 128

/* y [dim] of x at one position of n_axes axes. */
static void turn(double *y, const char *spec, const double *position, int n_axes, const double *x)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    evaluation_input(&e, "positions", position, 2, (const int64_t[]){n_axes, 1});
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, e.spec.dim});
    memcpy(y, evaluation_run(&e, POSREF_OP_ROTATE, "y", NULL),
           (size_t)e.spec.dim * sizeof(double));
    evaluation_close(&e);
}

static void random_x(double *x, int n, uint64_t seed)
{
    for (int k = 0; k < n; k++)
        x[k] = next_random(&seed);
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum = fma(a[k], b[k], sum);
    return sum;
}

/* The axis of each pair, read off the table: the one position that moves it. */
static void check_order(const char *spec, const char *want)
{
    const int n = (int)strlen(want);
    struct evaluation e;
    evaluation_open(&e, spec);
    int n_axes = e.spec.given[POSREF_FIELD_AXES_DIMS] ? e.spec.axes_dims.n
                                                      : e.spec.mrope_section.n;
    evaluation_close(&e);
    for (int axis = 0; axis < n_axes; axis++) {
        double position[8] = {0};
        int64_t count;
        position[axis] = 1;
        evaluation_open(&e, spec);
        evaluation_input(&e, "positions", position, 2, (const int64_t[]){n_axes, 1});
        const double *sine = evaluation_run(&e, POSREF_OP_TABLE, "sin", &count);
        ck_assert_int_eq(count, n);
        for (int i = 0; i < n; i++)
            ck_assert_msg((sine[i] != 0) == (want[i] == "thwe4567"[axis]), "%s: pair %d, axis %d",
                          spec, i, axis);
        evaluation_close(&e);
    }
}

START_TEST(orders_of_sections)
{
    check_order("dim=16 mrope_section=4,2,2", "tttthhww");
    check_order("dim=16 mrope_section=4,2,2 mrope_interleaved=true", "thwthwtt");
    check_order("dim=16 mrope_section=4,2,2 mrope_order=interleaved", "thwthwtt");
    /* vLLM's own witness */
    check_order("dim=10 mrope_section=3,1,1 mrope_interleaved=true", "thwtt");
    check_order("dim=16 mrope_section=3,3,2,0 mrope_order=imrope", "thwthwth");
    check_order("dim=16 mrope_section=4,2,2,0 mrope_order=imrope", "thwthwte");
    check_order("dim=16 mrope_section=2,2,4 mrope_order=hw_t", "hwhwtttt");
    check_order("dim=16 mrope_section=2,2,3,1", "tthhwwwe");
    check_order("dim=16 mrope_section=8", "tttttttt");
    check_order("dim=16 mrope_section=0,8", "hhhhhhhh");
    /* openPangu's builder, run by hand */
    check_order("dim=24 mrope_section=6,4,2 mrope_order=greedy", "thwththwthtt");
    check_order("dim=24 mrope_section=2,7,3 mrope_order=greedy", "thwhwhwhhhht");
    check_order("dim=16 mrope_section=5,3 mrope_order=greedy", "thththtt");
}
END_TEST

/* Qwen3-VL's 24, 20, 20: pairs 60 to 63 are t, of which ggml turns 61 and 62 by a fourth stream. */
START_TEST(the_fourth_stream)
{
    char want[65] = {0};
    for (int i = 0; i < 64; i++)
        want[i] = i < 60 ? "thw"[i % 3] : 't';
    check_order("dim=128 base=5000000 mrope_section=24,20,20 mrope_interleaved=true", want);
    want[61] = want[62] = 'e';
    check_order("dim=128 base=5000000 mrope_section=24,20,20,0 mrope_order=imrope", want);
}
END_TEST

START_TEST(orders_of_dims)
{
    check_order("dim=16 axes_dims=4,6,6", "tthhhwww");
    check_order("dim=12 axes_dims=4,4,4 axes_order=frequency", "thwthw");
    check_order("dim=12 axes_dims=4,4,4 axes_ladder=split", "tthhww");
    check_order("dim=16 axes_dims=2,2,2,2,2,2,2,2", "thwe4567");
}
END_TEST

static void check_frequencies(const char *spec, const double *want, int n)
{
    struct evaluation e;
    int64_t count;
    evaluation_open(&e, spec);
    const double *got = evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", &count);
    ck_assert_int_eq(count, n);
    for (int i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= 4e-16 * want[i], "%s: %d is %.17g, not %.17g",
                      spec, i, got[i], want[i]);
    evaluation_close(&e);
}

START_TEST(ladders)
{
    const double quarter = 1.5707963267948966, turn_rad = 6.283185307179586;
    check_frequencies("dim=12 base=10000 axes_dims=8,4", (const double[]){1, 0.1, 0.01, 0.001,
                                                                        1, 0.01}, 6);
    check_frequencies("dim=8 base=10000 axes_dims=4,4 axes_ladder=shared",
                      (const double[]){1, 0.1, 0.01, 0.001}, 4);
    check_frequencies("dim=8 base=10000 axes_dims=4,4 axes_ladder=split",
                      (const double[]){1, 0.01, 0.1, 0.001}, 4);
    check_frequencies("dim=8 base=10000 mrope_section=2,1,1",
                      (const double[]){1, 0.1, 0.01, 0.001}, 4);
    check_frequencies("dim=12 base=100 axes_dims=6,6 axes_ladder=log_linspace "
                      "axes_order=frequency angle_unit=quarter_turn",
                      (const double[]){quarter, quarter, 10 * quarter, 10 * quarter,
                                       100 * quarter, 100 * quarter}, 6);
    check_frequencies("dim=8 base=100 axes_dims=4,4 angle_unit=turn",
                      (const double[]){turn_rad, turn_rad / 10, turn_rad, turn_rad / 10}, 4);
    check_frequencies("dim=4 base=10 axes_dims=2,2 axes_ladder=log_linspace",
                      (const double[]){1, 1}, 2);
    /* Cosmos: the base of an axis of 8 times 2^(8/6) divides its last frequency by 2. */
    check_frequencies("dim=12 base=10000 axes_dims=8,4 axes_ntk=2,1",
                      (const double[]){1, 0.1 / pow(2, 1 / 3.0), 0.01 / pow(2, 2 / 3.0), 0.0005,
                                       1, 0.01}, 6);
    check_frequencies("dim=12 base=10000 axes_dims=8,4 scaling=linear factor=4",
                      (const double[]){0.25, 0.025, 0.0025, 0.00025, 0.25, 0.0025}, 6);
    check_frequencies("dim=12 base=10000 axes_dims=8,4 scaling=ntk factor=4",
                      (const double[]){1, 0.1 / pow(4, 1 / 3.0), 0.01 / pow(4, 2 / 3.0), 0.00025,
                                       1, 0.0025}, 6);
}
END_TEST

static const struct {
    const char *spec;
    int n_axes;
} specs[] = {
    {"dim=60 axes_dims=16,24,20", 3},
    {"dim=60 axes_dims=16,24,20 pairing=half", 3},
    {"dim=60 axes_dims=16,24,20 pairing=half axes_span=head base=256", 3},
    {"dim=64 rotary_dim=60 partial=trailing axes_dims=20,20,20 axes_order=frequency "
     "axes_ladder=log_linspace base=100 angle_unit=quarter_turn", 3},
    {"dim=64 mrope_section=16,10,6", 3},
    {"dim=64 mrope_section=14,10,8 mrope_interleaved=true", 3},
    {"dim=64 mrope_section=10,10,12 mrope_order=hw_t pairing=interleaved", 3},
    {"dim=64 rotary_dim=24 mrope_section=4,4,4 base=1000000 direction=inverse", 3},
    {"dim=128 mrope_section=16,24,24 scaling=yarn factor=4 "
     "original_max_position_embeddings=32768 attention_factor=1", 3},
    {"dim=80 axes_dims=40,40 pairing=half axes_span=head", 2},
    {"dim=64 axes_dims=32,32 pairing=half axes_span=head axes_ladder=split", 2},
    {"dim=64 axes_dims=32,32 pairing=half axes_span=head angle_unit=turn base=100", 2},
    {"dim=128 axes_dims=32,32,32,32 base=2000", 4},
};
#define N_SPECS ((int)(sizeof specs / sizeof *specs))

static int dim_of(const char *spec)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    int dim = e.spec.dim;
    evaluation_close(&e);
    return dim;
}

START_TEST(scores_depend_on_the_distances_alone)
{
    static const double starts[][4] = {{0, 0, 0, 0}, {3, 17, 255, 4}, {1000, 5, -70, 9},
                                       {-2, 131, 0, 2047}};
    static const double distances[][4] = {{1, 0, 0, 0}, {0, -2, 0, 0}, {0, 0, 3, 1}, {5, 7, 11, 2}};
    for (int s = 0; s < N_SPECS; s++) {
        const char *spec = specs[s].spec;
        const int dim = dim_of(spec);
        double q[MAX_DIM], k[MAX_DIM], at_q[MAX_DIM], at_k[MAX_DIM];
        random_x(q, dim, 1);
        random_x(k, dim, 2);
        for (size_t d = 0; d < 4; d++) {
            double want = 0;
            for (size_t p = 0; p < 4; p++) {
                double other[4];
                for (int axis = 0; axis < 4; axis++)
                    other[axis] = starts[p][axis] + distances[d][axis];
                turn(at_q, spec, starts[p], specs[s].n_axes, q);
                turn(at_k, spec, other, specs[s].n_axes, k);
                double score = dot(at_q, at_k, dim);
                if (p == 0)
                    want = score;
                ck_assert_msg(fabs(score - want) <= 2e-13, "%s: %zu %zu: %.17g %.17g", spec, d, p,
                              score, want);
            }
        }
    }
}
END_TEST

/* Moving along one axis changes only the channels of its pairs, and each axis changes some. */
START_TEST(axes_are_independent)
{
    for (int s = 0; s < N_SPECS; s++) {
        const char *spec = specs[s].spec;
        const int dim = dim_of(spec), n_axes = specs[s].n_axes;
        double x[MAX_DIM], base[MAX_DIM], moved[MAX_DIM];
        int owner[MAX_DIM], n_owned[4] = {0};
        const double at[4] = {3, 5, 7, 11};
        memset(owner, -1, sizeof owner);
        random_x(x, dim, 3);
        turn(base, spec, at, n_axes, x);
        for (int axis = 0; axis < n_axes; axis++) {
            double there[4] = {3, 5, 7, 11};
            there[axis] += 1.75;
            turn(moved, spec, there, n_axes, x);
            for (int k = 0; k < dim; k++) {
                if (moved[k] == base[k])
                    continue;
                ck_assert_msg(owner[k] < 0, "%s: channel %d moves on two axes", spec, k);
                owner[k] = axis;
                n_owned[axis]++;
            }
        }
        for (int axis = 0; axis < n_axes; axis++)
            ck_assert_msg(n_owned[axis] > 0, "%s: axis %d", spec, axis);
    }
}
END_TEST

/* t = h = w makes sections plain rope, whatever their order. */
START_TEST(equal_coordinates_are_plain_rope)
{
    static const char *const orders[] = {"mrope_section=12,10,10",
                                         "mrope_section=12,10,10 mrope_interleaved=true",
                                         "mrope_section=10,10,12 mrope_order=hw_t",
                                         "mrope_section=12,10,10 mrope_order=greedy"};
    double x[64], want[64], got[64];
    const double one = 1234567, three[3] = {one, one, one};
    random_x(x, 64, 4);
    rotate_rows(want, "dim=64", &one, x, 1);
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        char spec[80];
        snprintf(spec, sizeof spec, "dim=64 %s", orders[k]);
        turn(got, spec, three, 3, x);
        ck_assert_same(got, want, 64);
    }
}
END_TEST

/* An axis of a head on its own is a rope of its width; half pairs over the head are a permutation
 * of half pairs in the axes. */
START_TEST(blocks_are_ropes)
{
    double x[20], got[20], want[20];
    const double position[2] = {-77, 4099};
    random_x(x, 20, 5);
    for (int p = 0; p < 4; p++) {
        const char *pairing = (const char *const[]){"half", "interleaved", "interleaved_to_half",
                                                    "mismatched"}[p];
        char whole[80], first[80], second[80];
        snprintf(whole, sizeof whole, "dim=20 axes_dims=8,12 pairing=%s", pairing);
        snprintf(first, sizeof first, "dim=8 pairing=%s", pairing);
        snprintf(second, sizeof second, "dim=12 pairing=%s", pairing);
        turn(got, whole, position, 2, x);
        rotate_rows(want, first, &position[0], x, 1);
        rotate_rows(want + 8, second, &position[1], x + 8, 1);
        ck_assert_same(got, want, 20);
    }
    /* channels of the head: axis 0 pairs are (i, i + 10), i < 4; axis 1 pairs the rest */
    double mixed[20], turned[20];
    for (int i = 0; i < 4; i++) {
        mixed[i] = x[i];
        mixed[i + 4] = x[i + 10];
    }
    for (int i = 0; i < 6; i++) {
        mixed[8 + i] = x[4 + i];
        mixed[14 + i] = x[14 + i];
    }
    turn(turned, "dim=20 axes_dims=8,12 pairing=half", position, 2, mixed);
    turn(got, "dim=20 axes_dims=8,12 pairing=half axes_span=head", position, 2, x);
    for (int i = 0; i < 4; i++) {
        ck_assert_same(&got[i], &turned[i], 1);
        ck_assert_same(&got[i + 10], &turned[i + 4], 1);
    }
    for (int i = 0; i < 6; i++) {
        ck_assert_same(&got[4 + i], &turned[8 + i], 1);
        ck_assert_same(&got[14 + i], &turned[14 + i], 1);
    }
}
END_TEST

/* vLLM hands 4 L to yarn's range under M-RoPE: the same numbers as that length given. */
START_TEST(yarn_with_sections)
{
    struct evaluation e;
    int64_t n;
    double sectioned[64];
    evaluation_open(&e, "dim=128 base=1000000 mrope_section=16,24,24 scaling=yarn factor=4 "
                        "original_max_position_embeddings=131072");
    memcpy(sectioned, evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", &n), sizeof sectioned);
    evaluation_close(&e);
    evaluation_open(&e, "dim=128 base=1000000 scaling=yarn factor=4 "
                        "original_max_position_embeddings=131072");
    ck_assert_same(sectioned, evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", &n), 64);
    evaluation_close(&e);
}
END_TEST

/* Frequencies counted in turns: quarters are exact, eighths cancel exactly, twelfths halve. */
START_TEST(exact_parts_of_a_turn)
{
    const char *spec = "dim=4 axes_dims=2,2 angle_unit=turn";
    double y[4];
    turn(y, spec, (const double[]){0.25, -0.5}, 2, (const double[]){3, 5, 7, 11});
    ck_assert_same(y, ((const double[]){-5, 3, -7, -11}), 4);
    turn(y, spec, (const double[]){0.125, 0.375}, 2, (const double[]){3, 3, 7, -7});
    ck_assert_double_eq(y[0], 0);
    ck_assert(!signbit(y[0]));
    ck_assert_double_eq(y[1], 4.242640687119285);
    ck_assert_double_eq(y[2], 0);
    ck_assert_double_eq(y[3], 9.899494936611665);
    double wide[8];
    /* base 9: frequency 1/3, position 0.5: a sixth of a turn. Half of the smallest number ties. */
    turn(wide, "dim=8 base=9 axes_dims=4,4 angle_unit=turn pairing=half axes_span=head",
         (const double[]){0.5, 0}, 2, (const double[]){1, 0x1p-1074, 0, 0, 0, 0, 0, 0});
    ck_assert_double_eq(wide[0], -1);
    ck_assert_double_eq(wide[1], 0); /* ties to even */
    /* base 100: frequency 1/10, position 2.5 */
    turn(wide, "dim=8 base=100 axes_dims=4,4 angle_unit=turn", (const double[]){2.5, 1.25}, 2,
         (const double[]){1, 2, 3, 4, 5, 6, 7, -7});
    ck_assert_same(wide, ((const double[]){-1, -2, -4, 3, -6, 5, 9.899494936611665, 0}), 8);
    /* LTX: quarters of a turn times powers of the base */
    turn(wide, "dim=8 base=1000 axes_dims=4,4 angle_unit=quarter_turn axes_ladder=log_linspace "
               "axes_order=frequency", (const double[]){1, -1}, 2,
         (const double[]){1, 2, 3, 4, 5, 6, 7, 8});
    ck_assert_same(wide, ((const double[]){-2, 1, 4, -3, 5, 6, 7, 8}), 8);
}
END_TEST

static void check_refused(const char *text, const char *key, const char *says)
{
    struct posref_spec spec, before;
    struct posref_error err = {"", ""};
    posref_spec_init(&spec);
    enum posref_status status = posref_spec_parse(&spec, text, &err);
    before = spec;
    if (status == POSREF_OK)
        status = posref_spec_complete(&spec, &err);
    ck_assert_msg(status == POSREF_BAD_INPUT, "%s", text);
    ck_assert_msg(strcmp(err.key, key) == 0, "%s: %s: %s", text, err.key, err.text);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s: %s", text, err.text);
    ck_assert_mem_eq(&spec, &before, sizeof spec);
}

START_TEST(refused)
{
    check_refused("dim=16 axes_dims=5,11", "axes_dims", "even");
    check_refused("dim=16 axes_dims=6,8", "axes_dims", "add up to rotary_dim=16");
    check_refused("dim=16 rotary_dim=8 axes_dims=8,8", "axes_dims", "rotary_dim=8");
    check_refused("dim=16 axes_dims=0,16", "axes_dims", "");
    check_refused("dim=18 axes_dims=2,2,2,2,2,2,2,2,2", "axes_dims", "");
    check_refused("dim=16 axes_dims=4,12 axes_ladder=split", "axes_dims", "equal");
    check_refused("dim=16 axes_dims=4,12 axes_order=frequency", "axes_dims", "equal");
    check_refused("dim=16 axes_dims=8,8 axes_order=frequency axes_span=axis", "axes_span", "");
    check_refused("dim=16 axes_span=head", "axes_span", "needs axes_dims");
    check_refused("dim=16 axes_ntk=1,2", "axes_ntk", "needs axes_dims");
    check_refused("dim=16 angle_unit=turn", "angle_unit", "needs axes_dims");
    check_refused("dim=16 axes_dims=8,8 axes_ntk=2", "axes_ntk", "one factor an axis");
    check_refused("dim=16 axes_dims=2,14 axes_ntk=2,1", "axes_ntk", ">= 4");
    check_refused("dim=16 axes_dims=8,8 axes_ntk=2,1 scaling=linear factor=2", "axes_ntk", "none");
    check_refused("dim=16 axes_dims=2,14 scaling=ntk factor=2", "scaling", ">= 4");
    check_refused("dim=16 axes_dims=8,8 scaling=yarn factor=2 "
                  "original_max_position_embeddings=100", "scaling", "independent");
    check_refused("dim=16 axes_dims=8,8 angle_unit=turn scaling=linear factor=2", "scaling",
                  "turn");
    check_refused("dim=16 mrope_section=4,2,1", "mrope_section", "rotary_dim / 2 = 8");
    check_refused("dim=16 mrope_section=8,4,4", "mrope_section", "got 16");
    check_refused("dim=16 rotary_dim=8 mrope_section=4,2,2", "mrope_section", "= 4");
    check_refused("dim=16 mrope_section=4,2,2 axes_dims=8,4,4", "mrope_section", "axes_dims");
    check_refused("dim=16 mrope_section=4,4 mrope_interleaved=true", "mrope_section", "3 to 3");
    check_refused("dim=16 mrope_section=4,2,2 mrope_order=imrope", "mrope_section", "4 to 4");
    check_refused("dim=16 mrope_section=4,2,2 mrope_order=hw_t", "mrope_section", "equal");
    check_refused("dim=16 mrope_section=0,4,4 mrope_order=greedy", "mrope_section", "empty");
    check_refused("dim=16 mrope_interleaved=true", "mrope_interleaved", "needs mrope_section");
    check_refused("dim=16 mrope_section=4,2,2 mrope_interleaved=true mrope_order=chunked",
                  "mrope_interleaved", "contradicts");
    check_refused("dim=16 mrope_section=4,2,2 mrope_interleaved=false mrope_order=interleaved",
                  "mrope_interleaved", "contradicts");
    check_refused("dim=16 mrope_section=4,-2,6", "mrope_section", "");
    check_refused("scheme=alibi num_heads=4 axes_dims=4,4", "axes_dims", "");
}
END_TEST

START_TEST(positions_refused)
{
    static const double values[12] = {0};
    struct evaluation e;
    evaluation_open(&e, "dim=16 axes_dims=8,8");
    evaluation_positions(&e, values, 4);
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
    evaluation_open(&e, "dim=16 axes_dims=8,8");
    evaluation_input(&e, "positions", values, 2, (const int64_t[]){3, 4});
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
    evaluation_open(&e, "dim=16 mrope_section=4,2,2");
    evaluation_positions(&e, values, 4);
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
    evaluation_open(&e, "dim=16");
    evaluation_input(&e, "positions", values, 2, (const int64_t[]){3, 4});
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
}
END_TEST

/* Three axes without a word: a third each, interleaved; other cases stay as they are. */
START_TEST(thirds_by_default)
{
    static const struct {
        const char *dim, *positions, *rotary_dim;
        int third; /* 0: not split */
    } cases[] = {{"24", "1:2:3", NULL, 8}, {"22", "1:2:3", NULL, 0}, {"24", "1:2", NULL, 0},
                 {"24", "1", NULL, 0}, {"24", "1:2:3", "12", 4}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct posref_heap *heap = posref_heap_new(0);
        struct posref_arena arena = posref_heap_arena(heap);
        struct posref_request request;
        struct posref_error err = {"", ""};
        posref_request_init(&request);
        ck_assert(posref_request_set(&request, "dim", cases[k].dim, &arena, &err) == POSREF_OK);
        ck_assert(posref_request_set(&request, "positions", cases[k].positions, &arena, &err) ==
                  POSREF_OK);
        if (cases[k].rotary_dim)
            ck_assert(posref_request_set(&request, "rotary_dim", cases[k].rotary_dim, &arena,
                                         &err) == POSREF_OK);
        ck_assert_msg(posref_request_complete(&request, &err) == POSREF_OK, "%s", err.text);
        ck_assert_int_eq(request.spec.given[POSREF_FIELD_AXES_DIMS], cases[k].third > 0);
        if (cases[k].third) {
            ck_assert_int_eq(request.spec.axes_dims.n, 3);
            ck_assert_int_eq(request.spec.axes_dims.item[2], cases[k].third);
            ck_assert_int_eq(request.spec.pairing, POSREF_PAIRING_INTERLEAVED);
        }
        posref_heap_free(heap);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        orders_of_sections, the_fourth_stream, orders_of_dims, ladders,
        scores_depend_on_the_distances_alone, axes_are_independent,
        equal_coordinates_are_plain_rope, blocks_are_ropes, yarn_with_sections,
        exact_parts_of_a_turn, refused, positions_refused, thirds_by_default};
    return RUN_EVALUATIONS("axes", tests);
}
