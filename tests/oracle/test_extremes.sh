#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The ends of the input space through `posref eval`.
exec "$BUILD/tests/oracle/extremes" "$POSREF"
