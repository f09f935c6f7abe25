#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Incremental contexts: what they hold, what they need, and what is said when that is not there.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

size() { stat -c %s "$1"; }
json() { sed -n "s/^ *\"$2\": \"\\?\\([^\",]*\\)\"\\?,\\?\$/\\1/p" <<<"$1"; }
# pages FILE: how many it has itself.
pages() { json "$(cr_info --chain --json "$1")" pages | head -n 1; }

# merge ARGUMENT..., info ARGUMENT...: sets rc, out and err, as cr() does.
merge() { rc=0; out=$(cr_merge "$@" 2>"$base/stderr") || rc=$?; err=$(<"$base/stderr"); }
info() { rc=0; out=$(cr_info "$@" 2>"$base/stderr") || rc=$?; err=$(<"$base/stderr"); }
# whole FILE: is all there that it needs?
whole() { cr_info --chain "$1" >/dev/null; }
# The restart that must fail.
restart() { rc=0; cr_restart "$@" </dev/null >"$base/stdout" 2>"$base/stderr" || rc=$?; err=$(<"$base/stderr"); }

fresh
start_quietly 16
cr -f one "$pid"
cr -v --parent one -f two "$pid"
check "--parent: success" status_is 0
check "... says what it did" said "of its pages are in other contexts"
check "... the parent stays as it was, and there is nothing else" no_file_but count one two
check "... the process goes on" goes_on
# All that is not memory, what has changed, and one per cent of the memory.
page=$(getconf PAGE_SIZE)
limit=$(($(size one) - $(pages one) * page + $(pages two) * page + $(pages one) * page / 100))
echo "# full: $(size one) bytes, $(pages one) pages; incremental: $(size two) bytes, $(pages two) pages; limit $limit"
check "... holds what has changed and one per cent" test "$(size two)" -le "$limit"
check "... which is little" test "$(pages two)" -lt 200
cr --snapshot --parent two -f three "$pid"
check "the parent of another: success" status_is 0
cr -z --parent three -f four.zst "$pid"
check "compressed: success" status_is 0
cr --parent four.zst -f five "$pid"
check "with a compressed parent: success" status_is 0
info --chain five
check "cr_info --chain: all is there" status_is 0
check "... and named" eval '[[ $out == *"needs one: "*"pages of it, good"* ]]'
info five
check "cr_info tells of it" eval '[[ $out == *"other contexts ("*"of its memory"* ]]'
info --chain --json five
check "... as JSON" same "$(json "$out" state | sort -u)" good
merge five -o whole
check "cr_merge: success" status_is 0
merge five -o whole
check "... does not write over a file" status_is 17
rc=0
cr_merge five -o - >stream || rc=$?
check "... writes to standard output" cmp -s stream whole
check "... makes what needs no other" same "$(json "$(cr_info --chain --json whole)" state)" ""
check "... and has as many pages as a full one" test "$(pages whole)" -ge "$(pages one)"
cr --parent two -f two "$pid"
check "what the context would need is not replaced" status_is 22
check "... and is named" said "would take the place of $base/work/two, which it needs"
end_it
for name in five four.zst three two whole; do
	check "$name makes the process again" restarts "$name"
done
rc=0
cat three | cr_restart - >/dev/null 2>"$base/stderr" || rc=$?
err=$(<"$base/stderr")
check "from a pipe: it is said what is missing" said "but was not read from a directory that could contain it: see --ancestors"
check "... with ENOENT" status_is 2
mkfifo fifo
(cat three >fifo) &
check "... with --ancestors it works" restarts --ancestors . fifo
mkdir away
mv one away
cp two away # it may have a page of three
restart three
check "a missing ancestor: no restart" status_is 2
check "... it is named" said "three needs the context $base/work/one, which cannot be opened: No such file or directory"
check "... nothing has been made" is_gone "$pid"
info --chain three
check "... cr_info says so" eval '[ "$rc" = 1 ] && [[ $out == *"pages of it, missing"* ]]'
merge three -o merged
check "... so does cr_merge" eval '[ "$rc" = 2 ] && said "needs the context $base/work/one"'
check "... and leaves nothing" not exists merged
check "... another directory: it is found" restarts --ancestors away three
merge --ancestors away three -o merged
check "... by cr_merge, too" status_is 0
mv away/one .

