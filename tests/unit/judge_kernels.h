/* SPDX-License-Identifier: Apache-2.0 */
/* Rope kernels for test_judge: honest ones in several arithmetics, and the 26 faulty ones of the
 * project's experiment with other suites' criteria. Plain C; none of the reference's code. */
#ifndef JUDGE_KERNELS_H
#define JUDGE_KERNELS_H

#include "reference/judge.h"

enum arithmetic {
    ARITHMETIC_DOUBLE,     /* everything in double, output rounded once */
    ARITHMETIC_FLOAT32,    /* Hugging Face: inverse frequencies, angles, products in float32 */
    ARITHMETIC_EXPF,       /* float32, frequencies as expf(-x logf(base)) */
    ARITHMETIC_RECURRENCE, /* ggml: angle *= powf(base, -2/r) */
    ARITHMETIC_HARDWARE,   /* float32 with a sine of 2^-21 absolute error and a float reduction */
    ARITHMETIC_LOW,        /* float32 angles; tables, products and sums in the output dtype */
    N_ARITHMETICS
};

enum kernel_fault {
    FAULT_NONE, FAULT_FREQ_BF16, FAULT_FREQ_F16, FAULT_POSITION_BF16, FAULT_POSITION_F16,
    FAULT_TABLE_BF16, FAULT_BASE_1E4, FAULT_BASE_1E3, FAULT_EXPONENT_D_MINUS_2,
    FAULT_POSITION_PLUS_1,
    FAULT_REVERSED, FAULT_SWAPPED_LAYOUT, FAULT_RECURRENCE, FAULT_ONE_STEP_REDUCTION,
    FAULT_LAST_ELEMENT, FAULT_LAST_PAIR, FAULT_CLAMP_4096, FAULT_WRAP_32768, FAULT_INT16,
    FAULT_ABS_POSITION, FAULT_FAST_TRIG, FAULT_TRUNCATE, FAULT_SCALE_1001, FAULT_TWO_PI_FLOAT,
    FAULT_ROWS_SWAPPED, FAULT_NAN, FAULT_ZERO, N_FAULTS
};
extern const char *const kernel_fault_names[N_FAULTS];

/* y [n, heads, dim] as doubles that are values of the dtype. */
void kernel_rotate(double *y, const struct posref_spec *spec, const double *x,
                   const double *positions, int64_t n, int64_t heads, enum posref_dtype dtype,
                   enum arithmetic arithmetic, enum kernel_fault fault);
#endif
