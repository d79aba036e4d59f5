/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF's numbers of element types. Those we cannot decode still have a size, so that whole rows
 * can be compared and moved. */
#include "vectors/gguf_types.h"

static const struct gguf_type types[] = {
    {0, POSREF_STORED_F32, "F32", 1, 4},
    {1, POSREF_STORED_F16, "F16", 1, 2},
    {2, POSREF_STORED_Q4_0, "Q4_0", 32, 18},
    {3, POSREF_STORED_Q4_1, "Q4_1", 32, 20},
    {6, POSREF_STORED_Q5_0, "Q5_0", 32, 22},
    {7, POSREF_STORED_Q5_1, "Q5_1", 32, 24},
    {8, POSREF_STORED_Q8_0, "Q8_0", 32, 34},
    {9, POSREF_STORED_OTHER_BLOCKS, "Q8_1", 32, 36},
    {10, POSREF_STORED_Q2_K, "Q2_K", 256, 84},
    {11, POSREF_STORED_Q3_K, "Q3_K", 256, 110},
    {12, POSREF_STORED_Q4_K, "Q4_K", 256, 144},
    {13, POSREF_STORED_Q5_K, "Q5_K", 256, 176},
    {14, POSREF_STORED_Q6_K, "Q6_K", 256, 210},
    {15, POSREF_STORED_Q8_K, "Q8_K", 256, 292},
    {16, POSREF_STORED_OTHER_BLOCKS, "IQ2_XXS", 256, 66},
    {17, POSREF_STORED_OTHER_BLOCKS, "IQ2_XS", 256, 74},
    {18, POSREF_STORED_OTHER_BLOCKS, "IQ3_XXS", 256, 98},
    {19, POSREF_STORED_OTHER_BLOCKS, "IQ1_S", 256, 50},
    {20, POSREF_STORED_OTHER_BLOCKS, "IQ4_NL", 32, 18},
    {21, POSREF_STORED_OTHER_BLOCKS, "IQ3_S", 256, 110},
    {22, POSREF_STORED_OTHER_BLOCKS, "IQ2_S", 256, 82},
    {23, POSREF_STORED_OTHER_BLOCKS, "IQ4_XS", 256, 136},
    {24, POSREF_STORED_I8, "I8", 1, 1},
    {25, POSREF_STORED_I16, "I16", 1, 2},
    {26, POSREF_STORED_I32, "I32", 1, 4},
    {27, POSREF_STORED_I64, "I64", 1, 8},
    {28, POSREF_STORED_F64, "F64", 1, 8},
    {29, POSREF_STORED_OTHER_BLOCKS, "IQ1_M", 256, 56},
    {30, POSREF_STORED_BF16, "BF16", 1, 2},
    {34, POSREF_STORED_OTHER_BLOCKS, "TQ1_0", 256, 54},
    {35, POSREF_STORED_OTHER_BLOCKS, "TQ2_0", 256, 66},
    {39, POSREF_STORED_OTHER_BLOCKS, "MXFP4", 32, 17},
    {40, POSREF_STORED_OTHER_BLOCKS, "NVFP4", 64, 36},
};

const struct gguf_type *gguf_type_find(uint32_t number)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == number)
            return &types[i];
    return NULL;
}
