#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A few seconds of random specs through `posref eval`, always the same ones.
exec "$BUILD/tests/oracle/fuzz" "$POSREF" 5 20240607
