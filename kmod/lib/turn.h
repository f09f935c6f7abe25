/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * turn.h - numbers that one user at a time chooses
 *
 * A value set for the caller's next fork() or shmget() lasts until then: another caller that sets
 * it in between replaces it, and one that does so in a loop would starve all others.
 */
#ifndef CRYO_TURN_H
#define CRYO_TURN_H

#include <linux/types.h>

/**
 * cryo_turn_begin() - wait until no other turn is under way, and begin one
 * @what: what the number is chosen of, e.g. a pid namespace: compared by address only, and
 *	referenced by the caller
 * @used: has the number that was set last been used, by whomever?  Called with a spinlock held
 *
 * Turns are of users, in the order in which they have asked; all processes of a user have one place
 * among those that wait. A turn ends when its number has been used, by cryo_turn_end(), or 20 ms
 * after the number was set, which may take 50 ms: others may keep the locks busy that setting and
 * using it take. A caller that has waited for a second goes on without one: it is a hint only.
 *
 * The caller sets his number next, and calls cryo_turn_set(), or else cryo_turn_end().
 *
 * Return: 0, or -EINTR: a signal kills the caller.
 */
int cryo_turn_begin(const void *what, bool (*used)(const void *what));

/**
 * cryo_turn_set() - the number has been set that the turn was begun for
 * @what: as for cryo_turn_begin()
 *
 * Before that, @used says of the turn before whether it is over, and nothing of this one.
 */
void cryo_turn_set(const void *what);

/**
 * cryo_turn_end() - end the turn of the caller's user
 * @what: as for cryo_turn_begin()
 *
 * Return: whether no other one is under way.
 */
bool cryo_turn_end(const void *what, bool (*used)(const void *what));

#endif /* CRYO_TURN_H */
