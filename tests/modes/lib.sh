# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the tests of this group: the programs of ../state, of which one result each is told.
set -u
export LC_ALL=C CRTEST_MODES=restart
log=$(mktemp)
trap 'rm -f "$log"' EXIT
tap=0 bad=0

run_one() # PROGRAM
{
	tap=$((tap + 1))
	if timeout "${program_limit:-120}" "$1" >"$log" 2>&1 </dev/null && ! grep -q '^not ok' "$log"; then
		echo "ok $tap - ${1##*/}$(sed -n '/^1\.\.0/s/^1\.\.0/ /p; s/^ok .* # SKIP/ # SKIP/p' "$log" | head -n 1)"
		return
	fi
	echo "not ok $tap - ${1##*/}"
	grep '^not ok' "$log" | sed 's/^/# /'
	sed 's/^/# /' "$log" | tail -n 40
	bad=1
}

run_programs() # [NAME...]: all
{
	local name directory
	directory=$(cd "$(dirname "$0")/../state" && pwd) && cd "$directory" || exit 1
	[ $# -gt 0 ] || set -- *
	for name in "$@"; do
		case $name in
		# What is refused is not restarted, snap-* do it themselves, and the others are no tests.
		refuse*|snap-*|crtest-run|tamper|prove) continue ;;
		esac
		[ ! -f "$name" ] || [ ! -x "$name" ] || run_one "$directory/$name"
	done
	echo "1..$tap"
	exit "$bad"
}
