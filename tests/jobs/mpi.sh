# SPDX-License-Identifier: GPL-2.0-only
# mpi.sh - what tests of MPI have in common; they set $name, $compiler, $launcher and $settings
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Compiled once, for the compiler takes seconds. What MPI puts into files lies in the job's directory, so
# that it is there for a second restart too.
prepare()
{
	[ -e "$work/ring" ] || "$compiler" -O1 -o "$work/ring" "$here/ring.c" || return
	cp "$work/ring" .
	mkdir tmp
	cat >job.sh <<-EOF
	export TMPDIR=\$PWD/tmp
	export $settings
	$launcher -n 4 ./ring \$1
	echo "status \$?"
	EOF
}
