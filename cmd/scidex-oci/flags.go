package main

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// runFlags are the flags that make a request; run and spec share them.
func runFlags(g *options.Global) []cli.Flag {
	return append(append(analysisFlags(), hookFlags()...),
		&cli.StringFlag{Name: "post-process-on", Usage: "call the --post-process command after `complete|always`: runs that are complete (default), or all"},
		&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "read the request from the manifest `FILE` (YAML or JSON, - for standard input); flags override it"},
		&cli.StringFlag{Name: "again", Usage: "run the recorded request of `ID` once more, as its next attempt; flags override it"},
		&cli.StringFlag{Name: "audit", Usage: "`on|off`: note in the result what the analysis tries to reach and may not (default: on); off only where the kernel lacks seccomp user notification"},
		g.MinFreeFlag(),
		&cli.BoolFlag{Name: "overwrite", Usage: "let --export write into a directory that is not empty", DisableDefaultText: true},
		&cli.BoolFlag{Name: "json", Usage: "print the result as one JSON object on standard output; the analysis' own output goes to standard error", DisableDefaultText: true},
		&cli.StringFlag{Name: "events", Usage: "write what happens as JSON lines to `FILE|fd:N`: a file (appended to), a FIFO that is read, or a descriptor that this command was started with; see docs/schema/events.json"},
		&cli.StringFlag{Name: "trace", Usage: "write how long each phase of the run takes to `FILE` as Chrome trace events, for chrome://tracing or Perfetto; see docs/trace.md"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "leave the status line and the closing table out", DisableDefaultText: true},
	)
}

// analysisFlags are the flags that fill a spec.Analysis.
func analysisFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "id", Usage: "name the analysis `ID`: [A-Za-z0-9][A-Za-z0-9._-]{0,127} (default: generated)"},
		&cli.StringFlag{Name: "data", Usage: "bind the directory `DIR` read-only at /data, or none (default: ./data where it exists)"},
		&cli.StringFlag{Name: "docs", Usage: "bind the directory `DIR` read-only at /docs, or none (default: ./docs where it exists)"},
		&cli.StringFlag{Name: "project", Usage: "bind the directory `DIR` read-only at /analysis, so that a script inside finds its modules"},
		&cli.StringSliceFlag{Name: "input", Usage: "bind `SRC[:DST]` read-only too, at /inputs/NAME unless DST says otherwise; sha256:HEX[:NAME], or a URL in it, s3://BUCKET/PREFIX/sha256/HEX[:NAME] or file://DIR/sha256/HEX[:NAME], is a blob of the blob store, such as an output of another run; repeatable"},
		&cli.StringFlag{Name: "script", Usage: "run `FILE` by its shebang or extension (.py, .R, .jl, .sh, .ipynb); arguments that follow are the script's"},
		&cli.StringFlag{Name: "stage", Usage: "copy the regular files of `DIR` into /work before the start"},
		&cli.StringFlag{Name: "export", Usage: "write outputs and scidex-result.json to `DIR` after the commit, whatever the state"},
		&cli.StringSliceFlag{Name: "env", Usage: "set a variable: `K=V`, or K alone for this command's value; repeatable"},
		&cli.StringSliceFlag{Name: "secret", Usage: "pass the variable `K` of this command on; only its name is stored and shown; repeatable"},
		&cli.StringSliceFlag{Name: "label", Usage: "keep the label `K=V` with the run; repeatable"},
		&cli.StringSliceFlag{Name: "output", Usage: "require that `GLOB` matches an output, else the run fails; repeatable"},
		&cli.StringSliceFlag{Name: "exclude", Usage: "do not harvest what matches `GLOB` (default: __pycache__, *.pyc); repeatable"},
		&cli.StringFlag{Name: "rootfs", Usage: "run on `host|NAME|DIR`: the programs of the host (default), an image (see image ls), or an unpacked root filesystem, /DIR or ./DIR"},
		&cli.StringFlag{Name: "runtime", Usage: "bind the environment or programs in `NAME|DIR` read-only at their own path, bin first in PATH: a name of the config file's runtimes, the directory of a venv (with its base interpreter), of a conda environment, or another with a bin, or none"},
		&cli.StringFlag{Name: "ids", Usage: "`range|self`: user ids of the run's own (the default where there is a range), or the caller's id"},
		&cli.StringFlag{Name: "memory", Usage: "memory limit `SIZE`; swap is none (default: 2GiB)"},
		&cli.StringFlag{Name: "cpus", Usage: "processor limit, a `NUMBER` of cores (default: 1)"},
		&cli.StringFlag{Name: "pids", Usage: "limit `N` of processes and threads (default: 100)"},
		&cli.StringFlag{Name: "timeout", Usage: "limit `DURATION` of the wall clock (default: 30m)"},
		&cli.StringFlag{Name: "grace", Usage: "wait `DURATION` from SIGTERM to SIGKILL (default: 5s)"},
		&cli.StringFlag{Name: "log-size", Usage: "keep `SIZE` of each of standard output and standard error (default: 16MiB)"},
		&cli.StringFlag{Name: "work-size", Usage: "bound /work to `SIZE` on its file system (default: 1GiB)"},
		&cli.StringFlag{Name: "work-files", Usage: "bound /work to `N` names, directories among them (default: 100000)"},
		&cli.StringFlag{Name: "work-storage", Usage: "`disk|tmpfs`: /work is a directory of the host and a run that passes its bounds is ended (default), or it is memory of the run and cannot pass them"},
		&cli.StringFlag{Name: "limits", Usage: "`enforce|outer|best-effort`: refuse where the kernel cannot hold a limit (default), leave memory, CPUs and processes to the control groups that this command is in (a batch system, a container), or hold what can be held; the result says what held"},
		&cli.StringFlag{Name: "network", Usage: "`none`, the only value: a run never gets a network"},
		&cli.StringFlag{Name: "digest-inputs", Usage: "say in the result what was read, by digests that are made while the analysis runs: `script|listing|full`, of the script alone, also of single files and of what directories list (default), or of all that is in them; see docs/replay.md"},
		&cli.BoolFlag{Name: "deterministic", Usage: "take away what makes two runs differ: one thread for numeric libraries, SCIDEX_RNG_SEED=0, no randomisation of addresses; see docs/replay.md", DisableDefaultText: true},
		&cli.StringFlag{Name: "keep", Usage: "keep the working directory: `never|failed|always` (default: never)"},
	}
}

// configFlags are the flags that a config file may set: what names one run stays out.
func configFlags() []cli.Flag {
	var allowed []cli.Flag
	var g options.Global
	for _, flag := range append(options.List(g.Flags()...), runFlags(&g)...) {
		switch flag.Names()[0] {
		case "config", "id", "file", "again", "script", "trace":
		default:
			allowed = append(allowed, flag)
		}
	}
	return allowed
}
