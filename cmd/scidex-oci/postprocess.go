package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/spec"
)

// hookTimeout is the default of --post-process-timeout.
const hookTimeout = 10 * time.Minute

func newPostProcessCommand(p *command.Program) *cli.Command {
	o := &postProcessOptions{}
	return &cli.Command{
		Name:      "post-process",
		Usage:     "call the post-process command of a run again, not its analysis",
		UsageText: "scidex-oci post-process ID [--post-process COMMAND] [--again] [--json]",
		ArgsUsage: "ID",
		Description: `For a run whose post-process command has not succeeded, or whose scidex-oci was killed while it ran. The
command is that of the flag, its variable or the config file; what the catalog says of an earlier one is never
called. Its environment has SCIDEX_ANALYSIS_ID and SCIDEX_ATTEMPT, and whatever it writes should replace what it
has written for these two before. Exit code 0 where it has succeeded, else 125.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			return p.WithTidyStores(c, func(st *stores.Stores) error { return runPostProcess(c.Context, p, st, *o, given[0]) })
		},
	}
}

// postProcessOptions are the options of post-process.
type postProcessOptions struct {
	hook        options.Hook
	again, json bool
}

func (o *postProcessOptions) flags() []cli.Flag {
	return options.List(append(o.hook.Flags(),
		options.Bool(&o.again, "again", "also where it has succeeded before, or none was called"),
		options.Bool(&o.json, "json", "print the result as run --json does"),
	)...)
}

func runPostProcess(ctx context.Context, p *command.Program, st *stores.Stores, o postProcessOptions, name string) error {
	run, err := st.Find(ctx, name)
	if err != nil {
		return err
	}
	hook, err := hookOf(o.hook, p.Env)
	if err != nil {
		return err
	}
	if hook == nil {
		return fmt.Errorf("no command to call: give --post-process COMMAND, or set it in the config file%s", called(run.Report))
	}
	output := screen.NewStream(p.Stderr, screen.NewTerminal(p.Stderr, p.Env))
	hook.Output = output
	stop, done := command.StopSignals()
	defer done()
	result, err := st.Runner.PostProcess(ctx, run.Key, *hook, o.again, stop)
	err = errors.Join(err, output.Close())
	if o.json && result.ID != "" {
		err = errors.Join(err, screen.WriteJSON(p.Stdout, result))
	}
	return err
}

// called names the command that a report says was called.
func called(report []byte) string {
	var past result.Report
	if json.Unmarshal(report, &past) != nil || past.PostProcess == nil {
		return ""
	}
	return "; the last one was " + screen.CommandLine(past.PostProcess.Command)
}

// hookOf is what is to be called with a result, or nil.
func hookOf(o options.Hook, env options.Lookup) (*runner.Hook, error) {
	if !o.Command.Given {
		return nil, nil
	}
	h := &runner.Hook{Timeout: hookTimeout, Grace: time.Duration(spec.Analysis{}.WithDefaults().Grace)}
	var err error
	if h.Command, err = splitCommand(o.Command.Value, env); err == nil {
		h.Command[0], err = executable(o.Command.Dir, h.Command[0])
	}
	if err != nil {
		return nil, o.Command.Refuse("%w", err)
	}
	if o.Timeout.Given {
		timeout, err := spec.ParseDuration(o.Timeout.Value)
		if err != nil {
			return nil, o.Timeout.Wrap(err)
		}
		h.Timeout = time.Duration(timeout)
	}
	switch on := o.On.Or("complete"); on {
	case "complete", "always":
		h.Always = on == "always"
	default:
		return nil, o.On.Refuse("give complete or always")
	}
	return h, nil
}

// executable is the absolute path of a command: one with a slash is relative to the place that names it, any
// other is looked up in PATH.
func executable(dir, name string) (string, error) {
	if strings.Contains(name, "/") {
		name = options.Absolute(dir, name)
	}
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%q is not in PATH; give its path", name)
	case err != nil:
		return "", fmt.Errorf("%w; give a file that can be executed", err)
	}
	return filepath.Abs(path)
}

// splitCommand makes an argument vector as a shell does: quotes, backslashes, comments, ~ and {a,b}. What would need
// a shell is refused rather than passed on as text; * and ? stay what they are.
func splitCommand(line string, env options.Lookup) ([]string, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("not a command by the rules of a shell (line:column %w)", err)
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("is empty; give a command or leave it out")
	}
	statement := file.Stmts[0]
	call, ok := statement.Cmd.(*syntax.CallExpr)
	plain := ok && len(file.Stmts) == 1 && len(call.Args) > 0 && len(call.Assigns)+len(statement.Redirs) == 0 &&
		!statement.Background && !statement.Negated
	if !plain {
		return nil, errors.New(`not one plain command, and no shell runs it; quote it, or give sh -c '...'`)
	}
	var words []string
	for _, word := range call.Args {
		if !literal(word) {
			return nil, errors.New(`it has an expansion such as $NAME, and no shell runs it; quote it with '...', or give sh -c '...'`)
		}
		fields, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(env.Text)}, word)
		if err != nil {
			return nil, err
		}
		words = append(words, fields...)
	}
	if words[0] == "" {
		return nil, errors.New("the name of the command is empty")
	}
	return words, nil
}

// literal reports whether a word holds text and quotes only.
func literal(word *syntax.Word) bool {
	plain := true
	syntax.Walk(word, func(node syntax.Node) bool {
		switch node.(type) {
		case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
		default:
			plain = false
		}
		return plain
	})
	return plain
}

// postProcess tells how a hook ended.
func (t resultTable) postProcess(r result.Result) {
	p := r.PostProcess
	if p == nil {
		return
	}
	how := "has not ended"
	switch {
	case p.TimedOut:
		how = "timed out"
	case p.Signal != nil:
		how = "killed by " + *p.Signal
	case p.ExitCode != nil:
		how = fmt.Sprintf("exit %d", *p.ExitCode)
	}
	if p.StartedAt != nil {
		how += ", " + screen.Duration(p.WallMS)
	}
	t.Row("post", screen.Escape(how)+": "+screen.CommandLine(p.Command))
}
