# bash completion of scidex-oci; made by "scidex-oci completion bash".
_scidex_oci() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i word
    case "$previous" in
        --root) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --db) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --blobs) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --tmp) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --log-level) COMPREPLY=($(compgen -W "debug info warn error" -- "$current")); return ;;
        --config) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --id) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --data) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --docs) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --project) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --input) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --script) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --stage) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --export) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --env) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --secret) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --label) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --output) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --exclude) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --rootfs) COMPREPLY=($(compgen -W "host" -- "$current")); return ;;
        --runtime) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --ids) COMPREPLY=($(compgen -W "range self" -- "$current")); return ;;
        --memory) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --cpus) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --pids) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --timeout) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --grace) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --log-size) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --work-size) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --work-files) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --work-storage) COMPREPLY=($(compgen -W "disk tmpfs" -- "$current")); return ;;
        --limits) COMPREPLY=($(compgen -W "enforce outer best-effort" -- "$current")); return ;;
        --network) COMPREPLY=($(compgen -W "none" -- "$current")); return ;;
        --keep) COMPREPLY=($(compgen -W "never failed always" -- "$current")); return ;;
        --post-process) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --post-process-timeout) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --post-process-on) COMPREPLY=($(compgen -W "complete always" -- "$current")); return ;;
        --file|-f) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --again) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --audit) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --min-free) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --events) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --trace) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --jobs|-j) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --max-failures) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --retries) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --junit) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --batch) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --total-memory) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --total-cpus) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --drain) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --rescue-after) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --limit) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --bundle) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --since) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --until) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --state) COMPREPLY=($(compgen -W "queued running complete failed canceled error lost" -- "$current")); return ;;
        --reason) COMPREPLY=($(compgen -W "exit signal timeout out_of_memory pids_limit work_full host_full output_missing not_found not_invocable stopped supervisor_lost harvest commit export post_process sandbox request" -- "$current")); return ;;
        --name) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --tag) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --from) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --to) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --from-blobs) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --to-blobs) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --older-than) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --keep-last) COMPREPLY=($(compgen -f -- "$current")); return ;;
        --target) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        [[ "$word" == -- ]] && { COMPREPLY=($(compgen -f -- "$current")); return; }
        case "${path:+$path }$word" in
            "run") path="run" ;;
            "batch") path="batch" ;;
            "submit") path="submit" ;;
            "worker") path="worker" ;;
            "queue") path="queue" ;;
            "queue ls") path="queue ls" ;;
            "queue show") path="queue show" ;;
            "queue cancel") path="queue cancel" ;;
            "spec") path="spec" ;;
            "ls") path="ls" ;;
            "show") path="show" ;;
            "logs") path="logs" ;;
            "stop") path="stop" ;;
            "outputs") path="outputs" ;;
            "outputs ls") path="outputs ls" ;;
            "outputs cat") path="outputs cat" ;;
            "outputs export") path="outputs export" ;;
            "outputs find") path="outputs find" ;;
            "post-process") path="post-process" ;;
            "rm") path="rm" ;;
            "pin") path="pin" ;;
            "unpin") path="unpin" ;;
            "image") path="image" ;;
            "image pull") path="image pull" ;;
            "image import") path="image import" ;;
            "image ls") path="image ls" ;;
            "image rm") path="image rm" ;;
            "catalog") path="catalog" ;;
            "catalog migrate") path="catalog migrate" ;;
            "catalog check") path="catalog check" ;;
            "catalog copy") path="catalog copy" ;;
            "gc") path="gc" ;;
            "doctor") path="doctor" ;;
            "selftest") path="selftest" ;;
            "completion") path="completion" ;;
        esac
    done
    case "$path" in
        "") words="run batch submit worker queue spec ls show logs stop outputs post-process rm pin unpin image catalog gc doctor selftest completion --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "run") words="--id --data --docs --project --input --script --stage --export --env --secret --label --output --exclude --rootfs --runtime --ids --memory --cpus --pids --timeout --grace --log-size --work-size --work-files --work-storage --limits --network --keep --post-process --post-process-timeout --post-process-on --file -f --again --audit --min-free --overwrite --json --events --trace --quiet -q --detach -d --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "batch") words="--data --docs --project --input --script --stage --env --secret --label --output --exclude --rootfs --runtime --ids --memory --cpus --pids --timeout --grace --log-size --work-size --work-files --work-storage --limits --network --keep --post-process --post-process-timeout --post-process-on --audit --min-free --overwrite --json --events --quiet -q --jobs -j --resume --fail-fast --max-failures --retries --junit --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "submit") words="--id --data --docs --project --input --script --stage --env --secret --label --output --exclude --rootfs --runtime --ids --memory --cpus --pids --timeout --grace --log-size --work-size --work-files --work-storage --limits --network --keep --file -f --audit --json --batch --retries --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "worker") words="--jobs -j --total-memory --total-cpus --drain --rescue-after --limits --min-free --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "queue") words="ls show cancel --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "queue ls") words="--all -a --limit --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "queue show") words="--json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "queue cancel") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "spec") words="--id --data --docs --project --input --script --stage --export --env --secret --label --output --exclude --rootfs --runtime --ids --memory --cpus --pids --timeout --grace --log-size --work-size --work-files --work-storage --limits --network --keep --post-process --post-process-timeout --post-process-on --file -f --again --audit --min-free --events --trace --bundle --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "ls") words="--since --until --state --reason --label --limit --watch -w --json --quiet -q --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "show") words="--json --wait --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "logs") words="--follow -f --stdout --stderr --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "stop") words="--now --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "outputs") words="ls cat export find --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "outputs ls") words="--json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "outputs cat") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "outputs export") words="--overwrite --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "outputs find") words="--since --limit --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "post-process") words="--post-process --post-process-timeout --again --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "rm") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "pin") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "unpin") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "image") words="pull import ls rm --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "image pull") words="--name --plain-http --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "image import") words="--name --tag --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "image ls") words="--json --quiet -q --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "image rm") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "catalog") words="migrate check copy --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "catalog migrate") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "catalog check") words="--digests --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "catalog copy") words="--from --to --from-blobs --to-blobs --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "gc") words="--older-than --keep-last --outputs-only --dry-run --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "doctor") words="--data --docs --project --input --env --secret --label --rootfs --runtime --ids --memory --cpus --pids --timeout --grace --log-size --work-size --work-files --work-storage --limits --network --audit --min-free --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "selftest") words="--data --docs --project --input --env --secret --label --rootfs --runtime --ids --memory --cpus --pids --timeout --grace --log-size --work-size --work-files --work-storage --limits --network --audit --min-free --target --last --json --help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
        "completion") words="--help -h --root --db --blobs --tmp --log-level --config --help -h --version -v" ;;
    esac
    if [[ "$current" == -* || -z "$path" || "$path" == outputs ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _scidex_oci scidex-oci
