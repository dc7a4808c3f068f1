/* Notifications to systemd: a datagram to $NOTIFY_SOCKET, as in sd_notify(3), without
 * libsystemd. */
#ifndef SL_SERVER_MAIN_SYSTEMD_H
#define SL_SERVER_MAIN_SYSTEMD_H

/* Sends lines of `NAME=value`: "READY=1", "STOPPING=1", "STATUS=12 rules\nREADY=1". Never blocks
 * and never fails: without the variable or a receiver, nothing happens. */
void sl_notify(const char *state);

/* Sends RELOADING=1 and when it began, which systemd wants with it. READY=1 must follow, whether
 * the new rules were good or not. */
void sl_notify_reloading(void);

#endif
