"""A shell that knows one job:  shell_job.py FD PROGRAM ARGUMENT...

Runs it in front, on the terminal that is its input; comes to the front itself while the job is
stopped, and lets it go on at SIGUSR1. Ends as the job ends. The job's process id goes to the file
descriptor."""

import fcntl
import os
import signal
import sys
import termios


TELLS = int(sys.argv[1])


def run_job():
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    os.close(TELLS)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])


def go_on(job):
    os.tcsetpgrp(0, os.getpgrp())
    signal.sigwait([signal.SIGUSR1])
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)


def main():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is the job that is told
    job = os.fork()
    if job == 0:
        run_job()
    os.write(TELLS, b"%d\n" % job)
    os.close(TELLS)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        go_on(job)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


main()
