#compdef scidex-oci
# zsh completion of scidex-oci; made by "scidex-oci completion zsh".
_scidex_oci_run() {
    local line state
    _arguments -C \
        '*--id=[name the analysis ID\: \[A-Za-z0-9\]\[A-Za-z0-9._-\]{0,127} (default\: generated)]:id:_files' \
        '*--data=[bind the directory DIR read-only at /data, or none (default\: ./data where it exists)]:dir:_files' \
        '*--docs=[bind the directory DIR read-only at /docs, or none (default\: ./docs where it exists)]:dir:_files' \
        '*--project=[bind the directory DIR read-only at /analysis, so that a script inside finds its modules]:dir:_files' \
        '*--input=[bind SRC\[\:DST\] read-only too, at /inputs/NAME unless DST says otherwise; sha256\:HEX\[\:NAME\], or a URL in it, s3\://BUCKET/PREFIX/sha256/HEX\[\:NAME\] or file\://DIR/sha256/HEX\[\:NAME\], is a blob of the blob store, such as an output of another run; repeatable]:src\[\:dst\]:_files' \
        '*--script=[run FILE by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script'\''s]:file:_files' \
        '*--stage=[copy the regular files of DIR into /work before the start]:dir:_files' \
        '*--export=[write outputs and scidex-result.json to DIR after the commit, whatever the state]:dir:_files' \
        '*--env=[set a variable\: K=V, or K alone for this command'\''s value; repeatable]:k=v:_files' \
        '*--secret=[pass the variable K of this command on; only its name is stored and shown; repeatable]:k:_files' \
        '*--label=[keep the label K=V with the run; repeatable]:k=v:_files' \
        '*--output=[require that GLOB matches an output, else the run fails; repeatable]:glob:_files' \
        '*--exclude=[do not harvest what matches GLOB (default\: __pycache__, *.pyc); repeatable]:glob:_files' \
        '*--rootfs=[run on host|NAME|DIR\: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR]:host|name|dir:(host)' \
        '*--runtime=[bind the environment or programs in NAME|DIR read-only at their own path, bin first in PATH\: a name of the config file'\''s runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none]:name|dir:_files' \
        '*--ids=[range|self\: user ids of the run'\''s own (the default where there is a range), or the caller'\''s id]:range|self:(range self)' \
        '*--memory=[memory limit SIZE; swap is none (default\: 2GiB)]:size:_files' \
        '*--cpus=[processor limit, a NUMBER of cores (default\: 1)]:number:_files' \
        '*--pids=[limit N of processes and threads (default\: 100)]:n:_files' \
        '*--timeout=[limit DURATION of the wall clock (default\: 30m)]:duration:_files' \
        '*--grace=[wait DURATION from SIGTERM to SIGKILL (default\: 5s)]:duration:_files' \
        '*--log-size=[keep SIZE of each of standard output and standard error (default\: 16MiB)]:size:_files' \
        '*--work-size=[bound /work to SIZE on its file system (default\: 1GiB)]:size:_files' \
        '*--work-files=[bound /work to N names, directories among them (default\: 100000)]:n:_files' \
        '*--work-storage=[disk|tmpfs\: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them]:disk|tmpfs:(disk tmpfs)' \
        '*--limits=[enforce|outer|best-effort\: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held]:enforce|outer|best-effort:(enforce outer best-effort)' \
        '*--network=[none, the only value\: a run never gets a network]:none:(none)' \
        '*--digest-inputs=[say in the result what was read, by digests that are made while the analysis runs\: script|listing|full, of the script alone, also of single files and of what directories list (default), or of all that is in them; see docs/replay.md]:script|listing|full:(script listing full)' \
        '*--deterministic[take away what makes two runs differ\: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no randomisation of addresses; see docs/replay.md]' \
        '*--keep=[keep the working directory\: never|failed|always (default\: never)]:never|failed|always:(never failed always)' \
        '*--post-process=[after the commit call COMMAND on the host with your own rights\: the result is its standard input, SCIDEX_OUTPUT_DIR a directory of copies of the outputs; split as a shell does, without one; it may be called more than once for an id and attempt]:command:_files' \
        '*--post-process-timeout=[end the --post-process command after DURATION (default\: 10m)]:duration:_files' \
        '*--post-process-on=[call the --post-process command after complete|always\: runs that are complete (default), or all]:complete|always:(complete always)' \
        '*--file=[read the request from the manifest FILE (YAML or JSON, - for standard input); flags override it]:file:_files' \
        '*-f[read the request from the manifest FILE (YAML or JSON, - for standard input); flags override it]:file:_files' \
        '*--again=[run the recorded request of ID once more, as its next attempt; flags override it]:id:_files' \
        '*--audit=[on|off\: note in the result what the analysis tries to reach and may not (default\: on); off only where the kernel lacks seccomp user notification]:on|off:_files' \
        '*--min-free=[end runs and start none while the file system of /work or of the blobs has less free than SIZE|PERCENT%; 0 for no such floor (default\: 5%)]:size|percent%:_files' \
        '*--overwrite[let --export write into a directory that is not empty]' \
        '*--json[print the result as one JSON object on standard output; the analysis'\'' own output goes to standard error]' \
        '*--events=[write what happens as JSON lines to FILE|fd\:N\: a file (appended to), a FIFO that is read, or a descriptor that this command was started with; see docs/schema/events.json]:file|fd\:n:_files' \
        '*--trace=[write how long each phase of the run takes to FILE as Chrome trace events, for chrome\://tracing or Perfetto; see docs/trace.md]:file:_files' \
        '*--quiet[leave the status line and the closing table out]' \
        '*-q[leave the status line and the closing table out]' \
        '*--detach[print the id as soon as the analysis has begun, and let the run go on without this command and its terminal; see show --wait, logs --follow and stop]' \
        '*-d[print the id as soon as the analysis has begun, and let the run go on without this command and its terminal; see show --wait, logs --follow and stop]' \
        '*--reuse[answer with the result of an earlier complete run of the same action, where there is one whose outputs are there, and run nothing; takes --digest-inputs full for granted; see docs/replay.md]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_batch() {
    local line state
    _arguments -C \
        '*--data=[bind the directory DIR read-only at /data, or none (default\: ./data where it exists)]:dir:_files' \
        '*--docs=[bind the directory DIR read-only at /docs, or none (default\: ./docs where it exists)]:dir:_files' \
        '*--project=[bind the directory DIR read-only at /analysis, so that a script inside finds its modules]:dir:_files' \
        '*--input=[bind SRC\[\:DST\] read-only too, at /inputs/NAME unless DST says otherwise; sha256\:HEX\[\:NAME\], or a URL in it, s3\://BUCKET/PREFIX/sha256/HEX\[\:NAME\] or file\://DIR/sha256/HEX\[\:NAME\], is a blob of the blob store, such as an output of another run; repeatable]:src\[\:dst\]:_files' \
        '*--script=[run FILE by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script'\''s]:file:_files' \
        '*--stage=[copy the regular files of DIR into /work before the start]:dir:_files' \
        '*--env=[set a variable\: K=V, or K alone for this command'\''s value; repeatable]:k=v:_files' \
        '*--secret=[pass the variable K of this command on; only its name is stored and shown; repeatable]:k:_files' \
        '*--label=[keep the label K=V with the run; repeatable]:k=v:_files' \
        '*--output=[require that GLOB matches an output, else the run fails; repeatable]:glob:_files' \
        '*--exclude=[do not harvest what matches GLOB (default\: __pycache__, *.pyc); repeatable]:glob:_files' \
        '*--rootfs=[run on host|NAME|DIR\: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR]:host|name|dir:(host)' \
        '*--runtime=[bind the environment or programs in NAME|DIR read-only at their own path, bin first in PATH\: a name of the config file'\''s runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none]:name|dir:_files' \
        '*--ids=[range|self\: user ids of the run'\''s own (the default where there is a range), or the caller'\''s id]:range|self:(range self)' \
        '*--memory=[memory limit SIZE; swap is none (default\: 2GiB)]:size:_files' \
        '*--cpus=[processor limit, a NUMBER of cores (default\: 1)]:number:_files' \
        '*--pids=[limit N of processes and threads (default\: 100)]:n:_files' \
        '*--timeout=[limit DURATION of the wall clock (default\: 30m)]:duration:_files' \
        '*--grace=[wait DURATION from SIGTERM to SIGKILL (default\: 5s)]:duration:_files' \
        '*--log-size=[keep SIZE of each of standard output and standard error (default\: 16MiB)]:size:_files' \
        '*--work-size=[bound /work to SIZE on its file system (default\: 1GiB)]:size:_files' \
        '*--work-files=[bound /work to N names, directories among them (default\: 100000)]:n:_files' \
        '*--work-storage=[disk|tmpfs\: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them]:disk|tmpfs:(disk tmpfs)' \
        '*--limits=[enforce|outer|best-effort\: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held]:enforce|outer|best-effort:(enforce outer best-effort)' \
        '*--network=[none, the only value\: a run never gets a network]:none:(none)' \
        '*--digest-inputs=[say in the result what was read, by digests that are made while the analysis runs\: script|listing|full, of the script alone, also of single files and of what directories list (default), or of all that is in them; see docs/replay.md]:script|listing|full:(script listing full)' \
        '*--deterministic[take away what makes two runs differ\: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no randomisation of addresses; see docs/replay.md]' \
        '*--keep=[keep the working directory\: never|failed|always (default\: never)]:never|failed|always:(never failed always)' \
        '*--post-process=[after the commit call COMMAND on the host with your own rights\: the result is its standard input, SCIDEX_OUTPUT_DIR a directory of copies of the outputs; split as a shell does, without one; it may be called more than once for an id and attempt]:command:_files' \
        '*--post-process-timeout=[end the --post-process command after DURATION (default\: 10m)]:duration:_files' \
        '*--post-process-on=[call the --post-process command after complete|always\: runs that are complete (default), or all]:complete|always:(complete always)' \
        '*--audit=[on|off\: note in the result what the analysis tries to reach and may not (default\: on); off only where the kernel lacks seccomp user notification]:on|off:_files' \
        '*--min-free=[end runs and start none while the file system of /work or of the blobs has less free than SIZE|PERCENT%; 0 for no such floor (default\: 5%)]:size|percent%:_files' \
        '*--overwrite[let --export write into a directory that is not empty]' \
        '*--json[print results as JSON lines also where standard output is a terminal]' \
        '*--events=[write what happens as JSON lines to FILE|fd\:N\: a file (appended to), a FIFO that is read, or a descriptor that this command was started with; see docs/schema/events.json]:file|fd\:n:_files' \
        '*--quiet[leave the status lines and the summary out]' \
        '*-q[leave the status lines and the summary out]' \
        '*--jobs=[run N analyses at once, while outputs of those before are committed (default\: as many as memory and CPUs have room for, by the largest limits of the lines); fewer, which is said, where open files, processes or ids have no room for N]:n:_files' \
        '*-j[run N analyses at once, while outputs of those before are committed (default\: as many as memory and CPUs have room for, by the largest limits of the lines); fewer, which is said, where open files, processes or ids have no room for N]:n:_files' \
        '*--resume[go on with a batch\: pass over each line whose id is complete or failed already, run the others]' \
        '*--fail-fast[start no more once a line has not ended as complete; the same as --max-failures 1]' \
        '*--max-failures=[start no more once N lines have not ended as complete; those that run come to their end]:n:_files' \
        '*--retries=[repeat a line up to N times, after 1 s, 2 s, 4 s and so on, where scidex-oci or the host failed and not the analysis (default\: 0)]:n:_files' \
        '*--junit=[write what came of the lines to FILE as JUnit XML, at the end]:file:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_submit() {
    local line state
    _arguments -C \
        '*--id=[name the analysis ID\: \[A-Za-z0-9\]\[A-Za-z0-9._-\]{0,127} (default\: generated)]:id:_files' \
        '*--data=[bind the directory DIR read-only at /data, or none (default\: ./data where it exists)]:dir:_files' \
        '*--docs=[bind the directory DIR read-only at /docs, or none (default\: ./docs where it exists)]:dir:_files' \
        '*--project=[bind the directory DIR read-only at /analysis, so that a script inside finds its modules]:dir:_files' \
        '*--input=[bind SRC\[\:DST\] read-only too, at /inputs/NAME unless DST says otherwise; sha256\:HEX\[\:NAME\], or a URL in it, s3\://BUCKET/PREFIX/sha256/HEX\[\:NAME\] or file\://DIR/sha256/HEX\[\:NAME\], is a blob of the blob store, such as an output of another run; repeatable]:src\[\:dst\]:_files' \
        '*--script=[run FILE by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script'\''s]:file:_files' \
        '*--stage=[copy the regular files of DIR into /work before the start]:dir:_files' \
        '*--env=[set a variable\: K=V, or K alone for this command'\''s value; repeatable]:k=v:_files' \
        '*--secret=[pass the variable K of this command on; only its name is stored and shown; repeatable]:k:_files' \
        '*--label=[keep the label K=V with the run; repeatable]:k=v:_files' \
        '*--output=[require that GLOB matches an output, else the run fails; repeatable]:glob:_files' \
        '*--exclude=[do not harvest what matches GLOB (default\: __pycache__, *.pyc); repeatable]:glob:_files' \
        '*--rootfs=[run on host|NAME|DIR\: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR]:host|name|dir:(host)' \
        '*--runtime=[bind the environment or programs in NAME|DIR read-only at their own path, bin first in PATH\: a name of the config file'\''s runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none]:name|dir:_files' \
        '*--ids=[range|self\: user ids of the run'\''s own (the default where there is a range), or the caller'\''s id]:range|self:(range self)' \
        '*--memory=[memory limit SIZE; swap is none (default\: 2GiB)]:size:_files' \
        '*--cpus=[processor limit, a NUMBER of cores (default\: 1)]:number:_files' \
        '*--pids=[limit N of processes and threads (default\: 100)]:n:_files' \
        '*--timeout=[limit DURATION of the wall clock (default\: 30m)]:duration:_files' \
        '*--grace=[wait DURATION from SIGTERM to SIGKILL (default\: 5s)]:duration:_files' \
        '*--log-size=[keep SIZE of each of standard output and standard error (default\: 16MiB)]:size:_files' \
        '*--work-size=[bound /work to SIZE on its file system (default\: 1GiB)]:size:_files' \
        '*--work-files=[bound /work to N names, directories among them (default\: 100000)]:n:_files' \
        '*--work-storage=[disk|tmpfs\: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them]:disk|tmpfs:(disk tmpfs)' \
        '*--limits=[enforce|outer|best-effort\: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held]:enforce|outer|best-effort:(enforce outer best-effort)' \
        '*--network=[none, the only value\: a run never gets a network]:none:(none)' \
        '*--digest-inputs=[say in the result what was read, by digests that are made while the analysis runs\: script|listing|full, of the script alone, also of single files and of what directories list (default), or of all that is in them; see docs/replay.md]:script|listing|full:(script listing full)' \
        '*--deterministic[take away what makes two runs differ\: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no randomisation of addresses; see docs/replay.md]' \
        '*--keep=[keep the working directory\: never|failed|always (default\: never)]:never|failed|always:(never failed always)' \
        '*--file=[read the request from the manifest FILE (YAML or JSON, - for standard input); flags override it]:file:_files' \
        '*-f[read the request from the manifest FILE (YAML or JSON, - for standard input); flags override it]:file:_files' \
        '*--audit=[on|off\: note in the result what the analysis tries to reach and may not (default\: on); off only where the kernel lacks seccomp user notification]:on|off:_files' \
        '*--json[print one JSON object for each analysis]' \
        '*--batch=[submit a line of JSON each of FILE, or - for standard input; flags are their defaults]:file:_files' \
        '*--class=[for workers of this class NAME (default\: default)]:name:_files' \
        '*--require=[for workers that have the label K=V; repeatable, all must match]:k=v:_files' \
        '*--priority=[1|2|3|4\: those of 1 are taken first, then those of 2, and so on; within one in their order (default\: 1)]:1|2|3|4:_files' \
        '*--at=[not to begin before TIME|+DURATION, as 2026-01-31T12\:00\:00Z, a date as 2026-01-31, +2h or +7d]:time|+duration:_files' \
        '*--unique[where an analysis waits or runs that asks for the very same, but for id and labels, answer with that one and queue nothing]' \
        '*--retries=[let up to N attempts follow that end in an error of scidex-oci or a host, after 1 s, 2 s, 4 s and so on (default\: 3)]:n:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_worker() {
    local line state
    _arguments -C \
        '*--jobs=[take up to N analyses at once (default\: as many with the limits that an analysis has by default as there is room for)]:n:_files' \
        '*-j[take up to N analyses at once (default\: as many with the limits that an analysis has by default as there is room for)]:n:_files' \
        '*--total-memory=[grant all analyses together SIZE (default\: the memory that is free at the start, or the less that control groups leave)]:size:_files' \
        '*--total-cpus=[grant all analyses together a NUMBER of cores (default\: those that there are, or the less that control groups leave)]:number:_files' \
        '*--class=[take analyses of this class NAME, and not those of others; repeatable (default\: default)]:name:_files' \
        '*--labels=[have the label K=V, for analyses that ask for it with --require; repeatable]:k=v:_files' \
        '*--drain=[let what runs go on for DURATION after the first signal, 0 for not at all (default\: 1m)]:duration:_files' \
        '*--rescue-after=[take an analysis for stuck DURATION after its timeout and grace (default\: 10m)]:duration:_files' \
        '*--limits=[enforce|outer|best-effort\: what is made ready before the first analysis is known; each has limits of its own]:enforce|outer|best-effort:(enforce outer best-effort)' \
        '*--min-free=[end runs and start none while the file system of /work or of the blobs has less free than SIZE|PERCENT%; 0 for no such floor (default\: 5%)]:size|percent%:_files' \
        '*--metrics=[serve metrics at ADDRESS, HOST\:PORT; \:PORT is every address of this host, and port 0 any that is free, which the log tells at info (default\: none)]:address:_files' \
        '*--json[print results as JSON lines also where standard output is a terminal]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_queue() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '1: :->command' '*:: :->rest'
    case $state in
    command) _values command 'ls[list what waits and runs, that submitted last first]' 'show[show where an analysis stands in the queue]' 'cancel[cancel analyses that wait or run]' 'retry[queue a further attempt at analyses that ended in an error or were canceled]' 'rescue[give what workers have that are gone for good to others, at once]' 'pause[have no worker take anything more]' 'resume[end a pause]' ;;
    rest) (( $+functions[_scidex_oci_queue_$line[1]] )) && _scidex_oci_queue_$line[1] ;;
    esac
}
_scidex_oci_queue_ls() {
    local line state
    _arguments -C \
        '*--all[what the queue is through with too; it forgets that after a day]' \
        '*-a[what the queue is through with too; it forgets that after a day]' \
        '*--limit=[at most N, 0 for all (default\: 50)]:n:_files' \
        '*--json[one JSON object a line]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_queue_show() {
    local line state
    _arguments -C \
        '*--json[print one JSON object]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_queue_cancel() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_queue_retry() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_queue_rescue() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_queue_pause() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_queue_resume() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_slurm() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '1: :->command' '*:: :->rest'
    case $state in
    command) _values command 'submit[submit the lines of a file as job arrays]' 'status[show where the lines of a submission stand]' 'collect[commit the results of a submission to the catalog]' 'cancel[end what is left of a submission]' ;;
    rest) (( $+functions[_scidex_oci_slurm_$line[1]] )) && _scidex_oci_slurm_$line[1] ;;
    esac
}
_scidex_oci_slurm_submit() {
    local line state
    _arguments -C \
        '*--data=[bind the directory DIR read-only at /data, or none (default\: ./data where it exists)]:dir:_files' \
        '*--docs=[bind the directory DIR read-only at /docs, or none (default\: ./docs where it exists)]:dir:_files' \
        '*--project=[bind the directory DIR read-only at /analysis, so that a script inside finds its modules]:dir:_files' \
        '*--input=[bind SRC\[\:DST\] read-only too, at /inputs/NAME unless DST says otherwise; sha256\:HEX\[\:NAME\], or a URL in it, s3\://BUCKET/PREFIX/sha256/HEX\[\:NAME\] or file\://DIR/sha256/HEX\[\:NAME\], is a blob of the blob store, such as an output of another run; repeatable]:src\[\:dst\]:_files' \
        '*--script=[run FILE by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script'\''s]:file:_files' \
        '*--stage=[copy the regular files of DIR into /work before the start]:dir:_files' \
        '*--env=[set a variable\: K=V, or K alone for this command'\''s value; repeatable]:k=v:_files' \
        '*--label=[keep the label K=V with the run; repeatable]:k=v:_files' \
        '*--output=[require that GLOB matches an output, else the run fails; repeatable]:glob:_files' \
        '*--exclude=[do not harvest what matches GLOB (default\: __pycache__, *.pyc); repeatable]:glob:_files' \
        '*--rootfs=[run on host|NAME|DIR\: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR]:host|name|dir:(host)' \
        '*--runtime=[bind the environment or programs in NAME|DIR read-only at their own path, bin first in PATH\: a name of the config file'\''s runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none]:name|dir:_files' \
        '*--ids=[range|self\: user ids of the run'\''s own (the default where there is a range), or the caller'\''s id]:range|self:(range self)' \
        '*--memory=[memory limit SIZE; swap is none (default\: 2GiB)]:size:_files' \
        '*--cpus=[processor limit, a NUMBER of cores (default\: 1)]:number:_files' \
        '*--pids=[limit N of processes and threads (default\: 100)]:n:_files' \
        '*--timeout=[limit DURATION of the wall clock (default\: 30m)]:duration:_files' \
        '*--grace=[wait DURATION from SIGTERM to SIGKILL (default\: 5s)]:duration:_files' \
        '*--log-size=[keep SIZE of each of standard output and standard error (default\: 16MiB)]:size:_files' \
        '*--work-size=[bound /work to SIZE on its file system (default\: 1GiB)]:size:_files' \
        '*--work-files=[bound /work to N names, directories among them (default\: 100000)]:n:_files' \
        '*--work-storage=[disk|tmpfs\: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them]:disk|tmpfs:(disk tmpfs)' \
        '*--limits=[outer|enforce|best-effort\: leave memory, CPUs and processes to Slurm'\''s control groups (default), or refuse or hold as run does]:outer|enforce|best-effort:(enforce outer best-effort)' \
        '*--network=[none, the only value\: a run never gets a network]:none:(none)' \
        '*--digest-inputs=[say in the result what was read, by digests that are made while the analysis runs\: script|listing|full, of the script alone, also of single files and of what directories list (default), or of all that is in them; see docs/replay.md]:script|listing|full:(script listing full)' \
        '*--deterministic[take away what makes two runs differ\: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no randomisation of addresses; see docs/replay.md]' \
        '*--keep=[keep the working directory\: never|failed|always (default\: never)]:never|failed|always:(never failed always)' \
        '*--audit=[on|off\: note in the result what the analysis tries to reach and may not (default\: on); off only where the kernel lacks seccomp user notification]:on|off:_files' \
        '*--json[print one JSON object]' \
        '*--spool=[make DIR for scripts, requests and results, on a file system that the nodes share]:dir:_files' \
        '*--dry-run[print the scripts and submit nothing]' \
        '*--program=[call scidex-oci at PATH on the nodes (default\: where this one is)]:path:_files' \
        '*--partition=[submit to the partition NAME]:name:_files' \
        '*--account=[charge the account NAME]:name:_files' \
        '*--sbatch=[give sbatch the option ARG too, one word, as --sbatch=--constraint=avx2; repeatable]:arg:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_slurm_status() {
    local line state
    _arguments -C \
        '*--json[print one JSON object]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_slurm_collect() {
    local line state
    _arguments -C \
        '*--wait[go on until all lines are collected]' \
        '*--poll=[look again after DURATION with --wait (default\: 15s)]:duration:_files' \
        '*--json[print results as JSON lines also where standard output is a terminal]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_slurm_cancel() {
    local line state
    _arguments -C \
        '*--now[cancel the jobs in Slurm\: what does not end within its KillWait is killed]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_spec() {
    local line state
    _arguments -C \
        '*--id=[name the analysis ID\: \[A-Za-z0-9\]\[A-Za-z0-9._-\]{0,127} (default\: generated)]:id:_files' \
        '*--data=[bind the directory DIR read-only at /data, or none (default\: ./data where it exists)]:dir:_files' \
        '*--docs=[bind the directory DIR read-only at /docs, or none (default\: ./docs where it exists)]:dir:_files' \
        '*--project=[bind the directory DIR read-only at /analysis, so that a script inside finds its modules]:dir:_files' \
        '*--input=[bind SRC\[\:DST\] read-only too, at /inputs/NAME unless DST says otherwise; sha256\:HEX\[\:NAME\], or a URL in it, s3\://BUCKET/PREFIX/sha256/HEX\[\:NAME\] or file\://DIR/sha256/HEX\[\:NAME\], is a blob of the blob store, such as an output of another run; repeatable]:src\[\:dst\]:_files' \
        '*--script=[run FILE by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script'\''s]:file:_files' \
        '*--stage=[copy the regular files of DIR into /work before the start]:dir:_files' \
        '*--export=[write outputs and scidex-result.json to DIR after the commit, whatever the state]:dir:_files' \
        '*--env=[set a variable\: K=V, or K alone for this command'\''s value; repeatable]:k=v:_files' \
        '*--secret=[pass the variable K of this command on; only its name is stored and shown; repeatable]:k:_files' \
        '*--label=[keep the label K=V with the run; repeatable]:k=v:_files' \
        '*--output=[require that GLOB matches an output, else the run fails; repeatable]:glob:_files' \
        '*--exclude=[do not harvest what matches GLOB (default\: __pycache__, *.pyc); repeatable]:glob:_files' \
        '*--rootfs=[run on host|NAME|DIR\: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR]:host|name|dir:(host)' \
        '*--runtime=[bind the environment or programs in NAME|DIR read-only at their own path, bin first in PATH\: a name of the config file'\''s runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none]:name|dir:_files' \
        '*--ids=[range|self\: user ids of the run'\''s own (the default where there is a range), or the caller'\''s id]:range|self:(range self)' \
        '*--memory=[memory limit SIZE; swap is none (default\: 2GiB)]:size:_files' \
        '*--cpus=[processor limit, a NUMBER of cores (default\: 1)]:number:_files' \
        '*--pids=[limit N of processes and threads (default\: 100)]:n:_files' \
        '*--timeout=[limit DURATION of the wall clock (default\: 30m)]:duration:_files' \
        '*--grace=[wait DURATION from SIGTERM to SIGKILL (default\: 5s)]:duration:_files' \
        '*--log-size=[keep SIZE of each of standard output and standard error (default\: 16MiB)]:size:_files' \
        '*--work-size=[bound /work to SIZE on its file system (default\: 1GiB)]:size:_files' \
        '*--work-files=[bound /work to N names, directories among them (default\: 100000)]:n:_files' \
        '*--work-storage=[disk|tmpfs\: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them]:disk|tmpfs:(disk tmpfs)' \
        '*--limits=[enforce|outer|best-effort\: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held]:enforce|outer|best-effort:(enforce outer best-effort)' \
        '*--network=[none, the only value\: a run never gets a network]:none:(none)' \
        '*--digest-inputs=[say in the result what was read, by digests that are made while the analysis runs\: script|listing|full, of the script alone, also of single files and of what directories list (default), or of all that is in them; see docs/replay.md]:script|listing|full:(script listing full)' \
        '*--keep=[keep the working directory\: never|failed|always (default\: never)]:never|failed|always:(never failed always)' \
        '*--post-process=[after the commit call COMMAND on the host with your own rights\: the result is its standard input, SCIDEX_OUTPUT_DIR a directory of copies of the outputs; split as a shell does, without one; it may be called more than once for an id and attempt]:command:_files' \
        '*--post-process-timeout=[end the --post-process command after DURATION (default\: 10m)]:duration:_files' \
        '*--post-process-on=[call the --post-process command after complete|always\: runs that are complete (default), or all]:complete|always:(complete always)' \
        '*--file=[read the request from the manifest FILE (YAML or JSON, - for standard input); flags override it]:file:_files' \
        '*-f[read the request from the manifest FILE (YAML or JSON, - for standard input); flags override it]:file:_files' \
        '*--again=[run the recorded request of ID once more, as its next attempt; flags override it]:id:_files' \
        '*--audit=[on|off\: note in the result what the analysis tries to reach and may not (default\: on); off only where the kernel lacks seccomp user notification]:on|off:_files' \
        '*--min-free=[end runs and start none while the file system of /work or of the blobs has less free than SIZE|PERCENT%; 0 for no such floor (default\: 5%)]:size|percent%:_files' \
        '*--events=[write what happens as JSON lines to FILE|fd\:N\: a file (appended to), a FIFO that is read, or a descriptor that this command was started with; see docs/schema/events.json]:file|fd\:n:_files' \
        '*--trace=[write how long each phase of the run takes to FILE as Chrome trace events, for chrome\://tracing or Perfetto; see docs/trace.md]:file:_files' \
        '*--bundle=[write a bundle into the directory DIR that runc can run, in place of printing]:dir:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_ls() {
    local line state
    _arguments -C \
        '*--since=[created at or after TIME\: RFC 3339, a date, or how long ago, as 7d or 12h]:time:_files' \
        '*--until=[created before TIME]:time:_files' \
        '*--state=[in this STATE; repeatable]:state:(queued running complete failed canceled error lost)' \
        '*--reason=[ended for this REASON; repeatable]:reason:(exit signal timeout out_of_memory pids_limit work_full host_full output_missing not_found not_invocable stopped supervisor_lost harvest commit export post_process sandbox request)' \
        '*--label=[with this label K=V; repeatable, all must match]:k=v:_files' \
        '*--limit=[at most N runs, 0 for all (default\: 50)]:n:_files' \
        '*--watch[on a terminal\: show the list anew every second, until Ctrl-C]' \
        '*-w[on a terminal\: show the list anew every second, until Ctrl-C]' \
        '*--json[one JSON object a line]' \
        '*--quiet[names only, for other commands\: ID, or ID@ATTEMPT where it is not the last attempt]' \
        '*-q[names only, for other commands\: ID, or ID@ATTEMPT where it is not the last attempt]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_stats() {
    local line state
    _arguments -C \
        '*--by=[group runs by the value of this LABEL]:label:_files' \
        '*--since=[created at or after TIME\: RFC 3339, a date, or how long ago, as 7d or 12h]:time:_files' \
        '*--until=[created before TIME]:time:_files' \
        '*--state=[in this STATE; repeatable]:state:(queued running complete failed canceled error lost)' \
        '*--reason=[ended for this REASON; repeatable]:reason:(exit signal timeout out_of_memory pids_limit work_full host_full output_missing not_found not_invocable stopped supervisor_lost harvest commit export post_process sandbox request)' \
        '*--label=[with this label K=V; repeatable, all must match]:k=v:_files' \
        '*--limit=[at most N groups, those of the most runs, 0 for all (default\: 50)]:n:_files' \
        '*--json[print one JSON object (docs/schema/stats.json)]' \
        '*--plot=[also draw the groups into FILE, as SVG]:file:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_show() {
    local line state
    _arguments -C \
        '*--json[print the result as run --json does]' \
        '*--wait[wait first until the run has ended]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_logs() {
    local line state
    _arguments -C \
        '*--follow[from the start, and go on until the run has ended]' \
        '*-f[from the start, and go on until the run has ended]' \
        '*--stdout[standard output only]' \
        '*--stderr[standard error only]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_stop() {
    local line state
    _arguments -C \
        '*--now[leave no grace period\: SIGKILL at once]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_outputs() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '1: :->command' '*:: :->rest'
    case $state in
    command) _values command 'ls[list all outputs and rejected entries of a run]' 'cat[print one output; escaped where standard output is a terminal]' 'export[write the outputs of a run and scidex-result.json into a directory]' 'find[find outputs of any run, those of the newest first]' ;;
    rest) (( $+functions[_scidex_oci_outputs_$line[1]] )) && _scidex_oci_outputs_$line[1] ;;
    esac
}
_scidex_oci_outputs_ls() {
    local line state
    _arguments -C \
        '*--json[one JSON object a line, with "verdict"\: "output" or "rejected"]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_outputs_cat() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_outputs_export() {
    local line state
    _arguments -C \
        '*--overwrite[write into a directory that is not empty]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_outputs_find() {
    local line state
    _arguments -C \
        '*--since=[of runs created at or after TIME\: RFC 3339, a date, or how long ago, as 7d or 12h]:time:_files' \
        '*--limit=[at most N outputs, 0 for all (default\: 0)]:n:_files' \
        '*--json[one JSON object a line]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_report() {
    local line state
    _arguments -C \
        '*--out=[write to FILE; - is standard output]:file:_files' \
        '*-o[write to FILE; - is standard output]:file:_files' \
        '*--against=[compare with the run ID, which comes second]:id:_files' \
        '*--overwrite[replace FILE where it exists]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_ui() {
    local line state
    _arguments -C \
        '*--listen=[listen at ADDRESS\:PORT, which must be of the loopback; port 0 is any that is free (default\: 127.0.0.1\:0)]:address\:port:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_crate() {
    local line state
    _arguments -C \
        '*--output=[write to DIR, new or empty, or to a new FILE.zip]:dir:_files' \
        '*-o[write to DIR, new or empty, or to a new FILE.zip]:dir:_files' \
        '*--title=[the NAME of the crate (default\: the run'\''s)]:name:_files' \
        '*--license=[the URI of the license of all that is in it]:uri:_files' \
        '*--agent=[who had the analysis run\: NAME, or "NAME <URI>", as of an ORCID]:name:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '1: :->command' '*:: :->rest'
    case $state in
    command) _values command 'verify[check that a crate has all that it names, unchanged, and nothing else]' ;;
    rest) (( $+functions[_scidex_oci_crate_$line[1]] )) && _scidex_oci_crate_$line[1] ;;
    esac
}
_scidex_oci_crate_verify() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_replay() {
    local line state
    _arguments -C \
        '*--times=[run it N times (default\: 1)]:n:_files' \
        '*--keep-replays=[keep replays in the catalog\: never|failed|always; failed (default) keeps those that differ]:never|failed|always:(never failed always)' \
        '*--json[print one JSON object; see docs/schema/replay.json]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_post-process() {
    local line state
    _arguments -C \
        '*--post-process=[after the commit call COMMAND on the host with your own rights\: the result is its standard input, SCIDEX_OUTPUT_DIR a directory of copies of the outputs; split as a shell does, without one; it may be called more than once for an id and attempt]:command:_files' \
        '*--post-process-timeout=[end the --post-process command after DURATION (default\: 10m)]:duration:_files' \
        '*--again[also where it has succeeded before, or none was called]' \
        '*--json[print the result as run --json does]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_rm() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_pin() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_unpin() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_image() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '1: :->command' '*:: :->rest'
    case $state in
    command) _values command 'pull[get an image from a registry]' 'import[make an OCI layout, an archive of an image or a tar of a root filesystem an image]' 'ls[list images by name]' 'rm[remove images]' ;;
    rest) (( $+functions[_scidex_oci_image_$line[1]] )) && _scidex_oci_image_$line[1] ;;
    esac
}
_scidex_oci_image_pull() {
    local line state
    _arguments -C \
        '*--name=[the NAME of the image for --rootfs (default\: REF as it is given)]:name:_files' \
        '*--plain-http[ask the registry without TLS\: whoever is on the way can read and change what is not pinned by a digest]' \
        '*--json[print progress and the image as JSON lines]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_image_import() {
    local line state
    _arguments -C \
        '*--name=[the NAME of the image for --rootfs\: a-z, 0-9, '\''.'\'', '\''_'\'', '\''-'\'', or a reference; "host" is taken]:name:_files' \
        '*--tag=[import the image TAG of several that are in PATH]:tag:_files' \
        '*--json[print progress and the image as JSON lines]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_image_ls() {
    local line state
    _arguments -C \
        '*--json[one JSON object a line]' \
        '*--quiet[names only, for other commands]' \
        '*-q[names only, for other commands]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_image_rm() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_catalog() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '1: :->command' '*:: :->rest'
    case $state in
    command) _values command 'migrate[bring the schema of the catalog to the version of this program]' 'check[compare the rows of the catalog with the blobs]' 'copy[copy a catalog into another, as from SQLite into PostgreSQL]' ;;
    rest) (( $+functions[_scidex_oci_catalog_$line[1]] )) && _scidex_oci_catalog_$line[1] ;;
    esac
}
_scidex_oci_catalog_migrate() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_catalog_check() {
    local line state
    _arguments -C \
        '*--digests[read every blob and verify its digest, and check the structure of a SQLite file]' \
        '*--repair[replace what is damaged or missing from copies on this host]' \
        '*--json[print one JSON object]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_catalog_copy() {
    local line state
    _arguments -C \
        '*--from=[copy the catalog at URL]:url:_files' \
        '*--to=[copy into the catalog at URL, which is made where there is none]:url:_files' \
        '*--from-blobs=[the blob store of --from is at URL (default\: that of --blobs)]:url:_files' \
        '*--to-blobs=[the blob store of --to is at URL (default\: that of --from)]:url:_files' \
        '*--json[print one JSON object]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_gc() {
    local line state
    _arguments -C \
        '*--older-than=[remove runs that ended before AGE\: how long ago, as 30d or 12h, a date, or RFC 3339]:age:_files' \
        '*--keep-last=[remove runs but the newest N that this root wrote, pinned ones and those that run counted; all for none at all]:n:_files' \
        '*--outputs-only[remove only what the outputs of those runs hold; their rows, digests and logs stay]' \
        '*--dry-run[say what would be done and do nothing]' \
        '*--json[print one JSON object]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_doctor() {
    local line state
    _arguments -C \
        '*--data=[bind the directory DIR read-only at /data, or none (default\: ./data where it exists)]:dir:_files' \
        '*--docs=[bind the directory DIR read-only at /docs, or none (default\: ./docs where it exists)]:dir:_files' \
        '*--project=[bind the directory DIR read-only at /analysis, so that a script inside finds its modules]:dir:_files' \
        '*--input=[bind SRC\[\:DST\] read-only too, at /inputs/NAME unless DST says otherwise; sha256\:HEX\[\:NAME\], or a URL in it, s3\://BUCKET/PREFIX/sha256/HEX\[\:NAME\] or file\://DIR/sha256/HEX\[\:NAME\], is a blob of the blob store, such as an output of another run; repeatable]:src\[\:dst\]:_files' \
        '*--env=[set a variable\: K=V, or K alone for this command'\''s value; repeatable]:k=v:_files' \
        '*--secret=[pass the variable K of this command on; only its name is stored and shown; repeatable]:k:_files' \
        '*--label=[keep the label K=V with the run; repeatable]:k=v:_files' \
        '*--rootfs=[run on host|NAME|DIR\: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR]:host|name|dir:(host)' \
        '*--runtime=[bind the environment or programs in NAME|DIR read-only at their own path, bin first in PATH\: a name of the config file'\''s runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none]:name|dir:_files' \
        '*--ids=[range|self\: user ids of the run'\''s own (the default where there is a range), or the caller'\''s id]:range|self:(range self)' \
        '*--memory=[memory limit SIZE; swap is none (default\: 2GiB)]:size:_files' \
        '*--cpus=[processor limit, a NUMBER of cores (default\: 1)]:number:_files' \
        '*--pids=[limit N of processes and threads (default\: 100)]:n:_files' \
        '*--timeout=[limit DURATION of the wall clock (default\: 30m)]:duration:_files' \
        '*--grace=[wait DURATION from SIGTERM to SIGKILL (default\: 5s)]:duration:_files' \
        '*--log-size=[keep SIZE of each of standard output and standard error (default\: 16MiB)]:size:_files' \
        '*--work-size=[bound /work to SIZE on its file system (default\: 1GiB)]:size:_files' \
        '*--work-files=[bound /work to N names, directories among them (default\: 100000)]:n:_files' \
        '*--work-storage=[disk|tmpfs\: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them]:disk|tmpfs:(disk tmpfs)' \
        '*--limits=[enforce|outer|best-effort\: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held]:enforce|outer|best-effort:(enforce outer best-effort)' \
        '*--network=[none, the only value\: a run never gets a network]:none:(none)' \
        '*--audit=[on|off\: note in the result what the analysis tries to reach and may not (default\: on); off only where the kernel lacks seccomp user notification]:on|off:_files' \
        '*--min-free=[end runs and start none while the file system of /work or of the blobs has less free than SIZE|PERCENT%; 0 for no such floor (default\: 5%)]:size|percent%:_files' \
        '*--json[print the report as one JSON object]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_selftest() {
    local line state
    _arguments -C \
        '*--data=[bind the directory DIR read-only at /data, or none (default\: ./data where it exists)]:dir:_files' \
        '*--docs=[bind the directory DIR read-only at /docs, or none (default\: ./docs where it exists)]:dir:_files' \
        '*--project=[bind the directory DIR read-only at /analysis, so that a script inside finds its modules]:dir:_files' \
        '*--input=[bind SRC\[\:DST\] read-only too, at /inputs/NAME unless DST says otherwise; sha256\:HEX\[\:NAME\], or a URL in it, s3\://BUCKET/PREFIX/sha256/HEX\[\:NAME\] or file\://DIR/sha256/HEX\[\:NAME\], is a blob of the blob store, such as an output of another run; repeatable]:src\[\:dst\]:_files' \
        '*--env=[set a variable\: K=V, or K alone for this command'\''s value; repeatable]:k=v:_files' \
        '*--secret=[pass the variable K of this command on; only its name is stored and shown; repeatable]:k:_files' \
        '*--label=[keep the label K=V with the run; repeatable]:k=v:_files' \
        '*--rootfs=[run on host|NAME|DIR\: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR]:host|name|dir:(host)' \
        '*--runtime=[bind the environment or programs in NAME|DIR read-only at their own path, bin first in PATH\: a name of the config file'\''s runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none]:name|dir:_files' \
        '*--ids=[range|self\: user ids of the run'\''s own (the default where there is a range), or the caller'\''s id]:range|self:(range self)' \
        '*--memory=[memory limit SIZE; swap is none (default\: 2GiB)]:size:_files' \
        '*--cpus=[processor limit, a NUMBER of cores (default\: 1)]:number:_files' \
        '*--pids=[limit N of processes and threads (default\: 100)]:n:_files' \
        '*--timeout=[limit DURATION of the wall clock (default\: 30m)]:duration:_files' \
        '*--grace=[wait DURATION from SIGTERM to SIGKILL (default\: 5s)]:duration:_files' \
        '*--log-size=[keep SIZE of each of standard output and standard error (default\: 16MiB)]:size:_files' \
        '*--work-size=[bound /work to SIZE on its file system (default\: 1GiB)]:size:_files' \
        '*--work-files=[bound /work to N names, directories among them (default\: 100000)]:n:_files' \
        '*--work-storage=[disk|tmpfs\: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them]:disk|tmpfs:(disk tmpfs)' \
        '*--limits=[enforce|outer|best-effort\: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held]:enforce|outer|best-effort:(enforce outer best-effort)' \
        '*--network=[none, the only value\: a run never gets a network]:none:(none)' \
        '*--audit=[on|off\: note in the result what the analysis tries to reach and may not (default\: on); off only where the kernel lacks seccomp user notification]:on|off:_files' \
        '*--min-free=[end runs and start none while the file system of /work or of the blobs has less free than SIZE|PERCENT%; 0 for no such floor (default\: 5%)]:size|percent%:_files' \
        '*--target=[prove that TARGET is out of reach\: HOST\:PORT, a URL, the path of a socket or @NAME; repeatable]:target:_files' \
        '*--last[print the newest report of the catalog and test nothing]' \
        '*--json[print the report as one JSON object]' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci_completion() {
    local line state
    _arguments -C \
        '*--help[show help]' \
        '*-h[show help]' \
        '*:argument:_files'
}
_scidex_oci() {
    local line state
    _arguments -C \
        '*--root=[keep catalog, blobs and locks in DIR (default\: $XDG_DATA_HOME/scidex-oci or ~/.local/share/scidex-oci, for root /var/lib/scidex-oci)]:dir:_files' \
        '*--db=[use the catalog at URL, sqlite\://PATH or postgres\://USER@HOST\:PORT/DATABASE (default\: sqlite\://ROOT/catalog.db)]:url:_files' \
        '*--blobs=[use the blob store at URL, file\://DIR or s3\://BUCKET/PREFIX?endpoint=URL (default\: file\://ROOT/blobs); credentials, region and endpoint of S3 also by AWS_* and ~/.aws]:url:_files' \
        '*--tmp=[make working directories in DIR (default\: /tmp)]:dir:_files' \
        '*--log-level=[write messages of LEVEL debug, info, warn or error and above (default\: warn)]:level:(debug info warn error)' \
        '*--log-format=[write messages as text|json, one a line (default\: text)]:text|json:_files' \
        '*--config=[read defaults from the YAML FILE, keys as flags with underscores (default\: $XDG_CONFIG_HOME/scidex-oci/config.yaml or /etc/scidex-oci/config.yaml, where they exist); its list allow_binds restricts what may be bound, that of /etc/scidex-oci/config.yaml always; its mapping runtimes gives directories the names that --runtime takes]:file:_files' \
        '*--help[show help]' \
        '*-h[show help]' \
        '*--version[print the version and what it was built with]' \
        '*-v[print the version and what it was built with]' \
        '1: :->command' '*:: :->rest'
    case $state in
    command) _values command 'run[run an analysis, harvest and commit its outputs]' 'batch[run many analyses, a line of JSON each]' 'submit[put an analysis, or a batch of them, into the queue for workers]' 'worker[take analyses from the queue and run them]' 'queue[look at the queue of submit, cancel and retry what is in it, pause it]' 'slurm[run a batch of analyses as job arrays of Slurm]' 'spec[print the OCI config.json that run would use, or write a bundle]' 'ls[list runs, the newest first]' 'stats[show what runs used of what they asked for, and limits that would have been enough]' 'show[show the result of a run]' 'logs[print the kept standard output and standard error of a run, also while it goes on]' 'stop[end runs that go on, as SIGTERM to their run command does]' 'outputs[list, print, export and find outputs]' 'report[write a page about a run that has ended\: one HTML file for people]' 'ui[show runs in a browser on this host, and what goes on]' 'crate[write a run with its outputs as an RO-Crate, or check one]' 'replay[run a recorded analysis again and compare what it makes, byte by byte]' 'post-process[call the post-process command of a run again, not its analysis]' 'rm[remove runs that have ended, their rows and kept directories]' 'pin[keep runs from rm and from the retention of gc]' 'unpin[take pins back]' 'image[pull, import, list and remove images of root filesystems]' 'catalog[migrate, check and copy the catalog]' 'gc[remove what killed runs left, blobs that nothing names, and by retention old runs]' 'doctor[find out whether runs work on this host, and what cures it where not]' 'selftest[prove on this host that an analysis reaches nothing]' 'completion[print the completion script of a shell]' ;;
    rest) (( $+functions[_scidex_oci_$line[1]] )) && _scidex_oci_$line[1] ;;
    esac
}
if [ "$funcstack[1]" = "_scidex-oci" ]; then _scidex_oci "$@"; else compdef _scidex_oci scidex-oci; fi
