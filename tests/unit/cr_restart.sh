#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# cr_restart without a module: exit statuses of contexts that cannot be restarted on this machine, whatever else it lacks.
set -u

here=$(cd "$(dirname "$0")" && pwd)
cr_restart=${CRYO_BUILD:-$here/../../build}/cr_restart
count=0 failed=0

if [ ! -x "$cr_restart" ]; then
	echo "Bail out! $cr_restart is missing: make builds it"
	exit 1
fi

# exits STATUS NAME TEXT ARGUMENT...: with that text among what it says.
exits()
{
	local wanted=$1 name=$2 text=$3 status=0 said
	shift 3
	said=$("$cr_restart" "$@" 2>&1 </dev/null) || status=$?
	count=$((count + 1))
	if [ "$status" -eq "$wanted" ] && [[ $said == *"$text"* ]]; then
		echo "ok $count - $name"
	else
		failed=1
		printf 'not ok %d - %s\n# status %d instead of %d\n' "$count" "$name" "$status" "$wanted"
		printf '%s\n' "$said" | sed 's/^/# /'
	fi
}

other=aarch64
[ "$(uname -m)" != aarch64 ] || other=x86_64
for option in --check --map --no-map; do
	exits 55 "another architecture, $option: CR_EBADARCH" "the context is of a process on $other, this is $(uname -m)" \
		"$option" "$here/golden/$other-1.0.zst"
done
exits 42 "... --run-on-fail-perm" "" --run-on-fail-perm='exit 42' --run-on-fail-env='exit 41' "$here/golden/$other-1.0.zst"
exits 255 "no file" "No such file or directory" "$here/golden/none"
whole=$cr_restart
ignoring() { perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$whole" "$@"; }
cr_restart=ignoring
exits 7 "--run-on-fail-args, with SIGCHLD ignored by the caller" "" --run-on-fail-args='exit 7' --no-such-option
cr_restart=$whole
wrong="cr_restart: -v prints the version and takes no context file; --verbose is for more output"
exits 0 "-v" "cr_restart (Cryo) " -v
exits 255 "-v and a file" "$wrong" -v "$here/golden/$other-1.0.zst"
exits 255 "a file and -v" "$wrong" "$here/golden/$other-1.0.zst" -v
exits 255 "-v and --file" "$wrong" -v --file "$here/golden/$other-1.0.zst"
exits 255 "-v and --fd" "$wrong" -v --fd 0
exits 0 "--help" "Usage: cr_restart" --help

echo "1..$count"
exit "$failed"
