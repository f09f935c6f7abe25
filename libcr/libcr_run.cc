// SPDX-License-Identifier: LGPL-2.1-or-later
// libcr_run.so.0: what cr_run(1) preloads.
//
// BLCR needed a signal handler in each process that was to be checkpointed, and this library was how an
// unchanged program got one. Cryo's module needs nothing from the process: the library keeps link lines
// ("-lcr_run -u cr_run_link_me") and LD_PRELOAD settings made for BLCR working, and loads the plug-ins that
// are named in CRYO_PLUGINS, if any.
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blcr_common.h"
#include "cr_plugin.h"

extern "C" __attribute__((visibility("default"))) int cr_run_link_me;
int cr_run_link_me = 1;

// Configure scripts made for BLCR ask the preloaded library for its signal and its handler; the signal is
// never sent.
extern "C" __attribute__((visibility("default"))) const int cri_signum;
const int cri_signum = CR_SIGNUM;
extern "C" __attribute__((visibility("default"))) void cri_run_sig_handler(int, siginfo_t*, void*) {}

namespace {

void complain(const char* name, const char* why) {
  ::fprintf(stderr, "libcr_run: plug-in '%s' cannot be used: %s\n", name, why);
}

void load(const char* name) {
  char path[PATH_MAX];
  const int length = ::snprintf(path, sizeof(path), "%s/%s.so", CRYO_PLUGINDIR, name);
  if (::strchr(name, '/') != nullptr || static_cast<std::size_t>(length) >= sizeof(path))
    return complain(name, "not a plug-in name");
  void* const handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return complain(name, ::dlerror());
  const auto init = reinterpret_cast<decltype(&cr_plugin_init)>(::dlsym(handle, "cr_plugin_init"));
  const cr_plugin_args args{CR_PLUGIN_VERSION, name};
  const int error = init == nullptr ? 0 : init(&args);
  if (init != nullptr && error == 0) return;
  complain(name, init == nullptr ? "it has no cr_plugin_init()" : ::strerror(error));
  ::dlclose(handle);
}

__attribute__((constructor)) void start() {
  const char* const names = ::secure_getenv("CRYO_PLUGINS");
  char* const copy = names == nullptr ? nullptr : ::strdup(names);
  if (copy == nullptr) return;
  char* rest = copy;
  for (char* name = ::strsep(&rest, ":"); name != nullptr; name = ::strsep(&rest, ":"))
    if (*name != '\0') load(name);
  ::free(copy);
}

}  // namespace
