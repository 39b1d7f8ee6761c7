#!/bin/sh
# A compiler of the user's own.
exec gcc -DPTE_TEST_COMPILER "$@"
