// SPDX-License-Identifier: GPL-2.0-only
// Consent to checkpoints where Yama restricts tracing to ancestors: CRYO_IOC_CONSENT.
#pragma once

#include <cryo/ioctl.h>
#include <sys/ioctl.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace cryo {

// Set: neither cr_restart nor libcr consents.
inline constexpr const char* kNoConsentVariable = "CRYO_NO_CONSENT";

// Of the calling process. Where it cannot be had it is of no use: without Yama, or with a user other than its
// file's.
inline void set_consent(int device, bool given) {
  cryo_consent args{};
  args.size = sizeof(args);
  args.consent = given ? CRYO_CONSENT_GIVE : CRYO_CONSENT_TAKE_BACK;
  (void)::ioctl(device, CRYO_IOC_CONSENT, &args);
}

// Whether there is anything to consent to here.
inline bool takes_consent(int device) {
  cryo_consent args{};
  args.size = sizeof(args);
  args.consent = CRYO_CONSENT_ASK;
  return ::ioctl(device, CRYO_IOC_CONSENT, &args) >= 0;
}

// kernel.yama.ptrace_scope; 0 without Yama.
inline int yama_level() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen("/proc/sys/kernel/yama/ptrace_scope", "re"), &std::fclose);
  int level = 0;
  return file && std::fscanf(file.get(), "%d", &level) == 1 ? level : 0;
}

}  // namespace cryo