# A page of it that three needs, not the first one.
change() { printf '\x5a' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
cp one original
chmod 600 one
change one $(($(size one) * 3 / 4))
for tool in "restart three" "merge three -o altered" "info --chain three"; do
	$tool
	# shellcheck disable=SC2046 # words are wanted
	set -- $tool
	[ "$1" = info ] && err=$out && check "an altered ancestor: cr_info" status_is 1
	[ "$1" = info ] || check "an altered ancestor: cr_$1" status_is 74
	check "... it is named" said "$base/work/one, which has been modified: the page"
done
check "... nothing was made" eval 'is_gone "$pid" && not exists altered'
start_quietly 1
cr --parent one -f six "$pid"
check "... it is no parent" status_is 74
check "... which is said" said "one: byte"
check "... and the process goes on" goes_on
end_it
change one 100
restart three
check "an ancestor with a damaged header" status_is 74
check "... is named" said "$base/work/one, which is damaged"
truncate -s $(($(size original) / 2)) one
restart three
check "an ancestor that is cut" status_is 74
check "... is named" said "$base/work/one, which is damaged"
cp whole other
mv other one
restart three
check "an ancestor with another one's name" status_is 74
check "... is named" said "$base/work/one, but another context has that name now"
rm -f one
mkfifo one
restart three
check "an ancestor that is a FIFO does not make one wait" said "$base/work/one, which is not a regular file"

# Failures: what was there before stays.
fresh
start_quietly 16 change
mkdir g
cr --incremental g "$pid"
check "--incremental: the first generation" status_is 0
check "... is a full one" same "$(cr_info --chain --json "g/context.$pid.1" | grep -c '"state"')" 0
cr --incremental g "$pid"
check "the second one" status_is 0
sum() { cat g/* | sha256sum; }
before=$(sum)
limited() { (ulimit -f 30; cr "$@"; echo "$rc" >rc; echo "$err" >err); rc=$(<rc); err=$(<err); rm -f rc err; }
limited --incremental g "$pid"
check "no room for the third" status_is 27
check "... all others stay as they were" same "$(sum)" "$before"
limited -z1 --incremental g "$pid"
check "no room for a compressed one" status_is 27
check "... all others stay as they were" same "$(sum)" "$before"
check "... and the process goes on" goes_on
mkdir -p "$base/small"
mount -t tmpfs -o size=2m tmpfs "$base/small"
cr --parent "g/context.$pid.2" -f "$base/small/ctx" "$pid"
check "a full disk" status_is 28
check "... is named" said "$base/small/ctx"
check "... and nothing is left on it" same "$(ls -A "$base/small")" ""
umount "$base/small"
for options in "" "-z1" "--no-snapshot"; do
	mkfifo fifo
	exec 8<>fifo
	# shellcheck disable=SC2086 # words are wanted
	cr_checkpoint $options --parent "g/context.$pid.2" -f fifo "$pid" & requester=$!
	started+=("$requester")
	wait_for eval 'read -rt 0 <&8'
	kill -KILL "$requester"
	rc=0
	wait "$requester" 2>/dev/null || rc=$?
	exec 8<&-
	rm fifo
	check "cr_checkpoint is killed while it writes, options '$options'" status_is 137
	check "... the process goes on" goes_on
done
# shellcheck disable=SC2086 # words are wanted
cr_checkpoint --parent "g/context.$pid.2" -f - "$pid" 2>err | head -c 10000 >/dev/null
rc=${PIPESTATUS[0]} err=$(<err)
check "the reader goes away" status_is 32
check "... all generations stay as they were" same "$(sum)" "$before"

# What it needs goes while it is written: nobody could restart it, so that the process is not killed for it.
for options in "" "-z1"; do
	for how in "mv g/needed g/gone" "cp g/needed g/other; mv g/other g/needed"; do
		cp "g/context.$pid.2" g/needed
		rm -f g/gone g/other
		# shellcheck disable=SC2086 # words are wanted
		cr_checkpoint $options --kill --parent g/needed -f - "$pid" 2>err | { head -c 1 >/dev/null; eval "$how"; cat >/dev/null; }
		rc=${PIPESTATUS[0]} err=$(<err)
		if [ -e g/gone ]; then
			check "a parent that goes meanwhile, options '$options'" \
				eval 'status_is 2 && said "needed, which the new context needs, has gone while that was written"'
		else
			check "a parent that is replaced meanwhile, options '$options'" \
				eval 'status_is 116 && said "needed, which the new context needs, was replaced while that was written"'
		fi
		check "... the process goes on" goes_on
	done
done
rm -f g/needed g/gone

# A damaged generation is passed over.
chmod 600 "g/context.$pid.2"
truncate -s 50000 "g/context.$pid.2"
cr --incremental g "$pid"
check "the newest is damaged: the one before it is the parent" status_is 0
check "... which is said" said "cannot be a parent: g/context.$pid.2 is truncated"
check "... and is so" eval 'cr_info --chain "g/context.$pid.3" | grep -q "needs context.$pid.1: .*, good"'
cr --incremental g --keep 1 "$pid"
check "--keep 1: success" status_is 0
check "... what nobody needs is gone, what is damaged is not" same \
	"$(find g -type f ! -name '*.1' ! -name '*.3' -printf '%f\n' | sort)" \
	"$(printf '%s\n' "context.$pid.2" "context.$pid.4")"
check "... and there is all that is needed" whole "g/context.$pid.4"
for i in 1 2 3 4 5 6; do
	wait_for goes_on
	cr --incremental g --keep 2 "$pid"
	[ "$rc" = 0 ] || break
done
check "--keep 2, again and again" status_is 0
newest=context.$pid.10
check "... the newest is there" exists "g/$newest"
check "... and all that it needs" whole "g/$newest"
check "... and the one before it" whole "g/context.$pid.9"
for name in g/context.*; do
	[ "$name" = "g/context.$pid.2" ] && continue
	case $name in *.9 | *.10) continue ;; esac
	needed=$(cat <(cr_info --chain "g/$newest") <(cr_info --chain "g/context.$pid.9") | grep -c "needs ${name#g/}:")
	check "... ${name##*.} is there because it is needed" test "$needed" -gt 0
done
end_it
check "... the newest makes the process again" restarts "g/$newest"
check "... and so does the one before it" restarts "g/context.$pid.9"

# Bytes that have changed in what a new generation would need, where only the times of the file tell.
damage() { chmod 600 "$1"; printf '\245' | dd of="$1" bs=1 seek=$(($(size "$1") / 2)) conv=notrunc status=none; chmod 400 "$1"; }
for how in --track --no-track; do
	fresh
	start_quietly 16
	mkdir g
	for i in 1 2 3; do
		cr "$how" --incremental g "$pid"
		wait_for goes_on
	done
	check "$how: three generations" eval 'status_is 0 && whole "g/context.$pid.3"'
	damage "g/context.$pid.1"
	info g
	check "... the first is damaged: cr_info says so" eval '[ "$rc" = 1 ] && grep -q "context.$pid.1 .*cannot be restarted: .*wrong checksum" <<<"$out"'
	for i in 2 3; do
		check "... and that number $i needs it" grep -q "context.$pid.$i .*cannot be restarted: needs context.$pid.1, which is damaged" <<<"$out"
	done
	cr "$how" --incremental g --keep 1 "$pid"
	check "... the next generation is made" status_is 0
	check "... it is told that nothing can be its parent" said "no existing context can be the parent: this one is full"
	check "... and it is a full one" eval 'cr_info --chain "g/context.$pid.4" | grep -q "needs no other context"'
	info "g/context.$pid.4"
	check "... which is whole" status_is 0
	end_it
	check "... and can be restarted" restarts "g/context.$pid.4"
done

# A copy has other times and the same bytes.
fresh
start_quietly 16
mkdir g
for i in 1 2; do
	cr --incremental g "$pid"
	wait_for goes_on
done
cp "g/context.$pid.1" copy
mv -f copy "g/context.$pid.1"
cr --incremental g "$pid"
check "an ancestor is a copy: it is as good" eval 'status_is 0 && [ -z "$err" ]'
check "... and the next one needs it" eval 'cr_info --chain "g/context.$pid.3" | grep -q "needs context.$pid.1: .*, good"'
# The first of those that are to be kept cannot be restarted any more: the one before it is.
damage "g/context.$pid.3"
rm -rf h
mkdir h
cr -f "h/context.$pid.1" "$pid"
wait_for goes_on
cr -f "h/context.$pid.2" "$pid"
damage "h/context.$pid.2"
cr --incremental h --keep 2 "$pid"
check "--keep 2, and the newest of before is damaged: success" status_is 0
check "... the one before that stays" exists "h/context.$pid.1"

cr --keep 3 1
check "--keep alone" eval 'status_is 255 && said "--keep is for --incremental"'
cr --incremental g --parent one 1
check "two parents" eval 'status_is 255 && said "--incremental finds the parent itself"'
cr --incremental g -f one 1
check "two places" eval 'status_is 255 && said "--incremental says where the context goes"'
cr --incremental none 1
check "no directory" eval 'status_is 2 && said "none: No such file or directory"'
cr --parent none 1
check "no parent" eval 'status_is 2 && said "parent none: No such file or directory"'
merge one
check "cr_merge without --output" eval 'status_is 255 && said "no --output given"'

done_testing
