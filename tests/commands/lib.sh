# SPDX-License-Identifier: GPL-2.0-only
# lib.sh - programs that have themselves checkpointed, and are then restarted (bash)
set -u
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
n=0 failed=0

check() # TEXT COMMAND...
{
	local what=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		local f
		for f in log log.first err restart.out; do
			[ ! -s "$f" ] || sed "s/^/# $f: /" "$f"
		done
		failed=1
	fi
}
same() { [ "$1" = "$2" ]; }
done_testing() { echo "1..$n"; exit "$failed"; }

# runs TEXT WANTED PROGRAM...: writes WANTED to its standard output, the file "log", once undisturbed but for its checkpoint,
# and once more after a restart from that.
runs()
{
	local what=$1 wanted=$2 status
	shift 2
	rm -f log log.first err restart.out ctx
	setsid timeout 120 setsid "$@" >log 2>err </dev/null
	status=$?
	check "$what: ends" same "$status" 0
	check "$what: output" same "$(cat log)" "$wanted"
	cp log log.first
	[ -e ctx ] || return
	# Who has started it has its output, too, and writes nothing.
	setsid timeout -k 5 60 cr_restart --truncate=aside ctx >restart.out 2>&1 </dev/null
	status=$?
	check "$what: ends after a restart" same "$status" 0
	check "$what: the same output" same "$(cat log)" "$wanted"
}
