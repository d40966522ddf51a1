package manual

// Examples are those of help and man pages, by the words that lead to a command.
func Examples() map[string][]Example {
	return map[string][]Example{
		"": {
			{"scidex-oci run --data measurements --script fit.py", "runs fit.py, which finds measurements at /data; what it writes to its working directory is kept"},
			{"scidex-oci outputs export @last results", "copies the outputs of the newest run to the directory results"},
			{"scidex-oci run --help", "explains all flags of run"},
		},
		"run": {
			{"scidex-oci run --data measurements --script fit.py", "runs fit.py, which finds measurements at /data; what it writes to its working directory is kept"},
			{"scidex-oci run --script fit.py --memory 8GiB --timeout 2h -- --alpha 3", "raises two limits, and passes --alpha 3 to fit.py"},
			{"scidex-oci run --shell @last", "opens a shell in a sandbox like that of the newest run, for example to see why it failed"},
		},
		"batch": {
			{"scidex-oci batch --script fit.py --data measurements lines.jsonl", `runs fit.py once for each line, such as {"args": ["--alpha", "3"]}`},
			{"scidex-oci batch --jobs 4 --resume lines.jsonl", `goes on with a batch whose lines have an "id", four runs at once`},
			{"scidex-oci batch --label sweep=s1 --sweep seed=0..199 --sweep lr=0.1,0.01 --script fit.py", "runs fit.py --seed 0 --lr 0.1 and the 399 other combinations"},
		},
		"serve": {
			{"scidex-oci serve --stdio --memory 1GiB", "runs what its caller asks for by JSON-RPC, with another default for the memory limit; see docs/serve.md"},
			{"scidex-oci serve --socket /run/user/1000/scidex-oci.sock", "does so for any program of yours that connects"},
		},
		"mcp": {
			{"scidex-oci mcp --data ~/measurements --memory 4GiB --timeout 10m", "serves the model whose program starts it, with these as the most that it may ask for; see docs/agents.md"},
			{"scidex-oci mcp --http 127.0.0.1:8765 --key-file ~/.scidex-key", "does so over HTTP for programs of this host that have the key"},
		},
		"submit": {
			{"scidex-oci --db postgres://me@db.example.org/scidex submit --data /shared/measurements --script /shared/fit.py", "puts an analysis into the queue, and prints its id"},
			{"scidex-oci --db postgres://me@db.example.org/scidex submit --batch lines.jsonl", "does so for each line of a file"},
		},
		"worker": {
			{"scidex-oci --db postgres://me@db.example.org/scidex worker --total-memory 64GiB --total-cpus 16", "runs what is in the queue within these bounds"},
		},
		"queue":        {{"scidex-oci queue ls", "lists what waits and runs, and says why it waits"}},
		"queue ls":     {{"scidex-oci queue ls --all", "lists what has ended as well"}},
		"queue show":   {{"scidex-oci queue show fit-1", "shows one analysis with its attempts and workers"}},
		"queue cancel": {{"scidex-oci queue cancel fit-1 fit-2", "takes two analyses out of the queue, or ends them if they run"}},
		"queue retry":  {{"scidex-oci queue retry fit-1", "queues an analysis again that ended in an error or was lost"}},
		"queue rescue": {{"scidex-oci queue rescue node7/4242/9f86d081", "gives the analyses of a worker to others, if its host does not come back"}},
		"slurm":        {{"scidex-oci slurm submit --spool /shared/fits lines.jsonl", "submits a batch to Slurm; collect the results with slurm collect"}},
		"slurm submit": {
			{"scidex-oci slurm submit --spool /shared/fits --script /shared/fit.py lines.jsonl", "submits the lines as job arrays"},
		},
		"slurm status":  {{"scidex-oci slurm status /shared/fits", "says what has become of each line"}},
		"slurm collect": {{"scidex-oci slurm collect --wait /shared/fits", "waits for all lines and commits their results"}},
		"slurm cancel":  {{"scidex-oci slurm cancel /shared/fits", "ends what runs, with its grace, and starts no more"}},
		"spec": {
			{"scidex-oci spec --memory 4GiB -- python3 fit.py", "prints the config.json of that run"},
			{"scidex-oci spec --bundle bundle --script fit.py", "writes a bundle that runc can run"},
		},
		"ls": {
			{"scidex-oci ls", "lists the newest runs"},
			{"scidex-oci ls --state failed --since 7d", "lists those of the last week that failed"},
		},
		"stats": {{"scidex-oci stats --by project", "shows what runs used of their limits, by the value of their label project"}},
		"show": {
			{"scidex-oci show @last", "shows state, reason, usage, limits and outputs of the newest run"},
			{"scidex-oci show fit-1 --json --wait", "waits for the end of a run, and prints its result for programs"},
		},
		"logs": {
			{"scidex-oci logs @last", "prints what the newest run printed"},
			{"scidex-oci logs fit-1 --follow", "prints what a run prints, until it ends"},
		},
		"stop": {
			{"scidex-oci stop fit-1", "ends a run as SIGTERM does, with its grace period"},
			{"scidex-oci stop --now @last", "ends the newest run without one"},
		},
		"outputs": {
			{"scidex-oci outputs @last", "lists the outputs of the newest run"},
			{"scidex-oci outputs export @last results", "copies them to the directory results"},
			{"scidex-oci outputs find '*.csv'", "finds the CSV files of all runs"},
		},
		"outputs ls": {{"scidex-oci outputs ls @last", "lists the outputs of the newest run and what was rejected"}},
		"outputs cat": {
			{"scidex-oci outputs cat @last sum.csv", "prints one output"},
		},
		"outputs push": {
			{"scidex-oci outputs push @last registry.example.org/results/fit:1", "pushes all outputs and scidex-result.json of the newest run to a registry"},
		},
		"outputs export": {
			{"scidex-oci outputs export @last results", "copies all outputs and scidex-result.json to the directory results"},
			{"scidex-oci outputs export --label sweep=s1 results", "does so for each run with a label, to results/ID; repeat it to go on if it was ended"},
		},
		"outputs find": {
			{"scidex-oci outputs find '**/*.csv' --since 7d", "finds the CSV files of the runs of the last week"},
			{"scidex-oci outputs find 9f86d081884c7d65", "finds a file by the beginning of its SHA-256"},
			{"scidex-oci outputs find --label sweep=s1 --state failed '*.log'", "finds the logs that the failed runs of a sweep wrote"},
		},
		"table": {
			{"scidex-oci table --label sweep=s1 metrics.json", "prints the metrics of all complete runs of a sweep with their parameters, as CSV"},
			{"scidex-oci table --label sweep=s1 -o sweep.jsonl history.csv", "joins a table of each run, for pandas.read_json"},
		},
		"report": {
			{"scidex-oci report @last -o report.html", "writes a page about the newest run"},
			{"scidex-oci report fit-2 --against fit-1 -o compared.html", "compares two runs"},
		},
		"ui": {{"scidex-oci ui", "prints the address to open in a browser, and serves it until Ctrl-C"}},
		"crate": {
			{"scidex-oci crate @last -o run.zip --license https://creativecommons.org/publicdomain/zero/1.0/", "writes the newest run as an RO-Crate"},
		},
		"verify": {
			{"scidex-oci verify fit-1 --key sign.key.pub", "verifies the statement of a run with its outputs in this catalog"},
			{"scidex-oci verify run.zip --key lab.pub", "verifies a crate, on any machine"},
			{"scidex-oci verify other.zip", "checks sizes and digests of the files in a crate that is not signed"},
		},
		"key":     {{"scidex-oci key new sign.key", "makes a key that signs statements of runs"}},
		"key new": {{"scidex-oci key new sign.key", "writes sign.key and sign.key.pub, and prints the id of the key"}},
		"replay": {
			{"scidex-oci replay fit-1", "runs it again and says whether it makes the same bytes"},
			{"scidex-oci replay @last --times 3 --keep-replays always", "does so three times, and keeps all three replays"},
		},
		"post-process": {{"scidex-oci post-process fit-1 --post-process ./load.sh", "calls ./load.sh with the result of a recorded run"}},
		"rm": {
			{"scidex-oci rm fit-1", "removes the last attempt of fit-1"},
			{"scidex-oci rm fit-1@1 fit-2", "removes the first attempt of fit-1, and the last one of fit-2"},
		},
		"pin":   {{"scidex-oci pin fit-1", "keeps a run from rm and gc"}},
		"unpin": {{"scidex-oci unpin fit-1", "takes the pin back"}},
		"image": {{"scidex-oci image pull docker.io/library/python:3.12-slim --name python", "gets an image, which runs name with --rootfs python"}},
		"image pull": {
			{"scidex-oci image pull docker.io/library/python:3.12-slim --name python", "gets an image from a registry"},
			{"scidex-oci run --rootfs python -- python3 --version", "runs a command on it"},
		},
		"image import": {
			{"scidex-oci image import scientific.tar.zst --name scientific", "makes a tar of a root filesystem an image"},
			{"docker save -o python.tar python:3.12-slim && scidex-oci image import python.tar --name python", "takes an image over from Docker"},
		},
		"image ls": {{"scidex-oci image ls", "lists the images and what they take on disk"}},
		"image rm": {{"scidex-oci image rm python", "removes an image"}},
		"catalog":  {{"scidex-oci catalog check --digests", "reads all that runs have kept, and compares it with its digests"}},
		"catalog check": {
			{"scidex-oci catalog check", "says which blobs are missing"},
			{"scidex-oci catalog check --digests --repair", "reads all of them, and puts back what is damaged if there is a copy"},
		},
		"catalog copy": {
			{"scidex-oci catalog copy --from sqlite:///srv/catalog.db --to postgres://me@db.example.org/scidex", "moves a catalog to PostgreSQL"},
		},
		"new": {
			{"scidex-oci new fit.py", "writes analysis.yaml, a manifest that explains its fields"},
			{"scidex-oci run -f analysis.yaml", "runs it"},
		},
		"config": {
			{"scidex-oci config set limits best-effort", "lets runs start on a host without control groups"},
			{"scidex-oci config get memory", "prints a default of yours"},
		},
		"config set": {
			{"scidex-oci config set limits best-effort", "lets runs start on a host without control groups"},
			{"scidex-oci config set memory 4GiB", "changes the default limit of memory"},
		},
		"config get":   {{"scidex-oci config get memory", "prints a default of yours"}},
		"config unset": {{"scidex-oci config unset memory", "takes a default back"}},
		"gc": {
			{"scidex-oci gc", "removes what killed runs left, and blobs that no run names"},
			{"scidex-oci gc --older-than 30d --keep-last 100 --dry-run", "says which runs would be removed by age and number"},
		},
		"docker": {
			{"scidex-oci docker run --volume /srv/job:/job --workdir /job debian:12 sort in.txt", "runs as a workflow engine asks for it"},
		},
		"doctor": {
			{"scidex-oci doctor", "says whether runs work on this host, and what to do if not"},
			{"scidex-oci doctor --limits best-effort", "asks for runs without control groups"},
		},
		"selftest": {
			{"scidex-oci selftest", "tries to break out of analyses with the default flags"},
			{"scidex-oci selftest --target postgres://db.example.org/science --data /srv/data --memory 4GiB", "does so with flags of yours, and tries to reach a database"},
			{"scidex-oci selftest --last", "shows the last report"},
		},
		"completion": {
			{"source <(scidex-oci completion bash)", "completes commands and flags in this bash"},
			{`scidex-oci completion zsh > "${fpath[1]}/_scidex-oci"`, "installs the completion of zsh"},
			{"scidex-oci completion fish > ~/.config/fish/completions/scidex-oci.fish", "installs that of fish"},
		},
	}
}
