# SPDX-License-Identifier: GPL-2.0-only
# lib.sh - whole jobs are taken through the same as the programs of tests/real (bash)
# Each needs minutes where nothing is emulated in seconds: fewer moments, unless CRYO_CHECK_ALL is set.
if [ -n "${CRYO_CHECK_ALL:-}" ]; then
	: "${REAL_MOMENTS:=10}"
else
	: "${REAL_MOMENTS:=2}" "${REAL_SECOND:=1}"
fi
# shellcheck source=tests/real/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../real/lib.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
