# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the tests of this group: machines in which allocations can be made to fail (CONFIG_FAULT_INJECTION).
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/modes/lib.sh
. "$here/../modes/lib.sh"
export CRTEST_FACTOR=20
program_limit=1200 # seconds, in run_one()
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work" "$log"' EXIT

# What may fail: all, and also when it could wait for memory.
prepare_faults()
{
	local debug=/sys/kernel/debug fault

	mountpoint -q "$debug" || mount -t debugfs none "$debug"
	if [ ! -d "$debug/failslab" ]; then
		echo "1..0 # SKIP this kernel has no fault injection (CONFIG_FAILSLAB)"
		exit 0
	fi
	for fault in failslab fail_page_alloc; do echo N >"$debug/$fault/ignore-gfp-wait" || exit 1; done
	echo N >"$debug/fail_page_alloc/ignore-gfp-highmem" || exit 1
	echo 0 >"$debug/fail_page_alloc/min-order" || exit 1
	for fault in failslab fail_page_alloc fail_usercopy; do echo 0 >"$debug/$fault/verbose" || exit 1; done
}

# A tool of that name in $work, which crtest-run starts with an environment of its own.
make_tool() # NAME LINE...
{
	local name=$1
	shift
	printf '%s\n' '#!/bin/bash' "$@" >"$work/$name"
	chmod 755 "$work/$name"
}
