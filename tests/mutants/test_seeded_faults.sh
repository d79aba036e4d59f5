#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each of the 26 seeded faults is killed or recognised as docs/seeded-faults.md says.
exec "$(dirname "$0")/seeded_faults.sh" 1
