# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# lib.sh - tests of state in a machine that Bochs emulates, on the kernel that the sourcing script is called after
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
kernel=$(basename "$0")
out=$(mktemp)
# Apart: what comes by two serial lines into one file would come by single bytes in turn.
errors=$(mktemp)
trap 'rm -f "$out" "$errors"' EXIT
tap=0 bad=0

# Registers, and what calls functions of the kernel by their address, which that kernel checks: of system calls that go
# on with the time that was left, of seccomp(2) and landlock(2), and what snapshots take.
programs=(regs-shstk regs-xsave regs-amx regs-gpr regs-blocked sys-blocked sys-timed rest-seccomp snap-writers map-areas thr-ids)

result()
{
	tap=$((tap + 1))
	[ "$1" = ok ] || bad=1
	printf '%s %d - %s\n' "$1" "$tap" "$2"
}

# Numbers the results; what else there is explains them.
pass_on()
{
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*) result ok "${line#* - }" ;;
		'not ok '*) result 'not ok' "${line#* - }" ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done
}

has() { result "$(grep -qxF "$1" "$out" && echo ok || echo 'not ok')" "the processor and the kernel have $1"; }

# shellcheck disable=SC2016 # for the machine
guest='grep -owE "user_shstk|avx512f|ibt" /proc/cpuinfo | sort -u
	for program; do
		mkdir "/tmp/$program" && cd "/tmp/$program" || exit 1
		"/cryo/tests/state/$program" || echo "not ok - $program: exit status $?"
	done'

# Who has a Bochs of his own has one with AMX, which is what it is for.
model=tigerlake
[ -z "${CRYO_BOCHS:-}" ] || model=sapphire_rapids
status=0
"$top/tests/vm/run" --kernel "$kernel" --bochs "$model" --timeout 1700 -- bash -c "$guest" - "${programs[@]}" \
	>"$out" 2>"$errors" || status=$?
has avx512f
has user_shstk
has ibt
pass_on <"$out"
sed 's/^/# /' "$errors"
result "$([ "$status" = 0 ] && echo ok || echo 'not ok')" "the machine (exit status $status)"
echo "1..$tap"
exit "$bad"
