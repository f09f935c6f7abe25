#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# cr_info as it is called: what it prints of contexts that earlier versions wrote, exit codes, options.
#
# golden/NAME.zst are contexts, golden/NAME.txt what `cr_info -vv` says of them. When the report is
# changed on purpose: tests/unit/cr_info.sh --update, and look at the difference. The contexts themselves are
# never changed; each version of the format adds some (tests/fuzz/make_corpus writes them).
set -u

here=$(cd "$(dirname "$0")" && pwd)
cr_info=${CRYO_BUILD:-$here/../../build}/cr_info
count=0 failed=0

if [ ! -x "$cr_info" ]; then
	echo "Bail out! $cr_info is missing: make builds it"
	exit 1
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

ok()
{
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		sed 's/^/# /' out err
	fi
}

# exits STATUS NAME ARGUMENT...
exits()
{
	local wanted=$1 name=$2 status=0
	shift 2
	"$cr_info" "$@" >out 2>err </dev/null || status=$?
	[ "$status" -eq "$wanted" ] || echo "status $status instead of $wanted" >>err
	[ "$status" -eq "$wanted" ]
	ok $? "$name"
}

# says TEXT NAME: in what the last command printed.
says()
{
	grep -qF -- "$1" out err
	ok $? "$2"
}

if [ "${1:-}" = --update ]; then
	for context in "$here"/golden/*.zst; do
		(cd "$here/golden" && "$cr_info" -vv "${context##*/}" >"${context%.zst}.txt")
	done
	exit
fi

# Of root's own, whoever the sources belong to.
mkdir golden
for context in "$here"/golden/*.zst; do
	name=$(basename "$context" .zst)
	status=0
	cat "$context" >"golden/$name.zst"
	context=$dir/golden/$name.zst
	(cd golden && "$cr_info" -vv "$name.zst") >out 2>err || status=$?
	[ "$name" = unknown-1.0 ] && wanted=2 || wanted=0
	[ "$status" -eq "$wanted" ] && diff "$here/golden/$name.txt" out >err
	ok $? "$name is shown as before"
	"$cr_info" --json "$context" >out 2>err
	grep -q '"pages_verified": true' out
	ok $? "$name as JSON"
	[ "$(grep -c '^      "section": ' out)" -gt 5 ] && grep -q '"comm": "' out
	ok $? "... with each section and field"
done

cp "$here/golden/x86_64-1.0.zst" good.zst
zstd -qd good.zst -o good || { echo "Bail out! zstd is missing"; exit 1; }
head -c 5000 good >part
cp good bad
printf 'X' | dd of=bad bs=1 seek=6000 conv=notrunc status=none
cp good newer
printf '\002' | dd of=newer bs=1 seek=12 conv=notrunc status=none

exits 0 "a whole context" good
exits 0 "each section and field" -vvv good
says "PROCESS 1000; pid 1000, ppid " "it shows them"
exits 0 "without verification" --no-verify good
says "were not verified" "it says that it did not verify"
exits 1 "a context that is cut" part
says "part is truncated: ends at byte 5000 without an end mark" "it says where"
exits 1 "a context that is damaged" bad
says "bad: byte " "it says where"
exits 1 "a header that is damaged" newer
exits 1 "no context" /etc/passwd
says "/etc/passwd is not a context" "it says so"
exits 1 "an empty file" /dev/null
exits 3 "no file" ./nothing
says "./nothing: No such file or directory" "it says so"
mkdir empty
exits 0 "a directory" empty
says "empty: no contexts" "it says what is in it"
ln -s loop loop
exits 3 "a link to itself" loop
exits 3 "a device" /dev/full
says "/dev/full is a device, which is not opened by its name: redirect standard input from it, and name that (-)" "it says so"
if [ "$(id -u)" = 0 ]; then
	mkdir theirs
	ln -s "$dir/good" theirs/link
	cp good.zst theirs/packed.zst
	cp good theirs/plain
	cp good.zst theirs/own.zst
	chown -h 54321 theirs/link theirs/packed.zst theirs/plain
	exits 3 "a link of another user, for root" theirs/link
	says "link: the symbolic link $dir/theirs/link belongs to user 54321, who can point it anywhere: name the file itself" "it says so"
	exits 3 "what another user has compressed, for root" theirs/packed.zst
	says "belongs to user 54321, and would have to be unpacked: run cr_info as its owner (runuser -u USER -- cr_info FILE)" "it says so"
	exits 0 "what he has not" theirs/plain
	exits 1 "a directory with all of them" theirs
	says "packed.zst belongs to user 54321, and would have to be unpacked" "it says why"
	says "link belongs to user 54321" "... of each"
	[ "$(grep -c "can be restarted" out)" = 2 ]
	ok $? "... and goes on with the others"
fi
exits 255 "no argument"
exits 255 "two files" good good
says "more than one file: good" "it says so"
exits 255 "an unknown option" --foo good
exits 255 "an unknown short option" -x good
exits 0 "-?" "-?"
says "Usage: cr_info" "it shows the usage"
exits 0 "--help" --help
exits 0 "--version" --version

"$cr_info" - <good.zst >out 2>err
says "compressed with zstd" "standard input"
tail -c +1 good | TMPDIR=$dir "$cr_info" - >out 2>err
says "all verified: good" "a pipe"
[ -z "$(find "$dir" -name '*cryo*')" ]
ok $? "no temporary file is left"
"$cr_info" good >/dev/full 2>err
[ $? -eq 3 ]
ok $? "standard output that is full"

status=0
"$cr_info" --check >out 2>err || status=$?
if [ -e /dev/cryo ]; then
	says "Cryo can checkpoint and restart here." "--check with the module"
else
	[ "$status" -eq 1 ] && grep -q '^MISSING  device' out
	ok $? "--check without the module"
fi
"$cr_info" --check --json >out 2>err
says '"usable": ' "--check --json"

echo "1..$count"
[ "$failed" -eq 0 ]
