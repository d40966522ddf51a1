// Command scidex-oci runs one analysis in a rootless OCI container and keeps what it made.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/inodes"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
	_ "github.com/scidex-ai/scidex-oci/runner/host/nsroot"
	_ "github.com/scidex-ai/scidex-oci/runner/host/stdout"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/spec"
)

func main() {
	runner.Reexec()
	doctor.Main()
	began, now := trace.Birth()
	// A umask that takes the user's own rights would make directories that this program cannot enter.
	syscall.Umask(syscall.Umask(0) &^ 0o700)
	p := system()
	p.began, p.main = began, now
	os.Exit(execute(os.Args, p))
}

// program is what the commands have of the system.
type program struct {
	stdin       io.Reader
	stdout      *screen.Stdout
	stderr      *os.File
	env         lookup
	build       build
	options     *options.Global // those of every command
	args        []string
	tether      *tether // nil but in the launcher of a detached run
	began, main int64   // when the process and its main began (trace.Birth)
}

func system() *program {
	return &program{stdin: os.Stdin, stdout: &screen.Stdout{File: os.Stdout}, stderr: os.Stderr, env: os.LookupEnv, build: buildInfo(), args: os.Args}
}

// execute runs one command line and returns the exit code.
func execute(args []string, p *program) int {
	var err error
	if p.tether, err = newTether(args); err == nil {
		err = perform(args, p)
	}
	var unread *usageError
	var ours *bug
	if (errors.As(err, &unread) || errors.As(err, &ours)) && wantsJSON(args, p.env) {
		refused := runner.Refused(spec.Analysis{}, &runner.RequestError{Err: err}, p.build.version)
		_ = screen.WriteJSON(p.stdout, refused) // the exit code tells too
	}
	if err == nil {
		err = p.stdout.Err()
	}
	if !silent(err) {
		fmt.Fprintf(p.stderr, "scidex-oci: %s\n", screen.Escape(inodes.Explain(err).Error()))
	}
	return exitCode(err)
}

// bug is a mistake of ours that was caught late.
type bug struct{ what any }

func (b *bug) Error() string {
	return fmt.Sprintf("internal error: %v; this is a bug, please report it with the command line", b.what)
}

// perform runs the command that args name.
func perform(args []string, p *program) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = &bug{what}
			if p.env.Text("SCIDEX_OCI_LOG_LEVEL") == "debug" {
				debug.PrintStack()
			}
		}
	}()
	app := newApp(p)
	line, err := arrange(app, args[1:])
	if err != nil {
		return err
	}
	return app.RunContext(context.Background(), line)
}

// wantsJSON guesses whether a command line that could not be understood asks run or submit for JSON.
func wantsJSON(args []string, env lookup) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	asked, _ := strconv.ParseBool(env.Text(options.Variable("json"))) // what is no truth value does not ask
	for _, arg := range args {
		asked = asked || arg == "--json" || arg == "-json" || arg == "--json=true"
	}
	return asked && (slices.Contains(args, "run") || slices.Contains(args, "submit"))
}

// lookup finds a variable of the environment, as os.LookupEnv does.
type lookup = options.Lookup
