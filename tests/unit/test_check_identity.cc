// SPDX-License-Identifier: GPL-2.0-only
// Who is another user, or runs with another group or other rights, than the job did.
#include "restart/check/check.h"
#include "unit/context_builder.h"
#include "unit/obstacles.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

TEST("obstacles: credentials") {
  ContextBuilder builder = sample();
  builder.process().creds.reset();
  Findings without;
  check_process({builder.context, builder.process(), {}, {}}, without);
  SAYS(without, EBADMSG, "pid 3999999: the context lacks its credentials or working directory");
  Creds creds;
  creds.head.uid = creds.head.euid = 5;
  creds.head.gid = creds.head.egid = 6;
  creds.head.cap_permitted = 1;
  creds.head.cap_inheritable = 2;
  creds.head.securebits = 1;
  creds.groups = {7};
  builder.process().creds = creds;
  Findings findings;
  Creds own;
  own.head.cap_bset = 0xff;
  own.head.uid = own.head.euid = own.head.suid = own.head.fsuid = 8;
  own.head.gid = own.head.egid = own.head.sgid = own.head.fsgid = 9;
  check_process({builder.context, builder.process(), {}, own}, findings);
  SAYS(findings, EPERM,
       "pid 3999999: it ran as user 5 (effective 5), cr_restart runs as user 8 (restart it as root)");
  SAYS(findings, EPERM, "pid 3999999: it ran with group 6 (effective 6), cr_restart runs with group 9");
  SAYS(findings, EPERM, "pid 3999999: it had capabilities (0x1) that cr_restart lacks");
  SAYS(findings, EPERM, "pid 3999999: it had inheritable capabilities (0x2) that cr_restart cannot give");
  SAYS(findings, EPERM, "pid 3999999: its securebits differ from those of cr_restart");
  SAYS(findings, EPERM, "pid 3999999: its capability bounding set is smaller than that of cr_restart");
}

TEST("obstacles: credentials of one user, of one group") {
  ContextBuilder builder = sample();
  Creds own;
  own.head.cap_bset = 0xff;
  own.head.uid = own.head.euid = own.head.suid = own.head.fsuid = 8;
  own.head.gid = own.head.egid = own.head.sgid = own.head.fsgid = 9;
  builder.process().creds = own;
  cryo_creds& head = builder.process().creds->head;
  const auto findings = [&] {
    Findings all;
    check_process({builder.context, builder.process(), {}, own}, all);
    return all;
  };
  head.gid = head.egid = head.sgid = head.fsgid = 6;
  SAYS(findings(), EPERM,
       "pid 3999999: it ran with group 6 (effective 6), cr_restart runs with group 9 (sg GROUP -c "
       "\"cr_restart ...\" runs it with that group)");
  head.egid = 7;
  SAYS(findings(), EPERM,
       "pid 3999999: it ran with group 6 (effective 7), cr_restart runs with group 9 (restart it as root)");
  head.uid = head.euid = head.suid = head.fsuid = 5;
  SAYS(
      findings(), EPERM,
      "pid 3999999: it ran as user 5 (effective 5), cr_restart runs as user 8 (restart it as that user or as "
      "root)");
}

}  // namespace
}  // namespace cryo::test
