# SPDX-License-Identifier: GPL-2.0-only
# lib.sh - runs an unmodified program through checkpoints, kills and restarts (bash)
#
# A test script sets, then calls real_test:
#   name       what the program is called here
#   program    array: the command; runs in a directory of its own, stdout and stderr in files there
#   exit_status  how it ends (default 0)
#   outputs    array: files whose contents have to come out equal (stdout and stderr always do)
#   prepare()  optional: makes the input, in the current directory
#   outside    array, optional: patterns of files elsewhere that belong to the run as those in its directory do
#   checkpoint_options  array, optional: for cr_checkpoint
#   by         optional: who calls cr_checkpoint and cr_restart (default: the user who runs the program)
#   groups     array, optional: for setpriv, the supplementary groups of the program (default: the user's)
#   started(), restarted() N, ending()  optional: what somebody outside does: after the start, after a restart
#              from context N, and before the end is waited for
#   begins     optional: yes where the program prints something when it begins: what runs it (unshare, bwrap) is
#              then not met at its own work, in which a process may be where no checkpoint of it can be made
#   digest()   optional: prints what has to be equal instead of the files named in outputs
#
# What happens, as the user CRTEST_USER (default cryo) when started by root:
#   1. an undisturbed run, which gives the expected output and the running time;
#   2. the chain: one run that is checkpointed at REAL_MOMENTS (4; ./check --all: 10) random moments, killed
#      each time (cr_checkpoint --kill) and restarted, the next moment being after the restart;
#   3. second restarts: from REAL_SECOND (1; ./check --all: 3) of these contexts once more, to the end, with
#      the files as they were at the checkpoint.
# CRTEST_SEED sets the moments again as a run printed them. CRTEST_KEEP=1 leaves the directory.
# Programs do half of what they do with --all, or less, and more where that is over too soon; REAL_STEPS and the like say how much.
# REAL_MODE=plain leaves the tools out: the same two runs without a checkpoint, to test the test.

set -u
export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${CR_CHECKPOINT:=cr_checkpoint}" "${CR_RESTART:=cr_restart}"
if [ -n "${CRYO_CHECK_ALL:-}" ]; then
	: "${REAL_MOMENTS:=10}" "${REAL_SECOND:=3}"
else
	: "${REAL_MOMENTS:=4}" "${REAL_SECOND:=1}"
fi
: "${REAL_MODE:=}" "${CRTEST_USER:=cryo}"
: "${CRTEST_SEED:=$((SRANDOM % 32768))}"

# amount WHOLE [SHORT]: how many steps, or whatever a program counts; SHORT without --all: half of WHOLE
: "${REAL_TIMES:=1}"
amount()
{
	if [ -n "${CRYO_CHECK_ALL:-}" ]; then echo $(($1 * REAL_TIMES)); else echo $((${2:-($1 + 1) / 2} * REAL_TIMES)); fi
}

shortest=1500 # ms
exit_status=0 outputs=() outside=() checkpoint_options=() by='' begins='' groups=(--init-groups) tap=0 bad=0 rpid=0 pid=0
prepare() { :; }
started() { :; }
restarted() { :; }
ending() { :; }
digest() { cat stdout stderr "${outputs[@]}" | sha256sum; }

