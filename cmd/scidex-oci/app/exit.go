package app

// exitCodes is the table of the help and the man page.
const exitCodes = `Exit codes of run:
  the analysis' own code passes through, and
  1    a declared output is missing, or /work or the host's disk ran full
  124  timed out
  125  scidex-oci or the host failed (reason request, sandbox, harvest, commit, export or post_process), or
       the run was lost (supervisor_lost)
  126  the command cannot be invoked
  127  the command was not found
  128+N  killed by signal N; 129, 130, 131 and 143 also if SIGHUP, SIGINT, SIGQUIT or SIGTERM canceled the
       run, and 143 if stop did
  137  out of memory, or SIGKILL
The analysis may exit with any of them itself: the state and reason of the result are what counts.

Exit codes of the other commands: 0 done, 1 the answer is no (doctor, selftest, replay, batch), 125 an error
(not found, bad name, bad flag), and of batch 129, 130, 131 or 143 if a signal drained it.`
