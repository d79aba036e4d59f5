/* SPDX-License-Identifier: Apache-2.0 */
/* The second front door of vectors/: tensor files. safetensors in and out, GGUF, npy, whole
 * checkpoints, and the decoding of their elements. */
#ifndef POSREF_VECTORS_FILES_H
#define POSREF_VECTORS_FILES_H

#include "vectors/checkpoint.h"
#include "vectors/decode.h"
#include "vectors/safetensors.h"

#endif
