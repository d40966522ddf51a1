// Package app is the command line of scidex-oci and scidex-oci-net.
package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/inodes"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
	_ "github.com/scidex-ai/scidex-oci/runner/host/nsroot" // acts before main
	_ "github.com/scidex-ai/scidex-oci/runner/host/stdout" // as above
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Main runs the command line of this process and ends it. net makes the commands that only scidex-oci-net has, and is nil in
// scidex-oci.
func Main(net func(*command.Program) []*cli.Command) {
	runner.Reexec()
	doctor.Main()
	began, now := trace.Birth()
	// A umask that masks the user's own rights would make directories that this program cannot enter.
	syscall.Umask(syscall.Umask(0) &^ 0o700)
	p := system()
	p.Began, p.Main, p.Net = began, now, net
	if net == nil {
		unpack.Register(command.DecompressByNet)
	}
	os.Exit(execute(os.Args, p))
}

func system() *command.Program {
	return &command.Program{Stdin: os.Stdin, Stdout: &screen.Stdout{File: os.Stdout}, Stderr: os.Stderr, Env: os.LookupEnv, Build: command.ReadBuild(), Args: os.Args}
}

// execute runs one command line and returns the exit code.
func execute(args []string, p *command.Program) int {
	var err error
	p.Perform = func(line []string) error { return perform(line, p) }
	if p.Caller, err = command.ConnectCaller(args); err == nil {
		err = perform(args, p)
	}
	if command.NeedsNet(err) {
		err = p.ExecuteNet()
	}
	var unread *command.UsageError
	var internal *bug
	if (errors.As(err, &unread) || errors.As(err, &internal)) && wantsJSON(args, p.Env) {
		refused := runner.Refused(spec.Analysis{}, &request.Error{Err: err}, p.Build.Version)
		_ = screen.WriteJSON(p.Stdout, refused) // the exit code tells too
	}
	if err == nil {
		err = p.Stdout.Err()
	}
	if readerGone(err, p.Stdout) {
		err = command.ExitStatus(128 + int(syscall.SIGPIPE)) // as that ends a command that catches no signal
	}
	if !command.Silent(err) {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", screen.Escape(inodes.Explain(err).Error()))
	}
	p.SendSpans()
	return command.ExitCode(err)
}

// readerGone reports whether an error is only that nothing reads standard output any more.
func readerGone(err error, stdout *screen.Stdout) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !readerGone(err, stdout) })
	}
	var at *fs.PathError
	return errors.Is(err, syscall.EPIPE) && errors.As(err, &at) && stdout.File != nil && at.Path == stdout.Name()
}

// bug is a bug of scidex-oci that was caught late.
type bug struct{ what any }

func (b *bug) Error() string {
	return fmt.Sprintf("internal error: %v; this is a bug, please report it with the command line", b.what)
}

// perform runs the command that args name.
func perform(args []string, p *command.Program) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = &bug{what}
			if p.Env.Text("SCIDEX_OCI_LOG_LEVEL") == "debug" {
				debug.PrintStack()
			}
		}
	}()
	app := newApp(p)
	line, err := command.Arrange(app, args[1:])
	if err != nil {
		return err
	}
	return app.RunContext(context.Background(), line)
}

// wantsJSON guesses whether an invalid command line requests JSON from run or submit.
func wantsJSON(args []string, env options.Lookup) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	asked, _ := strconv.ParseBool(env.Text(options.Variable("json"))) // an invalid truth value is false
	for _, arg := range args {
		asked = asked || arg == "--json" || arg == "-json" || arg == "--json=true"
	}
	return asked && (slices.Contains(args, "run") || slices.Contains(args, "submit"))
}
