/* Telling systemd how the server is: a datagram to $NOTIFY_SOCKET, as
 * sd_notify(3) has it, without libsystemd. */
#ifndef SL_SERVER_MAIN_SYSTEMD_H
#define SL_SERVER_MAIN_SYSTEMD_H

/* Lines of `NAME=value`: "READY=1", "STOPPING=1", "STATUS=12 rules\nREADY=1".
 * Never blocks and never fails: without the variable, or with nobody there,
 * nothing happens. */
void sl_notify(const char *state);

/* RELOADING=1 and the moment it began, which systemd wants with it. READY=1
 * must follow, whether the new rules were good or not. */
void sl_notify_reloading(void);

#endif
