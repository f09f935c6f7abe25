// SPDX-License-Identifier: GPL-2.0-only
#include <cstdio>

#include "cr_checkpoint/options.h"

namespace cryo {

void print_usage() {
  std::fputs(
      R"(Usage: cr_checkpoint [options] ID
Writes the state of running processes to a file from which cr_restart can make them go on.

What is checkpointed:
  -T, --tree              the process ID and all its descendants (default)
  -p, --pid, --process    only the process ID
  -g, --pgid, --group     the process group ID
  -s, --sid, --session    the session ID
      --cgroup            the control group of the process ID, and those below it

Where the context goes:
  -c, --cwd               file context.PID in the current directory (default)
  -d, --dir DIR           file context.PID in DIR
  -f, --file FILE         FILE; "-" is standard output
  -F, --fd FD             an open descriptor
      --parent FILE       only what is not in the context FILE, or in those that FILE needs; these
                          stay as they are, and are needed for a restart
      --incremental DIR   the next generation, DIR/context.PID.N: its parent is the newest one in DIR that
                          is whole, the first is full
      --keep N            then remove all generations but the N newest, and those that they need
      --track, --no-track the kernel keeps account of what the process writes to from now on, so that the
                          next one is faster, or does not; default: with --parent and --incremental
  -z, --compress[=LEVEL]  compressed with zstd (level 1 to 22, default 3, or "auto": what goes with the
                          speed of the output; the default name ends in .zst)
      --long[=WINDOWLOG]  look for what comes again over 2^WINDOWLOG bytes (20 to 27, default 27)

When FILE exists already:
      --atomic            replace it once the new one is complete (default)
      --backup[=NAME]     the same, and keep the old one as NAME, or FILE.~N~
      --clobber           write over it in place
      --noclobber         fail

Signal to the process when the context is complete; until then it does not move:
      --run               none (default)
  -S, --signal N          signal N, a number or a name such as TERM
      --stop, --term, --abort, --kill, --cont
                          SIGSTOP, SIGTERM, SIGABRT, SIGKILL, SIGCONT
      --early-stop, --early-abort
                          SIGSTOP, SIGABRT, before its callbacks have ended

Contents of files in the context (they may be given together):
      --save-exe          of the executable
      --save-private      of privately mapped files: libraries, the executable
      --save-shared       of shared mappings
      --save-open[=SIZE[,TOTAL]]
                          of files open for reading only, up to SIZE (1M), and TOTAL (16M) in all, for
                          when they are gone or have changed: a batch system's copy of a script
      --save-all, --save-none
                          all of these; none (default)

Others:
      --ptraced-error     a traced process is an obstacle (default)
      --ptraced-allow     it is not
      --ptraced-skip      it is left out
      --ptracer-error     a process that traces others is an obstacle (default)
      --ptracer-skip      it is left out
      --device PATH=POLICY
                          descriptors of the device PATH: "fail" (an obstacle, default), "reopen" at
                          the restart, or "close": they are not open then (may be repeated)
      --tcp POLICY        TCP connections to the outside: "refuse" (an obstacle, default), or "close":
                          they are found reset after the restart
      --unix POLICY       Unix sockets connected to processes that are left out: likewise, and closed by these
      --callbacks CHOICE  processes that take part in their checkpoints (libcr) are told: "yes" (default),
                          or "no"
      --no-snapshot       the process goes on when its memory has been written; default (--snapshot):
                          earlier, and what it changes meanwhile is copied, where that is possible
      --snapshot-limit SIZE
                          bytes (K, M, G, T) that such copies may take; then it is stopped again
  -t, --time SEC          give up after SEC seconds
      --dry-run           list what cannot be saved, write nothing
      --sync, --nosync    wait until the context is on the disk (default), or do not
      --direct WHEN       pages of memory go to the disk past the page cache: "auto", where that is
                          faster (default), "always" where it can be done, or "never"
      --kmsg-none, --kmsg-error, --kmsg-warning
                          show what the kernel module says about the process never, on failure
                          (default), or always
  -v, --verbose           say what is done, and figures at the end
  -q, --quiet             no messages
  -?, -h, --help          show this text
      --version           show the version
)",
      stdout);
}

}  // namespace cryo
