/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cr_plugin.h - plug-ins of libcr_run, see "PLUG-INS" in cr_run(1)
 *
 * A plug-in is a shared object in $libdir/cryo/plugins, that is loaded into a program
 * when it starts, and exports cr_plugin_init().
 */
#ifndef _CR_PLUGIN_H
#define _CR_PLUGIN_H

#ifdef __cplusplus
extern "C" {
#endif

#define CR_PLUGIN_VERSION 1

struct cr_plugin_args {
  unsigned int version; /* CR_PLUGIN_VERSION of libcr_run: a later one only has more members */
  const char* name;     /* as given to cr_run --plugin; valid during the call */
};

/*
 * Called once in each program, before its main() and with no other thread, and not in the
 * child of a fork().  Most plug-ins call cr_init() and cr_register_callback() here.
 *
 * Returns 0, or an errno value: a message says so, the plug-in is unloaded, and the program goes on.
 */
int cr_plugin_init(const struct cr_plugin_args* args);

#ifdef __cplusplus
}
#endif

#endif /* _CR_PLUGIN_H */