ok() # CONDITION-STATUS TEXT
{
	tap=$((tap + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap - $name: $2"
	else
		echo "not ok $tap - $name: $2"
		bad=1
	fi
	return "$1"
}

skip_all() { echo "1..0 # SKIP $*"; exit 0; }

as_user() # COMMAND...: replaces this shell
{
	if [ "$(id -u)" = 0 ]; then
		exec setpriv --reuid "$CRTEST_USER" --regid "$CRTEST_USER" "${groups[@]}" -- "$@"
	else
		exec "$@"
	fi
}

as_operator() # COMMAND...: the same
{
	[ "$by" != root ] || exec "$@"
	as_user "$@"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

sleep_ms() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }

diag() { sed 's/^/# /' "$@"; }

make_text() # MIB: text that compresses, always the same
{
	# It takes as long as the program that gets it.
	[ -e "$work/text.$1" ] || seq 1 $(($1 * 25000)) | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null |
		od -An -tx4 | head -c $(($1 * 1048576)) >"$work/text.$1"
	cat "$work/text.$1"
}

new_dir() # NAME: an empty run directory with the input in it
{
	dir=$work/$1
	mkdir -p "$dir"
	(cd "$dir" && prepare && : >stdout && : >stderr) || ok 1 "preparing the input"
	[ "$(id -u)" != 0 ] || chown -R "$CRTEST_USER:" "$dir"
}

is_program()
{
	local first=
	[ "$begins" != yes ] || { [ -s "$dir/stdout" ]; return; }
	IFS= read -r -d '' first 2>/dev/null <"/proc/$pid/cmdline"
	[ "$first" = "${program[0]}" ] && [ "$(readlink "/proc/$pid/exe")" = "$executable" ]
}

start() # runs the program in $dir; its pid in $pid
{
	(cd "$dir" && as_user "${program[@]}" </dev/null >stdout 2>stderr) &
	pid=$!
	rpid=$pid
	# from here on it is the program, and the user's; this shell may have the same executable
	until is_program || ! kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
}

finish() # waits for the end; the exit status in $status
{
	wait "$rpid"
	status=$?
}

# --- steps ---------------------------------------------------------------------

# What is over before it can be met has twice as much to do.
do_more()
{
	echo "# too short to be met"
	pid=0
	cleanup
	export REAL_TIMES=$((REAL_TIMES * 2))
	exec "$0"
}

run_undisturbed()
{
	local begin

	new_dir undisturbed
	begin=$(now_ms)
	start
	started
	ending
	finish
	total=$(($(now_ms) - begin))
	expected=$(cd "$dir" && digest)
	(cd "$dir" && cat stdout stderr) >"$work/expected"
	echo "# undisturbed: $total ms"
	[ "$total" -ge "$shortest" ] || [ "$REAL_TIMES" -ge 64 ] || do_more
	[ "$status" = "$exit_status" ]
	ok $? "undisturbed: exit status $status" || tail -n 3 "$dir/stderr" | diag
	rm -rf "$dir"
	[ "$total" -ge "$shortest" ]
	ok $? "runs long enough to be met ($total ms)"
}

checkpoint_and_kill() # CONTEXT: 0 done, 1 failed, 2 the program was at its end
{
	local log=$work/log

	(as_operator "$CR_CHECKPOINT" --kill "${checkpoint_options[@]}" -f "$1" "$pid" >"$log" 2>&1)
	status=$?
	if [ $status != 0 ]; then
		kill -0 "$pid" 2>/dev/null || return 2
		ok 1 "checkpoint (exit status $status)"
		diag "$log"
		return 1
	fi
	wait "$rpid" 2>/dev/null
	status=$?
	[ $status = 137 ] || { ok 1 "killed after the checkpoint (status $status)"; return 1; }
	wait_for_all
	return 0
}

# Processes of the program that are on their way out: their pids are wanted again.
wait_for_all()
{
	local other left
	for _ in {1..200}; do
		left=0
		for other in /proc/[0-9]*; do
			[ "$other" = "/proc/$BASHPID" ] || ! [ "$other/cwd" -ef "$dir" ] || left=1
		done
		[ $left = 1 ] || return 0
		sleep 0.02
	done
}

# cr_restart has the module open until all processes of the job run.
is_under_way()
{
	local fd
	for fd in /proc/"$rpid"/fd/*; do
		! [ "$fd" -ef /dev/cryo ] || return 0
	done
	return 1
}

restart() # CONTEXT
{
	(cd / && as_operator "$CR_RESTART" "$1" </dev/null >"$work/restart.log" 2>&1) &
	rpid=$!
	for _ in {1..400}; do
		kill -0 "$pid" 2>/dev/null && ! is_under_way && return 0
		kill -0 "$rpid" 2>/dev/null || break
		sleep 0.05
	done
	# an end within the first moments is one, too
	return 0
}

# What has been printed, and what should have been.
differences()
{
	cat "$dir"/std{out,err} | diff -a "$work/expected" - | sed -n '1,20p' | cut -c1-200
	tail -n 3 "$dir"/std*
}

compare() # WHAT
{
	local got good=0

	ending
	finish
	[ "$status" = "$exit_status" ]
	ok $? "$1: exit status $status" || { good=1; diag "$work/restart.log"; }
	got=$(cd "$dir" && digest)
	[ "$got" = "$expected" ]
	ok $? "$1: the output is that of the undisturbed run" || { good=1; differences | diag; }
	return "$good"
}

# Spread over the moments: the first, and every so many after it.
is_for_second() { [ $((($1 - 1) % ((REAL_MOMENTS + REAL_SECOND - 1) / REAL_SECOND))) = 0 ]; }

keep_files() # NUMBER
{
	local file

	cp -a "$dir" "$work/files.$1"
	mkdir "$work/outside.$1"
	# shellcheck disable=SC2068 # patterns are meant
	for file in ${outside[@]}; do
		mkdir -p "$work/outside.$1/${file%/*}"
		cp -p "$file" "$work/outside.$1/$file"
	done
}

# One run in $dir through the moments given; it may end before the last of them.
run_through() # MOMENT...
{
	local at last=0 n

	start
	started
	for at; do
		sleep_ms $((at - last + 20))
		last=$at
		n=$((taken + 1))
		checkpoint_and_kill "$work/ctx.$n"
		case $? in
		1) kill -9 "$pid" 2>/dev/null; wait; return 1 ;;
		2) break ;;
		esac
		taken=$n ctx_pid[n]=$pid ctx_dir[n]=$dir
		! is_for_second "$n" || keep_files "$n"
		restart "$work/ctx.$n"
		restarted "$n"
	done
}

# On a busy machine a run may be over before its last moments: then another one takes them.
run_chain()
{
	local moments round before

	for ((round = 1; round <= 6 && taken < REAL_MOMENTS; round++)); do
		mapfile -t moments < <(for ((i = taken; i < REAL_MOMENTS; i++)); do
			echo $((total * (30 + RANDOM % 770) / 1000)); done | sort -n)
		echo "# moments: ${moments[*]} ms (CRTEST_SEED=$CRTEST_SEED)"
		new_dir "run$round"
		before=$taken
		run_through "${moments[@]}" || return 1
		compare "after $((taken - before)) restarts" || return 1
		total=$((total * 4 / 5))
	done
	[ "$taken" = "$REAL_MOMENTS" ]
	ok $? "checkpointed, killed and restarted $taken times in $((round - 1)) runs"
}

run_second()
{
	local n

	for ((n = 1; n <= taken; n++)); do
		is_for_second "$n" || continue
		pid=${ctx_pid[n]} dir=${ctx_dir[n]}
		# A session or group of what the first run has left keeps an id from being free.
		wait_for_all
		# into the files that are there: a mapped one has to stay the same inode
		(cd "$dir" && find . -type f | while IFS= read -r file; do
			[ -e "$work/files.$n/$file" ] || rm "$file"; done)
		cp -a "$work/files.$n/." "$dir/"
		(cd "$work/outside.$n" && find . -type f -exec cp -p {} "/{}" \;)
		restart "$work/ctx.$n"
		restarted "$n"
		compare "second restart from context $n"
	done
}

cleanup()
{
	local other

	[ "$pid" = 0 ] || kill -9 "$pid" "$rpid" 2>/dev/null
	for other in /proc/[0-9]*; do
		! [ "$other/cwd" -ef "${dir:-/none}" ] || kill -9 "${other#/proc/}" 2>/dev/null
	done
	[ -n "${CRTEST_KEEP:-}" ] || rm -rf "$work"
}

real_test()
{
	RANDOM=$CRTEST_SEED
	for tool in "${program[0]}"; do
		command -v "$tool" >/dev/null || skip_all "$tool is not installed"
	done
	executable=$(readlink -f "$(command -v "${program[0]}")")
	work=$(mktemp -d "${CRTEST_TMP:-/var/tmp}/real.XXXXXX")
	trap cleanup EXIT
	chmod 755 "$work"
	[ "$(id -u)" != 0 ] || chown "$CRTEST_USER:" "$work"
	taken=0 ctx_pid=() ctx_dir=()
	: >"$work/restart.log"
	run_undisturbed
	if [ "$REAL_MODE" = plain ]; then
		new_dir run
		start
		started
		compare "a second undisturbed run"
	else
		run_chain && run_second
	fi
	pid=0
	echo "1..$tap"
	exit "$bad"
}
